"""Programs that crash, hang, lie or close their pipes lose the game; the match goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kibitz.arena.match.game import Control, Terms, parse_times
from kibitz.arena.match.journal import Journal, Results
from kibitz.arena.match.player import UciPlayer
from kibitz.arena.match.runner import Setup, run, try_out
from kibitz.arena.match.spec import parse_player, parse_players, with_reported_names
from kibitz.cli import main
from kibitz.core.errors import InputError
from kibitz.core.log import Stop
from kibitz.data.openings import random_openings

FAKE = Path(__file__).with_name("fake_engine.py")
QUICK = Terms(margin=20.0, patience=400.0)
PATIENT = Terms(margin=20.0, patience=60_000.0)  # an answer that comes is never taken for none


def fake(way: str, *more: object) -> str:
    words = " ".join(str(word) for word in more)
    return f"uci:{sys.executable} {FAKE} {way} {words},name={way}"


def played(*players: str, control: Control | None = None, terms: Terms = QUICK) -> Results:
    setup = Setup(
        players=parse_players(list(players)),
        control=control or Control(base=20_000, increment=100),
        openings=random_openings(1),
        rounds=1,
        terms=terms,
        concurrency=2,
    )
    return run(setup, Journal(setup.header()), Stop())


@pytest.mark.parametrize(
    ("way", "word"),
    [
        ("crash", "crash"),
        ("close-output", "crash"),
        ("close-input", "crash"),
        ("illegal", "illegal move"),
        ("nonsense", "lie"),
        ("silence", "lie"),
        ("pass", "lie"),
    ],
)
def test_a_fault_forfeits(way: str, word: str) -> None:
    results = played(fake(way), "random")
    assert results.forfeits(0) == {word: 2}
    assert not results.forfeits(1)
    for game in results.games:
        assert game.points == (0.0 if game.white == 0 else 1.0)
        own = [
            move for index, move in enumerate(game.moves) if (index % 2 == 0) == (game.white == 0)
        ]
        assert len(own) == 1, "the first answer was in order"
        assert game.detail


def test_silence_is_noticed_when_time_and_patience_are_over() -> None:
    results = played(fake("hang"), "random", control=parse_times("0.3+0.01"))
    assert results.forfeits(0) == {"hang": 2}


def test_a_late_answer_is_a_time_forfeit() -> None:
    results = played(fake("slow"), "random", control=parse_times("0.3+0.01"), terms=PATIENT)
    assert results.forfeits(0) == {"time forfeit": 2}
    assert all("took" in game.detail for game in results.games)


def test_without_a_clock_nobody_loses_on_time() -> None:
    control = Control(nodes=1)
    results = played(fake("slow"), fake("crash", 3), control=control)
    assert not results.forfeits(0)
    assert results.forfeits(1) == {"crash": 2}


def test_much_talk_is_no_fault() -> None:
    results = played(fake("flood"), fake("crash", 3))
    assert not results.forfeits(0)


def test_a_program_is_started_again_after_a_crash(tmp_path: Path) -> None:
    setup = Setup(
        players=parse_players([fake("once", 1, tmp_path / "flag"), "random"]),
        control=Control(base=20_000),
        openings=random_openings(1),
        rounds=1,
        terms=QUICK,
    )
    games = run(setup, Journal(setup.header()), Stop()).games
    assert [game.termination == "crash" for game in games] == [True, False]


def test_a_game_of_one_fault_does_not_cost_the_others() -> None:
    results = played(fake("crash"), "random", "greedy")
    assert len(results.games) == 6
    assert results.forfeits(0).total() == 4
    others = [game for game in results.games if 0 not in (game.white, game.black)]
    assert all(game.loser is None for game in others)


def test_what_cannot_start_is_refused_before_the_first_game() -> None:
    with pytest.raises(InputError, match="does not start"):
        try_out([parse_player(fake("mute"))], start_ms=1000.0)
    with pytest.raises(InputError, match="does not start"):
        try_out([parse_player(f"uci:{sys.executable} -c pass")])
    with pytest.raises(InputError, match="no such program"):
        parse_player("uci:/nowhere/engine")
    with pytest.raises(InputError, match="without a name"):
        parse_player(" ,nodes=5")
    with pytest.raises(InputError, match="Haash"):
        try_out([parse_player(fake("good") + ",Haash=16")])


SHELL = "sh -c 'sleep 977 | cat'"  # a child keeps the pipes when only the shell is killed


def sleepers() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if line.endswith(" sleep 977")]


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_patience_counts_at_the_start_and_ends_what_a_shell_started(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = sleepers()
    command = ["match", f"uci:{SHELL}", "random", "--games", "2", "--nodes", "1"]
    assert main([*command, "--patience", "0.5"]) == 2
    assert "not ready 0.5 s after the start" in capsys.readouterr().err
    for _ in range(100):  # the system may need a moment to end what was killed
        if sleepers() == before:
            break
        time.sleep(0.1)
    assert sleepers() == before
    assert main([*command, "--patience", "0"]) == 2


def test_a_program_that_hangs_when_started_again_costs_its_patience_only(tmp_path: Path) -> None:
    # Its first life crashes in the first game, its second says nothing at all.
    flag = tmp_path / "flag"
    again = (
        f"uci:sh -c 'test -e {flag} && exec sleep 979; exec {sys.executable} {FAKE} once 1 {flag}'"
    )
    terms = Terms(patience=400.0, start=5000.0)
    setup = Setup(
        players=parse_players([f"{again},name=again", "random"]),
        control=Control(base=20_000),
        openings=random_openings(1),
        rounds=1,
        terms=terms,
    )
    results = run(setup, Journal(setup.header()), Stop())
    assert results.forfeits(0) == {"crash": 1, "hang": 1}


def test_a_program_that_does_not_quit_is_ended() -> None:
    player = parse_player(fake("stay")).open()
    player.new_game(0)
    assert isinstance(player, UciPlayer)
    client = player.client
    assert client is not None
    assert client.running
    player.close()
    assert not client.running
    player.close()  # twice does no harm


def test_options_reach_the_program() -> None:
    spec = parse_player(fake("good") + ",Threads=3")
    assert [one.resources for one in try_out([spec])] == [("3t", "NULL")]


def test_programs_are_called_as_they_call_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = f"uci:{sys.executable} {FAKE} good 99"
    game = ["--games", "2", "--depth", "1", "--max-moves", "2", "--pgn", str(tmp_path / "x.pgn")]
    assert main(["match", program, program, *game]) == 0
    assert "Fake vs Fake-2" in capsys.readouterr().out
    tags = (tmp_path / "x.pgn").read_text()
    assert '[White "Fake"]' in tags
    assert '[White "Fake-2"]' in tags
    assert main(["match", f"{program},name=mine", "random", *game]) == 0
    assert "mine vs random" in capsys.readouterr().out
    nameless = [parse_player(f"uci:{sys.executable} {FAKE} good").text]
    assert with_reported_names(nameless, [""])[0].name == Path(sys.executable).stem


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_nothing_is_left_running(tmp_path: Path) -> None:
    marker = f"marker-{tmp_path.name}"
    played(fake("hang", 1, marker), "random", control=parse_times("0.3+0.01"))
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert not [line for line in listed.stdout.splitlines() if marker in line]

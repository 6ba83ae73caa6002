"""A whole match: concurrency, journals that survive being killed, SPRT, tables, real programs."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chess.pgn
import pytest

from kibitz.arena.match.elo import Sprt
from kibitz.arena.match.game import Control, Terms, parse_times
from kibitz.arena.match.journal import Journal, PlayedGame, Results
from kibitz.arena.match.player import EnginePlayer
from kibitz.arena.match.report import PgnFile
from kibitz.arena.match.runner import Setup, Table, run
from kibitz.arena.match.spec import parse_player, parse_players
from kibitz.cli import main
from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.core.log import Stop
from kibitz.data.openings import random_openings

SLOW = 2000.0  # ms that a move may come late on a machine that has other things to do
STOCKFISH = shutil.which("stockfish") or shutil.which("/usr/games/stockfish")


def setup_of(*players: str, rounds: int = 3, **more: Any) -> Setup:
    openings = random_openings(rounds)
    return Setup(parse_players(list(players)), Control(), openings, rounds, source="test", **more)


def moves_of(games: dict[int, PlayedGame]) -> dict[int, tuple[str, ...]]:
    return {number: tuple(move.uci for move in game.moves) for number, game in games.items()}


def played(setup: Setup, journal: Journal) -> Results:
    return run(setup, journal, Stop())


def test_a_stopped_match_goes_on_to_the_same_end(tmp_path: Path) -> None:
    setup = setup_of("greedy", "random", rounds=4, concurrency=2)
    whole = Journal(setup.header())
    played(setup, whole)
    path, stop = tmp_path / "match.jsonl", Stop()

    def after_three(one: PlayedGame) -> None:
        assert one.number < 8
        if len(journal.games) == 3:
            stop.request()

    with Journal(setup.header(), path) as journal:
        run(setup, journal, stop, after_three)
    assert 3 <= len(journal.games) < 8
    with path.open("ab") as file:
        file.write(b'{"number":7,"white":0,"bl')  # what a crash in the middle of a write leaves
    with Journal(setup.header(), path) as journal:
        assert 3 <= len(journal.games) < 8
        results = played(setup, journal)
    assert moves_of(journal.games) == moves_of(whole.games)
    assert results.tally(0, 1) == Results(whole.games).tally(0, 1)
    with Journal(setup.header(), path) as journal:
        assert moves_of(journal.games) == moves_of(whole.games)


def test_a_match_can_be_made_longer(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    for rounds in (1, 2):
        setup = setup_of("greedy", "random", rounds=rounds)
        with Journal(setup.header(), path) as journal:
            assert len(journal.games) == 2 * (rounds - 1)
            played(setup, journal)
            assert len(journal.games) == 2 * rounds


@pytest.mark.slow
@pytest.mark.parametrize("command", ["match greedy random", "strength greedy --endings 0"])
def test_more_games_with_a_book_go_on(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, other = tmp_path / "book.epd", tmp_path / "other.txt"
    book.write_text("".join(f"{first}\n" for first in ("e4", "d4", "c4 e5", "Nf3 d5", "b3")))
    other.write_text(book.read_text() + "a3\n")
    whole = [*command.split(), "--quiet", "--json", "--resume", str(tmp_path / "kept")]
    if "strength" in command:
        whole += ["--opponent", "random", "--nodes", "1"]
    for games in ("2", "6", "10", "4"):
        assert main([*whole, "--openings", str(book), "--games", games]) == 0
    capsys.readouterr()
    assert main([*whole, "--openings", str(other), "--games", "4"]) == 2
    assert "another match: openings" in capsys.readouterr().err


def test_journals_are_not_mixed_up(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    setup = setup_of("greedy", "random")
    with Journal(setup.header(), path) as journal:
        played(setup, journal)
        with pytest.raises(InputError, match="another process"):
            Journal(setup.header(), path)
    with pytest.raises(InputError, match="another match: players"):
        Journal(setup_of("random", "greedy").header(), path)
    with pytest.raises(InputError, match="another match: seed"):
        Journal(setup_of("greedy", "random", seed=1).header(), path)


@pytest.mark.parametrize("content", ["not a match\n", "notes\nand a last line", "notes", "{"])
def test_a_file_that_is_no_journal_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    path, header = tmp_path / "notes.txt", setup_of("greedy", "random").header()
    path.write_text(content)
    if content == "{":  # as far as the header of a match that was killed at once
        Journal(header, path).close()
        Journal(header, path).close()
        return
    with pytest.raises(DamagedFileError, match=r"line 1|no journal"):
        Journal(header, path)
    assert path.read_text() == content


def test_a_journal_without_its_first_line_is_named(tmp_path: Path) -> None:
    path, setup = tmp_path / "match.jsonl", setup_of("random", "random", rounds=1)
    with Journal(setup.header(), path) as journal:
        for game in finished_games(2):
            journal.add(game)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    with pytest.raises(DamagedFileError, match="line 1 is not of a match"):
        Journal(setup.header(), path)


def test_every_changed_byte_of_a_journal_is_noticed(tmp_path: Path) -> None:
    path, setup = tmp_path / "match.jsonl", setup_of("random", "random", rounds=1)
    with Journal(setup.header(), path) as journal:
        journal.add(finished_games(2)[0])
        journal.add(finished_games(2)[1])
        whole = dict(journal.games)
    content = path.read_bytes()
    for place in range(0, len(content) - 1, 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DamagedFileError, match="was changed"):
            Journal(setup.header(), path)
    path.write_bytes(b"".join(content.splitlines(keepends=True)[:2]))  # as the error advises
    with Journal(setup.header(), path) as journal:
        assert journal.games == {0: whole[0]}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--patience", "nan"], "--patience: nan"),
        (["--patience", "inf"], "--patience: inf"),
        (["--margin", "-5"], "--margin: -5"),
        (["--plies", "0"], "--plies: 0"),
        (["--max-moves", "-1"], "--max-moves: -1"),
        (["--draw", "1", "-2", "3"], "--draw: -2"),
        (["--pgn", "same", "--resume", "./same"], "--pgn and --resume are one file"),
    ],
)
def test_what_makes_no_match_is_refused_by_name(
    options: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["match", "greedy", "random", "--games", "2", *options]) == 2
    assert f"error: {named}" in capsys.readouterr().err


def test_a_bug_in_this_process_is_raised_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kibitz.arena.match.player._exchange_value", lambda *_: 1 / 0)
    setup = setup_of("greedy", "random", concurrency=2)
    with pytest.raises(ZeroDivisionError):
        played(setup, Journal(setup.header()))


def test_sprt_ends_a_match() -> None:
    setup = setup_of("greedy", "random", rounds=200, sprt=Sprt(0, 300), concurrency=2)
    results = played(setup, Journal(setup.header()))
    assert setup.sprt is not None
    assert setup.sprt.verdict(results.pairs(0, 1)) == "H1"
    assert len(results.games) < 50


def test_impossible_matches_are_refused() -> None:
    with pytest.raises(InputError, match="at least two"):
        setup_of("random")
    with pytest.raises(InputError, match="never moves"):
        setup_of("material", "random")
    with pytest.raises(InputError, match="two players"):
        setup_of("random", "random", "greedy", sprt=Sprt(0, 5))
    with pytest.raises(InputError, match="--concurrency"):
        setup_of("random", "random", concurrency=0)


def test_a_seeded_search_repeats_its_games() -> None:
    def games() -> dict[int, tuple[str, ...]]:
        setup = setup_of("material,nodes=40", "random", rounds=1)
        journal = Journal(setup.header())
        played(setup, journal)
        return moves_of(journal.games)

    assert games() == games()


SAMPLED = "uniform,rule=gumbel,nodes=2,GumbelConsidered=1,GumbelNoise=1,Search=mcts"


def test_a_game_is_the_same_whatever_the_players_have_played_before() -> None:
    """The last one, with the same seed, among them."""
    setup = setup_of(f"{SAMPLED},name=a", f"{SAMPLED},name=b", rounds=1)
    table, (first, second) = Table(setup), setup.pairings()
    games = [table.play(pairing).moves for pairing in (first, first, second, first)]
    moves = [[move.uci for move in game] for game in games]
    assert moves[0] == moves[1] == moves[3] != moves[2]


@pytest.mark.skipif(STOCKFISH is None, reason="Stockfish is not installed")
def test_stockfish_plays_by_the_clock() -> None:
    weak = f"uci:{STOCKFISH},UCI_LimitStrength=true,UCI_Elo=1400,Hash=16,name=weak"
    strong = f"uci:{STOCKFISH},Hash=16,name=strong,nodes=20000"
    setup = Setup(
        parse_players([strong, weak]),
        parse_times("1+0.02"),
        random_openings(1),
        1,
        concurrency=2,
        terms=Terms(margin=SLOW),
    )
    results = played(setup, Journal(setup.header()))
    assert not results.forfeits(0) + results.forfeits(1)
    assert results.tally(0, 1).points >= 1.5
    for game in results.games:
        assert all(move.nodes is not None and move.depth is not None for move in game.moves)
        own = [move for i, move in enumerate(game.moves) if (i % 2 == 1) == (game.white == 0)]
        assert sum(move.milliseconds for move in own) > 0


# --- the command ----------------------------------------------------------------------------------


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kibitz", "match", "greedy", "random", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_a_killed_match_is_continued(tmp_path: Path, number: signal.Signals, code: int) -> None:
    path, pgn = tmp_path / "match.jsonl", tmp_path / "match.pgn"
    process = start("--games", "2000", "--resume", str(path), "--pgn", str(pgn))
    deadline = time.monotonic() + 60
    while lines_in(path) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == code
    done = lines_in(path) - 1
    assert done >= 3
    if number == signal.SIGINT:
        assert f"Games: {done}, " in output
        assert pgn.read_text().count("[Result ") == done
    games = str(done + 2 + done % 2)
    process = start("--games", games, "--resume", str(path), "--pgn", str(pgn), "--json")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(output)["games"] == int(games)
    numbers = [json.loads(line)["number"] for line in path.read_text().splitlines()[1:]]
    assert sorted(numbers) == list(range(int(games))), "nothing lost, nothing played twice"
    text = io.StringIO(pgn.read_text())
    for _ in numbers:
        told = chess.pgn.read_game(text)
        assert told is not None
        assert not told.errors


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size: writes are cut short, then refused."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def finished_games(count: int) -> list[PlayedGame]:
    setup = setup_of("greedy", "random", rounds=(count + 1) // 2)
    return played(setup, Journal(setup.header())).games[:count]


def test_games_that_do_not_fit_on_the_disk_are_written_when_they_do(tmp_path: Path) -> None:
    records, path = finished_games(4), tmp_path / "match.pgn"
    with PgnFile(path, ["a", "b"], [Control(), Control()]) as games:
        games.add(records[0])
        whole = path.read_bytes()
        with room_for(len(whole) + 100):
            games.add(records[1])
            games.add(records[2])
            assert path.read_bytes() == whole, "half a game was left in the file"
        games.add(records[3])
    assert [text.count("[Event ") for text in path.read_text().split("[Round ")[1:-1]] == [1, 1, 1]


def test_games_that_never_fit_are_rescued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIBITZ_DATA", str(tmp_path / "data"))
    games = PgnFile(Path("/dev/full"), ["a", "b"], [Control(), Control()])
    for one in finished_games(2):
        games.add(one)
    with pytest.raises(FileError, match="2 games were written to") as refused:
        games.close()
    [rescued] = (tmp_path / "data" / "unwritten").iterdir()
    assert str(rescued) in str(refused.value)
    assert rescued.read_text().count("[Event ") == 2
    with (
        pytest.raises(FileError),
        PgnFile(Path("/dev/full"), ["a", "b"], [Control(), Control()]) as more,
    ):
        more.add(finished_games(1)[0])
    assert rescued.read_text().count("[Event ") == 2, "a later rescue took the earlier one's place"


def test_a_full_disk_takes_one_line_and_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "match.jsonl"
    command = ["match", "greedy", "random", "--games", "2", "--json"]
    assert main([*command, "--pgn", "/dev/full", "--resume", str(path)]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["games"] == 2
    assert f"2 games are in {path} only" in shown.err
    assert lines_in(path) == 3
    assert main([*command, "--resume", "/dev/full"]) == 2
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_a_journal_on_a_full_disk_keeps_what_it_has(tmp_path: Path) -> None:
    setup, path = setup_of("greedy", "random", rounds=2), tmp_path / "match.jsonl"
    first, second, *_ = finished_games(4)
    with Journal(setup.header(), path) as journal:
        journal.add(first)
        with room_for(path.stat().st_size + 50), pytest.raises(FileError, match="it has 1 games"):
            journal.add(second)
    with Journal(setup.header(), path) as journal:
        assert list(journal.games) == [0]
        played(setup, journal)
        assert list(journal.games) == [0, 1, 2, 3]


def test_a_match_in_a_log_file_says_how_far_it_has_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "match.jsonl"
    command = ["match", "greedy", "random", "--resume", str(path), "--json", "--games"]
    assert main([*command, "2"]) == 0
    assert capsys.readouterr().err == "", "a short match says nothing"
    monkeypatch.setattr("kibitz.core.log.LINE_SECONDS", 0.0)
    assert main([*command, "4"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert "2 of 4 games were there already" in told
    assert main([*command, "2"]) == 0
    assert "4 games were there already, more than 2: all of them count" in capsys.readouterr().err
    assert [line for line in told if line.startswith("games: ")][-2:] == [
        "games: 3 of 4",
        "games: 4 of 4",
    ]
    assert main([*command, "4", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_the_block_of_a_match(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "greedy", "random", "--games", "4", "--sprt", "0", "50"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Results of greedy vs random (no limit, NULL, NULL, random 8 plies):"
    assert re.fullmatch(r"Games: 4, Wins: \d, Losses: \d, Draws: \d, Points: .+", lines[4])
    assert re.fullmatch(r"LLR: .+ \(-2.94, 2.94\) \[0.00, 50.00\]", lines[6])
    assert lines[-1] == "Forfeits: none"


def test_a_crosstable(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "random", "greedy", "random,name=other", "--games", "2"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"1\s+greedy", shown)
    assert "random vs other" in shown
    assert (
        main(["match", "random", "greedy", "random", "--games", "2", "--gauntlet", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["games"] == 4


def test_mistakes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, told in (
        (["greedy", "random", "--games", "3"], "even number"),
        (["greedy"], "at least two"),
        (["greedy", "random", "--sprt", "5", "0"], "elo0"),
        (["greedy", "random", "--tc", "soon"], "time control"),
        (["greedy", "random", "--tc", ""], "time control"),
        (["greedy", "random", "--openings", "/no/such.pgn"], "no such file"),
    ):
        assert main(["match", *arguments]) == 2
        assert told in capsys.readouterr().err


def test_a_rule_that_the_search_has_no_use_for_is_named() -> None:
    for search, said in (
        ("alphabeta", ["SearchRule has no effect with Search alphabeta"]),
        ("mcts", []),
    ):
        player = parse_player(f"material,rule=expectimax,Search={search}").open()
        player.new_game(1)
        assert isinstance(player, EnginePlayer)
        assert player.problems == said
        player.close()

"""`kibitz play` and `kibitz analyse` as a user runs them, with a script for the keyboard."""

import io
import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kibitz.arena.match.game import GameClock, parse_minutes
from kibitz.cli import main
from kibitz.cli.play.play import Game
from kibitz.core.errors import InputError
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.position.pgn import read_games
from kibitz.search.limits import Limits
from kibitz.search.report import Result


def play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], script: str, *words: str
) -> str:
    """What `kibitz play` prints for a script."""
    monkeypatch.setattr("sys.stdin", io.StringIO(script))
    nodes = [] if "--nodes" in words else ["--nodes", "60"]
    assert main(["play", "--network", "material", *nodes, *words]) == 0
    return capsys.readouterr().out


def test_a_game_by_script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "e4\n\nhint\nmoves\nfen\ntakeback\nfen\nhelp\nd2d4\nclock\nresign\n"
    shown = play(monkeypatch, capsys, script, "--clock", "5+3").splitlines()
    assert shown[-1] == "0-1 (white resigns)"
    assert sum(line.startswith("kibitz plays ") for line in shown) == 2
    assert any(line.startswith("perhaps ") for line in shown)
    assert "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1" in shown
    assert any(line.startswith("white 5:0") for line in shown)


def test_mate_ends_the_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fen = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
    assert play(monkeypatch, capsys, "Ra8\n", "--fen", fen).endswith("1-0 (checkmate)\n")
    shown = play(monkeypatch, capsys, "", "--fen", fen, "--side", "black", "--nodes", "2000")
    assert "kibitz plays Ra8#" in shown


def test_mistakes_are_named_and_the_game_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = play(monkeypatch, capsys, "Ke2\nxyz\ntakeback\nquit\n")
    assert "not legal here: '" in shown
    assert "illegal move in" not in shown  # no FEN
    assert "not a move in algebraic notation: 'xyz'" in shown
    assert "nothing to take back" in shown


def test_the_board_marks_the_last_move_and_stands_as_the_player_sits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = play(monkeypatch, capsys, "e4\nquit\n").splitlines()
    assert "4 . . . .[P]. . ." in shown
    assert "2 P P P P[.]P P P" in shown
    assert all(len(line) < 80 for line in shown)
    turned = play(monkeypatch, capsys, "board\nquit\n", "--side", "black").splitlines()
    assert turned[2].startswith("1 R N B K Q B N R")
    assert turned.count("  h g f e d c b a") == 3  # at the start, after the move, asked for


def test_odds_chess960_and_the_game_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    keep = ["--pgn", str(file)]
    shown = play(monkeypatch, capsys, "fen\ne4\nresign\n", "--odds", "queen", *keep)
    assert "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1" in shown
    shown = play(monkeypatch, capsys, "fen\nquit\n", "--chess960", "0", *keep)
    assert "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1" in shown
    play(monkeypatch, capsys, "e4\nquit\n", "--side", "random", *keep)
    games = [game.tags for game in read_games(file)]
    assert games[0]["Result"] == "0-1"
    assert games[0]["Termination"] == "white resigns"
    assert games[0]["Black"] == "Kibitz (material)"
    assert games[0]["FEN"].startswith("rnb1kbnr/")
    assert games[1]["Termination"] == "unterminated"


def test_an_unfinished_game_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--pgn", str(tmp_path / "games.pgn")]
    play(monkeypatch, capsys, "quit\n", "--side", "black", *words)  # it has moved
    shown = play(monkeypatch, capsys, "e5\nquit\n", *words, "--resume")
    assert "You play black" in shown
    play(monkeypatch, capsys, "takeback\ntakeback\na5\nresign\n", *words, "--resume")
    first, second, third = read_games(tmp_path / "games.pgn")
    assert [len(game.moves) for game in (first, second)] == [1, 3]
    assert second.moves[0] == first.moves[0] == third.moves[0]
    assert third.result == "1-0"
    assert main(["play", "--network", "material", *words, "--resume"]) == 2
    assert "leave out --resume for a new game" in capsys.readouterr().err
    assert main(["play", "--network", "material", "--resume"]) == 2
    assert "name it with --pgn" in capsys.readouterr().err


def test_the_hint_of_a_coach_says_what_the_move_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--fen", "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1"]
    assert play(monkeypatch, capsys, "hint\nquit\n", *words).endswith("\nperhaps exd5\n")
    taught = play(monkeypatch, capsys, "hint\nquit\n", *words, "--coach")
    assert re.search(r"\nperhaps exd5\. .*the queen on d5.*\.\n$", taught)


@pytest.mark.parametrize(
    "fen",
    [
        "6k1/3b2pp/8/3PB3/4KP2/1r4P1/7P/8 b - - 1 36",
        "r5k1/p1p1r1b1/1pbp1n2/4pPN1/4P3/2NP2R1/PPP1B1PP/6K1 b - - 1 23",
    ],
)
def test_a_quiet_hint_of_a_coach_says_at_least_what_is_expected(
    fen: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--fen", fen, "--side", "black", "--coach"]
    taught = play(monkeypatch, capsys, "hint\nquit\n", *words)
    assert re.search(r"\nperhaps \S+\. [A-Z0-9].*\.\n$", taught)


def test_hints_are_as_good_at_any_level(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--fen", "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "--level", "500"]
    shown = play(monkeypatch, capsys, "hint\n" * 20 + "quit\n", *words)
    assert shown.splitlines()[-20:] == ["perhaps exd5"] * 20


def test_the_search_of_a_game_is_ready_before_it_begins() -> None:
    with Engine("material", hash=4) as engine:
        Game(engine, Board(), "white", Limits(nodes=20)).play(["quit"])
        ready = engine.searcher
        engine.play(Board(), nodes=20)
        assert engine.searcher is ready


def test_no_clock_runs_while_a_hint_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = [0.0]
    clock = SimpleNamespace(monotonic=lambda: seconds[0])
    monkeypatch.setattr("kibitz.cli.play.play.time", clock)

    class Slow(Engine):
        def play(self, *given: Any, **named: Any) -> Result:
            seconds[0] += 100.0
            return super().play(*given, **named)

    minute = parse_minutes("1")
    with Engine("material", hash=4) as engine, Slow("material", hash=4) as slow:
        limits, both = Limits(nodes=20), GameClock(minute, minute)
        Game(engine, Board(), "white", limits, both, slow).play(["hint", "clock", "quit"])
    assert capsys.readouterr().out.endswith("\nwhite 1:00, black 1:00\n")


def test_what_was_taken_back_is_no_reason_for_a_draw(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    behind = ["--fen", "7k/8/8/8/8/8/P7/7K w - - 0 60", "--nodes", "20"]
    shown = play(monkeypatch, capsys, "Kg1\ntakeback\n" * 3 + "draw\nquit\n", *behind)
    assert shown.endswith("kibitz plays on\n")


def test_draws_are_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "kibitz plays on" in play(monkeypatch, capsys, "e4\ndraw\nquit\n")
    behind = ["--fen", "7k/8/8/8/8/8/P7/7K w - - 0 60", "--nodes", "20"]
    shown = play(monkeypatch, capsys, "Kg1\nKh1\nKg1\ndraw\n", *behind)
    assert shown.endswith("1/2-1/2 (draw agreed)\n")


def test_a_game_that_is_broken_off_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lines() -> Iterator[str]:
        yield "e4"
        signal.raise_signal(signal.SIGTERM)
        yield "e5"

    monkeypatch.setattr("kibitz.cli.play.play.typed_lines", lines)
    file = tmp_path / "games.pgn"
    words = ["--network", "material", "--nodes", "60", "--pgn", str(file)]
    assert main(["play", *words]) == 130
    assert [game.tags["Termination"] for game in read_games(file)] == ["unterminated"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--odds", "queen", "--chess960", "5"], "give one of them"),
        (["--movetime", "0"], "--movetime: 0; give 1 or more"),
        (["--chess960", "960"], "give 0 to 959"),
        (["--pgn", "folder"], "folder"),
        (["--pgn", "missing/games.pgn"], "--pgn: no such folder: 'missing'; make it"),
    ],
)
def test_what_a_game_refuses(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["play", "--network", "material", *words]) == 2
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_file_without_a_game_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    play(monkeypatch, capsys, "quit\n", "--pgn", str(file))
    assert not file.exists()
    play(monkeypatch, capsys, "e4\nquit\n", "--pgn", str(file))
    before = file.read_bytes()
    play(monkeypatch, capsys, "quit\n", "--pgn", str(file))
    assert file.read_bytes() == before != b""
    empty = tmp_path / "empty.pgn"
    empty.touch()
    play(monkeypatch, capsys, "quit\n", "--pgn", str(empty))
    assert empty.exists()


def test_a_coach_names_blunders_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fen = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2"
    shown = play(monkeypatch, capsys, "g4\n", "--fen", fen, "--coach", "--nodes", "400")
    [said] = [line for line in shown.splitlines() if line.startswith("coach: ")]
    assert said.startswith("coach: Blunder. ")
    assert "Qh4#" in said
    shown = play(monkeypatch, capsys, "Nc3\nquit\n", "--fen", fen, "--coach")
    assert "coach:" not in shown


def test_a_flag_falls() -> None:
    control = parse_minutes("0.5+1")
    clock = GameClock(control, control)
    assert not clock.spend("white", 30_001)
    assert clock.spend("black", 10_500)
    assert str(clock) == "white 0:01, black 0:20"
    for wrong in ("", "x", "0+1", "5+-1", "nan"):
        with pytest.raises(InputError, match="minutes"):
            parse_minutes(wrong)


def test_analysis_of_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    fen = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
    words = ["analyse", fen, "--network", "material", "--nodes", "2000"]
    assert main(words) == 0
    assert "Ra8#" in capsys.readouterr().out
    assert main([*words, "--json", "--lines", "2"]) == 0
    [position] = json.loads(capsys.readouterr().out)["positions"]
    assert position["lines"][0] == {
        "score": 1,
        "kind": "mate",
        "wdl": [1000, 0, 0],
        "moves": ["a1a8"],
    }
    assert len(position["lines"]) == 2


def test_analysis_of_a_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn = tmp_path / "game.pgn"
    pgn.write_text('[Result "0-1"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    assert main(["analyse", str(pgn), "--network", "material", "--nodes", "200", "--json"]) == 0
    positions = json.loads(capsys.readouterr().out)["positions"]
    assert [position["played"] for position in positions] == [
        "", "1. f3", "1... e5", "2. g4", "2... Qh4#",
    ]  # fmt: skip
    assert positions[3]["lines"][0]["moves"] == ["d8h4"]
    assert positions[4]["lines"][0]["moves"] == []


def test_games_that_are_left_out_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = '[Event "a"]\n\n1. e4 e5 2. Nf7 *\n\n', '[Event "b"]\n\n1. e4 *\n'
    pgn = tmp_path / "games.pgn"
    words = ["analyse", str(pgn), "--network", "material", "--nodes", "20", "--json"]
    pgn.write_text(bad + good)
    assert main(words) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert len(found["positions"]) == 2
    assert found["limits"] == {"nodes": 20}
    assert [line for line in found["skipped"] if "Nf7" in line] == found["skipped"] != []
    assert "Nf7" in captured.err
    for text, skipped in ((bad, "1 skipped"), ("", "0 skipped")):
        pgn.write_text(text)
        assert main(words) == 2
        assert skipped in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.pgn"], "neither a FEN nor a file: 'nowhere.pgn'"),
        (["--time", "nan"], "--time: nan"),
        (["--time", "inf"], "--time: inf"),
        (["--nodes", "9" * 23], "at most"),
        (["--lines", "0"], "--lines: MultiPV: must be from 1 to 500, found: 0"),
        (["--threads", "513"], "--threads: Threads: must be from 1 to 512, found: 513"),
    ],
)
def test_what_analysis_refuses(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyse", *arguments, "--network", "material"]) == 2
    assert message in capsys.readouterr().err


def test_options_without_effect_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In analysis, in a game and in a match alike; what a rule brings with it is not."""
    file = tmp_path / "settings.toml"
    file.write_text("[search]\nminibatch_size = 5\n")
    said = "MinibatchSize has no effect with one thread"
    options = ["--config", str(file), "--network", "material", "--nodes", "20"]
    assert main(["analyse", *options]) == 0
    assert capsys.readouterr().err.count(said) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main(["play", *options]) == 0
    assert capsys.readouterr().err.count(said) == 1
    player = "material,rule=sble,FpuStrategy=absolute"
    assert main(["match", player, "greedy", "--games", "2", "--nodes", "2"]) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if "no effect" in line]
    assert warned == ["material: FpuStrategy has no effect with SearchRule sble"]


def test_a_search_names_tables_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["search", "--network", "material", "--nodes", "10"]
    assert main([*words, "--option", "SyzygyPath=/nowhere"]) == 0
    assert "SyzygyPath: no folder '/nowhere'" in capsys.readouterr().err


def test_a_flag_falls_while_nobody_types(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And `clock` says what is left at that moment, not what was left after the last move."""

    def lines() -> Iterator[str | None]:
        yield None
        time.sleep(1.1)
        yield "clock"
        while True:  # the game ends by itself
            yield None

    monkeypatch.setattr("kibitz.cli.play.play.typed_lines", lines)
    assert main(["play", "--network", "material", "--nodes", "9", "--clock", "0.05"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == "0-1 (white has lost on time)"
    clocks = [line for line in shown if line.startswith("white 0:0")]
    assert clocks[0] == "white 0:03, black 0:03"
    assert clocks[1] < clocks[0]


def test_what_is_typed_in_a_hurry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Small letters of pieces, keys that send escapes, a greeting, and help named in errors."""
    shown = play(monkeypatch, capsys, "\x1b[15~nf3\x1b[A\nnf9\nfen\nquit\n")
    assert "You play white against Kibitz, network material." in shown
    assert "help lists the rest" in shown
    assert "/5N2/" in shown
    [fault] = [line for line in shown.splitlines() if "'nf9'" in line]
    assert fault.endswith("(help lists what can be typed)")
    fen = "4k3/8/8/8/8/2p5/1P6/4KB2 w - - 0 1"
    shown = play(monkeypatch, capsys, "bxc3\nfen\nquit\n", "--fen", fen)
    assert "/2P5/" in shown


def test_a_kept_game_says_clocks_and_strength(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    words = ["--clock", "5+3", "--elo", "1500", "--pgn", str(file)]
    play(monkeypatch, capsys, "e4\ntakeback\nd4\nresign\n", *words)
    [game] = read_games(file)
    assert game.tags["TimeControl"] == "300+3"
    assert game.tags["Black"] == "Kibitz (material, strength 1500)"
    assert [node.clock() is not None for node in game.tree.mainline()] == [True, True]


def test_a_coach_offers_nothing_to_take_back_after_mate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fen = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2"
    shown = play(monkeypatch, capsys, "g4\n", "--fen", fen, "--coach", "--nodes", "400")
    assert "mate at once: too late to take it back" in shown
    assert "takeback: try again" not in shown

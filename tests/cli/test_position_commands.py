"""The commands about positions, run as a user runs them: numbers, exit codes, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kibitz.arena.bench import position as rivals
from kibitz.cli import main
from kibitz.comment.decoder.comments import SUITE
from kibitz.engine import Engine
from kibitz.position.fen import START

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
MATED = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"
DATA = Path(__file__).parents[1] / "fixtures" / "perft"


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a command with --json; standard output must be one object and nothing else."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result


def test_perft(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "perft", "--depth", "4")
    assert result["nodes"] == 197_281
    assert result["seconds"] > 0
    assert result["nps"] > 0
    assert (result["fen"], result["depth"], result["threads"]) == (START, 4, 1)
    two = run(capsys, "perft", "--fen", KIWIPETE, "--depth", "5", "--threads", "2")
    assert two["nodes"] == 193_690_690


def test_perft_divide(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "perft", "--fen", KIWIPETE, "--depth", "2", "--divide")
    assert sum(result["divide"].values()) == result["nodes"] == 2039
    assert "e1g1" in result["divide"]
    result = run(capsys, "perft", "--fen", KIWIPETE, "--depth", "1", "--divide", "--chess960")
    assert {"e1h1", "e1a1"} <= set(result["divide"])
    assert main(["perft", "--fen", KIWIPETE, "--depth", "2", "--divide"]) == 0
    shown = capsys.readouterr().out
    assert "e1g1" in shown
    assert "2,039" in shown


@pytest.mark.parametrize("name", ["standard.epd", "fischer.epd", "tricky.perft"])
def test_perft_suites(capsys: pytest.CaptureFixture[str], name: str) -> None:
    result = run(capsys, "perft", "--suite", str(DATA / name), "--depth", "3")
    assert result["failures"] == []
    assert result["counts"] > result["entries"] > 10
    fewer = run(capsys, "perft", "--suite", str(DATA / name), "--depth", "3", "--limit", "100")
    assert fewer["counts"] < result["counts"]


def test_wrong_counts_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    suite = tmp_path / "wrong.epd"
    suite.write_text(f"{START} ;D1 20 ;D2 401\n8/8/8/8/8/8/8/8 w - - ;D1 0\n")
    result = run(capsys, "perft", "--suite", str(suite), code=1)
    wrong, impossible = result["failures"]
    assert (wrong["name"], wrong["depth"]) == ("line 1", 2)
    assert (wrong["nodes"], wrong["expected"]) == (400, 401)
    assert "exactly one king" in impossible["error"]
    assert main(["perft", "--suite", str(suite)]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("line 1, ") == 1
    assert "line 1, depth 2: expected 401, found 400" in told
    suite.write_text(f"id start\nepd {START}\nperft 2 401\n")
    assert main(["perft", "--suite", str(suite)]) == 1
    assert "start, line 2, depth 2: expected 401" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--fen", "nonsense"], "FEN: found 1 field"),
        (["--depth", "0"], "depth: 0"),
        (["--depth", "99"], "depth: 99"),
        (["--threads", "0"], "--threads: 0"),
        (["--suite", "/nonexistent.epd"], "no such file"),
        (["--suite", str(DATA / "standard.epd"), "--depth", "0"], "nothing to check"),
        (["--suite", str(DATA / "standard.epd"), "--limit", "1"], "the shallowest count is"),
        (["--suite", str(DATA / "standard.epd"), "--fen", "x"], "--fen does nothing"),
        (["--suite", str(DATA / "standard.epd"), "--divide"], "--divide does nothing"),
        (["--suite", str(DATA / "standard.epd"), "--chess960"], "--chess960 does nothing"),
        (["--depth", "1", "--limit", "0"], "--limit does nothing"),
    ],
)
def test_what_perft_refuses(
    capsys: pytest.CaptureFixture[str], arguments: list[str], fault: str
) -> None:
    assert main(["perft", *arguments]) == 2
    captured = capsys.readouterr()
    assert fault in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("arguments", [["--depth", "12"], ["--depth", "12", "--threads", "2"]])
def test_perft_stops_at_ctrl_c(arguments: list[str]) -> None:
    script = "import sys; from kibitz.cli import main; sys.exit(main())"
    source = str(Path(__file__).parents[2] / "src")
    with subprocess.Popen(
        [sys.executable, "-c", script, "--verbose", "perft", *arguments, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    ) as process:
        assert process.stderr is not None
        assert "counting" in process.stderr.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert "stopped before the count was complete" in err


def test_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = run(capsys, "show", MATED)
    assert (result["outcome"], result["result"]) == ("checkmate", "0-1")
    assert (result["checkers"], result["moves"], result["turn"]) == (["h4"], [], "white")
    result = run(capsys, "show", KIWIPETE)
    assert len(result["moves"]) == 48
    assert {"O-O", "O-O-O", "Nxf7"} <= set(result["moves"])
    assert (result["fen"], result["outcome"]) == (KIWIPETE, None)
    picture = tmp_path / "board.svg"
    assert main(["show", KIWIPETE, "--svg", str(picture)]) == 0
    assert picture.read_text().startswith("<svg")
    shown = capsys.readouterr().out
    assert "8 r . . . k . . r\n" in shown
    assert "1 R . . . K . . R\n" in shown
    assert "O-O-O" in shown
    assert main(["show", "8/8/8/8/8/8/8/8 w - -"]) == 2


def test_bench_position(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "bench", "position", "--rounds", "1", "--plies", "-3")
    assert result["disagreements"] == []
    assert set(result["generators"]) == {"kibitz"} | {rival.name for rival in rivals.installed()}
    assert "python-chess" in result["generators"]
    assert result["ratios"]["kibitz"] == 1
    assert result["nodes"] == 8902 + 2039 + 43238 + 264 + 1486 + 2079
    assert main(["bench", "position", "--rounds", "1", "--plies", "-3"]) == 0
    assert "python-chess" in capsys.readouterr().out


@pytest.mark.parametrize("rival", rivals.installed(), ids=lambda rival: rival.name)
def test_rivals_count_right(rival: rivals.Rival) -> None:
    with rival.open_counter() as count:
        assert count(START, 3) == 8902
        assert count(KIWIPETE, 2) == 2039
        assert rivals.timed(count, KIWIPETE, 1).leaves == 48


def test_a_generator_that_counts_wrong_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import contextlib

    def always(_fen: str, _depth: int) -> int:
        return 42

    broken = rivals.Rival("broken", 1, lambda: contextlib.nullcontext(always))
    monkeypatch.setattr(rivals, "installed", lambda: [broken])
    result = run(capsys, "bench", "position", "--rounds", "1", "--plies", "-3", code=1)
    assert result["disagreements"] == ["broken"]


def test_bench_comment_times_each_move_without_an_engine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a comment without a search has started an engine")

    monkeypatch.setattr(Engine, "ready", refuse)
    result = run(capsys, "bench", "comment", "--rounds", "1")
    times = [row["milliseconds"] for row in result["rows"]]
    assert len(times) == len(SUITE)
    assert min(times) > 0
    assert result["slowest"] == max(times)
    assert result["mean"] == pytest.approx(sum(times) / len(times), abs=0.01)
    assert main(["bench", "comment", "--rounds", "0"]) == 2

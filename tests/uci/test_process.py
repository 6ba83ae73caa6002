"""A real process at the other end of a pipe, and python-chess's engine client at ours."""

import io
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import chess
import chess.engine
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.uci.protocol import StandardInput
from tests.test_house import loaded_by

COMMAND = [sys.executable, "-m", "kibitz.uci"]
PATIENCE = 60.0


@pytest.fixture(scope="module")
def client() -> Iterator[chess.engine.SimpleEngine]:
    environment = {**os.environ, "KIBITZ_DATA": os.devnull}
    with chess.engine.SimpleEngine.popen_uci(COMMAND, timeout=PATIENCE, env=environment) as engine:
        engine.configure({"WeightsFile": "material", "Hash": 16})
        engine.ping()
        yield engine


def test_python_chess_plays_a_game_with_it(client: chess.engine.SimpleEngine) -> None:
    board = chess.Board()
    while not board.is_game_over() and board.ply() < 40:
        result = client.play(board, chess.engine.Limit(nodes=100), ponder=board.ply() % 3 == 0)
        assert result.move is not None
        assert board.is_legal(result.move)
        board.push(result.move)


def test_python_chess_reads_its_analysis(client: chess.engine.SimpleEngine) -> None:
    client.configure({"UCI_ShowWDL": True})
    board = chess.Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
    lines = client.analyse(board, chess.engine.Limit(nodes=2000), multipv=3)
    assert [line["multipv"] for line in lines] == [1, 2, 3]
    assert lines[0]["score"].relative == chess.engine.Mate(1)
    assert lines[0]["pv"][0] == chess.Move.from_uci("a1a8")
    assert "wdl" in lines[0]
    with client.analysis(chess.Board()) as analysis:
        for info in analysis:
            if info.get("nodes", 0) > 1000:
                break
    best = analysis.wait().move
    assert best is not None
    assert chess.Board().is_legal(best)


def test_python_chess_plays_chess960_with_it(client: chess.engine.SimpleEngine) -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/1K1R4 w D - 0 1", chess960=True)
    limit = chess.engine.Limit(nodes=50)
    castles = chess.Move.from_uci("b1d1")
    assert client.play(board, limit, root_moves=[castles]).move == castles


def test_lichess_bots_options_exist(client: chess.engine.SimpleEngine) -> None:
    client.configure({"Move Overhead": 100, "Threads": 1, "Hash": 16, "SyzygyPath": "<empty>"})


def test_letters_that_the_terminal_has_not_are_no_fault() -> None:
    script = "position fen \u00e9\nsetoption name UCI_Opponent value \u00e9\nquit\n".encode()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        COMMAND, input=script, capture_output=True, timeout=PATIENCE, env=environment, check=True
    )
    assert b"FEN: found 1 field: '\\xe9'" in done.stdout
    assert b"Traceback" not in done.stderr


def test_the_answer_to_uci_needs_nothing_heavy() -> None:
    heavy = {"numpy", "numba", "torch", "chess", "onnxruntime", "rich", "cyclopts"}
    assert loaded_by("kibitz.uci.__main__") & heavy == set()


@pytest.mark.parametrize("module", ["kibitz.uci", "kibitz"])
def test_a_gui_may_start_the_program_without_arguments(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module],
        input="uci\nquit\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "uciok"
    assert done.stderr == ""


def test_only_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    lines = "uci\nsetoption name WeightsFile value material\nisready\ngo nodes 10\nwait\nquit\n"
    done = subprocess.run(
        COMMAND, input=lines, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path
    )
    known = ("id ", "option ", "uciok", "info ", "readyok", "bestmove ")
    assert all(line.startswith(known) for line in done.stdout.splitlines())
    assert done.stdout.splitlines()[-1].startswith("bestmove ")


def test_what_is_broken_off_or_cannot_be_read_is_said(tmp_path: Path) -> None:
    lines = "setoption name WeightsFile value material\nisready\ngo perft x\nbench 10000000\nquit\n"
    done = subprocess.run(
        COMMAND, input=lines, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path
    )
    assert "info string go perft: expected a whole number, found 'x'" in done.stdout
    assert "info string bench stopped" in done.stdout  # and no signature of a part
    assert "bestmove" not in done.stdout
    assert "Signature" not in done.stdout


def test_what_a_gui_no_longer_reads_is_no_error() -> None:
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": ""},  # buffered, as most have it
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write("uci\n")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_a_closed_stream_ends_the_engine_without_a_fault(closed: str) -> None:
    line = f"echo quit | {shlex.join(COMMAND)} {closed}"
    done = subprocess.run(
        line, shell=True, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_gui_that_dies_takes_the_engine_along() -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("setoption name WeightsFile value material\ngo infinite\n")
        process.stdin.flush()
        while not process.stdout.readline().startswith("info depth"):
            pass
        process.stdout.close()
        process.stdin.close()
        assert process.wait(PATIENCE) in (0, -signal.SIGPIPE)


def test_gui_shows_the_position_in_the_browser(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new && mv {seen}.new {seen}\n')
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        process.stdin.write("position startpos moves e2e4\ngui\n")
        process.stdin.flush()
        while not seen.exists():
            time.sleep(0.05)
        url, _, place = seen.read_text().strip().partition("#")
        assert place == "analyse/rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR_b_KQkq_-_0_1"
        with urllib.request.urlopen(url) as page:
            assert b"Kibitz" in page.read()
        press_quit(process)
        assert process.wait(PATIENCE) == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)


def press_quit(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("quit\n")
    process.stdin.flush()


def close_the_input(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def press_control_c(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)


@pytest.mark.skipif(os.name != "posix" or not COMPILED, reason="signals of POSIX; compiles")
@pytest.mark.parametrize("leave", [press_quit, close_the_input, press_control_c])
def test_one_may_leave_while_kernels_are_compiled(
    leave: Callable[[subprocess.Popen[str]], None], tmp_path: Path
) -> None:
    environment = {**os.environ, "KIBITZ_CACHE": str(tmp_path)}
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("isready\n")
        process.stdin.flush()
        while "compiling" not in process.stdout.readline():
            pass
        leave(process)
        assert process.stdout.read() == ""  # no readyok: it did not wait for the end
        assert process.wait(PATIENCE) in (0, -signal.SIGINT)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_ends_an_idle_engine_without_a_traceback() -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("uci\n")
        process.stdin.flush()
        while process.stdout.readline() != "uciok\n":
            pass
        press_control_c(process)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_script_is_obeyed_to_its_end_though_kernels_are_compiled() -> None:
    lines = StandardInput(io.StringIO("isready\nquit\ngo\n"))
    assert list(lines) == ["isready\n", "quit\n"]
    lines.set_compiling(True)
    lines.set_compiling(False)


def test_arguments_of_the_program_without_any_are_named() -> None:
    code = "import sys; from kibitz.uci.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "--config", "mine.toml"],
        input="quit\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "takes no arguments: '--config mine.toml'" in done.stdout.splitlines()[0]

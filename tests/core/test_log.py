"""What long work says while it runs, and how it stops, with real signals to real processes."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.core import log
from kibitz.core.log import Level, Metrics, graceful_stop, plain, progress, say, set_level


@pytest.fixture(autouse=True)
def ordinary_level() -> Iterator[None]:
    yield
    set_level(Level.NORMAL)


@pytest.mark.parametrize(
    ("level", "heard"), [(Level.QUIET, "a"), (Level.NORMAL, "ab"), (Level.VERBOSE, "abc")]
)
def test_levels(level: Level, heard: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_level(level)
    say("a", Level.QUIET)
    say("b")
    say("c", Level.VERBOSE)
    captured = capsys.readouterr()
    assert captured.err.split() == list(heard)
    assert captured.out == ""


def test_text_is_taken_literally(capsys: pytest.CaptureFixture[str]) -> None:
    text = "[%eval 0.24] [bold] " + "x" * 300
    say(text)
    assert capsys.readouterr().err == text + "\n"


def test_without_a_terminal_progress_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 59.0, 60.0, 60.0, 61.0, 130.0, 130.0])
    # Only log's clock: what rich takes from `time` when it is first imported here, it would keep.
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    with progress("games", total=1200) as bar:
        bar.describe("7/s")
        for _ in range(4):
            bar.advance(300)
    assert capsys.readouterr().err == "games: 600 of 1,200 (7/s)\ngames: 1,200 of 1,200 (7/s)\n"


def test_large_counts_and_parts_of_one_are_written_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "LINE_SECONDS", 0.0)
    with progress("positions", total=20_000_000) as bar:
        bar.advance(12_345_678)
        for _ in range(3):
            bar.advance(1 / 3)
        bar.advance(0.15116)
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in told] == [
        *("12,345,678 of 20,000,000", "12,345,678.3 of 20,000,000"),
        *("12,345,678.6 of 20,000,000", "12,345,679 of 20,000,000"),
        "12,345,679.1 of 20,000,000",
    ]


def test_nothing_is_drawn_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("counting", total=2) as bar:
        bar.advance()
        bar.describe("still counting")
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    from rich.console import Console

    screen = Console(file=StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(log, "console", lambda: screen)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("counting", total=4) as bar:
        bar.advance(4)
        bar.describe("all counted")
    assert isinstance(screen.file, StringIO)
    assert "all counted" in screen.file.getvalue()
    assert "100%" in screen.file.getvalue()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_metrics_are_there_at_once_and_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    path = tmp_path / "run" / "metrics.jsonl"
    with Metrics(path) as metrics:
        metrics.write(1, loss=0.5)
        assert lines(path)[0]["loss"] == 0.5  # while the file is still open
    with Metrics(path) as metrics:
        metrics.write(2, loss=np.float32(0.25), counts=np.arange(3), phase="end")
    first, second = lines(path)
    assert list(first) == ["step", "time", "loss"]
    assert second["step"] == 2
    assert second["time"] >= first["time"] > 1.6e9
    assert (second["loss"], second["counts"], second["phase"]) == (0.25, [0, 1, 2], "end")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # files have no times
    with Metrics(path) as metrics:
        metrics.write(3, loss=1.0)
    assert lines(path)[-1] == {"step": 3, "loss": 1.0}


@pytest.mark.parametrize("torn", ['{"step": 2, "lo', '{"step": 2}'])
def test_a_line_torn_by_a_crash_is_cut(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n' + torn, encoding="utf-8")
    with Metrics(path) as metrics:
        metrics.write(3)
    assert [line["step"] for line in lines(path)] == [1, 3]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
        lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_everything_plain_is_json(value: Any) -> None:
    json.loads(json.dumps(plain(value), allow_nan=False))


def test_what_is_not_finite_stays_visible() -> None:
    values = {"loss": math.nan, "gradient": np.float32(np.inf), "least": [-math.inf]}
    assert plain(values) == {"loss": "nan", "gradient": "inf", "least": ["-inf"]}


def test_one_signal_asks_two_insist(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with graceful_stop() as stop:
        assert not stop.requested
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "again to stop at once" in capfd.readouterr().err


def test_outside_the_main_thread_a_program_can_ask() -> None:
    seen = []

    def work() -> None:
        with graceful_stop() as stop:
            seen.append(stop.requested)
            stop.request()
            seen.append(stop.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False, True]


LOOP = """
import sys, time
from kibitz.core.log import graceful_stop
with graceful_stop() as stop:
    print("ready", flush=True)
    while not stop.requested:
        time.sleep(0.01)
    print("stopping", flush=True)
    if sys.argv[1] == "stuck":
        time.sleep(60)
    print("saved", flush=True)
"""


@pytest.mark.parametrize(("kind", "words"), [("good", ["saved"]), ("stuck", [])])
def test_a_loop_saves_when_asked_and_dies_when_told(kind: str, words: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOOP, kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopping\n"
        if kind == "stuck":
            process.send_signal(signal.SIGINT)
        # Not communicate: it would miss what readline has already taken into its buffer.
        rest, complaints = process.stdout.read(), process.stderr.read()
    assert rest.split() == words
    assert (process.returncode == 0) is (kind == "good")
    assert ("KeyboardInterrupt" in complaints) is (kind == "stuck")

"""Messages, progress and metrics of long work, and how it is stopped.

Everything here goes to standard error or to a file: standard output belongs to results and to the
UCI protocol. rich is imported only when something is really shown.
"""

from __future__ import annotations

import enum
import functools
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from kibitz.core.files import cut_torn_line, has_dates

if TYPE_CHECKING:
    from rich.console import Console


Item = TypeVar("Item")

LINE_SECONDS = 60.0  # between two lines of progress


class Level(enum.IntEnum):
    """How much is said."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_level = Level.NORMAL


def set_level(level: Level) -> None:
    """Choose how much is said from now on, in this process."""
    global _level
    _level = level


def level() -> Level:
    """Return how much is said in this process."""
    return _level


@functools.cache
def console() -> Console:
    """Return the one console, on standard error, that text and progress bars share."""
    from rich.console import Console

    return Console(stderr=True)


def say(text: str, level: Level = Level.NORMAL) -> None:
    """Print a line unless the level is below ``level``; ``Level.QUIET`` is always printed."""
    if _level >= level:
        # The text may quote anything, a PGN comment for one: no markup, no guessed colours.
        console().print(text, markup=False, highlight=False, soft_wrap=True)


class Bar:
    """A progress bar, or lines now and then where no bar can be drawn."""

    def __init__(self, move: Callable[[float], None], rename: Callable[[str], None]) -> None:
        self._move = move
        self._rename = rename

    def advance(self, amount: float = 1) -> None:
        """Say that ``amount`` more of the work is done."""
        self._move(amount)

    def over(self, items: Iterable[Item], stop: Stop | None = None) -> Iterator[Item]:
        """The items one by one, until a stop is requested; the bar advances after each."""
        for item in items:
            yield item
            self.advance()
            if stop is not None and stop.requested:
                return

    def describe(self, text: str) -> None:
        """Say what is being done now."""
        self._rename(text)


class _Lines:
    """Lines now and then that say how far work has come."""

    def __init__(self, what: str, total: float | None) -> None:
        self._what, self._text = what, ""
        self._of = "" if total is None else f" of {_counted(total)}"
        self._done, self._said = 0.0, time.monotonic()

    def advance(self, amount: float) -> None:
        self._done += amount
        if time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            say(f"{self._what}: {_counted(self._done)}{self._of}{self._text}")

    def rename(self, text: str) -> None:
        self._text = f" ({text})"


def _counted(amount: float) -> str:
    """A count in full, with a tenth where part of one is done."""
    tenths = math.floor(10 * amount + 1e-6)  # after many small parts of a whole
    return f"{tenths // 10:,}" if tenths % 10 == 0 else f"{tenths / 10:,.1f}"


@contextmanager
def progress(what: str, total: float | None = None) -> Iterator[Bar]:
    """Show how far long work has come, with the time left; ``total`` may be unknown.

    A bar on a terminal, else a line a minute; nothing when the level is quiet.
    """
    if _level is Level.QUIET or not sys.stderr.isatty():
        lines = _Lines(what, total)
        yield Bar(lines.advance, lines.rename)
        return
    from rich.progress import Progress

    with Progress(console=console(), transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield Bar(
            lambda amount: shown.advance(task, amount),
            lambda text: shown.update(task, description=text),
        )


class Metrics:
    """Appends measurements to a file, one JSON object a line: step, time (Unix, s) and values.

    Each line is flushed at once, so that a crash loses no earlier one.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        cut_torn_line(path)
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def __enter__(self) -> Metrics:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, step: int, **values: Any) -> None:
        """Append one line; values are numbers (NumPy's too), texts, or lists and dicts of them."""
        moment = {"time": round(time.time(), 3)} if has_dates() else {}
        line = {"step": step, **moment, **values}
        self._file.write(json.dumps(plain(line), allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: scalars of NumPy and torch as Python's, nan as a text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no nan, and a loss that became nan must stay visible
    return value


@dataclass
class Stop:
    """Whether the work is to end; loops poll ``requested``, finish cleanly and save."""

    requested: bool = False

    def request(self) -> None:
        """End the work after its current step."""
        self.requested = True

    def receive(self, *_: object) -> None:
        """Handle a signal: the first requests the end, the second forces it."""
        if self.requested:
            raise KeyboardInterrupt
        self.request()
        # Not through rich or print: the signal may have come in the middle of a write of theirs.
        if _level > Level.QUIET:
            os.write(2, b"\nkibitz: stopping after this step; again to stop at once\n")


@contextmanager
def graceful_stop() -> Iterator[Stop]:
    """Let the first Ctrl-C or SIGTERM only set ``requested``; the second raises KeyboardInterrupt.

    Python runs handlers between bytecodes, so a compiled kernel is never interrupted: loops around
    kernels give them short pieces of work. Outside the main thread, where Python allows no
    handlers, the flag can still be set with ``request``.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    watched = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop.receive) for number in watched}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Nowhere(TextIOWrapper):
    """Stands for a closed stream and knows whether anything was lost."""

    has_lost = False

    def write(self, text: str) -> int:
        """Lose a text; the work goes on, whose files may be what is wanted."""
        self.has_lost = self.has_lost or bool(text)
        return len(text)


def output_is_lost() -> bool:
    """Whether results were written to a standard output that is closed."""
    return isinstance(sys.stdout, _Nowhere) and sys.stdout.has_lost


def open_closed_streams() -> None:
    """Let what is said to a closed stream (`>&-`) go nowhere; no letter is a fault."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, "wb")  # noqa: PTH123, SIM115 - for the whole process
            setattr(sys, name, _Nowhere(nowhere))
    if isinstance(sys.stdout, TextIOWrapper):  # letters that the locale has not: as standard error
        sys.stdout.reconfigure(errors="backslashreplace")

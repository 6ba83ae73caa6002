"""A search under way, here or on a thread of its own, not interrupted by Python's own work.

Two things cost a move milliseconds that no search can give back. The garbage collector looks at
all that numba and its compiler have made, a tenth of a second each time, though none of it is ever
garbage: `gc.freeze` takes it out of the collector's sight. And a thread that comes back from a
kernel waits for Python's lock until the one that holds it has had its 5 ms.
"""

from __future__ import annotations

import gc
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kibitz.search.limits import Limits, Signals

if TYPE_CHECKING:
    from kibitz.position.board import Board
    from kibitz.search.report import Listener, Report, Result
    from kibitz.search.searcher import BaseSearcher

HOLD_SECONDS = 0.005  # between two looks at whether a search may answer


class Search:
    """A search that was asked for: run it once, stop it from anywhere, even before it runs.

    `carry_out` runs it; the engine that it belongs to gives that.
    """

    def __init__(
        self,
        board: Board,
        limits: Limits | None,
        carry_out: Callable[[Search, Listener | None], Result],
    ) -> None:
        self.board, self.limits = board, limits
        self.signals, self.finished = Signals(), threading.Event()
        self.searcher: BaseSearcher | None = None  # that is at work on it
        self._carry_out = carry_out

    def run(self, on_report: Listener | None = None) -> Result:
        """Search on this thread; `on_report` is called with reports as the search goes on."""
        return self._carry_out(self, on_report)

    def stop(self) -> None:
        """End it; the move found so far is the answer."""
        self.signals.stop.set()
        if (searcher := self.searcher) is not None:
            searcher.stop()

    def ponderhit(self) -> None:
        """From now on the clock is ours."""
        self.signals.ponderhit.set()
        if (searcher := self.searcher) is not None:
            searcher.ponderhit()

    def hold(self) -> None:
        """Wait until the answer may be given: not before `stop` in an infinite search."""
        limits, signals = self.limits or Limits(), self.signals
        while limits.infinite or (limits.ponder and not signals.ponderhit.is_set()):
            if signals.stop.wait(HOLD_SECONDS):
                return


class Analysis(Iterator["Report"]):
    """The reports of a search that runs on a thread of its own; leaving it ends the search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._reports: queue.SimpleQueue[Report | Result | BaseException] = queue.SimpleQueue()
        self._result: Result | None = None
        arguments = (search, self._reports.put)
        threading.Thread(target=_run, args=arguments, name="analysis", daemon=True).start()

    def __next__(self) -> Report:
        from kibitz.search.report import Report

        if self._result is None:
            item = self._reports.get()
            if isinstance(item, Report):
                return item
            if isinstance(item, BaseException):
                raise item
            self._result = item
        raise StopIteration

    def result(self) -> Result:
        """Wait for the end; the result of the search."""
        for _ in self:
            pass
        assert self._result is not None
        return self._result

    def stop(self) -> None:
        """End the search; the last reports are still to be had."""
        self._search.stop()

    def __enter__(self) -> Analysis:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._search.finished.wait()

    def __del__(self) -> None:
        self._search.stop()


def _run(search: Search, tell: Callable[[Any], None]) -> None:
    """The thread of an analysis, which must not keep the Analysis itself alive."""
    try:
        tell(search.run(tell))
    except BaseException as error:  # noqa: BLE001 - reading the reports raises it
        tell(error)


# --- in processes of a pool -----------------------------------------------------------------------


class Closable(Protocol):
    """What runs engines or programs."""

    def close(self) -> None:
        """End them."""


Wanted = TypeVar("Wanted")
Running = TypeVar("Running", bound=Closable)


class Kept(Generic[Wanted, Running]):
    """What runs engines for each process of a pool: begun by the first task, kept for the next."""

    def __init__(self, begin: Callable[[Wanted], Running]) -> None:
        self._begin = begin
        self._kept: tuple[Wanted, Running] | None = None

    def get(self, wanted: Wanted) -> Running:
        """What is kept, or another one where something else is wanted."""
        if self._kept is None or self._kept[0] != wanted:
            self.end()
            self._kept = wanted, self._begin(wanted)
        return self._kept[1]

    def end(self) -> None:
        """End it; the next task begins another."""
        if self._kept is not None:
            self._kept[1].close()
            self._kept = None


# --- without interruptions ------------------------------------------------------------------------

LOCK_SECONDS = 0.0005  # after which a waiting thread gets the lock


@contextmanager
def without_gc_pauses() -> Iterator[None]:
    """Freeze objects, and let threads take turns quickly, for the time of the block."""
    before, frozen = sys.getswitchinterval(), gc.get_freeze_count() > 0
    sys.setswitchinterval(min(before, LOCK_SECONDS))
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:  # what a program froze for good stays so
            gc.unfreeze()
        sys.setswitchinterval(before)

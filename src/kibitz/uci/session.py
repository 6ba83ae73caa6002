"""A session: one GUI, one engine, the position between them, and the work that goes on.

The loop says what each line asks for; a session does it. A search runs on a thread of its own, so
that `stop` is always heard. Nothing that takes time to import is imported before it is needed: the
answer to `uci` comes at once.
"""

from __future__ import annotations

import gc
import math
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kibitz.core.errors import InputError, KibitzError
from kibitz.engine import Engine
from kibitz.engine.running import Search
from kibitz.search.limits import Clock, Limits, Signals
from kibitz.uci.options import UciOptions
from kibitz.uci.protocol import (
    Channel,
    PositionCommand,
    Standing,
    Write,
    board_at,
    legal_only,
    with_own_clock,
)

if TYPE_CHECKING:
    from kibitz.position.board import Board
    from kibitz.search.report import Report


LAGS_KEPT = 20  # of the last moves, whose worst is expected again
LONGEST_LAG = 10_000.0  # ms; more is a clock that was set anew


class Job:
    """Work on a thread of its own that `stop` ends: a search, a count, a bench."""

    def __init__(
        self, work: Callable[[Job], None], signals: Signals, endless: Callable[[], bool]
    ) -> None:
        self.signals, self.endless = signals, endless
        self.answered = False  # what remains to be done is no search any more
        self.thread = threading.Thread(target=work, args=(self,), name="uci job")
        self.thread.start()

    @property
    def busy(self) -> bool:
        """Whether it goes on and was not stopped."""
        return self.thread.is_alive() and not self.answered and not self.signals.stop.is_set()


class LagMeter:
    """What moves cost beside their searches, by the clocks that a GUI sends before each of them.

    A program that shares its processors, or plays over a network, loses more of its clock than it
    uses: its lines come late. Two clocks of the same side, a move apart, say how much.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now  # in seconds
        self._lags: deque[float] = deque(maxlen=LAGS_KEPT)
        self._before: tuple[Clock, int] | None = None  # the last search's clock and ply
        self._began, self._thought = 0.0, 0.0  # s, ms

    @property
    def lag(self) -> int:
        """The worst of the last moves, in milliseconds."""
        return math.ceil(max(self._lags, default=0.0))

    @property
    def usual(self) -> int:
        """What the last moves cost on average, in milliseconds."""
        return math.ceil(sum(self._lags) / max(1, len(self._lags)))

    def begin(self, clock: Clock | None, ply: int) -> None:
        """A search of that side begins with this on its clock."""
        if clock is not None and self._before is not None:
            before, last = self._before
            lag = before.left + before.increment - clock.left - self._thought
            if ply == last + 2 and 0.0 < lag < LONGEST_LAG:
                self._lags.append(lag)
        self._before = None if clock is None else (clock, ply)
        self._began, self._thought = self._now(), math.inf

    def ponderhit(self) -> None:
        """From now on the clock runs."""
        self._began = self._now()

    def end(self) -> None:
        """The move was sent."""
        self._thought = 1000.0 * (self._now() - self._began)


class Session:
    """One GUI and one engine."""

    def __init__(self, write: Write, engine: Engine | None = None, *, remote: bool = False) -> None:
        self.engine = engine or Engine()
        self.options = UciOptions()
        self.channel = Channel(write)
        self.lag = LagMeter()
        self.on_compiling: Callable[[bool], None] = lambda _: None  # begins, has ended
        self.until_close = ExitStack()  # what ends with the session
        self.remote = remote  # the GUI is at the other end of a network
        self.defaults = self.engine.settings, self.engine.options, self.options
        self._board: Board | None = None  # None: the start of the game, before anything is loaded
        self._standing: Standing | None = None  # what the last `position` has set up
        self.job: Job | None = None  # the last one that was started
        self._announced = ""  # the evaluator that was announced
        self._problems: list[str] = []  # those that were

    # --- lines to the GUI -----------------------------------------------------------------------

    def write(self, line: str) -> None:
        """Send a line; callable from any thread."""
        self.channel.write(line)
        if self.channel.gone:
            self.stop()

    def info(self, text: str) -> None:
        """Send a message for people."""
        self.write(self.channel.message(text))

    @contextmanager
    def faults_reported(self) -> Iterator[None]:
        """Say what went wrong in our code, and go on: an engine that ends has lost its game."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - with its traceback on standard error
            traceback.print_exc()
            self.info(f"error: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Stop, answer, and let go of everything."""
        self.stop()
        if self.job is not None:
            self.job.thread.join()
        self.until_close.close()
        self.engine.close()
        self.channel.close()

    # --- loading and jobs -----------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether something runs that `stop` would end."""
        return self.job is not None and self.job.busy

    def refuse_while_busy(self, what: str) -> None:
        """Raise an InputError while something runs; else wait for its last words."""
        if self.busy:
            raise InputError(f"{what} is refused while searching", fix="send stop first")
        if self.job is not None:
            self.job.thread.join()

    def load(self) -> None:
        """Load rules, network and kernels, with a message if they must be compiled first."""
        with self._compiling_told():
            try:
                self.engine.ready()
            except KibitzError as error:
                self.info(str(error))
                self.engine.ready()  # with what it falls back to
            problems = self.engine.problems
            for problem in problems:
                if problem not in self._problems:
                    self.info(problem)
            self._problems = problems
            if self.engine.network != self._announced:
                self._announced = self.engine.network
                gc.freeze()  # what is loaded now is never garbage
                self.info(f"evaluator {self._announced}")

    @contextmanager
    def _compiling_told(self) -> Iterator[None]:
        """Say so if kernels must be compiled, or waited for; `quit` ends the program meanwhile."""
        from kibitz.jit import cache as kernelcache

        def tell(text: str) -> None:
            self.on_compiling(True)
            self.info(text)

        try:
            with kernelcache.announced_by(tell):
                yield
        finally:
            self.on_compiling(False)

    @property
    def board(self) -> Board:
        """The position; never changed, only replaced."""
        if self._board is None:
            self.load()
            from kibitz.position.board import Board

            self._board = Board(chess960=self.options.chess960)
        return self._board

    def start(
        self,
        work: Callable[[Job], None],
        signals: Signals | None = None,
        *,
        endless: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run work on a thread; it looks at its job's signals."""

        def guarded(job: Job) -> None:
            with self.faults_reported():
                try:
                    work(job)
                finally:
                    job.answered = True

        self.job = Job(guarded, signals or Signals(), endless)

    def stop(self) -> None:
        """End what is running; it answers by itself."""
        if self.job is not None:
            self.job.signals.stop.set()
        self.engine.stop()

    # --- the position and its search ------------------------------------------------------------

    def set_up(self, position: PositionCommand) -> None:
        """Set the position that is searched next."""
        if self._board is None and not self.busy:
            self.load()
        chess960 = self.options.chess960
        self._board = board_at(position, chess960=chess960, before=self._standing)
        self._standing = Standing(position, chess960, self._board)

    def set_options(self, options: UciOptions) -> None:
        """Talk in another way from now on."""
        if options.log_file != self.options.log_file:
            self.channel.log_into(options.log_file)
        self.options = options
        if self._board is not None:
            self._board = self._board.copy()
            self._board.chess960 = options.chess960

    def answer_with_any_move(self) -> None:
        """Answer `go` where no search could begin."""
        from kibitz.uci.format import best_line

        move = None if self._board is None else next(iter(self._board.legal_moves), None)
        self.write(best_line(move, None, self.options.chess960))

    def search(self, limits: Limits | None) -> None:
        """Search the position on a thread; the answer comes from there."""
        board = self.board
        if limits is not None and limits.searchmoves:
            limits, wrong = legal_only(board, limits)
            if wrong:
                rest = "" if limits.searchmoves else "; all moves are searched"
                self.info(f"go searchmoves: not legal here: {' '.join(wrong)[:80]}{rest}")
        if limits is not None:
            given, limits = limits, with_own_clock(limits, board.turn)
            if limits != given:
                self.info(f"go: no clock for {board.turn}; the other side's is taken for it")
            self.lag.begin(limits.clock(board.turn), board.ply)
            limits = replace(limits, lag=self.lag.lag, usual_lag=self.lag.usual)
        search = self.engine.begin(board, limits)

        def endless() -> bool:
            if limits is None:
                return False
            hit = search.signals.ponderhit.is_set()
            return not (limits.after_ponderhit() if hit else limits).ends_for(board.turn)

        self.start(lambda job: self._think(job, search), search.signals, endless=endless)

    def _think(self, job: Job, search: Search) -> None:
        """The search's thread: whatever happens, there is an answer."""
        from kibitz.uci.format import best_line, cache_text, over_line

        board, options, over = search.board, self.options, over_line(search.board)
        move, ponder = next(iter(board.legal_moves), None), None
        try:
            with self._compiling_told():  # `go mate` has kernels of its own
                result = search.run(lambda report: self._show(report, over))
            move, ponder = result.move, result.ponder
            cache = self.engine.cache_use
            verbose = options.verbose and not options.live
            if over is None and cache is not None:
                self.info(cache_text(cache))
            if over is None and (verbose or cache is not None):
                self._show(result.report, None, verbose=verbose)
        except (KibitzError, OSError) as error:
            self.info(f"error: {error}")
            if over is not None:
                self.write(over)
        finally:
            job.answered = True
            self.write(best_line(move, ponder, options.chess960))
            self.lag.end()

    def _show(self, report: Report, over: str | None, verbose: bool | None = None) -> None:
        """Send a report; messages go first, as the last line before the answer has a score."""
        from kibitz.uci.format import info_lines, verbose_lines

        options = self.options
        if over is not None:
            self.write(over)
            return
        if report.no_mate and verbose is None:  # once
            self.info(f"no mate in {report.no_mate}")
        if options.live if verbose is None else verbose:
            for line in verbose_lines(report, options.chess960 or None):
                self.write(f"info string {line}")
        for line in info_lines(report, chess960=options.chess960, wdl=options.show_wdl):
            self.write(line)

"""BestFirst: the search of an engine that plays by Batch-First, one position after another.

Deeper and deeper it bisects the value of the root by zero-window passes, and between two batches
it reports and asks the timer.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial

from kibitz.evaluator.inline import InlineEvaluator
from kibitz.evaluator.load import Evaluator, as_batched
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.bestfirst.calibration import read_calibration, rough_calibration
from kibitz.search.bestfirst.nodes import UNIT
from kibitz.search.bestfirst.passes import bisect
from kibitz.search.bestfirst.report import Best, Reporter, proof_of, unit_value
from kibitz.search.bestfirst.worker import Worker
from kibitz.search.clock import Standing, Timer
from kibitz.search.limits import Limits, Signals
from kibitz.search.mate import MateSearch
from kibitz.search.params import Settings
from kibitz.search.proof import UNPROVED
from kibitz.search.report import Listener, Report, Result, Totals
from kibitz.search.tablebase import RootMove, Tablebases, allowed_moves

# Settings that a search is built with; the others are read when they are needed.
FIXED = ("search", "threads", "hash", "syzygy_path", "syzygy_limit", "syzygy_rule50")
FIXED_OWN = ("bestfirst_batch", "bestfirst_quiet", "bestfirst_ordering", "bestfirst_file")
ENDLESS = 1 << 60  # nodes of a search that something else will stop
DEEPEST = 60
FALLBACK_MS = 150  # of a search without any limit that is not infinite
REPORT_MS = 500.0  # between two reports while no iteration ends


@dataclass
class _Task:
    """One search: what was asked for, and how far it has come."""

    board: Board
    limits: Limits
    on_report: Listener | None
    signals: Signals
    reporter: Reporter
    timer: Timer
    best: list[Best] = field(default_factory=list)  # of the last iteration, best first
    depth: int = 0  # of that iteration
    reported_ms: float = 0.0
    mates: MateSearch | None = None
    mating: tuple[Move, ...] = ()
    budget: int = ENDLESS


class BestFirst:
    """Searches positions, one at a time; `stop` and `ponderhit` may come from other threads."""

    def __init__(self, evaluator: Evaluator, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.batched = not isinstance(evaluator, InlineEvaluator)
        many, chosen = as_batched(evaluator), self.settings
        calibration = (
            read_calibration(chosen.bestfirst_file)
            if chosen.bestfirst_file
            else rough_calibration(many)
        )
        self.worker = Worker(
            many,
            calibration,
            chosen.hash,
            chosen.bestfirst_batch,
            quiet_plies=chosen.bestfirst_quiet,
            ordered=chosen.bestfirst_ordering,
            asynchronous=self.batched or chosen.threads > 1,
        )
        self.tables = Tablebases(
            chosen.syzygy_path, pieces=chosen.syzygy_limit, rule50=chosen.syzygy_rule50
        )
        self._lock, self._signals = threading.Lock(), Signals()
        self._timer: Timer | None = None
        self._hits = 0

    def close(self) -> None:
        """Stop, end the threads and close the tablebases."""
        self.stop()
        with self._lock:
            self.worker.close()
            self.tables.close()

    @property
    def problems(self) -> list[str]:
        """What is wrong with the tablebases that the settings name, one line each."""
        return self.tables.problems

    def adopt(self, settings: Settings) -> bool:
        """Search with other settings from now on; False if they need a new search."""
        names = FIXED + FIXED_OWN
        if any(getattr(settings, name) != getattr(self.settings, name) for name in names):
            return False
        self.settings = settings
        return True

    def new_game(self) -> None:
        """Forget the table."""
        with self._lock:
            self.worker.memory.clear_table()

    def stop(self) -> None:
        """End the running search after the batch on its way; without one, nothing happens."""
        self._signals.stop.set()

    def ponderhit(self) -> None:
        """Start our own clock: the expected reply was played."""
        self._signals.ponderhit.set()
        timer = self._timer  # the search may end, and take it away, meanwhile
        if timer is not None:
            timer.start_own_clock(0)

    # --- one search -----------------------------------------------------------------------------

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        on_report: Listener | None = None,
        signals: Signals | None = None,
    ) -> Result:
        """Search a position; `on_report` gets a report of every iteration."""
        limits = limits or Limits(movetime=FALLBACK_MS)
        with self._lock:
            task = self._begin(board, limits, on_report, signals or Signals())
            try:
                self._run(task)
            finally:
                self._timer = None
            report = self._report(task, (self.worker.note,))
            if on_report is not None:
                on_report(report)
            line = report.best.moves
            return Result(line[0] if line else None, line[1] if len(line) > 1 else None, report)

    def _begin(
        self, board: Board, limits: Limits, on_report: Listener | None, signals: Signals
    ) -> _Task:
        """Prepare the root."""
        self._signals, settings, self._hits = signals, self.settings, self.tables.hits
        self._timer = timer = Timer(limits, board.turn, int(board.ply), settings)
        if signals.ponderhit.is_set():
            timer.start_own_clock(0)
        ranked = self.tables.rank_root(board) if self.tables.pieces else []
        allowed, ranked = allowed_moves(board, limits, ranked, fastest=settings.syzygy_fastest)
        self.worker.set_root(board.positions(), allowed)
        outcomes: dict[int, RootMove] = {row.code: row for row in ranked}
        reporter = Reporter(board, settings, self.worker, outcomes)
        task = _Task(board, limits, on_report, signals, reporter, timer)
        task.budget = ENDLESS if limits.nodes is None else limits.nodes
        return task

    def _run(self, task: _Task) -> None:
        """Deepen until a limit is reached, or nothing is left to learn."""
        if len(self.worker.codes) == 0:
            return
        deepest = DEEPEST if task.limits.depth is None else min(task.limits.depth, DEEPEST)
        if task.limits.mate is not None:
            if self._look_for_mate(task, task.limits.mate):
                return
            deepest = 1  # there is none; a move is wanted all the same
        while task.depth < deepest and self._deepen(task, task.depth + 1):
            task.depth += 1
            self._tell(task)
            proof = proof_of(task.best[0].value)
            if proof != UNPROVED and task.depth >= abs(proof) - 1:
                return  # no shorter mate is left
            if self._is_over(task):
                return

    def _deepen(self, task: _Task, depth: int) -> bool:
        """Find the values of the best moves with so many plies; whether it came to an end."""
        found: list[Best] = []
        for number in range(min(self.settings.multipv, len(self.worker.codes))):
            before = task.best[number] if number < len(task.best) else None
            best = self._best(task, depth, [one.code for one in found], before)
            if best is None:
                break
            found.append(best)
        else:
            task.best = sorted(found, key=lambda one: -one.value)
            return True
        return False

    def _best(
        self, task: _Task, depth: int, without: list[int], before: Best | None
    ) -> Best | None:
        """The best move but for some, by bisection from its value in the last iteration."""
        worker = self.worker
        places = [at for at, code in enumerate(worker.codes.tolist()) if code not in without]
        first = None if before is None else before.code
        places.sort(key=lambda at: (int(worker.codes[at]) != first, -worker.scores[at]))
        guess = round(UNIT * worker.raw) if before is None else before.value
        reached = Best(int(worker.codes[places[0]]), guess)

        def run(bound: int) -> int | None:
            nonlocal reached
            value = worker.zero_window(
                bound, depth, places, partial(self._is_over, task), task.budget
            )
            if value is not None and value >= bound:
                reached = Best(worker.best_code, value)
                at = worker.codes.tolist().index(reached.code)
                places.remove(at)
                places.insert(0, at)
            return value

        value = bisect(run, guess)
        if value is not None:
            return Best(reached.code, value)
        if not without and reached.code != first:  # what an unfinished iteration has found already
            rest = [one for one in task.best if one.code != reached.code]
            task.best = [reached, *rest]
        return None

    def _is_over(self, task: _Task) -> bool:
        """Do what is due between two batches; whether the time is up or the search was stopped."""
        if task.signals.stop.is_set():
            return True
        if task.timer.since_go_ms - task.reported_ms >= REPORT_MS:
            self._tell(task)
        best = task.best[0] if task.best else Best(int(self.worker.codes[0]), 0)
        proof, moves = proof_of(best.value), len(self.worker.codes)
        standing = Standing(moves, 0, 0, proof, 0, best.code, unit_value(best.value))
        return task.timer.is_over(standing)

    def _look_for_mate(self, task: _Task, moves: int) -> bool:
        """Try all mates in so many moves; whether there is one."""
        task.mates = mates = MateSearch(task.board, self.worker.codes.tolist())
        stopped = partial(self._is_over, task)
        mates.deepen(2 * moves - 1, task.budget, stopped)
        if mates.mate is None:
            return False
        task.mating = (mates.first_move(mates.mate),)
        task.mating = mates.line(max(0, task.budget - mates.nodes), stopped)
        return True

    # --- reports --------------------------------------------------------------------------------

    def _tell(self, task: _Task) -> None:
        task.reported_ms = task.timer.since_go_ms
        if task.on_report is not None:
            task.on_report(self._report(task))

    def _report(self, task: _Task, notes: tuple[str, ...] = ()) -> Report:
        record, mates, asked = self.worker.record, task.mates, task.limits.mate
        excluded = 0 if mates is None else mates.excluded // 2
        totals = Totals(
            nodes=int(record.created) + (0 if mates is None else mates.nodes),
            milliseconds=round(task.timer.since_go_ms),
            depth=task.depth,
            seldepth=int(record.deepest),
            tbhits=self.tables.hits - self._hits,
            no_mate=excluded if asked is not None and excluded >= asked else 0,
            notes=notes,
        )
        return task.reporter.report(task.best, totals, task.mating)

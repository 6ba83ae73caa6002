"""AlphaBeta: the search of an engine that plays by alpha-beta, one position after another.

It prepares the root, lets one worker or several deepen, and meanwhile, on the calling thread,
reports, asks the timer and answers the workers' questions to the tablebases.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from kibitz.evaluator.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.position.moves import MAX_MOVES
from kibitz.position.notation import Move, legal_codes
from kibitz.search.alphabeta.deepening import DEEPEST, Worker
from kibitz.search.alphabeta.questions import answer
from kibitz.search.alphabeta.report import Reporter, known_of, proof_of
from kibitz.search.alphabeta.static import value_of_score
from kibitz.search.alphabeta.table import GENERATIONS, new_table, permille
from kibitz.search.alphabeta.thread import ALL_PARTS, DECISIVE, INFINITE, new_control
from kibitz.search.clock import Standing, Timer
from kibitz.search.limits import Limits, Signals
from kibitz.search.mate import MateSearch
from kibitz.search.params import Settings
from kibitz.search.proof import TABLEBASE, UNPROVED
from kibitz.search.report import Listener, Report, Result, Totals
from kibitz.search.tablebase import ProbeBudget, RootMove, Tablebases, allowed_moves

# Settings that a search is built with; the others are read when they are needed.
FIXED = ("search", "threads", "hash", "seed", "syzygy_path", "syzygy_limit", "syzygy_rule50")
ENDLESS = 1 << 60  # nodes of a search that something else will stop
FALLBACK_MS = 150  # of a search without any limit that is not infinite
POLL_SECONDS = 0.002  # between two looks at the clock
REPORT_MS = 500.0  # between two reports while no iteration ends
# Shares of the soft limit: after which no iteration is begun, and after which one is given up.
ENOUGH, TOO_MUCH = 0.55, 2.0
WARMTH = 100.0  # centipawns that cost a factor of e at a temperature of 1
SURE_PLIES = 4  # a mate is believed to be the shortest after twice its plies and these
FIRST_ROUND = 4_096  # nodes of the first round of `go mate`, for the search and for trying all


@dataclass
class _Task:
    """One search: what was asked for, and how far it has come."""

    board: Board
    limits: Limits
    on_report: Listener | None
    signals: Signals
    reporter: Reporter
    timer: Timer
    outcomes: dict[int, RootMove]  # what tablebases say of the root's moves
    probes: ProbeBudget
    news: threading.Event = field(default_factory=threading.Event)  # an iteration has ended
    reported_ms: float = 0.0
    mates: MateSearch | None = None
    mating: tuple[Move, ...] = ()  # the mate that trying all moves has found
    budget: int = ENDLESS  # nodes


class AlphaBeta:
    """Searches positions, one at a time; `stop` and `ponderhit` may come from other threads."""

    batched = False

    def __init__(
        self, evaluator: InlineEvaluator, settings: Settings | None = None, parts: int = ALL_PARTS
    ) -> None:
        self.settings = settings or Settings()
        self._evaluator = evaluator
        self.entries = new_table(self.settings.hash)
        self.workers = [
            Worker(evaluator, self.entries, parts) for _ in range(self.settings.threads)
        ]
        self.tables = Tablebases(
            self.settings.syzygy_path,
            pieces=self.settings.syzygy_limit,
            rule50=self.settings.syzygy_rule50,
        )
        self._pool = ThreadPoolExecutor(self.settings.threads, "alphabeta")
        self._lock, self._generation, self._hits = threading.Lock(), 0, 0
        self._control, self._signals = new_control(), Signals()
        self._timer: Timer | None = None  # of the search under way
        self._generator = np.random.default_rng(self.settings.seed)

    def close(self) -> None:
        """Stop, end the threads and close the tablebases."""
        self.stop()
        self._pool.shutdown(wait=True)
        self.tables.close()

    def __enter__(self) -> AlphaBeta:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def problems(self) -> list[str]:
        """What is wrong with the tablebases that the settings name, one line each."""
        return self.tables.problems

    def adopt(self, settings: Settings) -> bool:
        """Search with other settings from now on; False if they need a search of their own."""
        if any(getattr(settings, name) != getattr(self.settings, name) for name in FIXED):
            return False
        self.settings = settings
        return True

    def new_game(self) -> None:
        """Forget the table and what the workers have learned."""
        with self._lock:
            self.entries[:] = np.zeros((), self.entries.dtype)
            for worker in self.workers:
                worker.memory.forget()

    def stop(self) -> None:
        """End the running search within milliseconds; without one, nothing happens."""
        self._signals.stop.set()
        self._control.stop = 1

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
        """Search a position; `on_report` gets every iteration, `signals` may end it even before."""
        limits = limits or Limits(movetime=FALLBACK_MS)
        with self._lock:
            task = self._begin(board, limits, on_report, signals or Signals())
            try:
                self._run(task)
            finally:
                self._timer = None
            report = self._report(task, at_work=False)
            if on_report is not None:
                on_report(report)
            return self._result(report, task.reporter)

    def _begin(
        self, board: Board, limits: Limits, on_report: Listener | None, signals: Signals
    ) -> _Task:
        """Prepare the root."""
        self._signals, settings, self._hits = signals, self.settings, self.tables.hits
        ranked = self.tables.rank_root(board) if self.tables.pieces else []
        allowed, ranked = allowed_moves(board, limits, ranked, fastest=settings.syzygy_fastest)
        legal = legal_codes(board.position).tolist()
        codes = [code for code in legal if allowed is None or code in allowed]
        rank = {row.code: row.rank for row in ranked}
        codes.sort(key=lambda code: -rank.get(code, 0))
        self._generation = (self._generation + 1) % GENERATIONS
        for worker in self.workers:
            record = worker.memory.record
            record.table_pieces = 0 if ranked else self.tables.pieces
            record.table_depth = settings.syzygy_depth
            whole = len(codes) == len(legal)
            worker.set_root(board.positions(), codes, self._generation, whole=whole)
        outcomes = {row.code: row for row in ranked}
        timer = Timer(limits, board.turn, int(board.ply), settings)
        self._timer = timer
        if signals.ponderhit.is_set():
            timer.start_own_clock(0)
        reporter = Reporter(board, settings, self._evaluator, outcomes)
        probes = ProbeBudget(settings.syzygy_share)
        task = _Task(board, limits, on_report, signals, reporter, timer, outcomes, probes)
        task.budget = ENDLESS if limits.nodes is None else limits.nodes
        return task

    def _run(self, task: _Task) -> None:
        """Search until a limit is reached, or nothing is left to learn."""
        limits = task.limits
        if len(self.workers[0].roots) == 0:
            return
        if limits.mate is not None:
            self._look_for_mate(task, limits.mate)
        elif not task.outcomes or limits.infinite or limits.searchmoves:
            self._deepen(task, task.budget)

    def _deepen(self, task: _Task, nodes: int) -> None:
        """Let all workers deepen within so many nodes, and look after them meanwhile."""
        control = self._control = new_control()
        control.budget = nodes
        control.stop = int(task.signals.stop.is_set())
        depths = range(1, min(task.limits.depth or DEEPEST, DEEPEST) + 1)
        lines = self._lines
        futures: list[Future[None]] = []
        for number, worker in enumerate(self.workers):
            worker.resume()
            go_on = partial(self._goes_on, task) if number == 0 else _always
            ahead = depths[number % 2 if len(depths) > 1 else 0 :]
            futures.append(self._pool.submit(worker.deepen, control, ahead, lines, go_on))
        try:
            while not futures[0].done():
                if self._is_over(task):
                    control.stop = 1
        finally:
            control.stop = 1
            wait(futures)
        for future in futures:
            future.result()

    def _is_over(self, task: _Task) -> bool:
        """Wait a little, then do what is due; whether the time is up or the search was stopped."""
        news = task.news.wait(POLL_SECONDS)
        task.news.clear()
        if self.tables.pieces:
            answer([worker.memory for worker in self.workers], partial(self._proof, task.probes))
        now = task.timer.since_go_ms
        if task.on_report is not None and (news or now - task.reported_ms >= REPORT_MS):
            task.reported_ms = now
            if self.workers[0].depth:
                task.on_report(self._report(task))
        return task.signals.stop.is_set() or task.timer.is_late(TOO_MUCH)

    def _proof(self, probes: ProbeBudget, position: np.record) -> int | None:
        """What tablebases prove of a position; None if there is no time to ask them."""
        return probes.probe(self.tables, position) if probes.may_probe() else None

    def _goes_on(self, task: _Task, worker: Worker) -> bool:
        """Whether another iteration is worth its time; on the worker's thread."""
        task.news.set()
        best = worker.roots[0]
        proof, limits = proof_of(int(best["known"])), task.limits
        if limits.mate is not None and 0 < proof <= 2 * limits.mate - 1:
            return False
        certain = proof not in (UNPROVED, TABLEBASE, -TABLEBASE)
        if certain and not limits.infinite and worker.depth >= 2 * abs(proof) + SURE_PLIES:
            return False
        value = value_of_score(max(-DECISIVE, min(DECISIVE, int(best["known"]))))
        standing = Standing(len(worker.roots), 0, 0, proof, 0, int(best["move"]), value)
        return not task.timer.is_over(standing, ENOUGH)

    # --- mates ----------------------------------------------------------------------------------

    def _look_for_mate(self, task: _Task, moves: int) -> None:
        """Try all mates in so many moves; the search, which may see deep ones, goes beside it."""
        plies, size = 2 * moves - 1, FIRST_ROUND
        codes = self.workers[0].roots["move"].tolist()
        task.mates = mates = MateSearch(task.board, codes)
        stopped = partial(self._is_over, task)
        while True:
            if (left := task.budget - self._nodes(task)) > 0:
                self._deepen(task, min(size, max(1, left // 2)))
            score = int(known_of(self.workers[0].roots)[0].score)
            if 0 < proof_of(score) <= plies:
                return
            left = min(size, task.budget - self._nodes(task))
            answered = mates.deepen(plies, left, stopped)
            if mates.mate is not None:
                task.mating = (mates.first_move(mates.mate),)
                task.mating = mates.line(task.budget - self._nodes(task), stopped)
            if answered or task.budget <= self._nodes(task) or self._is_over(task):
                return
            size *= 2

    # --- the move -------------------------------------------------------------------------------

    @property
    def _lines(self) -> int:
        """Moves that get a score: those of MultiPV, or all where one is drawn by its score."""
        return MAX_MOVES if self.settings.temperature > 0.0 else self.settings.multipv

    def _result(self, report: Report, reporter: Reporter) -> Result:
        """The best move and the expected reply, or with a temperature a move drawn by its score."""
        line = report.best.moves
        if self.settings.temperature > 0.0 and report.root.proof == UNPROVED and line:
            known = [one for one in known_of(self.workers[0].roots) if one.score > -INFINITE]
            scores = np.array([one.score for one in known] or [0])
            odds = np.exp((scores - scores.max()) / (WARMTH * self.settings.temperature))
            drawn = self._generator.choice(len(odds), p=odds / odds.sum())
            line = reporter.moves_of(known[drawn]) if known else line
        return Result(line[0] if line else None, line[1] if len(line) > 1 else None, report)

    # --- reports --------------------------------------------------------------------------------

    def _nodes(self, task: _Task) -> int:
        """Positions searched, and those tried for mates."""
        tried = 0 if task.mates is None else task.mates.nodes
        return sum(worker.nodes for worker in self.workers) + tried

    def _report(self, task: _Task, *, at_work: bool = True) -> Report:
        """How the search stands; of workers at work, by what they have finished."""
        deepest = max(self.workers, key=lambda worker: worker.depth)
        known = known_of(deepest.finished if at_work else deepest.roots)
        asked, mates = task.limits.mate, task.mates
        excluded = 0 if mates is None or asked is None else mates.excluded // 2
        totals = Totals(
            nodes=self._nodes(task),
            milliseconds=round(task.timer.since_go_ms),
            depth=deepest.depth,
            seldepth=max(int(worker.memory.record.deepest) for worker in self.workers),
            tbhits=self.tables.hits - self._hits,
            no_mate=excluded if asked is not None and excluded >= asked else 0,
        )
        hashfull = permille(self.entries, self._generation)
        return task.reporter.report(known, totals, hashfull, task.mating)


def _always(_: Worker) -> bool:
    return True

"""Searcher: one tree, one evaluator and their settings, searching one position after another.

It keeps the part of the tree that the game reaches, prepares the root, runs the driver within the
limits, answers the tree's questions to the tablebases, and chooses the move.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial

import numpy as np

from kibitz.evaluator.batched import BatchedEvaluator
from kibitz.evaluator.inline import InlineEvaluator
from kibitz.kernel.records import as_record
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.clock import Timer
from kibitz.search.limits import Limits, Signals, depth_of
from kibitz.search.mate import MateSearch
from kibitz.search.mcts.answer import choose_move, make_report, principal_variation
from kibitz.search.mcts.batches import Batches
from kibitz.search.mcts.driver import Driver
from kibitz.search.mcts.playout.root import gumbel_choice, prepare_root
from kibitz.search.mcts.proving import Prober, mate_search, prove_root_move
from kibitz.search.mcts.rules.from_settings import to_behaviour, to_rule
from kibitz.search.mcts.rules.parameters import Gumbel
from kibitz.search.mcts.statistics import (
    Outcomes,
    best_proof,
    root_is_settled,
    standing,
)
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.nodes import TreeMemory, clear
from kibitz.search.mcts.tree.reuse import Line, keep_subtree
from kibitz.search.mcts.treesearch import TreeSearch
from kibitz.search.params import OFF, Settings
from kibitz.search.proof import TABLEBASE, UNPROVED
from kibitz.search.report import Listener, Report, Result, Totals
from kibitz.search.tablebase import allowed_moves

# Settings that a searcher is built with; the others are read when they are needed.
FIXED = ("search", "threads", "hash", "minibatch_size", "seed")
FIXED_TABLES = ("syzygy_path", "syzygy_limit", "syzygy_rule50", "syzygy_share")
ENDLESS = 1 << 60  # playouts of a search that something else will stop
FALLBACK_MS = 150  # of a search without any limit that is not infinite: ChessCoach's choice
SHORT_MS = 20.0  # a move with less time than this must not lose milliseconds anywhere
REPORT_MS = 500.0  # between two reports while the best line stays the same
# Rounds of `go mate`: positions tried in the first one, and how many of them to one playout.
FIRST_ROUND, TO_A_PLAYOUT = 4_096, 16


@dataclass
class _Task:
    """One search: what was asked for, and how far it has come."""

    board: Board
    limits: Limits
    on_report: Listener | None
    outcomes: Outcomes  # what tablebases say of the root's moves
    timer: Timer
    known: int  # visits of the root by earlier searches
    mates: MateSearch | None = None
    reported_ms: float = 0.0
    reported_move: int = -1


class Searcher:
    """Searches positions, one at a time; `stop` and `ponderhit` may come from other threads."""

    def __init__(
        self, evaluator: InlineEvaluator | BatchedEvaluator, settings: Settings | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.rule = to_rule(self.settings)
        self.memory = TreeMemory(self.settings.hash)
        threads = self.settings.threads if isinstance(evaluator, InlineEvaluator) else 1
        self._tree = TreeSearch(self.memory, self.settings.seed, threads)
        behaviour, rows = to_behaviour(self.settings), self.settings.minibatch_size
        self.driver = Driver([self._tree], evaluator, self.rule, behaviour, rows)
        self._prober = Prober(self.settings)
        self._line, self._lock = Line(), threading.Lock()
        self._signals = Signals()
        self._timer: Timer | None = None  # of the search under way
        self._mating: tuple[Move, ...] = ()  # the mate that was found at the root
        self._generator = np.random.default_rng(self.settings.seed)

    def close(self) -> None:
        """Stop, end the threads and close the tablebases."""
        self.stop()
        self.driver.close()
        self._prober.tables.close()

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def contexts(self) -> list[ContextMemory]:
        """What each thread carries."""
        return self._tree.contexts

    @property
    def batched(self) -> bool:
        """Whether the evaluator gets positions in batches."""
        return isinstance(self.driver.work, Batches)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the tablebases that the settings name, one line each."""
        return self._prober.tables.problems

    def adopt(self, settings: Settings) -> bool:
        """Search with other settings from now on; False if they need a searcher of their own."""
        names = FIXED + FIXED_TABLES
        same = all(getattr(settings, name) == getattr(self.settings, name) for name in names)
        records = to_rule(settings), to_behaviour(settings)
        if not same or records != (self.rule, to_behaviour(self.settings)):
            return False
        self.settings = settings
        return True

    def knows(self, board: Board) -> bool:
        """Whether the root of the tree is the board's position."""
        return self._line.extension(board) == 0

    def new_game(self) -> None:
        """Forget the tree; what comes next has nothing to do with what was."""
        with self._lock:
            self._forget()

    def stop(self) -> None:
        """End the running search within milliseconds; without one, nothing happens."""
        self._signals.stop.set()
        self.driver.stop()

    def ponderhit(self) -> None:
        """Start our own clock: the expected reply was played."""
        self._signals.ponderhit.set()
        timer = self._timer  # the search may end, and take it away, meanwhile
        if timer is not None:
            timer.start_own_clock(self._tree.visits)

    # --- one search -----------------------------------------------------------------------------

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        on_report: Listener | None = None,
        signals: Signals | None = None,
    ) -> Result:
        """Search a position; `on_report` gets new best lines, `signals` may end it even before."""
        limits = limits or Limits(movetime=FALLBACK_MS)
        with self._lock:
            task = self._searched(board, limits, on_report, signals or Signals())
            report = self._report(task)
            if on_report is not None:
                on_report(report)
            return self._result(board, report)

    def search_tree(self, board: Board, limits: Limits) -> None:
        """Search without a report or a choice of move, for callers that read the tree itself."""
        with self._lock:
            self._searched(board, limits, None, Signals())

    def _searched(
        self, board: Board, limits: Limits, on_report: Listener | None, signals: Signals
    ) -> _Task:
        """Prepare the root and search within the limits; the tree holds what was found."""
        self._signals = signals
        allowed, outcomes = self._allowed(board, limits)
        kept = self._prepare_root(board, allowed, limits)
        self._prober.prove_root(self.memory, outcomes)
        self._timer = Timer(limits, board.turn, int(board.ply), self.settings, self._tree.visits)
        if signals.ponderhit.is_set():
            self._timer.start_own_clock(self._tree.visits)
        known = self._tree.visits if kept else 0
        task = _Task(board, limits, on_report, outcomes, self._timer, known)
        finished = False
        try:
            if self._tree.is_open:
                self._run(task)
            finished = True
        finally:
            self._timer = None
            if not finished:
                self._forget()  # the tree is in no known state after an error
        self._prober.answer(self.memory, self.contexts)
        return task

    def _run(self, task: _Task) -> None:
        """Search until a limit is reached or nothing is left to learn; if neither, until `stop`."""
        limits = task.limits
        if limits.mate is not None:
            self._look_for_mate(task, limits.mate)
            return
        self._play_out(task, ENDLESS)
        proof = best_proof(self.memory)
        longest = TABLEBASE if limits.infinite else TABLEBASE - 1
        if 1 < proof <= longest and limits.shorten_mates and not task.timer.pondering:
            task.mates = mate_search(self.memory, task.board)
            self._try_mates(task, task.mates, proof - 2, ENDLESS)

    def _play_out(self, task: _Task, most: int) -> None:
        """Let the driver play out, at most `most` times, unless the root is settled."""
        left = min(most, self._nodes_left(task.limits, task.mates))
        if left == 0 or root_is_settled(self.memory):
            return
        driver, budget = self.driver, task.timer.budget
        driver.slow_start_nodes = self.settings.slow_start_nodes
        driver.slow_start_rows = self.settings.slow_start_parallelism
        by_nodes = task.limits.visits is not None and task.limits.mate is None
        driver.run(
            [left],
            partial(self._should_stop, task),
            by_nodes,
            short=budget is not None and budget.soft < SHORT_MS,
            frequent=by_nodes and task.limits.every_change,
        )

    def _nodes_left(self, limits: Limits, mates: MateSearch | None = None) -> int:
        """Nodes that the limits still allow; positions of the mate search are nodes, too."""
        if limits.visits is None:
            return ENDLESS
        return max(0, limits.visits - self._tree.visits - (0 if mates is None else mates.nodes))

    def _should_stop(self, task: _Task) -> bool:
        """Whether to stop playing out; asked every few milliseconds."""
        return self._is_over(task) or root_is_settled(self.memory)

    def _is_over(self, task: _Task) -> bool:
        """Do what is due while the search goes on; whether its time is up or it was stopped."""
        if self._signals.stop.is_set():
            return True
        self._prober.answer(self.memory, self.contexts)
        self._report_news(task)
        self._tree.control.time_used = task.timer.share_used
        return task.timer.budget is not None and task.timer.is_over(standing(self.memory))

    # --- mates ----------------------------------------------------------------------------------

    def _look_for_mate(self, task: _Task, moves: int) -> None:
        """Try all mates in so many moves; the tree, which may see deep ones, grows beside it."""
        plies, size = 2 * moves - 1, FIRST_ROUND
        task.mates = mates = mate_search(self.memory, task.board)
        while True:
            self._play_out(task, size // TO_A_PLAYOUT)
            proof = best_proof(self.memory)
            lost = root_is_settled(self.memory) and not 0 < proof <= TABLEBASE
            if lost:
                mates.excluded = plies + 1
            if 0 < proof <= plies or lost or self._try_mates(task, mates, plies, size):
                return
            if self._nodes_left(task.limits, mates) == 0 or self._is_over(task):
                return
            size *= 2

    def _try_mates(self, task: _Task, mates: MateSearch, plies: int, most: int) -> bool:
        """Look for mates within `plies`, and prove what is found; whether the answer is known."""
        is_over = partial(self._is_over, task)
        left = min(most, self._nodes_left(task.limits, mates))
        answered = mates.deepen(plies, left, is_over)
        if mates.mate is not None:
            self._mating = (mates.first_move(mates.mate),)  # until the whole line is known
            code, length = mates.mate.code, mates.mate.plies
            prove_root_move(self.memory, code, length, self.settings.clear_losses)
            self._mating = mates.line(self._nodes_left(task.limits, mates), is_over)
        return answered

    # --- reports --------------------------------------------------------------------------------

    def _report_news(self, task: _Task) -> None:
        """Report if the best move has changed, and now and then."""
        now = task.timer.since_go_ms
        pause = 0.0 if task.limits.every_change else REPORT_MS / 10
        if task.on_report is None or now - task.reported_ms < pause:
            return
        report = self._report(task)
        best = report.best.moves[0].code if report.best.moves else -1
        if best != task.reported_move or now - task.reported_ms >= REPORT_MS:
            task.reported_move, task.reported_ms = best, now
            task.on_report(report)

    def _report(self, task: _Task) -> Report:
        return make_report(
            self.memory,
            task.board.position,
            self.rule,
            self.settings,
            self._totals(task),
            task.outcomes,
            self._mating,
        )

    def _totals(self, task: _Task) -> Totals:
        contexts = [context.record for context in self.contexts]
        playouts = max(1, sum(int(context.playouts) for context in contexts))
        mates, asked = task.mates, task.limits.mate
        excluded = 0 if mates is None or asked is None else mates.excluded // 2
        return Totals(
            nodes=self._tree.visits - task.known + (0 if mates is None else mates.nodes),
            milliseconds=round(task.timer.since_go_ms),
            depth=depth_of(self._tree.visits),
            seldepth=max(int(context.deepest) for context in contexts),
            tbhits=self._prober.hits,
            mean_depth=sum(int(context.depth_sum) for context in contexts) / playouts,
            no_mate=excluded if asked is not None and excluded >= asked else 0,
        )

    def _result(self, board: Board, report: Report) -> Result:
        """Choose the move, and the reply that is expected."""
        rows, position = list(report.moves), board.position
        if isinstance(self.rule, Gumbel) and rows and rows[0].proof == UNPROVED:
            rule, context = as_record(self.rule), self.contexts[0].record
            edge = gumbel_choice(self.memory.record, context, rule)
            chosen = next(row for row in rows if row.edge == edge)
        else:
            found = choose_move(self.memory, position, self.settings, self._generator, rows)
            if found is None:
                return Result(None, None, report)
            chosen = found
        line = report.best.moves
        if line[:1] != (chosen.move,):
            line = principal_variation(self.memory, chosen.edge, position)
        return Result(chosen.move, line[1] if len(line) > 1 else None, report)

    # --- the root -------------------------------------------------------------------------------

    def _allowed(self, board: Board, limits: Limits) -> tuple[frozenset[int] | None, Outcomes]:
        """Codes of the moves to search (None: all), and what tablebases say (nothing: {})."""
        ranked = self._prober.start(board, self.contexts, self.settings)
        fastest = self.settings.syzygy_fastest
        allowed, ranked = allowed_moves(board, limits, ranked, fastest=fastest)
        return allowed, {row.code: row for row in ranked}

    def _prepare_root(self, board: Board, allowed: frozenset[int] | None, limits: Limits) -> bool:
        """Make the root ready, with noise and plans; whether it was kept from the last search."""
        kept = self._keep(board) if allowed is None else self._forget()
        self._tree.set_root(board.positions())
        for context in self.contexts:
            record = context.record
            record.deepest = record.depth_sum = record.playouts = record.collisions = 0
        if not kept and board.outcome() is None:
            self.driver.open_roots([self._tree], allowed)
        if allowed is None:
            self._line.remember(board)
        if self._tree.is_open:
            playouts = None if limits.visits is None else self._nodes_left(limits)
            context = self.contexts[0].record
            prepare_root(self.memory, context, self.rule, self.settings, playouts)
        return kept

    def _keep(self, board: Board) -> bool:
        """Keep what the last search knows of this position; whether there was anything."""
        plies = self._line.extension(board)
        # Frozen replies belong to one side: search-contempt's tree serves only that side.
        other_side = self.settings.sc_limit != OFF and plies is not None and plies % 2 == 1
        if plies is None or other_side or isinstance(self.rule, Gumbel):
            return self._forget()
        self._mating = self._mating if plies == 0 else ()
        return keep_subtree(self.memory, board, plies)

    def _forget(self) -> bool:
        """Clear the tree; False, as nothing is kept."""
        clear(self.memory.record)
        self._line.forget()
        self._mating = ()
        return False

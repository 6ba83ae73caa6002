"""Searcher: one tree, one evaluator and their settings, asked about one position after another.

It keeps the part of the tree that the game reaches, prepares the root, runs the driver within the
limits, answers the tree's questions to the tablebases, and chooses the move.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from kibitz.evaluator.batched import BatchedEvaluator
from kibitz.evaluator.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.position.notation import Move, absolute, relative
from kibitz.search import clock
from kibitz.search.limits import Limits, Signals, depth_of
from kibitz.search.matesearch import MateSearch
from kibitz.search.mcts.batched import BatchedDriver
from kibitz.search.mcts.choose import choose_move
from kibitz.search.mcts.driver import Driver
from kibitz.search.mcts.playout.root import gumbel_choice, mix_noise, plan_gumbel
from kibitz.search.mcts.proving import Prober
from kibitz.search.mcts.rules.from_settings import noise_alpha, to_behaviour, to_rule
from kibitz.search.mcts.rules.parameters import Gumbel
from kibitz.search.mcts.statistics import Outcomes, make_report, principal_variation, view_of
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.nodes import EXPANDED, TreeMemory, block_of, clear
from kibitz.search.mcts.tree.proofs import climb, set_proof
from kibitz.search.mcts.tree.reuse import Line, keep_subtree
from kibitz.search.mcts.watch import Watch, best_proof, root_is_settled
from kibitz.search.params import OFF, Settings
from kibitz.search.proof import TABLEBASE, UNPROVED
from kibitz.search.report import Listener, Report, Result, Totals

# Settings that a searcher is built with; the others are read when they are needed.
FIXED = ("threads", "hash", "minibatch_size", "seed")
FIXED_TABLES = ("syzygy_path", "syzygy_limit", "syzygy_rule50", "syzygy_share")
FOREVER = 1 << 60  # playouts of a search that something else will stop
FALLBACK_MS = 150  # of a search without any limit that is not infinite: ChessCoach's choice
HURRY_MS = 20.0  # a move with less time than this must not lose milliseconds anywhere
REPORT_MS = 500.0  # between two reports while the best line stays the same
# Rounds of `go mate`: positions tried in the first one, and how many of them to one playout.
FIRST_ROUND, TO_A_PLAYOUT = 4_096, 16


class Searcher:
    """Searches positions, one at a time; `stop` and `ponderhit` may come from other threads."""

    def __init__(
        self, evaluator: InlineEvaluator | BatchedEvaluator, settings: Settings | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.rule = to_rule(self.settings)
        self.memory = TreeMemory(self.settings.hash)
        self._driver = self._new_driver(evaluator)
        self._prober = Prober(self.settings)
        self._line, self._lock, self._kept = Line(), threading.Lock(), False
        self._signals = Signals()
        self._watch: Watch | None = None
        self._mates: MateSearch | None = None  # of this search, if it looks for a mate
        self._mating: tuple[Move, ...] = ()  # the mate that was found at the root
        self._generator = np.random.default_rng(self.settings.seed)
        self._driver.on_room = lambda: self._prober.forget_questions(self._driver.contexts)

    def _new_driver(self, evaluator: InlineEvaluator | BatchedEvaluator) -> Driver | BatchedDriver:
        settings = self.settings
        behaviour = to_behaviour(settings)
        if isinstance(evaluator, InlineEvaluator):
            return Driver(
                self.memory, evaluator, self.rule, behaviour, settings.threads, settings.seed
            )
        rows = settings.minibatch_size
        return BatchedDriver(self.memory, evaluator, self.rule, behaviour, rows, seed=settings.seed)

    def close(self) -> None:
        """Stop, end the threads, and leave nothing that would keep the tree in memory."""
        self.stop()
        self._driver.close()
        self._driver.on_room = lambda: None
        self._prober.close()

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def contexts(self) -> list[ContextMemory]:
        """What each thread carries."""
        return self._driver.contexts

    @property
    def batched(self) -> bool:
        """Whether the evaluator is asked in batches."""
        return isinstance(self._driver, BatchedDriver)

    def adopt(self, settings: Settings) -> bool:
        """Search with other settings from now on; False if they need a searcher of their own."""
        names = FIXED + FIXED_TABLES
        same = all(getattr(settings, name) == getattr(self.settings, name) for name in names)
        records = to_rule(settings), to_behaviour(settings)
        if not same or records != (self.rule, to_behaviour(self.settings)):
            return False
        self.settings = settings
        return True

    @property
    def problems(self) -> list[str]:
        """What is wrong with the tablebases that the settings name, one line each."""
        return self._prober.tables.problems

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
        self._driver.stop()

    def ponderhit(self) -> None:
        """The expected reply was played: from now on our own clock runs."""
        self._signals.ponderhit.set()
        watch = self._watch  # the search may end, and take it away, meanwhile
        if watch is not None:
            watch.start_clock()

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
            self._signals = signals or Signals()
            return self._search(board, limits, on_report)

    def search_tree(self, board: Board, limits: Limits) -> None:
        """Search without a report or a choice of move, for callers that read the tree itself."""
        with self._lock:
            self._signals = Signals()
            self._grow(board, limits, None)

    def _search(self, board: Board, limits: Limits, on_report: Listener | None) -> Result:
        report, outcomes = self._grow(board, limits, on_report)
        final = report()
        if on_report is not None:
            on_report(final)
        return self._chosen(board, final, outcomes)

    def _grow(
        self, board: Board, limits: Limits, on_report: Listener | None
    ) -> tuple[Callable[[], Report], Outcomes]:
        """Let the tree grow within the limits: how to report on it, and what tablebases say."""
        allowed, outcomes = self._allowed(board, limits)
        self._mates = None
        self._prepare(board, allowed, limits)
        self._prober.prove_root(self.memory, outcomes)
        ply, own_clock = int(board.ply), limits.clock(board.turn)
        plan = clock.budget(limits, own_clock, ply, self.settings)
        watch = Watch(self.memory, limits, plan, self._signals.stop)
        watch.when_ours = lambda: clock.budget(
            limits.after_ponderhit(), own_clock, ply, self.settings
        )
        self._watch = watch
        if self._signals.ponderhit.is_set():
            watch.start_clock()
        known = int(self.memory.edges[0]["visits"]) if self._kept else 0

        def report() -> Report:
            return make_report(
                self.memory,
                board.position,
                self.rule,
                self._totals(watch, limits, known),
                multipv=self.settings.multipv,
                score_type=self.settings.score_type,
                outcomes=outcomes,
                mating=self._mating,
            )

        teller = _Teller(on_report, report, 0.0 if limits.every_change else REPORT_MS / 10)
        watch.each_look = lambda: self._between(watch, teller)
        with ExitStack() as failure:
            failure.callback(self._forget)  # the tree is in no known state after an error
            try:
                if self.memory.nodes[0]["state"] == EXPANDED:
                    self._run(board, limits, watch)
            finally:
                watch.end()
            failure.pop_all()
        self._prober.answer(self.memory, self._driver.contexts)
        self._watch = None
        return report, outcomes

    def _run(self, board: Board, limits: Limits, watch: Watch) -> None:
        """Search until a limit is reached or nothing is left to learn; if neither, until `stop`."""
        if limits.mate is not None:
            self._look_for_mate(board, limits, watch)
            return
        self._play_out(FOREVER, limits, watch)
        proof = best_proof(self.memory)
        longest = TABLEBASE if limits.infinite else TABLEBASE - 1
        if 1 < proof <= longest and limits.shorten_mates and not watch.pondering:
            self._mates = self._new_mate_search(board)
            self._try_mates(proof - 2, FOREVER, limits, watch)

    def _left(self, limits: Limits) -> int:
        """Nodes that the limits still allow; positions of the mate search are nodes, too."""
        if limits.visits is None:
            return FOREVER
        beside = 0 if self._mates is None else self._mates.nodes
        return max(0, limits.visits - int(self.memory.edges[0]["visits"]) - beside)

    def _play_out(self, most: int, limits: Limits, watch: Watch) -> None:
        """Let the driver play out, at most `most` times, unless the root is settled."""
        left = min(most, self._left(limits))
        self._driver.slow_start_nodes = self.settings.slow_start_nodes
        self._driver.slow_start_rows = self.settings.slow_start_parallelism
        hurried = watch.plan is not None and watch.plan.soft < HURRY_MS
        by_nodes = limits.visits is not None and limits.mate is None
        if left == 0 or root_is_settled(self.memory):
            return
        if limits.every_change and by_nodes and isinstance(self._driver, Driver):
            self._driver.run(left, watch.look, by_nodes, watched=True)
        else:  # batches are slow enough to be looked at by the clock
            self._driver.run(left, watch.look, by_nodes, hurried)

    # --- mates ----------------------------------------------------------------------------------

    def _new_mate_search(self, board: Board) -> MateSearch:
        return MateSearch(board, self.memory.cold["move"][block_of(self.memory)].tolist())

    def _look_for_mate(self, board: Board, limits: Limits, watch: Watch) -> None:
        """Try all mates that are short enough; the tree, which may see deep ones, grows, too."""
        assert limits.mate is not None
        self._mates, plies, size = self._new_mate_search(board), 2 * limits.mate - 1, FIRST_ROUND
        while True:
            self._play_out(size // TO_A_PLAYOUT, limits, watch)
            proof = best_proof(self.memory)
            lost = root_is_settled(self.memory) and not 0 < proof <= TABLEBASE
            if lost:
                self._mates.excluded = plies + 1
            if 0 < proof <= plies or lost or self._try_mates(plies, size, limits, watch):
                return
            if self._left(limits) == 0 or watch.look_at_clock():
                return
            size *= 2

    def _try_mates(self, plies: int, most: int, limits: Limits, watch: Watch) -> bool:
        """Look for mates within `plies`, and prove what is found; whether the answer is known."""
        assert self._mates is not None
        left = min(most, self._left(limits))
        answered = self._mates.deepen(plies, left, watch.look_at_clock)
        if self._mates.mate is not None:
            tree, block = self.memory.record, block_of(self.memory)
            mate, clear = self._mates.mate, self.settings.clear_losses
            edge = block.start + self.memory.cold["move"][block].tolist().index(mate.code)
            self._mating = (self._mates.first_move(mate),)  # until the whole line is known
            if set_proof(tree, edge, mate.plies, clear):
                climb(tree, edge, clear)
            self._mating = self._mates.line(self._left(limits), watch.look_at_clock)
        return answered

    # --- reports --------------------------------------------------------------------------------

    def _between(self, watch: Watch, teller: _Teller) -> None:
        """What is done between two looks, while the playouts go on."""
        self._prober.answer(self.memory, self._driver.contexts)
        teller.tell(watch.since_go_ms)
        self._driver.control.time_used = watch.time_used

    def _totals(self, watch: Watch, limits: Limits, known: int) -> Totals:
        """What has been counted; `known` visits of the root are of earlier searches."""
        contexts = [context.record for context in self._driver.contexts]
        playouts = max(1, sum(int(context.playouts) for context in contexts))
        visits, mates = int(self.memory.edges[0]["visits"]), self._mates
        excluded = 0 if mates is None or limits.mate is None else mates.excluded // 2
        return Totals(
            nodes=visits - known + (0 if mates is None else mates.nodes),
            milliseconds=watch.since_go_ms,
            depth=depth_of(visits),
            seldepth=max(int(context.deepest) for context in contexts),
            tbhits=self._prober.hits,
            mean_depth=sum(int(context.depth_sum) for context in contexts) / playouts,
            no_mate=excluded if limits.mate is not None and excluded >= limits.mate else 0,
        )

    def _chosen(self, board: Board, report: Report, outcomes: Outcomes) -> Result:
        if isinstance(self.rule, Gumbel) and report.moves and report.moves[0].proof == UNPROVED:
            edge = gumbel_choice(self.memory, self._driver.contexts[0].record, self.rule)
            move = absolute(board.position, int(self.memory.cold["move"][edge]))
            return self._result(board, move, edge, report)
        chosen = choose_move(
            self.memory,
            board.position,
            self.rule,
            self.settings,
            self._generator,
            outcomes,
            list(report.moves),
        )
        if chosen is None:
            return Result(None, None, report)
        return self._result(board, chosen.move, chosen.edge, report)

    def _result(self, board: Board, move: Move, edge: int, report: Report) -> Result:
        line = report.best.moves
        if line[:1] != (move,):
            line = principal_variation(self.memory, edge, view_of(board.position))
        return Result(move, line[1] if len(line) > 1 else None, report)

    # --- the root -------------------------------------------------------------------------------

    def _allowed(self, board: Board, limits: Limits) -> tuple[frozenset[int] | None, Outcomes]:
        """Codes of the moves to search (None: all), and what tablebases say (nothing: {})."""
        ranked = self._prober.start(board, self._driver.contexts, self.settings)
        outcomes = {row.code: row for row in ranked}
        if limits.searchmoves:
            moves = (board.parse(text) for text in limits.searchmoves)
            return frozenset(int(relative(board.position, move)) for move in moves), outcomes
        if limits.mate is not None or limits.infinite:  # mates are looked for among all moves
            return None, {row.code: row for row in self._prober.preferred(ranked)}
        return (self._prober.best(ranked) if ranked else None), outcomes

    def _prepare(self, board: Board, allowed: frozenset[int] | None, limits: Limits) -> None:
        """Make the root ready: kept from the last search or fresh, with noise and plans."""
        self._kept = self._keep(board) if allowed is None else self._forget()
        self._driver.set_root(board.positions())
        for context in self._driver.contexts:
            record = context.record
            record.deepest = record.depth_sum = record.playouts = record.collisions = 0
        if not self._kept and board.outcome() is None:
            self._driver.open_root(allowed)
        if allowed is None:
            self._line.remember(board)
        if self.memory.nodes[0]["state"] == EXPANDED:
            self._stir(limits)

    def _stir(self, limits: Limits) -> None:
        """Dirichlet noise, or the Gumbel rule's noise and plan."""
        settings = self.settings
        mix_noise(self.memory, settings.noise_epsilon, noise_alpha(settings), self._generator)
        if isinstance(self.rule, Gumbel):
            playouts = self._left(limits) if limits.visits is not None else None
            plan_gumbel(self.memory, self.rule, playouts, self._generator)

    def _keep(self, board: Board) -> bool:
        """Keep what the last search knows of this position; whether there was anything."""
        plies = self._line.extension(board)
        # Frozen replies belong to one side: search-contempt's tree serves only that side.
        other_side = self.settings.sc_limit != OFF and plies is not None and plies % 2 == 1
        if plies is None or other_side or isinstance(self.rule, Gumbel):
            return self._forget()
        self._prober.forget_questions(self._driver.contexts)
        self._mating = self._mating if plies == 0 else ()
        return keep_subtree(self.memory, board, plies)

    def _forget(self) -> bool:
        clear(self.memory.record)
        self._prober.forget_questions(self._driver.contexts)
        self._line.forget()
        self._mating = ()
        return False


class _Teller:
    """Reports when the best line has changed, and now and then."""

    def __init__(
        self, listener: Listener | None, report: Callable[[], Report], pause_ms: float
    ) -> None:
        self._listener, self._report, self._pause_ms = listener, report, pause_ms
        self._told_at, self._told = 0.0, -1

    def tell(self, elapsed: float) -> None:
        """Report if there is something new."""
        if self._listener is None or elapsed - self._told_at < self._pause_ms:
            return
        report = self._report()
        best = report.best.moves[0].code if report.best.moves else -1
        if best != self._told or elapsed - self._told_at >= REPORT_MS:
            self._told, self._told_at = best, elapsed
            self._listener(report)

"""Searcher: one tree, one evaluator and their settings, searching one position after another.

It keeps the part of the tree that the game reaches, prepares the root, runs the driver within the
limits, answers the tree's questions to the tablebases, and chooses the move.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kibitz.jit.records import as_record
from kibitz.nets.evaluators.batched import BatchedEvaluator
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.position.notation import Move, absolute, legal_codes
from kibitz.search.limits import Limits, Signals, depth_of
from kibitz.search.mate import Mate
from kibitz.search.mcts.answer import Mates, choose_move, make_report, principal_variation
from kibitz.search.mcts.driver import DIRECT_PLAYOUTS, Driver, Threads
from kibitz.search.mcts.playout.root import gumbel_choice, prepare_root
from kibitz.search.mcts.rules.parameters import OFF, Gumbel, to_behaviour, to_rule
from kibitz.search.mcts.statistics import best_move, best_proof, root_is_settled, standing
from kibitz.search.mcts.tree.context import QUESTIONS, ContextMemory, TreeSearch
from kibitz.search.mcts.tree.memory import Line, keep_subtree
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of, clear, propagate_proof, set_proof
from kibitz.search.options import Settings
from kibitz.search.proof import TABLEBASE, UNPROVED, answer_to, is_settled, rank_of
from kibitz.search.report import Report
from kibitz.search.searcher import ENDLESS, BaseSearcher

SHORT_MS = 20.0  # a move with less time than this must not lose milliseconds anywhere
TO_A_PLAYOUT = 16  # positions tried for a mate, to one playout


class Searcher(BaseSearcher):
    """Tree search with any evaluator; it keeps what the game reaches of its tree."""

    fixed = ("minibatch_size",)

    def __init__(
        self, evaluator: InlineEvaluator | BatchedEvaluator, settings: Settings | None = None
    ) -> None:
        super().__init__(settings or Settings())
        self.rule = to_rule(self.settings)
        self.memory = TreeMemory(self.settings.hash)
        inline = isinstance(evaluator, InlineEvaluator)
        self.batched = not inline
        threads = self.settings.threads if inline else 1
        self._tree = TreeSearch(self.memory, self.settings.seed, threads)
        behaviour, rows = to_behaviour(self.settings), self.settings.minibatch_size
        self.driver = Driver([self._tree], evaluator, self.rule, behaviour, rows)
        self._line = Line()
        self._earlier = 0  # visits by earlier searches
        self._reported: int | None = None  # the best move of the last report
        self._mates: Mates = {}  # those found beside the tree
        self._generator = np.random.default_rng(self.settings.seed)

    @property
    def contexts(self) -> list[ContextMemory]:
        """What each thread carries."""
        return self._tree.contexts

    @property
    def visits(self) -> int:
        """Visits of the root."""
        return self._tree.visits

    def update_settings(self, settings: Settings) -> bool:
        """Search with other settings from now on; False if they need a searcher of their own."""
        records, seed = (to_rule(settings), to_behaviour(settings)), self.settings.seed
        if records != (self.rule, to_behaviour(self.settings)):
            return False
        if not super().update_settings(settings):
            return False
        if settings.seed != seed:  # in a match with every game: new memory takes milliseconds
            self.forget()
            self._tree.reseed(settings.seed)
            self._generator = np.random.default_rng(settings.seed)
        return True

    def knows(self, board: Board) -> bool:
        """Whether the root of the tree is the board's position."""
        return self._line.extension(board) == 0

    def end(self) -> None:
        """End the threads."""
        self.driver.close()

    def interrupt(self) -> None:
        """Make the playouts return."""
        self.driver.stop()

    def forget(self) -> None:
        """Clear the tree."""
        clear(self.memory.record)
        self._line.forget()
        self._mates = {}

    # --- one search -----------------------------------------------------------------------------

    def search_tree(self, board: Board, limits: Limits) -> None:
        """Search without a report or a choice of move, for callers that read the tree itself."""
        with self._lock:
            self._search(board, limits, None, Signals())

    def best_at(self, board: Board, nodes: int) -> Report | None:
        """The move of a short search that never leaves this thread: waking others takes as long."""
        if nodes > DIRECT_PLAYOUTS or len(self.contexts) > 1 or board.outcome() is not None:
            return None
        with self._lock:
            self.driver.alone = True
            try:
                self._search(board, Limits(nodes=nodes), None, Signals())
            finally:
                self.driver.alone = False
            report = self.report()
            best = report.best._replace(moves=self.choose(report))
            return replace(report, lines=(best,))

    def run(self) -> None:
        """Search until a limit is reached or nothing is left to learn; if neither, until `stop`."""
        if self._tree.is_open:
            self._run()
        self._mates |= self._own_mate
        self._probe_queued_leaves()

    def _run(self) -> None:
        limits, timer = self.task.limits, self.task.timer
        if limits.mate is not None:
            self.look_for_mate(limits.mate)
            return
        self._play_out(ENDLESS)
        proof = best_proof(self.memory)
        longest = TABLEBASE if limits.infinite else TABLEBASE - 1
        if not limits.shorten_mates or timer.pondering:
            return
        if 1 < proof <= longest:
            self.try_mates(proof - 2, ENDLESS)
        elif -TABLEBASE < proof < 0 and is_settled(int(self.memory.cold["proof"][0])):
            self._shorten_losses()

    def _shorten_losses(self) -> None:
        """Find how soon the opponent mates after the move that delays it longest; all lose."""
        task, mates, block = self.task, self.task.mates, block_of(self.memory)
        while True:
            proofs = self.memory.cold["proof"][block].tolist()
            place = max(range(len(proofs)), key=lambda at: rank_of(proofs[at]))
            code = int(self.memory.cold["move"][block][place])
            board = task.board.copy()
            board.push(absolute(board.position, code))
            mates.stand_at(board, legal_codes(board.position).tolist())
            # The move's proof is two plies more than the longest mate that would be shorter.
            mates.deepen(-proofs[place] - 3, self.nodes_left, self.is_over)
            if mates.mate is None:  # it is exact, or there is no time left
                return
            self._prove(block.start + place, -(mates.mate.plies + 1))
            mating = (*board.moves[-1:], *mates.line(self.nodes_left, self.is_over))
            self._mates[mating[0]] = mating

    def _play_out(self, most: int) -> None:
        """Let the driver play out, at most `most` times, unless the root is settled."""
        left = min(most, self.nodes_left)
        if left == 0 or self._is_settled():
            return
        self._tree.beyond_proof = self._shortens_in_tree
        driver, limits, budget = self.driver, self.task.limits, self.task.timer.budget
        driver.slow_start_nodes = self.settings.slow_start_nodes
        driver.slow_start_rows = self.settings.slow_start_parallelism
        by_nodes = limits.visits is not None and limits.mate is None
        driver.run(
            [left],
            lambda: self.is_over() or self._is_settled(),
            by_nodes,
            short=budget is not None and budget.soft < SHORT_MS,
            frequent=by_nodes and limits.every_change,
        )

    def _is_settled(self) -> bool:
        """Whether more playouts can teach nothing."""
        if not root_is_settled(self.memory):
            return False
        return not (self._shortens_in_tree and 1 < self.proof < TABLEBASE)

    @property
    def _shortens_in_tree(self) -> bool:
        """Whether playouts, not a search of all moves, look for a mate shorter than the proved.

        Batches end at a proof: what they would still gather depends on when answers come.
        """
        limits = self.task.limits
        by_nodes = limits.visits is not None and limits.mate is None and limits.shorten_mates
        inline = isinstance(self.driver.work, Threads)
        return self.settings.search_proven and by_nodes and inline

    @property
    def nodes_left(self) -> int:
        """Visits of the root that the limits still allow, those of earlier searches counted."""
        most = self.task.limits.visits
        return ENDLESS if most is None else max(0, most - self._tree.visits - self.task.tried)

    def attend(self) -> None:
        """Answer the tree's questions, report, and say how much of the time is used."""
        self._probe_queued_leaves()
        self._tell_news()
        self._tree.control.time_used = self.task.timer.share_used

    def is_late(self) -> bool:
        """Whether the time is up, as the root stands."""
        timer = self.task.timer
        return timer.budget is not None and timer.is_over(standing(self.memory))

    @property
    def proof(self) -> int:
        """The best of what is proved of the root's moves."""
        return best_proof(self.memory)

    def grow(self, nodes: int) -> None:
        """Play out beside the search for mates, which is over once there is surely none."""
        self._play_out(nodes // TO_A_PLAYOUT)
        if root_is_settled(self.memory) and not 0 < self.proof <= TABLEBASE:
            self.task.mates.excluded = 2 * (self.task.limits.mate or 0)

    # --- what it has found ----------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Playouts of this search."""
        return self._tree.visits - self._earlier

    def _tell_news(self) -> None:
        """Report if the best move has changed, and now and then."""
        task, now = self.task, self.task.timer.since_go_ms
        if task.on_report is None or now - task.reported_ms < task.pause_ms:
            return
        best = best_move(self.memory)  # a report takes a hundred times as long
        if best != self._reported or now - task.reported_ms >= task.report_ms:
            self._reported, task.reported_ms = best, now
            task.on_report(self.report())

    def report(self) -> Report:
        """How the tree stands."""
        contexts = [context.record for context in self.contexts]
        playouts = max(1, sum(int(context.playouts) for context in contexts))
        totals = replace(
            self.totals(),
            depth=depth_of(self._tree.visits),
            seldepth=max(int(context.deepest) for context in contexts),
            mean_depth=sum(int(context.depth_sum) for context in contexts) / playouts,
            hashfull=self.memory.permille,
        )
        task, position, mates = self.task, self.task.board.position, self._mates | self._own_mate
        return make_report(
            self.memory, position, self.rule, self.settings, totals, task.outcomes, mates
        )

    @property
    def _own_mate(self) -> Mates:
        """The mate that this search has found beside the tree."""
        mating = self.task.mating
        return {mating[0]: mating} if mating else {}

    def choose(self, report: Report) -> tuple[Move, ...]:
        """The line of the move to play, which need not be the best."""
        rows, position = list(report.moves), self.task.board.position
        if isinstance(self.rule, Gumbel) and rows and rows[0].proof == UNPROVED:
            rule, context = as_record(self.rule), self.contexts[0].record
            edge = int(gumbel_choice(self.memory.record, context, rule))
            chosen = next(row for row in rows if row.edge == edge)
        else:
            best = choose_move(self.memory, position, self.settings, self._generator, rows)
            if best is None:
                return ()
            chosen = best
        if report.best.moves[:1] == (chosen.move,):
            return report.best.moves
        return principal_variation(self.memory, chosen.edge, position)

    # --- the root -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the root ready, with noise and plans; it may be kept from the last search."""
        task, board, allowed = self.task, self.task.board, self.task.allowed
        kept = allowed is None and self._keep(board)
        if not kept:
            self.forget()
        self._reported = None
        self._tree.set_root(board.positions())
        for context in self.contexts:
            record = context.record
            record.deepest = record.depth_sum = record.playouts = record.collisions = 0
            asks = self.settings.prove and not task.outcomes
            record.table_pieces = self.tables.pieces if asks else 0
            record.table_depth = self.settings.syzygy_depth
        if not kept:
            self.driver.open_roots([self._tree], allowed)
        if allowed is None:
            self._line.remember(board)
        if self._tree.is_open:
            playouts = None if task.limits.visits is None else self.nodes_left
            context = self.contexts[0].record
            prepare_root(self.memory, context, self.rule, self.settings, playouts)
        self._prove_root()
        self._earlier = self._tree.visits if kept else 0

    def _keep(self, board: Board) -> bool:
        """Keep what the last search knows of this position; whether there was anything."""
        plies = self._line.extension(board)
        # Frozen replies belong to one side: search-contempt's tree serves only that side.
        other_side = self.settings.sc_limit != OFF and plies is not None and plies % 2 == 1
        if plies is None or other_side or isinstance(self.rule, Gumbel):
            return False
        self._mates = self._mates if plies == 0 else {}
        return keep_subtree(self.memory, board, plies)

    # --- proofs that come into the tree from outside --------------------------------------------

    def _prove(self, edge: int, proof: int) -> None:
        """Record what is proved of a move for the player who makes it, and what follows from it."""
        clear_losses = self.settings.clear_losses
        if set_proof(self.memory.record, edge, proof, clear_losses):
            propagate_proof(self.memory.record, edge, clear_losses)

    def use_mate(self, mate: Mate) -> None:
        """Prove the move of the root that mates."""
        block = block_of(self.memory)
        codes = self.memory.cold["move"][block].tolist()
        self._prove(block.start + codes.index(mate.code), mate.plies)

    def _prove_root(self) -> None:
        """Record what tables say of the best of the root's moves as the proof of the root."""
        outcomes, codes = self.task.outcomes, self.memory.cold["move"][block_of(self.memory)]
        proofs = [outcomes[code].proof for code in codes.tolist() if code in outcomes]
        if proofs and self.settings.prove:
            set_proof(self.memory.record, 0, answer_to(max(proofs, key=rank_of)), False)

    def _probe_queued_leaves(self) -> None:
        """Ask tablebases about leaves that wait in the contexts, while there is time for it.

        The search may go on meanwhile.
        """
        for context in self.contexts:
            record = context.record
            while record.queued > record.answered:
                place = int(record.answered) % QUESTIONS
                proof, edge = self.probe(context.questions[place]), int(record.asking[place])
                if proof is None:
                    return
                if proof != UNPROVED and not is_settled(int(self.memory.cold["proof"][edge])):
                    self._prove(edge, answer_to(proof))
                record.answered += 1

"""Answering what a search asks of the tablebases, within a share of its time.

leaf.queue_probe (a queue in each context) -> **Prober** -> proofs that climb the tree
"""

from __future__ import annotations

from collections.abc import Sequence

from kibitz.position.board import Board
from kibitz.search.mcts.statistics import Outcomes
from kibitz.search.mcts.tree.context import QUESTIONS, ContextMemory
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.mcts.tree.proofs import climb, set_proof
from kibitz.search.params import Settings
from kibitz.search.proof import UNPROVED, answer_to, is_settled, rank_of
from kibitz.search.tablebase import DECISIVE, ProbeBudget, RootMove, Tablebases, best_ranked


class Prober:
    """The tablebases of one searcher."""

    def __init__(self, settings: Settings) -> None:
        self.tables = Tablebases(
            settings.syzygy_path, pieces=settings.syzygy_limit, rule50=settings.syzygy_rule50
        )
        self._settings = settings
        self._budget = ProbeBudget(0.0)
        self._hits_before = 0

    def close(self) -> None:
        """Let go of the files."""
        self.tables.close()

    @property
    def hits(self) -> int:
        """Positions answered during this search."""
        return self.tables.hits - self._hits_before

    def start(
        self, board: Board, contexts: Sequence[ContextMemory], settings: Settings
    ) -> list[RootMove]:
        """Begin a search: what the tables say of the root's moves, [] if they do not know.

        When the root is known the moves are chosen by distance, and the tree need not be asked.
        """
        self._hits_before, self._settings = self.tables.hits, settings
        self._budget = ProbeBudget(self._settings.syzygy_share)
        ranked = self.tables.rank_root(board) if self.tables.pieces else []
        for context in contexts:
            context.record.table_pieces = (
                0 if ranked or not self._settings.prove else self.tables.pieces
            )
            context.record.table_depth = self._settings.syzygy_depth
        return ranked

    def best(self, ranked: list[RootMove]) -> frozenset[int]:
        """Codes of the moves worth searching."""
        rows = best_ranked(ranked, fastest=self._settings.syzygy_fastest)
        return frozenset(row.code for row in rows)

    def preferred(self, ranked: list[RootMove]) -> list[RootMove]:
        """All moves; those worth searching rank above others that win or lose as surely."""
        best, top = self.best(ranked), max((row.rank for row in ranked), default=0)
        more, less = (1, 0) if top > 0 else (0, -1)  # away from the ranks of draws
        return [
            row._replace(rank=top + (more if row.code in best else less))
            if row.rank == top and abs(top) >= DECISIVE
            else row
            for row in ranked
        ]

    def prove_root(self, memory: TreeMemory, outcomes: Outcomes) -> None:
        """Record what tables say of the best of the root's moves as the proof of the root."""
        codes = memory.cold["move"][block_of(memory)].tolist()
        proofs = [outcomes[code].proof for code in codes if code in outcomes]
        if proofs and self._settings.prove:
            set_proof(memory.record, 0, answer_to(max(proofs, key=rank_of)), False)

    def forget_questions(self, contexts: Sequence[ContextMemory]) -> None:
        """Drop what was asked: edges are about to change their places."""
        for context in contexts:
            context.record.answered = context.record.asked

    def answer(self, memory: TreeMemory, contexts: Sequence[ContextMemory]) -> None:
        """Answer questions while the budget lasts; the search may go on meanwhile."""
        for context in contexts:
            record = context.record
            while record.asked > record.answered and self._budget.may_probe():
                place = int(record.answered) % QUESTIONS
                proof = self._budget.probe(self.tables, context.questions[place])
                if proof != UNPROVED:
                    self._prove(memory, int(record.asking[place]), answer_to(proof))
                record.answered += 1

    def _prove(self, memory: TreeMemory, edge: int, proof: int) -> None:
        """Record what is proved of a move for the player who makes it, and what follows from it."""
        clear = self._settings.clear_losses
        tree = memory.record
        known = is_settled(int(memory.cold["proof"][edge]))
        if not known and set_proof(tree, edge, proof, clear):
            climb(tree, edge, clear)

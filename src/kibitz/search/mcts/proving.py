"""Proofs that come into the tree from outside: from tablebases, and from the search for mates."""

from __future__ import annotations

from collections.abc import Sequence

from kibitz.position.board import Board
from kibitz.search.mate import MateSearch
from kibitz.search.mcts.statistics import Outcomes
from kibitz.search.mcts.tree.context import QUESTIONS, ContextMemory
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.mcts.tree.proofs import climb, set_proof
from kibitz.search.params import Settings
from kibitz.search.proof import UNPROVED, answer_to, is_settled, rank_of
from kibitz.search.tablebase import ProbeBudget, RootMove, Tablebases


def prove(memory: TreeMemory, edge: int, proof: int, clear_losses: bool) -> None:
    """Record what is proved of a move for the player who makes it, and what follows from it."""
    if set_proof(memory.record, edge, proof, clear_losses):
        climb(memory.record, edge, clear_losses)


def prove_root_move(memory: TreeMemory, code: int, proof: int, clear_losses: bool) -> None:
    """Record what is proved of a move of the root."""
    block = block_of(memory)
    edge = block.start + memory.cold["move"][block].tolist().index(code)
    prove(memory, edge, proof, clear_losses)


def mate_search(memory: TreeMemory, board: Board) -> MateSearch:
    """A search for mates that begin with a move of the root, where `board` is."""
    return MateSearch(board, memory.cold["move"][block_of(memory)].tolist())


class Prober:
    """The tablebases of one searcher, which answer its tree within a share of the time.

    Leaves that tables may know wait in a queue of each context.
    """

    def __init__(self, settings: Settings) -> None:
        self.tables = Tablebases(
            settings.syzygy_path, pieces=settings.syzygy_limit, rule50=settings.syzygy_rule50
        )
        self._settings = settings
        self._budget = ProbeBudget(0.0)
        self._hits_before = 0

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
        self._budget = ProbeBudget(settings.syzygy_share)
        ranked = self.tables.rank_root(board) if self.tables.pieces else []
        for context in contexts:
            context.record.table_pieces = 0 if ranked or not settings.prove else self.tables.pieces
            context.record.table_depth = settings.syzygy_depth
        return ranked

    def prove_root(self, memory: TreeMemory, outcomes: Outcomes) -> None:
        """Record what tables say of the best of the root's moves as the proof of the root."""
        codes = memory.cold["move"][block_of(memory)].tolist()
        proofs = [outcomes[code].proof for code in codes if code in outcomes]
        if proofs and self._settings.prove:
            set_proof(memory.record, 0, answer_to(max(proofs, key=rank_of)), False)

    def answer(self, memory: TreeMemory, contexts: Sequence[ContextMemory]) -> None:
        """Answer questions while the budget lasts; the search may go on meanwhile."""
        for context in contexts:
            record = context.record
            while record.asked > record.answered and self._budget.may_probe():
                place = int(record.answered) % QUESTIONS
                proof = self._budget.probe(self.tables, context.questions[place])
                edge = int(record.asking[place])
                if proof != UNPROVED and not is_settled(int(memory.cold["proof"][edge])):
                    prove(memory, edge, answer_to(proof), self._settings.clear_losses)
                record.answered += 1

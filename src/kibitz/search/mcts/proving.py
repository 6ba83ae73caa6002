"""Proofs that come into the tree from outside: from tablebases, and from the search for mates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kibitz.search.mcts.statistics import Outcomes
from kibitz.search.mcts.tree.context import QUESTIONS, ContextMemory
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.mcts.tree.proofs import climb, set_proof
from kibitz.search.params import Settings
from kibitz.search.proof import UNPROVED, answer_to, is_settled, rank_of


def prove(memory: TreeMemory, edge: int, proof: int, clear_losses: bool) -> None:
    """Record what is proved of a move for the player who makes it, and what follows from it."""
    if set_proof(memory.record, edge, proof, clear_losses):
        climb(memory.record, edge, clear_losses)


def prove_root_move(memory: TreeMemory, code: int, proof: int, clear_losses: bool) -> None:
    """Record what is proved of a move of the root."""
    block = block_of(memory)
    edge = block.start + memory.cold["move"][block].tolist().index(code)
    prove(memory, edge, proof, clear_losses)


def prove_root(memory: TreeMemory, outcomes: Outcomes, settings: Settings) -> None:
    """Record what tables say of the best of the root's moves as the proof of the root."""
    codes = memory.cold["move"][block_of(memory)].tolist()
    proofs = [outcomes[code].proof for code in codes if code in outcomes]
    if proofs and settings.prove:
        set_proof(memory.record, 0, answer_to(max(proofs, key=rank_of)), False)


def answer(
    memory: TreeMemory,
    contexts: Sequence[ContextMemory],
    probe: Callable[[np.record], int | None],
    settings: Settings,
) -> None:
    """Answer the positions that wait in the contexts until `probe` has no time, which is None.

    The search may go on meanwhile.
    """
    for context in contexts:
        record = context.record
        while record.asked > record.answered:
            place = int(record.answered) % QUESTIONS
            proof = probe(context.questions[place])
            if proof is None:
                return
            edge = int(record.asking[place])
            if proof != UNPROVED and not is_settled(int(memory.cold["proof"][edge])):
                prove(memory, edge, answer_to(proof), settings.clear_losses)
            record.answered += 1

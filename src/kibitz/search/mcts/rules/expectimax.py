"""Expectimax: what the opponent's policy plays, as often as it plays it, and PUCT for own moves.

At an opponent's node the move is followed that lies farthest behind its share of the visits. So
visits stand to each other as the priors do, and the value of the node is the mean of what comes
after them: what it is worth against people, if the policy is that of people.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.search.mcts.rules import puct
from kibitz.search.mcts.rules.parameters import Expectimax, Scoring
from kibitz.search.mcts.rules.puct import BLOCKED, select_puct
from kibitz.search.mcts.tree.nodes import BUSY, TreeMemory, cold_at, edge_at, node_at, prior_of


@kernel
def select_expectimax(
    rule: np.record, tree: np.record, context: np.record, via: int, node: int, depth: int
) -> tuple[int, int]:
    """The move farthest behind its share where the opponent moves, else PUCT's."""
    if depth % 2 == 0:
        return select_puct(rule.inner, tree, context, via, node, depth)
    record = node_at(tree, node)
    first, count, tried = signed(record.first), signed(record.count), signed(record.tried)
    total = 1
    for edge in range(first, first + tried):
        total += signed(edge_at(tree, edge).visits) + signed(edge_at(tree, edge).pending)
    best, farthest = BLOCKED, -np.inf
    for edge in range(first, first + min(tried + 1, count)):
        row = edge_at(tree, edge)
        tries = signed(row.visits) + signed(row.pending)
        behind = prior_of(signed(row.prior)) * total - tries
        if behind > farthest and cold_at(tree, edge).child != BUSY:
            best, farthest = edge, behind
    return best, 1


# --- for reports ----------------------------------------------------------------------------------


def _exploration(rule: Expectimax, edge: int, visits: float) -> float:
    return puct.PUCT.exploration(rule.inner, edge, visits)


def _untried(rule: Expectimax, memory: TreeMemory, edge: int, node: int) -> float:
    return puct.PUCT.untried(rule.inner, memory, edge, node)


EXPECTIMAX = Scoring(select_expectimax, _exploration, _untried)

"""Endgame minimax: the final move by the values deep in the tree instead of averages.

    root moves, tree -> **a move** -> choose.py

In an endgame an average over many half-good replies hides the one that matters. Where there are
visits enough, a move is worth what its best considered reply leaves it.
"""

from __future__ import annotations

import numpy as np

from kibitz.search.mcts.statistics import MoveStatistics, block_of, node_below, standing
from kibitz.search.mcts.tree.nodes import TreeMemory
from kibitz.search.mcts.tree.proof import is_settled, proved_value
from kibitz.search.params import Settings

DEEPEST = 64  # plies; forced lines could otherwise go deeper than Python recurses


def minimax_move(
    memory: TreeMemory, candidates: list[MoveStatistics], settings: Settings
) -> MoveStatistics | None:
    """The candidate of the highest minimax value; None if the root has too few visits."""
    root_visits = int(memory.edges["visits"][0])
    if root_visits < settings.minimax_visits:
        return None
    enough = [row for row in candidates if row.visits >= settings.minimax_ignore * root_visits]
    if not enough:
        return None
    return max(enough, key=lambda row: minimax_value(memory, row.edge, settings))


def minimax_value(memory: TreeMemory, edge: int, settings: Settings, plies: int = DEEPEST) -> float:
    """Value in [-1, 1] for the player who makes the move, by the best of the considered replies."""
    proof = int(memory.links["proof"][edge])
    if is_settled(proof):
        return float(proved_value(proof))
    average, visits = float(memory.edges["value"][edge]), int(memory.edges["visits"][edge])
    node = node_below(memory, edge)
    if visits < settings.minimax_visits or node is None or not plies:
        return average
    replies = _considered(memory, node, settings.minimax_ignore * visits)
    if not replies:
        return average
    return -max(minimax_value(memory, reply, settings, plies - 1) for reply in replies)


def _considered(memory: TreeMemory, node: int, least_visits: float) -> list[int]:
    """Replies with enough visits whose proofs are no worse than the best of them."""
    block = block_of(memory, node)
    visits = memory.edges["visits"][block]
    enough = block.start + np.flatnonzero((visits >= least_visits) & (visits > 0))
    grades = {int(edge): standing(int(memory.links["proof"][edge])) for edge in enough}
    best = max(grades.values(), default=(0, 0))
    return [edge for edge, grade in grades.items() if grade == best]

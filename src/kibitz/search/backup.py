"""Fourth verb: carry a value from the leaf back to the root."""

from __future__ import annotations

import numpy as np

from kibitz.jit import kernel
from kibitz.position.bits import signed
from kibitz.records import atomic_add, compare_and_swap
from kibitz.search.proof import UNPROVED, proved_value
from kibitz.search.tree import ARRIVAL, edge_at, edge_words_at, link_at, node_at


@kernel
def step_size(behaviour: np.record, weight: int) -> float:
    """1 / step of the moving average at its `weight`-th sample; a plain mean if build is 1."""
    return min(max(behaviour.build * weight, 1.0), behaviour.cap)


@kernel
def _sample(
    tree: np.record, behaviour: np.record, edge: int, node: int, value: float, draw: float
) -> None:
    """Blend one value into an edge's mean and its node's statistics."""
    record = node_at(tree, node)
    if behaviour.shared:
        weight = signed(atomic_add(node_at(tree, node), "weight", 1)) + 1
        divisor = step_size(behaviour, weight)
        while True:
            before = edge_at(tree, edge).value
            after = before + (value - before) / divisor
            if compare_and_swap(edge_at(tree, edge), "value", before, after):
                break
    else:
        weight = signed(record.weight) + 1
        record.weight = weight
        divisor = step_size(behaviour, weight)
        edge_at(tree, edge).value += (value - edge_at(tree, edge).value) / divisor
    record.draw += (draw - record.draw) / divisor
    record.square += (value * value - record.square) / divisor


@kernel
def back_up(
    tree: np.record, walk: np.record, behaviour: np.record, depth: int, value: float, draw: float
) -> None:
    """Add a visit to every edge of the path; `value` is for the player who made the last move.

    Values are sampled while the choices on the way may be believed (walk.trust). A proved edge
    samples what is proved instead.
    """
    trusted = True
    for ply in range(depth, -1, -1):
        edge = walk.path[ply]
        node = signed(link_at(tree, edge).child)
        proof = signed(link_at(tree, edge).proof)
        if proof != UNPROVED:
            value = proved_value(proof)
            draw = 1.0 if value == 0.0 else 0.0
        if trusted:
            _sample(tree, behaviour, edge, node, value, draw)
            trusted = walk.trust[ply] != 0
        if behaviour.shared:
            atomic_add(edge_words_at(tree, edge), "counts", ARRIVAL)
        else:
            edge_at(tree, edge).visits += 1
        value = -value


@kernel
def undo_pending(tree: np.record, walk: np.record, depth: int) -> None:
    """Take back the visits that were on their way along the path."""
    for ply in range(depth + 1):
        atomic_add(edge_at(tree, walk.path[ply]), "pending", -1)

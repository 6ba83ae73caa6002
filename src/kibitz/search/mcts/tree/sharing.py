"""Values shared between transpositions: one table of positions for the whole tree.

A position is often reached by several orders of the same moves. Each has a node of its own, but a
new one need not begin with the evaluator's value: it begins with the average that the search has
found for the position so far. The table takes a small share of the tree's memory, always keeps the
last value, and forgets with the tree. Values of positions near the fifty-move rule are not shared.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.search.mcts.tree.context import position_at
from kibitz.search.mcts.tree.nodes import PATH_DRAW, cold_at, edge_at, known_at, node_at

LATEST = 60  # plies since a capture or pawn move from which on values depend on that number
ONE, DRAWN = 32_767, 65_535  # a value of 1, a probability of a draw of 1
CHECKED = np.uint64(0xFFFF_FFFF_0000_0000)  # bits of a key that an entry repeats


@kernel
def _check(tree: np.record, key: np.uint64) -> np.uint64:
    """The upper half of an entry; what was stored before the tree was cleared never fits."""
    return (key ^ (np.uint64(tree.age) * np.uint64(0x9E37_79B9_7F4A_7C15))) & CHECKED


@kernel
def _place(tree: np.record, key: np.uint64) -> int:
    return signed(key & np.uint64(tree.known_size - 1))


@kernel
def recall(tree: np.record, position: np.record) -> tuple[bool, float, float]:
    """(known, value for the side to move, probability of a draw)."""
    if signed(position.rule50) >= LATEST:
        return False, 0.0, 0.0
    entry = known_at(tree, _place(tree, position.key)).entry
    if entry & CHECKED != _check(tree, position.key):
        return False, 0.0, 0.0
    value, draw = signed(entry) >> 16 & 0xFFFF, signed(entry) & 0xFFFF
    return True, (value - ONE) / ONE, draw / DRAWN


@kernel
def remember(tree: np.record, context: np.record, depth: int) -> None:
    """Store the values of the positions along the path, all but the root's."""
    for ply in range(1, depth + 1):
        position, edge = position_at(context, ply), context.path[ply]
        node = node_at(tree, signed(cold_at(tree, edge).child))
        if signed(position.rule50) < LATEST and node.state != PATH_DRAW:
            value = math.floor(ONE - edge_at(tree, edge).value * ONE + 0.5)
            draw = math.floor(min(float(node.draw), 1.0) * DRAWN + 0.5)
            key = position.key
            known = known_at(tree, _place(tree, key))
            known.entry = _check(tree, key) | np.uint64(value << 16 | draw)

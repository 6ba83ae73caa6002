"""Finished nodes: their values go up the list as far as they finish their parents."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel
from kibitz.search.bestfirst.nodes import NONE, node_at
from kibitz.search.bestfirst.table import remember


@kernel
def is_cut(node: np.record) -> bool:
    """Whether a node's best value is above its separator."""
    return 2 * node.best > node.separator


@kernel
def finish(nodes: np.record, place: int, value: int) -> None:
    """Finish a node with a value for the side to move there, and its parents as it follows."""
    node = node_at(nodes, place)
    node.best, node.finished = value, 1
    while node.parent != NONE:
        if node.ply == 1:
            nodes.root_values[node.root_move] = -node.best
        parent = node_at(nodes, node.parent)
        if -node.best > parent.best:
            parent.best, parent.best_move = -node.best, node.move
            if parent.finished:
                remember(nodes, node.parent)
        if parent.finished:
            return  # cut by another child of the same batch: only its bound is better now
        parent.children_left -= 1
        if not is_cut(parent) and parent.children_left > 0:
            return
        parent.finished = 1
        remember(nodes, node.parent)
        node = parent
    nodes.done = 1

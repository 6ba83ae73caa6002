"""Places for new nodes and blocks of edges.

A single thread takes the next free place. Several threads take many places at a time: they do not
compete for one counter, and each writes to cache lines of its own.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.atomics import atomic_load, compare_and_swap
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    HEADER_MOVE,
    THREADS,
    clear_edge,
    clear_node,
    cold_at,
    edge_at,
    node_at,
)

FULL = -1
EDGES_AT_A_TIME, NODES_AT_A_TIME = 1024, 32  # that a thread among others takes


@kernel
def _grab_edges(tree: np.record, amount: int) -> int:
    """Take edges that are still free; the first one, or FULL."""
    while True:
        used = signed(atomic_load(tree, "edges_used"))
        if used + amount > tree.edges_size:
            return FULL
        if compare_and_swap(tree, "edges_used", used, used + amount):
            return used


@kernel
def _take_edges(tree: np.record, context: np.record, behaviour: np.record, amount: int) -> int:
    """Reserve edges; the first one, or FULL. What a thread keeps in stock has a header."""
    if behaviour.shared != THREADS:
        used = signed(tree.edges_used)
        if used + amount > tree.edges_size:
            return FULL
        tree.edges_used = used + amount
        return used
    _forget_moved(tree, context)
    if context.edges_end - context.edges_next < amount:
        size = max(amount, EDGES_AT_A_TIME)
        start = _grab_edges(tree, size)
        if start == FULL:
            size = amount
            start = _grab_edges(tree, size)
            if start == FULL:
                return FULL
        context.edges_next, context.edges_end = start, start + size
    start = signed(context.edges_next)
    context.edges_next = start + amount
    left = signed(context.edges_end - context.edges_next)
    if left > 0:
        _put_header(tree, start + amount, BUSY, left - 1)
    return start


@kernel
def next_edge(tree: np.record, context: np.record, behaviour: np.record) -> int:
    """Where the next block will probably be."""
    return signed(context.edges_next if behaviour.shared == THREADS else tree.edges_used)


@kernel
def _forget_moved(tree: np.record, context: np.record) -> None:
    """Drop the edges and nodes taken before the tree was cleared or compacted."""
    if context.layout != tree.layout:
        context.layout = tree.layout
        context.edges_next, context.edges_end = 0, 0
        context.nodes_next, context.nodes_end = 0, 0


@kernel
def _put_header(tree: np.record, place: int, owner: int, count: int) -> None:
    """Begin a block of `count` edges; the owner is BUSY if they are not used."""
    clear_edge(tree, place, HEADER_MOVE, 0)
    edge_at(tree, place).visits = count
    cold_at(tree, place).child = owner


@kernel
def _grab_nodes(tree: np.record) -> tuple[int, int]:
    """Take some free nodes and clear them: [first, end), empty if there are none."""
    while True:
        used = signed(atomic_load(tree, "nodes_used"))
        end = min(used + NODES_AT_A_TIME, signed(tree.nodes_size))
        if used == end:
            return used, used
        if compare_and_swap(tree, "nodes_used", used, end):
            for node in range(used, end):
                clear_node(tree, node, 0)
            return used, end


@kernel
def new_node(tree: np.record, context: np.record, behaviour: np.record, edge: int) -> int:
    """A node for `edge`, not yet linked to it; FULL if there is no room."""
    if behaviour.shared != THREADS:
        node = signed(tree.nodes_used)
        if node >= tree.nodes_size:
            return FULL
        tree.nodes_used = node + 1
        clear_node(tree, node, edge)
        return node
    _forget_moved(tree, context)
    if context.nodes_next == context.nodes_end:
        context.nodes_next, context.nodes_end = _grab_nodes(tree)
        if context.nodes_next == context.nodes_end:
            return FULL
    node = signed(context.nodes_next)
    context.nodes_next = node + 1
    node_at(tree, node).parent_edge = edge
    return node


@kernel
def reserve_edges(
    tree: np.record, context: np.record, behaviour: np.record, node: int, count: int
) -> int:
    """First edge of a new block that belongs to `node`, its header written; FULL if no room."""
    header = _take_edges(tree, context, behaviour, count + 1)
    if header == FULL:
        return FULL
    _put_header(tree, header, node, count)
    return header + 1

"""Second verb: give a leaf its moves, best prior first."""

from __future__ import annotations

import numpy as np

from kibitz.jit import kernel
from kibitz.position.bits import signed
from kibitz.records import atomic_load, atomic_store, compare_and_swap
from kibitz.search.ordering import fill_edges, order_moves
from kibitz.search.rules import THREADS
from kibitz.search.tree import (
    EXPANDED,
    HEADER_MOVE,
    clear_edge,
    clear_node,
    edge_at,
    link_at,
    node_at,
)

FULL = -1


@kernel
def _take(tree: np.record, behaviour: np.record, amount: int) -> int:
    """Reserve edges; the first one, or FULL."""
    if behaviour.shared != THREADS:
        used = tree.edges_used
        if used + amount > tree.edges_size:
            return FULL
        tree.edges_used = used + amount
        return signed(used)
    while True:
        used = atomic_load(tree, "edges_used")
        if used + amount > tree.edges_size:
            return FULL
        if compare_and_swap(tree, "edges_used", used, used + amount):
            return used


@kernel
def new_node(tree: np.record, behaviour: np.record, edge: int) -> int:
    """A node for `edge`, not yet linked to it; FULL if there is no room."""
    if behaviour.shared != THREADS:
        node = tree.nodes_used
        if node >= tree.nodes_size:
            return FULL
        tree.nodes_used = node + 1
        clear_node(tree, node, edge)
        return signed(node)
    while True:
        node = atomic_load(tree, "nodes_used")
        if node >= tree.nodes_size:
            return FULL
        if compare_and_swap(tree, "nodes_used", node, node + 1):
            clear_node(tree, node, edge)
            return node


@kernel
def reserve_edges(tree: np.record, behaviour: np.record, node: int, count: int) -> int:
    """First edge of a new block that belongs to `node`, its header written; FULL if no room."""
    header = _take(tree, behaviour, count + 1)
    if header == FULL:
        return FULL
    clear_edge(tree, header, HEADER_MOVE, 0)
    edge_at(tree, header).visits = count
    link_at(tree, header).child = node
    return header + 1


@kernel
def expand(
    tree: np.record,
    walk: np.record,
    behaviour: np.record,
    node: int,
    count: int,
    temperature: float,
) -> bool:
    """Make edges for walk.moves with the softmax of walk.logits; False if the tree is full."""
    order_moves(walk, count, 1.0 / temperature)
    first = reserve_edges(tree, behaviour, node, count)
    if first == FULL:
        return False
    fill_edges(signed(tree.edges), signed(tree.links), first, walk, count)
    record = node_at(tree, node)
    record.first = first
    record.count = count
    record.opened = 0
    link_at(tree, signed(record.parent_edge)).block = first
    atomic_store(node_at(tree, node), "state", EXPANDED)
    return True

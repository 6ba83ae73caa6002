"""Second verb: give a leaf its moves, best prior first; and open them one after the other."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.atomics import atomic_load, atomic_store, compare_and_swap
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import called_kernel, kernel
from kibitz.search.mcts.playout.ordering import fill_edges, hold_moves, order_moves
from kibitz.search.mcts.tree.allocation import FULL, reserve_edges
from kibitz.search.mcts.tree.nodes import (
    EXPANDED,
    THREADS,
    WORDS,
    cold_at,
    edge_at,
    make_edges,
    node_at,
)

FEW_MOVES = 4  # are made into edges at once
PATIENCE = 1000  # tries to be alone at a node


@called_kernel
def expand(
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    node: int,
    count: int,
    temperature: float,
) -> bool:
    """Make edges for context.moves, priors from context.logits; False if the tree is full."""
    order_moves(context, count, 1.0 / temperature)
    first = reserve_edges(tree, context, behaviour, node, count)
    if first == FULL:
        return False
    record = node_at(tree, node)
    record.first = first
    record.count = count
    record.opened = 0
    if behaviour.by_prior and count > FEW_MOVES and node != 0:
        hold_moves(signed(tree.edges), first, context, count)
        edge_at(tree, first - 1).prior = WORDS
        make_edges(tree, node, 0, 1)
    else:
        fill_edges(signed(tree.edges), signed(tree.cold), first, context, count)
    cold_at(tree, signed(record.parent_edge)).block = first
    atomic_store(node_at(tree, node), "state", EXPANDED)
    return True


@kernel
def mark_opened(tree: np.record, behaviour: np.record, node: int, edge: int) -> None:
    """Count a move as opened, if it is not; a slower thread never takes that back."""
    wanted = edge - signed(node_at(tree, node).first) + 1
    if wanted > signed(atomic_load(node_at(tree, node), "opened")):
        _open(tree, behaviour, node, wanted)


@kernel
def _open(tree: np.record, behaviour: np.record, node: int, wanted: int) -> None:
    """Open the first `wanted` moves of a node."""
    header = signed(node_at(tree, node).first) - 1
    if edge_at(tree, header).prior == WORDS:
        _open_next(tree, behaviour, node, wanted, header)
        return
    if behaviour.shared != THREADS:
        node_at(tree, node).opened = wanted
        return
    while True:
        opened = signed(atomic_load(node_at(tree, node), "opened"))
        if opened >= wanted:
            return
        if compare_and_swap(node_at(tree, node), "opened", opened, wanted):
            return


@kernel
def _open_next(tree: np.record, behaviour: np.record, node: int, wanted: int, header: int) -> None:
    """Open the move that is the last edge so far, and make the next one an edge.

    One thread at a time, or a slow one would make an edge anew that others have used meanwhile.
    A thread that has to wait for long gives up: the move is opened when it is chosen again.
    """
    record = node_at(tree, node)
    if behaviour.shared == THREADS:
        tries = 0
        while not compare_and_swap(edge_at(tree, header), "pending", 0, 1):
            tries += 1
            if tries == PATIENCE:
                return
        if wanted <= signed(atomic_load(node_at(tree, node), "opened")):
            atomic_store(edge_at(tree, header), "pending", 0)
            return
    make_edges(tree, node, signed(record.opened) + 1, min(wanted + 1, signed(record.count)))
    atomic_store(node_at(tree, node), "opened", wanted)
    if behaviour.shared == THREADS:
        atomic_store(edge_at(tree, header), "pending", 0)

"""Priority bins: open nodes in the order of |score - mean|, roughly, without sorting them.

Boundaries are percentiles of a sample, descending: bin 0 has the scores farthest from the mean.
Inside a bin the node that came last goes first.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.position.moves import MAX_MOVES
from kibitz.search.bestfirst.nodes import (
    CHUNK_MOVES,
    MOST_PLIES,
    NONE,
    boundary_at,
    head_at,
    is_dead,
    node_at,
    release,
)

# What a row of a batch may need, in the plies that are left, before it gives some back; and what
# one step of one row needs at most, with the most moves there can be at the child and its parent.
NODES_A_ROW, CHUNKS_A_ROW = 16, 256
CHUNKS_A_STEP = 2 * (MAX_MOVES // CHUNK_MOVES + 1)
DEPTHS = 2 * MOST_PLIES


@kernel
def bin_of(nodes: np.record, score: float) -> int:
    """The bin of a score: the first whose boundary is not above |score - mean|."""
    distance = abs(score - nodes.centre)
    low, high = 0, signed(nodes.boundaries_size)
    while low < high:
        middle = (low + high) // 2
        if boundary_at(nodes, middle) <= distance:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def push(nodes: np.record, place: int, score: float) -> None:
    """Put a node into the bin of a score, on top."""
    number = bin_of(nodes, score)
    node, head = node_at(nodes, place), head_at(nodes, number)
    node.bin, node.next, node.before = number, head.node, NONE
    if head.node != NONE:
        node_at(nodes, head.node).before = place
    head.node = place
    node.holders += 1
    nodes.waiting += 1
    nodes.lowest = min(nodes.lowest, number)


@kernel
def _take(nodes: np.record, place: int) -> None:
    """Take a node out of its bin; the bin's reference to it goes to the caller."""
    node = node_at(nodes, place)
    if node.before == NONE:
        head_at(nodes, node.bin).node = node.next
    else:
        node_at(nodes, node.before).next = node.next
    if node.next != NONE:
        node_at(nodes, node.next).before = node.before
    node.bin = NONE
    nodes.waiting -= 1


@kernel
def pop(nodes: np.record) -> int:
    """The node on top of the first bin that has one, NONE if all are empty."""
    if nodes.waiting == 0:
        return NONE
    while head_at(nodes, nodes.lowest).node == NONE:
        nodes.lowest += 1
    place = head_at(nodes, nodes.lowest).node
    _take(nodes, place)
    return signed(place)


@kernel
def room_for(nodes: np.record) -> int:
    """How many rows there is memory for; at least one while a single row can make a step."""
    free_nodes = nodes.nodes_size - nodes.live_nodes
    free_chunks = nodes.chunks_size - nodes.live_chunks
    if free_nodes < 1 or free_chunks < CHUNKS_A_STEP:
        return 0
    return max(1, min(free_nodes // NODES_A_ROW, free_chunks // CHUNKS_A_ROW))


@kernel
def select(nodes: np.record, taken: np.ndarray, most: int) -> int:
    """Take at most so many of the best nodes, int32 [most or more]; returns how many.

    Nodes below a finished one are dropped. When memory is short few are taken, those nearest to
    the leaves: they free more than they need.
    """
    room = room_for(nodes)
    if room == 0:
        nodes.full = 1
        return 0
    if room < most:
        return _select_deepest(nodes, taken, room)
    count = 0
    while count < most and nodes.waiting > 0:
        place = pop(nodes)
        if is_dead(nodes, place):
            release(nodes, place)
        else:
            taken[count] = place
            count += 1
    return count


@kernel
def _select_deepest(nodes: np.record, taken: np.ndarray, most: int) -> int:
    """Take nodes with the fewest plies to search."""
    least = DEPTHS
    for place in range(nodes.used_nodes):
        node = node_at(nodes, place)
        if node.holders > 0 and node.bin != NONE:
            if is_dead(nodes, place):
                _take(nodes, place)
                release(nodes, place)
            else:
                least = min(least, node.depth)
    count = 0
    for place in range(nodes.used_nodes):
        node = node_at(nodes, place)
        if count < most and node.holders > 0 and node.bin != NONE and node.depth == least:
            _take(nodes, place)
            taken[count] = place
            count += 1
    return count

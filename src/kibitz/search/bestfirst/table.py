"""The list of nodes that Batch-First chooses from, in bins, and answers that go up it."""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.position.moves import MAX_MOVES
from kibitz.search.bestfirst.nodes import (
    CHUNK_MOVES,
    DECISIVE,
    INFINITE,
    MOST_PLIES,
    NONE,
    boundary_at,
    entry_at,
    head_at,
    is_dead,
    node_at,
    position_at,
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


# --- the list -------------------------------------------------------------------------------------
#
# Values of nodes: they are backed up through the list, and stored by position and depth.
#
# The table has bounds of values, the move and the evaluation. A position may be in one of two
# places: the first keeps the deeper entry of this search, the second the last one. Mates are
# counted from the position itself. Draws by the path never enter by themselves.


UNKNOWN = 1 << 30  # an evaluation that there is none of
NO_DEPTH = -128  # of an entry that knows the evaluation only
HALF = np.uint64(32)


@kernel
def to_table(value: int, ply: int) -> int:
    """A value with mates counted from the position, not from the root."""
    if DECISIVE < abs(value) < INFINITE:
        return value + ply if value > 0 else value - ply
    return value


@kernel
def from_table(value: int, ply: int) -> int:
    """A value with mates counted from the root."""
    return to_table(value, -ply)


@kernel
def _first_place(nodes: np.record, key: np.uint64) -> int:
    pairs = np.uint64(nodes.entries_size // 2)
    return 2 * signed((key >> HALF) * pairs >> HALF)


@kernel
def find(nodes: np.record, key: np.uint64) -> int:
    """Place of a position's entry, NONE if it has none."""
    if not nodes.tabled:
        return NONE
    place = _first_place(nodes, key)
    for at in range(place, place + 2):
        if entry_at(nodes, at).used and entry_at(nodes, at).key == key:
            return at
    return NONE


@kernel
def _make(nodes: np.record, key: np.uint64, depth: int) -> int:
    """An empty entry for a position that has none: the deeper of two others stays."""
    place = _first_place(nodes, key)
    first = entry_at(nodes, place)
    if first.used == nodes.generation and first.depth > depth:
        place += 1
    entry = entry_at(nodes, place)
    entry.key, entry.used, entry.depth = key, nodes.generation, NO_DEPTH
    entry.lower, entry.upper, entry.static, entry.move = -INFINITE, INFINITE, UNKNOWN, 0
    return place


@kernel
def remember_static(nodes: np.record, place: int, static: int) -> None:
    """Write down the evaluation of a node."""
    if not nodes.tabled:
        return
    key = position_at(nodes, place).key
    at = find(nodes, key)
    if at == NONE:
        at = _make(nodes, key, NO_DEPTH)
    entry_at(nodes, at).static = static


@kernel
def remember(nodes: np.record, place: int) -> None:
    """Write down what a finished node's value is at least, or at most; the deeper entry wins."""
    node = node_at(nodes, place)
    if not nodes.tabled or node.ply == 0:  # the root may lack moves
        return
    key, depth = position_at(nodes, place).key, signed(node.depth)
    at = find(nodes, key)
    if at == NONE:
        at = _make(nodes, key, depth)
    entry = entry_at(nodes, at)
    entry.used = nodes.generation
    if depth < entry.depth:
        return
    if depth > entry.depth:
        entry.depth, entry.lower, entry.upper = depth, -INFINITE, INFINITE
    value = to_table(node.best, node.ply)
    if 2 * node.best > node.separator:
        entry.lower = max(entry.lower, value)
        entry.upper = max(entry.upper, value)
        if node.best_move:
            entry.move = node.best_move
    else:
        entry.upper = min(entry.upper, value)
        entry.lower = min(entry.lower, value)


@kernel
def answered(nodes: np.record, place: int, at: int) -> bool:
    """Whether the entry `at` settles a node, whose best value it then is; raises that value."""
    node, entry = node_at(nodes, place), entry_at(nodes, at)
    if entry.depth < node.depth:
        return False
    lower, upper = from_table(entry.lower, node.ply), from_table(entry.upper, node.ply)
    if 2 * lower > node.separator:
        node.best = lower
        return True
    if 2 * upper < node.separator:
        node.best = upper
        return True
    node.best = max(node.best, lower)
    return False


# --- values go up ---------------------------------------------------------------------------------


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

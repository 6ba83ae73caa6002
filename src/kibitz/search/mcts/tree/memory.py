"""The memory of the tree: blocks for nodes and edges, and room when it is full."""

from __future__ import annotations

import numpy as np

from kibitz.jit.atomics import atomic_load, compare_and_swap
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.position.board import Board
from kibitz.position.state import POSITION
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    EXPANDED,
    HEADER_MOVE,
    NODE_WORDS,
    NONE,
    PATH_DRAW,
    THREADS,
    TreeMemory,
    block_of,
    clear,
    clear_edge,
    clear_node,
    cold_at,
    cold_words_at,
    edge_at,
    edge_words_at,
    edges_of,
    make_all_edges,
    moved_at,
    node_at,
    node_words_at,
    root_at,
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


# --- making room ----------------------------------------------------------------------------------
#
# Making room: keep the part of the tree that matters, slid to the front, in a few linear passes.
#
# Used when a move is played (its subtree becomes the tree) and when memory is full (subtrees of
# little-visited moves are freed; the moves keep their statistics). It needs no second copy: nodes
# and blocks of edges keep their order, and the root always comes first.


DEAD, ALIVE, DONE = 0, 1, 2  # DONE: alive, and what is below it has been looked at


@kernel
def _mark(tree: np.record, root: int, min_visits: int) -> None:
    """Mark the nodes to keep: reached from `root` by moves visited often enough.

    Draws by repetition and the 50-move rule are dropped, as they depend on where the root is.
    """
    for node in range(tree.nodes_used):
        moved_at(tree, node).place = DEAD
    moved_at(tree, root).place = ALIVE
    again = True
    while again:  # threads that take nodes for themselves may put a child before its parent
        again = False
        for node in range(tree.nodes_used):
            if moved_at(tree, node).place == ALIVE:
                again = _mark_children(tree, node, min_visits) or again
                moved_at(tree, node).place = DONE


@kernel
def _mark_children(tree: np.record, node: int, min_visits: int) -> bool:
    """Mark children to keep, cut off the others; whether one is kept that precedes its parent."""
    record, before = node_at(tree, node), False
    if record.state != EXPANDED:
        return False
    first = signed(record.first)
    for edge in range(first, first + edges_of(tree, node)):
        child = signed(cold_at(tree, edge).child)
        if child == NONE:
            continue
        keep = signed(edge_at(tree, edge).visits) >= min_visits
        if keep and node_at(tree, child).state != PATH_DRAW:
            moved_at(tree, child).place = ALIVE
            before = before or child < node
        else:
            cold_at(tree, edge).child = NONE
    return before


@kernel
def _close_untried(tree: np.record, root: int) -> None:
    """Let moves that were chosen but not visited in the end, for want of room, count as untried.

    Selection takes tried moves for visited ones. All moves of the root may count as tried (see
    root.reorder); there, every move is looked at for its visits.
    """
    for node in range(tree.nodes_used):
        record = node_at(tree, node)
        alive = moved_at(tree, node).place != DEAD
        if alive and node != root and record.state == EXPANDED:
            first, tried = signed(record.first), signed(record.tried)
            while tried > 0 and edge_at(tree, first + tried - 1).visits == 0:
                tried -= 1
            if tried < record.tried:
                make_all_edges(tree, node)  # edges are not packed again
            record.tried = tried


@kernel
def _lead(tree: np.record, root: int) -> int:
    """Move the root before all nodes that are kept, as it becomes node 0; returns its place."""
    first = 0
    while moved_at(tree, first).place == DEAD:
        first += 1
    if first != root:
        _swap_nodes(tree, first, root)
    return first


@kernel
def _swap_nodes(tree: np.record, first: int, second: int) -> None:
    """Swap two nodes; update the edges and block headers that lead to them."""
    left, right = node_words_at(tree, first), node_words_at(tree, second)
    for word in range(NODE_WORDS):
        left.words[word], right.words[word] = right.words[word], left.words[word]
    for node in (first, second):
        record = node_at(tree, node)
        cold_at(tree, signed(record.parent_edge)).child = node
        if record.first != NONE:
            cold_at(tree, signed(record.first) - 1).child = node


@kernel
def _adopt_root(tree: np.record, root: int) -> None:
    """Let edge 0 carry the statistics of the move into the new root."""
    above = signed(node_at(tree, root).parent_edge)
    root_edge, old_edge = edge_at(tree, 0), edge_at(tree, above)
    root_edge.value = old_edge.value
    root_edge.visits = old_edge.visits
    root_edge.pending = 0
    cold_at(tree, 0).proof = cold_at(tree, above).proof
    node_at(tree, root).parent_edge = 0


@kernel
def _copy_node(tree: np.record, source: int, target: int) -> None:
    old, new = node_words_at(tree, source), node_words_at(tree, target)
    for word in range(NODE_WORDS):
        new.words[word] = old.words[word]


@kernel
def _copy_edge(tree: np.record, source: int, target: int) -> None:
    old, new = edge_words_at(tree, source), edge_words_at(tree, target)
    new.value, new.counts = old.value, old.counts
    old_cold, new_cold = cold_words_at(tree, source), cold_words_at(tree, target)
    new_cold.child_block = old_cold.child_block
    new_cold.frozen_move_proof = old_cold.frozen_move_proof


@kernel
def _slide_nodes(tree: np.record) -> None:
    """Close the gaps between nodes; update edges and block headers."""
    free = 0
    for node in range(tree.nodes_used):
        record = node_at(tree, node)
        alive = moved_at(tree, node).place != DEAD
        if record.first != NONE:
            cold_at(tree, signed(record.first) - 1).child = free if alive else BUSY
        if alive:
            cold_at(tree, signed(record.parent_edge)).child = free
            _copy_node(tree, node, free)
            free += 1
    tree.nodes_used = free


@kernel
def _slide_blocks(tree: np.record) -> None:
    """Close the gaps between blocks of edges; update their nodes."""
    free, header = 1, 1
    while header < tree.edges_used:
        owner, count = signed(cold_at(tree, header).child), signed(edge_at(tree, header).visits)
        if owner != BUSY:
            edges = edges_of(tree, owner)
            node_at(tree, owner).first = free + 1
            cold_at(tree, signed(node_at(tree, owner).parent_edge)).block = free + 1
            for offset in range(count + 1):
                _copy_edge(tree, header + offset, free + offset)
                child = signed(cold_at(tree, free + offset).child)
                if 0 < offset <= edges and child != NONE:
                    node_at(tree, child).parent_edge = free + offset
            free += count + 1
        header += count + 1
    tree.edges_used = free


@kernel
def compact(tree: np.record, root: int, min_visits: int) -> None:
    """Make `root` the root node and keep below it what has at least `min_visits` visits.

    No thread may be in the tree, and no visit may be pending.
    """
    tree.layout += 1
    if root != 0:  # another root: its priors hold no noise yet
        root_at(tree, 0).noisy = 0
        root_at(tree, 0).rounds = 0
    _mark(tree, root, min_visits)
    root = _lead(tree, root)
    _close_untried(tree, root)
    _adopt_root(tree, root)
    _slide_nodes(tree)
    _slide_blocks(tree)
    cold_at(tree, 0).child = 0
    if node_at(tree, 0).state == EXPANDED:
        make_all_edges(tree, 0)  # more is done with the moves of a root


# --- when a move is played, and when memory is full -----------------------------------------------


ROOM_WANTED = 600  # per mille that may stay in use
# Without the bytes between fields and rows, which copies of records leave to chance.
FIELDS = np.dtype([(name, POSITION[name]) for name in POSITION.names or ()])


def _records(board: Board) -> bytes:
    return board.positions().astype(FIELDS).tobytes()


class Line:
    """The game a tree was grown for: where it began and what was played; empty at first."""

    def __init__(self) -> None:
        self.records = b""

    def extension(self, board: Board) -> int | None:
        """How many plies `board` goes on from the remembered line; None if it is another game."""
        records = _records(board)
        if not self.records or not records.startswith(self.records):
            return None
        return (len(records) - len(self.records)) // FIELDS.itemsize

    def remember(self, board: Board) -> None:
        """From now on the tree belongs to this game."""
        self.records = _records(board)

    def forget(self) -> None:
        """The tree belongs to no game."""
        self.records = b""


def keep_subtree(memory: TreeMemory, board: Board, plies: int) -> bool:
    """Re-root the tree at the end of the board's last `plies` moves; False: it was cleared."""
    node = _reached(memory, board, plies)
    if node is None:
        clear(memory.record)
        return False
    if plies:
        compact(memory.record, node, 0)
    return True


def _reached(memory: TreeMemory, board: Board, plies: int) -> int | None:
    """The node the moves lead to, if the tree has it."""
    node = 0
    for code in board.codes(since=len(board.moves) - plies):
        block = block_of(memory, node)
        matches = np.flatnonzero(memory.cold["move"][block] == code)
        if len(matches) == 0 or memory.cold["child"][block][matches[0]] == NONE:
            return None
        node = int(memory.cold["child"][block][matches[0]])
    return node if memory.nodes[node]["state"] == EXPANDED else None


def make_room(memory: TreeMemory) -> None:
    """Free subtrees, those of the least visited moves first, until there is room.

    No thread may be in the tree and no visit pending.
    """
    least = 2
    while memory.permille > ROOM_WANTED:
        compact(memory.record, 0, least)
        least *= 2

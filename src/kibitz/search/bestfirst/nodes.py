"""The node list: open nodes of one zero-window pass, their moves, and the memory of both.

A *separator* lies halfway between two values, so that no value equals it: it is kept doubled, as an
odd number. A node is *finished* when its best value is above its separator or no child is left to
answer. A node stays in memory while it waits in a bin, is held by the batch, or has children there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kibitz.core.errors import InputError
from kibitz.jit.compile import kernel
from kibitz.jit.records import address_of, aligned, one_record, record_at, value_at
from kibitz.position.moves import MAX_MOVES
from kibitz.position.state import POSITION

NONE = -1
UNIT = 10_000  # points of a sure win by evaluation: a value of 1
MATE = 30_000  # less the plies from the root
DECISIVE = 20_000  # beyond it are mates
INFINITE = 32_000
USED = -math.inf  # score of a move that has been taken
PRESSING = math.inf  # score of a move that goes before all others

MOST_PLIES = 128  # below the root
PAST = 160  # positions of the game before the root: all that repetitions can reach back to
CHUNK_MOVES = 10

NODE = np.dtype(
    [
        ("separator", np.int32),  # doubled
        ("best", np.int32),  # highest value of the children that have answered
        ("parent", np.int32),
        ("chunk", np.int32),  # the first of the chunks with moves
        ("next", np.int32),  # in its bin, or among the free nodes
        ("before", np.int32),  # in its bin
        ("bin", np.int32),  # NONE while it waits in no bin
        ("holders", np.int32),  # children, the bin, the batch, and for the root the pass
        ("children_left", np.int16),  # moves whose children have not answered
        ("listed", np.int16),  # moves in the chunks, taken ones included
        ("depth", np.int16),  # plies still to search; at 0 and below only what is not quiet
        ("ply", np.int16),  # from the root
        ("root_move", np.int16),  # which move of the root it is below
        ("move", np.uint16),  # that led here
        ("best_move", np.uint16),  # the one with the best value
        ("finished", np.uint8),
        ("staged", np.uint8),  # 1: the table's move is listed, the others are still to be
    ],
    align=True,
)
CHUNK = np.dtype(
    [
        ("scores", np.float32, CHUNK_MOVES),
        ("moves", np.uint16, CHUNK_MOVES),
        ("next", np.int32),
    ],
    align=True,
)
ENTRY = np.dtype(
    [
        ("key", np.uint64),
        ("lower", np.int32),  # bounds of the value, mates counted from this position
        ("upper", np.int32),
        ("static", np.int32),  # the evaluation, UNKNOWN if there was none
        ("move", np.uint16),
        ("depth", np.int8),
        ("used", np.uint8),  # generation of the search that used it last, 0 if empty
    ],
    align=True,
)
LIST = np.dtype(
    [
        ("positions", np.uint64),  # address of POSITION [positions_size]: a node's own place
        ("positions_size", np.int64),
        ("nodes", np.uint64),  # address of NODE [nodes_size]
        ("nodes_size", np.int64),
        ("chunks", np.uint64),  # address of CHUNK [chunks_size]
        ("chunks_size", np.int64),
        ("entries", np.uint64),  # address of ENTRY [entries_size]: the table, see table.py
        ("entries_size", np.int64),
        ("heads", np.uint64),  # address of int32 [heads_size]: the node last put into each bin
        ("heads_size", np.int64),
        ("boundaries", np.uint64),  # address of float64 [boundaries_size], descending
        ("boundaries_size", np.int64),
        ("centre", np.float64),  # mean of the scores of moves
        ("shift", np.float64),  # average evaluation of even positions, in points
        ("quiet_plies", np.int64),  # most plies of quiescence
        ("tabled", np.int64),  # whether the table is used
        ("generation", np.int64),  # of the search: 1 to 255
        ("faults", np.int64),
        ("free_node", np.int64),  # a chain of freed nodes; those from used_nodes on are new
        ("used_nodes", np.int64),
        ("live_nodes", np.int64),
        ("free_chunk", np.int64),
        ("used_chunks", np.int64),
        ("live_chunks", np.int64),
        ("waiting", np.int64),  # nodes in bins
        ("lowest", np.int64),  # no bin below it holds a node
        ("done", np.int64),  # the root is finished
        ("full", np.int64),  # there is no memory to go on with
        ("created", np.int64),  # nodes of this search
        ("deepest", np.int64),
        ("cut", np.int64),  # nodes that the table has answered
        ("past", np.int64),  # positions of the game before the root
        ("keys", np.uint64, PAST + MOST_PLIES),  # game, root and path
        ("root_moves", np.uint16, MAX_MOVES),
        ("root_count", np.int64),
        ("root_nodes", np.int64, MAX_MOVES),  # nodes below each move of the root
        ("root_values", np.int32, MAX_MOVES),  # what it was last worth, a bound
        ("moves", np.uint16, MAX_MOVES),  # scratch
    ],
    align=True,
)
ROOT = 0
position_at = record_at(POSITION, "positions")
node_at = record_at(NODE, "nodes")
chunk_at = record_at(CHUNK, "chunks")
entry_at = record_at(ENTRY, "entries")
boundary_at = value_at(np.float64, "boundaries")
HEAD = np.dtype([("node", np.int32)])
head_at = record_at(HEAD, "heads")

MEBIBYTE = 1 << 20
TABLE_SHARE = 0.5  # of the memory
CHUNKS_A_NODE = 1.5


class ListMemory:
    """Owner of a node list's arrays; `record` is what kernels get."""

    def __init__(self, megabytes: int, boundaries: np.ndarray) -> None:
        size = megabytes * MEBIBYTE
        self.entries = aligned((int(size * TABLE_SHARE) // ENTRY.itemsize // 2 * 2,), ENTRY)
        each = POSITION.itemsize + NODE.itemsize + CHUNKS_A_NODE * CHUNK.itemsize
        count = int((size - self.entries.nbytes) / each)
        self.positions = aligned((count,), POSITION)
        self.nodes = aligned((count,), NODE)
        self.chunks = aligned((int(CHUNKS_A_NODE * count),), CHUNK)
        self.record: Any = one_record(LIST)
        for name in ("positions", "nodes", "chunks", "entries"):
            self._hang(name, getattr(self, name))
        self.set_boundaries(boundaries)

    def _hang(self, name: str, array: np.ndarray) -> None:
        self.record[name], self.record[f"{name}_size"] = address_of(array), len(array)

    def write_all(self) -> None:
        """Make the system hand the memory out, which it does when it is first written."""
        for array in (self.entries, self.positions, self.nodes, self.chunks):
            array.view(np.uint64).fill(0)

    def set_boundaries(self, boundaries: np.ndarray) -> None:
        """Make the bins of these boundaries, float64 [n] descending: one bin more than those."""
        if len(boundaries) == 0 or np.any(np.diff(boundaries) > 0):
            raise InputError("boundaries of bins must descend")
        self.boundaries = np.ascontiguousarray(boundaries, np.float64)
        self.heads = np.full(len(boundaries) + 1, NONE, HEAD)
        self._hang("boundaries", self.boundaries)
        self._hang("heads", self.heads)

    def clear_list(self) -> None:
        """Free all nodes."""
        self.heads["node"] = NONE
        for name in ("used_nodes", "live_nodes", "used_chunks", "live_chunks", "waiting"):
            self.record[name] = 0
        self.record.lowest = self.record.done = self.record.full = 0
        self.record.free_node = self.record.free_chunk = NONE

    def clear_table(self) -> None:
        """Forget all positions."""
        self.entries["used"] = 0

    @property
    def permille(self) -> int:
        """How full the table is, by its first thousand entries."""
        return round(1000 * float(np.count_nonzero(self.entries["used"][:1000])) / 1000)


# --- nodes ----------------------------------------------------------------------------------------


@kernel
def new_node(nodes: np.record, parent: int, separator: int, depth: int, ply: int) -> int:
    """A node that the batch holds; the caller has seen to it that there is memory."""
    place = nodes.free_node
    if place == NONE:
        place = nodes.used_nodes
        nodes.used_nodes += 1
    else:
        nodes.free_node = node_at(nodes, place).next
    nodes.live_nodes += 1
    node = node_at(nodes, place)
    node.separator, node.best, node.parent = separator, -INFINITE, parent
    node.chunk, node.next, node.before, node.bin = NONE, NONE, NONE, NONE
    node.holders, node.children_left, node.listed = 1, 0, 0
    node.depth, node.ply, node.root_move = depth, ply, 0
    node.move, node.best_move, node.finished, node.staged = 0, 0, 0, 0
    if parent != NONE:
        node_at(nodes, parent).holders += 1
    return place


@kernel
def new_child(nodes: np.record, parent: int, move: int) -> int:
    """The node after a move, which the batch holds."""
    above = node_at(nodes, parent)
    child = new_node(nodes, parent, -above.separator, above.depth - 1, above.ply + 1)
    node = node_at(nodes, child)
    node.move, node.root_move = move, above.root_move
    if above.ply == 0:
        for index in range(nodes.root_count):
            if nodes.root_moves[index] == move:
                node.root_move = index
    nodes.root_nodes[node.root_move] += 1
    nodes.created += 1
    nodes.deepest = max(nodes.deepest, node.ply)
    return child


@kernel
def release(nodes: np.record, place: int) -> None:
    """Drop a reference to a node; one without references is freed, and drops that to its parent."""
    while place != NONE:
        node = node_at(nodes, place)
        node.holders -= 1
        if node.holders > 0:
            return
        while node.chunk != NONE:
            chunk = chunk_at(nodes, node.chunk)
            following = chunk.next
            chunk.next, nodes.free_chunk = nodes.free_chunk, node.chunk
            node.chunk = following
            nodes.live_chunks -= 1
        node.next, nodes.free_node = nodes.free_node, place
        nodes.live_nodes -= 1
        place = node.parent


@kernel
def is_dead(nodes: np.record, place: int) -> bool:
    """Whether a node or one above it is finished: its value is of no more use."""
    while place != NONE:
        node = node_at(nodes, place)
        if node.finished:
            return True
        place = node.parent
    return False


# --- their moves ----------------------------------------------------------------------------------


@kernel
def add_move(nodes: np.record, place: int, move: int, score: float) -> None:
    """List a move of a node."""
    node = node_at(nodes, place)
    slot = node.listed % CHUNK_MOVES
    if slot == 0:
        new = nodes.free_chunk
        if new == NONE:
            new = nodes.used_chunks
            nodes.used_chunks += 1
        else:
            nodes.free_chunk = chunk_at(nodes, new).next
        nodes.live_chunks += 1
        chunk = chunk_at(nodes, new)
        chunk.next, node.chunk = node.chunk, new
        for index in range(CHUNK_MOVES):
            chunk.scores[index] = USED
    chunk = chunk_at(nodes, node.chunk)
    chunk.scores[slot], chunk.moves[slot] = score, move
    node.listed += 1


@kernel
def best_move_left(nodes: np.record, place: int) -> tuple[int, int, float]:
    """Chunk, slot and score of the best move that has not been taken; USED if there is none."""
    best_chunk, slot, score = NONE, 0, USED
    at = node_at(nodes, place).chunk
    while at != NONE:
        chunk = chunk_at(nodes, at)
        for index in range(CHUNK_MOVES):
            if chunk.scores[index] > score:
                best_chunk, slot, score = at, index, chunk.scores[index]
        at = chunk.next
    return best_chunk, slot, score


@kernel
def take_move(nodes: np.record, place: int) -> int:
    """Take the best move; there is one."""
    best_chunk, slot, _ = best_move_left(nodes, place)
    chunk = chunk_at(nodes, best_chunk)
    chunk.scores[slot] = USED
    return chunk.moves[slot]

"""The tree: arrays with an exact byte cap, filled from the front, compacted in place.

An *edge* is a move from a node; the edges of a node are one contiguous block, best prior first. A
*node* exists for every edge that has been visited. What selection reads is 16 bytes an edge; the
move, the places of the node and of its block, and the proof are 16 bytes more; the rest lives in
the node. Edge 0 leads to the root, node 0. The slot before each block is its header: its child is
the owner, its visits are the size of the block. Threads take edges and nodes for themselves, many
at a time; an unused block has the owner BUSY, an unused node the parent edge 0.

A large tree is not in the processor's cache. No record crosses a line of it, and cold edge
data say where node and block are, so that both can be prefetched.

Values on an edge are for the player who makes the move, in [-1, 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.core.errors import InputError
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import CACHE_LINE, address_of, aligned, one_record, prefetch_at, record_at
from kibitz.position.moves import MAX_MOVES
from kibitz.search.proof import (
    AT_LEAST_DRAW,
    AT_MOST_DRAW,
    DRAW,
    UNPROVED,
    answer_to,
    bounded,
    is_settled,
    loses,
    rank_of,
    wins,
)

MAX_ROUNDS = 8  # of sequential halving: 256 moves, 128, ... 2

EDGE = np.dtype(
    [
        ("value", np.float64),  # average value of the visits, for the player who moves
        ("visits", np.uint32),  # finished visits
        ("pending", np.uint16),  # visits not backed up yet (other threads, unfinished batches)
        ("prior", np.uint16),  # probability of the move: (prior + 1) / 65536
    ],
    align=True,
)
COLD = np.dtype(
    [
        ("child", np.uint32),  # node, NONE before the first visit, BUSY or WAITING during it
        (
            "block",
            np.uint32,
        ),  # first edge of the node's block, once it has one; a hint
        ("frozen", np.uint32),  # visits when search-contempt froze the replies
        ("move", np.uint16),
        ("proof", np.int16),  # see proof.py; 0 if nothing is proved
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("first", np.uint32),  # first edge of its block, NONE before expansion
        ("parent_edge", np.uint32),
        ("excluded", np.uint32),  # visits that are no samples in the means: selective backup
        ("draw", np.float32),  # average probability of a draw
        ("square", np.float32),  # average squared value
        ("raw", np.float32),  # the evaluator's own value, for the side to move
        ("fpu", np.float32),  # value of unvisited moves after a drawn sibling, else NaN
        ("count", np.uint8),  # edges in the block
        ("tried", np.uint8),  # edges [0, tried) have been chosen before; the rest never
        ("state", np.uint8),
        ("freezing", np.uint8),  # 0, 1 while one thread writes the frozen counts, 2 when frozen
    ],
    align=True,
)
TREE = np.dtype(
    [
        ("edges", np.uint64),  # address of EDGE [edges_size]
        ("edges_size", np.int64),
        ("cold", np.uint64),  # address of COLD [cold_size]
        ("cold_size", np.int64),
        ("nodes", np.uint64),  # address of NODE [nodes_size]
        ("nodes_size", np.int64),
        ("moved", np.uint64),  # address of uint32 [nodes_size], working memory of compaction
        ("moved_size", np.int64),
        (
            "shared",
            np.uint64,
        ),  # address of SHARED [shared_size], a power of two; see playout/leaf.py
        ("shared_size", np.int64),
        ("root", np.uint64),  # address of ROOT [root_size], one
        ("root_size", np.int64),
        ("age", np.int64),  # how often the tree has been cleared
        ("layout", np.int64),  # how often it has been cleared or compacted
        # All threads read the addresses and all change the counters: not in one line of the cache.
        ("apart", np.uint8, CACHE_LINE),
        ("edges_used", np.int64),
        ("further_apart", np.uint8, CACHE_LINE),
        ("nodes_used", np.int64),
        ("faults", np.int64),  # accesses out of bounds, counted in debug builds
    ],
    align=True,
)
# What one search knows about its root beside the tree, moves in the order of the root's edges.
ROOT = np.dtype(
    [
        ("noisy", np.int64),  # 1: noise has been mixed into the priors of its moves
        ("clean", np.uint16, MAX_MOVES),  # their priors before that
        ("gumbel", np.float64, MAX_MOVES),  # the Gumbel rule's noise; -inf: not considered
        ("rounds", np.int64),  # of sequential halving; 0: nothing is planned
        ("starts", np.int64, MAX_ROUNDS + 1),  # playouts before each round, and after the last
        ("survivors", np.int64, MAX_ROUNDS),  # moves that take part in each round
    ],
    align=True,
)
# A node with many moves has few of them as edges: those that were chosen before and one more. The
# others wait packed, as prior << 16 | move at the end of the block, where the last edges will be;
# no edge reaches a later packed move. The block's header then has the prior PACKED_MOVES.
PACKED_MOVES_ROW = np.dtype([("words", np.uint32, 4)])
PACKED_MOVES = 1
# The same bytes in as few words as they fill, for making edges and for copying.
EDGE_WORDS = np.dtype([("value", np.float64), ("counts", np.uint64)])
NODE_WORDS = NODE.itemsize // 8
COLD_WORDS = np.dtype([("child_block", np.uint64), ("frozen_move_proof", np.uint64)])

edge_at = record_at(EDGE, "edges")
cold_at = record_at(COLD, "cold")
node_at = record_at(NODE, "nodes")
edge_words_at = record_at(EDGE_WORDS, "edges")
_packed_moves_at = record_at(PACKED_MOVES_ROW, "edges")
cold_words_at = record_at(COLD_WORDS, "cold")
node_words_at = record_at(np.dtype([("words", np.uint64, NODE_WORDS)]), "nodes")
_prefetch_edge = prefetch_at(EDGE, "edges")
_prefetch_cold = prefetch_at(COLD, "cold")
_prefetch_node = prefetch_at(NODE, "nodes")
prefetch_edge_to_write = prefetch_at(EDGE, "edges", write=True)
prefetch_node_to_write = prefetch_at(NODE, "nodes", write=True)
MOVED = np.dtype([("place", np.uint32)])
moved_at = record_at(MOVED, "moved")
SHARED = np.dtype([("entry", np.uint64)])  # 32 bits of a key, value, probability of a draw
shared_at = record_at(SHARED, "shared")
root_at = record_at(ROOT, "root")

# Added to the counts of an edge: one more finished visit, one pending visit less.
ARRIVAL = np.uint64(2**64 - 2**32 + 1)

EDGES_PER_LINE, COLD_PER_LINE = CACHE_LINE // EDGE.itemsize, CACHE_LINE // COLD.itemsize
ROOM_LINES = 10  # of edges, and of cold data, that most new blocks fill

NONE = 0  # edge 0 and node 0 belong to the root and are no child
BUSY = 0xFFFF_FFFF  # selection goes elsewhere: another thread will be done in a moment
WAITING = 0xFFFF_FFFE  # a leaf in a batch: selection may want it, and then has to wait
HEADER_MOVE = 0xFFFF  # no move: marks the slot before each block of edges

# Who else is in the tree of a search (Behaviour.shared): batches not finished yet, other threads.
NOBODY, BATCHES, THREADS = range(3)

LEAF, EXPANDING, EXPANDED, TERMINAL, PATH_DRAW = range(5)  # NODE.state

EDGES_PER_NODE = 12  # how the byte cap is divided: edges are many, visited ones few
BYTES_PER_NODE = NODE.itemsize + MOVED.itemsize + EDGES_PER_NODE * (EDGE.itemsize + COLD.itemsize)
MIN_NODES = 256
SHARED_PART = 64  # of the bytes, at most, hold shared values


class TreeMemory:
    """Owner of a tree's arrays; `record` is what kernels get."""

    def __init__(self, megabytes: float) -> None:
        size = int(megabytes * 2**20)
        entries = 1 << (max(size // SHARED_PART // SHARED.itemsize, 1).bit_length() - 1)
        nodes = (size - entries * SHARED.itemsize) // BYTES_PER_NODE
        if nodes < MIN_NODES:
            least = MIN_NODES * BYTES_PER_NODE / 2**20 * SHARED_PART / (SHARED_PART - 1)
            raise InputError("tree memory", value=megabytes, fix=f"at least {least:.2f} MiB")
        self.edges = aligned((nodes * EDGES_PER_NODE,), EDGE)
        self.cold = aligned((nodes * EDGES_PER_NODE,), COLD)
        self.nodes = aligned((nodes,), NODE)
        self.moved = aligned((nodes,), MOVED)
        self.shared = aligned((entries,), SHARED)
        self.root = np.zeros(1, dtype=ROOT)
        self.record: Any = one_record(TREE)
        for name in ("edges", "cold", "nodes", "moved", "shared", "root"):
            array = getattr(self, name)
            self.record[name] = address_of(array)
            self.record[f"{name}_size"] = len(array)
        clear(self.record)

    @property
    def bytes(self) -> int:
        """Memory reserved for the tree; never exceeded."""
        arrays = (self.edges, self.cold, self.nodes, self.moved, self.shared)
        return sum(array.nbytes for array in arrays)

    @property
    def permille(self) -> int:
        """How full the tree is, for `hashfull`."""
        edges = self.record.edges_used / len(self.edges)
        return int(1000 * max(edges, self.record.nodes_used / len(self.nodes)))


@kernel
def clear(tree: np.record) -> None:
    """Forget everything: takes no time, whatever the size."""
    clear_edge(tree, 0, 0, 65535)
    clear_node(tree, 0, 0)
    root_at(tree, 0).noisy = 0
    root_at(tree, 0).rounds = 0
    tree.edges_used = 1
    tree.nodes_used = 1
    tree.age += 1
    tree.layout += 1


@kernel
def clear_edge(tree: np.record, edge: int, move: int, prior: int) -> None:
    """Make an unvisited edge."""
    row, cold = edge_words_at(tree, edge), cold_words_at(tree, edge)
    row.value = 0.0
    row.counts = np.uint64(prior) << np.uint64(48)
    cold.child_block = 0
    cold.frozen_move_proof = np.uint64(move) << np.uint64(32)


@kernel
def edges_of(tree: np.record, node: int) -> int:
    """How many moves of an expanded node are edges, from the first on; the others are packed."""
    record = node_at(tree, node)
    count = signed(record.count)
    if edge_at(tree, signed(record.first) - 1).prior == PACKED_MOVES:
        return min(signed(record.tried) + 1, count)
    return count


@kernel
def make_edges(tree: np.record, node: int, start: int, end: int) -> None:
    """Turn the packed moves [start, end) of a node into edges, in this order."""
    record = node_at(tree, node)
    first, count = signed(record.first), signed(record.count)
    for index in range(start, end):
        word = 3 * count + index  # of the block
        packed = signed(_packed_moves_at(tree, first + (word >> 2)).words[word & 3])
        clear_edge(tree, first + index, packed & 0xFFFF, packed >> 16)


@kernel
def make_all_edges(tree: np.record, node: int) -> None:
    """Turn all moves of a node into edges. No other thread may be in the tree."""
    header = edge_at(tree, signed(node_at(tree, node).first) - 1)
    if header.prior == PACKED_MOVES:
        make_edges(tree, node, edges_of(tree, node), signed(node_at(tree, node).count))
        header.prior = 0


@kernel
def clear_node(tree: np.record, node: int, parent_edge: int) -> None:
    """Make an unexpanded node."""
    record = node_at(tree, node)
    record.first = NONE
    record.parent_edge = parent_edge
    record.excluded = 0
    record.draw = 0.0
    record.square = 0.0
    record.raw = 0.0
    record.fpu = np.nan
    record.count = 0
    record.tried = 0
    record.state = LEAF
    record.freezing = 0


@kernel
def prefetch_below(tree: np.record, edge: int) -> None:
    """Prefetch the node that an edge leads to, and the best of its moves."""
    cold = cold_at(tree, edge)
    block = signed(cold.block)
    _prefetch_node(tree, signed(cold.child))
    _prefetch_edge(tree, block)
    _prefetch_edge(tree, block + EDGES_PER_LINE)
    _prefetch_cold(tree, block)
    _prefetch_cold(tree, block + COLD_PER_LINE)


@kernel
def prefetch_block(tree: np.record, free: int) -> None:
    """Prefetch the place of the next block, from edge `free` on."""
    for line in range(ROOM_LINES):
        _prefetch_edge(tree, free + line * EDGES_PER_LINE)
        _prefetch_cold(tree, free + line * COLD_PER_LINE)


@kernel
def prior_of(quantised: int) -> float:
    """Probability of a 16-bit prior; never 0."""
    return (quantised + 1.0) / 65536.0


@kernel
def quantise_prior(probability: float) -> Any:
    """16-bit prior of a probability, rounded, int32; exact in float32, too."""
    return np.int32(max(probability * np.float32(65536.0), np.float32(1.0)) - np.float32(0.5))


def block_of(memory: TreeMemory, node: int = 0) -> slice:
    """Where the edges of a node, or of the root, are; empty before it is expanded.

    Of a node with many moves only some are edges, see PACKED_MOVES; of the root all are.
    """
    record = memory.nodes[node]
    if record["state"] != EXPANDED:
        return slice(0, 0)
    return slice(int(record["first"]), int(record["first"]) + int(edges_of(memory.record, node)))


# --- proofs that climb ----------------------------------------------------------------------------
#
# How proofs are backed up through the tree; search/proof.py says what a proof is.


LOSS_PRIOR_DIVISOR = 1000


@kernel
def proof_from_children(tree: np.record, node: int) -> int:
    """What the replies prove about the move into `node`; UNPROVED if they prove nothing yet."""
    record = node_at(tree, node)
    if record.state != EXPANDED:
        return UNPROVED
    first, best = signed(record.first), UNPROVED
    edges = edges_of(tree, node)
    complete, may_win, may_draw = edges == signed(record.count), False, False
    for edge in range(first, first + edges):
        proof = signed(cold_at(tree, edge).proof)
        if not is_settled(proof):
            complete = False
            may_win = may_win or proof != AT_MOST_DRAW
            may_draw = may_draw or proof == AT_LEAST_DRAW
        elif best == UNPROVED or rank_of(proof) > rank_of(best):
            best = proof
    if wins(best) or (best != UNPROVED and complete):
        return answer_to(best)
    may_draw = may_draw or best == DRAW
    if edges == signed(record.count) and not may_win:
        return DRAW if may_draw else AT_LEAST_DRAW
    return AT_MOST_DRAW if may_draw else UNPROVED


@kernel
def set_proof(tree: np.record, edge: int, proof: int, clear_losses: bool) -> bool:
    """Record a proof or a bound that says more than the one before; returns whether it does.

    From then on the edge is worth what is proved, whatever its visits averaged before. Two bounds
    that meet are a draw.
    """
    before = signed(cold_at(tree, edge).proof)
    if before == proof or (is_settled(before) and not is_settled(proof)):
        return False
    if not is_settled(proof) and before != UNPROVED:
        proof = DRAW
    cold_at(tree, edge).proof = proof
    edge_at(tree, edge).value = bounded(proof, edge_at(tree, edge).value)
    if clear_losses and loses(proof) and not is_settled(before):
        edge_at(tree, edge).prior = edge_at(tree, edge).prior // LOSS_PRIOR_DIVISOR
    return True


@kernel
def propagate_proof(tree: np.record, edge: int, clear_losses: bool) -> None:
    """After `edge` got a proof, prove what follows from it, up to the root's own edge."""
    while edge != 0:
        parent = owner_of(tree, edge)
        above = signed(node_at(tree, parent).parent_edge)
        proof = proof_from_children(tree, parent)
        if proof == UNPROVED or not set_proof(tree, above, proof, clear_losses):
            return
        edge = above


@kernel
def owner_of(tree: np.record, edge: int) -> int:
    """The node an edge starts from, by walking back to its block's header."""
    while not is_header(tree, edge):
        edge -= 1
    return signed(cold_at(tree, edge).child)


@kernel
def is_header(tree: np.record, edge: int) -> bool:
    """Whether a slot is the header of a block (its move is HEADER_MOVE)."""
    return cold_at(tree, edge).move == HEADER_MOVE

"""Expand, the second step of a playout: give a leaf its moves, best prior first.

Every node that is expanded comes through here. Its moves are tried later, one after the other.
They are put in order eight at a time, written with lanes because the compiler neither keeps a list
this short in registers nor ranks one list against itself without adding up lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.jit.atomics import atomic_load, atomic_store, compare_and_swap
from kibitz.jit.bits import signed
from kibitz.jit.compile import called_kernel, inlined_kernel, kernel
from kibitz.jit.vectors import (
    address_in,
    bits_as,
    choose,
    converted,
    interleaved,
    larger,
    largest,
    load_lanes,
    numbered,
    repeated,
    smaller,
    smallest,
    spread,
    store_lanes,
    sum_of,
)
from kibitz.search.mcts.tree.memory import FULL, reserve_edges
from kibitz.search.mcts.tree.nodes import (
    EDGE,
    EXPANDED,
    PACKED_MOVES,
    THREADS,
    cold_at,
    edge_at,
    make_edges,
    node_at,
)

LANES = 8
LOWEST = -80.0  # logits this far below the highest are as good as -infinity
LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453
AT_ONCE = 4  # edges, or cold records, that fill a line of memory
SIZE = EDGE.itemsize

# --- logits to moves in order ---------------------------------------------------------------------


@kernel
def order_moves(context: np.record, count: int, sharpness: float) -> None:
    """Write context.order from the logits, which are used up, and the moves; there is at least one.

    An entry of the order is prior << 16 | move, the prior being the 16-bit softmax of the logits
    times `sharpness` (1 / temperature). Equal priors keep the order of generation.
    """
    logits, keys = address_in(context.logits), address_in(context.sorting)
    highest, lowest = logit_range(logits, count)
    if highest == lowest:
        share_equally(address_in(context.moves), count, address_in(context.order))
        return
    share = 1.0 / exponentials(logits, count, highest, sharpness)
    make_keys(logits, count, share, keys)
    rank(keys, count, address_in(context.ranks))
    for index in range(count):
        prior = context.sorting[index] >> 8
        context.order[context.ranks[index]] = prior << 16 | context.moves[index]


@kernel
def logit_range(logits: int, count: int) -> tuple[float, float]:
    """Return the highest logit and the lowest; what is beyond the last becomes -infinity."""
    highest = spread(-np.inf, np.float32, LANES)
    lowest = spread(np.inf, np.float32, LANES)
    for start in range(0, count, LANES):
        loaded = load_lanes(logits + 4 * start, np.float32, LANES)
        valid = numbered(np.int32, LANES) < count - start
        above = choose(valid, loaded, -np.inf)
        store_lanes(logits + 4 * start, above)
        highest = larger(above, highest)
        lowest = smaller(choose(valid, loaded, np.inf), lowest)
    return largest(highest), smallest(lowest)


@kernel
def share_equally(moves: int, count: int, order: int) -> None:
    """Write the order of generation, with a prior of 1 / count for each."""
    prior = priors_of(1.0 / spread(count, np.float32, LANES)) << 16
    for start in range(0, count, LANES):
        loaded = load_lanes(moves + 2 * start, np.uint16, LANES)
        store_lanes(order + 4 * start, prior | converted(loaded, np.int32))


@kernel
def exponentials(logits: int, count: int, highest: float, sharpness: float) -> float:
    """Put exponentials in place of logits; returns their sum."""
    total, sharp = spread(0.0, np.float32, LANES), spread(sharpness, np.float32, LANES)
    for start in range(0, count, LANES):
        loaded = load_lanes(logits + 4 * start, np.float32, LANES)
        raised = exponential((loaded - highest) * sharp)
        store_lanes(logits + 4 * start, raised)
        total += raised
    return sum_of(total)


@kernel
def exponential(x: Any) -> Any:
    """e^x for x <= 0 to six digits, not below LOWEST."""
    power = larger(x, LOWEST) * LOG2_E
    # Rounds to nearest, as the power is not positive; the rest is below 0.35.
    whole = converted(power - 0.5, np.int32)
    x = (power - converted(whole, np.float32)) * LN_2
    series = 1.0 + x * (1.0 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120)))))
    return series * bits_as((whole + 127) << 23, np.float32)


@kernel
def priors_of(shares: Any) -> Any:
    """Probabilities in 65536ths, less one."""
    return converted(larger(shares * 65536.0, 1.0) - 0.5, np.int32)


@kernel
def make_keys(exponentials: int, count: int, share: float, keys: int) -> None:
    """Write keys that sort as the moves shall, no two alike: prior << 8 | 255 - index.

    Beyond the last move a key is lower than any.
    """
    for start in range(0, count, LANES):
        raised = load_lanes(exponentials + 4 * start, np.float32, LANES)
        index = numbered(np.int32, LANES) + start
        key = priors_of(raised * share) << 8 | (255 - index)
        store_lanes(keys + 4 * start, choose(index < count, key, -1))


@kernel
def rank(keys: int, count: int, ranks: int) -> None:
    """Write how many keys are greater than each."""
    for start in range(0, count, LANES):
        mine = load_lanes(keys + 4 * start, np.int32, LANES)
        greater = spread(0, np.int32, LANES)
        for index in range(count):
            other = repeated(load_lanes(keys + 4 * index, np.int32, 1), LANES)
            greater += converted(other > mine, np.int32)
        store_lanes(ranks + 4 * start, greater)


# --- the order to edges ---------------------------------------------------------------------------


@kernel
def fill_edges(edges: int, cold: int, first: int, context: np.record, count: int) -> None:
    """Write unvisited edges for context.order from `first` on.

    edges and cold are the addresses of EDGE [...] and COLD [...].
    """
    order, edges, cold = address_in(context.order), edges + SIZE * first, cold + SIZE * first
    if count < AT_ONCE:
        for at in range(count):
            packed = load_lanes(order + 4 * at, np.uint32, 1)
            put_edges(edges + SIZE * at, cold + SIZE * at, packed)
        return
    for start in range(0, count, AT_ONCE):
        at = min(start, count - AT_ONCE)  # the last four end with the last edge
        packed = load_lanes(order + 4 * at, np.uint32, AT_ONCE)
        put_edges(edges + SIZE * at, cold + SIZE * at, packed)


@kernel
def put_edges(edges: int, cold: int, order: Any) -> None:
    """Write some edges: all is 0 but the prior and the move, in the upper half of each record."""
    packed = converted(order, np.uint64)
    store_lanes(edges, interleaved(packed & 0, (packed >> 16) << 48))
    store_lanes(cold, interleaved(packed & 0, (packed & 0xFFFF) << 32))


@kernel
def hold_moves(edges: int, first: int, context: np.record, count: int) -> None:
    """Copy context.order to the end of the block from `first`; there are at least 4 moves."""
    order, saved = address_in(context.order), edges + SIZE * (first + count) - 4 * count
    for start in range(0, count, AT_ONCE):
        at = min(start, count - AT_ONCE)
        store_lanes(saved + 4 * at, load_lanes(order + 4 * at, np.uint32, AT_ONCE))


# --- the step -------------------------------------------------------------------------------------


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
    record.tried = 0
    if behaviour.by_prior and count > FEW_MOVES and node != 0:
        hold_moves(signed(tree.edges), first, context, count)
        edge_at(tree, first - 1).prior = PACKED_MOVES
        make_edges(tree, node, 0, 1)
    else:
        fill_edges(signed(tree.edges), signed(tree.cold), first, context, count)
    cold_at(tree, signed(record.parent_edge)).block = first
    atomic_store(node_at(tree, node), "state", EXPANDED)
    return True


@inlined_kernel
def mark_tried(tree: np.record, behaviour: np.record, node: int, edge: int) -> None:
    """Count a move as tried, if it is not; a slower thread never takes that back."""
    wanted = edge - signed(node_at(tree, node).first) + 1
    if wanted > signed(atomic_load(node_at(tree, node), "tried")):
        _try_moves(tree, behaviour, node, wanted)


@kernel
def _try_moves(tree: np.record, behaviour: np.record, node: int, wanted: int) -> None:
    """Count the first `wanted` moves of a node as tried."""
    header = signed(node_at(tree, node).first) - 1
    if edge_at(tree, header).prior == PACKED_MOVES:
        _try_next(tree, behaviour, node, wanted, header)
        return
    if behaviour.shared != THREADS:
        node_at(tree, node).tried = wanted
        return
    while True:
        tried = signed(atomic_load(node_at(tree, node), "tried"))
        if tried >= wanted:
            return
        if compare_and_swap(node_at(tree, node), "tried", tried, wanted):
            return


@kernel
def _try_next(tree: np.record, behaviour: np.record, node: int, wanted: int, header: int) -> None:
    """Count the move as tried that is the last edge so far, and make the next one an edge.

    One thread at a time, or a slow one would make an edge anew that others have used meanwhile.
    A thread that has to wait for long gives up: the move is tried when it is chosen again.
    """
    record = node_at(tree, node)
    if behaviour.shared == THREADS:
        tries = 0
        while not compare_and_swap(edge_at(tree, header), "pending", 0, 1):
            tries += 1
            if tries == PATIENCE:
                return
        if wanted <= signed(atomic_load(node_at(tree, node), "tried")):
            atomic_store(edge_at(tree, header), "pending", 0)
            return
    make_edges(tree, node, signed(record.tried) + 1, min(wanted + 1, signed(record.count)))
    atomic_store(node_at(tree, node), "tried", wanted)
    if behaviour.shared == THREADS:
        atomic_store(edge_at(tree, header), "pending", 0)

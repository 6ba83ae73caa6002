"""Second verb: give a leaf its moves, best prior first."""

from __future__ import annotations

import numpy as np

from kibitz.jit import kernel, sum_kernel
from kibitz.position.bits import float_of_bits, signed
from kibitz.records import atomic_load, atomic_store, compare_and_swap
from kibitz.search.tree import (
    EXPANDED,
    HEADER_MOVE,
    clear_edge,
    clear_node,
    edge_at,
    link_at,
    node_at,
    quantise_prior,
)

FULL = -1

LOG2_E, LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
C1, C2, C3 = np.float32(1.0), np.float32(0.5), np.float32(0.16666667)
C4, C5 = np.float32(0.041666668), np.float32(0.008333334)  # Taylor: |rest| < 0.35


@kernel
def _take(tree: np.record, amount: int) -> int:
    """Reserve edges; the first one, or FULL."""
    while True:
        used = atomic_load(tree, "edges_used")
        if used + amount > tree.edges_size:
            return FULL
        if compare_and_swap(tree, "edges_used", used, used + amount):
            return used


@kernel
def new_node(tree: np.record, edge: int) -> int:
    """A node for `edge`, not yet linked to it; FULL if there is no room."""
    while True:
        node = atomic_load(tree, "nodes_used")
        if node >= tree.nodes_size:
            return FULL
        if compare_and_swap(tree, "nodes_used", node, node + 1):
            clear_node(tree, node, edge)
            return node


@kernel
def reserve_edges(tree: np.record, node: int, count: int) -> int:
    """First edge of a new block that belongs to `node`, its header written; FULL if no room."""
    header = _take(tree, count + 1)
    if header == FULL:
        return FULL
    clear_edge(tree, header, HEADER_MOVE, 0)
    edge_at(tree, header).visits = count
    link_at(tree, header).child = node
    return header + 1


@kernel
def fast_exp(x: np.float32) -> np.float32:
    """e^x for x <= 0 to six digits; 0 below -80. LLVM makes vector code of it, not of math.exp."""
    power = max(x, np.float32(-80.0)) * LOG2_E
    whole = np.int32(power - np.float32(0.5))  # rounds to nearest, as power <= 0
    rest = (power - np.float32(whole)) * LN_2
    series = np.float32(1.0) + rest * (C1 + rest * (C2 + rest * (C3 + rest * (C4 + rest * C5))))
    return series * float_of_bits((whole + np.int32(127)) << np.int32(23))


@kernel
def _highest(numbers: np.ndarray, count: int) -> np.float32:
    """The greatest of at least one number; four side by side, as each has to wait for its last."""
    first = second = third = fourth = numbers[0]
    index = 0
    while index + 4 <= count:
        first, second = max(first, numbers[index]), max(second, numbers[index + 1])
        third, fourth = max(third, numbers[index + 2]), max(fourth, numbers[index + 3])
        index += 4
    while index < count:
        first = max(first, numbers[index])
        index += 1
    return max(max(first, second), max(third, fourth))


@sum_kernel
def _sum(numbers: np.ndarray, count: int) -> np.float32:
    total = np.float32(0.0)
    for index in range(count):
        total += numbers[index]
    return total


@kernel
def softmax(logits: np.ndarray, count: int, temperature: float) -> None:
    """Turn logits into probabilities in place; float32 [count]."""
    highest, sharpness = _highest(logits, count), np.float32(1.0 / temperature)
    for index in range(count):
        logits[index] = fast_exp((logits[index] - highest) * sharpness)
    share = np.float32(1.0) / _sum(logits, count)
    for index in range(count):
        logits[index] *= share


@kernel
def order_by_prior(walk: np.record, count: int) -> None:
    """Sort moves by 16-bit prior into walk.order (prior << 16 | move).

    Ties keep the order of generation. Ranks are counted, which vectorises and beats sorting here.
    """
    keys, logits, others = walk.sorting, walk.logits, np.uint32(0)
    for index in range(count):
        prior = np.uint32(quantise_prior(logits[index]))
        keys[index] = (prior << np.uint32(8)) + np.uint32(255 - index)  # no two alike
        others += np.uint32(logits[index] != logits[0])
    if others == 0:
        for index in range(count):
            walk.order[index] = _prior_and_move(keys[index], walk.moves[index])
        return
    for index in range(count):
        rank = _rank(keys, count, keys[index])
        walk.order[rank] = _prior_and_move(keys[index], walk.moves[index])


@kernel
def _prior_and_move(key: np.uint32, move: np.uint16) -> int:
    return (signed(key) >> 8) << 16 | signed(move)


@kernel
def _rank(keys: np.ndarray, count: int, key: np.uint32) -> int:
    """How many of the keys are greater."""
    rank = np.uint32(0)
    for index in range(count):
        rank += np.uint32(keys[index] > key)
    return signed(rank)


@kernel
def expand(tree: np.record, walk: np.record, node: int, count: int, temperature: float) -> bool:
    """Make edges for walk.moves with the softmax of walk.logits; False if the tree is full."""
    softmax(walk.logits, count, temperature)
    order_by_prior(walk, count)
    first = reserve_edges(tree, node, count)
    if first == FULL:
        return False
    for index in range(count):
        packed = signed(walk.order[index])
        clear_edge(tree, first + index, packed & 0xFFFF, packed >> 16)
    record = node_at(tree, node)
    record.first = first
    record.count = count
    record.opened = 0
    link_at(tree, signed(record.parent_edge)).block = first
    atomic_store(node_at(tree, node), "state", EXPANDED)
    return True

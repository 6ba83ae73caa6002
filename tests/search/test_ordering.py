"""Priors, their order and the edges made of them, against NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.search.mcts.playout.expand import LOWEST, fill_edges, hold_moves, order_moves
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.nodes import COLD, EDGE, TreeMemory

COUNTS = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 30, 31, 64, 218, 256]


@kernel
def _order(context: np.record, count: int, sharpness: float) -> None:
    order_moves(context, count, sharpness)


@kernel
def _fill(tree: np.record, first: int, context: np.record, count: int) -> None:
    fill_edges(signed(tree.edges), signed(tree.cold), first, context, count)


@kernel
def _hold(tree: np.record, first: int, context: np.record, count: int) -> None:
    hold_moves(signed(tree.edges), first, context, count)


def _context(seed: int, count: int, logits: np.ndarray) -> np.record:
    """Moves and logits, and behind them what an earlier node has left."""
    context: np.record = ContextMemory(0).record
    generator = np.random.default_rng(seed)
    context.moves[:] = generator.permutation(256)
    context.logits[:] = 1e9
    context.logits[:count] = logits
    context.order[:] = 77
    return context


def _ordered(seed: int, count: int, logits: np.ndarray, sharpness: float) -> np.ndarray:
    context = _context(seed, count, logits)
    _order(context, count, sharpness)
    order: np.ndarray = context.order[:count].copy()
    return order


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 200.0])
def test_priors_are_the_softmax_and_stand_in_order(count: int, spread: float) -> None:
    logits = (spread * np.random.default_rng(count).normal(size=count)).astype(np.float32)
    order = _ordered(1, count, logits, 0.7)
    moves = _context(1, count, logits).moves[:count].tolist()
    assert sorted(order & 0xFFFF) == sorted(moves)
    assert np.all(np.diff((order >> 16).astype(int)) <= 0)
    shares = np.exp(0.7 * (logits.astype(float) - logits.max()))
    shares /= shares.sum()
    expected = dict(zip(moves, shares, strict=True))
    for entry in order.tolist():
        wanted = max(65536 * expected[entry & 0xFFFF] - 1, 0)
        assert abs((entry >> 16) - wanted) <= 0.6


@pytest.mark.parametrize("count", COUNTS)
def test_equal_priors_keep_the_order_of_generation(count: int) -> None:
    few = np.random.default_rng(count).integers(0, 3, count).astype(np.float32)
    for logits in (few, np.full(count, -3.5, np.float32)):
        context = _context(2, count, logits)
        moves = context.moves[:count].tolist()
        _order(context, count, 1.0)
        order = context.order[:count].tolist()
        for first, second in pairwise(order):
            if first >> 16 == second >> 16:
                assert moves.index(first & 0xFFFF) < moves.index(second & 0xFFFF)


@pytest.mark.parametrize("count", COUNTS)
def test_numpy_finds_the_same_priors(count: int) -> None:
    """To one unit: exponentials have six digits."""
    logits = np.random.default_rng(count).normal(size=count).astype(np.float32)
    shares = np.exp(np.maximum(logits - logits.max(), LOWEST)).astype(np.float32)
    priors = np.maximum(shares / shares.sum(dtype=np.float32) * 65536, 1) - 0.5
    expected = np.sort(priors.astype(int))[::-1]
    found = _ordered(3, count, logits, 1.0).astype(int) >> 16
    assert np.abs(found - expected).max() <= 1


def test_a_far_lower_logit_has_the_least_prior() -> None:
    logits = np.array([-np.inf, 3.0, -500.0], np.float32)
    order = _ordered(4, 3, logits, 1.0)
    assert (order >> 16).tolist() == [65535, 0, 0]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("first", [1, 2, 5])
def test_edges_are_made_and_no_others_touched(first: int, count: int) -> None:
    context = _context(5, count, np.zeros(count, np.float32))
    context.order[:] = np.random.default_rng(5).integers(0, 2**32, 256, np.uint32)
    memory, expected = TreeMemory(1), TreeMemory(1)
    for one in (memory, expected):
        one.edges.view(np.uint8)[:] = one.cold.view(np.uint8)[:] = 0xAB
    block, order = slice(first, first + count), context.order[:count]
    expected.edges[block], expected.cold[block] = np.zeros((), EDGE), np.zeros((), COLD)
    expected.edges["prior"][block] = order >> 16
    expected.cold["move"][block] = order & 0xFFFF
    _fill(memory.record, first, context, count)
    assert memory.edges.tobytes() == expected.edges.tobytes()
    assert memory.cold.tobytes() == expected.cold.tobytes()


@pytest.mark.parametrize("count", [count for count in COUNTS if count > 3])
def test_held_moves_end_the_block(count: int) -> None:
    context = _context(6, count, np.zeros(count, np.float32))
    context.order[:] = np.arange(256)
    memory = TreeMemory(1)
    memory.edges.view(np.uint8)[:] = 0
    _hold(memory.record, 2, context, count)
    words = memory.edges.view(np.uint32).reshape(-1)
    end = (2 + count) * EDGE.itemsize // 4
    assert np.array_equal(words[end - count : end], context.order[:count])
    assert not words[: end - count].any()
    assert not words[end:].any()

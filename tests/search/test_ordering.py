"""Priors, their order and the edges made of them, against NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.search.mcts.playout.ordering import (
    fill_edges,
    order_moves,
    plain_fill_edges,
    plain_order_moves,
)
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.nodes import TreeMemory

COUNTS = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 30, 31, 64, 218, 256]


@kernel
def _order(context: np.record, count: int, sharpness: float) -> None:
    order_moves(context, count, sharpness)


@kernel
def _fill(tree: np.record, first: int, context: np.record, count: int) -> None:
    fill_edges(signed(tree.edges), signed(tree.cold), first, context, count)


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
def test_the_plain_form_is_the_same(count: int) -> None:
    """To one unit of a prior: exponentials have six digits."""
    logits = np.random.default_rng(count).normal(size=count).astype(np.float32)
    context = _context(3, count, logits)
    plain_order_moves(context, count, 1.0)
    plain = context.order[:count].astype(int)
    compiled = _ordered(3, count, logits, 1.0).astype(int)
    assert np.abs((plain >> 16) - (compiled >> 16)).max() <= 1


def test_a_far_lower_logit_has_the_least_prior() -> None:
    logits = np.array([-np.inf, 3.0, -500.0], np.float32)
    order = _ordered(4, 3, logits, 1.0)
    assert (order >> 16).tolist() == [65535, 0, 0]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("first", [1, 2, 5])
def test_edges_are_made_and_no_others_touched(
    monkeypatch: pytest.MonkeyPatch, first: int, count: int
) -> None:
    context = _context(5, count, np.zeros(count, np.float32))
    context.order[:] = np.random.default_rng(5).integers(0, 2**32, 256, np.uint32)
    compiled, plain = TreeMemory(1), TreeMemory(1)
    for memory in (compiled, plain):
        memory.edges.view(np.uint8)[:] = memory.cold.view(np.uint8)[:] = 0xAB
    _fill(compiled.record, first, context, count)
    arrays = {1: plain.edges, 2: plain.cold}
    monkeypatch.setattr("kibitz.search.mcts.playout.ordering.plain_array", arrays.__getitem__)
    plain_fill_edges(1, 2, first, context, count)
    assert compiled.edges.tobytes() == plain.edges.tobytes()
    assert compiled.cold.tobytes() == plain.cold.tobytes()
    made = compiled.edges[first : first + count]
    assert np.array_equal(made["prior"], context.order[:count] >> 16)
    assert not made["visits"].any()

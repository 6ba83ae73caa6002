"""Thread-local sums of the visits of busy moves, flushed to the tree now and then.

Threads that change the same place after every playout wait for each other, and so do those that
only want to read it. So a thread sums up its visits of such a move and flushes the sums after some
of them. The root's are accumulated from the start, a move's once it has
`Behaviour.accumulate_from` visits.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.atomics import atomic_add, swap_words
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.search.mcts.playout.average import step_size
from kibitz.search.mcts.playout.context import SUMS
from kibitz.search.mcts.tree.nodes import cold_at, edge_at, edge_words_at, node_at

LAG = 64  # a thread keeps no more than this part of a move's visits to itself,
TOGETHER = 32  # and no more visits than these


@kernel
def is_accumulated(tree: np.record, behaviour: np.record, edge: int) -> bool:
    """Whether the visits of a move are accumulated: it has many of them."""
    return bool(edge_at(tree, edge).visits >= behaviour.accumulate_from)


@kernel
def accumulate(
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    edge: int,
    value: float,
    draw: float,
    samples: int,
) -> None:
    """Add a visit to the sums of a move, with 1 sample of its means or none."""
    place = 0 if edge == 0 else 1 + edge % (SUMS - 1)
    if context.sum_edges[place] != edge:
        _flush(tree, context, behaviour, place)
        context.sum_edges[place] = edge
    context.sum_visits[place] += 1
    context.sum_samples[place] += samples
    context.sum_values[place] += samples * value
    context.sum_draws[place] += samples * draw
    context.sum_squares[place] += samples * value * value
    visits = signed(context.sum_visits[place])
    if visits * LAG > signed(edge_at(tree, edge).visits) or visits == TOGETHER:
        _flush(tree, context, behaviour, place)


@kernel
def _flush(tree: np.record, context: np.record, behaviour: np.record, place: int) -> None:
    """Add the accumulated visits of one move to the tree."""
    visits, samples = signed(context.sum_visits[place]), signed(context.sum_samples[place])
    if visits == 0:
        return
    edge = signed(context.sum_edges[place])
    node = signed(cold_at(tree, edge).child)
    record, words = node_at(tree, node), edge_words_at(tree, edge)
    if visits > samples:
        atomic_add(node_at(tree, node), "excluded", visits - samples)
    counted = max(samples, 1)
    mean, share = context.sum_values[place] / counted, 0.0
    while True:
        before, counts = words.value, words.counts
        weight = signed(counts & np.uint64(0xFFFF_FFFF)) + visits - signed(record.excluded)
        share = min(1.0, samples / step_size(behaviour, weight))
        after = before + (mean - before) * share
        if swap_words(words, before, counts, after, counts + np.uint64(visits)):
            break
    record.draw += (context.sum_draws[place] / counted - record.draw) * share
    record.square += (context.sum_squares[place] / counted - record.square) * share
    context.sum_visits[place], context.sum_samples[place] = 0, 0
    context.sum_values[place] = 0.0
    context.sum_draws[place], context.sum_squares[place] = 0.0, 0.0


@kernel
def flush_all(tree: np.record, context: np.record, behaviour: np.record) -> None:
    """Add everything, before the tree is read or compacted."""
    for place in range(SUMS):
        _flush(tree, context, behaviour, place)

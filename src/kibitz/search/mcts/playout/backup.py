"""Back up, the fourth step of a playout: carry a value from the leaf back to the root.

Threads that change the same place after every playout wait for each other, and so do those that
only want to read it. So a thread sums up its visits of a busy move in its context and flushes the
sums to the tree after some of them. The root's are accumulated from the start, a move's once it has
`Behaviour.accumulate_from` visits.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.atomics import atomic_add, swap_words
from kibitz.jit.bits import signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.search.mcts.tree.context import SUMS
from kibitz.search.mcts.tree.nodes import ARRIVAL, cold_at, edge_at, edge_words_at, node_at
from kibitz.search.proof import UNPROVED, bounded, is_settled

LAG = 64  # a thread keeps no more than this part of a move's visits to itself,
TOGETHER = 32  # and no more visits than these


@kernel
def step_size(behaviour: np.record, weight: int) -> float:
    """1 / step of the moving average at its `weight`-th sample; a plain mean if build is 1."""
    return min(max(behaviour.build * weight, 1.0), behaviour.cap)


@kernel
def _arrive(
    tree: np.record, behaviour: np.record, edge: int, node: int, value: float, samples: int
) -> float:
    """Add a visit to an edge, a sample of its mean or not: 1 / step of the mean, 0 if not.

    With others in the tree, value and counts change in one operation, the only one they wait for.
    """
    record, words = node_at(tree, node), edge_words_at(tree, edge)
    if samples == 0:
        if behaviour.shared:
            atomic_add(node_at(tree, node), "excluded", 1)
            atomic_add(edge_words_at(tree, edge), "counts", ARRIVAL)
        else:
            record.excluded += 1
            edge_at(tree, edge).visits += 1
        return 0.0
    while True:
        before, counts = words.value, words.counts
        visits = signed(counts & np.uint64(0xFFFF_FFFF))
        divisor = step_size(behaviour, visits + 1 - signed(record.excluded))
        after = before + (value - before) / divisor
        if not behaviour.shared:
            words.value = after
            edge_at(tree, edge).visits = visits + 1
            return divisor
        if swap_words(words, before, counts, after, counts + ARRIVAL):
            return divisor


@kernel
def _blend(tree: np.record, edge: int, value: float, draw: float, divisor: float) -> None:
    """Blend a sample into the statistics of the node that an edge leads to."""
    record = node_at(tree, signed(cold_at(tree, edge).child))
    record.draw += (draw - record.draw) / divisor
    record.square += (value * value - record.square) / divisor


@called_kernel
def back_up(
    tree: np.record, context: np.record, behaviour: np.record, depth: int, value: float, draw: float
) -> None:
    """Add a visit to every edge of the path; `value` is for the player who made the last move.

    Values are sampled while the choices on the way may be believed (context.trust). A proved edge
    samples what is proved instead, and a bound limits what is sampled.
    """
    samples = 1
    for ply in range(depth, -1, -1):
        edge = context.path[ply]
        node = signed(cold_at(tree, edge).child)
        proof = signed(cold_at(tree, edge).proof)
        if proof != UNPROVED:
            value = bounded(proof, value)
            if is_settled(proof):
                draw = 1.0 if value == 0.0 else 0.0
        context.values[ply], context.draws[ply], context.divisors[ply] = value, draw, 0.0
        if context.accumulating[ply]:
            accumulate(tree, context, behaviour, edge, value, draw, samples)
        else:
            context.divisors[ply] = _arrive(tree, behaviour, edge, node, value, samples)
        samples = min(samples, signed(context.trust[ply]))
        value = -value
    # Other threads compete for these lines of memory, too; at least no atomic operation waits.
    for ply in range(depth, -1, -1):
        if context.divisors[ply] > 0.0:
            edge, divisor = context.path[ply], context.divisors[ply]
            _blend(tree, edge, context.values[ply], context.draws[ply], divisor)


@kernel
def cancel_pending(tree: np.record, context: np.record, depth: int) -> None:
    """Take back the pending visits along the path."""
    for ply in range(depth + 1):
        if not context.accumulating[ply]:
            atomic_add(edge_at(tree, context.path[ply]), "pending", -1)


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

"""Fourth verb: carry a value from the leaf back to the root."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.atomics import atomic_add, swap_words
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.search.mcts.playout.accumulator import accumulate
from kibitz.search.mcts.playout.average import step_size
from kibitz.search.mcts.tree.nodes import ARRIVAL, cold_at, edge_at, edge_words_at, node_at
from kibitz.search.proof import UNPROVED, bounded, is_settled


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


@kernel
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
    # Others wait for these lines of memory, too, but nobody waits for them here.
    for ply in range(depth, -1, -1):
        if context.divisors[ply] > 0.0:
            edge, divisor = context.path[ply], context.divisors[ply]
            _blend(tree, edge, context.values[ply], context.draws[ply], divisor)


@kernel
def cancel_pending(tree: np.record, context: np.record, depth: int) -> None:
    """Take back the visits that were on their way along the path."""
    for ply in range(depth + 1):
        if not context.accumulating[ply]:
            atomic_add(edge_at(tree, context.path[ply]), "pending", -1)

"""Fourth verb: carry a value from the leaf back to the root."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.atomics import atomic_add, swap_words
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.search.mcts.playout.accumulator import note
from kibitz.search.mcts.playout.average import step_size
from kibitz.search.mcts.tree.nodes import ARRIVAL, edge_at, edge_words_at, link_at, node_at
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
            atomic_add(node_at(tree, node), "doubted", 1)
            atomic_add(edge_words_at(tree, edge), "counts", ARRIVAL)
        else:
            record.doubted += 1
            edge_at(tree, edge).visits += 1
        return 0.0
    while True:
        before, counts = words.value, words.counts
        visits = signed(counts & np.uint64(0xFFFF_FFFF))
        divisor = step_size(behaviour, visits + 1 - signed(record.doubted))
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
    record = node_at(tree, signed(link_at(tree, edge).child))
    record.draw += (draw - record.draw) / divisor
    record.square += (value * value - record.square) / divisor


@kernel
def back_up(
    tree: np.record, walk: np.record, behaviour: np.record, depth: int, value: float, draw: float
) -> None:
    """Add a visit to every edge of the path; `value` is for the player who made the last move.

    Values are sampled while the choices on the way may be believed (walk.trust). A proved edge
    samples what is proved instead, and a bound limits what is sampled.
    """
    samples = 1
    for ply in range(depth, -1, -1):
        edge = walk.path[ply]
        node = signed(link_at(tree, edge).child)
        proof = signed(link_at(tree, edge).proof)
        if proof != UNPROVED:
            value = bounded(proof, value)
            if is_settled(proof):
                draw = 1.0 if value == 0.0 else 0.0
        walk.values[ply], walk.draws[ply], walk.divisors[ply] = value, draw, 0.0
        if walk.noting[ply]:
            note(tree, walk, behaviour, edge, value, draw, samples)
        else:
            walk.divisors[ply] = _arrive(tree, behaviour, edge, node, value, samples)
        samples = min(samples, signed(walk.trust[ply]))
        value = -value
    # Others wait for these lines of memory, too, but nobody waits for them here.
    for ply in range(depth, -1, -1):
        if walk.divisors[ply] > 0.0:
            edge, divisor = walk.path[ply], walk.divisors[ply]
            _blend(tree, edge, walk.values[ply], walk.draws[ply], divisor)


@kernel
def undo_pending(tree: np.record, walk: np.record, depth: int) -> None:
    """Take back the visits that were on their way along the path."""
    for ply in range(depth + 1):
        if not walk.noting[ply]:
            atomic_add(edge_at(tree, walk.path[ply]), "pending", -1)

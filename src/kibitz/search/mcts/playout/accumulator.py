"""What a thread notes about moves that all threads come by; backup -> **notes** -> tree.

Threads that change the same place after every playout wait for each other, and so do those that
only want to read it. A thread sums up what it brings home to such a move, and hands it in after
some visits. The root is noted from the start, a move when it has `Behaviour.noted_from` visits.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.atomics import atomic_add, swap_words
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.search.mcts.playout.average import step_size
from kibitz.search.mcts.playout.context import NOTES
from kibitz.search.mcts.tree.nodes import edge_at, edge_words_at, link_at, node_at

LAG = 64  # a thread keeps no more than this part of a move's visits to itself,
TOGETHER = 32  # and no more visits than these


@kernel
def is_noted(tree: np.record, behaviour: np.record, edge: int) -> bool:
    """Whether visits of a move are noted: it has many of them."""
    return bool(edge_at(tree, edge).visits >= behaviour.noted_from)


@kernel
def note(
    tree: np.record,
    walk: np.record,
    behaviour: np.record,
    edge: int,
    value: float,
    draw: float,
    samples: int,
) -> None:
    """Add a visit to a move sooner or later, with 1 sample of its means or none."""
    place = 0 if edge == 0 else 1 + edge % (NOTES - 1)
    if walk.noted[place] != edge:
        _hand_in(tree, walk, behaviour, place)
        walk.noted[place] = edge
    walk.noted_visits[place] += 1
    walk.noted_samples[place] += samples
    walk.noted_values[place] += samples * value
    walk.noted_draws[place] += samples * draw
    walk.noted_squares[place] += samples * value * value
    visits = signed(walk.noted_visits[place])
    if visits * LAG > signed(edge_at(tree, edge).visits) or visits == TOGETHER:
        _hand_in(tree, walk, behaviour, place)


@kernel
def _hand_in(tree: np.record, walk: np.record, behaviour: np.record, place: int) -> None:
    """Add the visits that have been noted of one move."""
    visits, samples = signed(walk.noted_visits[place]), signed(walk.noted_samples[place])
    if visits == 0:
        return
    edge = signed(walk.noted[place])
    node = signed(link_at(tree, edge).child)
    record, words = node_at(tree, node), edge_words_at(tree, edge)
    if visits > samples:
        atomic_add(node_at(tree, node), "doubted", visits - samples)
    counted = max(samples, 1)
    mean, share = walk.noted_values[place] / counted, 0.0
    while True:
        before, counts = words.value, words.counts
        weight = signed(counts & np.uint64(0xFFFF_FFFF)) + visits - signed(record.doubted)
        share = min(1.0, samples / step_size(behaviour, weight))
        after = before + (mean - before) * share
        if swap_words(words, before, counts, after, counts + np.uint64(visits)):
            break
    record.draw += (walk.noted_draws[place] / counted - record.draw) * share
    record.square += (walk.noted_squares[place] / counted - record.square) * share
    walk.noted_visits[place], walk.noted_samples[place] = 0, 0
    walk.noted_values[place] = 0.0
    walk.noted_draws[place], walk.noted_squares[place] = 0.0, 0.0


@kernel
def hand_in_all(tree: np.record, walk: np.record, behaviour: np.record) -> None:
    """Add everything, before anybody looks at the tree or moves things in it."""
    for place in range(NOTES):
        _hand_in(tree, walk, behaviour, place)

"""The two questions of Batch-First, how good a position is and how good its moves are, in batches.

A batch of either goes to the evaluator on a thread of its own, while the node list is worked on.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from kibitz.encoding.leaves import Leaves, new_leaves, part_of
from kibitz.evaluator.batched import (
    BatchedEvaluator,
    Evaluations,
    Pair,
    refuse_not_finite,
)
from kibitz.evaluator.cache import CachedEvaluator
from kibitz.position.moves import MAX_MOVES

VALUES_SALT = 0x5851_F42D_4C95_7F2D  # keeps a pair's answers apart in one cache


class Roles(NamedTuple):
    """Who answers: one network, or one of a pair each."""

    values: BatchedEvaluator
    moves: BatchedEvaluator


def roles_of(evaluator: BatchedEvaluator) -> Roles:
    """Who values positions and who scores moves; the halves of a pair share the pair's cache."""
    if isinstance(evaluator, Pair):
        return Roles(evaluator.value, evaluator.policy)
    if isinstance(evaluator, CachedEvaluator) and isinstance(evaluator.evaluator, Pair):
        pair, cache, merged = evaluator.evaluator, evaluator.cache, evaluator.merged
        return Roles(
            CachedEvaluator(pair.value, cache, merged=merged, salt=VALUES_SALT),
            CachedEvaluator(pair.policy, cache, merged=merged),
        )
    return Roles(evaluator, evaluator)


class Question:
    """A batch of positions that one evaluator is asked about."""

    def __init__(self, evaluator: BatchedEvaluator, rows: int) -> None:
        self.evaluator, self.rows = evaluator, rows
        self.leaves = new_leaves(rows, evaluator.sees.history)
        self.wdl = np.zeros((rows, 3), np.float32)
        self.logits = np.zeros(rows * MAX_MOVES, np.float32)
        self.batches = self.evaluated = 0  # since the search began
        self._asked = 0
        self._answer: Future[None] | None = None

    def ask(self, count: int, pool: ThreadPoolExecutor | None) -> None:
        """Ask about the first rows; without a pool the answer is there at once."""
        self._asked = count
        if count == 0:
            return
        self.batches, self.evaluated = self.batches + 1, self.evaluated + count
        part = part_of(self.leaves, 0, count)
        if pool is None:
            self.evaluator.evaluate(part, self._filled(part))
        else:
            self._answer = pool.submit(self.evaluator.evaluate, part, self._filled(part))

    def receive(self) -> None:
        """Wait for the answer."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.result()
        if self._asked:
            moves = int(self.leaves.offsets[self._asked])
            arrays = self.wdl[: self._asked], self.logits[:moves]
            refuse_not_finite(self.evaluator.name, *arrays)

    def _filled(self, leaves: Leaves) -> Evaluations:
        return Evaluations(self.wdl[: len(leaves.known)], self.logits[: len(leaves.moves)])

"""The contract of inline evaluators: two kernels per evaluator, chosen by its class.

To kernels an evaluator is a record made from a NamedTuple of numbers and addresses, and so is the
scratch, the working memory of one thread. To add an evaluator, write the NamedTuple, its two
kernels and one line in each table below; numba picks the kernels when the search is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kibitz.core.errors import InputError
from kibitz.jit.compile import kernel
from kibitz.jit.records import as_record, kernel_by_class
from kibitz.nets.evaluators import simple, sparse

VALUES: dict[str, Callable[..., Any]] = {
    "Uniform": simple.uniform_value,
    "Material": simple.material_value,
    "Sparse": sparse.sparse_value,
}
LOGITS: dict[str, Callable[..., Any]] = {
    "Uniform": simple.equal_logits,
    "Material": simple.equal_logits,
    "Sparse": sparse.sparse_logits,
}
# (evaluator, scratch, position) -> value for the side to move in [-1, 1], probability of a draw
value_of = kernel_by_class(VALUES)
# (evaluator, scratch, position, moves, count, logits) writes a logit, an unnormalised logarithm of
# a probability, per legal move; moves uint16 [count or more], logits float32 [count]
logits_of = kernel_by_class(LOGITS)


class NoScratch(NamedTuple):
    """The working memory of evaluators that need none."""


@dataclass(frozen=True)
class Scratch:
    """Working memory of one thread: the record for kernels, and the arrays it leads to."""

    record: Any
    arrays: tuple[np.ndarray, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class InlineEvaluator:
    """An evaluator for kernels: its record, what keeps it alive, and how to make a scratch.

    Kernels get `evaluator.record` and, one per thread, `evaluator.new_scratch().record`; both
    objects must outlive the kernel's run.
    """

    name: str
    record: Any
    arrays: tuple[np.ndarray, ...] = field(default=(), repr=False)
    new_scratch: Callable[[], Scratch] = field(
        default=lambda: Scratch(as_record(NoScratch())), repr=False
    )


def inline_evaluator(numbers: simple.Uniform | simple.Material) -> InlineEvaluator:
    """An evaluator that is nothing but numbers."""
    if not all(math.isfinite(number) for number in numbers):
        raise InputError("not finite numbers", value=numbers)
    return InlineEvaluator(type(numbers).__name__.lower(), as_record(numbers))


@kernel
def evaluate_all(
    evaluator: np.record,
    scratch: np.record,
    positions: np.ndarray,
    moves: np.ndarray,
    offsets: np.ndarray,
    wdl: np.ndarray,
    logits: np.ndarray,
) -> None:
    """Evaluate POSITION [B, H], column 0; the other arrays are as in Leaves."""
    for row in range(positions.shape[0]):
        position = positions[row, 0]
        value, draw = value_of(evaluator, scratch, position)
        wdl[row, 0] = np.float32(0.5 * (1.0 - draw + value))
        wdl[row, 1] = np.float32(draw)
        wdl[row, 2] = np.float32(0.5 * (1.0 - draw - value))
        start, end = offsets[row], offsets[row + 1]
        logits_of(evaluator, scratch, position, moves[start:end], end - start, logits[start:end])

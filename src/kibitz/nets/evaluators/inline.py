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
from kibitz.jit.bits import popcount
from kibitz.jit.compile import kernel
from kibitz.jit.records import as_record, kernel_by_class
from kibitz.nets.evaluators import sparse

# --- evaluators without a network -----------------------------------------------------------------
#
# Evaluators that need no network: one that knows nothing, and one that counts material.


# Centipawns of a knight, a bishop, a rook and a queen more than the opponent; a pawn is 100.
KNIGHT_VALUE, BISHOP_VALUE, ROOK_VALUE, QUEEN_VALUE = 310, 330, 500, 950


class Uniform(NamedTuple):
    """Every position is even and every move as good as another: generation 0 of learning."""

    value: float = 0.0  # for the side to move, in [-1, 1]
    draw: float = 0.0  # probability of a draw


class Material(NamedTuple):
    """Material alone, squashed into [-1, 1]; every move as good as another."""

    scale: float = 400.0  # centipawns that are worth tanh(1) = 0.76


@kernel
def uniform_value(
    evaluator: np.record, _scratch: np.record, _position: np.record
) -> tuple[float, float]:
    """Value for the side to move and probability of a draw."""
    return evaluator.value, evaluator.draw


@kernel
def balance(position: np.record) -> int:
    """Material of the side to move less that of the other side, in centipawns."""
    own, their = position.own, position.their
    total = 100 * (popcount(position.pawns & own) - popcount(position.pawns & their))
    total += KNIGHT_VALUE * (popcount(position.knights & own) - popcount(position.knights & their))
    total += BISHOP_VALUE * (popcount(position.bishops & own) - popcount(position.bishops & their))
    total += ROOK_VALUE * (popcount(position.rooks & own) - popcount(position.rooks & their))
    return total + QUEEN_VALUE * (
        popcount(position.queens & own) - popcount(position.queens & their)
    )


@kernel
def material_value(
    evaluator: np.record, _scratch: np.record, position: np.record
) -> tuple[float, float]:
    """Value for the side to move and probability of a draw."""
    return math.tanh(balance(position) / evaluator.scale), 0.0


@kernel
def equal_logits(
    _evaluator: np.record,
    _scratch: np.record,
    _position: np.record,
    _moves: np.ndarray,
    count: int,
    logits: np.ndarray,
) -> None:
    """Equal logits for all legal moves; float32 [count]."""
    for index in range(count):
        logits[index] = np.float32(0.0)


# --- the contract ---------------------------------------------------------------------------------


VALUES: dict[str, Callable[..., Any]] = {
    "Uniform": uniform_value,
    "Material": material_value,
    "Sparse": sparse.sparse_value,
}
LOGITS: dict[str, Callable[..., Any]] = {
    "Uniform": equal_logits,
    "Material": equal_logits,
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


def inline_evaluator(numbers: Uniform | Material) -> InlineEvaluator:
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

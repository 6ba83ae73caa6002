"""Evaluators that need no network: one that knows nothing, and one that counts material."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import popcount
from kibitz.jit.compile import kernel

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

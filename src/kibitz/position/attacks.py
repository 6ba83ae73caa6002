"""Attacks of every piece, and the squares between two squares.

Sliding pieces look their attacks up in a table indexed by the blockers on their lines, packed with
PEXT (841 KiB); processors without BMI2 compute them from the blockers by subtraction ("hyperbola
quintessence"), which costs perft about a tenth.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import HAS_PEXT, kernel, static_table
from kibitz.position.bits import bit, extract, flip, mirror, signed
from kibitz.position.squares import FILE_A, RANK_1
from kibitz.position.tables import (
    BETWEEN_AT,
    BISHOP_MASK_AT,
    BISHOP_OFFSET_AT,
    FALLING_AT,
    KING_AT,
    KNIGHT_AT,
    RISING_AT,
    ROOK_MASK_AT,
    ROOK_OFFSET_AT,
    attack_table,
)

table = static_table("attacks", attack_table(with_sliders=HAS_PEXT))


@kernel
def _line_attacks(square: int, occupied: np.uint64, line: np.uint64) -> np.uint64:
    """Attacks along one line not parallel to the ranks: o ^ (o - 2r), from both ends."""
    own = bit(square)
    blockers = occupied & line
    forward = np.uint64(blockers - own)
    backward = flip(np.uint64(flip(blockers) - flip(own)))
    return (forward ^ backward) & line


@kernel
def _rank_attacks(square: int, occupied: np.uint64) -> np.uint64:
    own = bit(square)
    line = (RANK_1 << np.uint64(square & 56)) & ~own
    blockers = occupied & line
    forward = np.uint64(blockers - own)
    backward = mirror(flip(np.uint64(mirror(flip(blockers)) - mirror(flip(own)))))
    return (forward ^ backward) & line


@kernel
def rook_by_subtraction(square: int, occupied: np.uint64) -> np.uint64:
    """Rook attacks without the big table."""
    column = (FILE_A << np.uint64(square & 7)) & ~bit(square)
    return _line_attacks(square, occupied, column) | _rank_attacks(square, occupied)


@kernel
def bishop_by_subtraction(square: int, occupied: np.uint64) -> np.uint64:
    """Bishop attacks without the big table."""
    rising = _line_attacks(square, occupied, table(RISING_AT + square))
    return rising | _line_attacks(square, occupied, table(FALLING_AT + square))


@kernel
def rook_attacks(square: int, occupied: np.uint64) -> np.uint64:
    """Squares a rook on `square` attacks."""
    if HAS_PEXT:
        place = extract(occupied, table(ROOK_MASK_AT + square)) + table(ROOK_OFFSET_AT + square)
        return table(signed(place))
    return rook_by_subtraction(square, occupied)


@kernel
def bishop_attacks(square: int, occupied: np.uint64) -> np.uint64:
    """Squares a bishop on `square` attacks."""
    if HAS_PEXT:
        place = extract(occupied, table(BISHOP_MASK_AT + square)) + table(BISHOP_OFFSET_AT + square)
        return table(signed(place))
    return bishop_by_subtraction(square, occupied)


@kernel
def knight_attacks(square: int) -> np.uint64:
    """Squares a knight on `square` attacks."""
    return table(KNIGHT_AT + square)


@kernel
def king_attacks(square: int) -> np.uint64:
    """Squares a king on `square` attacks."""
    return table(KING_AT + square)


@kernel
def between(first: int, second: int) -> np.uint64:
    """Squares strictly between two squares of one line; empty if they share none."""
    return table(BETWEEN_AT + 64 * first + second)

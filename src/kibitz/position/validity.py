"""Whether a position from outside is playable, and its key and legal en passant square.

Impossible but playable positions (three checkers, nine queens) pass: kernels can handle them.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import bit, lowest, popcount, signed
from kibitz.kernel.compile import kernel
from kibitz.position.play import legal_en_passant
from kibitz.position.squares import NO_SQUARE, RANK_1, RANK_8
from kibitz.position.state import compute_key, gives_away_king

VALID = 0
WRONG_KINGS = 1  # not exactly one of each side
TOO_MANY_PIECES = 2  # more than sixteen of one side
TOO_MANY_PAWNS = 3  # more than eight of one side
PAWN_ON_EDGE = 4  # a pawn on the first or last rank
KING_CAPTURABLE = 5  # the side that is not to move is in check
WRONG_CASTLING = 6  # a right without its king and rook on the first rank
WRONG_EN_PASSANT = 7  # no pawn has just passed the square

MOST_PIECES, MOST_PAWNS = 16, 8
FIRST_TARGET, LAST_TARGET = 40, 47  # en passant squares: rank 6 in the view of the side to move


@kernel
def _wrong_castling(kings: np.uint64, rooks: np.uint64, rights: np.uint64) -> bool:
    """One side's rights: all on rooks, beside a king on their rank, at most one on each hand."""
    if not rights:
        return False
    if rights & ~rooks:
        return True
    king = lowest(kings)
    if king >> 3 != lowest(rights) >> 3:
        return True
    below = popcount(rights & (bit(king) - np.uint64(1)))
    return below > 1 or popcount(rights) - below > 1


@kernel
def _wrong_en_passant(position: np.record, square: int) -> bool:
    if square == NO_SQUARE:
        return False
    if square < FIRST_TARGET or square > LAST_TARGET:
        return True
    passed = bit(square - 8)
    empty = bit(square) | bit(square + 8)
    if not passed & position.pawns & position.their:
        return True
    return (position.own | position.their) & empty != np.uint64(0)


@kernel
def problem(position: np.record) -> int:
    """VALID or the first thing that is wrong."""
    own, their = position.own, position.their
    if popcount(position.kings & own) != 1 or popcount(position.kings & their) != 1:
        return WRONG_KINGS
    if popcount(own) > MOST_PIECES or popcount(their) > MOST_PIECES:
        return TOO_MANY_PIECES
    pawns = position.pawns
    if popcount(pawns & own) > MOST_PAWNS or popcount(pawns & their) > MOST_PAWNS:
        return TOO_MANY_PAWNS
    if pawns & (RANK_1 | RANK_8):
        return PAWN_ON_EDGE
    kings, rooks, rights = position.kings, position.rooks, position.castling
    if (
        rights & ~(RANK_1 | RANK_8)
        or _wrong_castling(kings & own, rooks & own, rights & RANK_1)
        or _wrong_castling(kings & their, rooks & their, rights & RANK_8)
    ):
        return WRONG_CASTLING
    if _wrong_en_passant(position, signed(position.en_passant)):
        return WRONG_EN_PASSANT
    return KING_CAPTURABLE if gives_away_king(position) else VALID


@kernel
def complete(positions: np.ndarray, index: int) -> int:
    """Check positions[index]; if valid, keep en passant only where it is legal and set the key."""
    position = positions[index]
    wrong = problem(position)
    if wrong == VALID:
        square = signed(position.en_passant)
        if square != NO_SQUARE:
            position.en_passant = legal_en_passant(position, square)
        position.key = compute_key(position)
    return wrong

"""Whether there is a legal move at all, without making a list of them; for ends of games.

Leaves of a search have to be told from mates and stalemates millions of times over, and nearly all
of them show a move at the first glance.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel
from kibitz.position.attacks import bishop_attacks, king_attacks, rook_attacks
from kibitz.position.bits import (
    EIGHT,
    bit,
    knight_spread,
    lowest,
    pawn_attacks_up,
    without_lowest,
)
from kibitz.position.moves import attacked_by_them, castling_is_legal, check_mask, pins
from kibitz.position.squares import ALL, NO_SQUARE, RANK_1, RANK_3


@kernel
def has_legal_move(position: np.record) -> bool:
    """Whether there is any legal move: what is likely and quickly seen is looked at first."""
    own, their = position.own, position.their
    occupied = own | their
    king = lowest(position.kings & own)
    danger = attacked_by_them(position, occupied ^ bit(king))
    if king_attacks(king) & ~own & ~danger or position.en_passant != NO_SQUARE:
        return True
    allowed = ALL
    if danger & bit(king):
        allowed = check_mask(position, king, occupied)
        if not allowed:
            return False
    lines = pins(position, king)
    straight, diagonal = lines
    free = own & ~(straight | diagonal)
    if knight_spread(position.knights & free) & allowed & ~own:
        return True
    # A pin along a line leaves its pawns the moves along it, and only those end on it again.
    pawns = position.pawns & own & ~diagonal
    single = (((pawns & free) << EIGHT) | ((pawns & straight) << EIGHT) & straight) & ~occupied
    if (single | ((single & RANK_3) << EIGHT) & ~occupied) & allowed:
        return True
    pawns = position.pawns & own & ~straight
    pinned = pawn_attacks_up(pawns & diagonal) & diagonal
    if (pawn_attacks_up(pawns & free) | pinned) & their & allowed:
        return True
    return _slider_has_move(position, allowed & ~own, lines) or (
        allowed == ALL and _may_castle(position, king, danger, straight)
    )


@kernel
def _slider_has_move(
    position: np.record, allowed: np.uint64, lines: tuple[np.uint64, np.uint64]
) -> bool:
    """Whether a bishop, rook or queen may go to a square in `allowed`."""
    straight, diagonal = lines
    occupied = position.own | position.their
    sliders = (position.rooks | position.queens) & position.own & ~diagonal
    while sliders:
        origin = lowest(sliders)
        line = straight if bit(origin) & straight else ALL
        if rook_attacks(origin, occupied) & allowed & line:
            return True
        sliders = without_lowest(sliders)
    sliders = (position.bishops | position.queens) & position.own & ~straight
    while sliders:
        origin = lowest(sliders)
        line = diagonal if bit(origin) & diagonal else ALL
        if bishop_attacks(origin, occupied) & allowed & line:
            return True
        sliders = without_lowest(sliders)
    return False


@kernel
def _may_castle(position: np.record, king: int, danger: np.uint64, straight: np.uint64) -> bool:
    rooks = position.castling & RANK_1
    while rooks:
        if castling_is_legal(position, king, lowest(rooks), danger, straight):
            return True
        rooks = without_lowest(rooks)
    return False

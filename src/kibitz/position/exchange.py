"""Static exchange evaluation and threat maps: what is attacked, defended, and won by capturing.

Used by the encodings with threats, by move ordering and by commentary.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import bit, lowest, without_lowest
from kibitz.jit.compile import kernel
from kibitz.position.attacks import (
    EMPTY,
    KING,
    KNIGHT,
    PAWN,
    bishop_attacks,
    king_spread,
    knight_spread,
    pawn_attacks_up,
    rook_attacks,
)
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    PROMOTION,
    attacked_by_them,
    destination_of,
    kind_of,
    origin_of,
)
from kibitz.position.state import attackers, piece_on

VALUES = np.array([100, 300, 300, 500, 900, 20_000], dtype=np.int64)  # PAWN ... KING
MOST = 1_000_000  # more than can be won


@kernel
def attacked_by_us(position: np.record, occupied: np.uint64) -> np.uint64:
    """Every square the side to move attacks, sliders stopped by `occupied`."""
    own = position.own
    reached = pawn_attacks_up(position.pawns & own)
    reached |= knight_spread(position.knights & own) | king_spread(position.kings & own)
    straight = (position.rooks | position.queens) & own
    while straight:
        reached |= rook_attacks(lowest(straight), occupied)
        straight = without_lowest(straight)
    diagonal = (position.bishops | position.queens) & own
    while diagonal:
        reached |= bishop_attacks(lowest(diagonal), occupied)
        diagonal = without_lowest(diagonal)
    return reached


@kernel
def threat_maps(position: np.record) -> tuple[np.uint64, np.uint64]:
    """Squares attacked by the side to move and by the other side."""
    occupied = position.own | position.their
    return attacked_by_us(position, occupied), attacked_by_them(position, occupied)


@kernel
def _cheapest(position: np.record, candidates: np.uint64) -> tuple[int, np.uint64]:
    """Type and square (as a board) of the least valuable piece among `candidates`."""
    piece = PAWN
    for board in (
        position.pawns,
        position.knights,
        position.bishops,
        position.rooks,
        position.queens,
        position.kings,
    ):
        if board & candidates:
            return piece, bit(lowest(board & candidates))
        piece += 1
    return -1, EMPTY


@kernel
def _revealed(position: np.record, square: int, occupied: np.uint64) -> np.uint64:
    """Sliders that reach `square` with only `occupied` in the way."""
    straight = rook_attacks(square, occupied) & (position.rooks | position.queens)
    diagonal = bishop_attacks(square, occupied) & (position.bishops | position.queens)
    return (straight | diagonal) & occupied


@kernel
def _settled(
    position: np.record, square: int, occupied: np.uint64, standing: int, ours: bool, won: int
) -> int:
    """What a side has won when all captures on a square that pay have been made.

    So far it has `won`, by putting its piece of type `standing` there; it is the other side's turn,
    that to move if `ours`.
    """
    reaching = (attackers(position, square, occupied) & occupied) | _revealed(
        position, square, occupied
    )
    # For the side whose turn it is: what it has, and the least and the most that it can get. It
    # may always leave it at the least, and after a capture the other side may leave it at that.
    balance, sign = -won, -1
    least, most = balance, MOST
    while True:
        balance += VALUES[standing]
        if balance <= least:
            break
        side, other = position.their, position.own
        if ours:
            side, other = other, side
        piece, capturer = _cheapest(position, reaching & side)
        if piece < 0 or (piece == KING and reaching & other):  # which may not be captured
            break
        least, most = -min(most, balance), -least
        balance, sign, standing, ours = -balance, -sign, piece, not ours
        occupied &= ~capturer
        reaching = (reaching | _revealed(position, square, occupied)) & occupied
    return sign * least


@kernel
def exchange_value(position: np.record, move: int) -> int:
    """Material the side to move wins, in centipawns, if both sides capture best on one square.

    Pins are not considered; a king captures only what is no longer defended.
    """
    origin, square, kind = origin_of(move), destination_of(move), kind_of(move)
    if kind == CASTLING:
        return 0
    occupied = (position.own | position.their) & ~bit(origin)
    standing = piece_on(position, origin)
    taken = piece_on(position, square)
    if kind == EN_PASSANT:
        taken = PAWN
        occupied &= ~bit(square - 8)
    won = VALUES[taken] if taken >= 0 else 0
    if kind >= PROMOTION:
        standing = kind - PROMOTION + KNIGHT
        won += VALUES[standing] - VALUES[PAWN]
    return _settled(position, square, occupied, standing, False, won)


@kernel
def taking_value(position: np.record, square: int, ours: bool) -> int:
    """Material won by capturing what stands on a square, at least 0, in centipawns.

    The side to move captures if `ours`, else the other side, as if it were its turn.
    """
    occupied = position.own | position.their
    return -_settled(position, square, occupied, piece_on(position, square), ours, 0)


@kernel
def loose_pieces(position: np.record, by_own: np.uint64, by_their: np.uint64) -> np.uint64:
    """Pieces of both sides that lose material if they are captured, kings left out.

    by_own and by_their are the squares attacked by either side.
    """
    loose = EMPTY
    hit = ((position.own & by_their) | (position.their & by_own)) & ~position.kings
    while hit:
        square = lowest(hit)
        ours = (position.their & bit(square)) != EMPTY
        if taking_value(position, square, ours) > 0:
            loose |= bit(square)
        hit = without_lowest(hit)
    return loose

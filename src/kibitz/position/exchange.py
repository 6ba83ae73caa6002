"""Static exchange evaluation and threat maps: what is attacked, defended, and won by capturing.

Used by the encodings with threats, by move ordering and by commentary.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import bit, lowest, without_lowest
from kibitz.jit.compile import kernel
from kibitz.position.attacks import (
    BISHOP,
    EMPTY,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    bishop_attacks,
    king_spread,
    knight_spread,
    pawn_attacks_down,
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
def attacked_by_rank(
    position: np.record,
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The squares that the other side's pawns attack; they and minor pieces; rooks, too; all."""
    their, occupied = position.their, position.own | position.their
    by_pawns = pawn_attacks_down(position.pawns & their)
    by_minors, left = by_pawns | knight_spread(position.knights & their), position.bishops & their
    while left:
        by_minors |= bishop_attacks(lowest(left), occupied)
        left = without_lowest(left)
    by_rooks, left = by_minors, position.rooks & their
    while left:
        by_rooks |= rook_attacks(lowest(left), occupied)
        left = without_lowest(left)
    by_all, left = by_rooks | king_spread(position.kings & their), position.queens & their
    while left:
        queen = lowest(left)
        by_all |= rook_attacks(queen, occupied) | bishop_attacks(queen, occupied)
        left = without_lowest(left)
    return by_pawns, by_minors, by_rooks, by_all


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
def _holds(
    position: np.record, square: int, occupied: np.uint64, ours: bool, difference: int
) -> bool:
    """Whether captures on a square win at most what its piece is worth less `difference`.

    `difference` is above 0. The side to move captures first if `ours`, else the other side; the
    side that has no answer, or none that can still pay, has lost.
    """
    reaching = attackers(position, square, occupied) & occupied
    holds = True
    while True:
        side, other = position.their, position.own
        if ours:
            side, other = other, side
        piece, capturer = _cheapest(position, reaching & side)
        if piece < 0:
            return holds
        holds = not holds
        difference = VALUES[piece] - difference
        if difference < holds:  # even if the capturer is lost for nothing
            return holds
        occupied &= ~capturer
        if piece in (ROOK, QUEEN, KING):
            reaching |= rook_attacks(square, occupied) & (position.rooks | position.queens)
        if piece in (PAWN, BISHOP, QUEEN, KING):
            reaching |= bishop_attacks(square, occupied) & (position.bishops | position.queens)
        reaching &= occupied
        if piece == KING:  # which may not be captured
            return holds != ((reaching & other) != EMPTY)
        ours = not ours


@kernel
def _stake(position: np.record, move: int) -> tuple[int, int, np.uint64]:
    """What a move wins at once, which piece then stands on its square, and what is occupied."""
    origin, square, kind = origin_of(move), destination_of(move), kind_of(move)
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
    return won, standing, occupied


@kernel
def exchange_value(position: np.record, move: int) -> int:
    """Material the side to move wins, in centipawns, if both sides capture best on one square.

    Pins are not considered; a king captures only what is no longer defended.
    """
    if kind_of(move) == CASTLING:
        return 0
    won, standing, occupied = _stake(position, move)
    return _settled(position, destination_of(move), occupied, standing, False, won)


@kernel
def exchange_at_least(position: np.record, move: int, least: int) -> bool:
    """Whether exchange_value(position, move) >= least, which takes fewer captures to tell."""
    if kind_of(move) == CASTLING:
        return least <= 0
    won, standing, occupied = _stake(position, move)
    if won < least:
        return False
    difference = VALUES[standing] - (won - least)
    if difference <= 0:
        return True
    return _holds(position, destination_of(move), occupied, False, difference)


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
    own, their, pawns = position.own, position.their, position.pawns
    own_pawns, their_pawns = pawn_attacks_up(pawns & own), pawn_attacks_down(pawns & their)
    # Most are seen at once: a pawn that captures a piece wins, and what captures a pawn that
    # another pawn defends loses, unless it is a pawn.
    by_pawn = (own & their_pawns) | (their & own_pawns)
    kept = pawns & ((own & own_pawns) | (their & their_pawns)) & ~by_pawn
    loose = by_pawn & ~(pawns | position.kings)
    hit = ((own & by_their) | (their & by_own)) & ~(position.kings | loose | kept)
    while hit:
        square = lowest(hit)
        ours = (their & bit(square)) != EMPTY
        value = VALUES[piece_on(position, square)]
        if not _holds(position, square, own | their, ours, value):
            loose |= bit(square)
        hit = without_lowest(hit)
    return loose

"""Legal moves, by pin and check masks: nothing is generated that has to be taken back.

A move is 16 bits: origin, destination << 6, kind << 12, in the view of the side to move. Castling
is the king capturing its own rook. The same code writes moves into an array or, given None,
only counts them (numba prunes the other branch).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.jit.bits import bit, lowest, popcount, signed, without_lowest
from kibitz.jit.compile import called_kernel, inlined_kernel, kernel
from kibitz.position.attacks import (
    ALL,
    EIGHT,
    EMPTY,
    FLIP,
    NINE,
    NO_SQUARE,
    NOT_FILE_A,
    NOT_FILE_H,
    RANK_1,
    RANK_3,
    RANK_8,
    SEVEN,
    between,
    bishop_attacks,
    king_attacks,
    king_spread,
    knight_attacks,
    knight_spread,
    pawn_attacks_down,
    rook_attacks,
)
from kibitz.position.state import attackers

MAX_MOVES = 256  # no legal position has more than 218
MOVE_LIST = np.dtype([("moves", np.uint16, MAX_MOVES)])

NORMAL, CASTLING, EN_PASSANT, DOUBLE_PUSH = 0, 1, 2, 3
PROMOTION = 4  # + 0 knight, 1 bishop, 2 rook, 3 queen
NO_MOVE = 0  # a1a1, never legal
FLIP_MOVE = FLIP | FLIP << 6  # move ^ FLIP_MOVE changes between White's and Black's view


@kernel
def encode_move(origin: int, destination: int, kind: int) -> np.uint16:
    """Pack a move."""
    return np.uint16(origin | (destination << 6) | (kind << 12))


@kernel
def origin_of(move: int) -> int:
    """Square the move starts from."""
    return signed(move) & 63


@kernel
def destination_of(move: int) -> int:
    """Square the move goes to; for castling, the rook's square."""
    return (signed(move) >> 6) & 63


@kernel
def kind_of(move: int) -> int:
    """NORMAL, CASTLING, EN_PASSANT, DOUBLE_PUSH or PROMOTION + piece - 1."""
    return signed(move) >> 12


@inlined_kernel
def attacked_by_them(position: np.record, occupied: np.uint64) -> np.uint64:
    """Every square the other side attacks, sliders stopped by `occupied`."""
    their = position.their
    danger = pawn_attacks_down(position.pawns & their)
    danger |= knight_spread(position.knights & their) | king_spread(position.kings & their)
    straight = (position.rooks | position.queens) & their
    while straight:
        danger |= rook_attacks(lowest(straight), occupied)
        straight = without_lowest(straight)
    diagonal = (position.bishops | position.queens) & their
    while diagonal:
        danger |= bishop_attacks(lowest(diagonal), occupied)
        diagonal = without_lowest(diagonal)
    return danger


@inlined_kernel
def pins(position: np.record, king: int) -> tuple[np.uint64, np.uint64]:
    """Lines along which own pieces are pinned to the king (pinner included): straight, diagonal."""
    their, own = position.their, position.own
    straight, diagonal = EMPTY, EMPTY
    snipers = rook_attacks(king, their) & their & (position.rooks | position.queens)
    while snipers:
        sniper = lowest(snipers)
        line = between(king, sniper)
        if popcount(line & own) == 1:
            straight |= line | bit(sniper)
        snipers = without_lowest(snipers)
    snipers = bishop_attacks(king, their) & their & (position.bishops | position.queens)
    while snipers:
        sniper = lowest(snipers)
        line = between(king, sniper)
        if popcount(line & own) == 1:
            diagonal |= line | bit(sniper)
        snipers = without_lowest(snipers)
    return straight, diagonal


@inlined_kernel
def check_mask(position: np.record, king: int, occupied: np.uint64) -> np.uint64:
    """Squares a non-king move must go to: all, those that answer the one check, or none."""
    giving = attackers(position, king, occupied) & position.their
    if not giving:
        return ALL
    if without_lowest(giving):
        return EMPTY
    return giving | between(king, lowest(giving))


@kernel
def _add(moves: Any, count: int, origin: int, targets: np.uint64) -> int:
    """Add a move of one piece to each target."""
    if moves is None:
        return count + popcount(targets)
    while targets:
        moves[count] = encode_move(origin, lowest(targets), NORMAL)
        count += 1
        targets = without_lowest(targets)
    return count


@kernel
def _add_pawns(moves: Any, count: int, targets: np.uint64, step: int, kind: int) -> int:
    """Add the moves of all pawns that arrive on `targets` by the same step."""
    if moves is None:
        return count + popcount(targets)
    while targets:
        target = lowest(targets)
        moves[count] = encode_move(target - step, target, kind)
        count += 1
        targets = without_lowest(targets)
    return count


@kernel
def _add_promotions(moves: Any, count: int, targets: np.uint64, step: int) -> int:
    """Add four moves for every pawn that arrives on rank 8."""
    if moves is None:
        return count + 4 * popcount(targets)
    while targets:
        target = lowest(targets)
        for piece in range(3, -1, -1):
            moves[count] = encode_move(target - step, target, PROMOTION + piece)
            count += 1
        targets = without_lowest(targets)
    return count


@inlined_kernel
def _pawn_moves(
    position: np.record,
    moves: Any,
    count: int,
    allowed: np.uint64,
    lines: tuple[np.uint64, np.uint64],
) -> int:
    """All pawn moves but en passant; `allowed` is the check mask, `lines` the pins."""
    straight, diagonal = lines
    pawns = position.pawns & position.own
    empty = ~(position.own | position.their)
    capturing, pushing = pawns & ~straight, pawns & ~diagonal

    single = (((pushing & ~straight) << EIGHT) | ((pushing & straight) << EIGHT) & straight) & empty
    double = ((single & RANK_3) << EIGHT) & empty & allowed
    single &= allowed
    victims = position.their & allowed
    free, pinned = capturing & ~diagonal, capturing & diagonal
    left = ((free & NOT_FILE_A) << SEVEN | ((pinned & NOT_FILE_A) << SEVEN) & diagonal) & victims
    right = ((free & NOT_FILE_H) << NINE | ((pinned & NOT_FILE_H) << NINE) & diagonal) & victims

    count = _add_pawns(moves, count, left & ~RANK_8, 7, NORMAL)
    count = _add_pawns(moves, count, right & ~RANK_8, 9, NORMAL)
    count = _add_pawns(moves, count, single & ~RANK_8, 8, NORMAL)
    count = _add_pawns(moves, count, double, 16, DOUBLE_PUSH)
    if (single | left | right) & RANK_8:
        count = _add_promotions(moves, count, left & RANK_8, 7)
        count = _add_promotions(moves, count, right & RANK_8, 9)
        count = _add_promotions(moves, count, single & RANK_8, 8)
    return count


@kernel
def en_passant_is_legal(position: np.record, origin: int, target: int) -> bool:
    """Whether capturing from `origin` on `target` leaves the king safe; two pawns go at once."""
    captured = bit(target - 8)
    occupied = (position.own | position.their) ^ bit(origin) ^ captured ^ bit(target)
    king = lowest(position.kings & position.own)
    return not attackers(position, king, occupied) & position.their & ~captured


@kernel
def _en_passant_moves(position: np.record, moves: Any, count: int) -> int:
    target = signed(position.en_passant)
    if target == NO_SQUARE:
        return count
    capturers = pawn_attacks_down(bit(target)) & position.pawns & position.own
    while capturers:
        origin = lowest(capturers)
        if en_passant_is_legal(position, origin, target):
            if moves is not None:
                moves[count] = encode_move(origin, target, EN_PASSANT)
            count += 1
        capturers = without_lowest(capturers)
    return count


@kernel
def castling_is_legal(
    position: np.record, king: int, rook: int, danger: np.uint64, straight: np.uint64
) -> bool:
    """Whether the king, not in check, may castle with the own rook on `rook`."""
    king_to, rook_to = (6, 5) if rook > king else (2, 3)
    path = between(king, king_to) | bit(king_to)
    travelled = path | between(rook, rook_to) | bit(rook_to)
    others = (position.own | position.their) & ~(bit(king) | bit(rook))
    # a rook pinned along the rank uncovers its king by jumping over it (Chess960 only)
    return not (travelled & others or path & danger or straight & bit(rook))


@kernel
def _castling_moves(
    position: np.record, moves: Any, count: int, king: int, danger: np.uint64, straight: np.uint64
) -> int:
    rooks = position.castling & RANK_1
    while rooks:
        rook = lowest(rooks)
        if castling_is_legal(position, king, rook, danger, straight):
            if moves is not None:
                moves[count] = encode_move(king, rook, CASTLING)
            count += 1
        rooks = without_lowest(rooks)
    return count


@inlined_kernel
def _piece_moves(
    position: np.record,
    moves: Any,
    count: int,
    allowed: np.uint64,
    lines: tuple[np.uint64, np.uint64],
) -> int:
    """Knights, bishops, rooks and queens; `allowed` excludes own pieces."""
    straight, diagonal = lines
    own = position.own
    occupied = own | position.their
    knights = position.knights & own & ~(straight | diagonal)
    while knights:
        origin = lowest(knights)
        count = _add(moves, count, origin, knight_attacks(origin) & allowed)
        knights = without_lowest(knights)
    sliders = (position.bishops | position.queens) & own & ~straight
    while sliders:
        origin = lowest(sliders)
        line = diagonal if bit(origin) & diagonal else ALL
        count = _add(moves, count, origin, bishop_attacks(origin, occupied) & allowed & line)
        sliders = without_lowest(sliders)
    sliders = (position.rooks | position.queens) & own & ~diagonal
    while sliders:
        origin = lowest(sliders)
        line = straight if bit(origin) & straight else ALL
        count = _add(moves, count, origin, rook_attacks(origin, occupied) & allowed & line)
        sliders = without_lowest(sliders)
    return count


@called_kernel
def generate(position: np.record, moves: Any) -> int:
    """Write all legal moves to `moves` (uint16 [MAX_MOVES]), or count them if it is None."""
    own, their = position.own, position.their
    occupied = own | their
    king = lowest(position.kings & own)
    danger = attacked_by_them(position, occupied ^ bit(king))
    count = _add(moves, 0, king, king_attacks(king) & ~own & ~danger)
    allowed = ALL
    if danger & bit(king):
        allowed = check_mask(position, king, occupied)
        if not allowed:
            return count
    lines = pins(position, king)
    if allowed == ALL and position.castling & RANK_1:
        count = _castling_moves(position, moves, count, king, danger, lines[0])
    count = _piece_moves(position, moves, count, allowed & ~own, lines)
    count = _pawn_moves(position, moves, count, allowed, lines)
    return _en_passant_moves(position, moves, count)


@kernel
def generate_captures(position: np.record, moves: Any) -> int:
    """Write the legal captures and promotions of a side that is not in check to `moves`."""
    own, their = position.own, position.their
    king = lowest(position.kings & own)
    count, targets = 0, king_attacks(king) & their
    while targets:
        target = lowest(targets)
        if not attackers(position, target, (own | their) ^ bit(king)) & their:
            moves[count] = encode_move(king, target, NORMAL)
            count += 1
        targets = without_lowest(targets)
    lines = pins(position, king)
    count = _piece_moves(position, moves, count, their, lines)
    count = _pawn_moves(position, moves, count, their | RANK_8, lines)
    return _en_passant_moves(position, moves, count)


@kernel
def list_moves(position: np.record, target: np.record) -> int:
    """Write all legal moves to target.moves (MOVE_LIST); returns how many."""
    return generate(position, target.moves[:])


@kernel
def count_legal(position: np.record) -> int:
    """Number of legal moves."""
    return generate(position, None)

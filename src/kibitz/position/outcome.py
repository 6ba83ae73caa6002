"""How a game ends: mate, stalemate, dead positions, the 50- and 75-move rules, repetitions.

Repetition is decided on the keys of the game: `keys` holds the keys of all earlier positions in
order (uint64 [count]), the current position's own key is not in it.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import bit, lowest, popcount, signed, without_lowest
from kibitz.jit.compile import called_kernel, kernel
from kibitz.position.attacks import (
    ALL,
    EIGHT,
    EMPTY,
    LIGHT_SQUARES,
    NO_SQUARE,
    RANK_1,
    RANK_3,
    bishop_attacks,
    king_attacks,
    knight_spread,
    pawn_attacks_up,
    rook_attacks,
)
from kibitz.position.moves import attacked_by_them, castling_is_legal, check_mask, pins
from kibitz.position.state import checkers

# --- whether there is a legal move, without making a list of them ---------------------------------


@called_kernel
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


ONGOING = 0
CHECKMATE = 1  # the side to move has lost
STALEMATE = 2
INSUFFICIENT_MATERIAL = 3
SEVENTY_FIVE_MOVES = 4
FIVEFOLD_REPETITION = 5
FIFTY_MOVES = 6  # from here on: draws that a player has to claim
THREEFOLD_REPETITION = 7

FIFTY_PLIES, SEVENTY_FIVE_PLIES = 100, 150


@kernel
def insufficient_material(position: np.record) -> bool:
    """No sequence of legal moves can mate: bare kings, one minor piece, bishops of one colour."""
    if position.pawns | position.rooks | position.queens:
        return False
    if position.knights:
        return popcount(position.own | position.their) == 3
    light = position.bishops & LIGHT_SQUARES
    return light == EMPTY or light == position.bishops


@kernel
def previous_occurrence(keys: np.ndarray, count: int, rule50: int, key: np.uint64) -> int:
    """Plies back to the last occurrence of `key`, 0 if there is none since the last capture."""
    distance = 4
    reach = min(rule50, count)
    while distance <= reach:
        if keys[count - distance] == key:
            return distance
        distance += 2
    return 0


@kernel
def count_occurrences(keys: np.ndarray, count: int, rule50: int, key: np.uint64) -> int:
    """How often the position has occurred before."""
    occurrences = 0
    distance = 4
    reach = min(rule50, count)
    while distance <= reach:
        occurrences += keys[count - distance] == key
        distance += 2
    return occurrences


@kernel
def search_repetition(
    keys: np.ndarray, count: int, rule50: int, key: np.uint64, plies_from_root: int
) -> bool:
    """Whether a search should score the position as a draw by repetition.

    One earlier occurrence is enough strictly after the root, where both sides chose the moves in
    between; otherwise two are needed. Such a draw depends on the path and must not be cached.
    """
    distance = previous_occurrence(keys, count, rule50, key)
    if distance == 0:
        return False
    if distance < plies_from_root:
        return True
    rest = count - distance
    return previous_occurrence(keys, rest, rule50 - distance, key) != 0


@kernel
def terminal(position: np.record) -> int:
    """Outcome by the position alone; draws that must be claimed are not looked at."""
    if not has_legal_move(position):
        return CHECKMATE if checkers(position) else STALEMATE
    if insufficient_material(position):
        return INSUFFICIENT_MATERIAL
    if position.rule50 >= SEVENTY_FIVE_PLIES:
        return SEVENTY_FIVE_MOVES
    return ONGOING


@kernel
def outcome(position: np.record, keys: np.ndarray, count: int, claim: bool) -> int:
    """Outcome of a game in `position` after positions with `keys`; `claim` adds claimable draws."""
    by_position = terminal(position)
    if by_position != ONGOING:
        return by_position
    rule50 = signed(position.rule50)
    occurrences = count_occurrences(keys, count, rule50, position.key)
    if occurrences >= 4:
        return FIVEFOLD_REPETITION
    if not claim:
        return ONGOING
    if rule50 >= FIFTY_PLIES:
        return FIFTY_MOVES
    return THREEFOLD_REPETITION if occurrences >= 2 else ONGOING

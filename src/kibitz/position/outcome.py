"""How a game ends: mate, stalemate, dead positions, the 50- and 75-move rules, repetitions.

Repetition is decided on the keys of the game: `keys` holds the keys of all earlier positions in
order (uint64 [count]), the current position's own key is not in it.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel
from kibitz.position.bits import popcount, signed
from kibitz.position.mobility import has_legal_move
from kibitz.position.squares import EMPTY, LIGHT_SQUARES
from kibitz.position.state import checkers

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

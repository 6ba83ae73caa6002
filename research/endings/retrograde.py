"""Retrograde analysis of bishop and knight against a king, with the bishop on dark squares.

Positions are numbered by the squares of king, bishop, knight and bare king; those of mates come
first, and each sweep adds what is a ply further from one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kibitz.jit.bits import lowest, popcount, signed
from kibitz.jit.compile import kernel
from kibitz.position.attacks import bishop_attacks, king_attacks, knight_attacks

UNKNOWN = np.uint8(255)  # not won, or impossible
LONGEST = 66  # plies to mate, less than
DARK = [square for square in range(64) if (square + (square >> 3)) % 2 == 0]


@kernel
def stands(king: int, bishop: int, knight: int, bare: int) -> bool:
    """Whether four squares are a position, whoever moves."""
    own = (1 << king) | (1 << bishop) | (1 << knight)
    apart = popcount(np.uint64(own)) == 3 and not (own >> bare) & 1
    return apart and not (signed(king_attacks(king)) >> bare) & 1


@kernel
def longest_defence(won: np.ndarray, king: int, bishop: int, knight: int, bare: int) -> int:
    """Plies to mate where the bare king moves; -1 if it is not known to be mated."""
    men = np.uint64((1 << king) | (1 << bishop) | (1 << knight))
    seen = king_attacks(king) | knight_attacks(knight) | bishop_attacks(bishop, men)
    moves, longest = king_attacks(bare) & ~seen, 0
    if not moves:
        return 0 if (signed(seen) >> bare) & 1 else -1
    while moves:
        square = lowest(moves)
        moves &= moves - np.uint64(1)
        if square in (bishop, knight) or won[king, bishop, knight, square] == UNKNOWN:
            return -1
        longest = max(longest, 1 + signed(won[king, bishop, knight, square]))
    return longest


@kernel
def leads_to(lost: np.ndarray, plies: int, king: int, bishop: int, knight: int, bare: int) -> bool:
    """Whether a move of the pieces leads to a position that is lost in so many plies."""
    men = np.uint64((1 << king) | (1 << bishop) | (1 << knight) | (1 << bare))
    steps = king_attacks(king) & ~(men | king_attacks(bare))
    while steps:
        if lost[lowest(steps), bishop, knight, bare] == plies:
            return True
        steps &= steps - np.uint64(1)
    steps = bishop_attacks(bishop, men) & ~men
    while steps:
        if lost[king, lowest(steps), knight, bare] == plies:
            return True
        steps &= steps - np.uint64(1)
    steps = knight_attacks(knight) & ~men
    while steps:
        if lost[king, bishop, lowest(steps), bare] == plies:
            return True
        steps &= steps - np.uint64(1)
    return False


@kernel
def in_check(king: int, bishop: int, knight: int, bare: int) -> bool:
    """Whether the pieces attack the bare king."""
    men = np.uint64((1 << king) | (1 << bishop) | (1 << knight))
    seen = knight_attacks(knight) | bishop_attacks(bishop, men)
    return bool((signed(seen) >> bare) & 1)


@kernel
def widen(won: np.ndarray, lost: np.ndarray, plies: int, bishop: int) -> None:
    """Add the positions of a bishop's square that are lost in `plies`, or won if that is odd."""
    for place in range(64**3):
        king, knight, bare = place >> 12, (place >> 6) & 63, place & 63
        if not stands(king, bishop, knight, bare):
            continue
        if plies % 2 == 0:
            known = lost[king, bishop, knight, bare] != UNKNOWN
            if not known and longest_defence(won, king, bishop, knight, bare) == plies:
                lost[king, bishop, knight, bare] = plies
            continue
        known = won[king, bishop, knight, bare] != UNKNOWN
        if known or in_check(king, bishop, knight, bare):
            continue
        if leads_to(lost, plies - 1, king, bishop, knight, bare):
            won[king, bishop, knight, bare] = plies


def solve(longest: int = LONGEST, on_ply: Callable[[], None] = lambda: None) -> np.ndarray:
    """Plies to mate where the pieces move, uint8 [king, bishop, knight, bare king]; else 255.

    Mates in as many plies as `longest`, or more, are left out.
    """
    won = np.full((64, 64, 64, 64), UNKNOWN)
    lost = won.copy()
    for plies in range(longest):
        for bishop in DARK:
            widen(won, lost, plies, bishop)
        on_ply()
    return won

"""Sets of squares as 64-bit boards: mirrored, and what all the pieces of a set attack."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel
from kibitz.position.squares import NOT_FILE_A, NOT_FILE_H, NOT_FILES_AB, NOT_FILES_GH, ONE

TWO = np.uint64(2)
SIX = np.uint64(6)
SEVEN = np.uint64(7)
EIGHT = np.uint64(8)
NINE = np.uint64(9)
TEN = np.uint64(10)
FIFTEEN = np.uint64(15)
SEVENTEEN = np.uint64(17)


@kernel
def mirror(board: np.uint64) -> np.uint64:
    """Mirror a board horizontally (the a-file and the h-file change places)."""
    ones, twos, fours = (
        np.uint64(0x5555_5555_5555_5555),
        np.uint64(0x3333_3333_3333_3333),
        np.uint64(0x0F0F_0F0F_0F0F_0F0F),
    )
    board = ((board >> ONE) & ones) | ((board & ones) << ONE)
    board = ((board >> TWO) & twos) | ((board & twos) << TWO)
    return ((board >> np.uint64(4)) & fours) | ((board & fours) << np.uint64(4))


@kernel
def pawn_attacks_up(pawns: np.uint64) -> np.uint64:
    """Squares attacked by pawns that move up the board."""
    return ((pawns & NOT_FILE_A) << SEVEN) | ((pawns & NOT_FILE_H) << NINE)


@kernel
def pawn_attacks_down(pawns: np.uint64) -> np.uint64:
    """Squares attacked by pawns that move down the board."""
    return ((pawns & NOT_FILE_H) >> SEVEN) | ((pawns & NOT_FILE_A) >> NINE)


@kernel
def knight_spread(knights: np.uint64) -> np.uint64:
    """Squares attacked by any of the knights."""
    one_left, one_right = knights & NOT_FILE_A, knights & NOT_FILE_H
    two_left, two_right = knights & NOT_FILES_AB, knights & NOT_FILES_GH
    up = (one_left << FIFTEEN) | (one_right << SEVENTEEN) | (two_left << SIX) | (two_right << TEN)
    down = (one_left >> SEVENTEEN) | (one_right >> FIFTEEN) | (two_left >> TEN) | (two_right >> SIX)
    return up | down


@kernel
def king_spread(kings: np.uint64) -> np.uint64:
    """Squares next to any of the kings."""
    row = kings | ((kings & NOT_FILE_A) >> ONE) | ((kings & NOT_FILE_H) << ONE)
    return (row | (row << EIGHT) | (row >> EIGHT)) & ~kings

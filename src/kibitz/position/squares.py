"""Squares, files, ranks and piece types: the constants of the whole room.

Squares are 0 (a1) to 63 (h8). Kernels see the board from the side to move: for Black every square
is flipped vertically (`square ^ 56`), so that one's own pawns always move up.
"""

from __future__ import annotations

import numpy as np

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
NO_SQUARE = 64  # "no en passant square"
FLIP = 56  # square ^ FLIP mirrors the board between White's and Black's view

EMPTY = np.uint64(0)
ONE = np.uint64(1)
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
FILE_A = np.uint64(0x0101_0101_0101_0101)
NOT_FILE_A = np.uint64(0xFEFE_FEFE_FEFE_FEFE)
NOT_FILE_H = np.uint64(0x7F7F_7F7F_7F7F_7F7F)
NOT_FILES_AB = np.uint64(0xFCFC_FCFC_FCFC_FCFC)
NOT_FILES_GH = np.uint64(0x3F3F_3F3F_3F3F_3F3F)
RANK_1 = np.uint64(0xFF)
RANK_3 = np.uint64(0xFF_0000)
RANK_8 = np.uint64(0xFF00_0000_0000_0000)
LIGHT_SQUARES = np.uint64(0x55AA_55AA_55AA_55AA)


def square_name(square: int) -> str:
    """`square_name(0) == "a1"`."""
    return "abcdefgh"[square & 7] + "12345678"[square >> 3]


def parse_square(text: str) -> int:
    """Inverse of `square_name`; raises ValueError for anything else."""
    if len(text) != 2 or text[0] not in "abcdefgh" or text[1] not in "12345678":
        raise ValueError(f"not a square: {text!r}")
    return "abcdefgh".index(text[0]) + 8 * "12345678".index(text[1])

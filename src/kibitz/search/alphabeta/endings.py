"""Endings of few men that a network misjudges: rook's pawns, and bishop and knight, against a king.

A short search does not see how the king is led out of the wrong corner. So a small network says how
many plies are left to mate, fitted to all positions as retrograde analysis has them; the table is
made by `python -m research.endings`. Whole numbers, so that every machine plays the same.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import bit, lowest, popcount, signed
from kibitz.jit.compile import kernel, static_table
from kibitz.position.attacks import EMPTY, FILE_A, king_attacks
from kibitz.search.alphabeta.constants import bishop_and_knight
from kibitz.search.report import DARK_SQUARES

WIDTH = 64  # of the hidden layer, whose outputs are cut to [0, ONE]
ONE = 32
OF_A_PLY = 256  # parts that outputs are counted in
# Rows of the table: weights by the squares of king, bishop, knight and bare king, then the output
# of each hidden unit and what is added to their sum, as if the bishop was on dark squares.
OUTPUT, BIAS_ROW = 4 * 64, 4 * 64 + 1
DARK = np.uint64(DARK_SQUARES)
MIRROR = 7  # files, so that a bishop comes to the other colour

WON = 1_800  # centipawns of a mate, less STEP a ply: more than material, less than any mate found
STEP = 15

FILE_H = FILE_A << np.uint64(7)

weight = static_table("bishop_and_knight", bishop_and_knight())


@kernel
def scaled_plies_to_mate(king: int, bishop: int, knight: int, bare: int) -> int:
    """About how many, with the pieces to move and the bishop on dark squares; in parts of a ply."""
    total = signed(weight(BIAS_ROW * WIDTH))
    for unit in range(WIDTH):
        seen = (
            signed(weight(king * WIDTH + unit))
            + signed(weight((64 + bishop) * WIDTH + unit))
            + signed(weight((128 + knight) * WIDTH + unit))
            + signed(weight((192 + bare) * WIDTH + unit))
        )
        total += signed(weight(OUTPUT * WIDTH + unit)) * min(max(seen, 0), ONE)
    return total


@kernel
def known_score(position: np.record) -> int:
    """Centipawns for the side to move where bishop and knight mate a king; 0 elsewhere."""
    if position.pawns | position.rooks | position.queens:
        return 0
    own = popcount(position.own)
    if own + popcount(position.their) != 4 or own == 2:
        return 0
    if popcount(position.bishops) != 1 or popcount(position.knights) != 1:
        return 0
    strong = position.own if own == 3 else position.their
    mirror = 0 if position.bishops & DARK else MIRROR
    scaled = scaled_plies_to_mate(
        lowest(position.kings & strong) ^ mirror,
        lowest(position.bishops) ^ mirror,
        lowest(position.knights) ^ mirror,
        lowest(position.kings & ~strong) ^ mirror,
    )
    score = WON - STEP * scaled // OF_A_PLY
    return score if own == 3 else STEP - score


@kernel
def holds_the_corner(position: np.record) -> bool:
    """Whether nothing drives a bare king from the corner where rook's pawns would promote.

    It is there or beside it, all pawns are on that file, and the only pieces beside them are
    bishops that do not guard the corner: a draw, whoever moves.
    """
    pawns = position.pawns
    file = FILE_A if pawns & FILE_A else FILE_H
    if pawns == EMPTY or pawns & ~file or position.knights | position.rooks | position.queens:
        return False
    rises = pawns & position.own != EMPTY  # pawns of the side to move go up
    strong = position.own if rises else position.their
    weak = (position.own | position.their) ^ strong
    if pawns & ~strong or popcount(weak) != 1:
        return False
    corner = (0 if file == FILE_A else 7) + (56 if rises else 0)
    near = (king_attacks(corner) | bit(corner)) & weak
    guards = position.bishops & (DARK if bit(corner) & DARK else ~DARK)
    return near != EMPTY and guards == EMPTY

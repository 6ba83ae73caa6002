"""Zobrist keys: one random word per piece and square, castling rook, en passant file and side.

Positions that offer the same moves have the same key: the en passant file counts only when a
capture there is legal, and castling rights count by the rook's square.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel, static_table
from kibitz.position.bits import lowest, signed, without_lowest
from kibitz.position.squares import EMPTY, FLIP, NO_SQUARE

SEED = 0x6B69_6269_747A_2121
CASTLING_AT = 2 * 6 * 64
EN_PASSANT_AT = CASTLING_AT + 64
SIDE_AT = EN_PASSANT_AT + 8

WORDS = np.random.Generator(np.random.PCG64(SEED)).integers(
    0, 2**64, size=SIDE_AT + 1, dtype=np.uint64
)
word = static_table("zobrist", WORDS)


@kernel
def piece_key(colour: int, piece: int, square: int) -> np.uint64:
    """Word of a piece; colour 0 White, 1 Black; `square` as White sees it."""
    return word((colour * 6 + piece) * 64 + square)


@kernel
def castling_key(rooks: np.uint64, flip: int) -> np.uint64:
    """Words of the rooks that may castle; `flip` is 0 or FLIP, to White's view."""
    key = EMPTY
    while rooks:
        key ^= word(CASTLING_AT + (lowest(rooks) ^ flip))
        rooks = without_lowest(rooks)
    return key


@kernel
def en_passant_key(square: int) -> np.uint64:
    """Word of the file on which an en passant capture is legal, 0 for NO_SQUARE."""
    if square == NO_SQUARE:
        return EMPTY
    return word(EN_PASSANT_AT + (square & 7))


@kernel
def side_key() -> np.uint64:
    """Word that every change of the side to move toggles."""
    return word(SIDE_AT)


@kernel
def _pieces_key(pieces: np.uint64, colour: int, piece: int, flip: int) -> np.uint64:
    key = EMPTY
    while pieces:
        key ^= piece_key(colour, piece, lowest(pieces) ^ flip)
        pieces = without_lowest(pieces)
    return key


@kernel
def _side_pieces_key(position: np.record, mask: np.uint64, colour: int, flip: int) -> np.uint64:
    key = _pieces_key(position.pawns & mask, colour, 0, flip)
    key ^= _pieces_key(position.knights & mask, colour, 1, flip)
    key ^= _pieces_key(position.bishops & mask, colour, 2, flip)
    key ^= _pieces_key(position.rooks & mask, colour, 3, flip)
    key ^= _pieces_key(position.queens & mask, colour, 4, flip)
    return key ^ _pieces_key(position.kings & mask, colour, 5, flip)


@kernel
def compute_key(position: np.record) -> np.uint64:
    """The key from scratch; `play` keeps it up to date move by move."""
    side = signed(position.side)
    flip = FLIP * side
    key = _side_pieces_key(position, position.own, side, flip)
    key ^= _side_pieces_key(position, position.their, 1 - side, flip)
    key ^= castling_key(position.castling, flip)
    key ^= en_passant_key(signed(position.en_passant))
    if side:
        key ^= side_key()
    return key

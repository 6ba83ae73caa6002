"""Positions in 32 bytes: occupied squares and four bits a piece; position -> **bytes** -> position.

    bytes 0-7    occupied squares, little-endian, bit i for square i in the view of the side to move
    bytes 8-23   codes of the pieces in the order of their squares, two a byte, low half first
    bytes 24-31  the state word of packing.py: clock (2 bytes), ply (2), en passant square (1), side
                 to move (1), earlier occurrences (1), zero (1)

A code is 0-5 for pawn ... king, 6 for a rook that may still castle, plus 8 if it is theirs. The
unused half bytes are zero.
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.features import bit_at
from kibitz.encoding.packing import put_state, state_word
from kibitz.jit import kernel
from kibitz.position.bits import bit, lowest, signed, without_lowest
from kibitz.position.keys import compute_key
from kibitz.position.squares import EMPTY

COMPACT = np.dtype(
    [
        ("occupied", np.uint64),
        ("low", np.uint64),  # codes of the first 16 pieces
        ("high", np.uint64),  # codes of the others
        ("state", np.uint64),
    ]
)
RECORDS = np.dtype((np.record, COMPACT))  # its elements have attributes in plain Python, too
THEIR_CODE = 8
CODES_EACH = 16
CODE_BITS = 0xF


def new_compact(count: int) -> np.ndarray:
    """Zeroed compact positions, COMPACT [count]."""
    return np.zeros(count, dtype=RECORDS)


@kernel
def pack_compact(position: np.record, repetitions: int, target: np.record) -> None:
    """Write a position of at most 32 pieces; at most 255 repetitions."""
    # Binary digits of the codes; a castling rook is 3 + 3 = 0b110.
    ones = position.knights | position.rooks & ~position.castling | position.kings
    twos = position.bishops | position.rooks
    fours = position.queens | position.kings | position.castling
    low, high = EMPTY, EMPTY
    pieces = position.own | position.their
    count = 0
    while pieces:
        square = lowest(pieces)
        code = bit_at(ones, square) + 2 * bit_at(twos, square) + 4 * bit_at(fours, square)
        code += THEIR_CODE * bit_at(position.their, square)
        placed = np.uint64(code) << np.uint64(4 * (count & 15))
        if count < CODES_EACH:
            low |= placed
        else:
            high |= placed
        count += 1
        pieces = without_lowest(pieces)
    target.occupied = position.own | position.their
    target.low, target.high = low, high
    target.state = state_word(position, repetitions)


@kernel
def _digit(code: int, place: int, here: np.uint64) -> np.uint64:
    """`here` if the code has that binary digit, else no square."""
    return here if (code >> place) & 1 else EMPTY


@kernel
def unpack_compact(source: np.record, position: np.record) -> int:
    """Write the position back; returns its earlier occurrences."""
    ones, twos, fours, their = EMPTY, EMPTY, EMPTY, EMPTY
    pieces = source.occupied
    codes = source.low
    count = 0
    while pieces:
        if count == CODES_EACH:
            codes = source.high
        code = signed(codes) & CODE_BITS
        here = bit(lowest(pieces))
        ones |= _digit(code, 0, here)
        twos |= _digit(code, 1, here)
        fours |= _digit(code, 2, here)
        their |= _digit(code, 3, here)
        codes = codes >> np.uint64(4)
        count += 1
        pieces = without_lowest(pieces)
    position.castling = twos & fours
    position.pawns = source.occupied & ~(ones | twos | fours)
    position.knights = ones & ~twos & ~fours
    position.bishops = twos & ~ones & ~fours
    position.rooks = twos & (ones | fours)
    position.queens = fours & ~ones & ~twos
    position.kings = fours & ones
    position.own, position.their = source.occupied & ~their, their
    repetitions = put_state(source.state, position)
    position.key = compute_key(position)
    return repetitions


@kernel
def pack_compact_batch(positions: np.ndarray, repetitions: np.ndarray, out: np.ndarray) -> None:
    """POSITION [B] and uint8 [B] to COMPACT [B]."""
    for row in range(positions.shape[0]):
        pack_compact(positions[row], signed(repetitions[row]), out[row])


@kernel
def unpack_compact_batch(
    source: np.ndarray, positions: np.ndarray, repetitions: np.ndarray
) -> None:
    """COMPACT [B] to POSITION [B] and uint8 [B]."""
    for row in range(positions.shape[0]):
        repetitions[row] = unpack_compact(source[row], positions[row])

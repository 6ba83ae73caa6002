"""Positions in 32 bytes: occupied squares and four bits a piece.

    bytes 0-7    occupied squares, little-endian, bit i for square i in the view of the side to move
    bytes 8-23   codes of the pieces in the order of their squares, two a byte, low half first
    bytes 24-31  the state word: clock (2 bytes), ply (2), en passant square (1), side to move (1),
                 earlier occurrences (1), zero (1)

A code is 0-5 for pawn ... king, 6 for a rook that may still castle, plus 8 if it is theirs. The
unused half bytes are zero.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import bit, lowest, popcount, signed, without_lowest
from kibitz.jit.compile import kernel
from kibitz.position.attacks import EMPTY, NO_SQUARE, ONE
from kibitz.position.fen import VALID, problem
from kibitz.position.state import compute_key

PACKED = np.dtype(
    [
        ("occupied", np.uint64),
        ("low", np.uint64),  # codes of the first 16 pieces
        ("high", np.uint64),  # codes of the others
        ("state", np.uint64),
    ]
)
RECORDS = np.dtype((np.record, PACKED))  # its elements have attributes in plain Python, too
TWOS_BIT, FOURS_BIT, THEIR_BIT = np.uint64(1), np.uint64(2), np.uint64(3)  # of a code
CODES_EACH = 16
CODE_BITS = 0xF
PLY_BIT, EN_PASSANT_BIT, SIDE_BIT, REPETITIONS_BIT = (np.uint64(n) for n in (16, 32, 40, 48))
SIXTEEN_BITS, EIGHT_BITS = np.uint64(0xFFFF), np.uint64(0xFF)


def new_packed(count: int) -> np.ndarray:
    """Zeroed packed positions, PACKED [count]."""
    return np.zeros(count, dtype=RECORDS)


@kernel
def state_word(position: np.record, repetitions: int) -> np.uint64:
    """Clock, ply, en passant square, side and earlier occurrences in one word."""
    word = np.uint64(position.rule50) | np.uint64(position.ply) << PLY_BIT
    word |= np.uint64(position.en_passant) << EN_PASSANT_BIT
    word |= np.uint64(position.side) << SIDE_BIT
    return word | np.uint64(repetitions) << REPETITIONS_BIT


@kernel
def put_state(word: np.uint64, position: np.record) -> int:
    """Write clock, ply, en passant square and side back; returns the earlier occurrences."""
    position.rule50 = word & SIXTEEN_BITS
    position.ply = (word >> PLY_BIT) & SIXTEEN_BITS
    position.en_passant = (word >> EN_PASSANT_BIT) & EIGHT_BITS
    position.side = (word >> SIDE_BIT) & EIGHT_BITS
    return signed((word >> REPETITIONS_BIT) & EIGHT_BITS)


@kernel
def pack_position(position: np.record, repetitions: int, target: np.record) -> None:
    """Write a position of at most 32 pieces; at most 255 repetitions."""
    # Binary digits of the codes; a castling rook is 3 + 3 = 0b110.
    ones = position.knights | position.rooks & ~position.castling | position.kings
    twos = position.bishops | position.rooks
    fours = position.queens | position.kings | position.castling
    low, high = EMPTY, EMPTY
    pieces = position.own | position.their
    count = 0
    while pieces:
        square = np.uint64(lowest(pieces))
        code = (ones >> square & ONE) | (twos >> square & ONE) << TWOS_BIT
        code |= (fours >> square & ONE) << FOURS_BIT
        code |= (position.their >> square & ONE) << THEIR_BIT
        placed = code << np.uint64(4 * (count & 15))
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
def _digit(code: int, place: int, square: np.uint64) -> np.uint64:
    """`square` if the code has that binary digit, else no square."""
    return square if (code >> place) & 1 else EMPTY


@kernel
def unpack_position(source: np.record, position: np.record) -> int:
    """Write the position back; returns its earlier occurrences."""
    ones, twos, fours, their = EMPTY, EMPTY, EMPTY, EMPTY
    pieces = source.occupied
    codes = source.low
    count = 0
    while pieces:
        if count == CODES_EACH:
            codes = source.high
        code = signed(codes) & CODE_BITS
        square = bit(lowest(pieces))
        ones |= _digit(code, 0, square)
        twos |= _digit(code, 1, square)
        fours |= _digit(code, 2, square)
        their |= _digit(code, 3, square)
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
def pack_positions(positions: np.ndarray, repetitions: np.ndarray, out: np.ndarray) -> None:
    """POSITION [B] and uint8 [B] to PACKED [B]."""
    for row in range(positions.shape[0]):
        pack_position(positions[row], signed(repetitions[row]), out[row])


@kernel
def unpack_positions(source: np.ndarray, positions: np.ndarray, repetitions: np.ndarray) -> None:
    """PACKED [B] to POSITION [B] and uint8 [B]."""
    for row in range(positions.shape[0]):
        repetitions[row] = unpack_position(source[row], positions[row])


@kernel
def first_wrong(source: np.ndarray, position: np.record) -> int:
    """The first of PACKED [B] that is no position to play from, or -1; `position` is room for one.

    A file may hold any bytes; those of the state are looked at before tables are read by them.
    """
    for row in range(source.shape[0]):
        word = source[row].state
        square = signed((word >> EN_PASSANT_BIT) & EIGHT_BITS)
        if word >> SIDE_BIT & EIGHT_BITS > ONE or square > NO_SQUARE:
            return row
        if popcount(source[row].occupied) > 2 * CODES_EACH:
            return row
        unpack_position(source[row], position)
        if position.kings & position.rooks or problem(position) != VALID:  # 7 is no code
            return row
    return -1

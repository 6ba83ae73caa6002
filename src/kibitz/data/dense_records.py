"""Kernels of dense records: a searched position of 32 bytes, written and read back.

    bytes 0-7    occupied squares, bit i for square i as White sees it, a1 = 0, h8 = 63
    bytes 8-23   codes of the pieces in the order of their squares, two a byte, low half first
    byte 24      bit 7: Black is to move; the rest: the square of an en passant capture that is
                 legal, as White sees it, or 64
    byte 25      plies since the last capture or pawn move, at most 255
    byte 26      plies since the start of move 1: its parity is the side's, 254 or 255 the most
    byte 27      result of the game: 0 lost, 1 drawn, 2 won
    bytes 28-29  score of the search in centipawns of the search
    bytes 30-31  best move of the search; 0: none

A code is 0-5 for pawn ... king, 6 for a rook that may still castle, plus 8 for Black; unused half
bytes are zero. Result, score and move are those of the side to move: for Black a move's squares
are flipped (square ^ 56). Numbers of several bytes are little-endian.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import popcount, signed
from kibitz.jit.compile import kernel
from kibitz.position.attacks import EMPTY, FLIP, NO_SQUARE
from kibitz.position.fen import VALID
from kibitz.position.moves import NO_MOVE, generate
from kibitz.position.packed import CODES_EACH, piece_codes, put_pieces, wrong_pieces
from kibitz.position.play import legal_en_passant
from kibitz.position.state import compute_key

DENSE = np.dtype(
    [
        ("occupied", "<u8"),
        ("pieces", np.uint8, 16),
        ("state", np.uint8),
        ("halfmove", np.uint8),
        ("ply", np.uint8),
        ("result", np.uint8),
        ("score", "<i2"),
        ("move", "<u2"),
    ]
)
RECORDS = np.dtype((np.record, DENSE))  # its elements have attributes in plain Python, too
LOST, DRAWN, WON = 0, 1, 2
BLACK = 0x80
MOST = 255  # of a byte
EIGHT_BITS = np.uint64(0xFF)


@kernel
def pack_dense(position: np.record, move: int, score: int, result: int, record: np.record) -> None:
    """Write a position of at most 32 pieces, with move, score and result of the side to move."""
    side = signed(position.side)
    view, square = FLIP * side, signed(position.en_passant)
    occupied, low, high = piece_codes(position, view)
    record.occupied = occupied
    for index in range(8):
        shift = np.uint64(8 * index)
        record.pieces[index] = low >> shift & EIGHT_BITS
        record.pieces[index + 8] = high >> shift & EIGHT_BITS
    record.state = side * BLACK | (square if square == NO_SQUARE else square ^ view)
    record.halfmove = min(signed(position.rule50), MOST)
    record.ply = min(signed(position.ply), MOST - 1 + side)
    record.result, record.score, record.move = result, score, move


@kernel
def _codes(record: np.record, first: int) -> np.uint64:
    """Eight bytes of codes as one word."""
    codes = EMPTY
    for index in range(8):
        codes |= np.uint64(record.pieces[first + index]) << np.uint64(8 * index)
    return codes


@kernel
def unpack_board(record: np.record, position: np.record) -> None:
    """Write the position back, but for its key."""
    state = signed(record.state)
    side, square = state >> 7, state & 127
    view = FLIP * side
    put_pieces(record.occupied, _codes(record, 0), _codes(record, 8), view, position)
    position.en_passant = square if square == NO_SQUARE else square ^ view
    position.rule50, position.ply, position.side = record.halfmove, record.ply, side


@kernel
def unpack_dense(record: np.record, position: np.record) -> None:
    """Write the whole position back; move, score and result are read from the record itself."""
    unpack_board(record, position)
    position.key = compute_key(position)


@kernel
def pack_dense_rows(positions: np.ndarray, records: np.ndarray) -> None:
    """POSITION [N] to DENSE [N] that have their moves, scores and results already."""
    for row in range(records.shape[0]):
        record = records[row]
        move, score, result = signed(record.move), signed(record.score), signed(record.result)
        pack_dense(positions[row], move, score, result, record)


@kernel
def unpack_dense_rows(records: np.ndarray, positions: np.ndarray) -> None:
    """DENSE [N] to POSITION [N]."""
    for row in range(records.shape[0]):
        unpack_dense(records[row], positions[row])


@kernel
def _unused_codes(record: np.record, count: int) -> bool:
    """Whether there are codes behind those of so many pieces."""
    if count < CODES_EACH:
        return bool((_codes(record, 0) >> np.uint64(4 * count) | _codes(record, 8)) != EMPTY)
    rest = count - CODES_EACH
    return rest < CODES_EACH and bool(_codes(record, 8) >> np.uint64(4 * rest) != EMPTY)


@kernel
def _is_listed(move: int, moves: np.ndarray, count: int) -> bool:
    index = 0
    while index < count and moves[index] != move:
        index += 1
    return index < count


@kernel
def _is_sound(record: np.record, position: np.record, moves: np.ndarray) -> bool:
    """Whether a record is a position of chess with a legal move or none."""
    count = popcount(record.occupied)
    if signed(record.state) & 127 > NO_SQUARE or record.result > WON or count > 2 * CODES_EACH:
        return False
    unpack_board(record, position)
    if _unused_codes(record, count) or wrong_pieces(position) != VALID:
        return False
    square = signed(position.en_passant)
    if square != NO_SQUARE and legal_en_passant(position, square) != square:
        return False
    move = signed(record.move)
    return move == NO_MOVE or _is_listed(move, moves, generate(position, moves))


@kernel
def first_unsound(records: np.ndarray, position: np.record, moves: np.ndarray) -> int:
    """The first of DENSE [N] that no search can have written, or -1.

    A file may hold any bytes. `position` and `moves` (uint16 [MAX_MOVES]) are room to work in.
    """
    for row in range(records.shape[0]):
        if not _is_sound(records[row], position, moves):
            return row
    return -1

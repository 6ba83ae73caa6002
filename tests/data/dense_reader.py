"""A reader of dense shards of its own: python-chess and the documented format, no Kibitz."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import chess
import safetensors.numpy
import zstandard

PIECES = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING, chess.ROOK)
PROMOTIONS = (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
CASTLING_ROOK = 6
NO_SQUARE = 64


class Row(NamedTuple):
    """A record as python-chess sees it; all but the board in the view of the side to move."""

    board: chess.Board
    move: chess.Move | None
    score: int
    result: int
    ply: int


def rows_of(path: Path) -> list[Row]:
    """The records of a dense shard in order."""
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        columns = safetensors.numpy.load(reader.read())["records"]
    return [row_of(columns[:, index].tobytes()) for index in range(columns.shape[1])]


def row_of(record: bytes) -> Row:
    """One record of 32 bytes."""
    occupied, codes, state, halfmove, ply, result, score, move = struct.unpack(
        "<Q16sBBBBhH", record
    )
    board = chess.Board(None, chess960=True)
    board.turn = not state >> 7
    squares = [square for square in chess.SQUARES if occupied >> square & 1]
    for index, square in enumerate(squares):
        code = codes[index // 2] >> 4 * (index % 2) & 15
        board.set_piece_at(square, chess.Piece(PIECES[code & 7], not code >> 3))
        if code & 7 == CASTLING_ROOK:
            board.castling_rights |= chess.BB_SQUARES[square]
    board.ep_square = None if state & 127 == NO_SQUARE else state & 127
    board.halfmove_clock, board.fullmove_number = halfmove, ply // 2 + 1
    return Row(board, _move(board, move) if move else None, score, result, ply)


def _move(board: chess.Board, code: int) -> chess.Move:
    flip = 0 if board.turn else 56
    kind = code >> 12
    promotion = PROMOTIONS[kind - 4] if kind >= 4 else None
    return chess.Move(code & 63 ^ flip, code >> 6 & 63 ^ flip, promotion)

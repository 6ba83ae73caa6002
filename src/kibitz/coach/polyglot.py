"""Books in Polyglot's format: written from a tree of openings, and looked up.

An entry has 16 bytes, big end first: the position's key in Polyglot's own hash, the move, its
weight and a number for learning (http://hgm.nubati.net/book_format.html).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import chess.polyglot

from kibitz.coach.tree import Tree, below
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import write_bytes
from kibitz.core.places import Place
from kibitz.position.board import Board
from kibitz.position.notation import Move

_ENTRY = struct.Struct(">QHHI")
MOST_WEIGHT = 0xFFFF


class BookMove(NamedTuple):
    """A move of a book."""

    san: str
    weight: int


def write_book(path: Place, tree: Tree, least: int) -> int:
    """Write the moves that at least so many games have; returns how many there are.

    The weight is what the move has won, two for a win and one for a draw, as Polyglot makes books;
    a move that has never won a point is left out.
    """
    entries: list[tuple[int, int, int]] = []
    for board, moves in below(tree, least):
        key = chess.polyglot.zobrist_hash(board.to_chess())
        weights = [round(2 * move.points(board.turn == "white") * move.games) for move in moves]
        scale = min(1.0, MOST_WEIGHT / max(weights)) if max(weights) else 0.0
        entries += [
            (key, -max(1, int(weight * scale)), _code(move.move))
            for move, weight in zip(moves, weights, strict=True)
            if weight
        ]
    if not entries:
        fix = "give more games, or a smaller --fewest"
        raise InputError("no move was made so often", value=least, fix=fix)
    entries.sort()
    content = b"".join(_ENTRY.pack(key, code, -weight, 0) for key, weight, code in entries)
    write_bytes(path, content)
    return len(entries)


def _code(move: Move) -> int:
    """The move in 15 bits; castling is the king's move to the rook, as it is here."""
    return move.destination | move.origin << 6 | (move.promotion or 0) << 12


def book_moves(path: Path, board: Board) -> list[BookMove]:
    """The moves of a book in a position, the heaviest first."""
    size = path.stat().st_size
    if size % _ENTRY.size or not size:
        what = f"no Polyglot book: {size:,} bytes are no whole number of entries"
        raise DamagedFileError(what, value=str(path), fix="is it another kind of file?")
    position = board.to_chess()
    with chess.polyglot.open_reader(path) as book:
        entries = list(book.find_all(position))
    return [BookMove(position.san(entry.move), entry.weight) for entry in entries]

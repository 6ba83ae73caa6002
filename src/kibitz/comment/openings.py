"""Names of openings, by position: the CC0 list of lichess-org/chess-openings.

`openings.tsv.xz` has a line per position: the first 12 digits of the SHA-256 of its EPD, the ECO
code and the name. Both are empty for positions without a name on the way to one that has a name.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import chess
import chess.pgn

from kibitz.comment.judge import Label

LONGEST = 40  # plies in which names are looked for


class Opening(NamedTuple):
    """A named opening."""

    eco: str
    name: str


def opening_of(board: chess.Board) -> Opening | None:
    """The opening that a position has a name in."""
    return _listed()[0].get(_digest(board))


def is_book(board: chess.Board) -> bool:
    """Whether a position has a name, or is on the way to one that has."""
    return _digest(board) in _listed()[1]


def book_ends(tree: chess.pgn.Game) -> int:
    """The last ply of a game, from 0, that is book; -1 without any."""
    last, board = -1, tree.board()
    for ply, node in zip(range(LONGEST), tree.mainline(), strict=False):
        board.push(node.move)
        last = ply if is_book(board) else last
    return last


def opening_in(tree: chess.pgn.Game) -> tuple[int, Opening | None]:
    """The last ply of a game, from 0, whose position has a name, and the opening."""
    last: tuple[int, Opening | None] = (-1, None)
    board = tree.board()
    for ply, node in zip(range(LONGEST), tree.mainline(), strict=False):
        board.push(node.move)
        opening = opening_of(board)
        last = last if opening is None else (ply, opening)
    return last


def without_book(tree: chess.pgn.Game, labels: Sequence[Label]) -> tuple[Label, ...]:
    """The labels of a game's moves; one that leads to a named opening is no inaccuracy."""
    kept, board = [*labels], tree.board()
    for ply, node in zip(range(min(LONGEST, len(kept))), tree.mainline(), strict=False):
        board.push(node.move)
        if kept[ply] is Label.INACCURACY and opening_of(board) is not None:
            kept[ply] = Label.NONE
    return tuple(kept)


def family_in(tree: chess.pgn.Game, opening: Opening | None) -> tuple[int, Opening | None]:
    """The first ply whose position has the name of the family that a game's opening is of.

    That is the name before the colon.
    """
    family, board = opening.name.partition(":")[0] if opening else "", tree.board()
    for ply, node in zip(range(LONGEST), tree.mainline(), strict=False):
        board.push(node.move)
        named = opening_of(board)
        if named is not None and named.name == family:
            return ply, named
    return -1, None


def _digest(board: chess.Board) -> str:
    return hashlib.sha256(board.epd().encode()).hexdigest()[:12]


@cache
def _listed() -> tuple[dict[str, Opening], frozenset[str]]:
    """Openings by the digest of their position, and the digests of all positions in the list."""
    packed = resources.files("kibitz.comment").joinpath("openings.tsv.xz").read_bytes()
    rows = [line.split("\t") for line in lzma.decompress(packed).decode().splitlines()]
    named = {digest: Opening(eco, name) for digest, eco, name in rows if name}
    return named, frozenset(digest for digest, _, _ in rows)

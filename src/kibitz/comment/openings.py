"""Names of openings, by position: the CC0 list of lichess-org/chess-openings; and of their traps.

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


# --- traps ----------------------------------------------------------------------------------------


# Names, and the moves of a trap, to mate or until the last capture; the one that walks into it has
# a mark.
TRAPS: tuple[tuple[str, str], ...] = (
    ("Fool's Mate", "f3 e5 g4? Qh4#"),
    ("Scholar's Mate", "e4 e5 Qh5 Nc6 Bc4 Nf6? Qxf7#"),
    ("From's Gambit mate", "f4 e5 fxe5 d6 exd6 Bxd6 Nc3? Qh4+ g3 Bxg3+ hxg3 Qxg3#"),
    ("Greco Trap", "e4 b6 d4 Bb7 Bd3 f5? exf5 Bxg2 Qh5+ g6 fxg6 Nf6 gxh7+ Nxh5 Bg6#"),
    ("Légal Trap", "e4 e5 Nf3 d6 Bc4 Bg4 Nc3 g6? Nxe5 Bxd1 Bxf7+ Ke7 Nd5#"),
    ("Légal Trap", "e4 e5 Nf3 Nc6 Bc4 d6 Nc3 Bg4 h3 Bh5? Nxe5 Bxd1 Bxf7+ Ke7 Nd5#"),
    ("Blackburne Shilling Trap", "e4 e5 Nf3 Nc6 Bc4 Nd4 Nxe5? Qg5 Nxf7 Qxg2 Rf1 Qxe4+ Be2 Nf3#"),
    ("Damiano Defense trap", "e4 e5 Nf3 f6 Nxe5 fxe5? Qh5+ g6 Qxe5+ Qe7 Qxh8"),
    ("Hanham Trap", "e4 e5 Nf3 d6 d4 Nd7 Bc4 Be7 dxe5 dxe5? Qd5 Nh6 Bxh6"),
    (
        "Noah's Ark Trap",
        "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 d6 d4 b5 Bb3 Nxd4 Nxd4 exd4 Qxd4? c5 Qd5 Be6 Qc6+ Bd7 Qd5"
        " c4 O-O cxb3 axb3",
    ),
    ("Mortimer Trap", "e4 e5 Nf3 Nc6 Bb5 Nf6 d3 Ne7 Nxe5? c6 Bc4 Qa5+ Nc3 Qxe5"),
    ("Fishing Pole Trap", "e4 e5 Nf3 Nc6 Bb5 Nf6 O-O Ng4 h3 h5 hxg4? hxg4 Ne1 Qh4 f4 g3 Nf3 Qh1#"),
    (
        "Tarrasch Trap",
        "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Nxe4 d4 b5 Bb3 d5 dxe5 Be6 c3 Be7 Re1 O-O Nd4 Qd7?"
        " Nxe6 fxe6 Rxe4",
    ),
    ("Damiano Variation trap", "e4 e5 Nf3 Nf6 Nxe5 Nxe4 Qe2 Nf6? Nc6+ Qe7 Nxe7 Bxe7"),
    (
        "Stafford Gambit trap",
        "e4 e5 Nf3 Nf6 Nxe5 Nc6 Nxc6 dxc6 d3 Bc5 Bg5? Nxe4 Bxd8 Bxf2+ Ke2 Bg4#",
    ),
    (
        "Marshall Trap",
        "e4 e5 Nf3 Nf6 Nxe5 d6 Nf3 Nxe4 d4 d5 Bd3 Bd6 O-O O-O c4 Bg4 cxd5 f5 Re1? Bxh2+ Kxh2"
        " Nxf2 Qe2 Nxd3 Qxd3 Bxf3 Qxf3 Qh4+ Kg1 Qxe1+",
    ),
    (
        "Elephant Trap",
        "d4 d5 c4 e6 Nc3 Nf6 Bg5 Nbd7 cxd5 exd5 Nxd5? Nxd5 Bxd8 Bb4+ Qd2 Bxd2+ Kxd2 Kxd8",
    ),
    (
        "Cambridge Springs trap",
        "d4 d5 c4 e6 Nc3 Nf6 Bg5 Nbd7 e3 c6 Nf3 Qa5 Nd2 Bb4 Qc2 O-O Bd3? dxc4 Bxf6 cxd3 Qxd3 Nxf6",
    ),
    (
        "Lasker Trap",
        "d4 d5 c4 e5 dxe5 d4 e3 Bb4+ Bd2 dxe3 Bxb4? exf2+ Ke2 fxg1=N+ Rxg1 Bg4+ Kf2 Qxd1",
    ),
    (
        "Rubinstein Trap",
        "d4 d5 Nf3 Nf6 c4 e6 Bg5 Nbd7 e3 Be7 Nc3 O-O Rc1 Re8 Qc2 a6 cxd5 exd5 Bd3 c6 O-O Ne4"
        " Bf4 f5? Nxd5 cxd5 Bc7 Qxc7 Qxc7",
    ),
    ("Halosar Trap", "d4 d5 e4 dxe4 Nc3 Nf6 f3 exf3 Qxf3 Qxd4 Be3 Qb4 O-O-O Bg4? Nb5 Bxf3 Nxc7#"),
    ("Kieninger Trap", "d4 Nf6 c4 e5 dxe5 Ng4 Bf4 Nc6 Nf3 Bb4+ Nbd2 Qe7 a3 Ngxe5 axb4? Nd3#"),
    ("Englund Gambit trap", "d4 e5 dxe5 Nc6 Nf3 Qe7 Bf4 Qb4+ Bd2 Qxb2 Bc3? Bb4 Qd2 Bxc3 Qxc3 Qc1#"),
    (
        "Monticelli Trap",
        "d4 Nf6 c4 e6 Nf3 Bb4+ Bd2 Bxd2+ Qxd2 b6 g3 Bb7 Bg2 O-O Nc3 Ne4 Qc2 Nxc3? Ng5 Ne4"
        " Bxe4 Bxe4 Qxe4 Qxg5 Qxa8",
    ),
    ("trap of the Trompowsky Attack", "d4 Nf6 Bg5 c6 e3? Qa5+ Nc3 Qxg5"),
    ("trap of the Queen's Gambit Accepted", "d4 d5 c4 dxc4 e3 b5 a4 c6? axb5 cxb5 Qf3 Nc6 Qxc6+"),
    (
        "Milner-Barry trap",
        "e4 e6 d4 d5 e5 c5 c3 Nc6 Nf3 Qb6 Bd3 cxd4 cxd4 Nxd4? Nxd4 Qxd4 Bb5+ Kd8 Qxd4",
    ),
    ("knight trap of the Caro-Kann", "e4 c6 d4 d5 Nc3 dxe4 Nxe4 Nd7 Qe2 Ngf6? Nd6#"),
    (
        "Siberian Trap",
        "e4 c5 d4 cxd4 c3 dxc3 Nxc3 Nc6 Nf3 e6 Bc4 Qc7 O-O Nf6 Qe2 Ng4 h3? Nd4 Nxd4 Qh2#",
    ),
    (
        "Magnus Smith Trap",
        "e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 Nc6 Bc4 g6 Nxc6 bxc6 e5 dxe5? Bxf7+ Kxf7 Qxd8",
    ),
    ("queen check of the Sicilian", "e4 c5 Nf3 d6 c3 Nf6 Be2 Nxe4? Qa4+ Nc6 Qxe4"),
    ("queen trap of the Scandinavian", "e4 d5 exd5 Qxd5 Nc3 Qc6? Bb5 Qxb5 Nxb5"),
)


class Trap(NamedTuple):
    """A named trap, whether a move springs it or walks into it, and how it goes on."""

    name: str
    springs: bool
    line: tuple[chess.Move, ...]
    start: str  # FEN before the move that walks into it


def trap_at(board: chess.Board) -> Trap | None:
    """The trap that was sprung, or walked into, by the move that led to a position."""
    return _traps().get(board.epd())


@cache
def _traps() -> dict[str, Trap]:
    """The traps by position: from the move that walks into one all moves of the other side."""
    traps = {}
    for name, text in TRAPS:
        board, texts = chess.Board(), text.split()
        moves = [board.push_san(move.rstrip("?")) for move in texts]
        walked = next(ply for ply, move in enumerate(texts) if move.endswith("?"))
        start = chess.Board()
        for move in moves[:walked]:
            start.push(move)
        for ply in range(len(moves) - 1, walked - 1, -1):
            if ply == walked or (ply - walked) % 2:
                line = tuple(moves[ply + 1 :])
                traps[board.epd()] = Trap(name, ply != walked, line, start.fen())
            board.pop()
    return traps

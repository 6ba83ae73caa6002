"""Regular games of PGN, read by compiled code; what is not regular is left to python-chess.

`follow_san` plays the moves.

A game is regular if it has tags, an empty line and moves that are written as the standard says:
with numbers, marks and comments, without variations. Of anything else, a move that is not legal
among them, nothing is said here, so that there is one place that knows what is wrong with a game.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import chess
import chess.pgn
import numpy as np

from kibitz.core.errors import InputError
from kibitz.position.attacks import KNIGHT, PAWN, parse_square
from kibitz.position.board import Board
from kibitz.position.fen import read_fen
from kibitz.position.moves import MAX_MOVES, PROMOTION
from kibitz.position.notation import RESULTS
from kibitz.position.play import KING_SIDE, QUEEN_SIDE, follow_san
from kibitz.position.state import new_positions

_TAG = re.compile(r'\[([A-Za-z0-9]\w*) "([^"\\\r\n]*)"\]\n?', re.ASCII)
_COMMENT = re.compile(r"\{([^}]*)\}")
# No number of five digits: 0000 in it would be a null move.
_NUMBER = re.compile(r"(?:[1-9]\d{0,3})?\.*|\$\d+")
_MOVE = re.compile(
    r"(?:[1-9]\d{0,3}\.+)?"
    r"(?:([NBRQK])?([a-h])?([1-8])?[-x]?([a-h][1-8])(?:=?([nbrqNBRQ]))?|([O0]-[O0](-[O0])?))"
    r"[+#]?[!?]{0,2}",
    re.ASCII,
)
_NO_MOVE, _STRANGE = -1, -2  # a word that says nothing of the moves, and one that is not regular
_START = chess.Board().shredder_fen(en_passant="fen")


class MainLine(NamedTuple):
    """A game without its variations."""

    tags: chess.pgn.Headers
    start: str  # FEN, castling rights by their rooks' files
    positions: np.ndarray  # POSITION [plies + 1]
    moves: np.ndarray  # uint16 [plies], as kernels see them
    comments: Sequence[str]  # [plies + 1], the first before the first move
    text: str  # its lines, as they were read


def regular(lines: Sequence[str]) -> MainLine | None:
    """The game that the lines are, or None if it is not regular."""
    tags = chess.pgn.Headers()
    count = _read_tags(lines, tags)
    if not 0 < count < len(lines) - 1 or not lines[count].isspace() or lines[count + 1].isspace():
        return None
    content = _tokens("".join(lines[count + 1 :]))
    if content is None:
        return None
    codes, comments, result = content
    if tags["Result"] == "*":
        tags["Result"] = result
    start = _start_of(tags)
    if start is None:
        return None
    positions = new_positions(len(codes) + 1)
    read_fen(start, positions, 0)
    moves, scratch = np.zeros((2, max(len(codes), MAX_MOVES)), dtype=np.uint16)
    if follow_san(positions, np.array(codes, dtype=np.int32), scratch, moves) < len(codes):
        return None
    return MainLine(tags, start, positions, moves[: len(codes)], comments, "".join(lines))


def _read_tags(lines: Sequence[str], tags: chess.pgn.Headers) -> int:
    """Read the tags of a game; how many there are, 0 if a line is strange."""
    for count, line in enumerate(lines):
        match = _TAG.fullmatch(line)
        if match is None:
            return 0 if line.startswith("[") else count
        tags[match[1]] = match[2]
    return 0


def _start_of(tags: chess.pgn.Headers) -> str | None:
    """The FEN of the first position, or None if it is not one of chess."""
    if "FEN" not in tags and "Variant" not in tags:
        return _START
    try:
        board = tags.board()
        Board.from_chess(board)
    except (ValueError, InputError):
        return None
    return board.shredder_fen(en_passant="fen") if board.uci_variant == "chess" else None


def _tokens(text: str) -> tuple[list[int], list[str], str] | None:
    """Codes of the moves, comments, and the result; None if a word is strange."""
    codes: list[int] = []
    comments = [""]
    result = ""
    for tokens, comment in _between_comments(text):
        for word in tokens.split():
            if result:
                return None  # nothing but comments follows it
            code = _code(word)
            if code >= 0:
                codes.append(code)
                comments.append("")
            elif code == _STRANGE:
                if word not in RESULTS:
                    return None
                result = word
        if comment:
            comments[-1] = f"{comments[-1]} {comment}" if comments[-1] else comment
    return codes, comments, result or "*"


def _between_comments(text: str) -> Iterator[tuple[str, str]]:
    """Words, and the comment that follows them."""
    parts = _COMMENT.split(text)
    return zip(parts[::2], [*map(str.strip, parts[1::2]), ""], strict=True)


@lru_cache(maxsize=1 << 14)
def _code(word: str) -> int:
    """The parts of SAN in a word, as `follow_san` wants them, or another code."""
    match = _MOVE.fullmatch(word)
    if match is None:
        return _NO_MOVE if _NUMBER.fullmatch(word) else _STRANGE
    letter, file, rank, target, promotion, castling, long = match.groups()
    if castling:
        return KING_SIDE if long is None else QUEEN_SIDE
    piece = "PNBRQK".index(letter) if letter else PAWN
    if piece == PAWN and file is None and rank is None:
        file = target[0]  # only captures change the file, and they name it
    code = parse_square(target) | piece << 6
    code |= 0 if file is None else ("abcdefgh".index(file) + 1) << 9
    code |= 0 if rank is None else int(rank) << 13
    kind = PROMOTION - KNIGHT + "PNBRQ".index(promotion.upper()) if promotion else 0
    return code | kind << 17

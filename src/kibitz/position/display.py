"""How a position looks: plain letters, colours in a terminal, SVG in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kibitz.position.notation import NULL, Move
from kibitz.position.squares import FLIP

if TYPE_CHECKING:
    import chess
    from rich.console import Console
    from rich.text import Text

_SYMBOLS = dict(zip("pnbrqk", "♟♞♝♜♛♚", strict=True))
SVG_SIZE = 360  # pixels
_LIGHT, _DARK = "#b7c0d8", "#7f8fb0"
_LIGHT_MOVED, _DARK_MOVED = "#d9d08a", "#b5a95b"
_WHITE_PIECE, _BLACK_PIECE = "bold #ffffff", "bold #000000"


def squares_of(position: np.record, board: int) -> list[int]:
    """Squares of a bitboard in White's view, in order."""
    flip = FLIP if position["side"] else 0
    return sorted(square ^ flip for square in range(64) if board >> square & 1)


def letters(position: np.record) -> list[str]:
    """Letter of the piece on every square in White's view, upper case for White, else a dot."""
    fields = position.item()
    shown = ["."] * 64
    white = fields[7] if position["side"] else fields[6]
    for letter, board in zip("pnbrqk", fields, strict=False):
        for square in squares_of(position, board & white):
            shown[square] = letter.upper()
        for square in squares_of(position, board & ~white):
            shown[square] = letter
    return shown


def plain(position: np.record, last: Move | None = None, *, turned: bool = False) -> str:
    """The board as eight lines of letters with ranks and files at the edge.

    The squares of the last move stand in brackets; turned, Black is below.
    """
    shown, marked = letters(position), _marked(last)
    files = range(7, -1, -1) if turned else range(8)
    lines = []
    for rank in _ranks(turned):
        line, open_before = f"{rank + 1}", False
        for square in (8 * rank + file for file in files):
            opens = square in marked
            line += _BETWEEN[open_before, opens] + shown[square]
            open_before = opens
        lines.append((line + _BETWEEN[open_before, False]).rstrip())
    return "\n".join([*lines, _edge(turned)])


_BETWEEN = {(False, False): " ", (False, True): "[", (True, False): "]", (True, True): "|"}


def _marked(last: Move | None) -> set[int]:
    return set() if last is None or last == NULL else {last.origin, last.destination}


def _ranks(turned: bool) -> range:
    return range(8) if turned else range(7, -1, -1)


def _edge(turned: bool) -> str:
    return "  " + " ".join("hgfedcba" if turned else "abcdefgh")


def shown(
    position: np.record, last: Move | None, console: Console, *, turned: bool = False
) -> Text:
    """The board as a console can show it: coloured, or in letters.

    With 16 colours or none, as with NO_COLOR or in a pipe, the symbols of both sides look alike.
    """
    from rich.text import Text

    if console.no_color or console.color_system not in ("256", "truecolor"):
        return Text(plain(position, last, turned=turned))
    return coloured(position, last, turned=turned)


def coloured(position: np.record, last: Move | None = None, *, turned: bool = False) -> Text:
    """The board for a terminal with colours, the squares of the last move marked."""
    from rich.text import Text

    shown, marked = letters(position), _marked(last)
    files = range(7, -1, -1) if turned else range(8)
    text = Text()
    for rank in _ranks(turned):
        text.append(f"{rank + 1} ", style="dim")
        for square in (8 * rank + file for file in files):
            symbol = _SYMBOLS.get(shown[square].lower(), " ")
            piece = _WHITE_PIECE if shown[square].isupper() else _BLACK_PIECE
            text.append(f"{symbol} ", style=f"{piece} on {_shade(square, square in marked)}")
        text.append("\n")
    return text.append(_edge(turned), style="dim")


def _shade(square: int, marked: bool) -> str:
    light = (square ^ square >> 3) & 1
    if marked:
        return _LIGHT_MOVED if light else _DARK_MOVED
    return _LIGHT if light else _DARK


def svg(board: chess.Board) -> str:
    """A board of python-chess as SVG in its own drawing, with the last move and a check marked."""
    import chess.svg

    king = board.king(board.turn) if board.is_check() else None
    last = board.move_stack[-1] if board.move_stack else None
    return str(chess.svg.board(board, lastmove=last, check=king, size=SVG_SIZE))

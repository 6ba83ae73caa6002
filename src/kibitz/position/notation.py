"""Moves as people and programs write them, and positions as they are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kibitz.core.errors import MoveError, NotationError
from kibitz.jit.compile import COMPILED
from kibitz.position.attacks import FLIP, KING, KNIGHT, PAWN, parse_square, square_name
from kibitz.position.fen import fen_of
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    FLIP_MOVE,
    MOVE_LIST,
    NO_MOVE,
    PROMOTION,
    list_moves,
)
from kibitz.position.outcome import has_legal_move
from kibitz.position.play import play
from kibitz.position.state import checkers, new_positions

if TYPE_CHECKING:
    import chess
    from rich.console import Console
    from rich.text import Text

_UCI = re.compile(r"([a-h][1-8])([a-h][1-8])([nbrqNBRQ])?")
_SAN = re.compile(
    r"([NBRQKP])?([a-h])?([1-8])?[-x:]?([a-h][1-8])(?:[=/]?\(?([NBRQKnbrqk])\)?)?(?: ?e\.?p\.?)?"
)
_CASTLES = re.compile(r"[0Oo]-?[0Oo](-?[0Oo])?")
_NULLS = frozenset({"--", "Z0", "0000", "@@@@"})
_SUFFIXES = "+#!? "
_NUMBER = re.compile(r"(?<!\S)(?:[0-9]{1,4}\s*[.\u2026]+|[.\u2026]{1,3})\s*")
RESULTS = frozenset({"1-0", "0-1", "1/2-1/2", "*"})  # as they stand behind the moves of a game


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """A move in White's view: origin, destination << 6, kind << 12 (see moves.py)."""

    code: int

    @property
    def origin(self) -> int:
        """Square the move starts from, 0 (a1) to 63 (h8)."""
        return self.code & 63

    @property
    def destination(self) -> int:
        """Square the move goes to; for castling, the square of the rook."""
        return self.code >> 6 & 63

    @property
    def promotion(self) -> int | None:
        """Piece type a pawn becomes (KNIGHT ... QUEEN), or None."""
        kind = self.code >> 12
        return kind - PROMOTION + KNIGHT if kind >= PROMOTION else None

    @property
    def is_castling(self) -> bool:
        """Whether the king castles with the rook on `destination`."""
        return self.code >> 12 == CASTLING

    def uci(self, chess960: bool | None = None) -> str:
        """Text in UCI; castling as king takes rook (True), as the king's step (False: e1g1).

        By default castling is e1g1 and the like only between the squares of ordinary chess.
        """
        if self.code == NO_MOVE:
            return "0000"
        origin, target = self.origin, self.destination
        if self.is_castling:
            ordinary = origin & 7 == 4 and target & 7 in (0, 7)
            if not (ordinary if chess960 is None else not chess960):
                return square_name(origin) + square_name(target)
            target = (origin & 56) + (6 if target > origin else 2)
        promotion = "" if self.promotion is None else "pnbrqk"[self.promotion]
        return square_name(origin) + square_name(target) + promotion

    def __str__(self) -> str:
        return self.uci()

    def __repr__(self) -> str:
        return f"<Move {self.uci()}>"


NULL = Move(NO_MOVE)


def legal_codes(position: np.record) -> np.ndarray:
    """The legal moves as the kernels see them, from the side to move; uint16 [count]."""
    target = np.zeros(1, dtype=MOVE_LIST)
    codes: np.ndarray = target["moves"][0]
    # Compiled kernels take a void four times as fast as a record; plain Python needs the record.
    record = target[0] if COMPILED else target.view(np.recarray)[0]
    return codes[: list_moves(position, record)]


def legal_moves(position: np.record) -> list[Move]:
    """The legal moves in the order of the generator."""
    view = _view(position)
    return [Move(code ^ view) for code in legal_codes(position).tolist()]


def relative(position: np.record, move: Move) -> Any:
    """The move as kernels see it, from the side to move; uint16, as they are compiled for it."""
    return np.uint16(move.code ^ _view(position))


def absolute(position: np.record, code: int) -> Move:
    """A kernel's move in White's view."""
    return Move(int(code) ^ _view(position))


def _view(position: np.record) -> int:
    return FLIP_MOVE if position["side"] else 0


# --- as people write them -----------------------------------------------------------------------


def unnumbered(text: str) -> str:
    """A move without its number.

    >>> unnumbered("1. e4"), unnumbered("12...O-O"), unnumbered("0-0")
    ('e4', 'O-O', '0-0')
    """
    bare = text.strip()
    number = _NUMBER.match(bare)
    return bare if number is None else bare[number.end() :]


def moves_in(texts: Iterable[str]) -> list[str]:
    """The moves of lists, one by one or many in a text, without their numbers and a result.

    >>> moves_in(["1.e4 e5", "2.", "Nf3"]), moves_in(["1... c5 2. Nf3 *"])
    (['e4', 'e5', 'Nf3'], ['c5', 'Nf3'])
    """
    words = _NUMBER.sub(" ", " ".join(texts)).split()
    return [word for word in words if word not in RESULTS]


# --- UCI ----------------------------------------------------------------------------------------


def looks_like_uci(text: str) -> bool:
    """Whether a text has the form of UCI; such a text means the same move in SAN."""
    return _UCI.fullmatch(text) is not None


def parse_uci(position: np.record, text: str) -> Move:
    """The legal move that UCI text means; castling as e1g1 or as e1h1 (king takes rook)."""
    match = _UCI.fullmatch(text)
    if match is None:
        fix = "expected something like e2e4, e7e8q or e1g1"
        raise NotationError("not a move in UCI notation", value=text, fix=fix)
    view = _view(position)
    flip = view & 63
    origin, target = parse_square(match[1]) ^ flip, parse_square(match[2]) ^ flip
    kind = PROMOTION - KNIGHT + "pnbrqk".index(match[3].lower()) if match[3] else 0
    squares = origin | target << 6
    castling = None
    for code in legal_codes(position).tolist():
        if code & 0xFFF == squares and (code >> 12 == kind if kind else code >> 12 < PROMOTION):
            return Move(code ^ view)
        if code & 63 == origin and code >> 12 == CASTLING and not kind:
            king_to = 6 if code >> 6 & 63 > origin else 2
            castling = code if king_to == target else castling
    if castling is None:
        raise _illegal(position, text)
    return Move(castling ^ view)


def _illegal(position: np.record, text: str, fix: str = "") -> MoveError:
    return MoveError(f"illegal move in {fen_of(position)}", value=text, fix=fix)


# --- SAN ----------------------------------------------------------------------------------------


def parse_san(position: np.record, text: str) -> Move:
    """The legal move that SAN text means.

    Forgiving about what carries no information: 0-0, e8Q, a missing x, + or #, marks like !?,
    more disambiguation than needed, up to e2-e4. The null move is written --.
    """
    bare = text.strip().rstrip(_SUFFIXES)
    if bare in _NULLS:
        return NULL
    castles = _CASTLES.fullmatch(bare)
    match = _SAN.fullmatch(bare) if castles is None else None
    if match is None and castles is None:
        fix = "expected something like Nf3, exd5, e8=Q or O-O"
        raise NotationError("not a move in algebraic notation", value=text, fix=fix)
    codes = legal_codes(position).tolist()
    if castles is not None:
        fitting = _castling(codes, long=castles[1] is not None)
    else:
        assert match is not None
        fits = _filter(position, match)
        fitting = [code for code in codes if fits(code)]
    if len(fitting) > 1 and all(code >> 12 >= PROMOTION for code in fitting):
        raise _illegal(position, text, fix=f"promote to a piece: {bare}=Q, {bare}=N, ...")
    if len(fitting) > 1:
        written = " or ".join(sorted(_san(position, code, codes) for code in fitting))
        raise MoveError("ambiguous move", value=text, fix=f"write {written}")
    if not fitting:
        raise _illegal(position, text)
    return Move(fitting[0] ^ _view(position))


def _castling(codes: list[int], long: bool) -> list[int]:
    """The castling moves towards one hand: at most one."""
    castling = [code for code in codes if code >> 12 == CASTLING]
    return [code for code in castling if (code >> 6 & 63 < code & 63) == long]


def _filter(position: np.record, match: re.Match[str]) -> Callable[[int], bool]:
    """A test of whether a move of the generator fits the parts of a SAN text."""
    flip = _view(position) & 63
    letter, column, row, target_name, promotion = match.groups()
    piece = "PNBRQK".index(letter) if letter else PAWN
    target = parse_square(target_name) ^ flip
    if piece == PAWN and column is None and row is None:
        column = target_name[0]  # only captures change the file, and they name it
    file = None if column is None else "abcdefgh".index(column)
    rank = None if row is None else "12345678".index(row) ^ flip >> 3
    kind = PROMOTION - KNIGHT + "PNBRQK".index(promotion.upper()) if promotion else None
    origins = position.item()[piece]

    def fits(code: int) -> bool:
        origin = code & 63
        return (
            code >> 6 & 63 == target
            and code >> 12 != CASTLING
            and bool(origins >> origin & 1)
            and (file is None or origin & 7 == file)
            and (rank is None or origin >> 3 == rank)
            and (kind is None or code >> 12 == kind)
        )

    return fits


def san_of(position: np.record, move: Move) -> str:
    """SAN of a legal move, with + or #."""
    if move == NULL:
        return "--"
    codes = legal_codes(position).tolist()
    code = move.code ^ _view(position)
    if code not in codes:
        raise _illegal(position, move.uci())
    return _san(position, code, codes) + _check_mark(position, code)


def legal_sans(position: np.record) -> list[str]:
    """SAN of every legal move, in the order of the generator."""
    codes = legal_codes(position).tolist()
    return [_san(position, code, codes) + _check_mark(position, code) for code in codes]


def _san(position: np.record, code: int, codes: list[int]) -> str:
    """SAN without the mark for check."""
    origin, target, kind = code & 63, code >> 6 & 63, code >> 12
    if kind == CASTLING:
        return "O-O" if target > origin else "O-O-O"
    boards = position.item()
    piece = next(piece for piece in range(KING + 1) if boards[piece] >> origin & 1)
    view = _view(position) & 63
    takes = "x" if boards[7] >> target & 1 or kind == EN_PASSANT else ""
    if piece == PAWN:
        start = square_name(origin)[0] if takes else ""
        promotion = "=" + "NBRQ"[kind - PROMOTION] if kind >= PROMOTION else ""
        return start + takes + square_name(target ^ view) + promotion
    start = _disambiguation(boards[piece], origin, target, codes, view)
    return "PNBRQK"[piece] + start + takes + square_name(target ^ view)


def _disambiguation(pieces: int, origin: int, target: int, codes: list[int], view: int) -> str:
    """File, rank or square that tells a piece from others of its kind that could go there."""
    others = {
        code & 63
        for code in codes
        if code >> 6 & 63 == target and code >> 12 != CASTLING and pieces >> (code & 63) & 1
    } - {origin}
    if not others:
        return ""
    name = square_name(origin ^ view)
    if all(other & 7 != origin & 7 for other in others):
        return name[0]
    return name[1] if all(other >> 3 != origin >> 3 for other in others) else name


def _check_mark(position: np.record, code: int) -> str:
    after = new_positions(1)[0]
    play(position, after, relative(position, Move(code ^ _view(position))))
    if not checkers(after):
        return ""
    return "+" if has_legal_move(after) else "#"


# --- drawing --------------------------------------------------------------------------------------
#
# How a position looks: plain letters, colours in a terminal, SVG in a notebook.


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

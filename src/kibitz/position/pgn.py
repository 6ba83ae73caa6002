"""PGN: games with tags, comments, marks and variations, read one by one and written.

One broken game does not cost the others: it is named and skipped. The parser is python-chess's;
around it stand what it leaves open: broken input, old encodings, tags that would break a line.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, TextIO, cast

import chess
import chess.pgn

from kibitz.errors import DamagedFileError, InputError, NotationError, shorten
from kibitz.files import Location, atomic_write
from kibitz.log import say
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.position.regular import MainLine, regular
from kibitz.unpacking import open_unpacked

COLUMNS = 100  # of the movetext
LONGEST_LINE = 1 << 24  # characters
_WRITTEN = str.maketrans({"\r": " ", "\n": " ", '"': '\\"', "\\": "\\\\"})  # in a tag
_ESCAPED = re.compile(r'\\(["\\])')
_TAG = re.compile(r'\[\w+\s+"')
_COMMENT = re.compile(r"\{[^}]*(\}|$)|;[^\n]*")
_LIKE_A_MOVE = re.compile(r"(?<![\w$%-])[KQRBN]?[a-z]?\d?[x-]?[a-z]\d{1,2}(?:=[A-Za-z])?(?!\w)")
# What is left of a move, its number or a result where a file was cut.
_CUT = re.compile(
    r"(?:\d+\.+)?(?:[KQRBN][a-h]?[1-8]?[x-]?[a-h]?|[a-h][1-8]?[x-]?[a-h]?|O-?O?-|O|[01]-|1/(?:2-?|2-1/?)?)"
)
_A_MOVE = re.compile(r"[KQRBN]?[a-h]?[1-8]?[x-]?[a-h][1-8](?:=?[NBRQKnbrqk])?")


@dataclass(frozen=True)
class BadGame:
    """A game that was skipped: the file, its number there (from 1), its first line and why."""

    source: str
    number: int
    line: int
    reason: str
    tree: chess.pgn.Game | None = None  # the moves before one that is not legal, if there are some

    def __str__(self) -> str:
        return f"{self.source}: game {self.number} (line {self.line}) skipped: {self.reason}"


@dataclass(frozen=True)
class Game:
    """A game: `tree` holds the tags, moves, comments, marks (NAGs) and variations."""

    number: int
    tree: chess.pgn.Game
    line: int = 0  # where it begins in its file

    @property
    def tags(self) -> dict[str, str]:
        """The tags in the order of the file."""
        return dict(self.tree.headers)

    @property
    def result(self) -> str:
        """1-0, 0-1, 1/2-1/2 or * as the tag has it."""
        return self.tree.headers.get("Result", "*")

    @property
    def start(self) -> Board:
        """The position the game starts from."""
        return Board.from_chess(self.tree.board())

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves of the main line."""
        return self.board().moves

    def board(self) -> Board:
        """The main line, played."""
        return Board.from_chess(self.tree.end().board())

    def __str__(self) -> str:
        return text_of(self.tree)


def _say(bad: BadGame) -> None:
    say(str(bad))


def read_games(
    source: Location | IO[str], on_bad: Callable[[BadGame], None] = _say
) -> Iterator[Game]:
    """The games of a file, a URL or an open text, as they are needed; `on_bad` gets the rest.

    Text is UTF-8, Latin-1 in lines that are not, or UTF-16 with its mark; files may be packed
    (.gz, .bz2, .xz, .zst, .zip).
    """
    lines = _Lines(read_lines(source))
    for number in lines.numbers_of_games():
        yield from _read(lines, _name(source), number, on_bad)


def read_main_lines(
    source: Location | IO[str], on_bad: Callable[[BadGame], None] = _say
) -> Iterator[Game | MainLine]:
    """The same games, regular ones without their trees and so several times as fast."""
    lines = _Lines(read_lines(source))
    for number in lines.numbers_of_games():
        text = lines.take_game()
        game = regular(text)
        if game is None:
            lines.put_back(text)
            yield from _read(lines, _name(source), number, on_bad)
        else:
            yield game


def _name(source: Location | IO[str]) -> str:
    name = source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", "text")
    return os.fspath(name)


def read_lines(source: Location | IO[str]) -> Iterator[str]:
    """The lines of a file, a URL or an open text, decoded as `read_games` says."""
    if isinstance(source, io.TextIOBase):
        yield from source
        return
    assert not hasattr(source, "read")
    with open_unpacked(source) as file:
        # Universal line ends; bytes that are not UTF-8 survive for `_mended`.
        start = io.BufferedReader(cast(io.RawIOBase, file))
        wide = start.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        encoding, errors = ("utf-16", "replace") if wide else ("utf-8", "surrogateescape")
        text = io.TextIOWrapper(start, encoding=encoding, errors=errors, newline=None)
        while line := text.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                what = f"a line of more than {LONGEST_LINE:,} characters is no text of games"
                raise DamagedFileError(what, value=_name(source), fix="is it another kind of file?")
            yield _mended(line)


def parse_game(text: str) -> Game:
    """The only, or first, game of a text; raises NotationError."""
    bad: list[BadGame] = []
    game = next(read_games(io.StringIO(text), bad.append), None)
    if game is None:
        reason = bad[0].reason if bad else "no game in it"
        raise NotationError(f"PGN: {reason}", value=text)
    return game


def _read(
    lines: _Lines, name: str, number: int, on_bad: Callable[[BadGame], None]
) -> Iterator[Game]:
    """The next game, if nothing is wrong with it."""
    line, tagged = lines.number, lines.at_tag()
    lines.taken.clear()
    try:
        tree = chess.pgn.read_game(cast(TextIO, lines), Visitor=_Builder)
        reason = "" if tree is None else _fault(tree, tagged, lines.taken)
    except (ValueError, IndexError, AssertionError) as error:
        # What python-chess lets through: unknown variants, variations before the first move.
        named = str(error) if isinstance(error, ValueError) else ""
        tree, reason = None, named or "its moves cannot be read"
        lines.skip_game()
    other = _swallowed(lines.taken)
    if other:
        lines.put_back(lines.taken[other:])
        reason = "a comment that begins with { does not end before the next game"
    if reason:
        legal = tree if tree is not None and tree.errors and tree.variations else None
        readable = legal if legal and reason == str(legal.errors[0]) and not other else None
        on_bad(BadGame(name, number, line, shorten(reason, 300), readable))
    elif tree is not None:
        yield Game(number, tree, line)


def _fault(tree: chess.pgn.Game, tagged: bool, lines: list[str]) -> str:
    """Why a parsed game cannot be used, or an empty text."""
    wrong = _wrong_start(tree)  # first: no move is legal where no game can begin
    wrong = wrong or _left_out(lines)
    if wrong or tree.errors:
        return wrong or str(tree.errors[0])
    if not (tagged or tree.variations or tree.comment) and tree.headers["Result"] == "*":
        return "neither tags nor moves"
    if any(not node.move for node in tree.mainline()):  # python-chess passes in check, too
        try:
            Board.from_chess(tree.end().board())
        except InputError as error:
            return str(error)
    return ""


def _swallowed(lines: list[str]) -> int:
    """The first line of another game that an open comment has taken in; 0 if there is none.

    A comment may speak of a tag; of more than one, or without an end, it is no comment.
    """
    opened = False
    for number, line in enumerate(lines):
        blank = number and not lines[number - 1].strip()
        if opened and blank and line.startswith("[Event "):
            rest = lines[number + 1 :]
            if not any("}" in one for one in rest) or _TAG.match(rest[0]):
                return number
        opened = opened or ("{" in line and line[0] != "%" and not _TAG.match(line))
    return 0


def _left_out(lines: list[str]) -> str:
    """Why a text that was read is not all of it: python-chess passes over squares that are none."""
    text = "".join(line for line in lines if not (line[0] == "%" or _TAG.match(line)))
    text = _COMMENT.sub(" ", text)
    for found in _LIKE_A_MOVE.finditer(text):
        if not _A_MOVE.fullmatch(found[0]):
            return f"not a move in algebraic notation: {found[0]!r}"
    last = text[-20:].split()[-1:]
    if last and _CUT.fullmatch(last[0]) and not _A_MOVE.fullmatch(last[0].rpartition(".")[2]):
        return f"it ends in the middle of a move: {last[0]!r}; is the file cut?"
    return ""


def _wrong_start(tree: chess.pgn.Game) -> str:
    """Why no game can begin as the tags say, or an empty text."""
    try:
        board = tree.board()
        if board.uci_variant != "chess":
            return f"variant {tree.headers.get('Variant')!r} is not played here"
        Board.from_chess(board)
    except ValueError as error:  # python-chess's or ours
        return str(error)
    return ""


class _Builder(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Collects errors for the caller instead of logging them; reads escaped tags."""

    def __init__(self) -> None:
        super().__init__(Game=chess.pgn.Game)

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        super().visit_header(tagname, _ESCAPED.sub(r"\1", tagvalue))

    def handle_error(self, error: Exception) -> None:
        self.game.errors.append(error)


class _Lines:
    """Lines of text as python-chess reads them, with some looked at in advance."""

    def __init__(self, source: Iterator[str]) -> None:
        self._source = source
        self._ahead: list[str] = []  # the next one is last
        self._read = 0
        self.taken: list[str] = []  # what was read since it was emptied

    @property
    def number(self) -> int:
        """Of the next line, from 1."""
        return self._read + 1

    def readline(self) -> str:
        line = self._peek()
        self._ahead.pop()
        self._read += bool(line)
        if line:
            self.taken.append(line)
        return line

    def _peek(self) -> str:
        if not self._ahead:
            self._ahead.append(next(self._source, ""))
        return self._ahead[-1]

    def at_tag(self) -> bool:
        """Whether the next line is a tag."""
        return self._peek().startswith("[")

    def numbers_of_games(self) -> Iterator[int]:
        """Go to the next game, as long as there is one; its number, from 1."""
        number = 0
        while self._skip_blank():
            number += 1
            self.taken.clear()
            yield number

    def _skip_blank(self) -> bool:
        """Go to the next line with text on it; whether there is one."""
        while self._peek() and not self._peek().strip("\ufeff \t\r\n"):
            self.readline()
        return bool(self._peek())

    def take_game(self) -> list[str]:
        """The lines of a regular game: tags, an empty line, moves, an empty line."""
        lines: list[str] = []
        while self.at_tag():
            lines.append(self.readline())
        for _ in range(2):  # to the empty line after the tags, and to the one after the moves
            while line := self.readline():
                lines.append(line)
                if line.isspace():
                    break
        return lines

    def put_back(self, lines: list[str]) -> None:
        """Have lines read again."""
        self._ahead += reversed(lines)
        self._read -= len(lines)

    def skip_game(self) -> None:
        """Go past the rest of a game that could not be read: to tags after an empty line."""
        empty = False
        while self._peek() and not (empty and self.at_tag()):
            empty = not self._peek().strip()
            self.readline()


def _mended(line: str) -> str:
    """A line as UTF-8 or, if it is not, as Latin-1."""
    if line.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in line):
        return line
    return line.encode("utf-8", "surrogateescape").decode("latin-1")


# --- writing ------------------------------------------------------------------------------------


def game_of(board: Board, tags: dict[str, str] | None = None) -> Game:
    """The game played on a board, with its result if it has ended."""
    tree = chess.pgn.Game.from_board(board.to_chess())
    end = board.outcome()
    tree.headers["Result"] = "*" if end is None else end.result
    for name, value in (tags or {}).items():
        tree.headers[name] = value
    return Game(1, tree)


class _Exporter(chess.pgn.StringExporter):
    """Writes what python-chess leaves out: escapes in tags, and marks before the first move."""

    def __init__(self, tree: chess.pgn.Game) -> None:
        super().__init__(columns=COLUMNS)
        self._marks = sorted(tree.nags)

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        super().visit_header(tagname, tagvalue.translate(_WRITTEN))

    def visit_board(self, board: chess.Board) -> None:
        super().visit_board(board)
        for mark in self._marks:  # of the first board, before its comment
            self.visit_nag(mark)
        self._marks = []


def text_of(tree: chess.pgn.Game) -> str:
    """The PGN of a game; line breaks in tags become spaces."""
    return tree.accept(_Exporter(tree))


def write_games(location: Location, games: Iterable[Game]) -> int:
    """Write a file of games, atomically; returns how many."""
    count = 0
    with atomic_write(location) as file:
        for game in games:
            file.write(f"{game}\n\n".encode())
            count += 1
    return count

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
from dataclasses import dataclass, field
from typing import IO, Literal, NamedTuple, TextIO, cast

import chess
import chess.engine
import chess.pgn

from kibitz.core.errors import DamagedFileError, InputError, NotationError, shorten
from kibitz.core.files import Location, atomic_write
from kibitz.core.log import say
from kibitz.core.unpacking import open_unpacked
from kibitz.position.board import Board
from kibitz.position.notation import RESULTS, Move
from kibitz.position.reading import (
    ENGLISH,
    TAG,
    UNREADABLE,
    Builder,
    Lines,
    MoveTexts,
    UnreadableMoveError,
)
from kibitz.position.regular import MainLine, regular

COLUMNS = 100  # of the movetext
UNREAD = "its moves cannot be read"
LONGEST_LINE = 1 << 24  # characters
# Hours of no more digits than a clock has: Python reads no number of thousands.
_TIMES = {
    name: re.compile(rf"\[%{name}\s+(\d{{1,6}}):(\d{{1,2}}):(\d{{1,2}}(?:\.\d{{1,9}})?)\s*\]")
    for name in ("clk", "emt")
}
LONGEST_MATE = 6  # digits and sign of a mate in so many moves
_WRITTEN = str.maketrans({"\r": " ", "\n": " ", '"': '\\"', "\\": "\\\\"})  # in a tag
_COMMENT = re.compile(r"\{[^}]*(\}|$)|;[^\n]*")
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
    tree: chess.pgn.Game | None = None  # what could be read, if there are moves
    move: str = ""  # behind it: the one that is not legal, with its number, if it is known

    def __str__(self) -> str:
        return f"{self.source}: game {self.number} (line {self.line}) skipped: {self.reason}"


@dataclass(frozen=True)
class Game:
    """A game: `tree` holds the tags, moves, comments, marks (NAGs) and variations."""

    number: int
    tree: chess.pgn.Game
    line: int = 0  # where it begins in its file
    notation: str = ""  # the language of its letters, or "figurine"; empty for English
    text: str = ""  # its lines, as they were read
    cut: str = ""  # why a variation ends earlier than it was written; the game itself is whole
    other_result: str = ""  # that stands behind the moves, where the tag has another

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


@dataclass
class Progress:
    """What was read of a file whose games are read in pieces: games are named by it."""

    lines: int = 0  # before the next piece
    games: int = 0
    counted: bool = True  # whether these are all games so far; else a line alone names a game
    noted: set[str] = field(default_factory=set)  # notations that were spoken of

    def name(self, game: Game) -> str:
        """What a game is called in a note."""
        return f"game {game.number} (line {game.line})" if self.counted else f"line {game.line}"


def _say(bad: BadGame) -> None:
    say(str(bad))


def read_games(
    source: Location | IO[str],
    on_bad: Callable[[BadGame], None] = _say,
    most_moves: int | None = None,
) -> Iterator[Game]:
    """The games of a file, a URL or an open text, as they are needed; `on_bad` gets the rest.

    Letters of pieces may be those of another language, or figurines: what is legal over the whole
    game tells which (`Game.notation`).

    A game of more than `most_moves`, variations included, is read no further than that, and left
    out.

    Text is UTF-8, Latin-1 in lines that are not, or UTF-16 with its mark; files may be packed
    (.gz, .bz2, .xz, .zst, .zip).
    """
    yield from _noted(_games(source, on_bad, most_moves), Progress())


def _games(
    source: Location | IO[str], on_bad: Callable[[BadGame], None], most_moves: int | None = None
) -> Iterator[Game]:
    lines = Lines(read_lines(source))
    for number, _ in enumerate(lines.at_games(), start=1):
        yield from _read(lines, _name(source), number, on_bad, most_moves)


def read_main_lines(
    source: Location | IO[str],
    on_bad: Callable[[BadGame], None] = _say,
    progress: Progress | None = None,
) -> Iterator[Game | MainLine]:
    """The same games, regular ones without their trees and so several times as fast.

    With `progress` the source is a piece of a file, and the games are counted on.
    """
    progress = Progress() if progress is None else progress
    lines = Lines(read_lines(source), progress.lines)
    for _ in lines.at_games():
        progress.games += 1
        text = lines.take_game()
        game = regular(text)
        if game is None:
            lines.put_back(text)
            yield from _noted(_read(lines, _name(source), progress.games, on_bad), progress)
        else:
            yield game
    progress.lines = lines.number - 1


def _noted(games: Iterator[Game], progress: Progress) -> Iterator[Game]:
    """Games, with a word about variations that were cut, and each new notation but English."""
    for game in games:
        if game.cut:
            say(f"{progress.name(game)}: a variation is cut: {game.cut}")
        if game.other_result:
            both = f"{game.result} in the tag, {game.other_result} behind the moves"
            say(f"{progress.name(game)}: two results, {both}; the tag counts")
        if game.notation and game.notation not in progress.noted:
            progress.noted.add(game.notation)
            say(f"{progress.name(game)} is read in {game.notation} notation, as are others like it")
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


def parse_game(text: str, most_moves: int | None = None) -> Game:
    """The only, or first, game of a text, as `read_games` has it; raises NotationError.

    In what notation it is written is not said: who read its file has said so.
    """
    bad: list[BadGame] = []
    game = next(_games(io.StringIO(text), bad.append, most_moves), None)
    if game is None:
        reason = bad[0].reason if bad else "no game in it"
        raise NotationError(f"PGN: {reason}", value=text)
    return game


def _read(
    lines: Lines,
    name: str,
    number: int,
    on_bad: Callable[[BadGame], None],
    most_moves: int | None = None,
) -> Iterator[Game]:
    """The next game, if nothing is wrong with it."""
    line, tagged = lines.number, lines.at_tag()
    lines.begin()
    tree, fault = _parsed(cast(TextIO, lines), most_moves)
    if fault and tree is None:
        lines.skip_game()
    notation, no_start, cut = "", "", ""
    if tree is not None:
        no_start = fault = _wrong_start(tree)
        if not no_start:
            tree, notation, fault = _in_its_notation(tree, MoveTexts("".join(lines.taken)))
            if fault and tree.errors and all(map(_is_in_variation, tree.errors)):
                cut, fault = shorten(fault, 300), ""
            fault = fault or _fault(tree, tagged, lines.taken)
    if lines.swallows:
        fault = "a comment that begins with { does not end before the next game"
    if fault:
        part = tree if tree is not None and tree.variations and not no_start else None
        move = "" if part is None or lines.swallows else _move_at_fault(part)
        on_bad(BadGame(name, number, line, shorten(fault, 300), part, move))
    elif tree is not None:
        last, tag = _last_word(lines.taken), tree.headers.get("Result", "*")
        other = last if last != tag and {last, tag} <= RESULTS - {"*"} else ""
        yield Game(number, tree, line, notation, "".join(lines.taken), cut, other)


def _worst_error(tree: chess.pgn.Game) -> Exception | None:
    """The first error of a game, where there is one of the main line that one."""
    main = (error for error in tree.errors if not _is_in_variation(error))
    return next(main, tree.errors[0] if tree.errors else None)


def _is_in_variation(error: Exception) -> bool:
    """Whether only a variation ends by it."""
    return isinstance(error, UnreadableMoveError) and error.in_variation


def _move_at_fault(tree: chess.pgn.Game) -> str:
    """The move at which the main line ends by a fault, with its number; empty for variations."""
    error = _worst_error(tree)
    at_end = isinstance(error, UnreadableMoveError) and error.fen == tree.end().board().fen()
    return error.move if isinstance(error, UnreadableMoveError) and at_end else ""


def _parsed(text: TextIO, most_moves: int | None = None) -> tuple[chess.pgn.Game | None, str]:
    """The next game of a text as python-chess reads it, or why it cannot be read at all."""
    try:
        return chess.pgn.read_game(text, Visitor=lambda: Builder(most_moves)), ""
    except (ValueError, IndexError, AssertionError) as error:
        # What python-chess lets through: unknown variants, variations before the first move.
        if "integer string" in str(error):
            return None, "a mark ($) with thousands of digits"
        return None, (str(error) if isinstance(error, ValueError) else "") or UNREAD


def _in_its_notation(tree: chess.pgn.Game, texts: MoveTexts) -> tuple[chess.pgn.Game, str, str]:
    """A game as it is read in the notation that it is written in, its name, and what is wrong.

    A game of English letters that is legal as it stands is one; else the moves of every notation
    that knows its letters are tried, and what is legal from the first to the last is taken.
    """
    languages = texts.languages()
    is_english = ENGLISH in languages
    readings: list[_Reading] = []
    for language in [ENGLISH, *(name for name in languages if name != ENGLISH)]:
        text, unreadable = texts.in_english(language)
        if is_english and text == texts.text and not tree.errors:
            return tree, "", ""
        if language != ENGLISH and is_english and text == texts.text:
            continue  # pawns' moves alone are the same in all of them
        reading = _reading(text, texts.named(language), unreadable)
        if reading is not None:
            readings.append(reading)
            if language == ENGLISH and is_english and not reading.fault:
                break
    whole = [reading for reading in readings if not reading.fault]
    if len({tuple(reading.tree.mainline_moves()) for reading in whole}) > 1:
        names = " and as ".join(reading.notation for reading in whole)
        return tree, "", f"it can be read as {names}, with different moves"
    if not readings:
        return tree, "", UNREAD
    # Where nothing fits, English letters are English, and others are what goes furthest.
    best = readings[0] if is_english else max(readings, key=lambda reading: reading.plies)
    return (whole or [best])[0]


class _Reading(NamedTuple):
    """A game as it is read in a notation."""

    tree: chess.pgn.Game
    notation: str
    fault: str

    @property
    def plies(self) -> int:
        """How many moves could be read."""
        return sum(1 for _ in self.tree.mainline())


def _reading(text: str, notation: str, unreadable: list[str]) -> _Reading | None:
    """A game whose moves were put into English; `unreadable` are the words that were none."""
    tree, _ = _parsed(cast(TextIO, Lines(io.StringIO(text))))
    if tree is None:
        return None
    error = _worst_error(tree)
    fault = str(error) if error else ""
    if unreadable and isinstance(error, UnreadableMoveError):
        fault = fault.replace(UNREADABLE, unreadable[0])
        error.move = error.move.replace(UNREADABLE, unreadable[0])
    if fault and notation:
        fault = f"{fault} (in {notation} notation)"
    return _Reading(tree, notation, fault)


def _fault(tree: chess.pgn.Game, tagged: bool, lines: list[str]) -> str:
    """Why a parsed game cannot be used, or an empty text."""
    cut = _cut_move(lines)
    if cut:
        return f"it ends in the middle of a move: {cut!r}; is the file cut?"
    if not (tagged or tree.variations or tree.comment) and tree.headers["Result"] == "*":
        return "neither tags nor moves"
    if any(not node.move for node in tree.mainline()):  # python-chess passes in check, too
        try:
            Board.from_chess(tree.end().board())
        except InputError as error:
            return str(error)
    return ""


def _cut_move(lines: list[str]) -> str:
    """The piece of a move at the end of a text, or an empty text."""
    last = _last_word(lines)
    is_cut = _CUT.fullmatch(last) and not _A_MOVE.fullmatch(last.rpartition(".")[2])
    return last if is_cut else ""


def _last_word(lines: list[str]) -> str:
    """What stands last behind the moves, comments left out."""
    text = "".join(line for line in lines if not (line[0] == "%" or TAG.match(line)))
    return "".join(_COMMENT.sub(" ", text)[-20:].split()[-1:])


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


def _mended(line: str) -> str:
    """A line as UTF-8 or, if it is not, as Latin-1."""
    if line.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in line):
        return line
    return line.encode("utf-8", "surrogateescape").decode("latin-1")


# --- comments -----------------------------------------------------------------------------------


def seconds_of(node: chess.pgn.GameNode, name: Literal["clk", "emt"]) -> float | None:
    """The player's clock after a move, or the time that it took, in seconds; None without one."""
    time = _TIMES[name].search(node.comment)
    return None if time is None else 3600 * int(time[1]) + 60 * int(time[2]) + float(time[3])


def eval_of(node: chess.pgn.GameNode, turn: chess.Color) -> chess.engine.PovScore | None:
    """What the first `[%eval]` of a comment says; `turn` is the side to move after the node's move.

    python-chess's own goes back to the start of the game for the side, and falls over long numbers.
    """
    value = chess.pgn.EVAL_REGEX.search(node.comment)
    if value is None or len(value["mate"] or "") > LONGEST_MATE:
        return None
    if value["mate"] is None:
        return chess.engine.PovScore(chess.engine.Cp(round(float(value["cp"]) * 100)), chess.WHITE)
    mate = chess.engine.Mate(int(value["mate"]))
    side = chess.WHITE if mate.mate() else turn  # who is mated is to move
    return chess.engine.PovScore(mate, side)


def main_turns(tree: chess.pgn.Game) -> Iterator[tuple[chess.pgn.GameNode, chess.Color]]:
    """The start and the moves of the main line, each with the side to move after it."""
    turn, node = tree.board().turn, cast(chess.pgn.GameNode | None, tree)
    while node is not None:
        yield node, turn
        turn, node = not turn, node.next()


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


def move_number(ply: int) -> str:
    """What is written before the move after so many plies.

    >>> move_number(0), move_number(23)
    ('1.', '12...')
    """
    return f"{ply // 2 + 1}{'...' if ply % 2 else '.'}"


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

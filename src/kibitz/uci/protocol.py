"""Lines from a GUI as data, and the channel of lines to it, with a file that logs both directions.

Whatever is wrong with a line becomes a note, never an error.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kibitz.core.errors import InputError, shorten
from kibitz.core.log import say
from kibitz.search.limits import LARGEST, Limits

if TYPE_CHECKING:
    from kibitz.position.board import Board, Side

LONGEST_MESSAGE = 2_000  # characters of a line for people, whatever it quotes
LONGEST_NUMBER = 18  # digits that are read at all; more is taken for LARGEST

# Numbers of `go` and their least values; a smaller one is raised to the least, with a note.
NUMBERS = {
    "wtime": -LARGEST,
    "btime": -LARGEST,
    "winc": 0,
    "binc": 0,
    "movestogo": 0,
    "depth": 1,
    "nodes": 1,
    "mate": 1,
    "movetime": 0,
    "perft": 1,
}
FLAGS = ("infinite", "ponder")
GO_WORDS = frozenset({*NUMBERS, *FLAGS, "searchmoves"})

_NUMBER = re.compile(r"[+-]?[0-9]+")
_OPTION = re.compile(r"\s*name\s+(?P<name>.*?)(?:\s+value(?:\s+(?P<value>.*?))?)?\s*", re.DOTALL)


class Go(NamedTuple):
    """What `go` asks for."""

    limits: Limits | None  # None: limits were given, but none that can be read
    perft: int | None
    notes: tuple[str, ...]


class PositionCommand(NamedTuple):
    """What `position` says."""

    fen: str | None  # None: the start of the game
    moves: tuple[str, ...]


def parse_go(tokens: Sequence[str]) -> Go:
    """Read the words after `go`; unknown ones are named and left out.

    >>> parse_go("nodes 800 searchmoves e2e4 d2d4 ponder".split()).limits.searchmoves
    ('e2e4', 'd2d4')
    """
    values: dict[str, Any] = {}
    notes: list[str] = []
    unknown: list[str] = []
    index = 0
    while index < len(tokens):
        word, index = tokens[index], index + 1
        if word in FLAGS:
            values[word] = True
        elif word == "searchmoves":
            moves = _moves_from(tokens, index)
            values[word], index = values.get(word, ()) + moves, index + len(moves)
        elif word in NUMBERS:
            typed = tokens[index] if index < len(tokens) else ""
            value = _number(typed)
            if value is None:
                notes.append(f"go {word}: expected a whole number, found {typed[:40]!r}")
                continue
            least, index = NUMBERS[word], index + 1
            if value >= least:
                values[word] = min(LARGEST, value)
            elif word == "perft":
                notes.append(f"go perft: expected {least} or more, found {value}")
            else:
                values[word] = least
                notes.append(f"go {word}: {value} is taken for {least}, the least")
        else:
            unknown.append(word)
    if unknown:
        notes.append(f"go: not known: {' '.join(unknown)[:80]}")
    perft = values.pop("perft", None)
    limits = Limits(**values)
    unreadable = bool(notes) and limits.unlimited and not (limits.infinite or limits.ponder)
    return Go(None if unreadable else limits, perft, tuple(notes))


def _number(typed: str) -> int | None:
    if _NUMBER.fullmatch(typed) is None:
        return None
    return int(typed) if len(typed) <= LONGEST_NUMBER else LARGEST * (-1 if typed[0] == "-" else 1)


def _moves_from(tokens: Sequence[str], index: int) -> tuple[str, ...]:
    """What stands for moves from an index on: all up to the next word of `go`."""
    end = index
    while end < len(tokens) and tokens[end] not in GO_WORDS:
        end += 1
    return tuple(tokens[index:end])


def legal_only(board: Board, limits: Limits) -> tuple[Limits, list[str]]:
    """The limits with those of their `searchmoves` that are legal, and the others.

    They are read as the moves of `position` are, but that none may pass.
    """
    moves, legal, wrong = {*board.legal_moves}, list[str](), list[str]()
    for text in limits.searchmoves:
        try:
            is_legal = board.parse(text) in moves
        except InputError:
            is_legal = False
        (legal if is_legal else wrong).append(text)
    return replace(limits, searchmoves=tuple(legal)), wrong


def with_own_clock(limits: Limits, side: Side) -> Limits:
    """The limits with the other side's clock for ours where it is the only one, and no other limit.

    Else a program that sends but one clock would wait for ever.
    """
    ends = limits.after_ponderhit().ends_for(side)
    other: Side = "black" if side == "white" else "white"
    clock = limits.clock(other)
    if ends or limits.infinite or clock is None or limits.clock(side) is not None:
        return limits
    if side == "white":
        return replace(limits, wtime=clock.left, winc=clock.increment)
    return replace(limits, btime=clock.left, binc=clock.increment)


def parse_position(tokens: Sequence[str]) -> PositionCommand | None:
    """Read the words after `position`; None if they name no position.

    >>> parse_position("startpos moves e2e4".split())
    PositionCommand(fen=None, moves=('e2e4',))
    """
    rest = list(tokens)
    cut = rest.index("moves") if "moves" in rest else len(rest)
    moves = tuple(rest[cut + 1 :])
    if rest[:1] == ["startpos"]:
        if cut > 1:
            fix = "expected the word moves before them; the position stays as it was"
            raise InputError("position startpos", value=" ".join(rest[1:cut])[:80], fix=fix)
        return PositionCommand(None, moves)
    if rest[:1] == ["fen"] and cut > 1:
        return PositionCommand(" ".join(rest[1:cut]), moves)
    return None


class Standing(NamedTuple):
    """A board, and what it was set up by."""

    place: PositionCommand
    chess960: bool
    board: Board


def board_at(place: PositionCommand, *, chess960: bool, before: Standing | None = None) -> Board:
    """The board with all moves played; the error names the first that is not legal.

    Where the moves go on from those `before`, which a GUI sends again with every move of a game,
    only the new ones are played.
    """
    from kibitz.position.board import Board
    from kibitz.position.fen import START

    known = len(before.place.moves) if before is not None else 0
    if (
        before is not None
        and (before.place.fen, before.chess960) == (place.fen, chess960)
        and before.place.moves == place.moves[:known]
    ):
        board = before.board.copy()
    else:
        known, board = 0, Board(place.fen or START, chess960=chess960)
    for number, move in enumerate(place.moves[known:], start=known + 1):
        try:
            board.push(move)
        except InputError as error:
            what = f"position: move {number} is not legal"
            raise InputError(what, value=move, fix="the position stays as it was") from error
    return board


def parse_option(rest: str) -> tuple[str, str] | None:
    """Name and value after `setoption`; both may hold spaces. None if there is no name.

    >>> parse_option("name Move Overhead value 30")
    ('Move Overhead', '30')
    """
    match = _OPTION.fullmatch(rest)
    if match is None or not match["name"]:
        return None
    return match["name"], match["value"] or ""


# --- to a GUI -------------------------------------------------------------------------------------


Write = Callable[[str], None]


class Channel:
    """Sends lines, from any thread, and logs the lines of both directions."""

    def __init__(self, write: Write) -> None:
        self.gone = False  # whether the other side has closed its end
        self._out, self._writing = write, threading.Lock()
        self._log: IO[str] | None = None

    def write(self, line: str) -> None:
        """Send a line; none is tried any more once the other side has gone."""
        with self._writing:
            self._add_to_log("<<", line)
            if self.gone:
                return
            try:
                self._out(line)
            except OSError:  # the other side has closed its end
                self.gone = True

    @staticmethod
    def message(text: str) -> str:
        """An `info string` line, cut where it is too long."""
        return f"info string {shorten(' '.join(text.split()), LONGEST_MESSAGE)}"

    def heard(self, line: str) -> None:
        """Note a line of the other side."""
        with self._writing:
            self._add_to_log(">>", line.rstrip("\r\n"))

    def _add_to_log(self, direction: str, line: str) -> None:
        if self._log is None:
            return
        try:
            self._log.write(f"{direction} {line}\n")
        except OSError as error:
            with suppress(OSError):  # what it still holds cannot be written, either
                self._log.close()
            self._log = None
            say(f"LogFile: {error}; nothing more is written to it")

    def log_into(self, name: str) -> None:
        """Add all lines to a file from now on; to none if the name is empty."""
        try:
            path = Path(name).expanduser()
            log = path.open("a", 1, "utf-8", "backslashreplace") if name else None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            fix = "name a file that can be written"
            raise InputError(f"LogFile: {reason}", value=name, fix=fix) from error
        self.close()
        self._log = log

    def close(self) -> None:
        """Close the file."""
        if self._log is not None:
            self._log.close()
            self._log = None


# --- lines of input and output --------------------------------------------------------------------
#
# Lines of standard input, read on a thread so that `quit` is heard at any time, and of the output.
#
# Kernels are compiled on the main thread, which obeys no line meanwhile. `quit`, the end of the
# input or Ctrl-C that come then end the program at once; there is nothing to be lost but some
# compiling. Those that came before the compiling began end a script, whose lines are all obeyed
# first.


class StandardInput:
    """The lines of standard input, or of another source, up to `quit`."""

    def __init__(self, source: Iterable[str] | None = None) -> None:
        self._source = _open_input() if source is None else source
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended = self._compiling = False
        self._handler = signal.getsignal(signal.SIGINT)
        threading.Thread(target=self._read, name="uci input", daemon=True).start()

    def __iter__(self) -> Iterator[str]:
        while (line := self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        for line in self._source:
            self._lines.put(line)
            if line.split()[:1] == ["quit"]:
                break
        self._lines.put(None)
        with self._lock:
            self._ended = True
            if self._compiling:
                os._exit(0)

    def set_compiling(self, compiling: bool) -> None:
        """Kernels are compiled from now on, or are so no longer."""
        with self._lock:
            self._compiling = compiling and not self._ended
        if threading.current_thread() is not threading.main_thread():
            return  # a search's own thread compiles; Python sets signals on the main one only
        # A handler in Python would wait for LLVM.
        signal.signal(signal.SIGINT, signal.SIG_DFL if compiling else self._handler)


def write_line(line: str) -> None:
    """Write a line to standard output and flush it: GUIs wait for it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _open_input() -> Iterable[str]:
    """Open standard input anew: Python cannot exit while a thread reads `sys.stdin`.

    Where the caller has closed it (`<&-`) it has ended.
    """
    if sys.stdin is None:
        return ()
    if not isinstance(sys.stdin, TextIOWrapper):
        return sys.stdin
    return open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False)

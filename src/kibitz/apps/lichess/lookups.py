"""Moves that need no search: of books and repertoires, the opening explorer, online tablebases.

    a position -> **lookups** -> a move and where it is from, or nothing: then the engine thinks

What is online is asked with a budget of time, while the clock has enough; where it does not answer,
or makes no sense, the engine thinks, and after some failures it is left alone for a while.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlencode

import msgspec

from kibitz.apps.lichess.config import Lichess
from kibitz.coach.repertoire import Prepared, read_repertoire
from kibitz.coach.tree import book_moves
from kibitz.core.downloads import with_retries
from kibitz.core.errors import InputError, KibitzError
from kibitz.core.places import existing, place
from kibitz.position.board import Board
from kibitz.position.notation import Move, absolute

BOOK, REPERTOIRE = ".bin", ".pgn"
MOST_PIECES = 7  # in online tablebases
LONGEST_ANSWER = 1 << 18  # bytes
FAILURES, REST_SECONDS = 3, 600.0  # in a row, after which a server is left alone
GOOD = 0.05  # of the points that a move of the explorer may have less than the best one
Answer = TypeVar("Answer")


class KnownMove(NamedTuple):
    """A move and its source."""

    move: Move
    source: str


class ExplorerMove(msgspec.Struct, frozen=True):
    """A move of the opening explorer, and how the games went."""

    uci: str
    white: int = 0
    draws: int = 0
    black: int = 0

    @property
    def games(self) -> int:
        """In which it was played."""
        return self.white + self.draws + self.black

    def points(self, white: bool) -> float:
        """The share that a side has taken."""
        return ((self.white if white else self.black) + self.draws / 2) / max(1, self.games)


class ExplorerAnswer(msgspec.Struct, frozen=True):
    """The explorer's answer for a position."""

    moves: tuple[ExplorerMove, ...] = ()


class TableMove(msgspec.Struct, frozen=True):
    """A move of an ending, the best first."""

    uci: str


class TableAnswer(msgspec.Struct, frozen=True):
    """The tablebases' answer for a position."""

    category: str = "unknown"
    moves: tuple[TableMove, ...] = ()


KNOWN = ("win", "loss", "draw", "cursed-win", "blessed-loss")  # categories that are certain


class Lookups:
    """The books and servers of a bot; methods may be called from any thread."""

    def __init__(
        self, settings: Lichess, say: Callable[[str], None], chance: random.Random | None = None
    ) -> None:
        self._settings, self._say = settings, say
        self._chance = chance or random.Random()
        self._explorer = _Remote("explorer", settings.online_seconds, say)
        self._tables = _Remote("tablebases", settings.online_seconds, say)
        self._books: list[Path] = []
        self._repertoires: list[tuple[str, dict[int, Prepared]]] = []
        for name in settings.books:
            path = existing(place(name))
            if not isinstance(path, Path) or path.suffix.lower() not in (BOOK, REPERTOIRE):
                fix = f"a file on this machine: {BOOK} of Polyglot, or a {REPERTOIRE}"
                raise InputError("lichess: books", value=name, fix=fix)
            if path.suffix.lower() == REPERTOIRE:
                self._repertoires.append((path.name, read_repertoire(path)))
            else:
                book_moves(path, Board())  # refuses what is no book
                self._books.append(path)

    def move(self, board: Board, left: float) -> KnownMove | None:
        """A move of a position, with so many ms on the clock; None: think."""
        if board.ply < self._settings.book_moves * 2:
            move = self._of_repertoires(board) or self._of_books(board)
            if move is not None:
                return move
        if self.asks_online(board, left):
            return self._of_tables(board) if _is_ending(board) else self._of_explorer(board)
        return None

    def asks_online(self, board: Board, left: float) -> bool:
        """Whether a server is asked about a position."""
        settings = self._settings
        if left < 1000 * settings.online_least:
            return False
        if _is_ending(board):
            return settings.online_tablebases and self._tables.awake
        early = board.ply < 2 * settings.explorer_moves
        return settings.explorer != "off" and early and self._explorer.awake

    # --- files ----------------------------------------------------------------------------------

    def _of_repertoires(self, board: Board) -> KnownMove | None:
        """A move of the first repertoire that has the position; each as likely as the others."""
        for name, prepared in self._repertoires:
            if board.key in prepared:
                code = self._chance.choice([*prepared[board.key].moves])
                return KnownMove(absolute(board.position, code), name)
        return None

    def _of_books(self, board: Board) -> KnownMove | None:
        """A move of the first book that has the position, as likely as its weight."""
        for path in self._books:
            entries = book_moves(path, board)
            weights = [entry.weight for entry in entries]
            if any(weights):
                if self._settings.book_choice == "best":
                    entry = max(entries, key=lambda entry: entry.weight)
                else:
                    (entry,) = self._chance.choices(entries, weights)
                return KnownMove(board.parse(entry.san), path.name)
        return None

    # --- servers --------------------------------------------------------------------------------

    def _of_explorer(self, board: Board) -> KnownMove | None:
        """A move of the games of others: of those that score about as well as the best."""
        settings, white = self._settings, board.turn == "white"
        query = {"variant": "standard", "fen": board.fen(), "moves": 12, "topGames": 0}
        answer = self._explorer.ask(
            f"{settings.explorer_url}/{settings.explorer}?{urlencode(query)}", ExplorerAnswer
        )
        moves = [] if answer is None else list(answer.moves)
        often = [move for move in moves if move.games >= settings.explorer_games]
        if not often:
            return None
        best = max(move.points(white) for move in often)
        good = [move for move in often if move.points(white) >= best - GOOD]
        (chosen,) = self._chance.choices(good, [move.games for move in good])
        return self._legal(board, chosen.uci, self._explorer)

    def _of_tables(self, board: Board) -> KnownMove | None:
        """The best move of an ending."""
        query = urlencode({"fen": board.fen()})
        url = f"{self._settings.tablebase_url}/standard?{query}"
        answer = self._tables.ask(url, TableAnswer)
        if answer is None or answer.category not in KNOWN or not answer.moves:
            return None
        return self._legal(board, answer.moves[0].uci, self._tables)

    def _legal(self, board: Board, uci: str, source: _Remote) -> KnownMove | None:
        """A move of a server's, if it is one."""
        try:
            return KnownMove(board.parse(uci), source.name)
        except InputError as error:
            self._say(f"{source.name}: {error}")
            return None


def _is_ending(board: Board) -> bool:
    """Whether online tablebases may have a position."""
    pieces, _, castling, *_ = board.fen().split()
    return castling == "-" and sum(map(str.isalpha, pieces)) <= MOST_PIECES


class _Remote:
    """A server that is asked with a budget of time; silent for a while after some failures."""

    def __init__(self, name: str, seconds: float, say: Callable[[str], None]) -> None:
        self.name, self._seconds, self._say = name, seconds, say
        self._failures, self._free_at = 0, 0.0

    @property
    def awake(self) -> bool:
        """Whether it may be asked."""
        return time.monotonic() >= self._free_at

    def ask(self, url: str, kind: type[Answer]) -> Answer | None:
        """Its answer; None if there is none in time, or none that makes sense."""
        answers: queue.Queue[Answer | str] = queue.Queue()
        arguments = (url, kind, self._seconds, answers)
        threading.Thread(target=_ask, args=arguments, name=self.name, daemon=True).start()
        try:
            answer = answers.get(timeout=self._seconds)
        except queue.Empty:
            answer = "no answer in time"
        if not isinstance(answer, str):
            self._failures = 0
            return answer
        self._failures += 1
        rest = self._failures >= FAILURES
        if rest:
            self._failures, self._free_at = 0, time.monotonic() + REST_SECONDS
        pause = f"; not asked for {REST_SECONDS / 60:.0f} minutes" if rest else ""
        self._say(f"{self.name}: {answer}{pause}")
        return None


def _ask(url: str, kind: type[Any], seconds: float, answers: queue.Queue[Any]) -> None:
    """The thread of a question: puts the answer, or why there is none, into a queue."""

    def read(answer: HTTPResponse) -> bytes:
        return answer.read(LONGEST_ANSWER)

    try:
        # The socket's own limit only ends the thread: what is too late is not waited for.
        content = with_retries(url, read, tries=1, timeout=2 * seconds, pause=lambda *_: None)
        answers.put(msgspec.json.decode(content, type=kind))
    except (msgspec.MsgspecError, RecursionError) as error:
        answers.put(f"an answer that makes no sense ({error})")
    except HTTPError as error:
        answers.put(f"HTTP {error.code}")
    except (KibitzError, ValueError) as error:
        answers.put(str(error))

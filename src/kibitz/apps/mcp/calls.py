"""Calls of tools, few at a time and ended when a client says so; and what their arguments share.

A call has an engine to search with. Arguments are types with limits, positions, files of the
user's.

server -> **calls** -> `searches`, `lookups` -> the library
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from kibitz.apps.web.positions import PagePosition
from kibitz.coach.database import Database
from kibitz.comment.batch import Stopped
from kibitz.comment.searches import SMALL_TABLE
from kibitz.comment.select.rank import Level
from kibitz.comment.words.languages import Code
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.options import Value
from kibitz.engine import Engine
from kibitz.engine.running import Search
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.search.limits import Limits
from kibitz.search.options import SearchName


class Progress(NamedTuple):
    """How far a call has come."""

    done: float = 0.0
    total: float | None = None
    message: str = ""


class CallEngine(Engine):
    """An engine for one call at a time: once that is cancelled, its search ends and none begins."""

    call: Call | None = None

    def begin(self, board: Board, limits: Limits | None = None) -> Search:
        """Start a search, unless the call was cancelled."""
        call = self.call
        if call is None:
            return super().begin(board, limits)
        call.check()
        search = super().begin(board, limits)
        if call.cancelled.is_set():  # since the check
            search.stop()
        return search


@dataclass(eq=False)
class Call:
    """A call of a tool, carried out on a thread of its own; `cancel` comes from another one."""

    engines: Engines
    cancelled: threading.Event = field(default_factory=threading.Event)
    progress: Progress = field(default_factory=Progress)
    _taken: list[CallEngine] = field(default_factory=list)

    def check(self) -> None:
        """Go no further if the call was cancelled."""
        if self.cancelled.is_set():
            raise Stopped

    def cancel(self) -> None:
        """End the call's searches; it gets no result."""
        self.cancelled.set()
        for engine in [*self._taken]:
            engine.stop()
        self.engines.wake()

    def tell(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far it has come, and end it here if it was cancelled."""
        self.progress = Progress(done, total, message)
        self.check()

    def step(self, total: float | None = None, message: str = "") -> None:
        """Say that one more piece of the work is done."""
        self.tell(self.progress.done + 1, total, message)

    @contextmanager
    def engine(
        self, lines: int = 2, memory: int = SMALL_TABLE, search: SearchName = "alphabeta"
    ) -> Iterator[CallEngine]:
        """An engine for the time of the block; waits until one is free. `memory` is in MiB."""
        engine, failed = self.engines.take(self), True
        try:
            self._taken.append(engine)
            engine.configure(multipv=lines, hash=memory, search=search)
            yield engine
            failed = False
        except (Stopped, InputError):  # the caller's doing, not the engine's
            failed = False
            raise
        finally:
            self._taken.remove(engine)
            self.engines.give_back(engine, failed=failed)

    def another(self, network: str, **options: Value) -> CallEngine:
        """A second engine for a call, beside its first; the caller closes it."""
        engine = CallEngine(network, **options)
        engine.call = self
        self._taken.append(engine)
        return engine


class Engines:
    """A bounded number of engines, each lent to one call at a time."""

    def __init__(self, most: int, network: str) -> None:
        self._most, self.network = most, network
        self._idle: list[CallEngine] = []
        self._lent = 0
        self._change = threading.Condition()

    def take(self, call: Call) -> CallEngine:
        """A free engine, a new one if there may be more."""
        with self._change:
            self._change.wait_for(lambda: call.cancelled.is_set() or self._lent < self._most)
            call.check()
            engine = self._idle.pop() if self._idle else CallEngine(self.network)
            self._lent += 1
        engine.call = call
        return engine

    def give_back(self, engine: CallEngine, *, failed: bool) -> None:
        """Return an engine to the pool; one that failed is closed, as its state is not known."""
        engine.call = None
        if failed:
            engine.close()
        with self._change:
            self._lent -= 1
            if not failed:
                self._idle.append(engine)
            self._change.notify_all()

    def wake(self) -> None:
        """Let calls that wait see that they were cancelled."""
        with self._change:
            self._change.notify_all()

    def close(self) -> None:
        """End the engines that are not in use."""
        with self._change:
            idle, self._idle = self._idle, []
        for engine in idle:
            engine.close()


# --- arguments ------------------------------------------------------------------------------------

Fen: TypeAlias = Annotated[
    str, Meta(max_length=200, description="Position as FEN. Default: the start position.")
]
Moves: TypeAlias = Annotated[
    tuple[str, ...],
    Meta(
        max_length=1000,
        description='Moves made from there, one string each, SAN or UCI: ["e4", "e5", "Nf3"].',
    ),
]
Pgn: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=200_000, description="One game in PGN.")
]
Reader: TypeAlias = Annotated[Level, Meta(description="Whom the words are for.")]
Tongue: TypeAlias = Annotated[Code, Meta(description="The language of the words.")]
GameNodes: TypeAlias = Annotated[
    int, Meta(ge=1, le=200_000, description="Positions searched for each move of the game.")
]
Seconds: TypeAlias = Annotated[
    float, Meta(gt=0, le=60, description="The search ends after so many seconds at the latest.")
]


@dataclass(frozen=True)
class Shelf:
    """What tools may read beside their arguments: a player's games, files by their names."""

    database: Path
    files: dict[str, Path]

    def file(self, name: str, *endings: str) -> Path:
        """A file of the command line by its name."""
        fitting = {key: path for key, path in self.files.items() if key.endswith(endings)}
        if name not in fitting:
            fix = did_you_mean(name, fitting) if fitting else "start kibitz mcp with such a FILE"
            raise InputError(f"no such file ({', '.join(endings)})", value=name, fix=fix)
        return fitting[name]

    def games(self) -> Database:
        """The database of the player's games."""
        if not self.database.exists():
            fix = "the user makes one: kibitz coach add lichess:NAME, chesscom:NAME or FILES"
            raise InputError("no games of the user's are kept here yet", fix=fix)
        return Database(self.database)


class Picture(NamedTuple):
    """An answer that is a file to be shown."""

    kind: str  # MIME type
    text: str


class Tool(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A tool: what it is for is its docstring, what it takes its fields."""

    @classmethod
    def title(cls) -> str:
        """What a client calls it: analyse_position."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any] | Picture:
        """What is asked for, made on a thread of its own."""
        raise NotImplementedError


class PositionTool(Tool, kw_only=True):
    """A tool that is about a position."""

    fen: Fen = START
    moves: Moves = ()

    def board(self) -> Board:
        """The position, with the moves that led to it."""
        return PagePosition(self.fen, self.moves).board()

"""What the arguments of tools have in common: types with limits, positions, files of the user's.

server -> `calls` -> **arguments** -> `searches`, `lookups` -> the library
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from kibitz.apps.mcp.calls import Call
from kibitz.apps.web.positions import PagePosition
from kibitz.coach.database import Database
from kibitz.comment.select import Level
from kibitz.comment.words.languages import Code
from kibitz.core.errors import InputError, did_you_mean
from kibitz.position.board import Board
from kibitz.position.fen import START

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

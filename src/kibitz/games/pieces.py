"""PGN files cut between games, for several processes; lines -> **pieces** -> shards.

A cut is made before a tag that follows moves and an empty line, and is in no comment. The parser of
a piece counts games and lines from one; `renumbered` says where they are in the file.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kibitz.errors import DamagedFileError
from kibitz.games.from_pgn import read_pgn
from kibitz.games.labels import LabelModel
from kibitz.games.record import shard_of
from kibitz.games.shard import Shard
from kibitz.places import Place
from kibitz.position.pgn import BadGame, read_lines

CHARACTERS = 500_000  # of a piece, at least
STANDARD_INPUT = Path("-")


class Piece(NamedTuple):
    """Some whole games of a file."""

    path: Place
    line: int  # of the file, from 1, where the piece begins
    text: str
    fault: str = ""  # why the file cannot be read any further


class Read(NamedTuple):
    """What was in a piece."""

    path: Place
    line: int
    games: int  # all of them, from which a piece after this one counts on
    empty: int  # games without a move, which are left out
    bad: tuple[BadGame, ...]
    shard: Shard
    fault: str = ""


def pieces_of(paths: Sequence[Place], characters: int = CHARACTERS) -> Iterator[Piece]:
    """The pieces of all files, one file after the other."""
    for path in paths:
        yield from _pieces(path, characters)


def _pieces(path: Place, characters: int) -> Iterator[Piece]:
    """At least one piece, so that the file is heard of when nothing is in it."""
    held: list[str] = []
    size, first, faults = 0, 1, list[str]()
    inside = moves = empty = False
    for number, line in enumerate(_lines(path, faults), start=1):
        tag = line.startswith("[") and not inside
        if tag and empty and moves and size >= characters:
            yield Piece(path, first, "".join(held))
            held, size, first = [], 0, number
        held.append(line)
        size += len(line)
        empty = not line.strip()
        moves = not tag and (moves or not empty)  # tags may have empty lines between them
        inside = inside if tag else in_comment(line, inside)
    yield Piece(path, first, "".join(held), *faults)


def _lines(path: Place, faults: list[str]) -> Iterator[str]:
    """The lines of a file, up to where it is damaged."""
    try:
        yield from read_lines(sys.stdin if path == STANDARD_INPUT else path)
    except DamagedFileError as error:
        faults.append(str(error))


def in_comment(line: str, inside: bool) -> bool:
    """Whether a comment in braces is open at the end of a line of moves."""
    if not inside and line.startswith("%"):
        return False
    while True:
        if inside:
            end = line.find("}")
            if end < 0:
                return True
            line, inside = line[end + 1 :], False
        start, rest_of_line = line.find("{"), line.find(";")
        if start < 0 or 0 <= rest_of_line < start:
            return False
        line, inside = line[start + 1 :], True


def read_piece(piece: Piece, model: LabelModel) -> Read:
    """Read the games of a piece."""
    name = "standard input" if piece.path == STANDARD_INPUT else piece.path.name
    bad: list[BadGame] = []
    games = list(read_pgn(io.StringIO(piece.text), model, name, bad.append))
    shard = shard_of([game for game in games if game.plies])
    empty = len(games) - shard.games
    return Read(
        piece.path, piece.line, len(games) + len(bad), empty, tuple(bad), shard, piece.fault
    )


def renumbered(read: Read, games_before: int) -> tuple[str, ...]:
    """What is wrong with games of a piece, with their places in the whole file."""
    places = ((bad, bad.number + games_before, bad.line + read.line - 1) for bad in read.bad)
    return tuple(
        str(replace(bad, source=str(read.path), number=number, line=line))
        for bad, number, line in places
    )

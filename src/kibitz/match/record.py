"""The record of a game, and the journal that keeps records through any interruption.

    play.py -> **GameRecord** -> one line of JSON -> resuming, results, PGN

A journal's first line says what match it is, every further line is one finished game, handed to the
operating system at once. A line that a crash left unfinished is cut off when the match goes on.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

import msgspec

from kibitz.errors import DamagedFileError, FileError, InputError
from kibitz.log import say

Kind = TypeVar("Kind")


class MoveRecord(msgspec.Struct, frozen=True, array_like=True):
    """A move, its time and what the player said about it; times in ms, scores for the mover."""

    uci: str
    milliseconds: float
    cp: int | None = None
    mate: int | None = None
    depth: int | None = None
    nodes: int | None = None


class GameRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A finished game. `termination` is a word of play.py, `loser` who forfeited, if anybody."""

    number: int  # of the schedule; two games make a pair
    white: int  # players by their place in the match
    black: int
    fen: str  # where the opening starts
    book: tuple[str, ...] = ()  # moves of the opening, UCI
    chess960: bool = False
    moves: tuple[MoveRecord, ...] = ()
    result: str = "*"
    termination: str = ""
    detail: str = ""
    loser: int | None = None
    ended: str = ""  # ISO 8601, UTC

    @property
    def points(self) -> float:
        """White's points."""
        return {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[self.result]


class MatchHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What must be the same for games to belong to one match."""

    players: tuple[str, ...]  # as the user wrote them
    control: str
    gauntlet: bool
    seed: int
    rules: str
    openings: str  # digest of the list
    format: str = "kibitz match 1"


class Journal:
    """The finished games of a match, in memory and, with a path, in a file."""

    def __init__(self, header: MatchHeader, path: Path | None = None) -> None:
        self.games: dict[int, GameRecord] = {}
        self._file: IO[bytes] | None = None
        if path is not None:
            self._open(path, header)

    def _open(self, path: Path, header: MatchHeader) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise FileError(f"cannot write ({error.strerror})", value=str(path)) from error
        try:
            _lock(self._file, path)
            self._read(path, header)
        except BaseException:
            self._file.close()
            raise

    def _read(self, path: Path, header: MatchHeader) -> None:
        assert self._file is not None
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)
            say(f"{path}: cut off a game that was not written to its end")
        lines = content[:whole].splitlines()
        if not lines:
            self._write(msgspec.json.encode(header))
            return
        _compare(_decoded(path, 1, lines[0], MatchHeader), header, path)
        for number, line in enumerate(lines[1:], start=2):
            record = _decoded(path, number, line, GameRecord)
            self.games[record.number] = record

    def add(self, record: GameRecord) -> None:
        """Keep a game."""
        assert record.number not in self.games, "played twice"
        self.games[record.number] = record
        if self._file is not None:
            self._write(msgspec.json.encode(record))

    def _write(self, line: bytes) -> None:
        assert self._file is not None
        self._file.write(line + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; what was added is on its way to the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def _decoded(path: Path, number: int, line: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.MsgspecError as error:
        what = f"line {number} is not of a match ({error})"
        raise DamagedFileError(what, value=str(path), fix="name another file") from error


def _compare(found: MatchHeader, wanted: MatchHeader, path: Path) -> None:
    """Refuse to mix two matches; what differs is named."""
    for name in found.__struct_fields__:
        old, new = getattr(found, name), getattr(wanted, name)
        if old != new:
            what = f"{path} is of another match: {name} was {old!r}"
            raise InputError(what, value=new, fix="repeat the settings, or name another file")


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep a second process from playing the same games (where the system offers locks)."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        fix = "wait for it, or name another file"
        raise InputError("another process plays this match", value=str(path), fix=fix) from error

"""Finished games of groups that are not complete, kept beside the shards until they are.

What is in a file: zstd of msgpack (how the games were played, the types of the arrays, the games),
then a mark and the SHA-256 of what precedes it. A damaged one costs its games alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
import zstandard

from kibitz.core.files import ChecksumError, read_bytes, with_ending, without_ending, write_bytes
from kibitz.core.log import say
from kibitz.core.places import Place, files_below
from kibitz.core.unpacking import unzstd
from kibitz.data.store import GENERATION
from kibitz.position.state import POSITION
from kibitz.zero.selfplay.game import PLY, VISIT, Finished

SUFFIX = ".part"
SAVE_SECONDS = 30.0  # between two times that the games of a group are kept
MARK = b"kibitz-part-1"
ARRAYS = {"start": POSITION, "plies": PLY, "visits": VISIT}
TYPES = [str(dtype) for dtype in ARRAYS.values()]  # what the bytes of the arrays mean


class Unfinished:
    """The files of a run's groups, each known by the number of its first game."""

    def __init__(self, folder: Place, about: dict[str, Any], wanted: range) -> None:
        """`about` is how the games were played, `wanted` the numbers of the run's games."""
        self._folder, self._about, self._wanted = folder, about, wanted
        self._prefix = f"selfplay-{about[GENERATION]:04d}-{about['seed']}-"
        self._saved = defaultdict[int, float](time.monotonic)

    def save_now_and_then(self, first: int, games: Iterable[Finished]) -> None:
        """Keep the games of a group if that was last done a while ago."""
        if time.monotonic() - self._saved[first] > SAVE_SECONDS:
            self.save(first, games)

    def save(self, first: int, games: Iterable[Finished]) -> None:
        """Keep the games of a group that are over."""
        rows = [
            [
                value.tobytes() if isinstance(value, np.ndarray) else value
                for value in (getattr(game, field.name) for field in fields(game))
            ]
            for game in games
        ]
        content = zstandard.compress(msgspec.msgpack.encode([self._about, TYPES, rows]))
        path = self._folder / f"{self._prefix}{first:08d}{SUFFIX}"
        write_bytes(path, with_ending(content, MARK))
        self._saved[first] = time.monotonic()

    def load(self) -> dict[int, Finished]:
        """All games that are kept, by their numbers."""
        return {game.number: game for path in self._files().values() for game in self._read(path)}

    def remove(self, *, but: Container[int] = ()) -> None:
        """Remove the files of groups that are complete, or were cut otherwise."""
        for first, path in self._files().items():
            if first not in but:
                path.unlink()

    def _files(self) -> dict[int, Place]:
        """The run's files by the first number of the group; other processes have their own."""
        found = {}
        for path in files_below(self._folder, f"{self._prefix}*{SUFFIX}"):
            number = path.name.removeprefix(self._prefix).removesuffix(SUFFIX)
            if number.isdecimal() and int(number) in self._wanted:
                found[int(number)] = path
        return found

    def _read(self, path: Place) -> list[Finished]:
        """The games of a file; none, with a line, if it is damaged or of another kind."""
        try:
            content = without_ending(read_bytes(path), MARK)
        except ChecksumError:
            say(f"damaged, its games are played again: {path}")
            return []
        about, types, rows = msgspec.msgpack.decode(unzstd(content, path))
        if (about, types) != (self._about, TYPES):
            say(f"games of other settings, or of another version, are played again: {path}")
            return []
        return [_game(row) for row in rows]


def _game(row: list[Any]) -> Finished:
    """A game as it was written."""
    values = {field.name: value for field, value in zip(fields(Finished), row, strict=True)}
    for name, dtype in ARRAYS.items():
        values[name] = np.frombuffer(values[name], dtype=dtype).copy()
    return Finished(**values)

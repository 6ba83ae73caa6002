"""A store is a folder of shards; producers -> **store** -> window of training, inspection, export.

Names say where the games came from and end in eight digits of the content's own SHA-256: the same
games written twice are one file, different ones never replace each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kibitz.errors import DamagedFileError, InputError
from kibitz.files import write_bytes
from kibitz.games.combine import cut
from kibitz.games.shard import (
    SUFFIX,
    Header,
    Shard,
    claimed_games,
    counted,
    encode,
    find_fault,
    read,
    read_header,
)
from kibitz.log import say
from kibitz.places import Place, existing, files_below

DIGITS = 8
EXIT_DAMAGED = 1  # of a command that has left out damaged shards, and named them
GENERATION = "generation"  # in the provenance of shards made by generations of networks


class Totals(NamedTuple):
    """What was written."""

    shards: int
    games: int
    plies: int
    visits: int


def add(folder: Place, shard: Shard, stem: str) -> Place:
    """Write a shard under a name of its own; returns where it is."""
    shard = counted(shard)
    fault = find_fault(shard)
    assert not fault, fault
    content = encode(shard)
    path = folder / f"{stem}-{hashlib.sha256(content).hexdigest()[:DIGITS]}{SUFFIX}"
    write_bytes(path, content)
    return path


def shards_in(*places: Place) -> list[Place]:
    """The shard files that files and folders (with their sub-folders) stand for, by name."""
    found: list[Place] = []
    for place in places:
        if place.is_dir():
            found += files_below(place, f"*{SUFFIX}")
        else:
            found.append(existing(place))
    if not found:
        where = ", ".join(map(str, places))
        raise InputError(f"no {SUFFIX} file here", value=where, fix="import or play games first")
    return found


class Store:
    """Shards that are read one by one. Damaged ones are left out: each is named, and counted."""

    def __init__(self, paths: Sequence[Place], fate: str = "left out") -> None:
        self.paths = list(paths)
        self._fate = fate  # of damaged games, for the line that names them
        self.damaged: dict[str, int | None] = {}  # games by the damaged header, if it can be read

    def __iter__(self) -> Iterator[Shard]:
        return (shard for _, shard in self.named())

    def named(self, paths: Iterable[Place] | None = None) -> Iterator[tuple[Place, Shard]]:
        """The sound ones of some shards, or all, with where they are."""
        for path in self.paths if paths is None else paths:
            try:
                yield path, read(path)
            except DamagedFileError as error:
                self._leave_out(path, error)

    def headers(self) -> Iterator[tuple[Place, Header]]:
        """The headers of sound shards, several times faster than reading all."""
        for path in self.paths:
            try:
                yield path, read_header(path)
            except DamagedFileError as error:
                self._leave_out(path, error)

    def _leave_out(self, path: Place, error: DamagedFileError) -> None:
        if str(path) in self.damaged:
            return
        games = self.damaged[str(path)] = claimed_games(path)
        lost = "its games are" if games is None else f"its {games} games are"
        say(f"damaged, {lost} {self._fate}: {error}")

    @property
    def facts(self) -> dict[str, Any]:
        """What a result says about what was left out."""
        named = [{"file": path, "games": games} for path, games in self.damaged.items()]
        return {"damaged": len(self.damaged)} | ({"damaged_shards": named} if named else {})

    @property
    def exit_code(self) -> int:
        """0, or another code where something was left out; a line says how much."""
        if self.damaged:
            say(f"{len(self.damaged)} of {len(self.paths)} shards are damaged and were left out")
        return EXIT_DAMAGED if self.damaged else 0


def rewrite(shards: Iterable[Shard], folder: Place, stem: str, plies: int) -> Totals:
    """Write the games into a folder as shards of about so many plies; returns what came of it."""
    done = Totals(0, 0, 0, 0)
    for number, shard in enumerate(cut(shards, plies), start=1):
        add(folder, shard, f"{stem}-{number:05d}")
        done = Totals(
            done.shards + 1,
            done.games + shard.games,
            done.plies + shard.plies,
            done.visits + len(shard.visit_moves),
        )
    return done


def outdated(store: Store, keep: int) -> list[tuple[int, Place]]:
    """Shards older than the last `keep` generations, with theirs; those without one are kept."""
    found = [(header.provenance.get(GENERATION), path) for path, header in store.headers()]
    dated = [(one, path) for one, path in found if isinstance(one, int)]
    kept = set(sorted({one for one, _ in dated})[-keep:])
    old = [(one, path) for one, path in dated if one not in kept]
    return sorted(old, key=lambda pair: (pair[0], pair[1].parts))

"""A store is a folder of shards; producers -> **store** -> window of training, inspection, export.

Names say where the games came from and end in eight digits of the content's own SHA-256: the same
games written twice are one file, different ones never replace each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kibitz.errors import DamagedFileError, FileError, InputError
from kibitz.files import write_bytes
from kibitz.games.combine import cut
from kibitz.games.shard import SUFFIX, Header, Shard, counted, encode, find_fault, read, read_header
from kibitz.log import say

DIGITS = 8
GENERATION = "generation"  # in the provenance of shards made by generations of networks


class Totals(NamedTuple):
    """What a store holds; damaged shards are not counted in the rest."""

    shards: int
    games: int
    plies: int
    visits: int
    damaged: int


def _say(error: DamagedFileError) -> None:
    say(f"skipped: {error}")


def add(folder: Path, shard: Shard, stem: str) -> Path:
    """Write a shard under a name of its own; returns where it is."""
    shard = counted(shard)
    fault = find_fault(shard)
    assert not fault, fault
    content = encode(shard)
    path = folder / f"{stem}-{hashlib.sha256(content).hexdigest()[:DIGITS]}{SUFFIX}"
    write_bytes(path, content)
    return path


def shards_in(*places: Path) -> list[Path]:
    """The shard files that files and folders (with their sub-folders) stand for, by name."""
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            found += sorted(path for path in place.rglob(f"*{SUFFIX}") if path.is_file())
        elif place.exists():
            found.append(place)
        else:
            raise FileError("no such file or folder", value=str(place), fix="check the path")
    if not found:
        where = ", ".join(map(str, places))
        raise InputError(f"no {SUFFIX} file here", value=where, fix="import or play games first")
    return found


def read_all(
    paths: Iterable[Path], on_damaged: Callable[[DamagedFileError], None] = _say
) -> Iterator[Shard]:
    """The shards one by one; damaged ones are named and skipped."""
    for path in paths:
        try:
            yield read(path)
        except DamagedFileError as error:
            on_damaged(error)


def headers(
    paths: Iterable[Path], on_damaged: Callable[[DamagedFileError], None] = _say
) -> Iterator[tuple[Path, Header]]:
    """The headers of sound shards, several times faster than reading all."""
    for path in paths:
        try:
            yield path, read_header(path)
        except DamagedFileError as error:
            on_damaged(error)


def totals(paths: Iterable[Path]) -> Totals:
    """Count what the shards hold."""
    damaged: list[DamagedFileError] = []

    def note(error: DamagedFileError) -> None:
        damaged.append(error)
        _say(error)

    found = [header for _, header in headers(paths, note)]
    return Totals(
        shards=len(found),
        games=sum(header.games for header in found),
        plies=sum(header.plies for header in found),
        visits=sum(header.visits for header in found),
        damaged=len(damaged),
    )


def rewrite(shards: Iterable[Shard], folder: Path, stem: str, plies: int) -> Totals:
    """Write the games into a folder as shards of about so many plies; returns what came of it."""
    done = Totals(0, 0, 0, 0, 0)
    for number, shard in enumerate(cut(shards, plies), start=1):
        add(folder, shard, f"{stem}-{number:05d}")
        done = Totals(
            done.shards + 1,
            done.games + shard.games,
            done.plies + shard.plies,
            done.visits + len(shard.visit_moves),
            damaged=0,
        )
    return done


def outdated(paths: Iterable[Path], keep: int) -> list[tuple[int, Path]]:
    """Shards older than the last `keep` generations, with theirs; others are nobody's to prune."""
    found = [(header.provenance.get(GENERATION), path) for path, header in headers(paths)]
    dated = [(one, path) for one, path in found if isinstance(one, int)]
    kept = set(sorted({one for one, _ in dated})[-keep:])
    return sorted((one, path) for one, path in dated if one not in kept)

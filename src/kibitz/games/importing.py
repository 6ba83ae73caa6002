"""Files of games and positions into a store, by several processes; files -> **import** -> store.

A file is cut into pieces of whole games; each piece becomes one shard. The pieces, and so the
shards, are the same however many processes work on them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import kibitz
from kibitz.errors import InputError
from kibitz.files import open_unpacked
from kibitz.games.combine import cut
from kibitz.games.labelled import chunks, parse, shard_of_lines
from kibitz.games.labels import LabelModel
from kibitz.games.pieces import STANDARD_INPUT, Read, pieces_of, read_piece, renumbered
from kibitz.games.shard import Shard
from kibitz.games.store import add
from kibitz.workers import in_processes

PLIES = 100_000  # of a shard
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")


class Imported(NamedTuple):
    """What became of a piece."""

    games: int
    plies: int
    shards: int
    empty: int = 0  # games without a move, which are left out
    bad: tuple[str, ...] = ()  # games that were skipped, and why

    def plus(self, other: Imported) -> Imported:
        """Both together."""
        return Imported(
            self.games + other.games,
            self.plies + other.plies,
            self.shards + other.shards,
            self.empty + other.empty,
            self.bad + other.bad,
        )


NOTHING = Imported(0, 0, 0)


def stem_of(path: Path) -> str:
    """The name of a file without its kind and packing."""
    if path == STANDARD_INPUT:
        return "stdin"
    bare = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return bare.stem


def kind_of(path: Path) -> str:
    """`csv` or `pgn`, by the name of the file."""
    if path == STANDARD_INPUT:
        return "pgn"
    bare = path.with_suffix("") if path.suffix.lower() in PACKED else path
    kind = bare.suffix.lower().removeprefix(".")
    if kind not in ("csv", "pgn"):
        raise InputError(
            "neither PGN nor CSV", value=str(path), fix="name it .pgn or .csv, packed or not"
        )
    return kind


def files_in(places: Sequence[Path]) -> list[Path]:
    """The files that files and folders stand for; in folders, what is named as PGN or CSV."""
    found: list[Path] = []
    for place in places:
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        found += [path for path in inside if path == place or _is_known(path)]
    if not found:
        raise InputError("no PGN or CSV file here", value=", ".join(map(str, places)))
    return found


def _is_known(path: Path) -> bool:
    bare = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return path.is_file() and bare.suffix.lower() in (".pgn", ".csv")


def provenance(command: str) -> dict[str, Any]:
    """What the header of a new shard says about who wrote it."""
    return {"program": "kibitz", "version": kibitz.__version__, "command": command}


def import_labelled(
    path: Path,
    output: Path,
    model: LabelModel,
    *,
    plies: int = PLIES,
    workers: int = 1,
    source: dict[str, Any] | None = None,
) -> Iterator[Imported]:
    """Import a CSV of labelled positions; yields as pieces are done."""
    about = {"kind": "labels", "file": path.name} | (source or {})
    work = partial(_labelled_piece, name=str(path), output=output, model=model, source=about)
    with open_unpacked(path) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline=None)
        pieces = ((number, *piece) for number, piece in enumerate(chunks(lines, plies), start=1))
        yield from in_processes(work, pieces, workers)


def _labelled_piece(
    piece: tuple[int, int, list[str]],
    *,
    name: str,
    output: Path,
    model: LabelModel,
    source: dict[str, Any],
) -> Imported:
    number, first, lines = piece
    parsed = parse(lines, name, first)
    shard = shard_of_lines(parsed, model, source, provenance("data import"))
    add(output, shard, f"{stem_of(Path(name))}-{number:05d}")
    return Imported(shard.games, shard.plies, 1)


def import_pgn(
    paths: Sequence[Path], output: Path, model: LabelModel, *, plies: int = PLIES, workers: int = 1
) -> Iterator[Imported]:
    """Import PGN files (`-` is standard input); yields a shard, or the end of a file, at a time."""
    work = partial(read_piece, model=model)
    done = in_processes(work, pieces_of(paths), workers, in_order=True)
    for path, pieces in groupby(done, key=lambda read: read.path):
        yield from _file_of_pieces(path, pieces, output, plies)


def _file_of_pieces(
    path: Path, pieces: Iterable[Read], output: Path, plies: int
) -> Iterator[Imported]:
    games = empty = 0
    bad: list[str] = []

    def shards() -> Iterator[Shard]:
        nonlocal games, empty
        for read in pieces:
            bad.extend(renumbered(read, games))
            games, empty = games + read.games, empty + read.empty
            yield read.shard

    for number, shard in enumerate(cut(shards(), plies), start=1):
        header = msgspec.structs.replace(shard.header, provenance=provenance("data import"))
        add(output, shard._replace(header=header), f"{stem_of(path)}-{number:05d}")
        yield Imported(shard.games, shard.plies, 1, empty, tuple(bad))
        empty = 0
        bad.clear()
    yield Imported(0, 0, 0, empty, tuple(bad))


def scores_and_results(paths: Sequence[Path], plies: int = PLIES) -> Iterator[Any]:
    """Scores and results of labelled files, both of the side to move: pairs of arrays [n]."""
    for path in paths:
        with open_unpacked(path) as file:
            lines = io.TextIOWrapper(file, encoding="utf-8", newline=None)
            for first, piece in chunks(lines, plies):
                parsed = parse(piece, str(path), first)
                views = 1 - 2 * parsed.positions["side"].astype("int8")
                known = parsed.results != 2
                yield parsed.scores[known], (parsed.results * views)[known]

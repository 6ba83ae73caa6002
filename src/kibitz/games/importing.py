"""Files of games and positions into a store, by several processes; files -> **import** -> store.

A file is cut into pieces of whole games; each piece becomes one shard. The pieces, and so the
shards, are the same however many processes work on them. A file that cannot be read is named, and
the others are imported all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from typing import Any, NamedTuple

import msgspec

import kibitz
from kibitz.errors import DamagedFileError, InputError
from kibitz.games.combine import cut
from kibitz.games.labelled import (
    COLUMNS,
    chunks,
    in_order,
    parse,
    peek,
    shard_of_lines,
)
from kibitz.games.labels import LabelModel
from kibitz.games.pieces import CHARACTERS, STANDARD_INPUT, Read, pieces_of, read_piece, renumbered
from kibitz.games.shard import SUFFIX, Shard, read_header
from kibitz.games.shard import empty as empty_shard
from kibitz.games.store import Store, add
from kibitz.log import say
from kibitz.places import Place, existing, files_below
from kibitz.position.pgn import read_lines
from kibitz.workers import in_processes

PLIES = 100_000  # of a shard
PIECE = 5_000  # plies of a CSV that are read at a time, where they are not written at once
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
KINDS = (".pgn", ".csv")  # and shards, where games of any kind are read


class Imported(NamedTuple):
    """What became of a piece."""

    games: int = 0
    plies: int = 0
    shards: int = 0
    empty: int = 0  # games without a move, which are left out
    bad: tuple[str, ...] = ()  # games and lines that were skipped, and why
    refused: tuple[str, ...] = ()  # files of which nothing, or only a part, could be read, and why

    def plus(self, other: Imported) -> Imported:
        """Both together."""
        return Imported(
            self.games + other.games,
            self.plies + other.plies,
            self.shards + other.shards,
            self.empty + other.empty,
            self.bad + other.bad,
            self.refused + other.refused,
        )


def _bare(path: Place) -> Place:
    """The name of a file without its packing."""
    return path.with_suffix("") if path.suffix.lower() in PACKED else path


def stem_of(path: Place) -> str:
    """The name of a file without its kind and packing."""
    return "stdin" if path == STANDARD_INPUT else _bare(path).stem


def kind_of(path: Place, kinds: Sequence[str] = KINDS) -> str:
    """`.csv`, `.pgn` or another of some kinds, by the name of the file."""
    if path == STANDARD_INPUT:
        return ".pgn"
    suffix = _bare(path).suffix.lower()
    if suffix not in kinds:
        fix = f"name it {' or '.join(kinds)}, PGN and CSV packed or not"
        raise InputError("not a kind of file that is read here", value=str(path), fix=fix)
    return suffix


def files_in(places: Sequence[Place], kinds: Sequence[str] = KINDS) -> list[Place]:
    """The files that files and folders stand for; in folders, what is named as one of the kinds."""
    found: list[Place] = []
    for place in places:
        if place == STANDARD_INPUT:
            found.append(place)
        elif place.is_dir():
            inside = files_below(place, "*")
            found += [path for path in inside if _bare(path).suffix.lower() in kinds]
        else:
            found.append(existing(place))
    if not found:
        where = ", ".join(map(str, places))
        raise InputError(f"no {' or '.join(kinds)} file here", value=where, fix="name files")
    return found


def provenance(command: str) -> dict[str, Any]:
    """What the header of a new shard says about who wrote it."""
    return {"program": "kibitz", "version": kibitz.__version__, "command": command}


# --- labelled positions ---------------------------------------------------------------------------


def labelled_lines(path: Place, plies: int) -> Iterator[tuple[int, list[str]]]:
    """Lines of a CSV in pieces of whole games, with the number of each piece's first line."""
    lines = in_order(read_lines(path), lambda text: say(f"{path}: {text}"))
    first, fault = peek(lines)
    if fault:
        fix = f"expected the columns {', '.join(COLUMNS)}, or a heading that names some of them"
        raise InputError(f"{path}: {fault}", fix=fix)
    yield from chunks(chain(first, lines), plies)


def import_labelled(
    path: Place,
    output: Place,
    model: LabelModel,
    *,
    plies: int = PLIES,
    workers: int = 1,
    source: dict[str, Any] | None = None,
) -> Iterator[Imported]:
    """Import a CSV of labelled positions; yields as pieces are done."""
    about = {"kind": "labels", "file": path.name} | (source or {})
    work = partial(_labelled_piece, path=path, model=model, source=about)
    pieces = enumerate(labelled_lines(path, plies), start=1)
    try:
        for number, shard, bad in in_processes(work, pieces, workers):
            if shard.games:  # written here: a place in memory is this process's own
                add(output, shard, f"{stem_of(path)}-{number:05d}")
            yield Imported(shard.games, shard.plies, int(shard.games > 0), bad=bad)
    except (InputError, DamagedFileError) as error:
        yield Imported(refused=(f"file skipped: {error}",))


def _labelled_piece(
    piece: tuple[int, tuple[int, list[str]]],
    *,
    path: Place,
    model: LabelModel,
    source: dict[str, Any],
) -> tuple[int, Shard, tuple[str, ...]]:
    number, (first, lines) = piece
    parsed = parse(lines, first)
    bad = tuple(f"{path}, {fault}" for fault in parsed.bad)
    return number, shard_of_lines(parsed, model, source, provenance("data import")), bad


def scores_and_results(paths: Sequence[Place], plies: int = PLIES) -> Iterator[Any]:
    """Scores and results of labelled files, both of the side to move: pairs of arrays [n]."""
    for path in paths:
        for first, piece in labelled_lines(path, plies):
            parsed = parse(piece, first)
            for fault in parsed.bad:
                say(f"{path}, {fault}")
            views = 1 - 2 * parsed.positions["side"].astype("int8")
            known = parsed.results != 2
            yield parsed.scores[known], (parsed.results * views)[known]


# --- games ----------------------------------------------------------------------------------------


def import_pgn(
    paths: Sequence[Place],
    output: Place,
    model: LabelModel,
    *,
    plies: int = PLIES,
    workers: int = 1,
) -> Iterator[Imported]:
    """Import PGN files (`-` is standard input); yields a shard, or the end of a file, at a time."""
    work = partial(read_piece, model=model)
    done = in_processes(work, pieces_of(paths), workers, in_order=True)
    for path, pieces in groupby(done, key=lambda read: read.path):
        yield from _file_of_pieces(path, pieces, output, plies)


def _file_of_pieces(
    path: Place, pieces: Iterable[Read], output: Place, plies: int
) -> Iterator[Imported]:
    games = empty = 0
    bad: list[str] = []
    refused: list[str] = []

    def shards() -> Iterator[Shard]:
        nonlocal games, empty
        for read in pieces:
            bad.extend(renumbered(read, games))
            games, empty = games + read.games, empty + read.empty
            if read.fault:
                refused.append(f"the rest of a file skipped: {read.fault}")
            yield read.shard

    for number, shard in enumerate(cut(shards(), plies), start=1):
        header = msgspec.structs.replace(shard.header, provenance=provenance("data import"))
        add(output, shard._replace(header=header), f"{stem_of(path)}-{number:05d}")
        yield Imported(shard.games, shard.plies, 1, empty, tuple(bad))
        empty = 0
        bad.clear()
    if not games and not refused:
        refused.append(f"file skipped: {path}: no game in it")
    yield Imported(0, 0, 0, empty, tuple(bad), tuple(refused))


# --- anything -------------------------------------------------------------------------------------


def count_games(paths: Sequence[Place]) -> int | None:
    """How many games there are, for a progress bar: PGN by their tags; None if nothing tells."""
    total = 0
    for path in paths:
        kind = kind_of(path, (*KINDS, SUFFIX))
        if kind == ".csv" or path == STANDARD_INPUT:
            return None
        try:
            if kind == SUFFIX:
                total += read_header(path).games
            else:
                total += sum(line.startswith("[Event ") for line in read_lines(path))
        except DamagedFileError:
            continue  # it is named when it is read
    return total


def read_all(store: Store, model: LabelModel) -> Iterator[tuple[Shard, Imported]]:
    """The games of files of all kinds, some at a time, with what became of each piece."""
    for path in store.paths:
        kind = kind_of(path, (*KINDS, SUFFIX))
        if kind == SUFFIX:
            yield from ((shard, Imported()) for _, shard in store.named([path]))
        elif kind == ".csv":
            yield from _labelled_shards(path, model)
        else:
            yield from _pgn_shards(path, model)


def _labelled_shards(path: Place, model: LabelModel) -> Iterator[tuple[Shard, Imported]]:
    about = {"kind": "labels", "file": path.name}
    try:
        for first, lines in labelled_lines(path, PIECE):
            parsed = parse(lines, first)
            bad = tuple(f"{path}, {fault}" for fault in parsed.bad)
            yield shard_of_lines(parsed, model, about, {}), Imported(bad=bad)
    except (InputError, DamagedFileError) as error:
        yield empty_shard(), Imported(refused=(f"file skipped: {error}",))


def _pgn_shards(path: Place, model: LabelModel) -> Iterator[tuple[Shard, Imported]]:
    games = 0
    refused: tuple[str, ...] = ()
    for piece in pieces_of([path], CHARACTERS // 10):
        read = read_piece(piece, model)
        bad = tuple(renumbered(read, games))
        games += read.games
        if read.fault:
            refused = (f"the rest of a file skipped: {read.fault}",)
        yield read.shard, Imported(empty=read.empty, bad=bad)
    if not games and not refused:
        refused = (f"file skipped: {path}: no game in it",)
    yield empty_shard(), Imported(refused=refused)

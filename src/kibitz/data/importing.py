"""Files of games and positions into shards, by several processes.

A file is cut into pieces of whole games. Pieces of a CSV become one shard each, those of a PGN
shards of about the same size. The pieces, and so the shards, are the same however many processes
work on them. A file that cannot be read is named, and the others are imported all the same.
"""

from __future__ import annotations

import io
import operator
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.log import say
from kibitz.core.places import Place, existing, files_below
from kibitz.core.unpacking import COMPRESSED
from kibitz.core.workers import in_processes
from kibitz.data.labels.labels import (
    COLUMNS,
    LabelModel,
    Lines,
    chunks,
    in_order,
    of_json,
    parse,
    peek,
    shard_of_lines,
)
from kibitz.data.pgn import GameFilter, choose, read_pgn, whole_games
from kibitz.data.shard import (
    SUFFIX,
    UNKNOWN_RESULT,
    Shard,
    empty,
    provenance,
    read_header,
    shard_of,
)
from kibitz.data.store import Store, add, cut
from kibitz.position.pgn import BadGame, Progress, read_lines

PLIES = 100_000  # of a shard
PIECE = 5_000  # plies of a CSV that are read at a time, where they are not written at once
CHARACTERS = 500_000  # of a piece of a PGN, at least
STANDARD_INPUT = Path("-")
KINDS = (".pgn", ".csv")  # and shards, where games of any kind are read
LABELLED = (".csv", ".jsonl")  # the second one only where it is named, not in folders
ALL = GameFilter()


class Imported(NamedTuple):
    """What became of a piece."""

    games: int = 0
    plies: int = 0
    shards: int = 0
    empty: int = 0  # games without a move, which are left out
    bad: tuple[str, ...] = ()  # games and lines that were skipped, and why
    refused: tuple[str, ...] = ()  # files of which nothing, or only a part, could be read, and why
    unwanted: int = 0  # games that were not asked for
    copies: int = 0  # games that this import has brought before, with the same moves

    def plus(self, other: Imported) -> Imported:
        """Both together."""
        return Imported._make(map(operator.add, self, other))


# --- files ---------------------------------------------------------------------------------------


def _bare(path: Place) -> Place:
    """The name of a file without its packing."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def _stem_of(path: Place) -> str:
    """The name of a file without its kind and packing."""
    return "stdin" if path == STANDARD_INPUT else _bare(path).stem


def kind_of(path: Place, kinds: Sequence[str] = KINDS) -> str:
    """`.csv`, `.jsonl`, `.pgn` or another of some kinds, by the name of the file."""
    if path == STANDARD_INPUT:
        return ".pgn"
    suffix = _bare(path).suffix.lower()
    if suffix not in (*kinds, *LABELLED):
        fix = f"name it {' or '.join(kinds)}, PGN and CSV packed or not"
        raise InputError("not a kind of file that is read here", value=str(path), fix=fix)
    return suffix


def files_in(places: Sequence[Place], kinds: Sequence[str] = KINDS) -> list[Place]:
    """The files that files and folders stand for; in folders, what is named as one of the kinds."""
    files: list[Place] = []
    for place in places:
        if place == STANDARD_INPUT:
            files.append(place)
        elif place.is_dir():
            inside = files_below(place, "*")
            files += [path for path in inside if _bare(path).suffix.lower() in kinds]
        else:
            files.append(existing(place))
    if not files:
        where = ", ".join(map(str, places))
        raise InputError(f"no {' or '.join(kinds)} file here", value=where, fix="name files")
    return files


def count_games(paths: Sequence[Place]) -> int | None:
    """How many games there are, for a progress bar: PGN by their tags; None if nothing tells."""
    total = 0
    for path in paths:
        kind = kind_of(path, (*KINDS, SUFFIX))
        if kind in LABELLED or path == STANDARD_INPUT:
            return None
        try:
            if kind == SUFFIX:
                total += read_header(path).games
            else:
                total += sum(line.startswith("[Event ") for line in read_lines(path))
        except DamagedFileError:
            continue  # it is named when it is read
    return total


# --- labelled positions ---------------------------------------------------------------------------


def labelled_lines(path: Place, plies: int) -> Iterator[tuple[int, list[str]]]:
    """Lines of a CSV in pieces of whole games, with the number of each piece's first line."""
    lines = read_lines(path)
    if kind_of(path) == LABELLED[1]:
        lines = of_json(lines)
    lines = in_order(lines, lambda text: say(f"{path}: {text}"))
    first, fault = peek(lines)
    if fault:
        fix = f"expected the columns {', '.join(COLUMNS)}, or a heading that names some of them"
        raise InputError(f"{path}: {fault}", fix=fix)
    yield from chunks(chain(first, lines), plies)


def import_labelled(
    path: Place, output: Place, model: LabelModel, *, plies: int = PLIES, workers: int = 1
) -> Iterator[Imported]:
    """Import a CSV of labelled positions; yields as pieces are done."""
    shards = _labelled_shards(path, model, plies, workers, provenance("data import"))
    for number, (shard, done) in enumerate(shards, start=1):
        if shard.games:  # written here: a place in memory is this process's own
            add(output, shard, f"{_stem_of(path)}-{number:05d}")
        yield done.plus(Imported(shard.games, shard.plies, int(shard.games > 0)))


def _labelled_shards(
    path: Place, model: LabelModel, plies: int, workers: int, about: dict[str, Any]
) -> Iterator[tuple[Shard, Imported]]:
    """A shard for each piece, or an empty one with the reason why there are no more."""
    work = partial(_labelled_piece, path=path, model=model, about=about)
    try:
        yield from in_processes(work, labelled_lines(path, plies), workers, in_order=True)
    except (InputError, DamagedFileError) as error:
        yield empty(), Imported(refused=(f"file skipped: {error}",))


def _labelled_piece(
    piece: tuple[int, list[str]], *, path: Place, model: LabelModel, about: dict[str, Any]
) -> tuple[Shard, Imported]:
    first, lines = piece
    parsed = parse(lines, first)
    shard = shard_of_lines(parsed, model, {"kind": "labels", "file": path.name}, about)
    return shard, Imported(bad=_bad_lines(path, parsed))


def _bad_lines(path: Place, parsed: Lines) -> tuple[str, ...]:
    return tuple(f"{path}, {fault}" for fault in parsed.bad)


def scores_and_results(paths: Sequence[Place]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Scores and results of labelled files, both of the side to move: pairs of arrays [n]."""
    for path in paths:
        for first, piece in labelled_lines(path, PLIES):
            parsed = parse(piece, first)
            for text in _bad_lines(path, parsed):
                say(text)
            views = 1 - 2 * parsed.positions["side"].astype("int8")
            decided = parsed.results != UNKNOWN_RESULT
            yield parsed.scores[decided], (parsed.results * views)[decided]


# --- PGN ------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Some whole games of a file."""

    path: Place
    line: int  # of the file, from 1, where the piece begins
    text: str
    fault: str = ""  # why the file cannot be read any further


class PieceRead(NamedTuple):
    """What was in a piece; bad games are counted from its beginning."""

    path: Place
    games: int  # all of them, from which a piece after this one counts on
    empty: int  # games without a move, which are left out
    bad: tuple[BadGame, ...]
    shard: Shard
    fault: str = ""
    unwanted: int = 0

    def described(self, before: int) -> Imported:
        """What became of the piece, which has so many games of its file before it."""
        bad = tuple(
            str(replace(game, source=str(self.path), number=game.number + before))
            for game in self.bad
        )
        refused = (f"the rest of a file skipped: {self.fault}",) if self.fault else ()
        return Imported(empty=self.empty, bad=bad, refused=refused, unwanted=self.unwanted)


def pieces_of(paths: Sequence[Place], characters: int = CHARACTERS) -> Iterator[Piece]:
    """The pieces of all files, one file after the other."""
    for path in paths:
        yield from _pieces(path, characters)


def _pieces(path: Place, characters: int) -> Iterator[Piece]:
    """The pieces of a file; at least one, so that an empty file is reported, too."""
    faults: list[str] = []
    pieces = whole_games(_lines(path, faults), characters)
    waiting = next(pieces)
    for piece in pieces:
        yield Piece(path, waiting[0], "".join(waiting[1]))
        waiting = piece
    yield Piece(path, waiting[0], "".join(waiting[1]), *faults)


def _lines(path: Place, faults: list[str]) -> Iterator[str]:
    """The lines of a file, up to where it is damaged."""
    try:
        yield from read_lines(sys.stdin if path == STANDARD_INPUT else path)
    except DamagedFileError as error:
        faults.append(str(error))


def read_piece(piece: Piece, model: LabelModel, game_filter: GameFilter = ALL) -> PieceRead:
    """Read the games of a piece, those that are wanted."""
    name = "standard input" if piece.path == STANDARD_INPUT else piece.path.name
    bad: list[BadGame] = []
    chosen = None if game_filter == ALL else choose(piece.text, game_filter)
    text = piece.text if chosen is None else chosen.text
    progress = Progress(piece.line - 1, counted=False)
    games = list(read_pgn(io.StringIO(text), model, name, bad.append, progress))
    bad = [replace(game, tree=None) for game in bad]  # a sentence is enough for other processes
    shard = shard_of([game for game in games if game.plies])
    without, all_games, unwanted = len(games) - shard.games, len(games) + len(bad), 0
    if chosen is not None:
        all_games, unwanted = chosen.games, chosen.games - len(chosen.kept)
        places = dict(enumerate(chosen.kept, start=1))
        bad = [replace(game, number=places.get(game.number, game.number)) for game in bad]
    return PieceRead(piece.path, all_games, without, tuple(bad), shard, piece.fault, unwanted)


def _pgn_shards(path: Place, pieces: Iterable[PieceRead]) -> Iterator[tuple[Shard, Imported]]:
    """A shard for each piece of a file, and an empty one with the reason if there is no game."""
    games, refused = 0, False
    for read in pieces:
        yield read.shard, read.described(games)
        games, refused = games + read.games, bool(read.fault)
    if not games and not refused:
        yield empty(), Imported(refused=(f"file skipped: {path}: no game in it",))


def import_pgn(
    paths: Sequence[Place],
    output: Place,
    model: LabelModel,
    *,
    game_filter: GameFilter = ALL,
    plies: int = PLIES,
    workers: int = 1,
) -> Iterator[Imported]:
    """Import PGN files (`-` is standard input); yields a shard, or the end of a file, at a time."""
    work, seen = partial(read_piece, model=model, game_filter=game_filter), KnownGames()
    done = in_processes(work, pieces_of(paths), workers, in_order=True)
    for path, pieces in groupby(done, key=lambda read: read.path):
        yield from _import_file(path, _pgn_shards(path, pieces), output, plies, seen)


class KnownGames:
    """The games of an import, each by its seed, which says its start and moves: 8 bytes a game."""

    def __init__(self) -> None:
        self._sorted: list[np.ndarray] = []  # uint64, none in two of them

    def copies(self, seeds: np.ndarray) -> int:
        """How many of some games, uint64 [G], came before; from now on all of them have."""
        new = np.unique(seeds)
        for earlier in self._sorted:
            at = np.minimum(np.searchsorted(earlier, new), len(earlier) - 1)
            new = new[earlier[at] != new]
        if len(new):
            self._sorted.append(new)
        while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
            self._sorted.append(np.sort(np.concatenate([self._sorted.pop(), self._sorted.pop()])))
        return len(seeds) - len(new)


def _import_file(
    path: Place,
    pieces: Iterator[tuple[Shard, Imported]],
    output: Place,
    plies: int,
    seen: KnownGames,
) -> Iterator[Imported]:
    imported = Imported()

    def shards() -> Iterator[Shard]:
        nonlocal imported
        for shard, piece in pieces:
            imported = imported.plus(piece)
            yield shard

    for number, shard in enumerate(cut(shards(), plies), start=1):
        header = msgspec.structs.replace(shard.header, provenance=provenance("data import"))
        add(output, shard._replace(header=header), f"{_stem_of(path)}-{number:05d}")
        copies = seen.copies(shard.seeds)
        yield imported.plus(Imported(shard.games, shard.plies, 1, copies=copies))
        imported = Imported()
    yield imported


# --- anything -------------------------------------------------------------------------------------


def read_all(store: Store, model: LabelModel) -> Iterator[tuple[Shard, Imported]]:
    """The games of files of all kinds, some at a time, with what became of each piece."""
    for path in store.paths:
        kind = kind_of(path, (*KINDS, SUFFIX))
        if kind == SUFFIX:
            yield from ((shard, Imported()) for _, shard in store.named([path]))
        elif kind in LABELLED:
            yield from _labelled_shards(path, model, PIECE, 1, {})
        else:
            pieces = pieces_of([path], CHARACTERS // 10)
            yield from _pgn_shards(path, (read_piece(piece, model) for piece in pieces))

"""A store is a folder of shards: writing, reading with damaged ones left out, counting, cutting.

`Summary` counts what `kibitz data inspect` prints.

Names say where the games came from and end in eight digits of the content's own SHA-256: the same
games written twice are one file, different ones never replace each other. Shards are put together,
picked from and cut into pieces as arrays.
"""

from __future__ import annotations

import hashlib
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import write_bytes
from kibitz.core.log import say
from kibitz.core.places import Place, existing, files_below
from kibitz.data.shard import (
    NOT_A_POLICY,
    NOT_A_VALUE,
    PER_GAME,
    PER_PLY,
    PER_VISIT,
    RANDOM_MOVE,
    SUFFIX,
    Header,
    Shard,
    claimed_games,
    counted,
    empty,
    encode,
    numbered,
    offsets_of,
    read,
    read_header,
)
from kibitz.jit.bits import mixed

Kind = TypeVar("Kind")

DIGITS = 8
EXIT_DAMAGED = 1  # of a command that has left out damaged shards, and named them
BINS = 20  # of values from -1 to 1
LENGTHS = (0, 20, 40, 60, 80, 100, 150, 200, 300, 500)
RESULT_NAMES = {1: "white", 0: "draw", -1: "black", 2: "unknown"}
SHOWN_SOURCES = 20
GENERATION = "generation"  # in the provenance of shards made by generations of networks


class Totals(NamedTuple):
    """What was written."""

    shards: int
    games: int
    plies: int
    visits: int


def add(folder: Place, shard: Shard, stem: str) -> Place:
    """Write a shard under a name of its own; returns where it is."""
    content = encode(shard)
    path = folder / f"{stem}-{hashlib.sha256(content).hexdigest()[:DIGITS]}{SUFFIX}"
    write_bytes(path, content)
    return path


def shards_in(*places: Place) -> list[Place]:
    """The shard files that files and folders (with their sub-folders) stand for, by name."""
    paths: list[Place] = []
    for place in places:
        if place.is_dir():
            paths += files_below(place, f"*{SUFFIX}")
        else:
            paths.append(existing(place))
    if not paths:
        where = ", ".join(map(str, places))
        raise InputError(f"no {SUFFIX} file here", value=where, fix="import or play games first")
    return paths


def differing(there: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What was done otherwise than it would be now, each in words; of tables, what is in them.

    >>> differing({"seed": 1, "label": {"nodes": 5, "hash": 1}}, {"seed": 1, "label": {"nodes": 6}})
    ['label.hash 1 there, None now', 'label.nodes 5 there, 6 now']
    """
    words: list[str] = []
    for key in sorted({*there, *now}):
        old, new = there.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            words += [f"{key}.{text}" for text in differing(old, new)]
        elif old != new:
            words.append(f"{key} {old!r} there, {new!r} now")
    return words


Check = Callable[[Shard, Place], None]


def unchecked(_: Shard, __: Place) -> None:
    """Further checks of a shard beside those of `read`: none."""


class Store:
    """Shards that are read one by one. Damaged ones are left out: each is named, and counted.

    `check` may ask more of a shard than that it is as it was written.
    """

    def __init__(
        self, paths: Sequence[Place], fate: str = "left out", check: Check = unchecked
    ) -> None:
        self.paths = list(paths)
        self._check = check
        self._fate = fate  # of damaged games, for the line that names them
        self.damaged: dict[str, int | None] = {}  # games by the damaged header, if it can be read

    def __iter__(self) -> Iterator[Shard]:
        return (shard for _, shard in self.named())

    def named(self, paths: Iterable[Place] | None = None) -> Iterator[tuple[Place, Shard]]:
        """The sound ones of some shards, or all, with where they are."""
        return self._sound(self._read, self.paths if paths is None else paths)

    def _read(self, path: Place) -> Shard:
        shard = read(path)
        self._check(shard, path)
        return shard

    def headers(self) -> Iterator[tuple[Place, Header]]:
        """The headers of sound shards, several times faster than reading all."""
        return self._sound(read_header, self.paths)

    def _sound(
        self, reader: Callable[[Place], Kind], paths: Iterable[Place]
    ) -> Iterator[tuple[Place, Kind]]:
        for path in paths:
            try:
                content = reader(path)
            except DamagedFileError as error:
                self._leave_out(path, error)
            else:
                yield path, content

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
        more = (1, shard.games, shard.plies, len(shard.visit_moves))
        done = Totals._make(map(operator.add, done, more))
    return done


def outdated(store: Store, keep: int) -> list[tuple[int, Place]]:
    """Shards older than the last `keep` generations, with theirs; those without one are kept."""
    dated_paths = [(header.provenance.get(GENERATION), path) for path, header in store.headers()]
    dated = [(generation, path) for generation, path in dated_paths if isinstance(generation, int)]
    newest = set(sorted({generation for generation, _ in dated})[-keep:])
    old = [(generation, path) for generation, path in dated if generation not in newest]
    return sorted(old, key=lambda pair: (pair[0], pair[1].parts))


# --- what it holds -------------------------------------------------------------------------------


COUNTED = ("shards", "games", "positions", "visited_moves", "with_value", "with_policy")
COUNTED_FLAGS = {
    "random_moves": RANDOM_MOVE,
    "not_a_policy": NOT_A_POLICY,
    "not_a_value": NOT_A_VALUE,
}


@dataclass
class Summary:
    """Counts over shards, added one by one."""

    counts: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys((*COUNTED, *COUNTED_FLAGS), 0))
    )
    results: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    longest: int = 0
    values: np.ndarray = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))

    def add(self, shard: Shard) -> None:
        """Count a shard."""
        has_value = ~np.isnan(shard.values)
        policies = int((np.diff(shard.visit_offsets) > 0).sum())
        numbers = (
            1,
            shard.games,
            shard.plies,
            len(shard.visit_moves),
            int(has_value.sum()),
            policies,
        )
        self.counts.update(dict(zip(COUNTED, numbers, strict=True)))
        for name, flag in COUNTED_FLAGS.items():
            self.counts[name] += int((shard.flags & flag != 0).sum())
        self.values += np.histogram(shard.values[has_value], BINS, (-1.0, 1.0))[0]
        for number, name in RESULT_NAMES.items():
            self.results[name] += int((shard.results == number).sum())
        self.ends.update(shard.header.ends[number] for number in shard.ends.tolist())
        kinds = [_kind(source) for source in shard.header.sources]
        self.sources.update(kinds[number] for number in shard.sources.tolist())
        lengths = np.diff(shard.offsets)
        self.longest = max(self.longest, int(lengths.max(initial=0)))
        bins = np.searchsorted(LENGTHS, lengths, side="right") - 1
        self.lengths.update(LENGTHS[place] for place in bins.tolist())

    def facts(self) -> dict[str, Any]:
        """The counts as plain data; of many sources the most frequent."""
        return {
            **self.counts,
            "mean_length": round(self.counts["positions"] / max(self.counts["games"], 1), 1),
            "longest": self.longest,
            "results": dict(self.results),
            "ends": dict(self.ends),
            "sources": dict(self.sources.most_common(SHOWN_SOURCES)),
            "lengths": {str(low): self.lengths[low] for low in LENGTHS if self.lengths[low]},
            "values": {
                f"{-1 + 2 * place / BINS:+.1f}": count
                for place, count in enumerate(self.values.tolist())
            },
        }


def _kind(source: dict[str, Any]) -> str:
    """What a source is called in a summary: PGN games count by their file, not by their players."""
    if source.get("kind") == "pgn":
        source = {name: source[name] for name in ("kind", "file") if name in source}
    return msgspec.json.encode(source, order="deterministic").decode()


# --- shards as arrays: put together, picked from, cut into pieces ---------------------------------


MOST_ENDS = 1 << 8
MOST_SOURCES = 1 << 16


def concatenate(shards: Sequence[Shard]) -> Shard:
    """All games of several shards, in order, with the sources and ends of all."""
    if not shards:
        return empty()
    sources, source_maps = _merged([shard.header.sources for shard in shards], MOST_SOURCES)
    ends, end_maps = _merged([shard.header.ends for shard in shards], MOST_ENDS)
    arrays = {
        name: np.concatenate([getattr(shard, name) for shard in shards])
        for name in (*PER_GAME, *PER_PLY, *PER_VISIT)
    }
    arrays["sources"] = _renumbered([shard.sources for shard in shards], source_maps, np.uint16)
    arrays["ends"] = _renumbered([shard.ends for shard in shards], end_maps, np.uint8)
    for name in ("offsets", "visit_offsets"):
        lengths = [np.diff(getattr(shard, name)) for shard in shards]
        arrays[name] = offsets_of(np.concatenate(lengths))
    header = Header(sources=sources, ends=ends, provenance=shards[0].header.provenance)
    return counted(Shard(header, **arrays))


def _merged(lists: Sequence[Sequence[Any]], most: int) -> tuple[tuple[Any, ...], list[list[int]]]:
    """One list without repetitions, and for every list where its entries are in it."""
    merged, numbers = numbered([entry for entries in lists for entry in entries])
    ends = np.cumsum([len(entries) for entries in lists]).tolist()
    maps = [numbers[end - len(entries) : end] for end, entries in zip(ends, lists, strict=True)]
    if len(merged) > most:
        raise InputError(
            "too many different sources or ends for one shard",
            value=len(merged),
            fix=f"most {most}",
        )
    return merged, maps


def _renumbered(columns: Sequence[np.ndarray], maps: list[list[int]], dtype: Any) -> np.ndarray:
    return np.concatenate(
        [
            np.array(places or [0], dtype=dtype)[column]
            for column, places in zip(columns, maps, strict=True)
        ]
    )


def select(shard: Shard, games: np.ndarray) -> Shard:
    """The games with these numbers (int [n], in any order) as a shard of its own."""
    plies = _ranges(shard.offsets, games)
    visits = _ranges(shard.visit_offsets, plies)
    arrays = {name: getattr(shard, name)[games] for name in PER_GAME}
    arrays |= {name: getattr(shard, name)[plies] for name in PER_PLY}
    arrays |= {name: getattr(shard, name)[visits] for name in PER_VISIT}
    arrays["offsets"] = offsets_of(np.diff(shard.offsets)[games])
    arrays["visit_offsets"] = offsets_of(np.diff(shard.visit_offsets)[plies])
    return counted(_without_idle_sources(Shard(shard.header, **arrays)))


def _ranges(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Indices of everything that belongs to the rows, one row after the other; int64."""
    lengths = offsets[1:][rows] - offsets[:-1][rows]
    within = np.arange(lengths.sum()) - np.repeat(offsets_of(lengths)[:-1], lengths)
    result: np.ndarray = np.repeat(offsets[:-1][rows], lengths) + within
    return result


def _without_idle_sources(shard: Shard) -> Shard:
    """Drop sources that no game refers to any more."""
    used, numbers = np.unique(shard.sources, return_inverse=True)
    sources = tuple(shard.header.sources[place] for place in used.tolist())
    header = msgspec.structs.replace(shard.header, sources=sources)
    return shard._replace(header=header, sources=numbers.astype(np.uint16))


def cut(shards: Iterable[Shard], plies: int) -> Iterator[Shard]:
    """The same games in shards of about so many plies, cut between games."""
    waiting: list[Shard] = []
    waiting_plies = games = 0
    for shard in shards:
        start = 0
        while start < shard.games:
            room = plies - waiting_plies
            beyond = np.searchsorted(shard.offsets, shard.offsets[start] + room)
            most = start + MOST_SOURCES - games  # each may have a source of its own
            end = max(start + 1, min(int(beyond), shard.games, most))
            waiting.append(select(shard, np.arange(start, end)))
            waiting_plies, games = waiting_plies + waiting[-1].plies, games + waiting[-1].games
            start = end
            if waiting_plies >= plies or games >= MOST_SOURCES:
                yield concatenate(waiting)
                waiting, waiting_plies, games = [], 0, 0
    if waiting:
        yield concatenate(waiting)


def chosen(shard: Shard, share: float) -> np.ndarray:
    """Which games belong to a share of all, bool [G]; by their seeds, so always the same ones.

    Records of one game, and copies of one imported game, have the same seed and stay together.
    Games without a seed go by their start and first moves.
    """
    seeds = shard.seeds.copy()
    for game in np.flatnonzero(seeds == 0).tolist():
        moves = shard.moves[shard.offsets[game] : shard.offsets[game + 1]]
        content = shard.starts[game].tobytes() + moves.tobytes()
        seeds[game] = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
    hashes = np.array([mixed(seed) for seed in seeds], np.uint64)
    result: np.ndarray = hashes.astype(np.float64) / 2.0**64 < share
    return result

"""Which positions are learned from, and in which portions they come into memory.

A window is read whole, or where it is larger than memory, in chunks of shards that are drawn anew
in each epoch; positions are shuffled within a chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kibitz.core.errors import InputError
from kibitz.core.log import Bar
from kibitz.core.places import Place, below, place
from kibitz.data import store
from kibitz.data.batches.order import held_out, key_of, order
from kibitz.data.batches.sample import (
    Samples,
    has_value,
    joined,
    of_games,
    replay,
    taught_by_play,
    teaching,
)
from kibitz.data.shard import read, read_header


class Source(NamedTuple):
    """A folder of shards and how often an epoch goes over it."""

    folder: Place
    weight: float = 1.0


class Chunk(NamedTuple):
    """Positions in memory: those of each source that teach, and those held out."""

    samples: Samples
    rows: tuple[np.ndarray, ...]  # int64 [n] for each source: rows of samples
    held_out: np.ndarray  # int64 [h]
    weights: tuple[float, ...]  # how often an epoch shows each source

    @property
    def counts(self) -> list[int]:
        """How many positions of each source an epoch shows."""
        pairs = zip(self.rows, self.weights, strict=True)
        return [round(weight * len(rows)) for rows, weight in pairs]

    @property
    def size(self) -> int:
        """How many positions an epoch shows."""
        return sum(self.counts)

    def drawn(self, epoch: int, key: np.uint64, first: int, last: int) -> np.ndarray:
        """Return the rows from `first` to before `last` in the order of an epoch, int64.

        A source shown less than once an epoch takes its turn where the last epoch left off.
        """
        numbers = order(self.size, key, first, last)
        ends = np.cumsum(self.counts)
        source = np.searchsorted(ends, numbers, side="right")
        drawn_rows = np.empty_like(numbers)
        for index, (rows, count) in enumerate(zip(self.rows, self.counts, strict=True)):
            from_source = source == index
            within = numbers[from_source] - (ends[index] - count) + epoch * count
            drawn_rows[from_source] = rows[within % len(rows)] if len(rows) else 0
        return drawn_rows


def parse_source(text: str) -> Source:
    """Return the source that DIR or DIR=WEIGHT names."""
    folder, equals, written = text.rpartition("=")
    if not equals:
        return Source(place(text))
    try:
        weight = float(written)
    except ValueError:
        return Source(place(text))  # the folder's name has an = in it
    if not 0 < weight < 1e6:
        raise InputError("a weight of data", value=text, fix="give more than 0, like games=2")
    return Source(place(folder), weight)


def shards_in(folder: Place, generations: int = 0) -> list[Place]:
    """Return the shards of a folder and of the folders in it, oldest first: names sort by age.

    With `generations`, only those of so many folders (or, lying side by side, shards) at the end.
    """
    paths = store.shards_in(folder)
    if not generations or folder.is_file():
        return paths
    groups = sorted({below(path, folder)[0] for path in paths})[-generations:]
    return [path for path in paths if below(path, folder)[0] in groups]


class Loaded(NamedTuple):
    """One shard in memory."""

    samples: Samples
    held_out: np.ndarray  # bool [S]

    def training_rows(self, policy_share: float) -> np.ndarray:
        """Which rows are trained on, bool [S]: of those that teach a policy alone, a share."""
        rows: np.ndarray = teaching(self.samples) & ~self.held_out
        if policy_share < 1:
            chosen = np.random.default_rng(len(rows)).random(len(rows)) < policy_share
            rows &= chosen | has_value(self.samples, slice(None))
        return rows


def load_shard(path: Place, validation: float, played: bool = True) -> Loaded:
    """Read, check and replay a shard; `played` moves teach where there was no search."""
    shard = read(path)
    samples = replay(shard, path)
    if played:
        samples = taught_by_play(samples)
    return Loaded(samples, held_out(shard, validation)[samples.game])


def join(sources: Sequence[tuple[float, Sequence[Loaded]]], policy_share: float = 1.0) -> Chunk:
    """Return the chunk of the shards of each source."""
    rows, held_out_rows, first = [], [], 0
    for _, shards in sources:
        mine = [np.empty(0, dtype=np.int64)]
        for shard in shards:
            mine.append(first + np.flatnonzero(shard.training_rows(policy_share)))
            useful = teaching(shard.samples)
            held_out_rows.append(first + np.flatnonzero(useful & shard.held_out))
            first += len(shard.held_out)
        rows.append(np.concatenate(mine))
    parts = [shard.samples for _, shards in sources for shard in shards]
    weights = tuple(weight for weight, _ in sources)
    return Chunk(joined(parts), tuple(rows), np.concatenate(held_out_rows), weights)


@dataclass
class Window:
    """The shards to learn from, and the chunks in which they come into memory.

    `newest` takes so many positions from the end of each source (whole shards), 0 all; `memory`
    is how many positions a chunk may have, 0 any number. With `played`, moves made are policy
    targets where no search left any. `policy_share` is how much of what teaches a policy alone
    is trained on.
    """

    sources: tuple[Source, ...]
    validation: float = 0.0
    newest: int = 0
    generations: int = 0
    memory: int = 0
    seed: int = 0
    played: bool = True
    policy_share: float = 1.0
    bar: Bar | None = None
    _paths: list[list[Place]] = field(default_factory=list)
    _sizes: dict[Place, int] = field(default_factory=dict)
    _whole: Chunk | None = None

    def __post_init__(self) -> None:
        self._paths = [self._newest(source) for source in self.sources]
        if self.memory and self.positions > self.memory:
            return
        pairs = zip(self.sources, self._paths, strict=True)
        parts = [(source.weight, self._load(paths)) for source, paths in pairs]
        self._whole = join(parts, self.policy_share)
        self._check(self._whole)

    @property
    def files(self) -> list[Place]:
        """All shards of the window."""
        return [path for paths in self._paths for path in paths]

    @property
    def positions(self) -> int:
        """Positions of the window, held-out ones included."""
        return sum(self._size(path) for path in self.files)

    @property
    def chunks(self) -> int:
        """How many chunks an epoch has."""
        if self._whole is not None:
            return 1
        most = max(len(paths) for paths in self._paths)
        return min(most, -(-self.positions // self.memory))

    def chunk(self, epoch: int, number: int) -> Chunk:
        """Return one chunk of an epoch; which shards share a chunk is drawn anew every time."""
        if self._whole is not None:
            return self._whole
        parts = []
        for index, (source, paths) in enumerate(zip(self.sources, self._paths, strict=True)):
            turn = order(len(paths), key_of(self.seed, epoch, index), 0, len(paths))
            mine = [paths[at] for at in turn[number :: self.chunks]]
            parts.append((source.weight, self._load(mine)))
        return join(parts, self.policy_share)

    def validation_rows(self, most: int) -> tuple[Samples, np.ndarray]:
        """Return samples and up to `most` rows of them from held-out games, always the same."""
        chunk = self._whole if self._whole is not None else self._held_out(most)
        rows = chunk.held_out
        if len(rows) > most:
            rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
        return chunk.samples, rows

    def _held_out(self, most: int) -> Chunk:
        """Return held-out games of as many shards as it takes, one source after the other."""
        parts: list[Loaded] = []
        positions = 0
        for at in order(len(self.files), key_of(0), 0, len(self.files)):
            shard = load_shard(self.files[at], self.validation, self.played)
            samples = of_games(shard.samples, np.unique(shard.samples.game[shard.held_out]))
            parts.append(Loaded(samples, np.ones(len(samples.game), dtype=bool)))
            positions += len(samples.game)
            if positions >= most:
                break
        return join([(1.0, parts)])

    def _load(self, paths: Sequence[Place]) -> list[Loaded]:
        loaded = []
        for path in paths:
            loaded.append(load_shard(path, self.validation, self.played))
            if self.bar is not None:
                self.bar.advance()
        return loaded

    def _newest(self, source: Source) -> list[Place]:
        paths = shards_in(source.folder, self.generations)
        if not self.newest:
            return paths
        newest: list[Place] = []
        for path in reversed(paths):
            if sum(self._size(kept_path) for kept_path in newest) >= self.newest:
                break
            newest.insert(0, path)
        return newest

    def _size(self, path: Place) -> int:
        if path not in self._sizes:
            self._sizes[path] = read_header(path).plies
        return self._sizes[path]

    def _check(self, chunk: Chunk) -> None:
        for source, rows in zip(self.sources, chunk.rows, strict=True):
            if not len(rows):
                fix = "give more games, or a smaller validation share"
                raise InputError("nothing to learn from here", value=str(source.folder), fix=fix)

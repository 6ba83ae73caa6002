"""What a store holds, in numbers; shards -> **summary** -> table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from kibitz.games.shard import NOT_A_POLICY, RANDOM_MOVE, Shard

BINS = 20  # of values from -1 to 1
LENGTHS = (0, 20, 40, 60, 80, 100, 150, 200, 300, 500)
RESULT_NAMES = {1: "white", 0: "draw", -1: "black", 2: "unknown"}
SHOWN_SOURCES = 20


@dataclass
class Summary:
    """Counts over shards, added one by one."""

    shards: int = 0
    games: int = 0
    plies: int = 0
    visits: int = 0
    with_value: int = 0
    with_policy: int = 0
    random: int = 0
    not_a_policy: int = 0
    results: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    longest: int = 0
    values: np.ndarray = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))

    def add(self, shard: Shard) -> None:
        """Count a shard."""
        self.shards += 1
        self.games += shard.games
        self.plies += shard.plies
        self.visits += len(shard.visit_moves)
        known = ~np.isnan(shard.values)
        self.with_value += int(known.sum())
        self.with_policy += int((np.diff(shard.visit_offsets) > 0).sum())
        self.random += int((shard.flags & RANDOM_MOVE != 0).sum())
        self.not_a_policy += int((shard.flags & NOT_A_POLICY != 0).sum())
        self.values += np.histogram(shard.values[known], BINS, (-1.0, 1.0))[0]
        for number, name in RESULT_NAMES.items():
            self.results[name] += int((shard.results == number).sum())
        self._add_names(shard)
        lengths = np.diff(shard.offsets)
        self.longest = max(self.longest, int(lengths.max(initial=0)))
        bins = np.searchsorted(LENGTHS, lengths, side="right") - 1
        self.lengths.update(LENGTHS[place] for place in bins.tolist())

    def _add_names(self, shard: Shard) -> None:
        ends = np.bincount(shard.ends, minlength=len(shard.header.ends))
        sources = np.bincount(shard.sources, minlength=len(shard.header.sources))
        for end, count in zip(shard.header.ends, ends.tolist(), strict=True):
            self.ends[end] += count
        for source, count in zip(shard.header.sources, sources.tolist(), strict=True):
            self.sources[_kind(source)] += count

    def facts(self) -> dict[str, Any]:
        """The counts as plain data; of many sources the most frequent."""
        return {
            "shards": self.shards,
            "games": self.games,
            "positions": self.plies,
            "visited_moves": self.visits,
            "with_value": self.with_value,
            "with_policy": self.with_policy,
            "random_moves": self.random,
            "not_a_policy": self.not_a_policy,
            "mean_length": round(self.plies / max(self.games, 1), 1),
            "longest": self.longest,
            "results": dict(self.results),
            "ends": dict(+self.ends),
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


def summarise(shards: Iterable[Shard]) -> Summary:
    """Count all shards."""
    summary = Summary()
    for shard in shards:
        summary.add(shard)
    return summary

"""Shards as arrays: put together, picked from, cut into pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from kibitz.errors import InputError
from kibitz.games.shard import PER_GAME, PER_PLY, PER_VISIT, Header, Shard, counted, empty

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


def numbered(entries: Sequence[Any]) -> tuple[tuple[Any, ...], list[int]]:
    """The different entries in order of appearance, and each entry's number."""
    names = [msgspec.json.encode(entry, order="deterministic") for entry in entries]
    different = dict(zip(reversed(names), reversed(entries), strict=True))
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple(different[name] for name in order), [order[name] for name in names]


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


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Where each of so many pieces of these lengths starts, and where the last ends; int64."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


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
    held = games = 0
    for shard in shards:
        start = 0
        while start < shard.games:
            room = plies - held
            beyond = np.searchsorted(shard.offsets, shard.offsets[start] + room)
            most = start + MOST_SOURCES - games  # each may have a source of its own
            end = max(start + 1, min(int(beyond), shard.games, most))
            waiting.append(select(shard, np.arange(start, end)))
            held, games = held + waiting[-1].plies, games + waiting[-1].games
            start = end
            if held >= plies or games >= MOST_SOURCES:
                yield concatenate(waiting)
                waiting, held, games = [], 0, 0
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
    mixed = _mixed(seeds).astype(np.float64) / 2.0**64
    result: np.ndarray = mixed < share
    return result


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Splitmix64's finaliser: numbers that follow each other end up far apart; uint64 [n]."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        result: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return result

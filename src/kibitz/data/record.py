"""A game with its searches as Python objects.

`shard_of` and `games_of` convert in bulk. Producers of millions of plies fill the arrays of a Shard
directly instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from kibitz.data.shard import (
    UNKNOWN_END,
    UNKNOWN_RESULT,
    Header,
    Shard,
    counted,
    numbered,
    offsets_of,
    packed_starts,
)
from kibitz.position.fen import START, fen_of, read_fen
from kibitz.position.packed import new_packed, pack_positions, unpack_positions
from kibitz.position.state import new_positions

RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0, "*": UNKNOWN_RESULT}
RESULT_TEXTS = {number: text for text, number in RESULTS.items()}


@dataclass(frozen=True, slots=True)
class Ply:
    """A position that was searched, and the move made there (0: none), in the mover's view."""

    move: int
    value: float = math.nan  # for the side to move, in [-1, 1]
    draw: float = math.nan
    root_value: float = math.nan
    flags: int = 0
    visits: tuple[tuple[int, int], ...] = ()  # moves and their counts


@dataclass(frozen=True)
class Game:
    """A game from any start position. Unknown numbers are NaN, an unknown result is 2."""

    plies: tuple[Ply, ...] = ()
    start: str = START  # a FEN
    result: int = UNKNOWN_RESULT  # White's view
    end: str = UNKNOWN_END
    source: dict[str, Any] = field(default_factory=dict)
    seed: int = 0


def shard_of(games: Sequence[Game], provenance: dict[str, Any] | None = None) -> Shard:
    """The games as one shard."""
    plies = [ply for game in games for ply in game.plies]
    visits = [visit for ply in plies for visit in ply.visits]
    sources, source_numbers = numbered([game.source for game in games])
    ends, end_numbers = numbered([game.end for game in games])
    shard = Shard(
        header=Header(sources=sources, ends=ends, provenance=provenance or {}),
        starts=_starts([game.start for game in games]),
        offsets=offsets_of(np.array([len(game.plies) for game in games], dtype=np.int64)),
        results=np.array([game.result for game in games], dtype=np.int8),
        ends=np.array(end_numbers, dtype=np.uint8),
        sources=np.array(source_numbers, dtype=np.uint16),
        seeds=np.array([game.seed for game in games], dtype=np.uint64),
        moves=np.array([ply.move for ply in plies], dtype=np.uint16),
        values=np.array([ply.value for ply in plies], dtype=np.float32),
        draws=np.array([ply.draw for ply in plies], dtype=np.float32),
        root_values=np.array([ply.root_value for ply in plies], dtype=np.float32),
        flags=np.array([ply.flags for ply in plies], dtype=np.uint8),
        visit_offsets=offsets_of(np.array([len(ply.visits) for ply in plies], dtype=np.int64)),
        visit_moves=np.array([move for move, _ in visits], dtype=np.uint16),
        visit_counts=np.array([count for _, count in visits], dtype=np.uint32),
    )
    return counted(shard)


def _starts(fens: Sequence[str]) -> np.ndarray:
    positions = new_positions(len(fens))
    for index, fen in enumerate(fens):
        read_fen(fen, positions, index)
    return pack_starts(positions)


def pack_starts(positions: np.ndarray) -> np.ndarray:
    """Start positions, POSITION [G], as a shard has them: uint64 [G, 4]."""
    packed = new_packed(len(positions))
    pack_positions(positions, np.zeros(len(positions), dtype=np.uint8), packed)
    return packed.view(np.uint64).reshape(-1, 4).view(np.ndarray)


def start_positions(shard: Shard) -> np.ndarray:
    """The start positions of a shard's games, POSITION [G]."""
    positions = new_positions(shard.games)
    unpack_positions(packed_starts(shard), positions, np.zeros(shard.games, dtype=np.uint8))
    return positions


def games_of(shard: Shard) -> Iterator[Game]:
    """The games of a shard, one by one."""
    visits = list(zip(shard.visit_moves.tolist(), shard.visit_counts.tolist(), strict=True))
    policies = [tuple(visits[first:last]) for first, last in pairwise(shard.visit_offsets.tolist())]
    columns = (shard.moves, shard.values, shard.draws, shard.root_values, shard.flags)
    plies = list(map(Ply, *(column.tolist() for column in columns), policies))
    header, starts = shard.header, start_positions(shard)
    for game in range(shard.games):
        yield Game(
            plies=tuple(plies[shard.offsets[game] : shard.offsets[game + 1]]),
            start=fen_of(starts[game], shredder=True),
            result=int(shard.results[game]),
            end=header.ends[shard.ends[game]],
            source=header.sources[shard.sources[game]],
            seed=int(shard.seeds[game]),
        )

"""A shard replayed into flat arrays of positions.

Games keep their order, so the history of a row is simply the rows before it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kibitz.core.errors import DamagedFileError
from kibitz.core.files import Location
from kibitz.data.batches.replay import (
    ILLEGAL_MOVE,
    ILLEGAL_TARGET,
    SOUND,
    WRONG_START,
    Games,
    Rows,
    replay_games,
)
from kibitz.data.shard import (
    NOT_A_POLICY,
    NOT_A_VALUE,
    RANDOM_MOVE,
    UNKNOWN_RESULT,
    Shard,
    packed_starts,
)
from kibitz.position.moves import MAX_MOVES, NO_MOVE
from kibitz.position.packed import new_packed
from kibitz.position.state import new_positions

FAULTS = {
    WRONG_START: "a start position that cannot be played on",
    ILLEGAL_MOVE: "an illegal move",
    ILLEGAL_TARGET: "visits of an illegal move",
}


SLACK = 1e-3  # of sums of numbers that were rounded


class Samples(NamedTuple):
    """S positions of G games with T policy targets, everything for the side to move."""

    positions: np.ndarray  # PACKED [S], with how often each occurred earlier in its game
    values: np.ndarray  # float32 [S]: by the search, in [-1, 1]; NaN unknown
    draws: np.ndarray  # float32 [S]: probability of a draw by the search; NaN unknown
    root_values: np.ndarray  # float32 [S]: by the network before the search; NaN unknown
    results: np.ndarray  # int8 [S]: 1 won, 0 drawn, -1 lost, 2 unknown
    played: np.ndarray  # uint16 [S]: the move made, 0 none
    # uint8 [S]: 1 played at random, 2 searched too little to teach a policy, 4 teaches no value
    flags: np.ndarray
    since_start: np.ndarray  # uint16 [S]: rows before this one of the same game
    until_end: np.ndarray  # uint16 [S]: rows after this one of the same game
    game: np.ndarray  # int32 [S]
    target_offsets: np.ndarray  # int64 [S + 1]: row s owns entries target_offsets[s] onwards
    target_moves: np.ndarray  # uint16 [T]
    target_weights: np.ndarray  # float32 [T]: sum 1 in a row; no entries: no policy target


PER_ROW = Samples._fields[: Samples._fields.index("target_offsets")]


def replay(shard: Shard, location: Location = "a shard in memory") -> Samples:
    """Return every position of a shard; a last position without legal moves is left out."""
    rows = _new_rows(shard.plies, len(shard.visit_moves))
    count, fault, game, ply = replay_games(_games(shard), rows)
    if fault != SOUND:
        raise _broken(FAULTS[fault], game, ply, location)
    targets = int(rows.target_offsets[count])
    positions, plies, games = rows.positions[:count], rows.ply[:count], rows.game[:count]
    return Samples(
        positions=positions,
        values=shard.values[plies],
        draws=shard.draws[plies],
        root_values=shard.root_values[plies],
        results=_for_side_to_move(shard.results[games], positions),
        played=shard.moves[plies],
        flags=shard.flags[plies],
        since_start=rows.since_start[:count],
        until_end=_until_end(games),
        game=games,
        target_offsets=rows.target_offsets[: count + 1],
        target_moves=rows.target_moves[:targets],
        target_weights=rows.target_weights[:targets],
    )


def check_rules(shard: Shard, location: Location) -> None:
    """Refuse a shard whose games break the rules of chess, or whose numbers contradict each other.

    It looks at all that a training looks at, so that nothing is called sound that it refuses.
    """
    replay(shard, location)
    policies = shard.flags & NOT_A_POLICY == 0
    owners = np.repeat(np.arange(shard.plies), np.diff(shard.visit_offsets))
    visits = np.bincount(owners, shard.visit_counts, shard.plies)
    pairs = owners << 16 | shard.visit_moves
    order = np.sort(pairs)
    twice = np.zeros(shard.plies, bool)
    twice[order[1:][order[1:] == order[:-1]] >> 16] = True
    for what, wrong in (
        ("visits of a move counted twice", twice),
        ("visits that are all 0", policies & (np.diff(shard.visit_offsets) > 0) & (visits == 0)),
        ("a value and a draw that cannot both be", np.abs(shard.values) + shard.draws > 1 + SLACK),
    ):
        if wrong.any():
            ply = int(np.argmax(wrong))
            game = int(np.searchsorted(shard.offsets, ply, side="right")) - 1
            raise _broken(what, game, ply - int(shard.offsets[game]), location)


def _broken(what: str, game: int, ply: int, location: Location) -> DamagedFileError:
    text = f"damaged shard: {what} in game {game}, ply {ply}"
    return DamagedFileError(text, value=os.fspath(location), fix="fetch or write it again")


def _games(shard: Shard) -> Games:
    same = {name: getattr(shard, name) for name in Games._fields if name in Shard._fields}
    longest = int(np.diff(shard.offsets).max(initial=0))
    room = {"line": new_positions(longest + 1), "legal": np.empty(MAX_MOVES, dtype=np.uint16)}
    return Games(**same | room | {"starts": packed_starts(shard)})


def _new_rows(plies: int, visits: int) -> Rows:
    return Rows(
        positions=new_packed(plies),
        ply=np.empty(plies, dtype=np.int64),
        game=np.empty(plies, dtype=np.int32),
        since_start=np.empty(plies, dtype=np.uint16),
        target_offsets=np.zeros(plies + 1, dtype=np.int64),
        target_moves=np.empty(visits, dtype=np.uint16),
        target_weights=np.empty(visits, dtype=np.float32),
    )


def joined(parts: Sequence[Samples]) -> Samples:
    """Return several samples as one; games are numbered on."""
    if len(parts) == 1:
        return parts[0]
    games = np.cumsum([0] + [games_in(part) for part in parts])
    targets = np.cumsum([0] + [len(part.target_moves) for part in parts])
    shifted = [
        part._replace(game=part.game + np.int32(first), target_offsets=part.target_offsets + entry)
        for part, first, entry in zip(parts, games, targets, strict=False)
    ]
    offsets = [targets[:1], *(part.target_offsets[1:] for part in shifted)]
    whole = Samples(*map(np.concatenate, zip(*shifted, strict=True)))
    return whole._replace(target_offsets=np.concatenate(offsets))


def of_games(samples: Samples, games: np.ndarray) -> Samples:
    """Return the rows of some games, numbered anew."""
    chosen = np.zeros(games_in(samples), dtype=bool)
    chosen[games] = True
    rows, counts = chosen[samples.game], np.diff(samples.target_offsets)
    entries = np.repeat(rows, counts)
    numbers = (np.cumsum(chosen) - 1).astype(np.int32)
    parts = {name: getattr(samples, name)[rows] for name in PER_ROW}
    parts |= {name: getattr(samples, name)[entries] for name in ("target_moves", "target_weights")}
    offsets = np.concatenate([[0], np.cumsum(counts[rows])])
    return Samples(**parts | {"game": numbers[parts["game"]], "target_offsets": offsets})


def games_in(samples: Samples) -> int:
    """Return how many games the rows belong to."""
    return int(samples.game[-1]) + 1 if len(samples.game) else 0


def teaching(samples: Samples) -> np.ndarray:
    """Return bool [S]: which rows have anything to teach, a value, a result or a policy."""
    targets = np.diff(samples.target_offsets) > 0
    useful: np.ndarray = targets | has_value(samples, slice(None))
    return useful


def has_value(samples: Samples, rows: np.ndarray | slice) -> np.ndarray:
    """Return bool [B]: which of the rows teach a value, by their search or by the result."""
    searched, result = ~np.isnan(samples.values[rows]), samples.results[rows] != UNKNOWN_RESULT
    taught: np.ndarray = (searched | result) & (samples.flags[rows] & NOT_A_VALUE == 0)
    return taught


# --- how different games are ----------------------------------------------------------------------

OPENING_PLIES = 8
STATE_OF_POSITION = np.uint64(0xFFFF << 32)  # en passant square and side, without clocks
MIXING = np.uint64(0x9E3779B97F4A7C15)  # odd: half of 2^64 by the golden ratio
MIXING_SHIFT = np.uint64(29)


class Variety:
    """Counts how many games begin differently, and how many positions occur only once.

    It keeps a 64-bit hash of each game and of each position.
    """

    def __init__(self) -> None:
        self._openings: list[np.ndarray] = []  # uint64 [G] of each shard
        self._positions: list[np.ndarray] = []  # uint64 [S]

    def add(self, shard: Shard, location: Location = "a shard in memory") -> None:
        """Take in the games of a shard."""
        samples = replay(shard, location)
        packed = samples.positions
        self._positions.append(
            _hash(*(packed[name] for name in ("occupied", "low", "high")), _state(packed))
        )
        self._openings.append(_openings(shard))

    def facts(self) -> dict[str, float | None]:
        """Shares of different openings among the games, and of different positions among all."""
        named = {"unique_openings": self._openings, "unique_positions": self._positions}
        return {name: _share_of_unique(parts) for name, parts in named.items()}


def _openings(shard: Shard) -> np.ndarray:
    """Hash the start and the first plies of each game, uint64 [G]."""
    starts = packed_starts(shard)
    named = [starts[name] for name in ("occupied", "low", "high")]
    hashes = _hash(*named, _state(starts))
    moves = np.append(shard.moves, np.uint16(NO_MOVE)).astype(np.uint64)
    for ply in range(OPENING_PLIES):
        at = shard.offsets[:-1] + ply
        inside = at < shard.offsets[1:]
        hashes = _hash(
            hashes, np.where(inside, moves[np.where(inside, at, -1)], np.uint64(NO_MOVE))
        )
    return hashes


def _state(packed: np.ndarray) -> np.ndarray:
    state: np.ndarray = packed["state"] & STATE_OF_POSITION
    return state


def _hash(*columns: np.ndarray) -> np.ndarray:
    """Mix the columns of each row into a number, uint64 [N]; sums wrap around."""
    mixed: np.ndarray = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column) * MIXING
        mixed = (mixed ^ mixed >> MIXING_SHIFT) * MIXING
    return np.asarray(mixed ^ mixed >> MIXING_SHIFT)


def _share_of_unique(parts: Sequence[np.ndarray]) -> float | None:
    """Different numbers among all, as a share; None where there is no number."""
    count = sum(map(len, parts))
    return round(len(np.unique(np.concatenate(parts))) / count, 4) if count else None


def _until_end(game: np.ndarray) -> np.ndarray:
    """Count the rows after each of the same game, int32 [S] in order, as uint16 [S]."""
    last = np.searchsorted(game, game, side="right") - 1
    return (last - np.arange(len(game))).astype(np.uint16)


def taught_by_play(samples: Samples) -> Samples:
    """Return samples in which the move made is the policy target where no search left any.

    Moves played at random teach nothing, nor do those that a search hardly looked at.
    """
    counts = np.diff(samples.target_offsets)
    missing = (counts == 0) & (samples.played != NO_MOVE)
    missing &= samples.flags & (RANDOM_MOVE | NOT_A_POLICY) == 0
    offsets = np.concatenate([[0], np.cumsum(counts + missing)])
    added = np.zeros(offsets[-1], dtype=bool)
    added[offsets[:-1][missing]] = True
    moves, weights = np.empty(len(added), np.uint16), np.ones(len(added), np.float32)
    moves[added], moves[~added] = samples.played[missing], samples.target_moves
    weights[~added] = samples.target_weights
    return samples._replace(target_offsets=offsets, target_moves=moves, target_weights=weights)


def _for_side_to_move(results: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Turn results for White, int8 [S], into those for the side to move."""
    black = (positions["state"] >> np.uint64(40)) & np.uint64(1) == 1
    return np.where(black & (results != UNKNOWN_RESULT), -results, results).astype(np.int8)

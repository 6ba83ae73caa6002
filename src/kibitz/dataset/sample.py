"""A shard replayed into flat arrays of positions; shard -> **samples** -> batch.

Games keep their order, so the history of a row is simply the rows before it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kibitz.encoding.leaves import earlier_occurrences
from kibitz.errors import DamagedFileError
from kibitz.files import Location
from kibitz.games.shard import NOT_A_POLICY, UNKNOWN_RESULT, Shard, compact_starts
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.position.compact import new_compact, pack_compact, unpack_compact
from kibitz.position.moves import MAX_MOVES, NO_MOVE, generate
from kibitz.position.play import play
from kibitz.position.state import new_positions
from kibitz.position.validity import VALID, problem

WRONG_START, ILLEGAL_MOVE, ILLEGAL_TARGET = -1, -2, -3
PROBLEMS = {
    WRONG_START: "a start position that cannot be played on",
    ILLEGAL_MOVE: "an illegal move",
    ILLEGAL_TARGET: "visits of an illegal move",
}


class Samples(NamedTuple):
    """S positions of G games with T policy targets, everything for the side to move."""

    positions: np.ndarray  # COMPACT [S], with how often each occurred earlier in its game
    values: np.ndarray  # float32 [S]: by the search, in [-1, 1]; NaN unknown
    draws: np.ndarray  # float32 [S]: probability of a draw by the search; NaN unknown
    root_values: np.ndarray  # float32 [S]: by the network before the search; NaN unknown
    results: np.ndarray  # int8 [S]: 1 won, 0 drawn, -1 lost, 2 unknown
    played: np.ndarray  # uint16 [S]: the move made, 0 none
    flags: np.ndarray  # uint8 [S]: 1 played at random, 2 searched too little to teach a policy
    since_start: np.ndarray  # uint16 [S]: rows before this one of the same game
    until_end: np.ndarray  # uint16 [S]: rows after this one of the same game
    game: np.ndarray  # int32 [S]
    target_offsets: np.ndarray  # int64 [S + 1]: row s owns entries target_offsets[s] onwards
    target_moves: np.ndarray  # uint16 [T]
    target_weights: np.ndarray  # float32 [T]: sum 1 in a row; no entries: no policy target


def replay(shard: Shard, location: Location = "a shard in memory") -> Samples:
    """Return every position of a shard; a last position without legal moves is left out."""
    plies, visits = len(shard.moves), len(shard.visit_moves)
    positions = new_compact(plies)
    source = np.empty(plies, dtype=np.int64)
    game, since_start = np.empty(plies, dtype=np.int32), np.empty(plies, dtype=np.uint16)
    target_offsets = np.zeros(plies + 1, dtype=np.int64)
    target_moves = np.empty(visits, dtype=np.uint16)
    target_weights = np.empty(visits, dtype=np.float32)
    longest = int(np.diff(shard.offsets).max(initial=0))
    count = _replay(
        compact_starts(shard),
        shard.offsets,
        shard.moves,
        shard.flags,
        shard.visit_offsets,
        shard.visit_moves,
        shard.visit_counts,
        new_positions(longest + 1),
        np.empty(MAX_MOVES, dtype=np.uint16),
        positions,
        source,
        game,
        since_start,
        target_offsets,
        target_moves,
        target_weights,
    )
    if count < 0:
        where = f"game {int(source[0])}, ply {int(game[0])}"
        what = f"damaged shard: {PROBLEMS[count]} in {where}"
        raise DamagedFileError(what, value=os.fspath(location), fix="fetch or write it again")
    source, game = source[:count], game[:count]
    targets = int(target_offsets[count])
    return Samples(
        positions=positions[:count],
        values=shard.values[source],
        draws=shard.draws[source],
        root_values=shard.root_values[source],
        results=_for_side_to_move(shard.results[game], positions[:count]),
        played=shard.moves[source],
        flags=shard.flags[source],
        since_start=since_start[:count],
        until_end=_until_end(game),
        game=game,
        target_offsets=target_offsets[: count + 1],
        target_moves=target_moves[:targets],
        target_weights=target_weights[:targets],
    )


def joined(parts: Sequence[Samples]) -> Samples:
    """Return several samples as one; games are numbered on."""
    if len(parts) == 1:
        return parts[0]
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Samples._fields
        if name not in ("game", "target_offsets")
    }
    games = np.cumsum([0] + [games_in(part) for part in parts])
    targets = np.cumsum([0] + [len(part.target_moves) for part in parts])
    return Samples(
        game=np.concatenate([p.game + np.int32(n) for p, n in zip(parts, games, strict=False)]),
        target_offsets=np.concatenate(
            [np.zeros(1, np.int64)]
            + [p.target_offsets[1:] + n for p, n in zip(parts, targets, strict=False)]
        ),
        **arrays,
    )


def games_in(samples: Samples) -> int:
    """Return how many games the rows belong to."""
    return int(samples.game[-1]) + 1 if len(samples.game) else 0


def teaching(samples: Samples) -> np.ndarray:
    """Return bool [S]: which rows have anything to teach, a value, a result or a policy."""
    targets = np.diff(samples.target_offsets) > 0
    told: np.ndarray = targets | ~np.isnan(samples.values) | (samples.results != UNKNOWN_RESULT)
    return told


def _until_end(game: np.ndarray) -> np.ndarray:
    """Count the rows after each of the same game, int32 [S] in order, as uint16 [S]."""
    last = np.searchsorted(game, game, side="right") - 1
    return (last - np.arange(len(game))).astype(np.uint16)


def taught_by_play(samples: Samples) -> Samples:
    """Return samples in which the move made is the policy target where no search left any.

    Moves played at random teach nothing, nor do those that a search hardly looked at.
    """
    counts = np.diff(samples.target_offsets)
    missing = (counts == 0) & (samples.played != NO_MOVE) & (samples.flags == 0)
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


@kernel
def _contains(moves: np.ndarray, count: int, move: int) -> bool:
    at = 0
    while at < count and signed(moves[at]) != move:
        at += 1
    return at < count


@kernel
def _put_targets(
    visited: np.ndarray,
    counts: np.ndarray,
    legal: np.ndarray,
    count: int,
    moves: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Write visits as shares of their sum; returns how many entries, or a problem."""
    total = 0.0
    for at in range(visited.shape[0]):
        total += counts[at]
    if total == 0:
        return 0
    for at in range(visited.shape[0]):
        if not _contains(legal, count, signed(visited[at])):
            return ILLEGAL_TARGET
        moves[at] = visited[at]
        weights[at] = counts[at] / total
    return signed(visited.shape[0])


@kernel
def _fail(kind: int, number: int, ply: int, source: np.ndarray, game: np.ndarray) -> int:
    """Leave behind where the replay stopped."""
    source[0], game[0] = number, ply
    return kind


@kernel
def _replay(
    starts: np.ndarray,
    offsets: np.ndarray,
    moves: np.ndarray,
    flags: np.ndarray,
    visit_offsets: np.ndarray,
    visit_moves: np.ndarray,
    visit_counts: np.ndarray,
    line: np.ndarray,
    legal: np.ndarray,
    positions: np.ndarray,
    source: np.ndarray,
    game: np.ndarray,
    since_start: np.ndarray,
    target_offsets: np.ndarray,
    target_moves: np.ndarray,
    target_weights: np.ndarray,
) -> int:
    """Write all rows; returns how many, or a problem. line POSITION [longest game + 1] is room."""
    row, entry = 0, 0
    for number in range(offsets.shape[0] - 1):
        first, last = offsets[number], offsets[number + 1]
        unpack_compact(starts[number], line[0])
        if problem(line[0]) != VALID:
            return _fail(WRONG_START, number, 0, source, game)
        for at in range(first, last):
            ply = at - first
            count = generate(line[ply], legal)
            move = signed(moves[at])
            if move == NO_MOVE and at == last - 1:
                if count == 0:
                    continue
            elif _contains(legal, count, move):
                play(line[ply], line[ply + 1], move)
            else:
                return _fail(ILLEGAL_MOVE, number, ply, source, game)
            pack_compact(line[ply], min(earlier_occurrences(line, ply), 255), positions[row])
            source[row], game[row], since_start[row] = at, number, ply
            if not signed(flags[at]) & NOT_A_POLICY:
                start, end = visit_offsets[at], visit_offsets[at + 1]
                added = _put_targets(
                    visit_moves[start:end],
                    visit_counts[start:end],
                    legal,
                    count,
                    target_moves[entry:],
                    target_weights[entry:],
                )
                if added < 0:
                    return _fail(added, number, ply, source, game)
                entry += added
            row += 1
            target_offsets[row] = entry
    return row

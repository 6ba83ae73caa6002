"""Kernels that play the games of a shard again and write every position with its policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.data.shard import NOT_A_POLICY
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.encodings.leaves import earlier_occurrences
from kibitz.position.fen import VALID, problem
from kibitz.position.moves import NO_MOVE, generate
from kibitz.position.packed import pack_position, unpack_position
from kibitz.position.play import play

SOUND, WRONG_START, ILLEGAL_MOVE, ILLEGAL_TARGET = 0, 1, 2, 3
MOST_REPETITIONS = 255


class Games(NamedTuple):
    """What a replay reads of a shard, and room for the game in progress."""

    starts: np.ndarray  # PACKED [G]
    offsets: np.ndarray  # int64 [G + 1]
    moves: np.ndarray  # uint16 [N]
    flags: np.ndarray  # uint8 [N]
    visit_offsets: np.ndarray  # int64 [N + 1]
    visit_moves: np.ndarray  # uint16 [V]
    visit_counts: np.ndarray  # uint32 [V]
    line: np.ndarray  # POSITION [longest game + 1]
    legal: np.ndarray  # uint16 [MAX_MOVES]


class Rows(NamedTuple):
    """What a replay writes; see Samples. There is room for every ply and every visit."""

    positions: np.ndarray  # PACKED [N]
    ply: np.ndarray  # int64 [N]: of the shard
    game: np.ndarray  # int32 [N]
    since_start: np.ndarray  # uint16 [N]
    target_offsets: np.ndarray  # int64 [N + 1], the first one 0
    target_moves: np.ndarray  # uint16 [V]
    target_weights: np.ndarray  # float32 [V]


@kernel
def replay_games(games: Games, rows: Rows) -> tuple[int, int, int, int]:
    """Write the rows of all games; returns how many, then SOUND or the fault, its game and ply."""
    row = 0
    for number in range(games.offsets.shape[0] - 1):
        row, fault, ply = _replay_game(games, number, rows, row)
        if fault != SOUND:
            return row, fault, number, ply
    return row, SOUND, 0, 0


@kernel
def _replay_game(games: Games, number: int, rows: Rows, row: int) -> tuple[int, int, int]:
    """Write the rows of a game from `row` on; returns the row after them, a fault and its ply."""
    first, last = games.offsets[number], games.offsets[number + 1]
    line, legal = games.line, games.legal
    unpack_position(games.starts[number], line[0])
    if problem(line[0]) != VALID:
        return row, WRONG_START, 0
    for at in range(first, last):
        ply = at - first
        count = generate(line[ply], legal)
        move = signed(games.moves[at])
        if _contains(legal, count, move):
            play(line[ply], line[ply + 1], move)
        elif move != NO_MOVE or at < last - 1:
            return row, ILLEGAL_MOVE, ply
        elif count == 0:  # the game is over, nothing can be learned here
            return row, SOUND, 0
        repetitions = min(earlier_occurrences(line, ply), MOST_REPETITIONS)
        pack_position(line[ply], repetitions, rows.positions[row])
        rows.ply[row], rows.game[row], rows.since_start[row] = at, number, ply
        entry, added = rows.target_offsets[row], 0
        if not signed(games.flags[at]) & NOT_A_POLICY:
            visits = slice(games.visit_offsets[at], games.visit_offsets[at + 1])
            added = _put_targets(
                games.visit_moves[visits],
                games.visit_counts[visits],
                legal[:count],
                rows.target_moves[entry:],
                rows.target_weights[entry:],
            )
            if added < 0:
                return row, ILLEGAL_TARGET, ply
        row += 1
        rows.target_offsets[row] = entry + added
    return row, SOUND, 0


@kernel
def _put_targets(
    visited: np.ndarray,
    counts: np.ndarray,
    legal: np.ndarray,
    moves: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Write visits as shares of their sum; returns how many, or -1 where one is not legal."""
    total = 0.0
    for at in range(visited.shape[0]):
        total += counts[at]
    if total == 0.0:
        return 0
    for at in range(visited.shape[0]):
        if not _contains(legal, legal.shape[0], signed(visited[at])):
            return -1
        moves[at] = visited[at]
        weights[at] = counts[at] / total
    return signed(visited.shape[0])


@kernel
def _contains(moves: np.ndarray, count: int, move: int) -> bool:
    at = 0
    while at < count and signed(moves[at]) != move:
        at += 1
    return at < count

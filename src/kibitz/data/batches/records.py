"""Dense records as a training sees them: each a game of its own, of which one position is known."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from kibitz.data.batches.sample import UNKNOWN_END, Samples
from kibitz.data.dense import DenseShard
from kibitz.data.dense_records import DRAWN, unpack_board
from kibitz.jit.bits import mixed
from kibitz.jit.compile import kernel
from kibitz.position.attacks import EMPTY
from kibitz.position.moves import NO_MOVE
from kibitz.position.packed import new_packed, pack_position
from kibitz.position.state import new_positions

Positions: TypeAlias = Samples | np.ndarray  # of games, or dense records


def samples_of(records: np.ndarray, scale: float) -> Samples:
    """Return dense records (B,) as samples of games whose ends are not known.

    A score of `scale` centipawns is a unit of the logarithm of the odds.
    """
    count = len(records)
    packed = new_packed(count)
    _put_packed(records, new_positions(1)[0], packed)
    has_move = records["move"] != NO_MOVE
    unknown = np.full(count, np.nan, np.float32)
    return Samples(
        positions=packed,
        values=np.tanh(records["score"] / np.float32(2 * scale)),
        draws=unknown,
        root_values=unknown,
        results=records["result"].astype(np.int8) - np.int8(DRAWN),
        played=records["move"].astype(np.uint16),
        flags=np.zeros(count, np.uint8),
        since_start=np.zeros(count, np.uint16),
        until_end=np.full(count, UNKNOWN_END, np.uint16),
        game=np.arange(count, dtype=np.int32),
        target_offsets=np.concatenate([[0], np.cumsum(has_move)]),
        target_moves=records["move"][has_move].astype(np.uint16),
        target_weights=np.ones(int(has_move.sum()), np.float32),
    )


def held_out_records(shard: DenseShard, share: float) -> np.ndarray:
    """Return bool [N]: which records are of games for validation, about a `share` of them."""
    held_out = np.zeros(len(shard.records), bool)
    _hold_out(shard.records, _games(shard), share, held_out)
    return held_out


def _games(shard: DenseShard) -> np.ndarray:
    """Where games begin, and the end; of records alone where plies are counted anew, int64."""
    if shard.header.games:
        return shard.games.offsets
    plies, count = shard.records["ply"], len(shard.records)
    return np.concatenate([[0], np.flatnonzero(plies[1:] < plies[:-1]) + 1, [count]])


@kernel
def _put_packed(records: np.ndarray, position: np.record, packed: np.ndarray) -> None:
    """DENSE [B] to PACKED [B]; `position` is room for one."""
    for row in range(records.shape[0]):
        unpack_board(records[row], position)
        pack_position(position, 0, packed[row])


@kernel
def _hold_out(records: np.ndarray, offsets: np.ndarray, share: float, held_out: np.ndarray) -> None:
    """A hash of a game's positions and moves decides, so that the same game is on one side."""
    for game in range(offsets.shape[0] - 1):
        first, last, state = offsets[game], offsets[game + 1], mixed(EMPTY)
        for row in range(first, last):
            state = mixed(state ^ records[row].occupied ^ mixed(np.uint64(records[row].move)))
        for row in range(first, last):
            held_out[row] = float(state) < share * 2.0**64

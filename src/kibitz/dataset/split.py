"""Which games are held out for validation; samples -> **split** -> loader.

A game is judged by what it is, its start and its moves: the same game under two names, or in two
shards, is always on one side, and never some of its positions on either.
"""

from __future__ import annotations

import numpy as np

from kibitz.dataset.order import mix
from kibitz.games.shard import Shard
from kibitz.kernel.compile import kernel


def held_out(shard: Shard, share: float) -> np.ndarray:
    """Return bool [G]: which games are for validation, about a `share` of them."""
    hashes = np.empty(len(shard.offsets) - 1, dtype=np.uint64)
    _hash_games(np.ascontiguousarray(shard.starts), shard.offsets, shard.moves, hashes)
    return hashes.astype(np.float64) < share * 2.0**64


@kernel
def _hash_games(
    starts: np.ndarray, offsets: np.ndarray, moves: np.ndarray, hashes: np.ndarray
) -> None:
    """Hash starts uint64 [G, 4] and the moves of each game."""
    for game in range(hashes.shape[0]):
        state = np.uint64(0)
        for word in range(4):
            state = mix(state ^ starts[game, word])
        for at in range(offsets[game], offsets[game + 1]):
            state = mix(state ^ np.uint64(moves[at]))
        hashes[game] = state

"""What hashing decides: the order in which positions are shown, and which games are held out.

The order is a seeded permutation that takes no memory. It is computed index by index, so that
training can go on at any batch of any epoch from three numbers: four rounds of a Feistel network
over the next even number of bits, repeated until the result is inside.

A game is held out by its start and its moves: the same game under two names, or in two shards, is
always on one side, and all its positions with it.
"""

from __future__ import annotations

import numpy as np

from kibitz.data.shard import Shard
from kibitz.jit.bits import mixed, signed
from kibitz.jit.compile import kernel

_ROUNDS = 4


@kernel
def _permuted_once(number: np.uint64, key: np.uint64, half: np.uint64) -> np.uint64:
    """A permutation of all numbers of 2 * half bits."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    high, low = number >> half, number & mask
    for turn in range(_ROUNDS):
        scrambled = mixed(low ^ mixed(key + np.uint64(turn))) & mask
        high, low = low, high ^ scrambled
    return high << half | low


@kernel
def put_order(size: int, key: np.uint64, first: int, out: np.ndarray) -> None:
    """Write entries first, first + 1, ... of a permutation of range(size) to out, int64 [n]."""
    half = np.uint64(1)
    while np.uint64(1) << (half + half) < np.uint64(size):
        half += np.uint64(1)
    for at in range(out.shape[0]):
        number = _permuted_once(np.uint64(first + at), key, half)
        while number >= np.uint64(size):
            number = _permuted_once(number, key, half)
        out[at] = signed(number)


def key_of(*numbers: int) -> np.uint64:
    """Return a key made of a seed, an epoch, ..."""
    with np.errstate(over="ignore"):
        state = np.uint64(0)
        for number in numbers:
            state = np.uint64(mixed(state ^ np.uint64(number & (1 << 64) - 1)))
    return state


def order(size: int, key: np.uint64, first: int, last: int) -> np.ndarray:
    """Return entries `first` to before `last` of a permutation of range(size), int64."""
    out = np.empty(max(0, min(last, size) - first), dtype=np.int64)
    put_order(size, key, first, out)
    return out


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
            state = mixed(state ^ starts[game, word])
        for at in range(offsets[game], offsets[game + 1]):
            state = mixed(state ^ np.uint64(moves[at]))
        hashes[game] = state

"""The order in which positions are shown: a seeded permutation that takes no memory.

    seed, epoch -> **order** -> loader

A permutation of any size is computed index by index, so that training can go on at any batch of
any epoch from three numbers: four rounds of a Feistel network over the next even number of bits,
repeated until the result is inside.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel

_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = 4


@kernel
def mix(state: np.uint64) -> np.uint64:
    """One round of splitmix64: a number that looks random, another one for each state."""
    state += _INCREMENT
    state = (state ^ (state >> np.uint64(30))) * _MULTIPLIER
    state = (state ^ (state >> np.uint64(27))) * _SECOND_MULTIPLIER
    return state ^ (state >> np.uint64(31))


@kernel
def _permuted_once(number: np.uint64, key: np.uint64, half: np.uint64) -> np.uint64:
    """A permutation of all numbers of 2 * half bits."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    high, low = number >> half, number & mask
    for turn in range(_ROUNDS):
        scrambled = mix(low ^ mix(key + np.uint64(turn))) & mask
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
            state = np.uint64(mix(state ^ np.uint64(number & (1 << 64) - 1)))
    return state


def order(size: int, key: np.uint64, first: int, last: int) -> np.ndarray:
    """Return entries `first` to before `last` of a permutation of range(size), int64."""
    out = np.empty(max(0, min(last, size) - first), dtype=np.int64)
    put_order(size, key, first, out)
    return out

"""Splitmix64: random words of a state that counts up, and numbers scattered as if at random."""

from __future__ import annotations

import numpy as np

from kibitz.jit.compile import kernel

INCREMENT = np.uint64(0x9E37_79B9_7F4A_7C15)  # 2^64 / golden ratio: what the state counts by
_FIRST, _SECOND = np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)


@kernel
def mixed(state: np.uint64) -> np.uint64:
    """The random word of a state; states that follow each other have words that are far apart."""
    word = np.uint64(state + INCREMENT)
    word = np.uint64((word ^ (word >> np.uint64(30))) * _FIRST)
    word = np.uint64((word ^ (word >> np.uint64(27))) * _SECOND)
    return word ^ (word >> np.uint64(31))

"""An evaluator for tests: uneven values and priors out of the bits of a position's key.

Every value is a small fraction of two and every prior a whole number of 65536ths, so that no way of
rounding can make the compiled search and the oracle differ.
"""

from __future__ import annotations

import math
import zlib
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.evaluators.inline import LOGITS, VALUES, balance

NOISE_SHIFT, NOISE_MASK = np.uint64(20), np.uint64(255)
DRAW_SHIFT, DRAW_MASK = np.uint64(30), np.uint64(7)
SPREAD, MIX = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xBF58_476D_1CE4_E5B9)
HALF, TOP_BYTE = np.uint64(32), np.uint64(56)

# Kernels of the search are cached without a look at this file, so its state is in the class name.
NAME = f"Hashed{zlib.crc32(Path(__file__).read_bytes()):08x}"
make: Any = namedtuple  # the type checker wants to know such a name beforehand
HASHED = make(NAME, ["noise"])(1.0)  # share of a value that is noise, next to material


@kernel
def hashed_value(
    evaluator: np.record, _scratch: np.record, position: np.record
) -> tuple[float, float]:
    """Material and noise; the probability of a draw is noise."""
    noise = (signed((position.key >> NOISE_SHIFT) & NOISE_MASK) - 128) / 256.0
    value = balance(position) / 2048.0 + evaluator.noise * noise
    draw = signed((position.key >> DRAW_SHIFT) & DRAW_MASK) / 64.0
    return min(max(value, -0.875), 0.875), draw


@kernel
def lot(key: np.uint64, move: int) -> int:
    """Weight of a move, 16 to 65041; few moves have much of it."""
    word = np.uint64(key ^ np.uint64(np.uint64(move + 1) * SPREAD))
    word = np.uint64((word ^ (word >> HALF)) * MIX)
    byte = signed(word >> TOP_BYTE)
    return byte * byte + 16


@kernel
def hashed_logits(
    _evaluator: np.record,
    _scratch: np.record,
    position: np.record,
    moves: np.ndarray,
    count: int,
    logits: np.ndarray,
) -> None:
    """Logarithms of whole 65536ths that add up to 1; float32 [count]."""
    total = 0
    for index in range(count):
        total += lot(position.key, signed(moves[index]))
    left = 65536
    for index in range(count - 1, -1, -1):
        share = 1 + lot(position.key, signed(moves[index])) * (65536 - count) // total
        left -= share
        if index == 0:
            share += left
        logits[index] = np.float32(math.log(share / 65536.0))


VALUES[NAME] = hashed_value
LOGITS[NAME] = hashed_logits

"""Keys of the prediction cache: position, repetition, clock, history -> **one word**.

A position judged at another clock, or after a repetition, is another position to a network that
sees these, and to a search that must not walk into the fifty-move rule. Clocks below the threshold
share a key, because a network hardly tells them apart and transpositions would be lost.
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.leaves import MOST_HISTORY
from kibitz.jit import kernel, static_table
from kibitz.position.bits import signed
from kibitz.position.squares import EMPTY

SEED = 7_607_098
REPEATED_AT, CLOCKS = 0, 128
THRESHOLD = 80  # plies; ChessCoach's
ROTATION, REST = np.uint64(7), np.uint64(57)

word = static_table(
    "cachekeys",
    np.random.Generator(np.random.PCG64(SEED)).integers(2**64, size=CLOCKS + 1, dtype=np.uint64),
)


@kernel
def search_key(position: np.record, repetitions: int, threshold: int) -> np.uint64:
    """Key of a position that occurred `repetitions` times before; clocks tell from `threshold`."""
    key = position.key
    if repetitions > 0:
        key ^= word(REPEATED_AT)
    clock = signed(position.rule50)
    if clock >= threshold:
        key ^= word(1 + min(clock, CLOCKS - 1))
    return key


@kernel
def history_key(
    positions: np.ndarray, known: int, repetitions: np.ndarray, threshold: int
) -> np.uint64:
    """Key of a position with its history, for networks that see it.

    positions POSITION [H] and repetitions uint8 [H], the position itself first; `known` columns
    count, at most eight.
    """
    key = EMPTY
    for back in range(min(known, MOST_HISTORY) - 1, -1, -1):
        key = (key << ROTATION) | (key >> REST)
        key ^= search_key(positions[back], signed(repetitions[back]), CLOCKS)
    clock = signed(positions[0].rule50)
    return key ^ word(1 + min(clock, CLOCKS - 1)) if clock >= threshold else key

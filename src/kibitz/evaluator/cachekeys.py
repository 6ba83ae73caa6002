"""Keys of the prediction cache: what the network is told of a leaf -> **one word**.

An exact key holds all that an encoding tells: two leaves of one key have the same planes and the
same moves, so the cache never changes an answer. A merged key is ChessCoach's for play: the
position, whether it occurred before, and the clock from 80 plies on. It finds more and answers with
what was said of another history or clock.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.position.squares import EMPTY

MERGED_BELOW = 80  # plies of the clock that merged keys do not tell apart
REPETITION_STEP, CLOCK_STEP = np.uint64(0x9FB2_1C65_1E98_DF25), np.uint64(0xD1B5_4A32_D192_ED03)
ROTATION, REST = np.uint64(7), np.uint64(57)


@kernel
def with_number(key: np.uint64, number: int, step: np.uint64) -> np.uint64:
    """A key with a small number in it; 0 leaves it as it is."""
    return key ^ np.uint64(np.uint64(number) * step)


@kernel
def exact_key(
    positions: np.ndarray, columns: int, repetitions: np.ndarray, most_repetitions: int, clock: bool
) -> np.uint64:
    """Key of a leaf and of the positions before it that count, for what the encoding tells apart.

    positions POSITION [H] and repetitions uint8 [H], the leaf first; `columns` of them count.
    """
    key = EMPTY
    for back in range(columns - 1, -1, -1):
        key = (key << ROTATION) | (key >> REST)
        occurred = min(signed(repetitions[back]), most_repetitions)
        key ^= with_number(positions[back].key, occurred, REPETITION_STEP)
    return with_number(key, signed(positions[0].rule50), CLOCK_STEP) if clock else key


@kernel
def merged_key(position: np.record, repetitions: int) -> np.uint64:
    """ChessCoach's key of a position that occurred `repetitions` times before."""
    key = with_number(position.key, min(repetitions, 1), REPETITION_STEP)
    clock = signed(position.rule50)
    return with_number(key, clock, CLOCK_STEP) if clock >= MERGED_BELOW else key

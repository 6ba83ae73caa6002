"""The score of a position that is not searched: the network's value in centipawns, corrected."""

from __future__ import annotations

import math

import numpy as np

from kibitz.evaluator.inline import value_of
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.position.play import play
from kibitz.search.alphabeta.history import correction_of
from kibitz.search.alphabeta.table import NOTHING, evaluation_in
from kibitz.search.alphabeta.thread import CORRECTION, UNKNOWN, has

# Centipawns for each unit of the logarithm of the odds; 180 was worth some 50 Elo less.
TO_ODDS = 220.0
NEAREST = 1.0 - 1e-9  # to certainty that a value comes: 4 700 centipawns
FADING, MOST_FADED = 220, 100  # plies without progress at which a score is worth nothing; counted


def value_of_score(score: float) -> float:
    """The value in [-1, 1] of a score in centipawns."""
    return math.tanh(score / (2.0 * TO_ODDS))


@kernel
def centipawns_of(network: np.record, scratch: np.record, position: np.record) -> int:
    """The network's value for the side to move, as centipawns."""
    value, _draw = value_of(network, scratch, position)
    value = min(max(value, -NEAREST), NEAREST)
    return int(TO_ODDS * math.log((1.0 + value) / (1.0 - value)))


@kernel
def evaluate(
    thread: np.record,
    network: np.record,
    scratch: np.record,
    position: np.record,
    frame: np.record,
    known: np.uint64,
) -> int:
    """Write the raw score to the frame, which the table may know; returns it corrected."""
    raw = evaluation_in(known) if known != NOTHING else UNKNOWN
    if raw == UNKNOWN:
        raw = centipawns_of(network, scratch, position)
    frame.raw = raw
    faded = raw * (FADING - min(signed(position.rule50), MOST_FADED)) // FADING
    if has(thread, CORRECTION):
        return faded + correction_of(thread, position)
    return faded


@kernel
def value_after(
    network: np.record,
    scratch: np.record,
    positions: np.ndarray,
    line: np.ndarray,
    length: int,
) -> tuple[float, float]:
    """The network's value and probability of a draw at the end of a line from positions[0] on.

    `positions` has two places, which the line is played in.
    """
    for index in range(length):
        play(positions[index % 2], positions[1 - index % 2], line[index])
    return value_of(network, scratch, positions[length % 2])

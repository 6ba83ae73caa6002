"""What centipawns and mates are worth: values and probabilities of a draw.

    win = sigmoid((cp - a) / b)    loss = sigmoid((-cp - a) / b)    draw = 1 - win - loss
    value = win - loss             a mate: value +-1, draw 0

An ordered logit in cp: its log-likelihood is concave in (a / b, 1 / b), so Newton's method finds
the one best pair from any start.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.errors import InputError

MATE = 32_000  # centipawns of a mate in no moves in arrays of scores; mates count down from it
LONGEST_MATE = 1_000
_STEPS = 60
_SMALL = 1e-12


class LabelModel(NamedTuple):
    """Centipawns to win, draw and loss; `a` is where a win is as likely as not, `b` the slope.

    The defaults were fitted to 622 thousand positions of balanced openings, searched by Stockfish
    17.1 at 2 000 nodes and played on at that strength with up to 4 % random moves.
    """

    a: float = 202.7
    b: float = 202.6


def wdl(cp: np.ndarray, model: LabelModel) -> tuple[np.ndarray, np.ndarray]:
    """Values and draw probabilities, float32 [N], of scores (float or int [N], see score_of)."""
    scores = np.asarray(cp, dtype=np.float64)
    win, loss = _sigmoid((scores - model.a) / model.b), _sigmoid((-scores - model.a) / model.b)
    values, draws = win - loss, 1.0 - win - loss
    mates = np.abs(scores) > MATE - LONGEST_MATE
    values[mates], draws[mates] = np.sign(scores[mates]), 0.0
    return values.astype(np.float32), draws.astype(np.float32)


def score_of_value(value: float, model: LabelModel) -> float:
    """Centipawns that are worth a value in [-1, 1]; infinite for +-1.

    With x = exp(cp / b) and k = exp(a / b) the value is x / (x + k) - 1 / (1 + k x), which is a
    quadratic equation in x; it is solved for the positive side, where nothing cancels.
    """
    if abs(value) >= 1:
        return math.copysign(math.inf, value)
    k, size = math.exp(model.a / model.b), abs(value)
    half = size * (1 + k * k)
    x = (half + math.sqrt(half * half + 4 * k * k * (1 - size * size))) / (2 * k * (1 - size))
    return math.copysign(model.b * math.log(x), value)


def score_of(cp: int | None, mate: int | None) -> float:
    """One number for a score of a UCI engine, for the side to move; NaN if there is none.

    `mate 0` is said where the side to move has been mated.
    """
    if mate is not None:
        distance = min(abs(mate), LONGEST_MATE - 1)
        return float(MATE - distance if mate > 0 else distance - MATE)
    if cp is None:
        return math.nan
    return float(max(LONGEST_MATE - MATE, min(MATE - LONGEST_MATE, cp)))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * x))  # does not overflow
    return result


# --- fitting ------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """The most likely model, its mean log-likelihood per position, and on how many."""

    model: LabelModel
    log_likelihood: float
    positions: int


def fit(cp: np.ndarray, results: np.ndarray) -> Fit:
    """Find a and b from scores [N] and results [N], both of the side to move; mates left out."""
    cp, results = np.asarray(cp, dtype=np.float64), np.asarray(results)
    used = (np.abs(cp) <= MATE - LONGEST_MATE) & np.isin(results, (-1, 0, 1))
    pairs, counts = np.unique(np.stack((cp[used], results[used])), axis=1, return_counts=True)
    found = {sign for sign in (-1, 0, 1) if (pairs[1] == sign).any()}
    if found != {-1, 0, 1}:
        fix = "use games that were won, drawn and lost"
        raise InputError("cannot fit the label model: some result never occurs", fix=fix)
    scores, outcomes = pairs
    at = np.array([1.0, 0.01])  # a / b and 1 / b
    best = _log_likelihood(at, scores, outcomes, counts)
    for _ in range(_STEPS):
        step = _newton_step(at, scores, outcomes, counts)
        while True:
            tried = at + step
            reached = _log_likelihood(tried, scores, outcomes, counts)
            if reached >= best or np.abs(step).max() < _SMALL:
                break
            step = step / 2
        gained, at, best = reached - best, tried, max(best, reached)
        if gained < 1e-9 * counts.sum():
            break
    model = LabelModel(float(at[0] / at[1]), float(1.0 / at[1]))
    return Fit(model, float(best / counts.sum()), int(counts.sum()))


def _parts(
    at: np.ndarray, scores: np.ndarray, outcomes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Win, loss and what was observed, each a probability per pair."""
    win, loss = _sigmoid(at[1] * scores - at[0]), _sigmoid(-at[1] * scores - at[0])
    draw = np.maximum(1.0 - win - loss, _SMALL)
    seen = np.where(outcomes == 1, win, np.where(outcomes == -1, loss, draw))
    return win, loss, np.maximum(seen, _SMALL)


def _log_likelihood(
    at: np.ndarray, scores: np.ndarray, outcomes: np.ndarray, counts: np.ndarray
) -> float:
    if at[0] <= 0 or at[1] <= 0:  # no room for draws, or worse scores win more
        return -math.inf
    return float(counts @ np.log(_parts(at, scores, outcomes)[2]))


def _newton_step(
    at: np.ndarray, scores: np.ndarray, outcomes: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """The step uphill, with the outer products of the gradients for the second derivatives."""
    win, loss, seen = _parts(at, scores, outcomes)
    steep_win, steep_loss = win * (1 - win), loss * (1 - loss)
    by_win = np.where(outcomes == 1, steep_win, np.where(outcomes == 0, -steep_win, 0.0)) / seen
    by_loss = np.where(outcomes == -1, steep_loss, np.where(outcomes == 0, -steep_loss, 0.0)) / seen
    gradients = np.stack((-by_win - by_loss, scores * (by_win - by_loss)))
    curvature = (gradients * counts) @ gradients.T
    step: np.ndarray = np.linalg.solve(curvature, gradients @ counts)
    return step

"""SPSA: all parameters are moved at once, by games between two players on either side of them.

Simultaneous perturbation stochastic approximation (Spall, 1998): iteration k plays centre + c_k d
against centre - c_k d, where d has +1 or -1 tuning steps for each parameter, and moves the
centre by a_k / (2 c_k) times the lead along d; a_k = a / (A + k + 1)^0.602, c_k falls as
(k + 1)^-0.101 to one step at the end, A is a tenth of the iterations. `a` follows from `gain`.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence

from kibitz.arena.tuning.config import Parameter, Tuning, Values

ALPHA, GAMMA = 0.602, 0.101
STABILITY = 0.1  # A as a share of the iterations
LEAD = 0.05  # of a side that scores 52.5 %: twice the score less one


def width(tuning: Tuning, number: int) -> float:
    """How many steps the two sides of an iteration lie from its centre."""
    return float((tuning.trials / (number + 1)) ** GAMMA)


@functools.cache
def paces(tuning: Tuning) -> list[float]:
    """How many steps a lead of 1 moves the centre in each iteration: a_k / (2 c_k)."""
    late = STABILITY * tuning.trials + 1
    shapes = [float((late + k) ** -ALPHA) / width(tuning, k) for k in range(tuning.trials)]
    return [tuning.gain / (LEAD * sum(shapes)) * shape for shape in shapes]


def direction(tuning: Tuning, number: int, count: int) -> list[int]:
    """The signs of an iteration's perturbation."""
    generator = random.Random(f"spsa {tuning.seed} {number}")
    return [generator.choice((-1, 1)) for _ in range(count)]


def sides(
    tuning: Tuning, parameters: Sequence[Parameter], centre: Mapping[str, float], number: int
) -> tuple[Values, Values]:
    """The two players of an iteration."""
    signs = direction(tuning, number, len(parameters))
    first, second = (
        {
            one.name: one.value(centre[one.name] + side * sign * width(tuning, number) * one.step)
            for one, sign in zip(parameters, signs, strict=True)
        }
        for side in (1, -1)
    )
    return first, second


def centre(
    tuning: Tuning, parameters: Sequence[Parameter], scores: Mapping[int, float]
) -> dict[str, float]:
    """Where finished iterations, by their numbers, have moved the parameters."""
    at = {one.name: min(one.high, max(one.low, one.default)) for one in parameters}
    for number in sorted(scores):
        moved = paces(tuning)[number] * (2 * scores[number] - 1)
        for one, sign in zip(parameters, direction(tuning, number, len(parameters)), strict=True):
            place = at[one.name] + moved * sign * one.step
            at[one.name] = min(one.high, max(one.low, place))
    return at

"""From zero-window passes to a value: bisection, as MTD(f) does, and deeper again and again."""

from __future__ import annotations

from collections.abc import Callable

from kibitz.search.bestfirst.nodes import INFINITE

STEP = 500  # points, 0.05 of a win: how far a bound is passed while the other one is unknown


def next_bound(lower: int, upper: int, guess: int) -> int:
    """The bound that the next pass asks about: whether the value is at least so high."""
    if lower > -INFINITE and upper < INFINITE:
        return max((lower + upper + 1) // 2, lower + 1)
    if lower > -INFINITE:
        return lower + STEP
    return upper - STEP if upper < INFINITE else guess


def bisect(run: Callable[[int], int | None], guess: int) -> int | None:
    """The value that passes agree on; None if one of them was ended.

    `run(bound)` returns at least the value if that is below the bound, else at most the value.

    >>> bisect(lambda bound: 12, 0)
    12
    """
    lower, upper = -INFINITE, INFINITE
    while lower < upper:
        bound = min(INFINITE - 1, max(1 - INFINITE, next_bound(lower, upper, guess)))
        found = run(bound)
        if found is None:
            return None
        if found < bound:
            upper = found
        else:
            lower = found
    return lower

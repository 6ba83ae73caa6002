"""The best of a node's moves by value plus bonus, eight moves at a time; for select_puct.

Selection reads every visited move of every node on its way, which makes this the longest loop of a
search. Written with lanes because the compiler does not find a place of a maximum by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.kernel.vectors import (
    bits_as,
    choose,
    converted,
    every,
    largest,
    load_lanes,
    numbered,
    smaller,
    smallest,
    spread,
    sum_of,
)
from kibitz.search.mcts.tree.nodes import EDGE

LANES, LEAST = 8, 4  # moves at a time; fewer are taken by fours, and fewer than LEAST not at all
SIZE = EDGE.itemsize
AFTER_VALUE = 8  # bytes of an edge before its visits, pending and prior
CONTESTED = -1  # there are moves of unclear value: the caller must look closer


def best_by(lanes: int) -> Callable[[int, int, float], tuple[float, int, int, int]]:
    """Make `best(start, count, share)`.

    It returns the best score, its place, the fewest visits of a move, and the sum of all priors.
    """
    words_at_once = SIZE // 4 * lanes

    @kernel
    def best(start: int, count: int, share: float) -> tuple[float, int, int, int]:
        scores = spread(-np.inf, np.float64, lanes)
        places = spread(0, np.int64, lanes)
        fewest = spread(1, np.int32, lanes)
        priors = spread(0, np.int32, lanes)
        for following in range(0, count, lanes):
            at = min(following, count - lanes)  # the last few end with the last edge
            words = load_lanes(start + SIZE * at, np.int32, words_at_once)
            values = every(bits_as(words, np.float64), 0, 2)
            visits, rest = every(words, 2, 4), every(words, 3, 4)
            tried = converted(visits + (rest & 0xFFFF) + 1, np.float64)
            prior = ((rest >> 16) & 0xFFFF) + 1
            here = values + share * converted(prior, np.float64) / tried
            fewest = smaller(fewest, visits)
            priors += choose(numbered(np.int32, lanes) < following - at, 0, prior)
            better = here > scores
            scores = choose(better, here, scores)
            places = choose(better, numbered(np.int64, lanes) + at, places)
        top = largest(scores)
        place = smallest(choose(scores == top, places, count))
        return top, place, smallest(fewest), sum_of(priors)

    return best


best_by_eights, best_by_fours = best_by(LANES), best_by(LEAST)


@kernel
def best_edge(
    edges: int, first: int, count: int, fresh: int, weight: float, level: float, drop: float
) -> int:
    """Return the place of the best of the edges.

    edges is the address of EDGE [...], first the first edge. `count` edges, at least LEAST, are to
    have visits; if `fresh` is 1, one more follows, without visits, whose value is
    level - drop * sqrt(sum of the priors of the others). CONTESTED if it is not so, or if there are
    visits on the way to the one more. A move's score is its value + weight * prior / (1 + visits +
    pending); of equals the first wins.
    """
    start = edges + SIZE * first
    share = weight * (1 / 65536)  # of one unit of a prior; exact
    if count >= LANES:
        top, place, fewest, tried = best_by_eights(start, count, share)
    else:
        top, place, fewest, tried = best_by_fours(start, count, share)
    if fewest == 0:
        return CONTESTED
    if fresh:
        rest = largest(load_lanes(start + SIZE * count + AFTER_VALUE, np.int64, 1))
        if rest & 0xFFFF_FFFF_FFFF:  # visits, or some on their way
            return CONTESTED
        untried = level - drop * math.sqrt(signed(tried) / 65536.0)
        if untried + share * (((rest >> 48) & 0xFFFF) + 1) > top:
            return count
    return place

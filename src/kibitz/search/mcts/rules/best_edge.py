"""The best of a node's moves by value plus bonus, eight moves at a time; for select_puct.

Selection reads every visited move of every node on its way, which makes this the longest loop of a
search. Written with lanes because the compiler does not find a place of a maximum by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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
)
from kibitz.search.mcts.tree.nodes import EDGE

LANES, LEAST = 8, 4  # moves at a time; fewer are taken by fours, and fewer than LEAST not at all
SIZE = EDGE.itemsize
AFTER_VALUE = 8  # bytes of an edge before its visits, pending and prior
CONTESTED = -1  # there are moves of unclear value: the caller must look closer


def best_by(lanes: int) -> Callable[[int, int, float], tuple[float, int, int]]:
    """Make `best(start, count, share)`: best score, its place, and the fewest visits of a move."""
    words_at_once = SIZE // 4 * lanes

    @kernel
    def best(start: int, count: int, share: float) -> tuple[float, int, int]:
        scores = spread(-np.inf, np.float64, lanes)
        places = spread(0, np.int64, lanes)
        fewest = spread(1, np.int32, lanes)
        for following in range(0, count, lanes):
            at = min(following, count - lanes)  # the last few end with the last edge
            words = load_lanes(start + SIZE * at, np.int32, words_at_once)
            values = every(bits_as(words, np.float64), 0, 2)
            visits, rest = every(words, 2, 4), every(words, 3, 4)
            tried = converted(visits + (rest & 0xFFFF) + 1, np.float64)
            prior = converted(((rest >> 16) & 0xFFFF) + 1, np.float64)
            here = values + share * prior / tried
            fewest = smaller(fewest, visits)
            better = here > scores
            scores = choose(better, here, scores)
            places = choose(better, numbered(np.int64, lanes) + at, places)
        top = largest(scores)
        return top, smallest(choose(scores == top, places, count)), smallest(fewest)

    return best


best_by_eights, best_by_fours = best_by(LANES), best_by(LEAST)


@kernel
def best_edge(edges: int, first: int, count: int, fresh: int, weight: float, untried: float) -> int:
    """Return the place of the best of the edges.

    edges is the address of EDGE [...], first the first edge. `count` edges, at least LEAST, are to
    have visits; if `fresh` is 1, one more follows, without visits, whose value is `untried`.
    CONTESTED if it is not so, or if there are visits on the way to the one more. A move's score is
    its value + weight * prior / (1 + visits + pending); of equals the first wins.
    """
    start = edges + SIZE * first
    share = weight * (1 / 65536)  # of one unit of a prior; exact
    if count >= LANES:
        top, place, fewest = best_by_eights(start, count, share)
    else:
        top, place, fewest = best_by_fours(start, count, share)
    if fewest == 0:
        return CONTESTED
    if fresh:
        rest = largest(load_lanes(start + SIZE * count + AFTER_VALUE, np.int64, 1))
        if rest & 0xFFFF_FFFF_FFFF:  # visits, or some on their way
            return CONTESTED
        if untried + share * (((rest >> 48) & 0xFFFF) + 1) > top:
            return count
    return place

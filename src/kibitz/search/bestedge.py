"""The best of a node's moves by value plus bonus, four moves at a time; for select_puct.

Selection reads every visited move of every node on its way, which makes this the longest loop of a
search. Written with vectors because the compiler does not find a place of a maximum by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from kibitz.evaluator.vectors import I32, I64, load, shuffle, splat, vector_of
from kibitz.jit import lowered
from kibitz.records import plain_array
from kibitz.search.tree import EDGE

LANES = 4
F64 = ir.DoubleType()
NUMBERS, PLACES, SMALL = vector_of(F64, LANES), vector_of(I64, LANES), vector_of(I32, LANES)
CONTESTED = -1  # there are moves of unclear value: somebody must look closer


def plain_best_edge(
    edges: int, first: int, count: int, fresh: int, weight: float, untried: float
) -> int:
    """Find the best edge as `best_edge` does; it serves where the compiler is off."""
    here = plain_array(edges)[int(first) : int(first + count)]
    visits, pending = here["visits"].astype(float), here["pending"].astype(float)
    if ((visits == 0) & ((pending > 0) | (np.arange(count) != fresh))).any():
        return CONTESTED
    values = np.where(visits == 0, untried, here["value"])
    scores = values + weight * ((here["prior"] + 1.0) / 65536.0) / (1.0 + visits + pending)
    return int(np.argmax(scores))


@lowered(plain_best_edge)
def best_edge(
    _context: Any, _edges: Any, _first: Any, _count: Any, _fresh: Any, _weight: Any, _untried: Any
) -> Any:
    """`best_edge(edges, first, count, fresh, weight, untried)`: place of the best of `count` edges.

    edges is the address of EDGE [...], first the first edge, count at least 4. A move's score is
    its value + weight * prior / (1 + visits + pending); of equals the first wins. The move at place
    `fresh` may be without visits, with the value `untried`; CONTESTED if any other is, or if there
    are visits on the way to this one.
    """

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        edges, first, count, fresh, weight, untried = arguments
        start = builder.add(edges, builder.mul(first, I64(EDGE.itemsize)))
        return _Search(builder, start, count, fresh, weight, untried).place()

    places, numbers = [types.int64] * 4, [types.float64] * 2
    return types.int64(*places, *numbers), code


class _Search:
    """The loop while it is written: best scores and their places so far, one a lane."""

    def __init__(
        self, builder: Any, start: Any, count: Any, fresh: Any, weight: Any, untried: Any
    ) -> None:
        self.builder, self.start, self.count = builder, start, count
        self.weight, self.untried = self._spread(weight), self._spread(untried)
        self.fresh = self._spread(fresh)
        with builder.goto_entry_block():
            self.scores, self.places = builder.alloca(NUMBERS), builder.alloca(PLACES)
            self.contested, self.at = builder.alloca(PLACES), builder.alloca(I64)
        builder.store(splat(NUMBERS, float("-inf")), self.scores)
        builder.store(splat(PLACES, 0), self.places)
        builder.store(splat(PLACES, 0), self.contested)
        builder.store(I64(0), self.at)

    def _spread(self, number: Any) -> Any:
        """Put one number into all lanes."""
        empty = ir.Constant(vector_of(number.type, LANES), ir.Undefined)
        one = self.builder.insert_element(empty, number, I32(0))
        return shuffle(self.builder, one, one, [0] * LANES)

    def place(self) -> Any:
        """All fours, the last one moved back so that it ends with the last edge."""
        builder = self.builder
        body, end = builder.append_basic_block("four"), builder.append_basic_block("found")
        last = builder.sub(self.count, I64(LANES))
        builder.branch(body)
        builder.position_at_end(body)
        at = builder.load(self.at)
        self._look(at)
        following = builder.add(at, I64(LANES))
        beyond = builder.icmp_signed(">", following, last)
        builder.store(builder.select(beyond, last, following), self.at)
        builder.cbranch(builder.icmp_signed("<", at, last), body, end)
        builder.position_at_end(end)
        return self._across()

    def _look(self, at: Any) -> None:
        """Compare four edges with the best so far."""
        builder = self.builder
        address = builder.add(self.start, builder.mul(at, I64(EDGE.itemsize)))
        words = load(builder, address, vector_of(I64, 2 * LANES), 8)
        values = builder.bitcast(shuffle(builder, words, words, range(0, 2 * LANES, 2)), NUMBERS)
        counts = shuffle(builder, words, words, range(1, 2 * LANES, 2))
        visits, pending, prior = self._parts(counts)
        untouched = builder.icmp_signed("==", visits, splat(SMALL, 0))
        places = builder.add(self._spread(at), ir.Constant(PLACES, [*range(LANES)]))
        waiting = builder.icmp_signed("!=", pending, splat(SMALL, 0))
        waiting = builder.or_(waiting, builder.icmp_signed("!=", places, self.fresh))
        unclear = builder.zext(builder.and_(untouched, waiting), PLACES)
        builder.store(builder.or_(builder.load(self.contested), unclear), self.contested)
        quality = builder.select(untouched, self.untried, values)
        one = splat(NUMBERS, 1.0)
        chance = builder.fadd(builder.sitofp(prior, NUMBERS), one)
        chance = builder.fmul(chance, splat(NUMBERS, 1 / 65536))
        tried = builder.fadd(one, builder.sitofp(visits, NUMBERS))
        tried = builder.fadd(tried, builder.sitofp(pending, NUMBERS))
        bonus = builder.fdiv(builder.fmul(self.weight, chance), tried)
        self._keep(builder.fadd(quality, bonus), places)

    def _parts(self, counts: Any) -> list[Any]:
        """Visits, pending and prior of an edge's second word."""
        parts = [(0, 0xFFFF_FFFF), (32, 0xFFFF), (48, 0xFFFF)]
        builder = self.builder
        return [
            builder.trunc(
                builder.and_(builder.lshr(counts, splat(PLACES, shift)), splat(PLACES, mask)), SMALL
            )
            for shift, mask in parts
        ]

    def _keep(self, scores: Any, places: Any) -> None:
        builder = self.builder
        best = builder.load(self.scores)
        better = builder.fcmp_ordered(">", scores, best)
        builder.store(builder.select(better, scores, best), self.scores)
        builder.store(builder.select(better, places, builder.load(self.places)), self.places)

    def _across(self) -> Any:
        """The best lane; of equals the one that stands first."""
        builder = self.builder
        scores, places, contested = map(builder.load, (self.scores, self.places, self.contested))
        score, place, unclear = (
            builder.extract_element(lanes, I32(0)) for lanes in (scores, places, contested)
        )
        for lane in range(1, LANES):
            other, there = (builder.extract_element(x, I32(lane)) for x in (scores, places))
            higher = builder.fcmp_ordered(">", other, score)
            equal = builder.fcmp_ordered("==", other, score)
            earlier = builder.and_(equal, builder.icmp_signed("<", there, place))
            better = builder.or_(higher, earlier)
            score, place = (
                builder.select(better, other, score),
                builder.select(better, there, place),
            )
            unclear = builder.or_(unclear, builder.extract_element(contested, I32(lane)))
        return builder.select(builder.icmp_signed("==", unclear, I64(0)), place, I64(CONTESTED))

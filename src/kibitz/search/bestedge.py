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
AFTER_VALUE = 8  # bytes of an edge before its visits, pending and prior
CONTESTED = -1  # there are moves of unclear value: somebody must look closer


def plain_best_edge(
    edges: int, first: int, count: int, fresh: int, weight: float, untried: float
) -> int:
    """Find the best edge as `best_edge` does; it serves where the compiler is off."""
    here = plain_array(edges)[int(first) : int(first + count + fresh)]
    visits, pending = here["visits"].astype(float), here["pending"].astype(float)
    if (visits[:count] == 0).any() or (visits[count:] + pending[count:] > 0).any():
        return CONTESTED
    values = np.where(visits == 0, untried, here["value"])
    scores = values + (weight / 65536) * (here["prior"] + 1.0) / (1.0 + visits + pending)
    return int(np.argmax(scores))


@lowered(plain_best_edge)
def best_edge(
    _context: Any, _edges: Any, _first: Any, _count: Any, _fresh: Any, _weight: Any, _untried: Any
) -> Any:
    """`best_edge(edges, first, count, fresh, weight, untried)`: place of the best of the edges.

    edges is the address of EDGE [...], first the first edge. `count` edges, at least 4, are to have
    visits; if `fresh` is 1, one more follows, without visits, whose value is `untried`. CONTESTED
    if it is not so, or if there are visits on the way to the one more. A move's score is its
    value + weight * prior / (1 + visits + pending); of equals the first wins.
    """

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        edges, first, count, fresh, weight, untried = arguments
        start = builder.add(edges, builder.mul(first, I64(EDGE.itemsize)))
        share = builder.fmul(weight, F64(1 / 65536))  # of one unit of a prior; exact
        return _Search(builder, start, count, share).place(fresh, untried)

    places, numbers = [types.int64] * 4, [types.float64] * 2
    return types.int64(*places, *numbers), code


class _Search:
    """The loop while it is written: best scores and their places so far, one a lane."""

    def __init__(self, builder: Any, start: Any, count: Any, share: Any) -> None:
        self.builder, self.start, self.count, self.share = builder, start, count, share
        self.shares = self._spread(share)
        with builder.goto_entry_block():
            self.scores, self.places = builder.alloca(NUMBERS), builder.alloca(PLACES)
            self.unvisited, self.at = builder.alloca(SMALL), builder.alloca(I64)
        builder.store(splat(NUMBERS, float("-inf")), self.scores)
        builder.store(splat(PLACES, 0), self.places)
        builder.store(splat(SMALL, 0), self.unvisited)
        builder.store(I64(0), self.at)

    def _spread(self, number: Any) -> Any:
        """Put one number into all lanes."""
        empty = ir.Constant(vector_of(number.type, LANES), ir.Undefined)
        one = self.builder.insert_element(empty, number, I32(0))
        return shuffle(self.builder, one, one, [0] * LANES)

    def place(self, fresh: Any, untried: Any) -> Any:
        """All fours, the last one moved back so that it ends with the last edge; then one more."""
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
        return self._with_one_more(fresh, untried, *self._across())

    def _look(self, at: Any) -> None:
        """Compare four edges with the best so far."""
        builder = self.builder
        address = builder.add(self.start, builder.mul(at, I64(EDGE.itemsize)))
        values, visits, rest = self._parts(address)
        tried = builder.add(visits, builder.and_(rest, splat(SMALL, 0xFFFF)))
        tried = builder.sitofp(builder.add(tried, splat(SMALL, 1)), NUMBERS)
        prior = builder.add(builder.lshr(rest, splat(SMALL, 16)), splat(SMALL, 1))
        bonus = builder.fmul(self.shares, builder.sitofp(prior, NUMBERS))
        scores = builder.fadd(values, builder.fdiv(bonus, tried))
        none = builder.sext(builder.icmp_signed("==", visits, splat(SMALL, 0)), SMALL)
        builder.store(builder.or_(builder.load(self.unvisited), none), self.unvisited)
        places = builder.add(self._spread(at), ir.Constant(PLACES, [*range(LANES)]))
        best = builder.load(self.scores)
        better = builder.fcmp_ordered(">", scores, best)
        builder.store(builder.select(better, scores, best), self.scores)
        builder.store(builder.select(better, places, builder.load(self.places)), self.places)

    def _parts(self, address: Any) -> tuple[Any, Any, Any]:
        """Values, visits, and pending with prior above it, of four edges."""
        builder = self.builder
        words = load(builder, address, vector_of(I32, 4 * LANES), 8)
        halves = [index for lane in range(LANES) for index in (4 * lane, 4 * lane + 1)]
        values = builder.bitcast(shuffle(builder, words, words, halves), NUMBERS)
        visits, rest = (
            shuffle(builder, words, words, range(word, 4 * LANES, 4)) for word in (2, 3)
        )
        return values, visits, rest

    def _across(self) -> tuple[Any, Any, Any]:
        """The best lane, of equals the one that stands first: (score, place, any unvisited)."""
        builder = self.builder
        scores, places, unvisited = map(builder.load, (self.scores, self.places, self.unvisited))
        score, place, unclear = (
            builder.extract_element(lanes, I32(0)) for lanes in (scores, places, unvisited)
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
            unclear = builder.or_(unclear, builder.extract_element(unvisited, I32(lane)))
        return score, place, builder.icmp_signed("!=", unclear, I32(0))

    def _with_one_more(self, fresh: Any, untried: Any, score: Any, place: Any, unclear: Any) -> Any:
        """The place, or the one after all of them if the untried move is better still."""
        builder = self.builder
        one_more = builder.icmp_signed("!=", fresh, I64(0))
        # Without one more that place may be beyond the memory.
        after = builder.select(one_more, self.count, I64(0))
        counts = builder.add(builder.mul(after, I64(EDGE.itemsize)), I64(AFTER_VALUE))
        counts = load(builder, builder.add(self.start, counts), I64, 8)
        touched = builder.trunc(counts, ir.IntType(48))
        touched = builder.icmp_signed("!=", touched, ir.IntType(48)(0))
        prior = builder.add(builder.lshr(counts, I64(48)), I64(1))
        bonus = builder.fmul(self.share, builder.sitofp(prior, F64))
        better = builder.fcmp_ordered(">", builder.fadd(untried, bonus), score)
        place = builder.select(builder.and_(one_more, better), self.count, place)
        unclear = builder.or_(unclear, builder.and_(one_more, touched))
        return builder.select(unclear, I64(CONTESTED), place)

"""The best of a node's moves by value plus bonus, eight moves at a time; for select_puct.

Selection reads every visited move of every node on its way, which makes this the longest loop of a
search. Written with vectors because the compiler does not find a place of a maximum by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from kibitz.kernel.compile import intrinsic
from kibitz.kernel.records import plain_array
from kibitz.kernel.vectors import I32, I64, Code, load, shuffle, splat, spread, vector_of
from kibitz.search.mcts.tree.nodes import EDGE

LANES, LEAST = 8, 4  # moves at a time; fewer are taken by fours, and fewer than LEAST not at all
I1, I48, F64 = ir.IntType(1), ir.IntType(48), ir.DoubleType()
WORDS = EDGE.itemsize // 4
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


@intrinsic(plain_best_edge)
def best_edge(
    _context: Any, _edges: Any, _first: Any, _count: Any, _fresh: Any, _weight: Any, _untried: Any
) -> Any:
    """`best_edge(edges, first, count, fresh, weight, untried)`: place of the best of the edges.

    edges is the address of EDGE [...], first the first edge. `count` edges, at least LEAST, are to
    have visits; if `fresh` is 1, one more follows, without visits, whose value is `untried`.
    CONTESTED if it is not so, or if there are visits on the way to the one more. A move's score is
    its value + weight * prior / (1 + visits + pending); of equals the first wins.
    """

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        edges, first, count, fresh, weight, untried = arguments
        start = builder.add(edges, builder.mul(first, I64(EDGE.itemsize)))
        share = builder.fmul(weight, F64(1 / 65536))  # of one unit of a prior; exact
        best = _Best(builder)
        with builder.if_else(builder.icmp_signed(">=", count, I64(LANES))) as (many, few):
            with many:
                _Search(builder, start, count, share, LANES).tell(best)
            with few:
                _Search(builder, start, count, share, LEAST).tell(best)
        return _with_one_more(builder, start, count, share, fresh, untried, best)

    places, numbers = [types.int64] * 4, [types.float64] * 2
    return types.int64(*places, *numbers), code


class _Best:
    """Where a search puts what it has found: score, place, and whether a move had no visits."""

    def __init__(self, builder: Code) -> None:
        self.score, self.place, self.unclear = (_variable(builder, kind) for kind in (F64, I64, I1))


class _Search:
    """The loop while it is written: best scores and their places so far, one a lane."""

    def __init__(self, builder: Code, start: Code, count: Code, share: Code, lanes: int) -> None:
        self.builder, self.start, self.count, self.lanes = builder, start, count, lanes
        self.numbers, self.positions, self.small = (
            vector_of(kind, lanes) for kind in (F64, I64, I32)
        )
        self.shares = spread(builder, share, lanes)
        self.scores, self.places, self.unvisited = (
            _variable(builder, kind) for kind in (self.numbers, self.positions, self.small)
        )
        builder.store(splat(self.numbers, float("-inf")), self.scores)
        builder.store(splat(self.positions, 0), self.places)
        builder.store(splat(self.small, 0), self.unvisited)

    def tell(self, best: _Best) -> None:
        """Look at all moves; the last few are moved back so that they end with the last edge."""
        builder = self.builder
        body, end = builder.append_basic_block("some"), builder.append_basic_block("found")
        last = builder.sub(self.count, I64(self.lanes))
        before = builder.block
        builder.branch(body)
        builder.position_at_end(body)
        at = builder.phi(I64)
        at.add_incoming(I64(0), before)
        self._look(at)
        following = builder.add(at, I64(self.lanes))
        beyond = builder.icmp_signed(">", following, last)
        at.add_incoming(builder.select(beyond, last, following), builder.block)
        builder.cbranch(builder.icmp_signed("<", at, last), body, end)
        builder.position_at_end(end)
        for value, place in zip(
            self._across(), (best.score, best.place, best.unclear), strict=True
        ):
            builder.store(value, place)

    def _look(self, at: Code) -> None:
        """Compare some edges with the best so far."""
        builder, small = self.builder, self.small
        values, visits, rest = self._parts(at)
        tried = builder.add(visits, builder.and_(rest, splat(small, 0xFFFF)))
        tried = builder.sitofp(builder.add(tried, splat(small, 1)), self.numbers)
        prior = builder.add(builder.lshr(rest, splat(small, 16)), splat(small, 1))
        bonus = builder.fmul(self.shares, builder.sitofp(prior, self.numbers))
        scores = builder.fadd(values, builder.fdiv(bonus, tried))
        none = builder.sext(builder.icmp_signed("==", visits, splat(small, 0)), small)
        builder.store(builder.or_(builder.load(self.unvisited), none), self.unvisited)
        lanes = ir.Constant(self.positions, [*range(self.lanes)])
        places = builder.add(spread(builder, at, self.lanes), lanes)
        best = builder.load(self.scores)
        better = builder.fcmp_ordered(">", scores, best)
        builder.store(builder.select(better, scores, best), self.scores)
        builder.store(builder.select(better, places, builder.load(self.places)), self.places)

    def _parts(self, at: Code) -> tuple[Code, Code, Code]:
        """Values, visits, and pending with prior above it, of some edges."""
        builder, count = self.builder, WORDS * self.lanes
        address = builder.add(self.start, builder.mul(at, I64(EDGE.itemsize)))
        words = load(builder, address, vector_of(I32, count), 8)
        halves = [word for edge in range(0, count, WORDS) for word in (edge, edge + 1)]
        values = builder.bitcast(shuffle(builder, words, words, halves), self.numbers)
        visits, rest = (
            shuffle(builder, words, words, range(word, count, WORDS)) for word in (2, 3)
        )
        return values, visits, rest

    def _across(self) -> tuple[Code, Code, Code]:
        """The best lane, of equals the one that stands first: (score, place, any unvisited)."""
        builder, lanes = self.builder, self.lanes
        scores, places = builder.load(self.scores), builder.load(self.places)
        while lanes > 1:
            lanes //= 2
            (score, other), (place, there) = (
                [shuffle(builder, x, x, range(start, start + lanes)) for start in (0, lanes)]
                for x in (scores, places)
            )
            higher = builder.fcmp_ordered(">", other, score)
            equal = builder.fcmp_ordered("==", other, score)
            earlier = builder.and_(equal, builder.icmp_signed("<", there, place))
            better = builder.or_(higher, earlier)
            scores = builder.select(better, other, score)
            places = builder.select(better, there, place)
        none = builder.icmp_signed("!=", builder.load(self.unvisited), splat(self.small, 0))
        mask = builder.bitcast(none, ir.IntType(self.lanes))
        return (
            builder.extract_element(scores, I32(0)),
            builder.extract_element(places, I32(0)),
            builder.icmp_signed("!=", mask, mask.type(0)),
        )


def _with_one_more(
    builder: Code, start: Code, count: Code, share: Code, fresh: Code, untried: Code, best: _Best
) -> Code:
    """The best place, or the one after all of them if the untried move is better still."""
    score, place, unclear = (builder.load(x) for x in (best.score, best.place, best.unclear))
    one_more = builder.icmp_signed("!=", fresh, I64(0))
    # Without one more that place may be beyond the memory.
    after = builder.select(one_more, count, I64(0))
    counts = builder.add(builder.mul(after, I64(EDGE.itemsize)), I64(AFTER_VALUE))
    counts = load(builder, builder.add(start, counts), I64, 8)
    touched = builder.icmp_signed("!=", builder.trunc(counts, I48), I48(0))
    prior = builder.add(builder.lshr(counts, I64(48)), I64(1))
    bonus = builder.fmul(share, builder.sitofp(prior, F64))
    better = builder.fcmp_ordered(">", builder.fadd(untried, bonus), score)
    place = builder.select(builder.and_(one_more, better), count, place)
    unclear = builder.or_(unclear, builder.and_(one_more, touched))
    return builder.select(unclear, I64(CONTESTED), place)


def _variable(builder: Code, kind: Code) -> Code:
    """A place on the stack."""
    with builder.goto_entry_block():
        return builder.alloca(kind)

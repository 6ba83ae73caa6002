"""From the logits of a node's moves to its edges, best prior first, in vectors.

    context.logits, context.moves -> order_moves -> context.order -> fill_edges -> edges

Every node that is expanded comes through here. Written with vectors because the compiler neither
keeps a list this short in registers nor ranks one list against itself without adding up lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kibitz.kernel.compile import intrinsic
from kibitz.kernel.records import plain_array
from kibitz.kernel.vectors import (
    F32,
    I16,
    I32,
    I64,
    Code,
    load,
    shuffle,
    splat,
    spread,
    store,
    vector_of,
)
from kibitz.search.mcts.tree.nodes import COLD, EDGE

LANES = 8
LOWEST = -80.0  # logits this far below the highest are as good as -infinity
LOG2_E, LN_2 = float(np.float32(1.4426950408889634)), float(np.float32(0.6931471805599453))
SERIES = tuple(float(np.float32(1 / factor)) for factor in (120, 24, 6, 2, 1, 1))
AT_ONCE = 4  # edges, or cold records, that fill a line of memory
WORDS = EDGE.itemsize // 4

REALS, NUMBERS, MOVES = (vector_of(kind, LANES) for kind in (F32, I32, I16))


# --- logits to moves in order ---------------------------------------------------------------------


def plain_order_moves(context: Any, count: int, sharpness: float) -> None:
    """Order moves as `order_moves` does; it serves where the compiler is off."""
    logits = context.logits[:count].astype(np.float32)
    shares = np.exp(np.maximum((logits - logits.max()) * np.float32(sharpness), LOWEST))
    shares = shares.astype(np.float32) / shares.sum(dtype=np.float32)
    priors = (np.maximum(shares * 65536, 1) - 0.5).astype(np.int64)
    order = np.arange(count) if (logits == logits[0]).all() else np.argsort(-priors, kind="stable")
    context.order[:count] = (priors << 16 | context.moves[:count])[order]


@intrinsic(plain_order_moves)
def order_moves(_context: Any, context: Any, _count: Any, _sharpness: Any) -> Any:
    """`order_moves(context, count, sharpness)`: context.order from its logits and moves.

    An entry of the order is prior << 16 | move, the prior being the 16-bit softmax of the logits
    times `sharpness` (1 / temperature). Equal priors keep the order of generation. The
    logits are used up. There is at least one move.
    """

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        record, count, sharpness = arguments
        sharpness = builder.fptrunc(sharpness, F32)
        fields = {
            name: builder.add(builder.ptrtoint(record, I64), I64(context.offset(name)))
            for name in ("logits", "moves", "sorting", "ranks", "order")
        }
        _Ordering(builder, fields, count, sharpness).write()
        return target.get_dummy_value()

    return types.void(context, types.int64, types.float64), code


class _Ordering:
    """The code while it is written: eight moves a step, lanes beyond the last one masked."""

    def __init__(self, builder: Code, fields: dict[str, Code], count: Code, sharpness: Code):
        self.builder, self.fields, self.count, self.sharpness = builder, fields, count, sharpness
        self.steps = builder.lshr(builder.add(count, I64(LANES - 1)), I64(LANES.bit_length() - 1))

    def write(self) -> None:
        """Equal logits leave the order of generation; others make exponentials, keys and ranks."""
        builder = self.builder
        highest, lowest = self._range()
        with builder.if_else(builder.fcmp_ordered("==", highest, lowest)) as (equal, different):
            with equal:
                self._share_equally()
            with different:
                self._make_keys(builder.fdiv(F32(1.0), self._raise(highest)))
                self._rank()
                self._place()

    def _at(self, field: str, index: Code, size: int) -> Code:
        """Address of an element."""
        return self.builder.add(self.fields[field], self.builder.mul(index, I64(size)))

    def _lanes(self, step: Code) -> tuple[Code, Code]:
        """Index of the first move of a step, and which lanes hold moves."""
        builder = self.builder
        start = builder.mul(step, I64(LANES))
        left = builder.trunc(builder.sub(self.count, start), I32)
        lanes = ir.Constant(NUMBERS, [*range(LANES)])
        return start, builder.icmp_signed("<", lanes, spread(builder, left, LANES))

    def _range(self) -> tuple[Code, Code]:
        """The highest logit and the lowest; what is beyond the last one becomes -infinity."""
        builder = self.builder
        highest = _variable(builder, splat(REALS, float("-inf")))
        lowest = _variable(builder, splat(REALS, float("inf")))
        with cgutils.for_range(builder, self.steps) as loop:
            start, valid = self._lanes(loop.index)
            place = self._at("logits", start, 4)
            logits = load(builder, place, REALS, 4)
            above = builder.select(valid, logits, splat(REALS, float("-inf")))
            below = builder.select(valid, logits, splat(REALS, float("inf")))
            store(builder, above, place, 4)
            builder.store(_larger(builder, above, builder.load(highest)), highest)
            builder.store(_smaller(builder, below, builder.load(lowest)), lowest)
        return (
            _across(builder, builder.load(highest), _larger),
            _across(builder, builder.load(lowest), _smaller),
        )

    def _share_equally(self) -> None:
        """The order of generation, 1 / count for each."""
        builder = self.builder
        share = builder.fdiv(F32(1.0), builder.sitofp(builder.trunc(self.count, I32), F32))
        prior = builder.shl(self._priors(spread(builder, share, LANES)), splat(NUMBERS, 16))
        with cgutils.for_range(builder, self.steps) as loop:
            start = builder.mul(loop.index, I64(LANES))
            moves = load(builder, self._at("moves", start, 2), MOVES, 2)
            order = builder.or_(prior, builder.zext(moves, NUMBERS))
            store(builder, order, self._at("order", start, 4), 4)

    def _raise(self, highest: Code) -> Code:
        """Exponentials in place of logits; their sum."""
        builder = self.builder
        total = _variable(builder, splat(REALS, 0.0))
        top, sharpness = (spread(builder, one, LANES) for one in (highest, self.sharpness))
        with cgutils.for_range(builder, self.steps) as loop:
            place = self._at("logits", builder.mul(loop.index, I64(LANES)), 4)
            logits = load(builder, place, REALS, 4)
            raised = self._exp(builder.fmul(builder.fsub(logits, top), sharpness))
            store(builder, raised, place, 4)
            builder.store(builder.fadd(builder.load(total), raised), total)
        return _across(builder, builder.load(total), ir.IRBuilder.fadd)

    def _exp(self, x: Code) -> Code:
        """e^x for x <= 0 to six digits, not below LOWEST."""
        builder = self.builder
        power = builder.fmul(_larger(builder, x, splat(REALS, LOWEST)), splat(REALS, LOG2_E))
        # Rounds to nearest, as the power is not positive; the rest is below 0.35.
        whole = builder.fptosi(builder.fsub(power, splat(REALS, 0.5)), NUMBERS)
        rest = builder.fsub(power, builder.sitofp(whole, REALS))
        rest = builder.fmul(rest, splat(REALS, LN_2))
        series = splat(REALS, SERIES[0])
        for factor in SERIES[1:]:
            series = builder.fadd(splat(REALS, factor), builder.fmul(rest, series))
        bits = builder.shl(builder.add(whole, splat(NUMBERS, 127)), splat(NUMBERS, 23))
        return builder.fmul(series, builder.bitcast(bits, REALS))

    def _priors(self, shares: Code) -> Code:
        """Probabilities in 65536ths, less one."""
        builder = self.builder
        units = builder.fmul(shares, splat(REALS, 65536.0))
        units = builder.fsub(_larger(builder, units, splat(REALS, 1.0)), splat(REALS, 0.5))
        return builder.fptosi(units, NUMBERS)

    def _make_keys(self, share: Code) -> None:
        """Keys that sort as the moves shall, no two alike.

        A key is prior << 8 | 255 - index; beyond the last move it is lower than any.
        """
        builder = self.builder
        shares = spread(builder, share, LANES)
        with cgutils.for_range(builder, self.steps) as loop:
            start, valid = self._lanes(loop.index)
            raised = load(builder, self._at("logits", start, 4), REALS, 4)
            prior = self._priors(builder.fmul(raised, shares))
            back = ir.Constant(NUMBERS, [*range(255, 255 - LANES, -1)])
            back = builder.sub(back, spread(builder, builder.trunc(start, I32), LANES))
            key = builder.or_(builder.shl(prior, splat(NUMBERS, 8)), back)
            key = builder.select(valid, key, splat(NUMBERS, -1))
            store(builder, key, self._at("sorting", start, 4), 4)

    def _rank(self) -> None:
        """How many keys are greater than each."""
        builder = self.builder
        with cgutils.for_range(builder, self.steps) as loop:
            start = builder.mul(loop.index, I64(LANES))
            mine = load(builder, self._at("sorting", start, 4), NUMBERS, 4)
            greater = _variable(builder, splat(NUMBERS, 0))
            with cgutils.for_range(builder, self.count) as others:
                other = load(builder, self._at("sorting", others.index, 4), I32, 4)
                more = builder.icmp_signed(">", spread(builder, other, LANES), mine)
                more = builder.sub(builder.load(greater), builder.sext(more, NUMBERS))
                builder.store(more, greater)
            store(builder, builder.load(greater), self._at("ranks", start, 4), 4)

    def _place(self) -> None:
        """Every move to the place of its rank."""
        builder = self.builder
        with cgutils.for_range(builder, self.count) as loop:
            key = load(builder, self._at("sorting", loop.index, 4), I32, 4)
            move = builder.zext(load(builder, self._at("moves", loop.index, 2), I16, 2), I32)
            prior = builder.shl(builder.lshr(key, I32(8)), I32(16))
            rank = builder.zext(load(builder, self._at("ranks", loop.index, 4), I32, 4), I64)
            store(builder, builder.or_(prior, move), self._at("order", rank, 4), 4)


def _variable(builder: Code, value: Code) -> Code:
    """A place on the stack that holds a value now."""
    with builder.goto_entry_block():
        place = builder.alloca(value.type)
    builder.store(value, place)
    return place


def _larger(builder: Code, first: Code, second: Code) -> Code:
    """Lane by lane."""
    return builder.select(builder.fcmp_ordered(">", first, second), first, second)


def _smaller(builder: Code, first: Code, second: Code) -> Code:
    """Lane by lane."""
    return builder.select(builder.fcmp_ordered("<", first, second), first, second)


def _across(builder: Code, vector: Code, combine: Any) -> Code:
    """All lanes combined, halves first."""
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        halves = (
            shuffle(builder, vector, vector, range(start, start + lanes)) for start in (0, lanes)
        )
        vector = combine(builder, *halves)
    return builder.extract_element(vector, I32(0))


# --- the order to edges ---------------------------------------------------------------------------


def plain_fill_edges(edges: int, cold: int, first: int, context: Any, count: int) -> None:
    """Make edges as `fill_edges` does; it serves where the compiler is off."""
    block, order = slice(int(first), int(first + count)), context.order[:count]
    here, there = plain_array(edges), plain_array(cold)
    here[block], there[block] = np.zeros((), EDGE), np.zeros((), COLD)
    here["prior"][block], there["move"][block] = order >> 16, order & 0xFFFF


@intrinsic(plain_fill_edges)
def fill_edges(
    _context: Any, _edges: Any, _links: Any, _first: Any, context: Any, _count: Any
) -> Any:
    """`fill_edges(edges, cold, first, context, count)`: edges for context.order, from `first`.

    edges and cold are the addresses of EDGE [...] and COLD [...].
    """

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        edges, cold, first, record, count = arguments
        order = builder.add(builder.ptrtoint(record, I64), I64(context.offset("order")))
        edges, cold = (
            builder.add(base, builder.mul(first, I64(EDGE.itemsize))) for base in (edges, cold)
        )
        fours = builder.icmp_signed(">=", count, I64(AT_ONCE))
        with builder.if_else(fours) as (many, few):
            with many, _in_fours(builder, count) as at:
                _fill(builder, edges, cold, order, at, AT_ONCE)
            with few, cgutils.for_range(builder, count) as loop:
                _fill(builder, edges, cold, order, loop.index, 1)
        return target.get_dummy_value()

    return types.void(*[types.int64] * 3, context, types.int64), code


@contextmanager
def _in_fours(builder: Code, count: Code) -> Iterator[Code]:
    """Write a loop over `count` things, at least 4: the first of each four.

    The last four are moved back so that they end with the last thing.
    """
    last = builder.sub(count, I64(AT_ONCE))
    steps = builder.lshr(builder.add(count, I64(AT_ONCE - 1)), I64(AT_ONCE.bit_length() - 1))
    with cgutils.for_range(builder, steps) as loop:
        at = builder.mul(loop.index, I64(AT_ONCE))
        yield builder.select(builder.icmp_signed(">", at, last), last, at)


def _fill(builder: Code, edges: Code, cold: Code, order: Code, at: Code, count: int) -> None:
    """Some edges: all is 0 but the prior and the move, which lie in the upper word of each."""
    some = vector_of(I32, count)
    order = load(builder, builder.add(order, builder.mul(at, I64(4))), some, 4)
    offset = builder.mul(at, I64(EDGE.itemsize))
    places = [place for one in range(count) for place in (*[count] * (WORDS - 1), one)]
    for base, word in (
        (edges, builder.and_(order, splat(some, 0xFFFF_0000 - 2**32))),
        (cold, builder.and_(order, splat(some, 0xFFFF))),
    ):
        words = shuffle(builder, word, splat(some, 0), places)
        store(builder, words, builder.add(base, offset), 8)


def plain_hold_moves(edges: int, first: int, context: Any, count: int) -> None:
    """Hold moves as `hold_moves` does; it serves where the compiler is off."""
    words = plain_array(edges).view(np.uint32).reshape(-1)
    end = int(first + count) * WORDS
    words[end - count : end] = context.order[:count]


@intrinsic(plain_hold_moves)
def hold_moves(_context: Any, _edges: Any, _first: Any, context: Any, _count: Any) -> Any:
    """`hold_moves(edges, first, context, count)`: context.order to the end of a block.

    There are at least 4 moves.
    """

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        edges, first, record, count = arguments
        order = builder.add(builder.ptrtoint(record, I64), I64(context.offset("order")))
        end = builder.add(edges, builder.mul(builder.add(first, count), I64(EDGE.itemsize)))
        start = builder.sub(end, builder.mul(count, I64(4)))
        with _in_fours(builder, count) as at:
            offset = builder.mul(at, I64(4))
            words = load(builder, builder.add(order, offset), vector_of(I32, AT_ONCE), 4)
            store(builder, words, builder.add(start, offset), 4)
        return target.get_dummy_value()

    return types.void(*[types.int64] * 2, context, types.int64), code

"""Dot products of chosen rows: activations -> **products** -> logits of moves, first tail layer.

Four or eight products run side by side: each activation is loaded once for all of them, and the
sums across vectors are shared between four.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.core import cgutils

from kibitz.kernel.compile import intrinsic
from kibitz.kernel.vectors import (
    COARSE,
    FINE,
    HOST,
    I16,
    I64,
    LLVM_TYPES,
    REAL,
    WIDEST,
    Code,
    Kind,
    Vectors,
    add,
    call,
    load,
    row_offset,
    seen_at,
    shuffle,
    splat,
    store,
    vector_of,
)

FOUR = 4  # sums that are added up across vectors at once
MOVES_TOGETHER, TAIL_TOGETHER = 4, 8


def dot_products(kind: Kind, vectors: Vectors, together: int) -> Callable[..., None]:
    """Make `dots(weights, activations, columns, rows, count, out)`: one product per row.

    All but the numbers `columns` and `count` are addresses: weights [R, columns] and activations
    [columns] of their types, rows int32 and out int32 or float32, both [count filled up to a
    multiple of `together`, 4 or 8]; rows beyond `count` must exist.
    """

    def plain(weights: int, hidden: int, columns: int, rows: int, count: int, out: int) -> None:
        wide: Any = np.float32 if kind is REAL else np.int64
        activations = seen_at(hidden, columns, kind.activation).astype(wide)
        products = seen_at(out, count, kind.product)
        for at, row in enumerate(seen_at(rows, count, "int32")):
            start = weights + int(row) * columns * np.dtype(kind.weight).itemsize
            products[at] = seen_at(start, columns, kind.weight).astype(wide) @ activations

    def generate(
        _context: Any,
        _weights: Any,
        _activations: Any,
        _columns: Any,
        _rows: Any,
        _count: Any,
        _out: Any,
    ) -> Any:
        def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            count = arguments[4]
            groups = builder.udiv(builder.add(count, I64(together - 1)), I64(together))
            with cgutils.for_range(builder, groups) as loop:
                group = builder.mul(loop.index, I64(together))
                _dot_group(builder, kind, vectors, arguments, group, together)
            return target.get_dummy_value()

        return types.none(*[types.int64] * 6), code

    return intrinsic(plain)(generate)


def _dot_group(
    builder: Code, kind: Kind, vectors: Vectors, arguments: Any, group: Code, together: int
) -> None:
    weights, hidden, columns, rows, _, out = arguments
    weight_bytes, hidden_bytes = (np.dtype(d).itemsize for d in (kind.weight, kind.activation))
    step = vectors.width // weight_bytes
    lanes = vectors.width // 4 if vectors.words or kind is REAL else step
    total = vector_of(LLVM_TYPES[kind.product], lanes)
    stride = builder.mul(columns, I64(weight_bytes))
    starts = [
        builder.add(weights, row_offset(builder, rows, builder.add(group, I64(number)), stride))
        for number in range(together)
    ]
    slots = [cgutils.alloca_once(builder, total) for _ in range(together)]
    for slot in slots:
        builder.store(splat(total, 0), slot)
    with cgutils.for_range(builder, builder.udiv(columns, I64(step))) as loop:
        place = builder.mul(loop.index, I64(step * hidden_bytes))
        vector = vector_of(LLVM_TYPES[kind.activation], step)
        shared = load(builder, builder.add(hidden, place), vector, vectors.width)
        offset = builder.mul(loop.index, I64(vectors.width))
        for start, slot in zip(starts, slots, strict=True):
            vector = vector_of(LLVM_TYPES[kind.weight], step)
            row = load(builder, builder.add(start, offset), vector, vectors.width)
            builder.store(_multiply(builder, kind, vectors, builder.load(slot), shared, row), slot)
    totals = [builder.load(slot) for slot in slots]
    place = builder.add(out, builder.mul(group, I64(4)))
    for at in range(0, together, FOUR):
        sums = _across(builder, totals[at : at + FOUR])
        store(builder, sums, builder.add(place, I64(4 * at)), 4)


def _multiply(
    builder: Code, kind: Kind, vectors: Vectors, total: Code, hidden: Code, row: Code
) -> Code:
    """Add products of activations and weights to a vector of sums."""
    if kind is REAL:
        name = f"llvm.fmuladd.v{total.type.count}f32"
        return call(builder, name, total.type, hidden, row, total)
    if not vectors.words:
        extended = builder.zext if kind is COARSE else builder.sext
        product = builder.mul(extended(hidden, total.type), builder.sext(row, total.type))
        return builder.add(total, product)
    if vectors.accumulates:
        name = "vpdpbusd" if kind is COARSE else "vpdpwssd"
        return _accumulated(builder, f"llvm.x86.avx512.{name}.512", total, hidden, row)
    prefix = "llvm.x86.avx512" if vectors.width == WIDEST else "llvm.x86.avx2"
    suffix = ".512" if vectors.width == WIDEST else ""
    if kind is COARSE:
        pairs = vector_of(I16, vectors.width // 2)
        name = f"{prefix}.pmaddubs.w{suffix}" if suffix else f"{prefix}.pmadd.ub.sw"
        hidden, row = call(builder, name, pairs, hidden, row), splat(pairs, 1)
    name = f"{prefix}.pmaddw.d{suffix}" if suffix else f"{prefix}.pmadd.wd"
    return builder.add(total, call(builder, name, total.type, hidden, row))


def _accumulated(builder: Code, name: str, total: Code, hidden: Code, row: Code) -> Code:
    if llvm.llvm_version_info[0] < 22:  # these took vectors of 32-bit integers
        hidden, row = (builder.bitcast(vector, total.type) for vector in (hidden, row))
    return call(builder, name, total.type, total, hidden, row)


def _across(builder: Code, totals: list[Code]) -> Code:
    """Sum each of four vectors: first within lanes of 128 bits, side by side, then over lanes."""
    first, second, third, fourth = totals
    low, high = _woven(builder, first, second, True), _woven(builder, third, fourth, True)
    sums = _woven(builder, low, high, False)
    while sums.type.count > FOUR:
        half = sums.type.count // 2
        low = shuffle(builder, sums, sums, range(half))
        high = shuffle(builder, sums, sums, range(half, 2 * half))
        sums = add(builder, low, high)
    return sums


def _woven(builder: Code, first: Code, second: Code, alternate: bool) -> Code:
    """a, b -> a0+a2, b0+b2, a1+a3, b1+b3 per lane, or a0+a2, a1+a3, b0+b2, b1+b3."""
    count = first.type.count
    low, high = [], []
    for lane in range(0, count, 4):
        other = lane + count
        if alternate:
            low += [lane, other, lane + 1, other + 1]
            high += [lane + 2, other + 2, lane + 3, other + 3]
        else:
            low += [lane, lane + 1, other, other + 1]
            high += [lane + 2, lane + 3, other + 2, other + 3]
    return add(builder, shuffle(builder, first, second, low), shuffle(builder, first, second, high))


fine_tail_dots = dot_products(FINE, HOST, TAIL_TOGETHER)
real_tail_dots = dot_products(REAL, HOST, TAIL_TOGETHER)
fine_move_dots = dot_products(FINE, HOST, MOVES_TOGETHER)
coarse_move_dots = dot_products(COARSE, HOST, MOVES_TOGETHER)
real_move_dots = dot_products(REAL, HOST, MOVES_TOGETHER)

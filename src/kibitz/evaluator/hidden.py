"""The hidden layer of sparse networks: active features -> **sums of rows, activations**.

A block of the sum stays in vector registers while all rows are added to it, and becomes
activations before it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils

from kibitz.kernel.compile import intrinsic
from kibitz.kernel.vectors import (
    COARSE,
    COLUMNS,
    FINE,
    HOST,
    I8,
    I64,
    LLVM_TYPES,
    REAL,
    Code,
    Kind,
    Vectors,
    add,
    call,
    load,
    row_offset,
    seen_at,
    splat,
    store,
    vector_of,
)

QA, REAL_TOP = 255, 1.0  # what the clipped sum is at most


def hidden_layer(kind: Kind, vectors: Vectors) -> Callable[..., None]:
    """Make `layer(table, bias, rows, count, columns, out)`: activations of bias + sum of rows.

    All but the numbers `count` and `columns` are addresses: table [F, columns] and bias [columns]
    of the summed type, rows int32 [count], out [columns] of the activation's type.
    """

    def plain(table: int, bias: int, rows: int, count: int, columns: int, out: int) -> None:
        total = seen_at(bias, columns, kind.summed).copy()
        for row in seen_at(rows, count, "int32"):
            start = table + int(row) * columns * total.itemsize
            total += seen_at(start, columns, kind.summed)
        seen_at(out, columns, kind.activation)[:] = _plain_activation(kind, total)

    def generate(
        _context: Any, _table: Any, _bias: Any, _rows: Any, _count: Any, _columns: Any, _out: Any
    ) -> Any:
        def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            columns = arguments[4]
            element = np.dtype(kind.summed).itemsize
            done: Code = I64(0)
            for size in _block_sizes(vectors, element):
                blocks = builder.udiv(builder.sub(columns, done), I64(size))
                with cgutils.for_range(builder, blocks) as loop:
                    start = builder.add(done, builder.mul(loop.index, I64(size)))
                    _layer_block(builder, kind, vectors, arguments, start, size)
                done = builder.add(done, builder.mul(blocks, I64(size)))
            return target.get_dummy_value()

        return types.none(*[types.int64] * 6), code

    return intrinsic(plain)(generate)


def _plain_activation(kind: Kind, total: np.ndarray) -> np.ndarray:
    if kind is REAL:
        return np.clip(total, np.float32(0), np.float32(1)) ** 2
    clipped = np.clip(total.astype(np.int32), 0, QA)
    return (clipped * clipped + kind.rounding) >> kind.shift


def _block_sizes(vectors: Vectors, element: int) -> list[int]:
    """Columns of the blocks, largest first; the last divides every width."""
    largest = max(COLUMNS, vectors.width // element * vectors.registers)
    sizes = [largest]
    while sizes[-1] > COLUMNS:
        sizes.append(max(COLUMNS, sizes[-1] // 4))
    return sizes


def _layer_block(
    builder: Code, kind: Kind, vectors: Vectors, arguments: Any, start: Code, size: int
) -> None:
    """Sum `size` columns from `start` on in registers, then write their activations."""
    table, bias, rows, count, columns, out = arguments
    element = LLVM_TYPES[kind.summed]
    bytes_each = np.dtype(kind.summed).itemsize
    lanes = vectors.width // bytes_each
    vector = vector_of(element, lanes)
    offset = builder.mul(start, I64(bytes_each))
    slots = [cgutils.alloca_once(builder, vector) for _ in range(size // lanes)]
    for at, slot in enumerate(slots):
        address = builder.add(builder.add(bias, offset), I64(at * vectors.width))
        builder.store(load(builder, address, vector, vectors.width), slot)
    stride = builder.mul(columns, I64(bytes_each))
    first = builder.add(table, offset)
    with cgutils.for_range(builder, count) as loop:
        base = builder.add(first, row_offset(builder, rows, loop.index, stride))
        for at, slot in enumerate(slots):
            address = builder.add(base, I64(at * vectors.width))
            row = load(builder, address, vector, vectors.width)
            builder.store(add(builder, builder.load(slot), row), slot)
    activated_bytes = np.dtype(kind.activation).itemsize
    target = builder.add(out, builder.mul(start, I64(activated_bytes)))
    for at, slot in enumerate(slots):
        value = _activation(builder, kind, builder.load(slot))
        address = builder.add(target, I64(at * lanes * activated_bytes))
        store(builder, value, address, lanes * activated_bytes)


def _activation(builder: Code, kind: Kind, total: Code) -> Code:
    vector = total.type
    if kind is REAL:
        top, bottom = splat(vector, REAL_TOP), splat(vector, 0.0)
        clipped = builder.select(builder.fcmp_ordered(">", total, bottom), total, bottom)
        clipped = builder.select(builder.fcmp_ordered("<", clipped, top), clipped, top)
        return builder.fmul(clipped, clipped)
    suffix = f"v{vector.count}i16"
    clipped = call(builder, f"llvm.smax.{suffix}", vector, total, splat(vector, 0))
    clipped = call(builder, f"llvm.smin.{suffix}", vector, clipped, splat(vector, QA))
    square = builder.add(builder.mul(clipped, clipped), splat(vector, kind.rounding))
    shifted = builder.lshr(square, splat(vector, kind.shift))
    return builder.trunc(shifted, vector_of(I8, vector.count)) if kind is COARSE else shifted


fine_layer = hidden_layer(FINE, HOST)
coarse_layer = hidden_layer(COARSE, HOST)
real_layer = hidden_layer(REAL, HOST)

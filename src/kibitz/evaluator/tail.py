"""The small layers behind the value layer, in float32: products -> **tail** -> win, draw, loss.

Vectors run over the outputs, whose number is filled up to a multiple of 16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils

from kibitz.kernel.compile import intrinsic
from kibitz.kernel.vectors import (
    F32,
    I32,
    I64,
    Code,
    call,
    load,
    seen_at,
    splat,
    spread,
    store,
    vector_of,
)

LANES = 16
BYTES = 4 * LANES
REALS = vector_of(F32, LANES)
WHOLES = vector_of(I32, LANES)


def _plain_scaled(sums: int, scale: int, bias: int, out: int) -> None:
    products = seen_at(sums, LANES, "int32").astype(np.float32) * seen_at(scale, LANES, "float32")
    seen_at(out, LANES, "float32")[:] = products + seen_at(bias, LANES, "float32")


@intrinsic(_plain_scaled)
def scaled(_context: Any, _sums: Any, _scale: Any, _bias: Any, _out: Any) -> Any:
    """Out = sums * scale + bias, rounded twice; addresses of int32 and float32 [16]."""

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        sums, scale, bias, out = arguments
        products = builder.sitofp(load(builder, sums, WHOLES, BYTES), REALS)
        products = builder.fmul(products, load(builder, scale, REALS, BYTES))
        total = builder.fadd(products, load(builder, bias, REALS, BYTES))
        store(builder, total, out, BYTES)
        return target.get_dummy_value()

    return types.none(*[types.int64] * 4), code


def _plain_next(weights: int, bias: int, before: int, inputs: int, outputs: int, out: int) -> None:
    x = np.clip(seen_at(before, inputs, "float32"), np.float32(0), np.float32(1)) ** 2
    matrix = seen_at(weights, inputs * outputs, "float32").reshape(inputs, outputs)
    seen_at(before, inputs, "float32")[:] = x
    seen_at(out, outputs, "float32")[:] = seen_at(bias, outputs, "float32") + x @ matrix


@intrinsic(_plain_next)
def next_layer(
    _context: Any,
    _weights: Any,
    _bias: Any,
    _before: Any,
    _inputs: Any,
    _outputs: Any,
    _out: Any,
) -> Any:
    """Out = bias + screlu(before) times weights: addresses of float32 arrays, but for two sizes.

    before [inputs], which is overwritten by its activations; weights [inputs, outputs]; bias and
    out [outputs]. Both sizes are multiples of 16.
    """

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _, _, before, inputs, outputs, _ = arguments
        with cgutils.for_range(builder, builder.udiv(inputs, I64(LANES))) as loop:
            place = builder.add(before, builder.mul(loop.index, I64(BYTES)))
            store(builder, _activated(builder, load(builder, place, REALS, BYTES)), place, BYTES)
        with cgutils.for_range(builder, builder.udiv(outputs, I64(LANES))) as loop:
            _next_block(builder, arguments, builder.mul(loop.index, I64(BYTES)))
        return target.get_dummy_value()

    return types.none(*[types.int64] * 6), code


def _next_block(builder: Code, arguments: Any, offset: Code) -> None:
    """Compute 16 outputs; two sums take turns, so that neither waits for itself."""
    weights, bias, before, inputs, outputs, out = arguments
    slots = [cgutils.alloca_once(builder, REALS) for _ in range(2)]
    builder.store(load(builder, builder.add(bias, offset), REALS, BYTES), slots[0])
    builder.store(splat(REALS, 0.0), slots[1])
    stride = builder.mul(outputs, I64(4))
    with cgutils.for_range(builder, builder.udiv(inputs, I64(2))) as loop:
        for number, slot in enumerate(slots):
            index = builder.add(builder.mul(loop.index, I64(2)), I64(number))
            x = load(builder, builder.add(before, builder.mul(index, I64(4))), F32, 4)
            place = builder.add(builder.add(weights, offset), builder.mul(index, stride))
            row = load(builder, place, REALS, BYTES)
            total = call(
                builder,
                f"llvm.fmuladd.v{LANES}f32",
                REALS,
                spread(builder, x, LANES),
                row,
                builder.load(slot),
            )
            builder.store(total, slot)
    total = builder.fadd(builder.load(slots[0]), builder.load(slots[1]))
    store(builder, total, builder.add(out, offset), BYTES)


def _activated(builder: Code, x: Code) -> Code:
    bottom, top = splat(REALS, 0.0), splat(REALS, 1.0)
    clipped = builder.select(builder.fcmp_ordered(">", x, bottom), x, bottom)
    clipped = builder.select(builder.fcmp_ordered("<", clipped, top), clipped, top)
    return builder.fmul(clipped, clipped)

"""The layers of sparse networks: sums of rows, dot products of chosen rows, small float layers.

Memory is named by address, because a kernel reaches a network's arrays through a record. Widths are
filled up to multiples of COLUMNS, and every array starts on a multiple of 64 bytes. Numbers are of
three kinds:

    int16     int16 sums, activation (clip(a, 0, 255)**2 + 8) >> 4 as int16; int16 dot products
    int8      int16 sums, activation (clip(a, 0, 255)**2 + 256) >> 9 as uint8; uint8 x int8 products
    float32   float32 sums, activation clip(a, 0, 1)**2 as float32; float32 dot products
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kibitz.jit.compile import kernel
from kibitz.jit.vectors import (
    HOST,
    WIDTHS,
    add_products,
    converted,
    larger,
    load_lanes,
    load_rows,
    repeated,
    smaller,
    spread,
    store_lanes,
    sums_of_parts,
)

COLUMNS = 64
REGISTERS = 8  # that a block of a hidden layer fills
MOVES_TOGETHER, TAIL_TOGETHER = 4, 8  # dot products that run side by side
TAIL_LANES = 16


class Numbers(NamedTuple):
    """A kind of numbers: types of sums, activations, products and weights, and their rounding."""

    summed: Any
    activation: Any
    product: Any
    weight: Any
    rounding: int
    shift: int


INT16 = Numbers(np.int16, np.int16, np.int32, np.int16, 8, 4)
INT8 = Numbers(np.int16, np.uint8, np.int32, np.int8, 256, 9)
FLOAT32 = Numbers(np.float32, np.float32, np.float32, np.float32, 0, 0)


@kernel
def integer_activations(sums: Any, rounding: int, shift: int, activation: Any) -> Any:
    """Clip sums to [0, 255], square and round them."""
    clipped = converted(smaller(larger(sums, 0), 255), np.uint16)
    return converted((clipped * clipped + rounding) >> shift, activation)


@kernel
def float_activations(sums: Any) -> Any:
    """Clip sums to [0, 1] and square them."""
    clipped = smaller(larger(sums, 0.0), 1.0)
    return clipped * clipped


def hidden_layer(numbers: Numbers, processor: int = HOST) -> Callable[..., None]:
    """Make `layer(table, bias, rows, count, columns, out)`: activations of bias + sum of rows.

    All but the numbers `count` and `columns` are addresses: table [F, columns] and bias [columns]
    of the summed type, rows int32 [count], out [columns] of the activation's type.
    """
    summed, activation, _, _, rounding, shift = numbers
    size, out_size = (np.dtype(element).itemsize for element in (summed, activation))
    block = max(COLUMNS, REGISTERS * WIDTHS[processor] // size)

    @kernel
    def layer(table: int, bias: int, rows: int, count: int, columns: int, out: int) -> None:
        whole = columns - columns % block
        for start in range(0, whole, block):
            sums = load_lanes(bias + size * start, summed, block)
            for index in range(count):
                row = load_lanes(rows + 4 * index, np.int32, 1)
                sums += load_rows(table, row, size * columns, size * start, summed, block)
            place = out + out_size * start
            if rounding:
                store_lanes(place, integer_activations(sums, rounding, shift, activation))
            else:
                store_lanes(place, float_activations(sums))
        for start in range(whole, columns, COLUMNS):
            rest = load_lanes(bias + size * start, summed, COLUMNS)
            for index in range(count):
                row = load_lanes(rows + 4 * index, np.int32, 1)
                rest += load_rows(table, row, size * columns, size * start, summed, COLUMNS)
            place = out + out_size * start
            if rounding:
                store_lanes(place, integer_activations(rest, rounding, shift, activation))
            else:
                store_lanes(place, float_activations(rest))

    return layer


def dot_products(numbers: Numbers, together: int, processor: int = HOST) -> Callable[..., None]:
    """Make `dots(weights, hidden, columns, rows, count, out)`: one product for each chosen row.

    All but the numbers `columns` and `count` are addresses: weights [R, columns] and hidden
    [columns] of their types, rows int32 and out int32 or float32, both [count filled up to a
    multiple of `together`]; rows beyond `count` must exist.
    """
    _, activation, product, weight, _, _ = numbers
    size, hidden_size = (np.dtype(element).itemsize for element in (weight, activation))
    step = WIDTHS[processor] // size
    sums_together = together * WIDTHS[processor] // 4

    @kernel
    def dots(weights: int, hidden: int, columns: int, rows: int, count: int, out: int) -> None:
        for group in range(0, count, together):
            chosen = load_lanes(rows + 4 * group, np.int32, together)
            sums = spread(0, product, sums_together)
            for start in range(0, columns, step):
                lanes = load_lanes(hidden + hidden_size * start, activation, step)
                row = load_rows(weights, chosen, size * columns, size * start, weight, step)
                sums = add_products(sums, repeated(lanes, together), row, processor)
            store_lanes(out + 4 * group, sums_of_parts(sums, together))

    return dots


int16_layer, int8_layer, float32_layer = (
    hidden_layer(numbers) for numbers in (INT16, INT8, FLOAT32)
)
int16_move_dots, int8_move_dots, float32_move_dots = (
    dot_products(numbers, MOVES_TOGETHER) for numbers in (INT16, INT8, FLOAT32)
)
int16_tail_dots, float32_tail_dots = (
    dot_products(numbers, TAIL_TOGETHER) for numbers in (INT16, FLOAT32)
)


# --- the small layers behind the value layer, in float32 ------------------------------------------


@kernel
def scaled(sums: int, scale: int, bias: int, out: int) -> None:
    """Write sums * scale + bias, rounded twice; addresses of int32 and float32 [16]."""
    products = converted(load_lanes(sums, np.int32, TAIL_LANES), np.float32)
    products = products * load_lanes(scale, np.float32, TAIL_LANES)
    store_lanes(out, products + load_lanes(bias, np.float32, TAIL_LANES))


@kernel
def next_layer(weights: int, bias: int, before: int, inputs: int, outputs: int, out: int) -> None:
    """Write bias + activations(before) times weights; addresses of float32 arrays, and two sizes.

    before [inputs], which is overwritten by its activations; weights [inputs, outputs]; bias and
    out [outputs]. Both sizes are multiples of 16.
    """
    for start in range(0, 4 * inputs, 4 * TAIL_LANES):
        sums = load_lanes(before + start, np.float32, TAIL_LANES)
        store_lanes(before + start, float_activations(sums))
    for start in range(0, 4 * outputs, 4 * TAIL_LANES):
        # Two sums take turns, so that neither waits for itself.
        even = load_lanes(bias + start, np.float32, TAIL_LANES)
        odd = spread(0.0, np.float32, TAIL_LANES)
        for index in range(0, inputs, 2):
            place, row = before + 4 * index, weights + start + 4 * outputs * index
            first = repeated(load_lanes(place, np.float32, 1), TAIL_LANES)
            second = repeated(load_lanes(place + 4, np.float32, 1), TAIL_LANES)
            even = add_products(even, first, load_lanes(row, np.float32, TAIL_LANES), HOST)
            row += 4 * outputs
            odd = add_products(odd, second, load_lanes(row, np.float32, TAIL_LANES), HOST)
        store_lanes(out + start, even + odd)

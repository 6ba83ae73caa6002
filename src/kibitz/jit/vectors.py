"""Lanes: short rows of numbers that kernels keep in vector registers.

A kernel loads lanes from an address, computes with the operations below, `+ - * / & | << >>` and
comparisons, and stores them. A number that meets lanes takes their type. Without the compiler lanes
are NumPy arrays, and each operation is what its body says.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types

from kibitz.jit.compile import COMPILED
from kibitz.jit.lanes import I32, I64, Code, Lanes, Writer, common, operation
from kibitz.jit.target import has_feature

# What vector registers can do: nothing certain (SSE2, NEON), or what Intel's have learnt.
ANY, AVX2, AVX512, AVX512_VNNI = range(4)
WIDTHS = 16, 32, 64, 64  # bytes of a register
BYTE_PAIRS = {AVX2: "llvm.x86.avx2.pmadd.ub.sw", AVX512: "llvm.x86.avx512.pmaddubs.w.512"}
BYTE = 8  # bits
VNNI_CHANGED = 22  # before this version of LLVM it took vectors of 32-bit integers


def host_processor() -> int:
    """What the processor that is compiled for can do."""
    if COMPILED and has_feature("avx512bw"):
        return AVX512_VNNI if has_feature("avx512vnni") else AVX512
    return AVX2 if COMPILED and has_feature("avx2") else ANY


HOST = host_processor()


def number_of(literal: Any) -> int:
    """The number that an argument has in the source, or 0 as long as numba does not tell."""
    return literal.literal_value if isinstance(literal, types.IntegerLiteral) else 0


# --- memory ---------------------------------------------------------------------------------------


def seen_at(address: int, count: int, element: Any) -> np.ndarray:
    """The memory at an address as an array of `count` elements."""
    buffer: Any = (ctypes.c_char * (count * np.dtype(element).itemsize)).from_address(int(address))
    return np.frombuffer(buffer, dtype=np.dtype(element))


def _made(*arguments: Any) -> Lanes | None:
    *_, element, count = arguments
    return Lanes(element.instance_type, number_of(count)) if number_of(count) else None


def _address(writer: Writer, array: Code) -> Code:
    view = writer.target.make_array(writer.kinds[0])(writer.target, writer.builder, array)
    return writer.builder.ptrtoint(view.data, I64)


@operation(lambda array: types.int64 if array.layout == "C" else None, _address)
def address_in(array: np.ndarray) -> int:
    """The address of an array's first element, for kernels."""
    return int(array.ctypes.data)


@operation(_made, lambda writer, address, *_: writer.load(address, writer.result))
def load_lanes(address: int, element: Any, count: int) -> Any:
    """Read `count` elements that lie at an address."""
    return seen_at(address, count, element).copy()


def _store(writer: Writer, address: Code, lanes: Code) -> Code:
    kind = writer.kinds[1]
    pointer = writer.pointer(address, kind)
    writer.builder.store(lanes, pointer, align=kind.element.bitwidth // 8)
    return writer.target.get_dummy_value()


@operation(lambda *_: types.none, _store)
def store_lanes(address: int, lanes: Any) -> None:
    """Write lanes to an address."""
    seen_at(address, len(lanes), lanes.dtype)[:] = lanes


def _rows_kind(_: Any, rows: Any, *others: Any) -> Lanes | None:
    part = _made(*others)
    return part and Lanes(part.element, part.count * rows.count)


def _rows(writer: Writer, table: Code, rows: Code, stride: Code, offset: Code, *_: Code) -> Code:
    builder, parts = writer.builder, []
    part = Lanes(writer.result.element, writer.result.count // rows.type.count)
    for index in range(rows.type.count):
        row = builder.sext(builder.extract_element(rows, I32(index)), I64)
        start = builder.add(table, builder.mul(row, stride))
        parts.append(writer.load(builder.add(start, offset), part))
    return writer.join(parts)


@operation(_rows_kind, _rows)
def load_rows(table: int, rows: Any, stride: int, offset: int, element: Any, count: int) -> Any:
    """Read `count` elements of each of the rows of a table that int32 lanes name, end to end.

    Rows lie `stride` bytes apart; reading starts `offset` bytes after the start of a row.
    """
    places = [table + int(row) * stride + offset for row in rows]
    return np.concatenate([seen_at(place, count, element) for place in places])


# --- lanes from numbers and from other lanes ------------------------------------------------------


@operation(
    _made, lambda writer, number, *_: writer.as_lanes(number, writer.kinds[0], writer.result)
)
def spread(number: float, element: Any, count: int) -> Any:
    """One number in all lanes."""
    return np.full(count, number, element)


def _numbered(writer: Writer, *_: Code) -> Code:
    return ir.Constant(writer.target.get_value_type(writer.result), [*range(writer.result.count)])


@operation(_made, _numbered)
def numbered(element: Any, count: int) -> Any:
    """0, 1, 2, ..."""
    return np.arange(count, dtype=element)


def _converted(writer: Writer, lanes: Code, _: Code) -> Code:
    before, after, builder = writer.kinds[0].element, writer.result.element, writer.builder
    kind, signed = writer.target.get_value_type(writer.result), getattr(before, "signed", False)
    if isinstance(before, types.Float):
        return builder.fptosi(lanes, kind)
    if isinstance(after, types.Float):
        return (builder.sitofp if signed else builder.uitofp)(lanes, kind)
    if kind.element.width <= lanes.type.element.width:
        return lanes if kind == lanes.type else builder.trunc(lanes, kind)
    return (builder.sext if signed else builder.zext)(lanes, kind)


@operation(lambda lanes, element: Lanes(element.instance_type, lanes.count), _converted)
def converted(lanes: Any, element: Any) -> Any:
    """Integers as other integers or as floats, floats as signed integers, booleans as 0 and 1."""
    return lanes.astype(element)


def _bits_kind(lanes: Lanes, element: Any) -> Lanes:
    kind = element.instance_type
    return Lanes(kind, lanes.count * lanes.element.bitwidth // kind.bitwidth)


def _bits(writer: Writer, lanes: Code, _: Code) -> Code:
    return writer.builder.bitcast(lanes, writer.target.get_value_type(writer.result))


@operation(_bits_kind, _bits)
def bits_as(lanes: Any, element: Any) -> Any:
    """The same bits as numbers of another type."""
    return lanes.view(element)


def _choose(writer: Writer, mask: Code, *values: Code) -> Code:
    return writer.builder.select(mask, *writer.alike(*values))


@operation(lambda _, *kinds: common(*kinds), _choose)
def choose(mask: Any, first: Any, second: Any) -> Any:
    """Lanes of the first where the mask is true, else of the second."""
    lanes = first if isinstance(first, np.ndarray) else second
    return np.where(mask, first, second).astype(lanes.dtype)


def _picked(name: str) -> Any:
    return lambda writer, *values: writer.combine(
        name, writer.result.element, *writer.alike(*values)
    )


@operation(common, _picked("larger"))
def larger(first: Any, second: Any) -> Any:
    """The larger of each pair."""
    return np.maximum(first, second)


@operation(common, _picked("smaller"))
def smaller(first: Any, second: Any) -> Any:
    """The smaller of each pair."""
    return np.minimum(first, second)


def _root(writer: Writer, lanes: Code) -> Code:
    kind = writer.result
    return writer.call(f"llvm.sqrt.v{kind.count}f{kind.element.bitwidth}", lanes.type, lanes)


@operation(lambda lanes: lanes if isinstance(lanes.element, types.Float) else None, _root)
def square_root(lanes: Any) -> Any:
    """The square root of each lane of floats."""
    return np.sqrt(lanes)


def _every_kind(lanes: Lanes, first: Any, step: Any) -> Lanes | None:
    every_lane = range(lanes.count)
    picked = every_lane[number_of(first) :: number_of(step)] if number_of(step) else ()
    return Lanes(lanes.element, len(picked)) if picked else None


def _every(writer: Writer, lanes: Code, *_: Code) -> Code:
    first, step = map(number_of, writer.kinds[1:])
    return writer.take(lanes, range(first, lanes.type.count, step))


@operation(_every_kind, _every)
def every(lanes: Any, first: int, step: int) -> Any:
    """Every `step`-th lane from the `first` on."""
    return lanes[first::step]


def _interleaved(writer: Writer, first: Code, second: Code) -> Code:
    count = first.type.count
    return writer.take(first, [at // 2 + at % 2 * count for at in range(2 * count)], second)


@operation(lambda first, _: Lanes(first.element, 2 * first.count), _interleaved)
def interleaved(first: Any, second: Any) -> Any:
    """Lanes of the first and of the second in turns."""
    return np.stack((first, second), axis=1).ravel()


def _repeated_kind(lanes: Lanes, times: Any) -> Lanes | None:
    return Lanes(lanes.element, lanes.count * number_of(times)) if number_of(times) else None


def _repeated(writer: Writer, lanes: Code, _: Code) -> Code:
    return writer.take(lanes, [at % lanes.type.count for at in range(writer.result.count)])


@operation(_repeated_kind, _repeated)
def repeated(lanes: Any, times: int) -> Any:
    """The lanes several times, end to end."""
    return np.tile(lanes, times)


# --- across lanes ---------------------------------------------------------------------------------


def _across(name: str) -> Any:
    def code(writer: Writer, lanes: Code) -> Code:
        while lanes.type.count > 1:  # halves first
            halves = writer.split(lanes, lanes.type.count // 2)
            lanes = writer.combine(name, writer.result, *halves)
        return writer.builder.extract_element(lanes, I32(0))

    return code


@operation(lambda lanes: lanes.element, _across("larger"))
def largest(lanes: Any) -> Any:
    """The largest of all lanes."""
    return lanes.max()


@operation(lambda lanes: lanes.element, _across("smaller"))
def smallest(lanes: Any) -> Any:
    """The smallest of all lanes."""
    return lanes.min()


@operation(lambda lanes: lanes.element, _across("add"))
def sum_of(lanes: Any) -> Any:
    """The sum of all lanes."""
    return lanes.sum(dtype=lanes.dtype)


def _parts_kind(lanes: Lanes, parts: Any) -> Lanes | None:
    return Lanes(lanes.element, number_of(parts)) if number_of(parts) else None


def _parts(writer: Writer, lanes: Code, _: Code) -> Code:
    """Add halves of four neighbours, then of the two that are left, then of the rest of a part."""
    rest = lanes.type.count // writer.result.count // 4
    for group in (4, 2, *(rest >> step for step in range(rest.bit_length() - 1))):
        upper = [at for at in range(lanes.type.count) if at % group >= group // 2]
        halves = writer.take(lanes, [at - group // 2 for at in upper]), writer.take(lanes, upper)
        lanes = writer.combine("add", writer.result.element, *halves)
    return lanes


@operation(_parts_kind, _parts)
def sums_of_parts(lanes: Any, parts: int) -> Any:
    """The sums of so many equal parts, each of four lanes or more."""
    return lanes.reshape(parts, -1).sum(axis=1, dtype=lanes.dtype)


# --- dot products ---------------------------------------------------------------------------------


def _products(writer: Writer, sums: Code, first: Code, second: Code, _: Code) -> Code:
    kind, processor = writer.kinds[1].element, number_of(writer.kinds[3])
    if isinstance(kind, types.Float):
        name = f"llvm.fmuladd.v{sums.type.count}f{kind.bitwidth}"
        return writer.call(name, sums.type, first, second, sums)
    lanes, longer = WIDTHS[processor] // 4, first.type.count // sums.type.count
    pieces = zip(
        writer.split(sums, lanes),
        writer.split(first, longer * lanes),
        writer.split(second, longer * lanes),
        strict=True,
    )
    return writer.join([_in_register(writer, processor, *piece) for piece in pieces])


def _in_register(writer: Writer, processor: int, sums: Code, first: Code, second: Code) -> Code:
    """Products of int16, or of uint8 and int8, added to the sums of one register."""
    builder, in_bytes = writer.builder, writer.kinds[1].element.bitwidth == BYTE
    if processor == AVX512_VNNI:
        if llvm.llvm_version_info[0] < VNNI_CHANGED:
            first, second = (builder.bitcast(lanes, sums.type) for lanes in (first, second))
        name = "vpdpbusd" if in_bytes else "vpdpwssd"
        return writer.call(f"llvm.x86.avx512.{name}.512", sums.type, sums, first, second)
    extended = builder.zext if in_bytes else builder.sext
    if in_bytes and processor in BYTE_PAIRS:
        pairs = ir.VectorType(ir.IntType(16), first.type.count // 2)
        first = writer.call(BYTE_PAIRS[processor], pairs, first, second)
        second, extended = ir.Constant(pairs, [1] * pairs.count), builder.sext
    # The compiler finds the instruction for pairs of int16 by itself.
    wide = ir.VectorType(I32, first.type.count)
    products = builder.mul(extended(first, wide), builder.sext(second, wide))
    longer = wide.count // sums.type.count
    for start in range(longer):
        sums = builder.add(sums, writer.take(products, range(start, wide.count, longer)))
    return sums


@operation(
    lambda sums, *others: sums if isinstance(others[2], types.IntegerLiteral) else None, _products
)
def add_products(sums: Any, first: Any, second: Any, _processor: int) -> Any:
    """Sums with products added: of int16 in pairs, of uint8 and int8 in fours, of floats singly."""
    products = first.astype(sums.dtype) * second.astype(sums.dtype)
    return sums + products.reshape(len(sums), -1).sum(axis=1, dtype=sums.dtype)

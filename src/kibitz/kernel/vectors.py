"""Lanes: short rows of numbers that kernels keep in vector registers, with operators.

A kernel loads lanes from an address, computes with `+ - * / & | << >>` and comparisons, and stores
them. Numbers that meet lanes take their type. Without the compiler lanes are NumPy arrays, and each
operation is what its body says: it is also the oracle in tests. Lanes may be longer than a register:
the compiler splits them.
"""

from __future__ import annotations

import ctypes
import inspect
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models

from kibitz.kernel.compile import COMPILED

I32, I64 = ir.IntType(32), ir.IntType(64)
Code = Any  # llvmlite values and types
F = TypeVar("F", bound=Callable[..., Any])

# What vector registers can do: nothing certain (SSE2, NEON), or one of Intel's three.
ANY, AVX2, AVX512, AVX512_VNNI = PROCESSORS = range(4)
WIDTHS = 16, 32, 64, 64  # bytes of a register


def host_vectors() -> int:
    """What this processor can do."""
    features = llvm.get_host_cpu_features() if COMPILED else {}
    if features.get("avx512bw"):
        return AVX512_VNNI if features.get("avx512vnni") else AVX512
    return AVX2 if features.get("avx2") else ANY


HOST = host_vectors()


class Lanes(types.Type):
    """Numba's type of lanes; those of comparisons are booleans."""

    def __init__(self, element: Any, count: int) -> None:
        self.element, self.count = element, count
        super().__init__(name=f"lanes({element} x {count})")

    def of(self, element: Any) -> Lanes:
        """As many lanes of another type."""
        return Lanes(element, self.count)


@extending.register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Lanes) -> None:
        element = manager.lookup(kind.element).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.count))


def _declare(function: Any, result: Any, code: Any, *formal: Any) -> None:
    """Tell numba the type of a call's result, None where the arguments do not fit, and its code."""

    def typing(_context: Any) -> Any:
        def typer(*kinds: Any) -> Any:
            return result(*kinds)

        typer.pysig = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for name in inspect.signature(function).parameters
            ]
        )
        return typer

    def lower(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return code(_Writer(target, builder, signature), *arguments)

    extending.type_callable(function)(typing)
    extending.lower_builtin(function, *formal)(lower)


def _operation(result: Any, code: Any) -> Callable[[F], F]:
    """Decorate the plain form of an operation; kernels get LLVM code instead."""

    def declare(plain: F) -> F:
        if COMPILED:
            _declare(plain, result, code, *[types.Any] * len(inspect.signature(plain).parameters))
        return plain

    return declare


class _Writer:
    """Where code is written, and the types of the call it is written for."""

    def __init__(self, target: Any, builder: Any, signature: Any) -> None:
        self.target, self.builder = target, builder
        self.result, self.kinds = signature.return_type, signature.args

    def pointer(self, address: Code, kind: Lanes) -> Code:
        """Return an address as a pointer to lanes."""
        return self.builder.inttoptr(address, self.target.get_value_type(kind).as_pointer())

    def load(self, address: Code, kind: Lanes) -> Code:
        """Read lanes that start on a multiple of their element's size."""
        return self.builder.load(self.pointer(address, kind), align=kind.element.bitwidth // 8)

    def spread(self, number: Code, count: int) -> Code:
        """Put a number into all lanes."""
        empty = ir.Constant(ir.VectorType(number.type, 1), ir.Undefined)
        return self.take(self.builder.insert_element(empty, number, I32(0)), [0] * count)

    def constant(self, numbers: Any, element: Any) -> Code:
        """Lanes of known numbers."""
        kind = ir.VectorType(self.target.get_value_type(element), len(numbers))
        return ir.Constant(kind, [*numbers])

    def as_lanes(self, value: Code, given: Any, wanted: Lanes) -> Code:
        """Return lanes as they are, and a number in all lanes."""
        if isinstance(given, Lanes):
            return value
        number = self.target.cast(self.builder, value, given, wanted.element)
        return self.spread(number, wanted.count)

    def take(self, lanes: Code, places: Any, others: Code = None) -> Code:
        """Pick lanes of one vector, or of two laid end to end."""
        places = [*places]
        mask = ir.Constant(ir.VectorType(I32, len(places)), places)
        return self.builder.shuffle_vector(lanes, lanes if others is None else others, mask)

    def split(self, lanes: Code, count: int) -> list[Code]:
        """Cut lanes into pieces of `count`."""
        starts = range(0, lanes.type.count, count)
        return [self.take(lanes, range(start, start + count)) for start in starts]

    def join(self, pieces: list[Code]) -> Code:
        """Lay pieces of equal length, a power of two of them, end to end."""
        while len(pieces) > 1:
            both = range(2 * pieces[0].type.count)
            pieces = [
                self.take(first, both, second)
                for first, second in zip(pieces[::2], pieces[1::2], strict=True)
            ]
        return pieces[0]

    def combine(self, name: str, kind: Any, first: Code, second: Code) -> Code:
        """Apply an operator to lanes of a numba type."""
        if name in COMPARISONS:
            return self.compare(COMPARISONS[name], kind, first, second)
        integer, real = OPERATORS[name]
        if name == "rshift" and not kind.signed:
            integer = "lshr"
        return getattr(self.builder, real if isinstance(kind, types.Float) else integer)(
            first, second
        )

    def compare(self, sign: str, kind: Any, first: Code, second: Code) -> Code:
        """Compare lanes of a numba type."""
        if isinstance(kind, types.Float):
            return self.builder.fcmp_ordered(sign, first, second)
        signed = self.builder.icmp_signed if kind.signed else self.builder.icmp_unsigned
        return signed(sign, first, second)

    def pick(self, sign: str, kind: Any, first: Code, second: Code) -> Code:
        """The larger (">") or the smaller ("<") of each pair; of equals the second."""
        return self.builder.select(self.compare(sign, kind, first, second), first, second)

    def call(self, name: str, result: Code, *arguments: Code) -> Code:
        """Call one of LLVM's own functions."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, arguments)


# --- operators ------------------------------------------------------------------------------------

OPERATORS = {  # of integers, of floats
    "add": ("add", "fadd"),
    "sub": ("sub", "fsub"),
    "mul": ("mul", "fmul"),
    "truediv": ("", "fdiv"),
    "and_": ("and_", ""),
    "or_": ("or_", ""),
    "lshift": ("shl", ""),
    "rshift": ("ashr", ""),
}
COMPARISONS = {"lt": "<", "gt": ">", "eq": "==", "ne": "!="}


def _common(*kinds: Any) -> Any:
    """The type of lanes that some arguments have or take on."""
    found = {kind for kind in kinds if isinstance(kind, Lanes)}
    fitting = all(isinstance(kind, Lanes | types.Number | types.Boolean) for kind in kinds)
    return found.pop() if len(found) == 1 and fitting else None


def _declare_operator(name: str) -> None:
    def result(first: Any, second: Any) -> Any:
        kind = _common(first, second)
        return kind.of(types.boolean) if kind and name in COMPARISONS else kind

    def code(writer: _Writer, *values: Code) -> Code:
        kind = _common(*writer.kinds)
        lanes = (
            writer.as_lanes(value, given, kind)
            for value, given in zip(values, writer.kinds, strict=True)
        )
        return writer.combine(name, kind.element, *lanes)

    for function in (getattr(operator, name), getattr(operator, f"i{name.rstrip('_')}", None)):
        for formal in ((Lanes, Lanes), (Lanes, types.Number), (types.Number, Lanes)):
            if function:
                _declare(function, result, code, *formal)


if COMPILED:
    for _name in (*OPERATORS, *COMPARISONS):
        _declare_operator(_name)


# --- memory ---------------------------------------------------------------------------------------


def seen_at(address: int, count: int, element: Any) -> np.ndarray:
    """The memory at an address as an array of `count` elements."""
    buffer: Any = (ctypes.c_char * (count * np.dtype(element).itemsize)).from_address(int(address))
    return np.frombuffer(buffer, dtype=np.dtype(element))


def _kind(element: Any, count: Any) -> Lanes | None:
    known = isinstance(element, types.NumberClass) and isinstance(count, types.IntegerLiteral)
    return Lanes(element.instance_type, count.literal_value) if known else None


def _address_code(writer: _Writer, array: Code) -> Code:
    view = writer.target.make_array(writer.kinds[0])(writer.target, writer.builder, array)
    return writer.builder.ptrtoint(view.data, I64)


@_operation(lambda array: types.int64 if isinstance(array, types.Array) else None, _address_code)
def address_in(array: np.ndarray) -> int:
    """Return the address of an array's first element, inside a kernel."""
    return int(array.ctypes.data)


@_operation(
    lambda _, element, count: _kind(element, count),
    lambda writer, address, *_: writer.load(address, writer.result),
)
def load_lanes(address: int, element: Any, count: int) -> Any:
    """Read `count` elements that lie at an address."""
    return seen_at(address, count, element).copy()


def _store_code(writer: _Writer, address: Code, lanes: Code) -> Code:
    kind = writer.kinds[1]
    pointer = writer.pointer(address, kind)
    writer.builder.store(lanes, pointer, align=kind.element.bitwidth // 8)
    return writer.target.get_dummy_value()


@_operation(lambda _, lanes: types.none if isinstance(lanes, Lanes) else None, _store_code)
def store_lanes(address: int, lanes: Any) -> None:
    """Write lanes to an address."""
    seen_at(address, len(lanes), lanes.dtype)[:] = lanes


def _rows_kind(_: Any, rows: Any, _stride: Any, _offset: Any, element: Any, count: Any) -> Any:
    one = _kind(element, count)
    return Lanes(one.element, one.count * rows.count) if one else None


def _rows_code(
    writer: _Writer, table: Code, rows: Code, stride: Code, offset: Code, *_: Code
) -> Code:
    builder, number = writer.builder, rows.type.count
    part = Lanes(writer.result.element, writer.result.count // number)
    found = []
    for index in range(number):
        row = builder.sext(builder.extract_element(rows, I32(index)), I64)
        start = builder.add(table, builder.mul(row, stride))
        found.append(writer.load(builder.add(start, offset), part))
    return writer.join(found)


@_operation(_rows_kind, _rows_code)
def load_rows(table: int, rows: Any, stride: int, offset: int, element: Any, count: int) -> Any:
    """Read `count` elements from each of some rows of a table, end to end.

    A row starts `stride` bytes after the one before; reading starts at `offset` bytes.
    """
    places = [table + int(row) * stride + offset for row in rows]
    return np.concatenate([seen_at(place, count, element) for place in places])


# --- lanes from numbers and from other lanes ------------------------------------------------------


@_operation(
    lambda _, element, count: _kind(element, count),
    lambda writer, number, *_: writer.as_lanes(number, writer.kinds[0], writer.result),
)
def spread(number: float, element: Any, count: int) -> Any:
    """Put one number into all lanes."""
    return np.full(count, number, element)


@_operation(
    _kind,
    lambda writer, *_: writer.constant(range(writer.result.count), writer.result.element),
)
def numbered(element: Any, count: int) -> Any:
    """Lanes 0, 1, 2, ..."""
    return np.arange(count, dtype=element)


def _converted_code(writer: _Writer, lanes: Code, _: Code) -> Code:
    before, after, builder = writer.kinds[0].element, writer.result.element, writer.builder
    kind = writer.target.get_value_type(writer.result)
    if isinstance(before, types.Float):
        return builder.fptosi(lanes, kind)
    signed = getattr(before, "signed", False)
    if isinstance(after, types.Float):
        return (builder.sitofp if signed else builder.uitofp)(lanes, kind)
    if after.bitwidth <= getattr(before, "bitwidth", 1):
        return lanes if lanes.type == kind else builder.trunc(lanes, kind)
    return (builder.sext if signed else builder.zext)(lanes, kind)


@_operation(lambda lanes, element: lanes.of(element.instance_type), _converted_code)
def converted(lanes: Any, element: Any) -> Any:
    """Numbers as another type: integers among themselves and to and from floats."""
    return lanes.astype(element)


def _bits_kind(lanes: Lanes, element: Any) -> Lanes:
    wanted = element.instance_type
    return Lanes(wanted, lanes.count * lanes.element.bitwidth // wanted.bitwidth)


@_operation(
    _bits_kind,
    lambda writer, lanes, _: writer.builder.bitcast(
        lanes, writer.target.get_value_type(writer.result)
    ),
)
def bits_as(lanes: Any, element: Any) -> Any:
    """The same bits as numbers of another type."""
    return lanes.view(element)


def _choose_code(writer: _Writer, mask: Code, *values: Code) -> Code:
    first, second = (
        writer.as_lanes(value, given, writer.result)
        for value, given in zip(values, writer.kinds[1:], strict=True)
    )
    return writer.builder.select(mask, first, second)


@_operation(lambda _, first, second: _common(first, second), _choose_code)
def choose(mask: Any, first: Any, second: Any) -> Any:
    """Lanes of the first where the mask is true, else of the second."""
    lanes = first if isinstance(first, np.ndarray) else second
    return np.where(mask, first, second).astype(lanes.dtype)


def _picked(sign: str) -> Any:
    def code(writer: _Writer, *values: Code) -> Code:
        kind = writer.result
        first, second = (
            writer.as_lanes(value, given, kind)
            for value, given in zip(values, writer.kinds, strict=True)
        )
        return writer.pick(sign, kind.element, first, second)

    return code


@_operation(_common, _picked(">"))
def larger(first: Any, second: Any) -> Any:
    """The larger of each pair."""
    return np.maximum(first, second)


@_operation(_common, _picked("<"))
def smaller(first: Any, second: Any) -> Any:
    """The smaller of each pair."""
    return np.minimum(first, second)


def _every_kind(lanes: Lanes, first: Any, step: Any) -> Lanes | None:
    if not all(isinstance(number, types.IntegerLiteral) for number in (first, step)):
        return None
    return Lanes(lanes.element, len(range(lanes.count)[first.literal_value :: step.literal_value]))


def _every_code(writer: _Writer, lanes: Code, *_: Code) -> Code:
    first, step = (kind.literal_value for kind in writer.kinds[1:])
    return writer.take(lanes, range(lanes.type.count)[first::step])


@_operation(_every_kind, _every_code)
def every(lanes: Any, first: int, step: int) -> Any:
    """Every `step`-th lane from the `first` on."""
    return np.ascontiguousarray(lanes[first::step])


@_operation(
    lambda first, _: Lanes(first.element, 2 * first.count),
    lambda writer, first, second: writer.take(
        first,
        [place for one in range(first.type.count) for place in (one, one + first.type.count)],
        second,
    ),
)
def interleaved(first: Any, second: Any) -> Any:
    """Lanes of the first and of the second in turns."""
    return np.stack((first, second), axis=1).ravel()


@_operation(
    lambda lanes, times: (
        Lanes(lanes.element, lanes.count * times.literal_value)
        if isinstance(times, types.IntegerLiteral)
        else None
    ),
    lambda writer, lanes, _: writer.take(
        lanes, [*range(lanes.type.count)] * (writer.result.count // lanes.type.count)
    ),
)
def repeated(lanes: Any, times: int) -> Any:
    """The lanes several times, end to end."""
    return np.tile(lanes, times)


# --- across lanes ---------------------------------------------------------------------------------


def _across(combine: Callable[[_Writer, Any, Code, Code], Code]) -> Any:
    """Code that combines all lanes, halves first."""

    def code(writer: _Writer, lanes: Code) -> Code:
        while lanes.type.count > 1:
            low, high = writer.split(lanes, lanes.type.count // 2)
            lanes = combine(writer, writer.result, low, high)
        return writer.builder.extract_element(lanes, I32(0))

    return code


def _element(lanes: Any) -> Any:
    return lanes.element if isinstance(lanes, Lanes) else None


@_operation(_element, _across(lambda writer, *them: writer.pick(">", *them)))
def largest(lanes: Any) -> Any:
    """The largest of all lanes."""
    return lanes.max()


@_operation(_element, _across(lambda writer, *them: writer.pick("<", *them)))
def smallest(lanes: Any) -> Any:
    """The smallest of all lanes."""
    return lanes.min()


@_operation(_element, _across(lambda writer, *them: writer.combine("add", *them)))
def sum_of(lanes: Any) -> Any:
    """The sum of all lanes."""
    return lanes.sum(dtype=lanes.dtype)


def _any_code(writer: _Writer, mask: Code) -> Code:
    word = ir.IntType(mask.type.count)
    return writer.builder.icmp_unsigned("!=", writer.builder.bitcast(mask, word), word(0))


@_operation(lambda _: types.boolean, _any_code)
def any_of(mask: Any) -> bool:
    """Whether any lane is true."""
    return bool(mask.any())


def _parts_kind(lanes: Lanes, parts: Any) -> Lanes | None:
    literal = isinstance(parts, types.IntegerLiteral)
    return Lanes(lanes.element, parts.literal_value) if literal else None


def _parts_code(writer: _Writer, lanes: Code, _: Code) -> Code:
    """Add halves of four neighbours, then of the two that are left, then of the rest of a part."""
    rest = lanes.type.count // writer.result.count // 4
    groups = [4, 2, *(rest >> step for step in range(rest.bit_length() - 1))]
    for group in groups:
        low, high = (
            writer.take(
                lanes, [at for at in range(lanes.type.count) if at % group // (group // 2) == half]
            )
            for half in (0, 1)
        )
        lanes = writer.combine("add", writer.result.element, low, high)
    return lanes


@_operation(_parts_kind, _parts_code)
def sums_of_parts(lanes: Any, parts: int) -> Any:
    """The sums of so many equal parts; a part has four lanes or more."""
    return lanes.reshape(parts, -1).sum(axis=1, dtype=lanes.dtype)


# --- dot products ---------------------------------------------------------------------------------

BYTE = 8  # bits
CHANGED = 22  # before this version of LLVM, VNNI took vectors of 32-bit integers
BYTE_PAIRS = {AVX2: "llvm.x86.avx2.pmadd.ub.sw", AVX512: "llvm.x86.avx512.pmaddubs.w.512"}


def _products_code(
    writer: _Writer, sums: Code, first: Code, second: Code, _processor: Code
) -> Code:
    """Piece by piece, each as long as a register."""
    kind, processor = writer.kinds[1].element, writer.kinds[3].literal_value
    if isinstance(kind, types.Float):
        name = f"llvm.fmuladd.v{sums.type.count}f{kind.bitwidth}"
        return writer.call(name, sums.type, first, second, sums)
    lanes = WIDTHS[processor] // 4
    longer = first.type.count // sums.type.count
    pieces = zip(
        writer.split(sums, lanes),
        writer.split(first, longer * lanes),
        writer.split(second, longer * lanes),
        strict=True,
    )
    return writer.join([_in_register(writer, processor, *piece) for piece in pieces])


def _in_register(writer: _Writer, processor: int, sums: Code, first: Code, second: Code) -> Code:
    """Add products of int16, or of uint8 and int8, to the sums of one register."""
    builder, in_bytes = writer.builder, writer.kinds[1].element.bitwidth == BYTE
    if processor == AVX512_VNNI:
        if llvm.llvm_version_info[0] < CHANGED:
            first, second = (builder.bitcast(lanes, sums.type) for lanes in (first, second))
        name = "vpdpbusd" if in_bytes else "vpdpwssd"
        return writer.call(f"llvm.x86.avx512.{name}.512", sums.type, sums, first, second)
    signed = not in_bytes
    if in_bytes and processor in BYTE_PAIRS:
        pairs = ir.VectorType(ir.IntType(16), first.type.count // 2)
        first = writer.call(BYTE_PAIRS[processor], pairs, first, second)
        second, signed = ir.Constant(pairs, [1] * pairs.count), True
    # The compiler finds the instruction for pairs of int16 by itself.
    wide = ir.VectorType(I32, first.type.count)
    extended = (builder.sext if signed else builder.zext)(first, wide)
    products = builder.mul(extended, builder.sext(second, wide))
    longer = wide.count // sums.type.count
    for start in range(longer):
        sums = builder.add(sums, writer.take(products, range(start, wide.count, longer)))
    return sums


def _products_kind(sums: Any, first: Any, second: Any, processor: Any) -> Any:
    return sums if isinstance(processor, types.IntegerLiteral) else None


@_operation(_products_kind, _products_code)
def add_products(sums: Any, first: Any, second: Any, processor: int) -> Any:
    """Add products to sums: of int16 in pairs, of uint8 and int8 in fours, of floats one by one."""
    wide = first.astype(sums.dtype) * second.astype(sums.dtype)
    return sums + wide.reshape(len(sums), -1).sum(axis=1, dtype=sums.dtype)

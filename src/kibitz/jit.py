"""The one way kernels are compiled: `@kernel`, its disk cache, atomics and shared tables.

Every compiled room stands on this module. It decides, in one place, what the disk cache of
compiled kernels depends on: the source of a kernel's module and of every kibitz module that
module imports, the versions of numba and Python, and the debugging flags. (Numba itself looks
at a kernel's own file only, and would serve old code after an edit in another file.)

Environment: `KIBITZ_CACHE` moves the cache folder, `KIBITZ_BOUNDSCHECK=1` compiles bounds
checks in, `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kibitz import kernelcache

COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
BOUNDSCHECK = os.environ.get("KIBITZ_BOUNDSCHECK", "") not in ("", "0")
HAS_PEXT = COMPILED and bool(llvm.get_host_cpu_features().get("bmi2", False))

# A sum may be reordered into vector lanes, but infinities and NaN keep their meaning.
REASSOCIATE = frozenset({"reassoc", "contract", "nsz"})

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` on first call, cached on disk, without the GIL and without raising."""
    return _compiled(function, fastmath=False)


def sum_kernel(function: F) -> F:
    """Like `kernel`, for dot products: floating-point sums may be reassociated into vectors."""
    return _compiled(function, fastmath=set(REASSOCIATE))


def _compiled(function: F, fastmath: Any) -> F:
    if not COMPILED:
        return function
    dispatcher: Any = numba.njit(
        nogil=True, error_model="numpy", boundscheck=BOUNDSCHECK, fastmath=fastmath
    )(function)
    kernelcache.attach(dispatcher, function, flags=f"bounds={BOUNDSCHECK},fast={fastmath}")
    return dispatcher  # type: ignore[no-any-return]


def lowered(plain: F) -> Callable[[Callable[..., Any]], F]:
    """Decorate an LLVM code generator that replaces `plain` inside kernels.

    `plain` is the same operation in Python: it serves when the compiler is off, and it is the
    oracle in tests.
    """

    def choose(generator: Callable[..., Any]) -> F:
        return cast(F, intrinsic(prefer_literal=True)(generator)) if COMPILED else plain

    return choose


# --- tables shared by all kernels ------------------------------------------------------------

_tables: dict[str, np.ndarray] = {}


def static_table(name: str, table: np.ndarray) -> Callable[[int], Any]:
    """Give kernels read access to `table` (one-dimensional) as `reader(index)`.

    A global array would be frozen into every cached kernel, an argument would burden every
    signature. The address is bound by symbol name instead, when a kernel is loaded; the contents
    must not change afterwards.
    """
    _tables[name] = table
    llvm.add_symbol(f"kibitz_{name}", table.ctypes.data)
    numba_type = numba.from_dtype(table.dtype)

    def read(index: int) -> Any:
        return table[index]

    def generate(_context: Any, index: Any) -> Any:
        def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            llvm_type = target.get_data_type(numba_type)
            symbol = f"kibitz_{name}"
            base = builder.module.globals.get(symbol) or ir.GlobalVariable(
                builder.module, llvm_type, symbol
            )
            value = builder.load(builder.gep(base, [arguments[0]]))
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return value

        return numba_type(index), code

    return lowered(read)(generate)


# --- atomics: (array, index, field or None, value) ----------------------------------------------


def _address(target: Any, builder: Any, array_type: Any, array: Any, index: Any, field: Any) -> Any:
    """Pointer to array[index] or, for an array of records, to array[index].field."""
    view = target.make_array(array_type)(target, builder, array)
    item = cgutils.get_item_pointer(target, builder, array_type, view, [index])
    if isinstance(field, types.StringLiteral):
        name = field.literal_value
        item = cgutils.get_record_member(
            builder,
            item,
            array_type.dtype.offset(name),
            target.get_data_type(_member(array_type, field)),
        )
    return item


def _member(array_type: Any, field: Any) -> Any:
    if isinstance(field, types.StringLiteral):
        return array_type.dtype.typeof(field.literal_value)
    return array_type.dtype


def _plain_place(array: Any, field: str | None) -> Any:
    return array if field is None else array[field]


def _plain_add(array: Any, index: int, field: str | None, value: Any) -> Any:
    place = _plain_place(array, field)
    before = place[index]
    place[index] += value
    return before


@lowered(_plain_add)
def atomic_add(_context: Any, array: Any, _index: Any, field: Any, value: Any) -> Any:
    """Add `value` to array[index] (or its record field); returns what was there before."""
    member = _member(array, field)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = _address(target, builder, array, arguments[0], arguments[1], field)
        amount = target.cast(builder, arguments[3], value, member)
        operation = "fadd" if isinstance(member, types.Float) else "add"
        return builder.atomic_rmw(operation, place, amount, "monotonic")

    return member(array, types.intp, field, value), code


def _plain_swap(array: Any, index: int, field: str | None, expected: Any, value: Any) -> bool:
    place = _plain_place(array, field)
    if place[index] != expected:
        return False
    place[index] = value
    return True


@lowered(_plain_swap)
def compare_and_swap(
    _context: Any, array: Any, _index: Any, field: Any, expected: Any, value: Any
) -> Any:
    """Store `value` if the place still holds `expected`; returns whether it did."""
    member = _member(array, field)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = _address(target, builder, array, arguments[0], arguments[1], field)
        old = target.cast(builder, arguments[3], expected, member)
        new = target.cast(builder, arguments[4], value, member)
        outcome = builder.cmpxchg(place, old, new, "acq_rel", "acquire")
        return builder.extract_value(outcome, 1)

    return types.boolean(array, types.intp, field, expected, value), code


def _plain_load(array: Any, index: int, field: str | None) -> Any:
    return _plain_place(array, field)[index]


@lowered(_plain_load)
def atomic_load(_context: Any, array: Any, _index: Any, field: Any) -> Any:
    """Read a place that another thread may write; never hoisted out of a loop (acquire)."""
    member = _member(array, field)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = _address(target, builder, array, arguments[0], arguments[1], field)
        size = target.get_abi_sizeof(target.get_data_type(member))
        return builder.load_atomic(place, "acquire", size)

    return member(array, types.intp, field), code


def _plain_store(array: Any, index: int, field: str | None, value: Any) -> None:
    _plain_place(array, field)[index] = value


@lowered(_plain_store)
def atomic_store(_context: Any, array: Any, _index: Any, field: Any, value: Any) -> Any:
    """Write a place that another thread may read; earlier writes become visible first (release)."""
    member = _member(array, field)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = _address(target, builder, array, arguments[0], arguments[1], field)
        new = target.cast(builder, arguments[3], value, member)
        builder.store_atomic(new, place, "release", target.get_abi_sizeof(new.type))
        return target.get_dummy_value()

    return types.none(array, types.intp, field, value), code


def _plain_prefetch(_array: Any, _index: int) -> None:
    return None


@lowered(_plain_prefetch)
def prefetch(_context: Any, array: Any, _index: Any) -> Any:
    """Ask the processor to bring array[index] into its cache."""

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = _address(target, builder, array, arguments[0], arguments[1], None)
        pointer = builder.bitcast(place, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type] + [ir.IntType(32)] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer] + [ir.IntType(32)(n) for n in (0, 3, 1)])
        return target.get_dummy_value()

    return types.none(array, types.intp), code

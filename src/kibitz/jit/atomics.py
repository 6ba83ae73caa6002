"""Atomic operations, by which threads share memory.

A place is named by its owner and a key: a field of a record or an index of an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kibitz.jit.compile import intrinsic


def _member(owner: Any, key: Any) -> Any:
    """Numba type of the place."""
    return owner.typeof(key.literal_value) if isinstance(owner, types.Record) else owner.dtype


def _place(target: Any, builder: Any, owner: Any, key: Any, arguments: Any) -> Any:
    """Pointer to a record's field or an array's element."""
    if isinstance(owner, types.Record):
        kind = target.get_data_type(_member(owner, key))
        offset = owner.offset(key.literal_value)
        return cgutils.get_record_member(builder, arguments[0], offset, kind)
    view = target.make_array(owner)(target, builder, arguments[0])
    index = target.cast(builder, arguments[1], key, types.intp)
    return cgutils.get_item_pointer(target, builder, owner, view, [index])


def _plain_add(owner: Any, key: Any, amount: Any) -> Any:
    before = owner[key]
    owner[key] = before + np.array(amount).astype(before.dtype)
    return before


@intrinsic(_plain_add)
def atomic_add(_context: Any, owner: Any, key: Any, amount: Any) -> Any:
    """Add to an integer place; returns what was there before."""
    member = _member(owner, key)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        change = target.cast(builder, arguments[2], amount, member)
        place = _place(target, builder, owner, key, arguments)
        return builder.atomic_rmw("add", place, change, "monotonic")

    return member(owner, key, amount), code


def _plain_swap(owner: Any, key: Any, expected: Any, value: Any) -> bool:
    if owner[key] != expected:
        return False
    owner[key] = value
    return True


@intrinsic(_plain_swap)
def compare_and_swap(_context: Any, owner: Any, key: Any, expected: Any, value: Any) -> Any:
    """Store `value` if the place still holds `expected`; returns whether it did."""
    member = _member(owner, key)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = _place(target, builder, owner, key, arguments)
        old = target.cast(builder, arguments[2], expected, member)
        new = target.cast(builder, arguments[3], value, member)
        if isinstance(member, types.Float):  # the instruction compares bits
            bits = ir.IntType(member.bitwidth)
            place = builder.bitcast(place, bits.as_pointer())
            old, new = builder.bitcast(old, bits), builder.bitcast(new, bits)
        outcome = builder.cmpxchg(place, old, new, "acq_rel", "acquire")
        return builder.extract_value(outcome, 1)

    return types.boolean(owner, key, expected, value), code


def _plain_swap_words(owner: Any, first: Any, second: Any, after: Any, following: Any) -> bool:
    low, high = owner.dtype.names
    if owner[low] != first or owner[high] != second:
        return False
    owner[low], owner[high] = after, following
    return True


@intrinsic(_plain_swap_words)
def swap_words(
    _context: Any, owner: Any, first: Any, second: Any, after: Any, following: Any
) -> Any:
    """Replace both words of a record of 16 bytes if they are still `first` and `second`.

    One operation instead of one for each word. The record starts on a multiple of 16 bytes.
    """
    members = [owner.typeof(name) for name in owner.fields]

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, pair = ir.IntType(64), ir.IntType(128)
        operands = [
            builder.bitcast(target.cast(builder, argument, kind, member), word)
            for argument, kind, member in zip(
                arguments[1:], (first, second, after, following), members * 2, strict=True
            )
        ]
        low, high, new_low, new_high = (builder.zext(operand, pair) for operand in operands)
        old, new = (
            builder.or_(lower, builder.shl(upper, pair(64)))
            for lower, upper in ((low, high), (new_low, new_high))
        )
        place = builder.bitcast(arguments[0], pair.as_pointer())
        return builder.extract_value(builder.cmpxchg(place, old, new, "acq_rel", "acquire"), 1)

    return types.boolean(owner, first, second, after, following), code


def _plain_load(owner: Any, key: Any) -> Any:
    return owner[key]


@intrinsic(_plain_load)
def atomic_load(_context: Any, owner: Any, key: Any) -> Any:
    """Read a place that another thread may write; never hoisted out of a loop (acquire)."""
    member = _member(owner, key)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        size = target.get_abi_sizeof(target.get_data_type(member))
        place = _place(target, builder, owner, key, arguments)
        return builder.load_atomic(place, "acquire", size)

    return member(owner, key), code


def _plain_store(owner: Any, key: Any, value: Any) -> None:
    owner[key] = value


@intrinsic(_plain_store)
def atomic_store(_context: Any, owner: Any, key: Any, value: Any) -> Any:
    """Write a place that another thread may read; earlier writes become visible first (release)."""
    member = _member(owner, key)

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        new = target.cast(builder, arguments[2], value, member)
        place = _place(target, builder, owner, key, arguments)
        builder.store_atomic(new, place, "release", target.get_abi_sizeof(new.type))
        return target.get_dummy_value()

    return types.none(owner, key, value), code

"""Operations on 64-bit words that the processor has instructions for.

Bit numbers come back as int64, words as uint64; mixing the two in arithmetic is numba's classic
trap (uint64 - 1 is int64, whose >> is arithmetic), so every constant here is a named uint64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kibitz.jit.compile import intrinsic, kernel

I64 = ir.IntType(64)
ONE = np.uint64(1)


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    kind = ir.FunctionType(I64, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _plain_popcount(board: Any) -> int:
    return int(board).bit_count()


@intrinsic(_plain_popcount)
def popcount(_context: Any, _board: Any) -> Any:
    """Number of set bits."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.ctpop.i64", arguments[0])

    return types.int64(types.uint64), code


def _plain_lowest(board: Any) -> int:
    return (int(board) & -int(board)).bit_length() - 1


@intrinsic(_plain_lowest)
def lowest(_context: Any, _board: Any) -> Any:
    """Square of the lowest set bit; undefined for an empty board."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.cttz.i64", arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), code


def _plain_flip(board: Any) -> np.uint64:
    return np.uint64(int.from_bytes(int(board).to_bytes(8, "little"), "big"))


@intrinsic(_plain_flip)
def flip(_context: Any, _board: Any) -> Any:
    """Mirror a board vertically (rank 1 and rank 8 change places)."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.bswap.i64", arguments[0])

    return types.uint64(types.uint64), code


def _plain_extract(board: Any, mask: Any) -> np.uint64:
    packed, place, rest, source = 0, 0, int(mask), int(board)
    while rest:
        low = rest & -rest
        packed |= bool(source & low) << place
        place += 1
        rest ^= low
    return np.uint64(packed)


@intrinsic(_plain_extract)
def extract(_context: Any, _board: Any, _mask: Any) -> Any:
    """Bits of `board` under `mask`, packed to the low end (PEXT; only where the CPU has BMI2)."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.x86.bmi.pext.64", *arguments)

    return types.uint64(types.uint64, types.uint64), code


def _plain_deposit(packed: Any, mask: Any) -> np.uint64:
    board, place, rest, source = 0, 0, int(mask), int(packed)
    while rest:
        low = rest & -rest
        board |= low * (source >> place & 1)
        place += 1
        rest ^= low
    return np.uint64(board)


@intrinsic(_plain_deposit)
def deposit(_context: Any, _packed: Any, _mask: Any) -> Any:
    """The low bits of `packed`, laid out over the bits of `mask` (PDEP; only with BMI2)."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.x86.bmi.pdep.64", *arguments)

    return types.uint64(types.uint64, types.uint64), code


def _plain_signed(value: Any) -> int:
    return int(value)


@intrinsic(_plain_signed)
def signed(_context: Any, value: Any) -> Any:
    """Any integer as an int64: what squares, counts and loops are in."""

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return target.cast(builder, arguments[0], value, types.int64)

    return types.int64(value), code


@kernel
def bit(square: int) -> np.uint64:
    """The board with one square set."""
    return ONE << np.uint64(square)


@kernel
def without_lowest(board: np.uint64) -> np.uint64:
    """`board` less its lowest set bit."""
    return board & np.uint64(board - ONE)


# --- random words ---------------------------------------------------------------------------------
#
# Splitmix64: random words of a state that counts up, and numbers scattered as if at random.


INCREMENT = np.uint64(0x9E37_79B9_7F4A_7C15)  # 2^64 / golden ratio: what the state counts by
_FIRST, _SECOND = np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)


@kernel
def mixed(state: np.uint64) -> np.uint64:
    """The random word of a state; states that follow each other have words that are far apart."""
    word = np.uint64(state + INCREMENT)
    word = np.uint64((word ^ (word >> np.uint64(30))) * _FIRST)
    word = np.uint64((word ^ (word >> np.uint64(27))) * _SECOND)
    return word ^ (word >> np.uint64(31))

"""Operations on 64-bit boards that the processor has instructions for.

Squares come back as int64, boards as uint64; mixing the two in arithmetic is numba's classic trap
(uint64 - 1 is int64, whose >> is arithmetic), so every constant here is a named uint64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kibitz.kernel.compile import kernel, lowered
from kibitz.position.squares import (
    NOT_FILE_A,
    NOT_FILE_H,
    NOT_FILES_AB,
    NOT_FILES_GH,
    ONE,
)

I64 = ir.IntType(64)
TWO = np.uint64(2)
SIX = np.uint64(6)
SEVEN = np.uint64(7)
EIGHT = np.uint64(8)
NINE = np.uint64(9)
TEN = np.uint64(10)
FIFTEEN = np.uint64(15)
SEVENTEEN = np.uint64(17)


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    kind = ir.FunctionType(I64, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _plain_popcount(board: Any) -> int:
    return int(board).bit_count()


@lowered(_plain_popcount)
def popcount(_context: Any, _board: Any) -> Any:
    """Number of set bits."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.ctpop.i64", arguments[0])

    return types.int64(types.uint64), code


def _plain_lowest(board: Any) -> int:
    return (int(board) & -int(board)).bit_length() - 1


@lowered(_plain_lowest)
def lowest(_context: Any, _board: Any) -> Any:
    """Square of the lowest set bit; undefined for an empty board."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.cttz.i64", arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), code


def _plain_flip(board: Any) -> np.uint64:
    return np.uint64(int.from_bytes(int(board).to_bytes(8, "little"), "big"))


@lowered(_plain_flip)
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


@lowered(_plain_extract)
def extract(_context: Any, _board: Any, _mask: Any) -> Any:
    """Bits of `board` under `mask`, packed to the low end (PEXT; only where the CPU has BMI2)."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.x86.bmi.pext.64", *arguments)

    return types.uint64(types.uint64, types.uint64), code


def _plain_signed(value: Any) -> int:
    return int(value)


@lowered(_plain_signed)
def signed(_context: Any, value: Any) -> Any:
    """Any integer as an int64: what squares, counts and loops are in."""

    def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return target.cast(builder, arguments[0], value, types.int64)

    return types.int64(value), code


def _plain_float(bits: Any) -> np.float32:
    return np.int32(bits).view(np.float32)


@lowered(_plain_float)
def float_of_bits(_context: Any, _bits: Any) -> Any:
    """The float32 whose IEEE bits are an int32."""

    def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), code


@kernel
def bit(square: int) -> np.uint64:
    """The board with one square set."""
    return ONE << np.uint64(square)


@kernel
def without_lowest(board: np.uint64) -> np.uint64:
    """`board` less its lowest set bit."""
    return board & np.uint64(board - ONE)


@kernel
def mirror(board: np.uint64) -> np.uint64:
    """Mirror a board horizontally (the a-file and the h-file change places)."""
    ones, twos, fours = (
        np.uint64(0x5555_5555_5555_5555),
        np.uint64(0x3333_3333_3333_3333),
        np.uint64(0x0F0F_0F0F_0F0F_0F0F),
    )
    board = ((board >> ONE) & ones) | ((board & ones) << ONE)
    board = ((board >> TWO) & twos) | ((board & twos) << TWO)
    return ((board >> np.uint64(4)) & fours) | ((board & fours) << np.uint64(4))


@kernel
def pawn_attacks_up(pawns: np.uint64) -> np.uint64:
    """Squares attacked by pawns that move up the board."""
    return ((pawns & NOT_FILE_A) << SEVEN) | ((pawns & NOT_FILE_H) << NINE)


@kernel
def pawn_attacks_down(pawns: np.uint64) -> np.uint64:
    """Squares attacked by pawns that move down the board."""
    return ((pawns & NOT_FILE_H) >> SEVEN) | ((pawns & NOT_FILE_A) >> NINE)


@kernel
def knight_spread(knights: np.uint64) -> np.uint64:
    """Squares attacked by any of the knights."""
    one_left, one_right = knights & NOT_FILE_A, knights & NOT_FILE_H
    two_left, two_right = knights & NOT_FILES_AB, knights & NOT_FILES_GH
    up = (one_left << FIFTEEN) | (one_right << SEVENTEEN) | (two_left << SIX) | (two_right << TEN)
    down = (one_left >> SEVENTEEN) | (one_right >> FIFTEEN) | (two_left >> TEN) | (two_right >> SIX)
    return up | down


@kernel
def king_spread(kings: np.uint64) -> np.uint64:
    """Squares next to any of the kings."""
    row = kings | ((kings & NOT_FILE_A) >> ONE) | ((kings & NOT_FILE_H) << ONE)
    return (row | (row << EIGHT) | (row >> EIGHT)) & ~kings

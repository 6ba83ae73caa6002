"""What vector code for sparse networks is made of: processors, kinds of number, pieces of code.

    active features -> hidden layer (hidden.py) -> dot products (dots.py) -> tail (tail.py)

The operations work on memory and name places by address, because a kernel reaches a network's
arrays through a record. Rows are as long as `columns`, a multiple of 64, and every array starts on
a multiple of 64 bytes. There are three kinds of number:

    fine    int16 sums, activation (clip(a, 0, 255)**2 + 8) >> 4 as int16; int16 dot products
    coarse  int16 sums, activation (clip(a, 0, 255)**2 + 256) >> 9 as uint8; uint8 x int8 products
    real    float32 sums, activation clip(a, 0, 1)**2 as float32; float32 dot products

The generators write loops with vectors as wide as the processor's registers and name the
instructions that the compiler does not find by itself.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import cgutils

from kibitz.kernel.compile import COMPILED

I8, I16, I32, I64, F32 = (
    ir.IntType(8),
    ir.IntType(16),
    ir.IntType(32),
    ir.IntType(64),
    ir.FloatType(),
)
WIDEST = 64  # bytes of the widest registers
COLUMNS = 64  # widths are filled up to a multiple of this
Code = Any  # llvmlite values and types


class Vectors(NamedTuple):
    """What a processor's vector registers can do."""

    width: int  # bytes
    registers: int  # that a block of a sum may fill
    words: bool  # multiplies pairs of int16 and adds the products
    accumulates: bool  # the same for int16 pairs and int8 fours, added to a sum (VNNI)


AVX512 = Vectors(64, 16, True, False)
AVX512_VNNI = Vectors(64, 16, True, True)
AVX2 = Vectors(32, 8, True, False)
ANY = Vectors(16, 8, False, False)  # any processor: SSE2, NEON


def host_vectors() -> Vectors:
    """What this processor can do."""
    features = llvm.get_host_cpu_features() if COMPILED else {}
    if features.get("avx512bw"):
        return AVX512_VNNI if features.get("avx512vnni") else AVX512
    return AVX2 if features.get("avx2") else ANY


class Kind(NamedTuple):
    """A kind of number: element types of rows, activations and products, as NumPy names."""

    name: str
    summed: str
    activation: str
    product: str
    weight: str
    rounding: int
    shift: int


FINE = Kind("fine", "int16", "int16", "int32", "int16", 8, 4)
COARSE = Kind("coarse", "int16", "uint8", "int32", "int8", 256, 9)
REAL = Kind("real", "float32", "float32", "float32", "float32", 0, 0)
LLVM_TYPES = {"int8": I8, "uint8": I8, "int16": I16, "int32": I32, "float32": F32}


def seen_at(address: int, count: int, dtype: str) -> np.ndarray:
    """The memory at an address as an array, dtype [count]."""
    buffer: Any = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(int(address))
    return np.frombuffer(buffer, dtype=np.dtype(dtype))


# --- small pieces of code -------------------------------------------------------------------------


def load(builder: Code, address: Code, kind: Code, align: int) -> Code:
    """Read a value of an LLVM type from an address."""
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=align)


def store(builder: Code, value: Code, address: Code, align: int) -> None:
    """Write a value to an address."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=align)


def vector_of(element: Code, count: int) -> Code:
    """Return the LLVM type of a vector."""
    return ir.VectorType(element, count)


def splat(kind: Code, value: float) -> Code:
    """Return a constant vector with one value in all lanes."""
    return ir.Constant(kind, [value] * kind.count)


def call(builder: Code, name: str, result: Code, *arguments: Code) -> Code:
    """Call one of LLVM's own functions."""
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def add(builder: Code, first: Code, second: Code) -> Code:
    """Add vectors of integers or of floats."""
    real = first.type.element == F32
    return builder.fadd(first, second) if real else builder.add(first, second)


def row_offset(builder: Code, rows: Code, index: Code, stride: Code) -> Code:
    """Offset in bytes of the row that rows[index] (int32) names."""
    number = load(builder, builder.add(rows, builder.mul(index, I64(4))), I32, 4)
    return builder.mul(builder.sext(number, I64), stride)


def shuffle(builder: Code, first: Code, second: Code, places: Any) -> Code:
    """Pick lanes of two vectors laid end to end."""
    mask = [*places]
    return builder.shuffle_vector(first, second, ir.Constant(vector_of(I32, len(mask)), mask))


def spread(builder: Code, number: Code, lanes: int) -> Code:
    """Put one number, known when the code runs, into all lanes."""
    empty = ir.Constant(vector_of(number.type, lanes), ir.Undefined)
    one = builder.insert_element(empty, number, I32(0))
    return shuffle(builder, one, one, [0] * lanes)


HOST = host_vectors()

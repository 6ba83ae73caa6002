"""Vector code of every processor this machine can play, against the same in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

from kibitz.jit.records import aligned
from kibitz.jit.vectors import ANY, AVX2, AVX512, AVX512_VNNI
from kibitz.nets.evaluators import layers
from kibitz.nets.evaluators.layers import FLOAT32, INT8, INT16, Numbers, dot_products, hidden_layer

CAN = dict(llvm.get_host_cpu_features())
PROCESSORS = [
    pytest.param(processor, id=name, marks=pytest.mark.skipif(not usable, reason="not this CPU"))
    for name, processor, usable in (
        ("any", ANY, True),
        ("avx2", AVX2, CAN.get("avx2")),
        ("avx512", AVX512, CAN.get("avx512bw")),
        ("vnni", AVX512_VNNI, CAN.get("avx512vnni")),
    )
]
KINDS = [
    pytest.param(INT16, id="int16"),
    pytest.param(INT8, id="int8"),
    pytest.param(FLOAT32, id="float32"),
]
ROWS = 90


def compiled(operation: Any) -> Callable[..., None]:
    def run(a: int, b: int, c: int, d: int, e: int, f: int) -> None:
        operation(a, b, c, d, e, f)

    fast: Any = numba.njit(run)
    return fast  # type: ignore[no-any-return]


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def random_array(random: np.random.Generator, dtype: str, top: float, *shape: int) -> np.ndarray:
    array = aligned(shape, dtype)
    array[:] = random.uniform(-top, top, shape)
    return array


def activation(kind: Numbers, total: np.ndarray) -> Any:
    if kind is FLOAT32:
        return np.clip(total, 0, 1) ** 2
    square = np.clip(total, 0, 255).astype(np.int64) ** 2
    return (square + 8) // 16 if kind is INT16 else (square + 256) // 512


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("kind", KINDS)
def test_hidden_layer(kind: Numbers, processor: int) -> None:
    layer, random = compiled(hidden_layer(kind, processor)), np.random.default_rng(1)
    for columns in (64, 192, 512, 576, 1024):
        for count in (0, 1, 5, 32):
            top = 0.2 if kind is FLOAT32 else 506
            table = random_array(random, kind.summed, top, ROWS, columns)
            bias = random_array(random, kind.summed, top, columns)
            rows = random.integers(0, ROWS, count).astype(np.int32)
            out = aligned((columns,), kind.activation)
            addresses = [address(array) for array in (table, bias, rows)]
            layer(*addresses, count, columns, address(out))
            expected = activation(kind, bias + table[rows].sum(axis=0, dtype=np.float64))
            if kind is FLOAT32:
                assert np.allclose(out, expected, atol=1e-6)
            else:
                assert np.array_equal(out, expected)


@pytest.mark.parametrize("together", [4, 8])
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("kind", KINDS)
def test_dot_products(kind: Numbers, processor: int, together: int) -> None:
    dots, random = compiled(dot_products(kind, together, processor)), np.random.default_rng(2)
    for columns in (64, 128, 832):
        for count in (0, 1, 3, 8, 37):
            # The largest weights and activations there are, in some of the rows.
            top = {INT16: 500, INT8: 127, FLOAT32: 1}[kind]
            weights = random_array(random, kind.weight, top, ROWS, columns)
            weights[0], weights[1] = top, -top
            full = {INT16: 4064, INT8: 127, FLOAT32: 1}[kind]
            hidden = random_array(random, kind.activation, 0, columns)
            hidden[:] = random.uniform(0, full, columns) if count % 2 else full
            rows = np.zeros(count + together, dtype=np.int32)
            rows[:count] = random.integers(0, ROWS, count)
            out = np.zeros(count + together, dtype=kind.product)
            places = address(rows), count, address(out)
            dots(address(weights), address(hidden), columns, *places)
            expected = weights[rows[:count]].astype(np.float64) @ hidden.astype(np.float64)
            assert np.allclose(out[:count], expected, rtol=0, atol=1e-3 if kind is FLOAT32 else 0)


def test_tail_layers() -> None:
    random = np.random.default_rng(4)
    sums = aligned((16,), np.int32)
    sums[:] = random.integers(-(2**31), 2**31, 16)
    scale, bias, out = (random_array(random, "float32", 1e-3, 16) for _ in range(3))
    numba.njit(lambda a, b, c, d: layers.scaled(a, b, c, d))(
        *(address(array) for array in (sums, scale, bias, out))
    )
    assert np.array_equal(out, sums.astype(np.float32) * scale + bias)
    before = random_array(random, "float32", 2, 16)
    weights = random_array(random, "float32", 1, 16, 32)
    bias2, out2 = random_array(random, "float32", 1, 32), aligned((32,), np.float32)
    expected = np.clip(before, 0, 1) ** 2 @ weights + bias2
    places = [address(array) for array in (weights, bias2, before)]
    compiled(layers.next_layer)(*places, 16, 32, address(out2))
    assert np.allclose(out2, expected, atol=1e-6)

"""Compiled loops under the sparse network's training; features -> **gather and scatter** -> torch.

B positions, N active features in all, M legal moves in all. Flat arrays come with offsets
(B + 1,) int64: position b owns entries offsets[b] to offsets[b + 1]. Each kernel works on the
positions, or where it scatters on the columns, from `first` to `last`, so that threads share
nothing they write.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.jit import kernel, sum_kernel

Array = NDArray[Any]


@kernel
def sum_rows(
    indices: Array, offsets: Array, weight: Array, bias: Array, out: Array, first: int, last: int
) -> None:
    """out[b] = bias + sum of weight[f]: indices (N,) int32, weight (F, H), out (B, H) float32."""
    width = weight.shape[1]
    for b in range(first, last):
        for h in range(width):
            out[b, h] = bias[h]
        at, end = offsets[b], offsets[b + 1]
        # Four rows at a time: the running sum is read and written a quarter as often.
        while at + 4 <= end:
            f0, f1, f2, f3 = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            for h in range(width):
                out[b, h] += (weight[f0, h] + weight[f1, h]) + (weight[f2, h] + weight[f3, h])
            at += 4
        while at < end:
            f0 = indices[at]
            for h in range(width):
                out[b, h] += weight[f0, h]
            at += 1


@kernel
def scatter_rows(
    indices: Array, offsets: Array, gradient: Array, out: Array, first: int, last: int
) -> None:
    """out[f] += gradient[b] for each active f: gradient (B, H), out (F, H) float32, by columns."""
    for b in range(offsets.shape[0] - 1):
        for at in range(offsets[b], offsets[b + 1]):
            f = indices[at]
            for h in range(first, last):
                out[f, h] += gradient[b, h]


@sum_kernel
def dot_moves(
    hidden: Array,
    weight: Array,
    bias: Array,
    moves: Array,
    offsets: Array,
    out: Array,
    first: int,
    last: int,
) -> None:
    """out[i] = hidden[b] . weight[m] + bias[m], m = moves[i]: moves (M,) int32, hidden (B, D)."""
    for b in range(first, last):
        for at in range(offsets[b], offsets[b + 1]):
            m = moves[at]
            total = np.float32(0)
            for d in range(hidden.shape[1]):
                total += hidden[b, d] * weight[m, d]
            out[at] = total + bias[m]


@kernel
def pull_moves(
    gradient: Array, weight: Array, moves: Array, offsets: Array, out: Array, first: int, last: int
) -> None:
    """out[b] = sum of gradient[i] * weight[m]: gradient (M,), out (B, D) float32, zero before."""
    for b in range(first, last):
        for at in range(offsets[b], offsets[b + 1]):
            m, factor = moves[at], gradient[at]
            for d in range(weight.shape[1]):
                out[b, d] += factor * weight[m, d]


@kernel
def scatter_moves(
    gradient: Array, hidden: Array, moves: Array, offsets: Array, out: Array, first: int, last: int
) -> None:
    """out[m] += gradient[i] * hidden[b]: out (K, D) float32, zero before, by columns."""
    for b in range(offsets.shape[0] - 1):
        for at in range(offsets[b], offsets[b + 1]):
            m, factor = moves[at], gradient[at]
            for d in range(first, last):
                out[m, d] += factor * hidden[b, d]

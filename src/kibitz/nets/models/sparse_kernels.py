"""Compiled loops under the sparse network's training: gather and scatter.

B positions, N active features in all, M legal moves in all. Flat arrays come with offsets
(B + 1,) int64: position b owns entries offsets[b] to offsets[b + 1]. Each kernel works on the
positions, or where it scatters on the columns, from `first` to `last`, so that threads share
nothing they write.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.jit.compile import kernel, sum_kernel

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
def square_clipped(x: Array, out: Array, first: int, last: int) -> None:
    """Square what is clipped to 0..1: out = clip(x, 0, 1) ** 2, (B, H) float32; NaN stays NaN."""
    zero, one = np.float32(0), np.float32(1)
    for b in range(first, last):
        for h in range(x.shape[1]):
            clipped = zero if x[b, h] < zero else x[b, h]
            clipped = one if clipped > one else clipped
            out[b, h] = clipped * clipped


@kernel
def pull_clipped(x: Array, gradient: Array, out: Array, first: int, last: int) -> None:
    """Its gradient: out = gradient * 2 * x between 0 and 1, else 0; (B, H) float32 all three."""
    zero, one = np.float32(0), np.float32(1)
    for b in range(first, last):
        for h in range(x.shape[1]):
            slope = zero if (x[b, h] < zero) | (x[b, h] > one) else x[b, h] + x[b, h]
            out[b, h] = gradient[b, h] * slope


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
        row = out[b]
        at, end = offsets[b], offsets[b + 1]
        while at + 4 <= end:
            w0, w1 = weight[moves[at]], weight[moves[at + 1]]
            w2, w3 = weight[moves[at + 2]], weight[moves[at + 3]]
            g0, g1, g2, g3 = gradient[at], gradient[at + 1], gradient[at + 2], gradient[at + 3]
            for d in range(weight.shape[1]):
                row[d] += (g0 * w0[d] + g1 * w1[d]) + (g2 * w2[d] + g3 * w3[d])
            at += 4
        while at < end:
            w0, g0 = weight[moves[at]], gradient[at]
            for d in range(weight.shape[1]):
                row[d] += g0 * w0[d]
            at += 1


@kernel
def scatter(
    entries: Array, offsets: Array, factors: Array, source: Array, out: Array, first: int, last: int
) -> None:
    """out[e] += factors[i] * source[b] for every entry e = entries[i] of every position b.

    entries (N,) int32 rows of out, factors (N,) float32, source (B, W) and out (R, W) float32; only
    columns `first` to `last` of out are written.
    """
    # One-dimensional slices, because a loop over columns that might start below 0 is not turned
    # into vectors; with them it is four times as fast.
    for b in range(offsets.shape[0] - 1):
        given = source[b, first:last]
        for at in range(offsets[b], offsets[b + 1]):
            row, factor = out[entries[at], first:last], factors[at]
            for d in range(row.shape[0]):
                row[d] += factor * given[d]

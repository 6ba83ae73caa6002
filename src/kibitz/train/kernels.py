"""Compiled loops of training: the policy's cross-entropy, and inversions for rank correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.jit.compile import kernel

Array = NDArray[Any]


@kernel
def cross_entropies(
    logits: Array, targets: Array, offsets: Array, losses: Array, gradient: Array
) -> None:
    """losses[b] = -sum of target * log softmax(logits) over row b, and its gradient.

    logits, targets, gradient (M,) float32, losses (B,) float32. A row without moves costs nothing.
    """
    for b in range(offsets.shape[0] - 1):
        first, last = offsets[b], offsets[b + 1]
        losses[b] = 0.0
        if first == last:
            continue
        peak = np.float32(-np.inf)
        for i in range(first, last):
            peak = max(peak, logits[i])
        total = mass = dot = 0.0
        for i in range(first, last):
            shifted = logits[i] - peak
            gradient[i] = math.exp(shifted)
            total += gradient[i]
            mass += targets[i]
            dot += targets[i] * shifted
        losses[b] = mass * math.log(total) - dot
        scale = np.float32(mass / total)
        for i in range(first, last):
            gradient[i] = gradient[i] * scale - targets[i]


@kernel
def scale_rows(values: Array, offsets: Array, factors: Array, out: Array) -> None:
    """out[i] = values[i] * factors[b] for every entry i of row b; factors (B,) float32."""
    for b in range(offsets.shape[0] - 1):
        factor = factors[b]
        for i in range(offsets[b], offsets[b + 1]):
            out[i] = values[i] * factor


@kernel
def exchanges(
    ranks: np.ndarray, weights: np.ndarray, counts: np.ndarray, sums: np.ndarray
) -> float:
    """Return the sum of w[i] + w[j] over all pairs i < j with ranks[i] > ranks[j].

    ranks (n,) int64 from 0 to m - 1, weights (n,) float64; counts (m + 1,) int64 and sums (m + 1,)
    float64 are zero: two trees of partial sums over the ranks seen so far (Fenwick's).
    """
    size = counts.shape[0] - 1
    swaps, seen, total = 0.0, 0, 0.0
    for i in range(ranks.shape[0]):
        # What was seen with at most this rank; the rest was seen too early.
        count, weight, at = 0, 0.0, ranks[i] + 1
        while at > 0:
            count += counts[at]
            weight += sums[at]
            at &= at - 1
        swaps += (total - weight) + (seen - count) * weights[i]
        seen, total, at = seen + 1, total + weights[i], ranks[i] + 1
        while at <= size:
            counts[at] += 1
            sums[at] += weights[i]
            at += at & -at
    return swaps

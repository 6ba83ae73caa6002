"""The compiled loop under rank correlations; sorted ranks -> **pairs out of order** -> metrics."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from kibitz.kernel.compile import kernel

Array = NDArray[Any]


@kernel
def exchanges(ranks: Array, weights: Array, counts: Array, sums: Array) -> float:
    """Return the sum of w[i] + w[j] over all pairs i < j with ranks[i] > ranks[j].

    ranks (n,) int64 from 0 to m - 1, weights (n,) float64; counts (m + 1,) int64 and sums (m + 1,)
    float64 are zero: two trees of partial sums over the ranks seen so far (Fenwick's).
    """
    size = counts.shape[0] - 1
    found, seen, total = 0.0, 0, 0.0
    for i in range(ranks.shape[0]):
        # What was seen with at most this rank; the rest was seen too early.
        count, weight, at = 0, 0.0, ranks[i] + 1
        while at > 0:
            count += counts[at]
            weight += sums[at]
            at &= at - 1
        found += (total - weight) + (seen - count) * weights[i]
        seen, total, at = seen + 1, total + weights[i], ranks[i] + 1
        while at <= size:
            counts[at] += 1
            sums[at] += weights[i]
            at += at & -at
    return found

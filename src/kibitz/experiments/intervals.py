"""Intervals for what experiments count: shares solved, and geometric means of nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Z95 = 1.959963984540054  # standard normal quantile of 97.5 %
RESAMPLES = 2_000


def share_interval(hits: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    share, square = hits / trials, Z95 * Z95
    centre = share + square / (2 * trials)
    spread = Z95 * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    scale = 1 + square / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def geometric_mean(values: Sequence[float], seed: int = 0) -> tuple[float, float, float]:
    """Geometric mean with its 95 % bootstrap interval; NaN without values."""
    if not values:
        return math.nan, math.nan, math.nan
    logs = np.log(np.asarray(values, dtype=float))
    picks = np.random.default_rng(seed).integers(0, len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.quantile(logs[picks].mean(axis=1), [0.025, 0.975])
    return math.exp(logs.mean()), math.exp(low), math.exp(high)

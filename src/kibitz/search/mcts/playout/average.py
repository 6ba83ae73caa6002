"""The moving average that a value is: how much a sample counts."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel


@kernel
def step_size(behaviour: np.record, weight: int) -> float:
    """1 / step of the moving average at its `weight`-th sample; a plain mean if build is 1."""
    return min(max(behaviour.build * weight, 1.0), behaviour.cap)

"""The integer form of a sparse network evaluated slowly: the oracle for compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.nets.models.make import QA, QuantisedSparse

Float = NDArray[np.float32]


def int16_activation(accumulator: NDArray[Any]) -> NDArray[np.int32]:
    """Compute s = (clip(a, 0, 255) ** 2 + 8) >> 4, any shape."""
    clipped = np.clip(accumulator.astype(np.int32), 0, QA)
    return (clipped * clipped + 8) >> 4


def int8_activation(accumulator: NDArray[Any]) -> NDArray[np.int32]:
    """Compute h = (clip(a, 0, 255) ** 2 + 256) >> 9, any shape."""
    clipped = np.clip(accumulator.astype(np.int32), 0, QA)
    return (clipped * clipped + 256) >> 9


def exact_wdl(network: QuantisedSparse, features: NDArray[Any]) -> Float:
    """Win, draw, loss logits (3,) of one position, features (P, n) per perspective."""
    direct = network.tail2_weight.size == 0
    tails = len(network.tail1_bias) // (3 if direct else 16)
    bucket = (features.shape[1] - 1) // (32 // tails)
    w = {
        name: np.split(array, tails)[bucket]
        for name, array in network._asdict().items()
        if name.startswith("tail")
    }
    accumulators = network.value_bias + network.value_features[features].sum(axis=1, dtype=np.int64)
    sums = w["tail1_weight"].astype(np.int64) @ int16_activation(accumulators).ravel()
    x = sums.astype(np.float32) * w["tail1_scale"] + w["tail1_bias"]
    if direct:
        return np.asarray(x)
    x = w["tail2_weight"] @ _screlu(x) + w["tail2_bias"]
    value: Float = w["tail3_weight"] @ _screlu(x) + w["tail3_bias"]
    return value


def exact_policy(network: QuantisedSparse, features: NDArray[Any], moves: NDArray[Any]) -> Float:
    """Logits (m,) of one position's moves (m,), features (n,) of the side to move's view."""
    accumulator = network.policy_bias + network.policy_features[features].sum(0, dtype=np.int64)
    int8 = network.move_weight.dtype == np.int8
    hidden = int8_activation(accumulator) if int8 else int16_activation(accumulator)
    sums = network.move_weight[moves].astype(np.int64) @ hidden
    logits: Float = sums.astype(np.float32) * network.move_scale[moves] + network.move_bias[moves]
    return logits


def _screlu(x: Float) -> Float:
    clipped: Float = np.clip(x, np.float32(0), np.float32(1)) ** 2
    return clipped

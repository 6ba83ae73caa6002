"""From float weights of a sparse network to the integers it plays with.

NumPy only. F features, H value width, P perspectives (1 or 2), D policy width, K moves of the
policy table, T outputs of the first tail layer (3 when the tail is direct, else 16). A network
with buckets has 8 tails, one after the other in each array; with n pieces tail (n - 1) // 4 counts.

Float network. x = bias + sum of the rows of the active features; screlu(x) = clip(x, 0, 1) ** 2.
    value   u = screlu(x) of each perspective side by side, side to move first; then
            logits = W u + b, or W3 screlu(W2 screlu(W u + b) + b2) + b3
    policy  h = screlu(y) of the side to move's perspective; logit[m] = E[m] . h + e[m]

Integer network, step by step (all divisions are right shifts of non-negative numbers):
    a = value_bias + sum value_features[f]         int16, per perspective and column
    c = clip(a, 0, 255)
    s = (c * c + 8) >> 4                           0..4064; c * c + 8 fits in uint16
    t[o] = sum over the P * H columns of s * tail1_weight[o]                         int32
    x[o] = float32(t[o]) * tail1_scale[o] + tail1_bias[o]                            float32
    logits = x when the tail is direct, else float32 layers 2 and 3 as above

    a = policy_bias + sum policy_features[f]       int16, side to move's perspective
    c = clip(a, 0, 255)
    h = (c * c + 256) >> 9   for int8              0..127: u8 * s8 pairs never saturate in AVX2
    h = (c * c + 8) >> 4     for int16             0..4064
    logit[m] = float32(sum of h * move_weight[m]) * move_scale[m] + move_bias[m]     sum in int32

No overflow, for up to 32 active features:
    Feature rows and biases are clipped to +-LIMIT = 127/64, in integers +-506, so |a| <= 33 * 506 =
    16 698 < 2 ** 15. Training must keep them there (`SparseNetwork.clip_weights`).
    Tail and int16 move rows are scaled so that each row's largest weight is at most
    (2 ** 31 - 1) // (4064 * columns) (and at most 32 767), therefore any sum fits in int32.
    int8 move rows reach at most 127: 127 * 127 * D fits for any D below 133 000.
Each row has its own scale, so neither tail nor move rows need clipping in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import InputError

QA = 255  # integer for 1.0 in the accumulators
LIMIT = 127 / 64  # largest magnitude of a feature weight
# Of activations: how far a squared sum is shifted right, and the largest there is.
SHIFT = {"int16": 4, "int8": 9}
TOP = {"int16": 4064, "int8": 127}

Float = NDArray[np.float32]
PolicyPrecision = Literal["int8", "int16"]


class QuantisedSparse(NamedTuple):
    """The integer network; `_asdict()` is what a quantised network file stores."""

    value_features: NDArray[np.int16]  # (F, H)
    value_bias: NDArray[np.int16]  # (H,)
    policy_features: NDArray[np.int16]  # (F, D)
    policy_bias: NDArray[np.int16]  # (D,)
    tail1_weight: NDArray[np.int16]  # (T, P * H)
    tail1_scale: Float  # (T,)
    tail1_bias: Float  # (T,)
    tail2_weight: Float  # (32, 16), or (0, 0) when the tail is direct
    tail2_bias: Float  # (32,), or (0,)
    tail3_weight: Float  # (3, 32), or (0, 0)
    tail3_bias: Float  # (3,), or (0,)
    move_weight: NDArray[np.int8] | NDArray[np.int16]  # (K, D)
    move_scale: Float  # (K,)
    move_bias: Float  # (K,)


class Quantisation(NamedTuple):
    """A quantised network and what was lost on the way."""

    network: QuantisedSparse
    clipped: int  # feature weights and biases beyond LIMIT
    largest_clip: float  # how far the worst of them was beyond


def quantise(weights: Mapping[str, Any], policy: PolicyPrecision = "int8") -> Quantisation:
    """Quantise the state of a `SparseNetwork` (float arrays under their state names)."""
    float32 = {name: np.asarray(array, np.float32) for name, array in weights.items()}
    try:
        network = _network(float32, policy)
    except KeyError as missing:
        raise InputError(
            "not the weights of a sparse network, missing", value=missing.args[0]
        ) from None
    kept = [array for name, array in float32.items() if name.split(".")[0].endswith("_features")]
    over = np.concatenate([np.abs(array).ravel() for array in kept]) - LIMIT
    # One float32 rounding above the limit is the limit.
    return Quantisation(network, int((over > 1e-6).sum()), float(max(over.max(), 0.0)))


def _network(weights: dict[str, Float], policy: PolicyPrecision) -> QuantisedSparse:
    tail1_weight, tail1_scale = _rows(weights["tail1.weight"], "int16")
    move_weight, move_scale = _rows(weights["move_weight"], policy)
    none, empty = np.zeros((0, 0), np.float32), np.zeros(0, np.float32)
    return QuantisedSparse(
        value_features=_features(weights["value_features.weight"]),
        value_bias=_features(weights["value_features.bias"]),
        policy_features=_features(weights["policy_features.weight"]),
        policy_bias=_features(weights["policy_features.bias"]),
        tail1_weight=tail1_weight,
        tail1_scale=tail1_scale,
        tail1_bias=weights["tail1.bias"],
        tail2_weight=weights.get("tail2.weight", none),
        tail2_bias=weights.get("tail2.bias", empty),
        tail3_weight=weights.get("tail3.weight", none),
        tail3_bias=weights.get("tail3.bias", empty),
        move_weight=move_weight,
        move_scale=move_scale,
        move_bias=weights["move_bias"],
    )


def from_arrays(arrays: Mapping[str, Any]) -> QuantisedSparse:
    """Return the integer network of a quantised network file."""
    missing = [name for name in QuantisedSparse._fields if name not in arrays]
    if missing:
        raise InputError("not a quantised sparse network, missing", value=missing[0])
    return QuantisedSparse(*(arrays[name] for name in QuantisedSparse._fields))


def _features(weights: Float) -> NDArray[np.int16]:
    return np.rint(QA * np.clip(weights, -LIMIT, LIMIT)).astype(np.int16)


def _rows(weights: Float, precision: PolicyPrecision) -> tuple[NDArray[Any], Float]:
    """Return integer rows (O, I), each with its maximum as large as fits, and their scales (O,)."""
    columns = weights.shape[1]
    largest = 127 if precision == "int8" else min(32_767, (2**31 - 1) // (TOP["int16"] * columns))
    step = np.maximum(np.abs(weights).max(axis=1).astype(np.float64), 1e-12) / largest
    rows = np.rint(weights / step[:, None]).astype(precision)
    return rows, (step * 2 ** SHIFT[precision] / QA**2).astype(np.float32)

"""From float weights of a sparse network to integers; training -> **quantise** -> compiled kernels.

NumPy only. F features, H value width, P perspectives (1 or 2), D policy width, K moves of the
policy table, T outputs of the first tail layer (3 when the tail is direct, else 16).

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

from kibitz.errors import InputError

QA = 255  # integer for 1.0 in the accumulators
LIMIT = 127 / 64  # largest magnitude of a feature weight
FINE_SHIFT, FINE_TOP = 4, 4064
COARSE_SHIFT, COARSE_TOP = 9, 127

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
    rows = _coarse_rows if policy == "int8" else _fine_rows
    tail1_weight, tail1_scale = _fine_rows(weights["tail1.weight"])
    move_weight, move_scale = rows(weights["move_weight"])
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


def _scaled_rows(weights: Float, largest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each row rounded with its maximum at `largest`, and the value of one step."""
    step = np.maximum(np.abs(weights).max(axis=1).astype(np.float64), 1e-12) / largest
    return np.rint(weights / step[:, None]), step


def _fine_rows(weights: Float) -> tuple[NDArray[np.int16], Float]:
    """Rows (O, I) for activations 0..4064: int16 weights (O, I), scales (O,)."""
    largest = min(32_767, (2**31 - 1) // (FINE_TOP * weights.shape[1]))
    rows, step = _scaled_rows(weights, largest)
    return rows.astype(np.int16), (step * 2**FINE_SHIFT / QA**2).astype(np.float32)


def _coarse_rows(weights: Float) -> tuple[NDArray[np.int8], Float]:
    """Rows (O, I) for activations 0..127: int8 weights (O, I), scales (O,)."""
    rows, step = _scaled_rows(weights, 127)
    return rows.astype(np.int8), (step * 2**COARSE_SHIFT / QA**2).astype(np.float32)


# --- the integer network evaluated slowly: the oracle for compiled kernels -----------------------


def fine_activation(accumulator: NDArray[Any]) -> NDArray[np.int32]:
    """Compute s = (clip(a, 0, 255) ** 2 + 8) >> 4, any shape."""
    clipped = np.clip(accumulator.astype(np.int32), 0, QA)
    return (clipped * clipped + 8) >> FINE_SHIFT


def coarse_activation(accumulator: NDArray[Any]) -> NDArray[np.int32]:
    """Compute h = (clip(a, 0, 255) ** 2 + 256) >> 9, any shape."""
    clipped = np.clip(accumulator.astype(np.int32), 0, QA)
    return (clipped * clipped + 256) >> COARSE_SHIFT


def exact_wdl(network: QuantisedSparse, features: NDArray[Any]) -> Float:
    """Win, draw, loss logits (3,) of one position, features (P, n) per perspective."""
    accumulators = network.value_bias + network.value_features[features].sum(axis=1, dtype=np.int64)
    sums = network.tail1_weight.astype(np.int64) @ fine_activation(accumulators).ravel()
    x = sums.astype(np.float32) * network.tail1_scale + network.tail1_bias
    if network.tail2_weight.size == 0:
        return x
    x = network.tail2_weight @ _screlu(x) + network.tail2_bias
    return network.tail3_weight @ _screlu(x) + network.tail3_bias


def exact_policy(network: QuantisedSparse, features: NDArray[Any], moves: NDArray[Any]) -> Float:
    """Logits (m,) of one position's moves (m,), features (n,) of the side to move's view."""
    accumulator = network.policy_bias + network.policy_features[features].sum(0, dtype=np.int64)
    coarse = network.move_weight.dtype == np.int8
    hidden = coarse_activation(accumulator) if coarse else fine_activation(accumulator)
    sums = network.move_weight[moves].astype(np.int64) @ hidden
    logits: Float = sums.astype(np.float32) * network.move_scale[moves] + network.move_bias[moves]
    return logits


def _screlu(x: Float) -> Float:
    clipped: Float = np.clip(x, np.float32(0), np.float32(1)) ** 2
    return clipped

"""Network files from nothing and from one another.

torch and onnx are imported only by what needs them: new convolutional networks and exports.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import InputError, missing_extra
from kibitz.nets import files as network_files
from kibitz.nets.card import NetworkCard, Provenance
from kibitz.nets.encodings.leaves import Leaves, part_of
from kibitz.nets.encodings.planes import encode, layout_of
from kibitz.nets.models.sizes import (
    FAMILIES,
    buckets_of,
    check_card,
    check_sparse_arrays,
    inputs_of,
    new_card,
    parse,
    policy_rows,
)

OPTIONS = FAMILIES["sparse"].options
POLICY = ("policy_", "move_")  # how the names of a sparse network's policy begin
Weights = dict[str, Any]  # arrays by name
CALIBRATION = 512  # positions that fix the ranges of an int8 network

# Of random sparse networks.
TAIL, WDL = (16, 32), 3
FEATURE_DEVIATION, BIAS_DEVIATION, FEATURE_BIAS = 0.08, 0.1, 0.25
TAIL_GAIN = 2.0  # so that values differ from position to position


def create(size: str, location: Path, name: str = "", seed: int = 0) -> NetworkCard:
    """Write a network with random weights."""
    card = new_card(size, name)
    if card.family != "sparse":
        build = _torch_networks()
        build.torch.manual_seed(seed)
        saved: NetworkCard = build.save_network(location, build.build(card), card)
        return saved
    weights = random_weights(card, seed)
    parameters = sum(array.size for array in weights.values())
    return network_files.save(
        location, weights, msgspec.structs.replace(card, parameters=parameters)
    )


def random_weights(card: NetworkCard, seed: int = 0) -> dict[str, Any]:
    """Float arrays under the names `SparseNetwork` gives them; hidden units are busy at once."""
    size, features = parse(card.size), inputs_of(card)
    hidden = size.width * (2 if "both" in size.options else 1)
    direct = "direct" in size.options
    random = np.random.default_rng(seed)

    def normal(deviation: float, *shape: int) -> np.ndarray:
        return np.asarray(deviation * random.standard_normal(shape, dtype=np.float32))

    weights: dict[str, Any] = {}
    for name, width in (("value", size.width), ("policy", size.policy_width)):
        weights[f"{name}_features.weight"] = normal(FEATURE_DEVIATION, features, width)
        weights[f"{name}_features.bias"] = normal(BIAS_DEVIATION, width) + np.float32(FEATURE_BIAS)
    layers = [(hidden, WDL)] if direct else [(hidden, TAIL[0]), TAIL, (TAIL[1], WDL)]
    for number, (inputs, outputs) in enumerate(layers, start=1):
        rows = outputs * buckets_of(card)
        weights[f"tail{number}.weight"] = normal(TAIL_GAIN * inputs**-0.5, rows, inputs)
        weights[f"tail{number}.bias"] = normal(BIAS_DEVIATION, rows)
    moves = policy_rows(card)
    weights["move_weight"] = normal(size.policy_width**-0.5, moves, size.policy_width)
    weights["move_bias"] = normal(BIAS_DEVIATION, moves)
    return weights


def export(file: Path, location: Path) -> None:
    """Write the ONNX form of a float network file."""
    build = _torch_networks()
    network, card = build.load_network(file)
    # torch warns of its own insides and of packages that are not needed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build.export_onnx(network, card, location)


def quantise_sparse(file: Path, location: Path, policy: PolicyPrecision) -> Quantisation:
    """Write the integer form of a float sparse network file; returns what was clipped."""
    card, weights = float_sparse(file)
    done = quantise(weights, policy)
    network_files.save(
        location, done.network._asdict(), msgspec.structs.replace(card, precision=policy)
    )
    return done


def join(
    value: Path, policy: Path | None, location: Path, name: str, licence: str = ""
) -> NetworkCard:
    """Write a sparse network with the value of one and the policy of another, or with none.

    The two share no weights, and a value overfits earlier than a policy: it may be best
    to train them for different times. Without a policy all moves are alike, as before learning.
    """
    card, weights = _sparse(value)
    other, others = _sparse(policy) if policy else (card, _no_policy(weights))
    if card.encoding != other.encoding:
        given = f"{card.encoding} and {other.encoding}"
        raise InputError("networks that see different things", value=given, fix="use one encoding")
    if (card.precision == "float32") != (other.precision == "float32"):
        given = f"{card.precision} and {other.precision}"
        fix = "quantise the float one first"
        raise InputError("one float network and one of integers", value=given, fix=fix)
    size, other_size = parse(card.size), parse(other.size)
    options = "".join(f"-{option}" for option in OPTIONS if option in size.options)
    joined = {key: array for key, array in weights.items() if not key.startswith(POLICY)}
    joined |= {key: array for key, array in others.items() if key.startswith(POLICY)}
    command = " ".join(["kibitz net join", *(file.name for file in (value, policy) if file)])
    added = other.provenance if policy else Provenance()
    added = msgspec.structs.replace(added, commands=(*added.commands, command))
    provenance = added_to(card.provenance, added, max(card.provenance.date, added.date))
    made = msgspec.structs.replace(
        card,
        name=name,
        size=f"sparse-{size.width}x{other_size.policy_width}{options}",
        licence=licence or card.licence,
        parameters=sum(array.size for key, array in joined.items() if not key.endswith("_scale")),
        precision=other.precision,
        provenance=provenance,
    )
    return network_files.save(location, joined, made)


def added_to(before: Provenance, added: Provenance, date: str) -> Provenance:
    """Return what a card says of weights that were made in two parts."""
    return Provenance(
        data="; ".join(dict.fromkeys(part for part in (before.data, added.data) if part)),
        commands=before.commands + added.commands,
        steps=before.steps + added.steps,
        positions=before.positions + added.positions,
        date=date,
    )


def trained_card(
    card: NetworkCard, name: str, training: Provenance, parameters: int, licence: str = ""
) -> NetworkCard:
    """Return the card with a training added to what was before; a new licence replaces it."""
    return msgspec.structs.replace(
        card,
        name=name,
        provenance=added_to(card.provenance, training, training.date),
        parameters=parameters,
        licence=licence or card.licence,
    )


def write_networks(
    folder: Path, weights: Mapping[str, Any], card: NetworkCard, playing: bool
) -> list[Path]:
    """Write the float network and, if wanted, the form that plays: int8 if sparse, else ONNX."""
    path = folder / f"{card.name}.safetensors"
    network_files.save(path, weights, card)
    if not playing:
        return [path]
    if card.family == "sparse":
        integers = path.with_name(f"{card.name}-int8.safetensors")
        quantise_sparse(path, integers, "int8")
        return [path, integers]
    export(path, path.with_suffix(".onnx"))
    return [path, path.with_suffix(".onnx")]


def _sparse(file: Path) -> tuple[NetworkCard, Weights]:
    card, weights = network_files.load(file)
    if card.family != "sparse":
        raise InputError(f"{file} is no sparse network", value=card.family)
    check_card(card)
    check_sparse_arrays(card, weights, file)
    return card, weights


def float_sparse(file: Path) -> tuple[NetworkCard, Weights]:
    """The card and weights of a float sparse network file; anything else is refused."""
    card, weights = _sparse(file)
    if card.precision != "float32":
        fix = "its numbers are integers already; take the float file it was made from"
        raise InputError(f"{file} is no float sparse network", value=card.precision, fix=fix)
    return card, weights


def _no_policy(weights: Weights) -> Weights:
    """Zeros for everything that tells moves apart."""
    return {key: np.zeros_like(array) for key, array in weights.items() if key.startswith(POLICY)}


def quantise_onnx(file: Path, location: Path, leaves: Leaves) -> None:
    """Write the int8 form of a float ONNX network, calibrated on some of these leaves."""
    calibration = part_of(leaves, 0, min(CALIBRATION, len(leaves.known)))
    card = network_files.read_card(file)
    shape = (len(calibration.known), layout_of(card.encoding).planes, 8, 8)
    planes = np.zeros(shape, dtype=np.float32)
    encode(card.encoding, calibration, planes)
    quiet = logging.getLogger()
    before = quiet.level
    quiet.setLevel(logging.ERROR)  # it recommends what has been done already
    try:
        _torch_networks().export_int8(file, location, planes)
    finally:
        quiet.setLevel(before)


def _torch_networks() -> Any:
    """The module of networks in torch, or an error that says which extra brings torch."""
    try:
        return importlib.import_module("kibitz.nets.models.build")
    except ImportError as error:
        if error.name not in ("torch", "onnx", "onnxscript"):
            raise
        raise missing_extra("this", error.name, "train") from error


# --- quantised ------------------------------------------------------------------------------------
#
# From float weights of a sparse network to the integers it plays with.
#
# NumPy only. F features, H value width, P perspectives (1 or 2), D policy width, K moves of the
# policy table, T outputs of the first tail layer (3 when the tail is direct, else 16). A network
# with buckets has 8 tails, one after the other in each array; with n pieces tail (n - 1) // 4
# counts.
#
# Float network. x = bias + sum of the rows of the active features; screlu(x) = clip(x, 0, 1) ** 2.
#     value   u = screlu(x) of each perspective side by side, side to move first; then
#             logits = W u + b, or W3 screlu(W2 screlu(W u + b) + b2) + b3
#     policy  h = screlu(y) of the side to move's perspective; logit[m] = E[m] . h + e[m]
#
# Integer network, step by step (all divisions are right shifts of non-negative numbers):
#     a = value_bias + sum value_features[f]         int16, per perspective and column
#     c = clip(a, 0, 255)
#     s = (c * c + 8) >> 4                           0..4064; c * c + 8 fits in uint16
#     t[o] = sum over the P * H columns of s * tail1_weight[o]                         int32
#     x[o] = float32(t[o]) * tail1_scale[o] + tail1_bias[o]                            float32
#     logits = x when the tail is direct, else float32 layers 2 and 3 as above
#
#     a = policy_bias + sum policy_features[f]       int16, side to move's perspective
#     c = clip(a, 0, 255)
#     h = (c * c + 256) >> 9   for int8              0..127: u8 * s8 pairs never saturate in AVX2
#     h = (c * c + 8) >> 4     for int16             0..4064
#     logit[m] = float32(sum of h * move_weight[m]) * move_scale[m] + move_bias[m]     sum in int32
#
# No overflow, for up to 32 active features:
#     Feature rows and biases are clipped to +-LIMIT = 127/64, in integers +-506, so
#     |a| <= 33 * 506 = 16 698 < 2 ** 15. Training keeps them there by
#     `SparseNetwork.clip_weights`. Tail and int16 move rows are scaled so that each row's
#     largest weight is at most (2 ** 31 - 1) // (4064 * columns) (and at most 32 767), therefore
#     any sum fits in int32.
#     int8 move rows reach at most 127: 127 * 127 * D fits for any D below 133 000.
# Each row has its own scale, so neither tail nor move rows need clipping in training.


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

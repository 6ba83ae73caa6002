"""Makes the sparse inline evaluator of the arrays of a network file.

All arrays lie in one piece of memory, large enough for the system to use its large pages. Kernels
do not look whether a value is finite: layers clip what they pass on to [0, 1], so with weights up
to LARGEST none of their sums and products can overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kibitz.core.errors import InputError
from kibitz.core.files import Location
from kibitz.jit.records import CACHE_LINE, address_of, aligned, as_record
from kibitz.nets.card import Heads, NetworkCard
from kibitz.nets.encodings.features import DETAILS
from kibitz.nets.evaluators import sparse
from kibitz.nets.evaluators.inline import InlineEvaluator, Scratch
from kibitz.nets.evaluators.layers import COLUMNS
from kibitz.nets.evaluators.sparse import SCRATCH, Sparse
from kibitz.nets.models.make import QuantisedSparse, from_arrays
from kibitz.nets.models.sizes import check_card, check_sparse_arrays

Arrays = Mapping[str, np.ndarray]
LARGEST = 1e12  # of a weight


def sparse_evaluator(card: NetworkCard, arrays: Arrays, location: Location = "") -> InlineEvaluator:
    """The evaluator of a float or quantised network file's contents; `location` is its name."""
    check_card(card)
    if card.family != "sparse" or card.heads != Heads("wdl"):
        raise InputError("not a sparse network", value=card.name, fix="load it with onnx or torch")
    check_sparse_arrays(card, arrays, location)
    if card.precision == "float32":
        network = _float_network(arrays)
    else:
        network = from_arrays(arrays)
    return evaluator_of(card.name, network, card.encoding)


def _float_network(arrays: Arrays) -> QuantisedSparse:
    """Float weights under the names of the integer network, with scales of one."""
    tail1, moves = arrays["tail1.weight"], arrays["move_weight"]
    return QuantisedSparse(
        value_features=arrays["value_features.weight"],
        value_bias=arrays["value_features.bias"],
        policy_features=arrays["policy_features.weight"],
        policy_bias=arrays["policy_features.bias"],
        tail1_weight=tail1,
        tail1_scale=np.ones(len(tail1), np.float32),
        tail1_bias=arrays["tail1.bias"],
        tail2_weight=arrays.get("tail2.weight", np.zeros((0, 0), np.float32)),
        tail2_bias=arrays.get("tail2.bias", np.zeros(0, np.float32)),
        tail3_weight=arrays.get("tail3.weight", np.zeros((0, 0), np.float32)),
        tail3_bias=arrays.get("tail3.bias", np.zeros(0, np.float32)),
        move_weight=moves,
        move_scale=np.ones(len(moves), np.float32),
        move_bias=arrays["move_bias"],
    )


def evaluator_of(name: str, network: QuantisedSparse, encoding: str) -> InlineEvaluator:
    """The evaluator of a network's arrays, float32 ones or integers, and of what it is fed."""
    _check_sizes(name, network)
    width, policy_width = network.value_features.shape[1], network.policy_features.shape[1]
    perspectives = network.tail1_weight.shape[1] // width
    direct = network.tail2_weight.size == 0
    tails = len(network.tail1_bias) // (sparse.WDL if direct else sparse.TAIL)
    columns, policy_columns = _filled(width), _filled(policy_width)
    numbers = _numbers(network, tails)
    parts = {
        "value_features": _wide(network.value_features, columns),
        "value_bias": _wide(network.value_bias[None], columns),
        "policy_features": _wide(network.policy_features, policy_columns),
        "policy_bias": _wide(network.policy_bias[None], policy_columns),
        "tail1": _first_tail(network.tail1_weight, tails, perspectives, columns),
        "tail2": _next_tail(network.tail2_weight, tails, sparse.TAIL, sparse.SECOND_TAIL),
        "tail3": _next_tail(network.tail3_weight, tails, sparse.SECOND_TAIL, sparse.TAIL),
        "move_weight": _wide(network.move_weight, policy_columns),
        "numbers": numbers,
    }
    memory = aligned((sum(_bytes(part) for part in parts.values()),), np.uint8)
    sizes = {
        "precision": _precision(network),
        "detail": DETAILS[encoding],
        "perspectives": perspectives,
        "direct": int(direct),
        "buckets": tails,
        "value_columns": columns,
        "policy_columns": policy_columns,
        "numbers_size": numbers.size,
    }
    places, views = _placed(memory, parts)
    # The accessor of single numbers finds them by address when the compiler is off, too.
    places["numbers"] = address_of(views["numbers"])
    record = as_record(Sparse(**sizes, **places))
    room = max(perspectives * columns, policy_columns)
    return InlineEvaluator(name, record, (memory, views["numbers"]), lambda: sparse_scratch(room))


def _check_sizes(name: str, network: QuantisedSparse) -> None:
    """Refuse weights with which a search could meet infinite values; NaN is no size, either."""
    for field, array in zip(network._fields, network, strict=True):
        if array.dtype.kind == "f" and not (np.abs(array) <= LARGEST).all():
            what = f"{name}: a weight is not between -{LARGEST:g} and {LARGEST:g}"
            raise InputError(what, value=field, fix="train it again")


def sparse_scratch(columns: int) -> Scratch:
    """Working memory of one thread for layers of up to `columns` activations."""
    memory = aligned((1,), SCRATCH)
    hidden = aligned((columns,), np.float32)
    memory["hidden"] = hidden.ctypes.data
    memory["first_rows"] = np.arange(sparse.SECOND_TAIL)
    return Scratch(memory.view(np.recarray)[0], (memory, hidden))


def _precision(network: QuantisedSparse) -> int:
    if network.value_features.dtype == np.float32:
        return sparse.FLOAT32
    return sparse.INT8 if network.move_weight.dtype == np.int8 else sparse.INT16


def _filled(width: int) -> int:
    return -(-width // COLUMNS) * COLUMNS


def _wide(array: Any, columns: int) -> np.ndarray:
    """Columns of zeros added to [rows, width]."""
    return np.pad(array, ((0, 0), (0, columns - array.shape[1])))


def _at_least(array: Any, rows: int, columns: int) -> np.ndarray:
    """Rows and columns of zeros added; float32 [rows, columns]."""
    grown = np.zeros((rows, columns), dtype=array.dtype)
    grown[: array.shape[0], : array.shape[1]] = array
    return grown


def _first_tail(weights: Any, tails: int, perspectives: int, columns: int) -> np.ndarray:
    """[T * outputs, P * width] to [T * 16, P * columns]."""
    by_view = weights.reshape(len(weights), perspectives, -1)
    wide = np.pad(by_view, ((0, 0), (0, 0), (0, columns - by_view.shape[2])))
    parts = np.split(wide.reshape(len(weights), -1), tails)
    return np.concatenate([_at_least(part, sparse.TAIL, perspectives * columns) for part in parts])


def _next_tail(weights: Any, tails: int, inputs: int, outputs: int) -> np.ndarray:
    """[T * outputs, inputs], or nothing, to [T * inputs, outputs], filled up."""
    parts = np.split(weights, tails)
    return np.concatenate([_at_least(part.T, inputs, outputs) for part in parts])


def _numbers(network: QuantisedSparse, tails: int) -> np.ndarray:
    moves, first_move = len(network.move_bias), sparse.MOVES_AT * tails
    numbers = np.zeros(first_move + 2 * moves, dtype=np.float32)
    by_tail = numbers[:first_move].reshape(tails, -1)
    for start, values in (
        (sparse.SCALE_AT, network.tail1_scale),
        (sparse.BIAS_AT, network.tail1_bias),
        (sparse.BIAS2_AT, network.tail2_bias),
        (sparse.BIAS3_AT, network.tail3_bias),
    ):
        by_tail[:, start : start + len(values) // tails] = values.reshape(tails, -1)
    numbers[first_move::2] = network.move_scale
    numbers[first_move + 1 :: 2] = network.move_bias
    return numbers


def _bytes(part: np.ndarray) -> int:
    return -(-part.nbytes // CACHE_LINE) * CACHE_LINE


def _placed(
    memory: np.ndarray, parts: Mapping[str, np.ndarray]
) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Copy the parts into the memory; returns their addresses and views."""
    places, views, start = {}, {}, 0
    for name, part in parts.items():
        view = memory[start : start + part.nbytes].view(part.dtype)
        view[:] = part.ravel()
        places[name], views[name] = view.ctypes.data, view
        start += _bytes(part)
    return places, views

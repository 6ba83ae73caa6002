"""Size strings, one dial per family. Needs no torch.

tower-19x256      ChessCoach's tower, blocks x filters; tower-6x64-se adds squeeze-excitation
plain-4x64        DLChess without shortcuts
residual-4x64     DLChess with shortcuts; residual-4x64-input starts with a plain convolution
se-5x64           the same with squeeze-excitation; also se-5x64-input
dilated-eval      Batch-First's position score; dilated-eval-x2 has twice the filters
dilated-move      Batch-First's move scores; dilated-move-x2
sparse-512        the CPU network, width of the value layer; the policy layer is half as wide
sparse-512x128    both widths; -threats: attacked and defended pieces have features of their own;
                  -tactics: pieces that can be won, too, and what a move does at once;
                  -both: the opponent's perspective too; -direct: no hidden tail layers;
                  -buckets: eight tails, for four pieces more each
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kibitz.core.errors import DamagedFileError, InputError, did_you_mean
from kibitz.core.files import Location
from kibitz.nets.card import (
    FEATURES,
    LEELA,
    LEELA_PLANES,
    LEELA_POLICY,
    PLANES,
    POLICY_SIZES,
    Heads,
    NetworkCard,
)
from kibitz.nets.encodings import MOVE_FEATURES

LARGEST = 1 << 14  # of a size's numbers
TAIL, SECOND_TAIL, WDL = 16, 32, 3  # outputs of a sparse network's last layers
BUCKETS = 8  # tails of a network that has some by how many pieces there are


class Family(NamedTuple):
    """What a family's size strings may say, and what its networks are made for."""

    dial: str  # pattern of what follows the family's name, with two groups
    options: tuple[str, ...]
    example: str
    encoding: str
    policy_order: str
    heads: Heads
    network: str  # what makes one of a card, as module:function; it imports torch
    inline: str = ""  # the same, for an inline evaluator of card, arrays, file; "": through ONNX


class Size(NamedTuple):
    """A parsed size string; what a family does not use is 0."""

    family: str
    blocks: int
    width: int
    policy_width: int
    options: frozenset[str]


# For the help of commands: what a size is good for.
ADVICE = (
    "On a CPU take a sparse one: sparse-8x64-tactics learns from a thousand games (--recipe "
    "small), sparse-64x256-tactics from a million positions, sparse-256x256-tactics, the "
    "shipped one's, from ten million. With a GPU: plain-4x64 (small, quick), "
    "residual-4x64, se-4x64, tower-6x64 up to tower-19x256, blocks x filters. dilated-eval "
    "evaluates and dilated-move chooses moves: a pair."
)

_BLOCKS = r"(\d+)x(\d+)"
_WIDTHS = r"(\d+)(?:x(\d+))?"
_KINDS = r"(eval|move)(?:-x(\d+))?"
_SPARSE = ("threats", "tactics", "both", "direct", "buckets")
SMALLEST_SQUEEZED = 8

_BUILD = "kibitz.nets.models.build"
FAMILIES = {
    "tower": Family(
        *(_BLOCKS, ("se",), "tower-8x128", "history109", "chesscoach", Heads(mcts_value=True)),
        network=f"{_BUILD}:tower",
    ),
    "plain": Family(_BLOCKS, (), "plain-4x64", "oriented22", "dlchess", Heads(), f"{_BUILD}:plain"),
    "residual": Family(
        _BLOCKS, ("input",), "residual-4x64", "oriented22", "dlchess", Heads(), f"{_BUILD}:residual"
    ),
    "se": Family(
        _BLOCKS, ("input",), "se-4x64", "oriented22", "dlchess", Heads(), f"{_BUILD}:residual"
    ),
    "dilated": Family(
        _KINDS, (), "dilated-eval", "onehot15", "batchfirst", Heads("rank"), f"{_BUILD}:dilated"
    ),
    "sparse": Family(
        *(_WIDTHS, _SPARSE, "sparse-512", "sparse768", "table1858", Heads("wdl")),
        network=f"{_BUILD}:sparse",
        inline="kibitz.nets.evaluators.load_sparse:sparse_evaluator",
    ),
}


def inline_maker(family: str) -> str:
    """What makes an inline evaluator of a family's networks; empty if they go through ONNX."""
    return FAMILIES[family].inline if family in FAMILIES else ""


def parse(text: str) -> Size:
    """Parse a size string.

    >>> parse("tower-19x256")[:4]
    ('tower', 19, 256, 0)
    """
    name, _, rest = text.partition("-")
    family = FAMILIES.get(name)
    if family is None:
        raise InputError("unknown network family", value=text, fix=did_you_mean(name, FAMILIES))
    match = re.fullmatch(rf"{family.dial}((?:-[a-z]+)*)", rest)
    if match is None:
        raise InputError(
            "malformed network size", value=text, fix=f"write it like {family.example}"
        )
    *dial, tail = match.groups()
    options = frozenset(tail.split("-")[1:])
    for option in options - set(family.options):
        fix = did_you_mean(option, family.options)
        raise InputError(f"unknown option in {text}", value=option, fix=fix)
    return _checked(text, _size(name, dial, options))


def _size(name: str, dial: list[str | None], options: frozenset[str]) -> Size:
    second = int(dial[1] or 0)
    if name == "dilated":
        return Size(name, 0, 1 if dial[1] is None else second, 0, options | {str(dial[0])})
    first = int(dial[0] or 0)
    if name == "sparse":
        return Size(name, 0, first, first // 2 if dial[1] is None else second, options)
    return Size(name, first, second, 0, options)


def _checked(text: str, size: Size) -> Size:
    blocks = size.blocks or size.family in ("sparse", "dilated")
    policy = size.policy_width or size.family != "sparse"
    if not (blocks and size.width and policy):
        raise InputError("a network size of 0", value=text, fix="numbers start at 1")
    if max(size.blocks, size.width, size.policy_width) > LARGEST:
        raise InputError("too large a network", value=text, fix=f"numbers end at {LARGEST}")
    if {"threats", "tactics"} <= size.options:
        raise InputError("tactics include threats", value=text, fix="leave -threats out")
    # A gate of squeezed channels needs at least one of them.
    if size.family == "tower" and "se" in size.options and size.width < SMALLEST_SQUEEZED:
        fix = f"use {SMALLEST_SQUEEZED} filters or more"
        raise InputError("too narrow for squeeze-excitation", value=text, fix=fix)
    return size


def default_encoding(size: Size) -> str:
    """Return the encoding a size is made for."""
    if "tactics" in size.options:
        return "tactic3072"
    return "threat3072" if "threats" in size.options else FAMILIES[size.family].encoding


def default_heads(size: Size) -> Heads:
    """Return the heads a size has when nothing else is asked."""
    if size.family == "dilated":
        move = "move" in size.options
        return Heads(value="none") if move else Heads(value="rank", policy=False)
    return FAMILIES[size.family].heads


def new_card(
    size: str,
    name: str = "",
    encoding: str = "",
    policy_order: str = "",
    heads: Heads | None = None,
) -> NetworkCard:
    """Return the card of an untrained network; what is left out is the family's usual choice."""
    parsed = parse(size)
    card = NetworkCard(
        name=name or size,
        family=parsed.family,
        size=size,
        encoding=encoding or default_encoding(parsed),
        policy_order=policy_order or FAMILIES[parsed.family].policy_order,
        heads=heads or default_heads(parsed),
    )
    check_card(card)
    return card


def check_card(card: NetworkCard) -> None:
    """Refuse a card whose parts do not fit together."""
    if card.family == LEELA:  # of one encoding and one order; its sizes are read, never built
        if (card.encoding, card.policy_order) != (LEELA_PLANES, LEELA_POLICY):
            layouts = [f"{LEELA_PLANES} and {LEELA_POLICY}"]
            raise _misfit(card, "encoding", (card.encoding, card.policy_order), layouts)
        return
    size = parse(card.size)
    sparse = size.family == "sparse"
    if card.family != size.family:
        raise _misfit(card, "family", card.family, [size.family])
    if sparse and card.encoding != default_encoding(size):
        raise _misfit(card, "encoding", card.encoding, [default_encoding(size)])
    if not sparse and card.encoding not in PLANES:
        raise _misfit(card, "encoding", card.encoding, PLANES)
    kinds = [order for order in POLICY_SIZES if order != LEELA_POLICY]
    orders = [order for order in kinds if (order == "table1858") == sparse]
    if card.policy_order not in orders:
        raise _misfit(card, "policy order", card.policy_order, orders)
    if size.family in ("dilated", "sparse") and card.heads != default_heads(size):
        raise _misfit(card, "heads", card.heads, [str(default_heads(size))])


def _misfit(
    card: NetworkCard, what: str, value: object, expected: dict[str, int] | list[str]
) -> InputError:
    fix = f"choose from {', '.join(expected)}"
    return InputError(f"wrong {what} for a {card.size} network", value=value, fix=fix)


def buckets_of(card: NetworkCard) -> int:
    """Return how many tails a sparse network has."""
    return BUCKETS if "buckets" in parse(card.size).options else 1


def policy_rows(card: NetworkCard) -> int:
    """Return how many rows of weights the policy of a sparse network has: moves, and kinds."""
    return POLICY_SIZES[card.policy_order] + (MOVE_FEATURES if card.encoding == "tactic3072" else 0)


def inputs_of(card: NetworkCard) -> int:
    """Return the number of input planes or, for the sparse family, of features."""
    return {**PLANES, **FEATURES}[card.encoding]


# --- what a sparse network's file must hold -------------------------------------------------------

Arrays = Mapping[str, np.ndarray]
Expected = dict[str, tuple[Any, tuple[int, ...]]]  # type and shape of each array


def sparse_arrays(card: NetworkCard) -> Expected:
    """Type and shape of every array in the file of a sparse network, by its card alone.

    Compiled kernels read these arrays without looking where they end.
    """
    size, features, rows = parse(card.size), inputs_of(card), policy_rows(card)
    hidden = size.width * (2 if "both" in size.options else 1)
    direct, wide, tails = "direct" in size.options, size.policy_width, buckets_of(card)
    first, second, last = (tails * outputs for outputs in (TAIL, SECOND_TAIL, WDL))
    shapes = {
        "value_features": (features, size.width),
        "value_bias": (size.width,),
        "policy_features": (features, wide),
        "policy_bias": (wide,),
        "tail1_weight": (last if direct else first, hidden),
        "tail1_scale": (last if direct else first,),
        "tail1_bias": (last if direct else first,),
        "tail2_weight": (0, 0) if direct else (second, TAIL),
        "tail2_bias": (0,) if direct else (second,),
        "tail3_weight": (0, 0) if direct else (last, SECOND_TAIL),
        "tail3_bias": (0,) if direct else (last,),
        "move_weight": (rows, wide),
        "move_scale": (rows,),
        "move_bias": (rows,),
    }
    if card.precision == "float32":
        kept = {name: shape for name, shape in shapes.items() if shape[0]}
        return {_FLOAT_NAMES[n]: (np.float32, kept[n]) for n in kept if n in _FLOAT_NAMES}
    kinds = dict.fromkeys(("value_features", "value_bias", "policy_features", "policy_bias"), "i2")
    kinds |= {"tail1_weight": "i2", "move_weight": "i1" if card.precision == "int8" else "i2"}
    return {name: (kinds.get(name, np.float32), shape) for name, shape in shapes.items()}


_FLOAT_NAMES = {
    "value_features": "value_features.weight",
    "value_bias": "value_features.bias",
    "policy_features": "policy_features.weight",
    "policy_bias": "policy_features.bias",
    **{f"tail{n}_{part}": f"tail{n}.{part}" for n in (1, 2, 3) for part in ("weight", "bias")},
    **{name: name for name in ("move_weight", "move_bias")},
}


def check_sparse_arrays(card: NetworkCard, arrays: Arrays, location: Location = "") -> None:
    """Refuse arrays of a sparse network that are missing, or not as its card says."""
    expected, where = sparse_arrays(card), os.fspath(location) or card.name
    fix = "train or export it again"
    for name, (kind, shape) in expected.items():
        if name not in arrays:
            what = f"not the weights of a {card.size} network ({card.precision}), missing {name}"
            raise DamagedFileError(what, value=where, fix=fix)
        array, wanted = arrays[name], f"{np.dtype(kind)} {list(shape)}"
        if array.shape != shape or array.dtype != kind:
            given = f"{array.dtype} {list(array.shape)}"
            what = f"weights do not fit a {card.size} network: {name} is {given}, not {wanted}"
            raise DamagedFileError(what, value=where, fix=fix)

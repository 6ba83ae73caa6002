"""How fast networks of every family are, with random weights, as each kind of evaluator."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kibitz.bench.evaluator import (
    batched_speed,
    inline_speed,
    scattered_positions,
    tree_positions,
)
from kibitz.encoding.leaves import random_leaves
from kibitz.evaluator.inline import InlineEvaluator, inline_evaluator
from kibitz.evaluator.load import Evaluator, load_evaluator
from kibitz.evaluator.simple import Material, Uniform
from kibitz.log import say
from kibitz.network import card as cards
from kibitz.network import make
from kibitz.network.sizes import parse

SPARSE = (
    "sparse-256x128-threats",
    "sparse-64x256-tactics",
    "sparse-512x256",
    "sparse-512x256-threats",
    "sparse-512x256-threats-both",
    "sparse-1024x256-threats",
    "sparse-2048x256-threats",
)
CONVOLUTIONAL = (
    "plain-4x64",
    "residual-4x64",
    "se-4x64",
    "tower-6x64",
    "dilated-eval",
    "dilated-move",
)
POSITIONS = {"tree": tree_positions, "scattered": scattered_positions}
COUNT = 4000  # positions of each kind
ACTIVE, MOVES = 25, 31  # features and moves of a position of random games, on average


class Subject(NamedTuple):
    """What is measured, and the operations of one evaluation by type of number."""

    network: str
    kind: str  # of evaluator
    width: int
    evaluator: Evaluator
    operations: dict[str, float]


class Row(NamedTuple):
    """One row of the table."""

    network: str
    evaluator: str
    width: int
    batch: int
    threads: int
    positions: str
    evaluations_per_second: int
    share_of_peak: float


def measure(
    sizes: tuple[str, ...], batches: list[int], rounds: int, threads: int, peaks: dict[str, float]
) -> Iterator[list[Row]]:
    """The rows of one network after another: by batch size or, if inline, by kind of position."""
    leaves = random_leaves(max(batches), seed=2)
    with tempfile.TemporaryDirectory() as folder:
        for subject in _subjects(sizes, Path(folder)):
            evaluator, found = subject.evaluator, []
            if isinstance(evaluator, InlineEvaluator):
                for kind, make_positions in POSITIONS.items():
                    rate = inline_speed(evaluator, make_positions(COUNT), rounds, threads)
                    found.append((1, kind, rate))
            else:
                for batch in batches:
                    rate = batched_speed(evaluator, leaves, batch, rounds, threads)
                    found.append((batch, "scattered", rate))
            yield [_row(subject, *one, threads, peaks) for one in found]


def _row(
    subject: Subject, batch: int, kind: str, rate: float, threads: int, peaks: dict[str, float]
) -> Row:
    # The time the operations would take at the peak, of the time they take.
    ideal = sum(count / (1e9 * peaks[name]) for name, count in subject.operations.items())
    share, about = round(ideal * rate / threads, 3), (batch, threads, kind, round(rate))
    return Row(subject.network, subject.kind, subject.width, *about, share)


def _subjects(sizes: tuple[str, ...], folder: Path) -> Iterator[Subject]:
    """Networks with random weights, written to files and loaded from them."""
    if not sizes:
        for numbers in (Uniform(), Material()):
            evaluator = inline_evaluator(numbers)
            yield Subject(evaluator.name, "inline", 0, evaluator, {})
        sizes = (*SPARSE, *(CONVOLUTIONAL if _torch_is_here() else ()))
    for size in sizes:
        yield from (_sparse if parse(size).family == "sparse" else _convolutional)(size, folder)


def _torch_is_here() -> bool:
    here = all(importlib.util.find_spec(name) for name in ("torch", "onnx", "onnxscript"))
    if not here:
        say("without torch and onnx no convolutional networks can be made: left out")
    return here


def _sparse(size: str, folder: Path) -> Iterator[Subject]:
    parsed, exact = parse(size), folder / f"{size}.safetensors"
    make.create(size, exact)
    hidden = parsed.width * (2 if "both" in parsed.options else 1)
    tail = 2 * hidden * (3 if "direct" in parsed.options else 16)
    # A sum is one operation, a product with its sum two.
    sums, products = ACTIVE * (hidden + parsed.policy_width), 2 * MOVES * parsed.policy_width
    integers = folder / f"{size}-int8.safetensors"
    make.quantise_sparse(exact, integers, "int8")
    operations = {"int16": float(sums + tail), "int8": float(products)}
    yield Subject(size, "inline int8", parsed.width, load_evaluator(integers), operations)
    operations = {"float32": float(sums + tail + products)}
    yield Subject(size, "inline float32", parsed.width, load_evaluator(exact), operations)


def _convolutional(size: str, folder: Path) -> Iterator[Subject]:
    exact, integers = folder / f"{size}.onnx", folder / f"{size}-int8.onnx"
    make.create(size, exact.with_suffix(".safetensors"))
    weights = cards.load_weights(exact.with_suffix(".safetensors"))
    make.export(exact.with_suffix(".safetensors"), exact)
    make.quantise_onnx(exact, integers, random_leaves(make.CALIBRATION))
    width, operations = parse(size).width, float(sum(map(_operations, weights.values())))
    yield Subject(size, "onnx float32", width, load_evaluator(exact), {"float32": operations})
    yield Subject(size, "onnx int8", width, load_evaluator(integers), {"int8": operations})
    from kibitz.evaluator.torch import TorchEvaluator

    through_torch = TorchEvaluator(exact.with_suffix(".safetensors"), threads=1)
    yield Subject(size, "torch float32", width, through_torch, {"float32": operations})


def _operations(weight: np.ndarray) -> int:
    """Of one layer: a convolution is done for 64 squares, unless it covers the whole board."""
    squares = 64 if weight.ndim == 4 and weight.shape[-1] < 8 else 1
    return 2 * weight.size * squares if weight.ndim > 1 else 0

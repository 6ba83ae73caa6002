"""`kibitz bench evaluate`: positions judged a second, for every kind of network and evaluator.

bench/evaluator.py -> **table or JSON**
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from cyclopts import Parameter

from kibitz.bench import evaluator as speed
from kibitz.commands.arguments import JsonFlag
from kibitz.commands.output import columns, emit
from kibitz.encoding.leaves import Leaves, random_leaves
from kibitz.errors import InputError
from kibitz.evaluator.inline import InlineEvaluator, inline_evaluator
from kibitz.evaluator.load import Evaluator, load_evaluator
from kibitz.evaluator.simple import Material, Uniform
from kibitz.log import progress, say
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
POSITIONS = 4000
ACTIVE, MOVES = 25, 31  # features and moves of a position of random games, on average


class Options(NamedTuple):
    """How it is measured."""

    rounds: int
    threads: int


class Subject(NamedTuple):
    """What is measured, and the operations of one evaluation by type of number."""

    network: str
    kind: str  # of evaluator
    width: int
    evaluator: Evaluator
    operations: dict[str, float]


def evaluate(
    *sizes: Annotated[str, Parameter(help="Sizes of networks; all families by default.")],
    batches: Annotated[str, Parameter(help="Batch sizes.")] = "1,32,256",
    threads: Annotated[int, Parameter(help="Threads that evaluate at the same time.")] = 1,
    rounds: Annotated[int, Parameter(help="Measure so often; the fastest round counts.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Judge positions with random networks of every family on one core, or on several threads."""
    if threads < 1 or rounds < 1:
        raise InputError("--threads and --rounds at least 1", value=(threads, rounds))
    counts, options = batch_sizes(batches), Options(rounds, threads)
    peaks = speed.peaks(rounds)
    leaves = random_leaves(max(counts), seed=2)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, progress("evaluate") as bar:
        for subject in _subjects(sizes, Path(folder)):
            rows += _measured(subject, leaves, counts, options, peaks)
            bar.advance()
    rounded = {name: round(peak, 1) for name, peak in peaks.items()}
    result = {"threads": threads, "peak_giga_operations": rounded, "rows": rows}
    emit(result, as_json=json, table=_table(rows, threads))
    say(f"peak of a core, billion operations a second: {rounded}")


def batch_sizes(text: str) -> list[int]:
    """The sizes of `--batches`."""
    words = text.split(",")
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise InputError("--batches", value=text, fix="write them like 1,32,256")
    return [int(word) for word in words]


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


def _measured(
    subject: Subject, leaves: Leaves, batches: list[int], options: Options, peaks: dict[str, float]
) -> Iterator[dict[str, Any]]:
    """One row per batch size or, for inline evaluators, per kind of position."""
    if isinstance(subject.evaluator, InlineEvaluator):
        for kind, positions in (
            ("tree", speed.tree_positions(POSITIONS)),
            ("scattered", speed.scattered_positions(POSITIONS)),
        ):
            rate = speed.inline_speed(subject.evaluator, positions, *options)
            yield _row(subject, 1, kind, rate, options.threads, peaks)
        return
    for batch in batches:
        rate = speed.batched_speed(subject.evaluator, leaves, batch, *options)
        yield _row(subject, batch, "scattered", rate, options.threads, peaks)


def _row(
    subject: Subject, batch: int, kind: str, rate: float, threads: int, peaks: dict[str, float]
) -> dict[str, Any]:
    # The time the operations would take at the peak, of the time they take.
    ideal = sum(count / (1e9 * peaks[name]) for name, count in subject.operations.items())
    return {
        "network": subject.network,
        "evaluator": subject.kind,
        "width": subject.width,
        "batch": batch,
        "threads": threads,
        "positions": kind,
        "evaluations_per_second": round(rate),
        "share_of_peak": round(ideal * rate / threads, 3),
    }


def _table(rows: list[dict[str, Any]], threads: int) -> Any:
    headings = tuple(name.replace("_", " ") for name in rows[0])
    title = "evaluations, one core" if threads == 1 else f"evaluations, {threads} threads"
    return columns(headings, [tuple(row.values()) for row in rows], title=title)

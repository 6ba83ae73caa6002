"""How fast positions are encoded and evaluated, by networks of every family.

An inline evaluator is measured as the search uses it: moves generated, value and logits computed,
position by position. *Tree* positions are the children of one position after another, which share
most of their features as leaves of a search do; *scattered* ones come from games of their own.
Families are measured with random weights, as each kind of evaluator.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from kibitz.arena.bench import Work, best_rate
from kibitz.core.log import say
from kibitz.data.batches.batch import leaves_at
from kibitz.data.batches.sample import Samples
from kibitz.data.shard import UNKNOWN_RESULT
from kibitz.jit.compile import kernel
from kibitz.jit.records import aligned
from kibitz.nets import files as network_files
from kibitz.nets.card import is_leela
from kibitz.nets.discover import resolve
from kibitz.nets.encodings.features import MAX_ACTIVE, PLAIN, TACTICS, THREATS, batch_features
from kibitz.nets.encodings.leaves import MOST_HISTORY, Leaves, part_of, random_leaves
from kibitz.nets.encodings.planes import (
    LAYOUTS,
    ORDERS,
    PACKED_WORDS,
    encode,
    encode_words,
    pack_batch,
    policy_indices,
    unpack_batch,
)
from kibitz.nets.evaluators.batched import (
    BatchedEvaluator,
    new_evaluations,
    part_of_evaluations,
    values_of,
)
from kibitz.nets.evaluators.inline import (
    InlineEvaluator,
    Material,
    Uniform,
    inline_evaluator,
    logits_of,
    value_of,
)
from kibitz.nets.evaluators.layers import INT8, dot_products, float32_tail_dots, int16_tail_dots
from kibitz.nets.load import Evaluator, load_evaluator
from kibitz.nets.models import make
from kibitz.nets.models.sizes import parse
from kibitz.position.moves import MAX_MOVES, generate
from kibitz.position.packed import new_packed, pack_positions, unpack_positions
from kibitz.position.play import play
from kibitz.position.state import new_positions

# --- encoding -------------------------------------------------------------------------------------


class Speed(NamedTuple):
    """One line of the table."""

    layout: str
    positions_per_second: int
    bytes_per_position: float  # of what is written


def encoding_speed(batch: int = 512, rounds: int = 5) -> list[Speed]:
    """Measure every layout, policy order, feature set and packed form; the best round counts."""
    leaves = random_leaves(batch)
    return [
        Speed(name, round(best_rate(work, batch, rounds)), round(out.nbytes / batch, 1))
        for name, work, out in _works(leaves)
    ]


def _works(leaves: Leaves) -> Iterator[tuple[str, Work, np.ndarray]]:
    """What is measured, each with what it writes into."""
    batch, out = len(leaves.known), np.zeros(len(leaves.moves), dtype=np.int32)
    for name, layout in LAYOUTS.items():
        planes = np.zeros((batch, layout.planes, 8, 8), dtype=np.float32)
        bitplanes = np.zeros((batch, layout.planes), dtype=np.uint64)
        yield name, functools.partial(encode, name, leaves, planes), planes
        yield f"{name} words", functools.partial(encode_words, name, leaves, bitplanes), bitplanes
    for order in ORDERS:
        encoding = "sparse768" if order == "table1858" else "oriented22"
        yield (
            f"policy {order}",
            functools.partial(policy_indices, order, encoding, leaves, out),
            out,
        )
    yield from _others(leaves)


def _others(leaves: Leaves) -> list[tuple[str, Work, np.ndarray]]:
    positions, batch = np.ascontiguousarray(leaves.positions[:, 0]), len(leaves.known)
    indices = np.zeros((1, MAX_ACTIVE * batch), dtype=np.int32)
    offsets = np.zeros(batch + 1, dtype=np.int64)
    counts = np.zeros(batch, dtype=np.uint8)
    words, packed = np.zeros((batch, PACKED_WORDS), dtype=np.uint64), new_packed(batch)
    back = new_positions(batch)
    return [
        ("sparse768", lambda: batch_features(positions, PLAIN, indices, offsets), indices),
        ("threat3072", lambda: batch_features(positions, THREATS, indices, offsets), indices),
        ("tactic3072", lambda: batch_features(positions, TACTICS, indices, offsets), indices),
        ("pack 18 words", lambda: pack_batch(positions, counts, words), words),
        ("unpack 18 words", lambda: unpack_batch(words, back, counts), back),
        ("pack 32 bytes", lambda: pack_positions(positions, counts, packed), packed),
        ("unpack 32 bytes", lambda: unpack_positions(packed, back, counts), back),
    ]


PEAK_ROWS, PEAK_BYTES, PEAK_ROUNDS = 8, 2048, 2000  # 16 KiB: within every first-level cache

# --- positions ------------------------------------------------------------------------------------


@functools.cache
def scattered_positions(count: int, seed: int = 1) -> np.ndarray:
    """Ends of random games, POSITION [count]."""
    return np.ascontiguousarray(random_leaves(count, seed).positions[:, 0])


@functools.cache
def tree_positions(count: int, seed: int = 1) -> np.ndarray:
    """All children of one position after another, POSITION [count]."""
    parents = scattered_positions(1 + count // 10, seed)
    children, done = new_positions(count), 0
    moves = np.zeros(MAX_MOVES, dtype=np.uint16)
    for parent in parents:
        for index in range(generate(parent, moves)):
            if done == count:
                return children
            play(parent, children[done], int(moves[index]))
            done += 1
    return children[:done]


# --- evaluators -----------------------------------------------------------------------------------


@kernel
def evaluate_all(
    evaluator: np.record,
    scratch: np.record,
    positions: np.ndarray,
    moves: np.ndarray,
    logits: np.ndarray,
) -> float:
    """Generate moves, compute value and logits of POSITION [n]; return a sum of the answers.

    moves uint16 [MAX_MOVES] and logits float32 [MAX_MOVES] are scratch.
    """
    total = 0.0
    for row in range(positions.shape[0]):
        position = positions[row]
        value, draw = value_of(evaluator, scratch, position)
        count = generate(position, moves)
        logits_of(evaluator, scratch, position, moves, count, logits)
        total += value + draw + logits[0]
    return total


def inline_speed(
    evaluator: InlineEvaluator, positions: np.ndarray, rounds: int, threads: int = 1
) -> float:
    """Evaluations a second of POSITION [n], all threads together, move generation included."""
    own = threading.local()

    def work() -> None:
        if not hasattr(own, "scratch"):
            own.scratch = evaluator.new_scratch()
            own.room = np.zeros(MAX_MOVES, np.uint16), np.zeros(MAX_MOVES, np.float32)
        evaluate_all(evaluator.record, own.scratch.record, positions, *own.room)

    return best_rate(work, len(positions), rounds, threads)


def batched_speed(
    evaluator: BatchedEvaluator, leaves: Leaves, batch: int, rounds: int, threads: int = 1
) -> float:
    """Evaluations a second in batches; at least `batch` leaves, their moves generated before."""
    part = part_of(leaves, 0, batch)
    own = threading.local()

    def work() -> None:
        if not hasattr(own, "out"):
            own.out = new_evaluations(part)
        evaluator.evaluate(part, own.out)

    return best_rate(work, batch, rounds, threads)


class Agreement(NamedTuple):
    """How well an evaluator says what the games of a data set say."""

    positions: int
    top1: float  # how often the target's best move is the policy's first one
    top3: float  # ... is among its first three
    value_error: float  # mean distance of values in [-1, 1] from the search's (the result, if none)
    result_error: float  # mean square of (expected score in [0, 1] - the game's result)
    evaluations_per_second: int  # in batches of at most AGREEMENT_BATCH, on one thread


AGREEMENT_BATCH = 512


def agreement(evaluator: BatchedEvaluator, samples: Samples, rows: np.ndarray) -> Agreement:
    """Measure an evaluator on rows, int64 [B], of games; figures without positions are NaN."""
    leaves = leaves_at(samples, rows, MOST_HISTORY)
    out = new_evaluations(leaves)
    for first in range(0, len(rows), AGREEMENT_BATCH):
        last = min(first + AGREEMENT_BATCH, len(rows))
        part = part_of(leaves, first, last)
        evaluator.evaluate(part, part_of_evaluations(out, leaves, first, last))
    values, results = values_of(out.wdl), samples.results[rows].astype(np.float64)
    finished = results != UNKNOWN_RESULT
    searched = samples.values[rows].astype(np.float64)
    targets = np.where(np.isnan(searched), np.where(finished, results, np.nan), searched)
    ranks = _ranks(samples, rows, leaves, out.logits)
    return Agreement(
        positions=len(rows),
        top1=_among_first(ranks, 1),
        top3=_among_first(ranks, 3),
        value_error=_mean(np.abs(values - targets)[~np.isnan(targets)]),
        result_error=_mean(((values - results)[finished] / 2) ** 2),
        evaluations_per_second=round(
            batched_speed(evaluator, leaves, min(AGREEMENT_BATCH, len(rows)), rounds=3)
        ),
    )


def _ranks(samples: Samples, rows: np.ndarray, leaves: Leaves, logits: np.ndarray) -> np.ndarray:
    """Moves that the policy prefers to the target's best one, and those level with it.

    int64 [rows with a target, 2]; the best one itself is counted as level.
    """
    ranks = []
    for place, row in enumerate(rows):
        first, last = samples.target_offsets[row : row + 2]
        if first == last:
            continue
        weights = samples.target_weights[first:last]
        best = samples.target_moves[first:last][weights == weights.max()]
        legal = slice(leaves.offsets[place], leaves.offsets[place + 1])
        target = logits[legal][np.isin(leaves.moves[legal], best)].max()
        ranks.append(((logits[legal] > target).sum(), (logits[legal] == target).sum()))
    return np.array(ranks, dtype=np.int64).reshape(-1, 2)


def _among_first(ranks: np.ndarray, count: int) -> float:
    """How often the best move is among the first so many; of level moves each is as likely."""
    return _mean(np.clip((count - ranks[:, 0]) / ranks[:, 1], 0, 1))


def _mean(numbers: np.ndarray) -> float:
    return float(numbers.mean()) if len(numbers) else math.nan


# --- what the processor could do ------------------------------------------------------------------


int8_peak_dots = dot_products(INT8, PEAK_ROWS)


@kernel
def _int8_peak(weights: int, hidden: int, rows: int, out: int) -> None:
    for _ in range(PEAK_ROUNDS):
        int8_peak_dots(weights, hidden, PEAK_BYTES, rows, PEAK_ROWS, out)


@kernel
def _int16_peak(weights: int, hidden: int, rows: int, out: int) -> None:
    for _ in range(PEAK_ROUNDS):
        int16_tail_dots(weights, hidden, PEAK_BYTES // 2, rows, PEAK_ROWS, out)


@kernel
def _float32_peak(weights: int, hidden: int, rows: int, out: int) -> None:
    for _ in range(PEAK_ROUNDS):
        float32_tail_dots(weights, hidden, PEAK_BYTES // 4, rows, PEAK_ROWS, out)


def peaks(rounds: int = 5) -> dict[str, float]:
    """Billions of operations (a product or a sum) a second of one core, by type of number.

    Integers: dot products in the first-level cache. float32: those or a matrix product by NumPy,
    in processor time of all its threads, whichever is faster.
    """
    weights, hidden = aligned((PEAK_ROWS, PEAK_BYTES), np.uint8), aligned((PEAK_BYTES,), np.float32)
    rows, out = np.arange(PEAK_ROWS, dtype=np.int32), np.zeros(PEAK_ROWS, np.int32)
    places = [int(array.ctypes.data) for array in (weights, hidden, rows, out)]
    rates = {}
    for name, work, size in (
        ("int8", _int8_peak, 1),
        ("int16", _int16_peak, 2),
        ("float32", _float32_peak, 4),
    ):
        operations = 2 * PEAK_ROUNDS * PEAK_ROWS * PEAK_BYTES // size
        rates[name] = best_rate(functools.partial(work, *places), operations, rounds) / 1e9
    rates["float32"] = max(rates["float32"], _matrix_peak(rounds))
    return rates


def _matrix_peak(rounds: int) -> float:
    size = 512
    matrix = np.random.default_rng(1).random((size, size), dtype=np.float32)
    out = np.zeros_like(matrix)
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(20):
            np.matmul(matrix, matrix, out=out)
        seconds.append((time.process_time() - start) / 20)
    return 2 * size**3 / min(seconds) / 1e9


# --- networks of every family ---------------------------------------------------------------------


SPARSE = (
    "sparse-256x128-threats",
    "sparse-64x256-tactics",
    "sparse-256x256-tactics",
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


Opened: TypeAlias = Callable[[str], Evaluator]


def measure(
    sizes: tuple[str, ...],
    batches: list[int],
    rounds: int,
    threads: int,
    peaks: dict[str, float],
    opened: Opened | None = None,
) -> Iterator[list[Row]]:
    """The rows of one network after another: by batch size or, if inline, by kind of position.

    Each size has the evaluators that a processor has for it, or the one that `opened` makes of
    the file; the share of the processor's peak is not known then.
    """
    leaves = random_leaves(max(batches), seed=2)
    with tempfile.TemporaryDirectory() as folder:
        for subject in _subjects(sizes, Path(folder), opened):
            evaluator, timings = subject.evaluator, []
            if isinstance(evaluator, InlineEvaluator):
                for kind, make_positions in POSITIONS.items():
                    rate = inline_speed(evaluator, make_positions(COUNT), rounds, threads)
                    timings.append((1, kind, rate))
            else:
                for batch in batches:
                    rate = batched_speed(evaluator, leaves, batch, rounds, threads)
                    timings.append((batch, "scattered", rate))
            yield [_row(subject, *timing, threads, peaks) for timing in timings]


def _row(
    subject: Subject, batch: int, kind: str, rate: float, threads: int, peaks: dict[str, float]
) -> Row:
    # The time the operations would take at the peak, of the time they take.
    ideal = sum(count / (1e9 * peaks[name]) for name, count in subject.operations.items())
    share, about = round(ideal * rate / threads, 3), (batch, threads, kind, round(rate))
    return Row(subject.network, subject.kind, subject.width, *about, share)


def _subjects(sizes: tuple[str, ...], folder: Path, opened: Opened | None) -> Iterator[Subject]:
    """Networks with random weights, written to files and loaded from them."""
    if opened is not None:
        for size in sizes or CONVOLUTIONAL:
            file = folder / f"{size}.safetensors"
            make.create(size, file)
            evaluator = opened(str(file))
            yield Subject(size, evaluator.name, parse(size).width, evaluator, {})
        return
    if not sizes:
        for numbers in (Uniform(), Material()):
            evaluator = inline_evaluator(numbers)
            yield Subject(evaluator.name, "inline", 0, evaluator, {})
        sizes = (*SPARSE, *(CONVOLUTIONAL if _torch_is_here() else ()))
    for size in sizes:
        if Path(resolve(size)).is_file():
            yield _of_file(Path(resolve(size)))
            continue
        yield from (_sparse if parse(size).family == "sparse" else _convolutional)(size, folder)


def _of_file(path: Path) -> Subject:
    """A network that there is, as it plays; its operations are not counted."""
    card, evaluator = network_files.read_card(path), load_evaluator(path)
    inline = isinstance(evaluator, InlineEvaluator)
    kind = f"inline {card.precision}" if inline else evaluator.name
    width = 0 if is_leela(path) else parse(card.size).width
    return Subject(card.name, kind, width, evaluator, {})


def _torch_is_here() -> bool:
    is_installed = all(importlib.util.find_spec(name) for name in ("torch", "onnx", "onnxscript"))
    if not is_installed:
        say("without torch and onnx no convolutional networks can be made: left out")
    return is_installed


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
    weights = network_files.load_weights(exact.with_suffix(".safetensors"))
    make.export(exact.with_suffix(".safetensors"), exact)
    make.quantise_onnx(exact, integers, random_leaves(make.CALIBRATION))
    width, operations = parse(size).width, float(sum(map(_operations, weights.values())))
    yield Subject(size, "onnx float32", width, load_evaluator(exact), {"float32": operations})
    yield Subject(size, "onnx int8", width, load_evaluator(integers), {"int8": operations})
    from kibitz.nets.evaluators.torch import TorchEvaluator

    through_torch = TorchEvaluator(exact.with_suffix(".safetensors"), threads=1)
    yield Subject(size, "torch float32", width, through_torch, {"float32": operations})


def _operations(weight: np.ndarray) -> int:
    """Of one layer: a convolution is done for 64 squares, unless it covers the whole board."""
    squares = 64 if weight.ndim == 4 and weight.shape[-1] < 8 else 1
    return 2 * weight.size * squares if weight.ndim > 1 else 0

"""How fast positions are evaluated: evaluator -> **evaluations a second** -> bench, docs.

An inline evaluator is measured as the search uses it: moves generated, value and logits computed,
position by position. *Tree* positions are the children of one position after another, which share
most of their features as leaves of a search do; *scattered* ones come from games of their own.
"""

from __future__ import annotations

import functools
import threading
import time

import numpy as np

from kibitz.bench.timing import best_rate
from kibitz.encoding.leaves import Leaves, part_of, random_leaves
from kibitz.evaluator.batched import BatchedEvaluator, new_evaluations
from kibitz.evaluator.inline import InlineEvaluator, logits_of, value_of
from kibitz.evaluator.layers import INT8, dot_products, float32_tail_dots, int16_tail_dots
from kibitz.kernel.compile import kernel
from kibitz.kernel.records import aligned
from kibitz.position.moves import MAX_MOVES, generate
from kibitz.position.play import play
from kibitz.position.state import new_positions

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
    found = {}
    for name, work, size in (
        ("int8", _int8_peak, 1),
        ("int16", _int16_peak, 2),
        ("float32", _float32_peak, 4),
    ):
        operations = 2 * PEAK_ROUNDS * PEAK_ROWS * PEAK_BYTES // size
        found[name] = best_rate(functools.partial(work, *places), operations, rounds) / 1e9
    found["float32"] = max(found["float32"], _matrix_peak(rounds))
    return found


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

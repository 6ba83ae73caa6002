"""Atomic operations: exact totals from two threads, where plain writes would lose some."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kibitz.jit.atomics import atomic_add, atomic_load, atomic_store, compare_and_swap
from kibitz.jit.compile import COMPILED, kernel
from kibitz.jit.records import one_record

ROUNDS = 2_000_000 if COMPILED else 2_000
ONE: Any = np.float32(1)
COUNTER = np.dtype(
    [
        ("before", np.int32),
        ("count", np.int64),
        ("small", np.uint16),
        ("mean", np.float32),
        ("after", np.int32),
    ],
    align=True,
)


@kernel
def add_to_field(counter: np.record, rounds: int) -> None:
    for _ in range(rounds):
        atomic_add(counter, "count", 3)


@kernel
def add_to_element(numbers: np.ndarray, index: int, rounds: int) -> None:
    for _ in range(rounds):
        atomic_add(numbers, index, 1)


@kernel
def swap_up_field(counter: np.record, rounds: int) -> int:
    """Add one by compare-and-swap; returns how often another thread came first."""
    lost = 0
    for _ in range(rounds):
        while True:
            seen = atomic_load(counter, "count")
            if compare_and_swap(counter, "count", seen, seen + 1):
                break
            lost += 1
    return lost


@kernel
def swap_up_float(counter: np.record, rounds: int) -> None:
    for _ in range(rounds):
        while True:
            seen = counter.mean
            if compare_and_swap(counter, "mean", seen, seen + ONE):
                break


@kernel
def add_and_tell(counter: np.record, amount: int) -> int:
    return atomic_add(counter, "small", amount)  # type: ignore[no-any-return]


@kernel
def swap_element(numbers: np.ndarray, index: int, expected: int, value: int) -> bool:
    return compare_and_swap(numbers, index, expected, value)


@kernel
def publish(values: np.ndarray, flag: np.ndarray, rounds: int) -> None:
    for value in range(1, rounds + 1):
        values[0] = value
        atomic_store(flag, 0, value)
        while atomic_load(flag, 1) != value:
            pass


@kernel
def receive(values: np.ndarray, flag: np.ndarray, rounds: int) -> int:
    """Answer every published value; returns how many arrived before the flag did."""
    late = 0
    for value in range(1, rounds + 1):
        while atomic_load(flag, 0) != value:
            pass
        late += values[0] != value
        atomic_store(flag, 1, value)
    return late


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Run calls on threads of their own that start at the same moment; their results."""
    start = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(index: int) -> None:
        start.wait()
        results[index] = calls[index]()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


in_parallel = pytest.mark.skipif(
    not COMPILED, reason="in plain Python the operations are not atomic, only the same arithmetic"
)


@in_parallel
def test_two_threads_add_to_a_field() -> None:
    counter = one_record(COUNTER)
    add_to_field(counter, 1)  # compiled before the threads start
    together(*[lambda: add_to_field(counter, ROUNDS)] * 2)
    assert int(counter["count"]) == 3 * (2 * ROUNDS + 1)
    assert (int(counter["before"]), int(counter["after"]), int(counter["small"])) == (0, 0, 0)


@in_parallel
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint32])
def test_two_threads_add_to_an_element(dtype: Any) -> None:
    numbers = np.zeros(3, dtype=dtype)
    add_to_element(numbers, 1, 1)
    together(*[lambda: add_to_element(numbers, 1, ROUNDS)] * 2)
    assert numbers.tolist() == [0, 2 * ROUNDS + 1, 0]


@in_parallel
def test_two_threads_swap() -> None:
    counter = one_record(COUNTER)
    swap_up_field(counter, 1)
    together(*[lambda: swap_up_field(counter, ROUNDS)] * 2)
    assert int(counter["count"]) == 2 * ROUNDS + 1


@in_parallel
def test_two_threads_swap_a_float() -> None:
    counter = one_record(COUNTER)
    swap_up_float(counter, 1)
    together(*[lambda: swap_up_float(counter, ROUNDS)] * 2)
    assert float(counter["mean"]) == 2 * ROUNDS + 1  # exact below 2 ** 24
    assert (int(counter["small"]), int(counter["after"])) == (0, 0)


@in_parallel
def test_a_flag_never_overtakes_what_it_announces() -> None:
    values, flag = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    publish(values, flag, 0)
    receive(values, flag, 0)
    rounds = 2_000  # every round waits for the other thread, which may not be running
    results = together(lambda: publish(values, flag, rounds), lambda: receive(values, flag, rounds))
    assert results[1] == 0
    assert flag.tolist() == [rounds, rounds]


def test_single_operations() -> None:
    counter = one_record(COUNTER)
    assert int(add_and_tell(counter, 65_530)) == 0
    assert int(add_and_tell(counter, 10)) == 65_530
    assert int(counter["small"]) == 4  # wraps within its 16 bits
    assert (int(counter["before"]), float(counter["mean"])) == (0, 0.0)
    numbers = np.array([5, 6, 7], dtype=np.int32)
    assert not swap_element(numbers, 1, 5, 9)
    assert swap_element(numbers, 1, 6, 9)
    assert numbers.tolist() == [5, 9, 7]

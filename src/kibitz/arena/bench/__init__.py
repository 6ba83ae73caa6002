"""Every measurement of speed; `kibitz bench` prints them. Here: how often a second work is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SHORTEST_TIME = 0.05  # seconds a measurement takes at least
Work = Callable[[], object]


def best_rate(work: Work, count: int, rounds: int, threads: int = 1) -> float:
    """Units a second, if one call of `work` does `count` of them; the best of some rounds.

    One thread is measured in processor time, so that other programs disturb little; several can
    only be measured by the clock on the wall.
    """
    clock = time.thread_time if threads == 1 else time.perf_counter
    work()  # compiled, and in the caches
    start = clock()
    work()
    repeats = 1 + int(SHORTEST_TIME / max(clock() - start, 1e-6))
    return count * repeats * threads / min(_round(work, repeats, threads) for _ in range(rounds))


def _round(work: Work, repeats: int, threads: int) -> float:
    if threads == 1:
        start = time.thread_time()
        _repeat(work, repeats)
        return time.thread_time() - start
    team = [threading.Thread(target=_repeat, args=(work, repeats)) for _ in range(threads)]
    start = time.perf_counter()
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    return time.perf_counter() - start


def _repeat(work: Work, repeats: int) -> None:
    for _ in range(repeats):
        work()

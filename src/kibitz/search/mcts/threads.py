"""Playouts with an inline evaluator: compiled, on one thread or several at each tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from kibitz.jit.helper import compile_beside, compile_own
from kibitz.jit.records import as_record
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.search.mcts.playout.playout import playouts
from kibitz.search.mcts.playout.root import evaluate_root
from kibitz.search.mcts.rules.parameters import Behaviour, Rule
from kibitz.search.mcts.tree.compaction import compact
from kibitz.search.mcts.tree.nodes import NOBODY, THREADS
from kibitz.search.mcts.treesearch import Pace, TreeSearch

DIRECT_PLAYOUTS = 2_000  # pieces up to this size run on the calling thread
POLL_SECONDS = 0.005
FREQUENT_PARTS = 16  # of the playouts done, between two frequent checks
PIECE_SECONDS = 0.001  # of a search in a hurry


class Threads:
    """The threads that play out, each with its scratch memory for the evaluator."""

    busy, patience = False, 0.0  # nothing is in flight between two pieces; each ends with a check

    def __init__(
        self,
        searches: Sequence[TreeSearch],
        evaluator: InlineEvaluator,
        rule: Rule,
        behaviour: Behaviour,
    ) -> None:
        self.evaluator, self.rule = evaluator, as_record(rule)
        threads = max(len(search.contexts) for search in searches)
        # A thread that is alone, at a small tree or for a short time, works as the only one does.
        self.single = as_record(behaviour._replace(shared=NOBODY))
        together = as_record(behaviour._replace(shared=THREADS))
        self.behaviour = together if threads > 1 else self.single
        self._scratches = [evaluator.new_scratch() for _ in range(threads)]
        self._compile_beside(self._arguments(searches[0], 0, self.behaviour))
        self.pool: ThreadPoolExecutor | None = None  # started when it is first needed

    @staticmethod
    def _compile_beside(arguments: tuple[Any, ...]) -> None:
        """Have a second process compile the playouts while this one compiles compaction."""
        _rule, tree, context, behaviour, *network, _control = arguments
        root = evaluate_root, (tree, context, behaviour, *network)
        compile_beside([root, (playouts, arguments)], own=[(compact, (tree, 0, 0))])

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown(wait=True)

    def cancel(self) -> None:
        """Nothing is in flight between two pieces."""

    def evaluate_roots(self, searches: Sequence[TreeSearch]) -> list[int]:
        """Evaluate roots, their moves and logits left in the contexts; the numbers of moves."""
        compile_own()
        evaluator, scratch = self.evaluator.record, self._scratches[0].record
        pairs = [(search.memory.record, search.contexts[0].record) for search in searches]
        return [int(evaluate_root(*pair, self.behaviour, evaluator, scratch)) for pair in pairs]

    def advance(self, searches: Sequence[TreeSearch], pace: Pace) -> None:
        """Play out one piece of every search, up to the next check whether to stop."""
        for search in searches:
            started = time.perf_counter()
            self._play_out(search, self._hand_out(search, pace), pace.should_stop)
            fast = time.perf_counter() - started < PIECE_SECONDS
            pace.piece = min(DIRECT_PLAYOUTS, 2 * pace.piece) if fast else max(1, pace.piece // 2)
            if search.control.full and not search.control.stop:
                search.make_room()

    def _hand_out(self, search: TreeSearch, pace: Pace) -> int:
        """Set the playouts before the next check; returns how many threads they are for."""
        left = size = search.left
        threads = len(search.contexts)
        single = pace.slow_start_nodes - search.visits  # playouts before the other threads join
        if pace.short:  # waking another thread up takes too long
            size, threads = min(size, pace.piece), 1
        elif threads > 1 and single > 0:
            size, threads = min(size, single), 1
        if pace.frequent:
            size = min(size, DIRECT_PLAYOUTS, max(1, search.done // FREQUENT_PARTS))
        search.control.tickets, search.control.later = size, left - size
        return threads

    def _play_out(self, search: TreeSearch, threads: int, should_stop: Callable[[], bool]) -> None:
        """Use up the tickets, unless the tree is full or `should_stop`, every 5 ms, is true."""
        control, behaviour = search.control, self.single if threads == 1 else self.behaviour
        if threads == 1 and control.tickets <= DIRECT_PLAYOUTS:
            self._work(search, 0, behaviour)
            return
        self.pool = self.pool or ThreadPoolExecutor(len(self._scratches), "search")
        numbers = range(threads)
        futures = [self.pool.submit(self._work, search, number, behaviour) for number in numbers]
        try:
            while wait(futures, timeout=POLL_SECONDS).not_done:
                if should_stop():
                    control.stop = 1
        finally:
            control.stop = int(control.stop or any(not future.done() for future in futures))
            wait(futures)
        for future in futures:
            future.result()

    def _work(self, search: TreeSearch, index: int, behaviour: np.record) -> int:
        """What one thread does."""
        return int(playouts(*self._arguments(search, index, behaviour)))

    def _arguments(self, search: TreeSearch, index: int, behaviour: np.record) -> tuple[Any, ...]:
        return (
            self.rule,
            search.memory.record,
            search.contexts[index].record,
            behaviour,
            self.evaluator.record,
            self._scratches[index].record,
            search.control,
        )

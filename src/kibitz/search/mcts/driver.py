"""Running playouts on one tree with one thread or several, and making room when it is full.

Searcher -> **Driver** -> playout kernel (no Python per node)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from kibitz.evaluator.inline import InlineEvaluator
from kibitz.kernel.records import as_record, one_record
from kibitz.search.mcts.playout.playout import playouts
from kibitz.search.mcts.playout.root import evaluate_root, expand_root, keep_moves
from kibitz.search.mcts.rules.parameters import Behaviour, Rule
from kibitz.search.mcts.tree.context import CONTROL, ContextMemory
from kibitz.search.mcts.tree.nodes import LEAF, NOBODY, THREADS, TreeMemory
from kibitz.search.mcts.tree.reuse import make_room

DIRECT_PLAYOUTS = 2_000  # searches up to this size run on the calling thread
POLL_SECONDS = 0.005
WATCHED_PARTS = 16  # of the playouts done, between two looks at a search that is watched
FIRST_PIECE, PIECE_SECONDS = 64, 0.001  # of a search in a hurry: playouts, and how long it is


class Driver:
    """Threads, their contexts and scratches, around one tree and one inline evaluator."""

    def __init__(
        self,
        memory: TreeMemory,
        evaluator: InlineEvaluator,
        rule: Rule,
        behaviour: Behaviour,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        self.memory, self.evaluator = memory, evaluator
        self.rule = as_record(rule)
        self.behaviour = as_record(behaviour._replace(shared=THREADS if threads > 1 else NOBODY))
        self.contexts = [ContextMemory(seed + 7919 * thread) for thread in range(threads)]
        self._scratches = [evaluator.new_scratch() for _ in range(threads)]
        self._pool: ThreadPoolExecutor | None = None
        self.control = one_record(CONTROL)
        self.slow_start_nodes, self.slow_start_rows = 0, 1  # one thread has no rows

    def close(self) -> None:
        """End the threads."""
        self.control.stop = 1
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def set_root(self, line: np.ndarray) -> None:
        """Tell every context the game so far; POSITION [plies + 1], the root last."""
        for context in self.contexts:
            context.set_line(line)

    def open_root(self, allowed: frozenset[int] | None) -> int:
        """Evaluate and expand a fresh root; returns its number of moves."""
        context, scratch = self.contexts[0].record, self._scratches[0].record
        tree = self.memory.record
        count = int(evaluate_root(tree, context, self.behaviour, self.evaluator.record, scratch))
        if allowed is not None:
            count = keep_moves(context, count, allowed)
        if count and self.memory.nodes[0]["state"] == LEAF:
            expand_root(tree, context, self.behaviour, count)
        return count

    def run(
        self,
        playouts_left: int,
        look: Callable[[], bool],
        by_playouts: bool = True,
        hurried: bool = False,
        watched: bool = False,
    ) -> int:
        """Play out until `playouts_left` are done or `look`, asked every 5 ms, says stop.

        Returns how many playouts were done. `look` runs on the calling thread and may read the
        tree meanwhile. `by_playouts` says that their number is the budget of the move, `hurried`
        that 5 ms are long: then it is asked every millisecond or so. `watched`: it is asked
        whenever the playouts have grown by a part, however fast they are.
        """
        before = self.playouts
        self.control.stop, self.control.time_used = 0, 0.0
        self.control.budget = playouts_left if by_playouts else 0
        if hurried:
            self._run_hurried(playouts_left, look)
            return self.playouts - before
        if watched:
            self._run_watched(playouts_left, look)
            return self.playouts - before
        slow = min(playouts_left, self._slow_start()) if len(self.contexts) > 1 else 0
        self._hand_out(slow, playouts_left)
        if slow > 0:
            self._run_until(look, threads=1)
        self._hand_out(max(0, playouts_left - slow), playouts_left - slow)
        if not self.control.stop:
            self._run_until(look, threads=len(self.contexts))
        return self.playouts - before

    def _run_hurried(self, playouts_left: int, look: Callable[[], bool]) -> None:
        """Play out in short pieces on this thread: waking another one up takes too long."""
        piece, end = FIRST_PIECE, self.playouts + playouts_left
        while self.playouts < end and not self.control.stop:
            started = time.perf_counter()
            self._hand_out(min(piece, end - self.playouts), end - self.playouts)
            self._run_until(look, threads=1)
            fast = time.perf_counter() - started < PIECE_SECONDS
            piece = min(DIRECT_PLAYOUTS, 2 * piece) if fast else max(1, piece // 2)

    def _run_watched(self, playouts_left: int, look: Callable[[], bool]) -> None:
        """Play out in pieces that grow with what was done; the budget stays the whole one."""
        start, end = self.playouts, self.playouts + playouts_left
        while self.playouts < end and not self.control.stop:
            piece = max(1, min(DIRECT_PLAYOUTS, (self.playouts - start) // WATCHED_PARTS))
            self._hand_out(min(piece, end - self.playouts), end - self.playouts)
            several = self.playouts - start >= self._slow_start()
            self._run_until(look, threads=len(self.contexts) if several else 1)
            if several and len(self.contexts) > 1 and not self.control.stop:
                self.control.stop = int(look())  # threads may be done before they are looked at

    def _hand_out(self, tickets: int, left: int) -> None:
        """Let so many of the playouts that are left be started."""
        self.control.tickets, self.control.later = tickets, left - tickets

    def _slow_start(self) -> int:
        """Playouts that one thread does alone before the others may join."""
        return max(0, self.slow_start_nodes - int(self.memory.edges[0]["visits"]))

    def _run_until(self, look: Callable[[], bool], threads: int) -> None:
        """Use up the tickets, making room as often as it takes."""
        while True:
            self.control.full = 0
            self._run_once(look, threads)
            if not self.control.full or self.control.stop:
                return
            for context in self.contexts:
                context.forget_questions()
            make_room(self.memory)

    @property
    def playouts(self) -> int:
        """Playouts finished since the contexts were made."""
        return sum(int(context.record.playouts) for context in self.contexts)

    def stop(self) -> None:
        """Make the running playouts return; safe to call from any thread."""
        self.control.stop = 1

    def _run_once(self, look: Callable[[], bool], threads: int) -> None:
        """One run of all threads, until tickets, room or patience are at an end."""
        small = self.control.tickets <= DIRECT_PLAYOUTS
        if threads == 1 and small:
            self._work(0)
            self.control.stop = int(self.control.stop or look())
            return
        futures = [self._executor().submit(self._work, index) for index in range(threads)]
        try:
            while wait(futures, timeout=POLL_SECONDS).not_done:
                if look():
                    self.control.stop = 1
        finally:
            self.control.stop = int(self.control.stop or _unfinished(futures))
            wait(futures)
        for future in futures:
            future.result()

    def _executor(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self.contexts), "search")
        return self._pool

    def arguments(self, index: int) -> tuple[Any, ...]:
        """What the playouts of one thread are called with."""
        return (
            self.rule,
            self.memory.record,
            self.contexts[index].record,
            self.behaviour,
            self.evaluator.record,
            self._scratches[index].record,
            self.control,
        )

    def _work(self, index: int) -> int:
        return int(playouts(*self.arguments(index)))


def _unfinished(futures: list[Future[Any]]) -> bool:
    return any(not future.done() for future in futures)

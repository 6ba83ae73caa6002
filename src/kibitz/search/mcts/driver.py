"""Runs playouts: on threads with inline evaluators, in batches with the others."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from kibitz.jit.helper import compile_beside, compile_own
from kibitz.jit.records import as_record
from kibitz.nets.encodings.leaves import leaves_of, new_leaves, part_of
from kibitz.nets.evaluators.batched import (
    BatchedEvaluator,
    Evaluations,
    evaluated,
    refuse_not_finite,
)
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.moves import MAX_MOVES
from kibitz.search.mcts.playout.gather import BatchMemory, back_up_batch, cancel, gather
from kibitz.search.mcts.playout.leaf import adjusted
from kibitz.search.mcts.playout.playout import DONE, NO_ROOM, playouts
from kibitz.search.mcts.playout.root import evaluate_root, expand_root, keep_moves, set_root_value
from kibitz.search.mcts.rules.parameters import Behaviour, Rule
from kibitz.search.mcts.tree.context import Pace, TreeSearch
from kibitz.search.mcts.tree.memory import compact
from kibitz.search.mcts.tree.nodes import BATCHES, LEAF, NOBODY, THREADS

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


# --- batches --------------------------------------------------------------------------------------
#
# Playouts with a batched evaluator: gather, evaluate and back up, in overlap.
#
# While one batch is with the evaluator the next is gathered. Trees are only ever touched by the
# calling thread, so a search with a fixed batch size repeats itself bit for bit. A batch holds rows
# of every tree that still searches: games in step share one call of the evaluator.


LOOK_SECONDS = 0.005
STARTED_AT_ONCE = 2_000  # playouts of one gathering: all may end at once, without a check
HURRIED_ROWS = 8  # of a batch, if milliseconds count


class Batch:
    """Memory of one batch: leaves, evaluations, and the paths that lead to the leaves."""

    def __init__(self, searches: Sequence[TreeSearch], rows: int, history: int) -> None:
        self.paths = {id(search): BatchMemory(rows) for search in searches}
        self.parts: list[tuple[TreeSearch, BatchMemory]] = []  # those that gathered this time
        rows *= len(searches)
        self.leaves = new_leaves(rows, history)
        self.out = Evaluations(
            np.zeros((rows, 3), np.float32), np.zeros(rows * MAX_MOVES, np.float32)
        )
        self.filled = 0
        self.answer: Future[None] | None = None

    def filled_out(self) -> Evaluations:
        """Where the evaluations of the filled rows go."""
        moves = int(self.leaves.offsets[self.filled])
        return Evaluations(self.out.wdl[: self.filled], self.out.logits[:moves])

    def holds(self, search: TreeSearch) -> bool:
        """Whether the batch has pending visits of a tree."""
        return any(other is search and paths.record.filled for other, paths in self.parts)


class Batches:
    """A few batches in flight, each with rows for every tree."""

    patience = LOOK_SECONDS

    def __init__(
        self,
        searches: Sequence[TreeSearch],
        evaluator: BatchedEvaluator,
        rule: Rule,
        behaviour: Behaviour,
        rows: int,
        in_flight: int,
    ) -> None:
        self.evaluator, self.rule, self._rows = evaluator, as_record(rule), rows
        self.behaviour = as_record(behaviour._replace(shared=BATCHES, expand_at=1))
        self.free = [Batch(searches, rows, evaluator.sees.history) for _ in range(in_flight)]
        self._waiting: deque[Batch] = deque()
        self.pool = ThreadPoolExecutor(1, "evaluate") if in_flight > 1 else None

    @property
    def busy(self) -> bool:
        """Whether batches are in flight."""
        return bool(self._waiting)

    def close(self) -> None:
        """End the evaluator's thread."""
        if self.pool is not None:
            self.pool.shutdown(wait=True)

    def evaluate_roots(self, searches: Sequence[TreeSearch]) -> list[int]:
        """Evaluate roots in one batch, moves and logits left in the contexts; numbers of moves."""
        if not searches:
            return []
        lines = [search.contexts[0].known_line() for search in searches]
        leaves = leaves_of(lines, self.evaluator.sees.history)
        out = evaluated(self.evaluator, leaves)
        refuse_not_finite(self.evaluator.name, *out)
        for row, search in enumerate(searches):
            start, end = int(leaves.offsets[row]), int(leaves.offsets[row + 1])
            context = search.contexts[0].record
            context.moves[: end - start] = leaves.moves[start:end]
            context.logits[: end - start] = out.logits[start:end]
            value = float(out.wdl[row, 0] - out.wdl[row, 2])
            value = adjusted(self.behaviour, leaves.positions[row, 0], value)
            set_root_value(search.memory.record, value, float(out.wdl[row, 1]))
        return np.diff(leaves.offsets[: len(searches) + 1]).tolist()

    def advance(self, searches: Sequence[TreeSearch], pace: Pace) -> None:
        """Send one batch if there is one to gather, and receive one when it is time for it."""
        outcome, gathering = DONE, [search for search in searches if not search.control["full"]]
        if gathering and self.free:
            outcome = self._send(gathering, pace)
        if self._waiting and (outcome != DONE or not gathering or pace.short or not self.free):
            self._receive()
        for search in searches:
            if search.control["full"] and not any(batch.holds(search) for batch in self._waiting):
                search.make_room()

    def _send(self, searches: Sequence[TreeSearch], pace: Pace) -> int:
        """Gather one batch and give it to the evaluator; what the first to be cut short met."""
        batch, outcome = self.free.pop(), DONE
        batch.filled, batch.parts = 0, []
        for search in searches:
            paths = batch.paths[id(search)]
            end = self._gather(search, batch, paths, pace)
            batch.parts.append((search, paths))
            batch.filled += int(paths.record["filled"])
            search.control["full"] = int(end == NO_ROOM)
            outcome = outcome or end
        if batch.filled == 0:
            self._cancel(batch)
            return outcome
        self._waiting.append(batch)
        arguments = (part_of(batch.leaves, 0, batch.filled), batch.filled_out())
        if self.pool is None or pace.alone:
            batch.answer = None
            self.evaluator.evaluate(*arguments)
        else:
            batch.answer = self.pool.submit(self.evaluator.evaluate, *arguments)
        return outcome

    def _gather(self, search: TreeSearch, batch: Batch, paths: BatchMemory, pace: Pace) -> int:
        """Fill a tree's rows of a batch, few of them while the tree is small; the outcome."""
        rows, left = self._rows, search.left
        if pace.short:
            rows = min(rows, HURRIED_ROWS)
        if search.visits < pace.slow_start_nodes:
            rows = min(rows, pace.slow_start_rows)
        playouts = min(left, STARTED_AT_ONCE)
        search.control["later"] = left - playouts
        context = search.contexts[0]
        paths.record["first"] = batch.filled
        outcome = gather(
            self.rule,
            search.memory.record,
            context.record,
            self.behaviour,
            context.line.view(np.recarray),
            context.past,
            paths.record,
            batch.leaves,
            rows,
            playouts,
            search.control,
        )
        return int(outcome)

    def _receive(self) -> None:
        """Back up the oldest batch; make room where a tree is full, its other visits cancelled."""
        batch = self._waiting[0]
        if batch.answer is not None:
            batch.answer.result()
        refuse_not_finite(self.evaluator.name, *batch.filled_out())
        self._waiting.popleft()
        leaves, out = batch.leaves, batch.out
        for search, paths in batch.parts:
            tree, context = search.memory.record, search.contexts[0].record
            if not back_up_batch(
                tree, context, self.behaviour, paths.record, leaves, out.wdl, out.logits
            ):
                for other in self._waiting:
                    self._cancel_part(other, search)
                search.make_room()
        self.free.append(batch)

    def _cancel_part(self, batch: Batch, search: TreeSearch) -> None:
        """Take back the pending visits of one tree in a batch."""
        for other, paths in batch.parts:
            if other is search:
                cancel(search.memory.record, search.contexts[0].record, paths.record, 0)

    def _cancel(self, batch: Batch) -> None:
        """Take back all of a batch, whatever its evaluation will be."""
        if batch.answer is not None:
            wait([batch.answer])
        for search, _ in batch.parts:
            self._cancel_part(batch, search)
        self.free.append(batch)

    def cancel(self) -> None:
        """Take back all batches in flight."""
        while self._waiting:
            self._cancel(self._waiting.popleft())


# --- the driver -----------------------------------------------------------------------------------
#
# One loop for all playouts: threads or batches, on one tree or on many in step.
#
# Budgets, checks whether to stop, short times and slow start work the same for all of them.


class Driver:
    """Plays out on all its trees, with one evaluator."""

    def __init__(
        self,
        searches: Sequence[TreeSearch],
        evaluator: InlineEvaluator | BatchedEvaluator,
        rule: Rule,
        behaviour: Behaviour,
        rows: int = 32,
        in_flight: int = 2,
    ) -> None:
        """`rows` of a batch belong to each tree; `in_flight` batches are evaluated at once."""
        self.searches = [*searches]
        self.work: Threads | Batches
        if isinstance(evaluator, InlineEvaluator):
            self.work = Threads(searches, evaluator, rule, behaviour)
        else:
            self.work = Batches(searches, evaluator, rule, behaviour, rows, in_flight)
        self.slow_start_nodes, self.slow_start_rows, self.alone = 0, rows, False

    def close(self) -> None:
        """End the running playouts and the threads."""
        self.stop()
        self.work.close()

    def stop(self) -> None:
        """Make the running playouts return; safe to call from any thread."""
        for search in self.searches:
            search.control.stop = 1

    def open_roots(
        self, searches: Sequence[TreeSearch], allowed: frozenset[int] | None = None
    ) -> None:
        """Evaluate and expand fresh roots, with the `allowed` moves only unless it is None."""
        counts = self.work.evaluate_roots(searches)
        for search, count in zip(searches, counts, strict=True):
            context = search.contexts[0].record
            if allowed is not None:
                count = keep_moves(context, count, allowed)
            if count and search.memory.nodes[0]["state"] == LEAF:
                expand_root(search.memory.record, context, self.work.behaviour, count)

    def run(
        self,
        playouts: Sequence[int],
        should_stop: Callable[[], bool] = lambda: False,
        by_playouts: bool = True,
        short: bool = False,
        frequent: bool = False,
    ) -> int:
        """Play out until each tree has had its `playouts` or `should_stop` is true; how many.

        `should_stop` is called every 5 ms on the calling thread and may read the trees meanwhile.
        `by_playouts` says that their number is the budget of the move, `short` that 5 ms are long:
        `should_stop` is called every millisecond or so. `frequent`: it is called whenever the
        playouts have grown by a part, however fast they are.
        """
        for search, count in zip(self.searches, playouts, strict=True):
            search.begin(count, by_playouts)
        slow_start = self.slow_start_nodes, self.slow_start_rows
        pace = Pace(should_stop, short, frequent, *slow_start, self.alone)
        try:
            self._run(pace, 0.0 if short or frequent else self.work.patience)
        finally:
            self.work.cancel()  # after an error: nothing of it stays in a tree
        return sum(search.done for search in self.searches)

    def _run(self, pace: Pace, patience: float) -> None:
        """Play out, and check whether to stop when the last check is `patience` seconds ago."""
        checked, stopped = time.monotonic(), False
        while True:
            wanting = [search for search in self.searches if search.left > 0]
            if not wanting and not self.work.busy:
                return
            self.work.advance(wanting, pace)
            if not stopped and time.monotonic() - checked >= patience:
                checked, stopped = time.monotonic(), pace.should_stop()
                if stopped:
                    self.stop()

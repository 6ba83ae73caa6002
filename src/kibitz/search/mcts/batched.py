"""Running a search whose evaluator answers in batches: gather, evaluate, back up, in overlap.

    Searcher -> **BatchedDriver** -> gather / evaluate / back up

While one batch is with the evaluator the next is gathered. The tree itself is only ever touched by
the calling thread, so a search with a fixed batch size repeats itself bit for bit.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np

from kibitz.encoding.leaves import Leaves, leaves_of, new_leaves
from kibitz.evaluator.batched import (
    BatchedEvaluator,
    Evaluations,
    evaluated,
    refuse_not_finite,
)
from kibitz.kernel.records import as_record, one_record
from kibitz.position.moves import MAX_MOVES
from kibitz.search.mcts.playout.gather import (
    BatchMemory,
    back_up_batch,
    cancel,
    cancel_collisions,
    gather,
)
from kibitz.search.mcts.playout.leaf import adjusted
from kibitz.search.mcts.playout.playout import NO_ROOM
from kibitz.search.mcts.playout.root import expand_root, keep_moves, set_root_value
from kibitz.search.mcts.rules.parameters import Behaviour, Rule
from kibitz.search.mcts.tree.context import CONTROL, PAST, ContextMemory
from kibitz.search.mcts.tree.nodes import BATCHES, LEAF, TreeMemory
from kibitz.search.mcts.tree.reuse import make_room
from kibitz.search.proof import is_settled

LOOK_SECONDS = 0.005
STARTED_AT_ONCE = 2_000  # playouts of one gathering: all may end at once, and nobody looks then
HURRIED_ROWS = 8  # of a batch, if milliseconds count


class Batch:
    """Room for one batch, and what is happening to it."""

    def __init__(self, rows: int, history: int) -> None:
        self.paths = BatchMemory(rows)
        self.leaves = new_leaves(rows, history)
        self.out = Evaluations(
            np.zeros((rows, 3), np.float32), np.zeros(rows * MAX_MOVES, np.float32)
        )
        self.filled = 0
        self.answer: Future[None] | None = None

    def filled_leaves(self) -> Leaves:
        """The rows that are filled, as views."""
        count, moves = self.filled, int(self.leaves.offsets[self.filled])
        return Leaves(
            self.leaves.positions[:count],
            self.leaves.known[:count],
            self.leaves.repetitions[:count],
            self.leaves.moves[:moves],
            self.leaves.offsets[: count + 1],
        )

    def filled_out(self) -> Evaluations:
        """Where the answers for the filled rows go."""
        moves = int(self.leaves.offsets[self.filled])
        return Evaluations(self.out.wdl[: self.filled], self.out.logits[:moves])


class BatchedDriver:
    """One context, one tree, one evaluator, and a few batches in flight."""

    def __init__(
        self,
        memory: TreeMemory,
        evaluator: BatchedEvaluator,
        rule: Rule,
        behaviour: Behaviour,
        rows: int = 32,
        in_flight: int = 2,
        seed: int = 0,
    ) -> None:
        self.memory, self.evaluator = memory, evaluator
        self.rule = as_record(rule)
        self.behaviour = as_record(behaviour._replace(shared=BATCHES, expand_at=1))
        self.context = ContextMemory(seed)
        self.contexts = [self.context]
        self.control = one_record(CONTROL)
        self.slow_start_nodes, self.slow_start_rows = 0, rows
        self._free = [Batch(rows, evaluator.sees.history) for _ in range(in_flight)]
        self._waiting: deque[Batch] = deque()
        self._most_rows = rows
        self._pool = ThreadPoolExecutor(1, "evaluate") if in_flight > 1 else None

    @property
    def playouts(self) -> int:
        """Playouts started since the context was made."""
        return int(self.context.record.playouts)

    def close(self) -> None:
        """End the evaluator's thread."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def stop(self) -> None:
        """Make the running playouts return; safe to call from any thread."""
        self.control.stop = 1

    def set_root(self, line: np.ndarray) -> None:
        """Tell the context the game so far; POSITION [plies + 1], the root last."""
        self.context.set_line(line)

    def open_root(self, allowed: frozenset[int] | None) -> int:
        """Evaluate and expand a fresh root; returns its number of moves."""
        line = self.context.line[PAST - self.context.past : PAST + 1].view(np.recarray)
        leaves = leaves_of([line], self.evaluator.sees.history)
        out = evaluated(self.evaluator, leaves)
        refuse_not_finite(self.evaluator.name, *out)
        context, count = self.context.record, len(leaves.moves)
        context.moves[:count], context.logits[:count] = leaves.moves, out.logits[:count]
        value = float(out.wdl[0, 0] - out.wdl[0, 2])
        value = adjusted(self.behaviour, leaves.positions[0, 0], value)
        set_root_value(self.memory.record, value, float(out.wdl[0, 1]))
        if allowed is not None:
            count = keep_moves(context, count, allowed)
        if count and self.memory.nodes[0]["state"] == LEAF:
            expand_root(self.memory.record, context, self.behaviour, count)
        return count

    def run(
        self,
        playouts_left: int,
        look: Callable[[], bool],
        by_playouts: bool = True,
        hurried: bool = False,
    ) -> int:
        """Play out until `playouts_left` are done or `look` says stop; returns how many were.

        `look` is asked every 5 ms or, if the search is `hurried`, after every small batch.
        """
        before = self.playouts
        try:
            self._run(playouts_left, look, by_playouts, hurried)
        finally:
            while self._waiting:  # after an error: nothing of it stays in the tree
                self._abandon(self._waiting.popleft())
        return self.playouts - before

    def _run(
        self, playouts_left: int, look: Callable[[], bool], by_playouts: bool, hurried: bool
    ) -> None:
        before, self.control.stop, self.control.time_used = self.playouts, 0, 0.0
        self.control.budget = playouts_left if by_playouts else 0
        self._most_rows = HURRIED_ROWS if hurried else len(self._free[0].out.wdl)
        patience = 0.0 if hurried else LOOK_SECONDS
        looked = time.monotonic()
        while not self.control.stop and not self._is_settled():
            left = playouts_left - (self.playouts - before)
            outcome = self._send(left) if left > 0 and self._free else 0
            if not self._waiting:
                if left <= 0 or (outcome == 0 and not self._free):
                    break
                if outcome == NO_ROOM:
                    self._make_room()
            elif left <= 0 or outcome != 0 or hurried or not self._free:
                self._receive()
            if time.monotonic() - looked >= patience:
                looked = time.monotonic()
                self.control.stop = int(self.control.stop or look())
        while self._waiting:
            self._receive()

    def _is_settled(self) -> bool:
        """Whether more visits would teach nothing, as the root is proved."""
        return bool(is_settled(int(self.memory.cold[0]["proof"])))

    def _send(self, playouts: int) -> int:
        """Gather one batch and give it to the evaluator; the outcome of gathering."""
        batch, now = self._free.pop(), min(playouts, STARTED_AT_ONCE)
        self.control.later = playouts - now
        batch.filled, _, outcome = gather(
            self.rule,
            self.memory.record,
            self.context.record,
            self.behaviour,
            self.context.line.view(np.recarray),
            self.context.past,
            batch.paths.record,
            batch.leaves,
            0,
            self._rows(len(batch.out.wdl)),
            now,
            self.control,
        )
        if batch.filled == 0:
            cancel_collisions(self.memory.record, self.context.record, batch.paths.record)
            self._free.append(batch)
            return int(outcome)
        self._waiting.append(batch)
        arguments = (batch.filled_leaves(), batch.filled_out())
        if self._pool is None:
            self.evaluator.evaluate(*arguments)
        else:
            batch.answer = self._pool.submit(self.evaluator.evaluate, *arguments)
        return int(outcome)

    def _rows(self, most: int) -> int:
        """How many leaves a batch may have: few while the tree is small and they would crowd."""
        if int(self.memory.edges[0]["visits"]) < self.slow_start_nodes:
            most = min(most, self.slow_start_rows)
        return min(most, self._most_rows)

    def _receive(self) -> None:
        """Settle the oldest batch; make room and take back what does not fit."""
        batch = self._waiting[0]
        if batch.answer is not None:
            batch.answer.result()
        refuse_not_finite(self.evaluator.name, *batch.filled_out())
        self._waiting.popleft()
        tree, context = self.memory.record, self.context.record
        cancel_collisions(tree, context, batch.paths.record)
        done = back_up_batch(
            tree,
            context,
            self.behaviour,
            batch.paths.record,
            batch.leaves,
            batch.out.wdl,
            batch.out.logits,
            0,
            batch.filled,
        )
        if done < batch.filled:
            self._take_back(batch, int(done))
        self._free.append(batch)

    def _take_back(self, batch: Batch, done: int) -> None:
        """No room: forget the rest of this batch and all others, then make room."""
        tree, context = self.memory.record, self.context.record
        cancel(tree, context, batch.paths.record, done, batch.filled)
        context.playouts -= batch.filled - done
        while self._waiting:
            self._abandon(self._waiting.popleft())
        self._make_room()

    def _abandon(self, batch: Batch) -> None:
        """Take back all of a batch, whatever its answer will be."""
        tree, context = self.memory.record, self.context.record
        if batch.answer is not None:
            wait([batch.answer])
        cancel_collisions(tree, context, batch.paths.record)
        cancel(tree, context, batch.paths.record, 0, batch.filled)
        context.playouts -= batch.filled
        self._free.append(batch)

    def _make_room(self) -> None:
        self.context.forget_questions()
        make_room(self.memory)

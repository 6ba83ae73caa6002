"""Playouts with a batched evaluator: gather, evaluate and back up, in overlap.

While one batch is with the evaluator the next is gathered. Trees are only ever touched by the
calling thread, so a search with a fixed batch size repeats itself bit for bit. A batch holds rows
of every tree that still searches: games in step share one call of the evaluator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np

from kibitz.jit.records import as_record
from kibitz.nets.encodings.leaves import leaves_of, new_leaves, part_of
from kibitz.nets.evaluators.batched import (
    BatchedEvaluator,
    Evaluations,
    evaluated,
    refuse_not_finite,
)
from kibitz.position.moves import MAX_MOVES
from kibitz.search.mcts.playout.gather import BatchMemory, back_up_batch, cancel, gather
from kibitz.search.mcts.playout.leaf import adjusted
from kibitz.search.mcts.playout.playout import DONE, NO_ROOM
from kibitz.search.mcts.playout.root import set_root_value
from kibitz.search.mcts.rules.parameters import Behaviour, Rule
from kibitz.search.mcts.tree.nodes import BATCHES
from kibitz.search.mcts.treesearch import Pace, TreeSearch

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
        if self.pool is None:
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

"""One loop for all playouts: threads or batches, on one tree or on many in step.

Budgets, checks whether to stop, short times and slow start work the same for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kibitz.nets.evaluators.batched import BatchedEvaluator
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.search.mcts.batches import Batches
from kibitz.search.mcts.playout.root import expand_root, keep_moves
from kibitz.search.mcts.rules.parameters import Behaviour, Rule
from kibitz.search.mcts.threads import Threads
from kibitz.search.mcts.tree.nodes import LEAF
from kibitz.search.mcts.treesearch import Pace, TreeSearch


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
        self.slow_start_nodes, self.slow_start_rows = 0, rows

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
        pace = Pace(should_stop, short, frequent, self.slow_start_nodes, self.slow_start_rows)
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

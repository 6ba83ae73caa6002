"""Iterative deepening on one search thread, each iteration in windows around the last score.

Python stands between two iterations only; inside, kernels count nodes and look at the control.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kibitz.jit.helper import compile_beside, compile_here
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.state import new_positions
from kibitz.search.alphabeta.pruning import value_after
from kibitz.search.alphabeta.quiescence import quiesce
from kibitz.search.alphabeta.root import search_root
from kibitz.search.alphabeta.thread import (
    ALL_PARTS,
    DECISIVE,
    INFINITE,
    MOST_PLIES,
    Context,
    ThreadMemory,
    new_control,
)

DEEPEST = MOST_PLIES - 1  # iterations
WINDOW, WIDEST = 20, 400  # centipawns on either side of the last score; twice as many after a miss
WHOLE_UNTIL = 5  # iterations without a window
MOST_SHALLOWER = 2  # plies by which a search above its window is repeated less deep


class Worker:
    """One thread of the search: its memory, its scratch for the evaluator, how deep it has come."""

    def __init__(
        self, evaluator: InlineEvaluator, entries: np.ndarray, parts: int = ALL_PARTS
    ) -> None:
        self.memory = ThreadMemory(entries, parts)
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        records = self.memory.record, evaluator.record, self._scratch.record
        self._compile_in_two(Context(new_control(), *records))
        self.depth = 0  # of the last iteration that was finished, and
        self.finished = self.memory.roots[:0]  # the root's moves as it left them

    def _compile_in_two(self, context: Context) -> None:
        """Share out what is to be compiled between two processes."""
        line = self.memory.roots[0]["line"][:0]
        last = context.network, context.scratch, new_positions(2), line, 0
        beside = [(search_root, (context, 0, 0, 0, 0)), (value_after, last)]
        compile_beside(beside, here=[(quiesce, (context, 0, 0, 0))])

    def set_root(self, line: np.ndarray, codes: list[int], generation: int, *, whole: bool) -> None:
        """Begin another search; see ThreadMemory.set_line."""
        self.memory.set_line(line, codes, whole=whole)
        self.memory.record.generation, self.depth = generation, 0
        self.finished = self.roots[:0]

    @property
    def nodes(self) -> int:
        """Positions searched."""
        return int(self.memory.record.nodes)

    @property
    def roots(self) -> np.ndarray:
        """The root's moves, best first, ROOT_MOVE [moves]."""
        return self.memory.roots[: int(self.memory.record.root_count)]

    def resume(self, granted: int = 0) -> None:
        """Be ready to go on after a stop, with so many nodes before the control is looked at."""
        record = self.memory.record
        record.stopped, record.granted = 0, record.nodes + granted

    def deepen(
        self, control: Any, depths: range, lines: int, go_on: Callable[[Worker], bool]
    ) -> None:
        """Search to one depth after the other until `go_on` says no, or the control stops it."""
        lines = self.memory.record.lines = min(lines, len(self.roots))
        for depth in depths:
            for first in range(lines):
                self._search(control, depth, first)
                if self.memory.record.stopped:
                    self._limit(first)
                    self._score_first()
                    self._sort(lines)
                    return
            self.roots["known"] = self.roots["score"]
            self._sort(lines)
            self.depth, self.finished = depth, self.roots.copy()
            if not go_on(self):
                return

    def _limit(self, first: int) -> None:
        """Moves left without a score are no better at this depth than the lines finished before."""
        if first > 0:
            left = self.roots[first:]
            most = int(self.roots["score"][:first].min())
            unscored = left["score"] == -INFINITE
            left["known"] = np.where(unscored, np.minimum(left["known"], most), left["known"])

    def _score_first(self) -> None:
        """A first move without a score is no better than the best one of the iteration before."""
        first = self.roots[0]
        if max(first["score"], first["known"]) == -INFINITE and self.depth:
            first["known"], first["length"] = self.finished[0]["known"], 0

    def _sort(self, lines: int) -> None:
        """Put the lines of MultiPV in order: a later one may have come out better."""
        shown = self.roots[:lines]
        scores = np.where(shown["score"] > -INFINITE, shown["score"], shown["known"])
        scores[scores == -INFINITE] = -DECISIVE  # what was not searched goes before what loses
        shown[:] = shown[np.argsort(-scores, kind="stable")]

    def _search(self, control: Any, depth: int, first: int) -> None:
        """Search the moves from `first` on and sort them."""
        compile_here()
        record, roots, expected = self.memory.record, self.roots, int(self.roots["known"][first])
        low, high, window, plies = -INFINITE, INFINITE, WINDOW, depth
        if depth >= WHOLE_UNTIL and abs(expected) < DECISIVE:
            low, high = expected - window, expected + window
        roots["most"][first:] = INFINITE
        while True:
            if first > 0:  # a move's line was written with its score: they stay together
                left = roots[first:]
                left["known"] = np.where(left["score"] > -INFINITE, left["score"], left["known"])
            roots["score"][first:] = -INFINITE
            context = Context(control, record, self._evaluator.record, self._scratch.record)
            score = int(search_root(context, plies, low, high, first))
            self._order(first)
            if record.stopped or low < score < high:
                return
            if score <= low:
                high, plies = (max(low, -INFINITE) + min(high, INFINITE)) // 2, depth
                low = score - window
            else:
                high, plies = score + window, max(plies - 1, depth - MOST_SHALLOWER, 1)
            window *= 2
            if window > WIDEST:
                low, high = -INFINITE, INFINITE

    def _order(self, first: int) -> None:
        """Put the moves from `first` on in order: by score, the others as they were.

        After a stop what is known to lose stands behind the others, tried or not.
        """
        left = self.roots[first:]
        order = np.argsort(-left["score"], kind="stable")
        if self.memory.record.stopped:
            order = order[np.argsort(left["most"][order] <= -DECISIVE, kind="stable")]
        left[:] = left[order]

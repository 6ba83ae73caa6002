"""Iterative deepening on one search thread, each iteration in aspiration windows.

Python stands between two iterations only; inside, kernels count nodes and look at the control.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kibitz.jit.helper import compile_beside, compile_own
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.state import new_positions
from kibitz.search.alphabeta.constants import Constants
from kibitz.search.alphabeta.negamax import quiesce
from kibitz.search.alphabeta.pruning import value_after
from kibitz.search.alphabeta.root import aspiration_search, iterate, search_nodes
from kibitz.search.alphabeta.thread import (
    ALL_PARTS,
    DECISIVE,
    DEFAULTS,
    INFINITE,
    MAX_PLY,
    Context,
    ThreadMemory,
    new_control,
)

DEEPEST = MAX_PLY - 1  # iterations


def scores_of(roots: np.ndarray) -> np.ndarray:
    """Scores of ROOT_MOVE [moves]; moves without one have that of the iteration before."""
    return np.where(roots["score"] > -INFINITE, roots["score"], roots["previous_score"])


class Worker:
    """One thread of the search: its memory, its scratch for the evaluator, and its depth."""

    def __init__(
        self,
        evaluator: InlineEvaluator,
        entries: np.ndarray,
        parts: int = ALL_PARTS,
        constants: Constants = DEFAULTS,
    ) -> None:
        self.memory = ThreadMemory(entries, parts, constants)
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        self._compile_in_two(self._context(new_control()))
        self.depth = 0  # of the last iteration that was finished, and
        self.finished = self.memory.roots[:0]  # the root's moves as it left them

    def _compile_in_two(self, context: Context) -> None:
        """Share out what is to be compiled between two processes."""
        line = self.memory.roots[0]["pv"][:0]
        last = context.network, context.scratch, new_positions(2), line, 0
        beside = [(aspiration_search, (context, 0, 0)), (value_after, last)]
        compile_beside(beside, own=[(quiesce, (context, 0, 0, 0))])

    def set_root(
        self, line: np.ndarray, codes: list[int], generation: int, *, complete: bool
    ) -> None:
        """Begin another search; see ThreadMemory.set_line."""
        self.memory.set_line(line, codes, complete=complete)
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

    def _context(self, control: Any) -> Context:
        record, network = self.memory.record, self._evaluator.record
        return Context(control, record, network, self._scratch.record)

    def search_nodes(self, line: np.ndarray, nodes: int) -> int:
        """Search the last of some positions, POSITION [plies + 1], by one call; the score."""
        compile_own()
        self.memory.set_keys(line)
        score, self.depth = search_nodes(self._context(new_control()), nodes, nodes)
        return int(score)

    def deepen(
        self, control: Any, depths: range, lines: int, go_on: Callable[[Worker], bool]
    ) -> None:
        """Search to one depth after the other until `go_on` says no, or the control stops it."""
        lines = self.memory.record.lines = min(lines, len(self.roots))
        context = self._context(control)
        for depth in depths:
            for first in range(lines):
                compile_own()
                iterate(context, depth, first)
                if self.memory.record.stopped:
                    self._limit_unscored(first)
                    self._score_first_move()
                    self._sort_lines(lines)
                    return
            self.roots["previous_score"] = self.roots["score"]
            self._sort_lines(lines)
            self.depth, self.finished = depth, self.roots.copy()
            if not go_on(self):
                return

    def _limit_unscored(self, first: int) -> None:
        """Moves left without a score are no better at this depth than the lines finished before."""
        if first > 0:
            left = self.roots[first:]
            lowest = int(self.roots["score"][:first].min())
            limited = np.minimum(left["previous_score"], lowest)
            unscored = left["score"] == -INFINITE
            left["previous_score"] = np.where(unscored, limited, left["previous_score"])

    def _score_first_move(self) -> None:
        """A first move without a score is no better than the best one of the iteration before."""
        first = self.roots[0]
        if max(first["score"], first["previous_score"]) == -INFINITE and self.depth:
            first["previous_score"], first["pv_length"] = self.finished[0]["previous_score"], 0

    def _sort_lines(self, lines: int) -> None:
        """Put the lines of MultiPV in order: a later one may have come out better."""
        shown = self.roots[:lines]
        scores = scores_of(shown)
        scores[scores == -INFINITE] = -DECISIVE  # what was not searched goes before what loses
        shown[:] = shown[np.argsort(-scores, kind="stable")]

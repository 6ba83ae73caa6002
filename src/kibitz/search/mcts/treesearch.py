"""One tree that is searched: its memory, its contexts, and how far its playouts are to go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.jit.records import one_record
from kibitz.search.mcts.tree.context import CONTROL, ContextMemory
from kibitz.search.mcts.tree.memory import make_room
from kibitz.search.mcts.tree.nodes import EXPANDED, TreeMemory
from kibitz.search.proof import is_settled

SEED_STEP = 7919  # between the seeds of two contexts
FIRST_PIECE = 64  # playouts of a run with a short time before the first check


@dataclass
class Pace:
    """When a run checks whether to stop, and how many threads or rows work at a small tree."""

    should_stop: Callable[[], bool]
    short: bool  # milliseconds count: small pieces on the calling thread, small batches
    frequent: bool  # a check whenever the playouts have grown by a part
    slow_start_nodes: int  # a tree with fewer visits is small: one thread, or few rows of a batch
    slow_start_rows: int
    piece: int = FIRST_PIECE  # playouts between two checks of a run with a short time


class TreeSearch:
    """A tree with the contexts of its search threads, and the record that they share.

    Fields of records are read by item here: games in step ask often, and attributes take five times
    as long.
    """

    def __init__(self, memory: TreeMemory, seed: int = 0, threads: int = 1) -> None:
        self.memory = memory
        self.contexts = [ContextMemory(seed + SEED_STEP * thread) for thread in range(threads)]
        self.control: Any = one_record(CONTROL)
        self.beyond_proof = False  # whether a run goes on when the root is proved
        self._start = self._goal = 0  # playouts when the run began, and when it is done

    def set_root(self, line: np.ndarray) -> None:
        """Give every context the game so far; POSITION [plies + 1], the root last."""
        for context in self.contexts:
            context.set_line(line)

    def begin(self, playouts: int, by_playouts: bool) -> None:
        """Start a run of so many playouts; `by_playouts` says that they are the move's budget."""
        self._start, self._goal = self.playouts, self.playouts + playouts
        self.control["stop"] = self.control["full"] = 0
        self.control["time_used"] = 0.0
        self.control["budget"] = playouts if by_playouts else 0

    @property
    def playouts(self) -> int:
        """Playouts since the contexts were made."""
        return sum(int(context.record["playouts"]) for context in self.contexts)

    @property
    def done(self) -> int:
        """Playouts of this run."""
        return self.playouts - self._start

    @property
    def left(self) -> int:
        """Playouts of this run that are still to be started; none once it is stopped or proved."""
        proved = not self.beyond_proof and is_settled(int(self.memory.cold[0]["proof"]))
        if self.control["stop"] or proved:
            return 0
        return self._goal - self.playouts

    @property
    def visits(self) -> int:
        """Visits of the root."""
        return int(self.memory.edges[0]["visits"])

    @property
    def is_open(self) -> bool:
        """Whether the root has moves to search."""
        return bool(self.memory.nodes[0]["state"] == EXPANDED)

    def make_room(self) -> None:
        """Free subtrees that are little visited."""
        for context in self.contexts:
            context.forget_questions()
        make_room(self.memory)
        self.control.full = 0

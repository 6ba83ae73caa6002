"""Watching a search while it runs: when to stop it, and when to say how it stands.

driver (every 5 ms) -> **Watch** -> stop or go on; reports
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from kibitz.position.moves import NO_MOVE
from kibitz.search import clock
from kibitz.search.limits import Limits
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    NONE,
    PATH_DRAW,
    TERMINAL,
    WAITING,
    TreeMemory,
    block_of,
)
from kibitz.search.proof import DRAW, TABLEBASE, UNPROVED, answer_to, is_settled, rank_of

LOOKS_A_MOVE = 40  # how often the unrest of a timed search is taken
LEAST_INTERVAL_MS = 20.0


class Watch:
    """One search's limits, clock and listener."""

    def __init__(
        self,
        memory: TreeMemory,
        limits: Limits,
        plan: clock.Budget | None,
        stop: threading.Event,
    ) -> None:
        self.memory, self.limits, self.plan, self.stop = memory, limits, plan, stop
        self.each_look: Callable[[], None] = lambda: None
        self.when_ours: Callable[[], clock.Budget | None] = lambda: None
        self.reason: clock.Reason | None = None
        self.unrest = clock.Unrest()
        self._began = self._started = time.perf_counter()
        self._first_visits = int(memory.edges[0]["visits"])
        self._next_look = 0.0
        self.pondering = limits.ponder

    def end(self) -> None:
        """Let go of the searcher, which would else keep its tree until Python looks for circles."""
        self.each_look, self.when_ours = lambda: None, lambda: None

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the search began, or since `ponderhit`."""
        return 1000.0 * (time.perf_counter() - self._started)

    @property
    def since_go_ms(self) -> float:
        """Milliseconds since the search began, those before `ponderhit` included."""
        return 1000.0 * (time.perf_counter() - self._began)

    @property
    def time_used(self) -> float:
        """Share of the time for this move that is used; 0 if it has no limit."""
        if self.plan is None or self.plan.soft <= 0.0:
            return 0.0
        return min(1.0, self.elapsed_ms / self.plan.soft)

    def start_clock(self) -> None:
        """`ponderhit`: from now on the time is ours."""
        self._started, self._next_look = time.perf_counter(), 0.0
        self._first_visits = int(self.memory.edges[0]["visits"])
        self.pondering, self.plan = False, self.when_ours()

    def look(self) -> bool:
        """Whether the search should stop; asked every few milliseconds while it runs."""
        if self.stop.is_set():
            return True
        self.each_look()
        return root_is_settled(self.memory) or self._out_of_time()

    def look_at_clock(self) -> bool:
        """Whether the time is up or the search was stopped; for work that is not on the tree."""
        if self.stop.is_set():
            return True
        self.each_look()
        return self._out_of_time()

    def _out_of_time(self) -> bool:
        plan, elapsed = self.plan, self.elapsed_ms
        if plan is None:
            return False
        standing = self._standing(elapsed)
        if elapsed >= self._next_look:
            self._next_look = elapsed + max(LEAST_INTERVAL_MS, plan.soft / LOOKS_A_MOVE)
            self.unrest = clock.looked(self.unrest, *self._best())
        self.reason = clock.verdict(plan, elapsed, standing, self.unrest)
        return self.reason is not None

    def _standing(self, elapsed: float) -> clock.Standing:
        block = block_of(self.memory)
        visits = [*sorted(self.memory.edges["visits"][block].tolist(), reverse=True), 0, 0]
        done = int(self.memory.edges[0]["visits"]) - self._first_visits
        moves, rate = block.stop - block.start, done / max(elapsed, 1.0)
        return clock.Standing(moves, visits[0], visits[1], best_proof(self.memory), rate)

    def _best(self) -> tuple[int, float]:
        """Most visited move and its value."""
        block = block_of(self.memory)
        if block.start == block.stop:
            return NO_MOVE, 0.0
        best = block.start + int(self.memory.edges["visits"][block].argmax())
        return int(self.memory.cold[best]["move"]), float(self.memory.edges[best]["value"])


def root_is_settled(memory: TreeMemory) -> bool:
    """Whether more playouts can teach nothing: the root is proved, or all its moves end the game.

    A draw by repetition or by the 50-move rule ends the game and is no proof.
    """
    if is_settled(int(memory.cold[0]["proof"])):
        return True
    block = block_of(memory)
    if block.start == block.stop or not memory.edges["visits"][block].all():
        return False
    children = memory.cold["child"][block]
    there = (children != NONE) & (children != BUSY) & (children != WAITING)
    states = memory.nodes["state"][np.where(there, children, 0)]
    over = there & ((states == PATH_DRAW) | (states == TERMINAL))
    proofs = memory.cold["proof"][block]
    return bool((over | (proofs != UNPROVED) & (np.abs(proofs) <= DRAW)).all())


def best_proof(memory: TreeMemory) -> int:
    """The best of what is proved about the root's moves, else what tablebases say of the root."""
    proofs = memory.cold["proof"][block_of(memory)].tolist()
    proofs = [proof for proof in proofs if is_settled(proof)]
    known = int(memory.cold[0]["proof"])
    table = int(answer_to(known)) if abs(known) == TABLEBASE else UNPROVED
    return max(proofs, key=lambda proof: int(rank_of(proof)), default=table)

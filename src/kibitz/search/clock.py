"""Time: how many milliseconds a move may take, and when to stop before they are up.

A search asks its `Timer` every few milliseconds whether to stop; the timer divides the clock into a
`Budget` and applies `verdict`. There are four ways to divide a clock: ChessCoach's, DLChess's two,
and ours, which has a soft and a hard limit. All but the timer are pure functions of numbers, which
tests check without waiting.
"""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kibitz.search.limits import Clock, Limits
from kibitz.search.options import Settings
from kibitz.search.proof import DRAW, TABLEBASE

if TYPE_CHECKING:
    from kibitz.position.board import Side

# --- the managers of other systems: milliseconds for one move, our overhead not counted -----------

CHESSCOACH_LEAST_MS, CHESSCOACH_MOVES = 150.0, 32
CHESSCOACH_RESERVE_MS, CHESSCOACH_A_MOVE_MS = 1000.0, 100.0
DLCHESS_RESERVE_MS, DLCHESS_SHARE = 250.0, 0.05


def chesscoach_time(clock: Clock) -> float:
    """ChessCoach: an equal share of the clock and the increment, less two safety buffers."""
    left = max(1.0, clock.left - CHESSCOACH_RESERVE_MS)
    moves = min(CHESSCOACH_MOVES, clock.moves_to_go or CHESSCOACH_MOVES)
    wanted = max(0.0, left - clock.increment) // moves + clock.increment
    return max(CHESSCOACH_LEAST_MS, min(wanted, left) - CHESSCOACH_A_MOVE_MS)


def dlchess_simple_time(clock: Clock, ply: int) -> float:
    """DLChess: 1.4 % of what is left, later in the game more, and half more than the increment."""
    left = max(0.0, clock.left - DLCHESS_RESERVE_MS)
    fraction = (1.4 + 0.049 * ply) / 100.0 + 1.5 * clock.increment / max(1.0, clock.left)
    return min(left, fraction * left)


def dlchess_percent_time(clock: Clock) -> float:
    """DLChess: a fixed share of what is left."""
    return DLCHESS_SHARE * max(0.0, clock.left - DLCHESS_RESERVE_MS)


# --- our own --------------------------------------------------------------------------------------

MOVES_AT_START, MOVES_AT_LEAST, PLIES_A_MOVE = 32, 14, 6  # moves expected, fewer as plies pass
USUAL_OVERHEAD = 0.2  # of the overhead a move is allowed for, moves cost so much as a rule
HARD_FACTOR = 4.0  # a move in trouble may take this many times the soft limit,
HARD_SHARE = 0.6  # but never more than this share of the clock
LEAST_SHARE = 0.01  # of the clock is soft even when the overhead of the moves to come eats it all
LAST_MOVE_SHARE = 0.85  # of the clock for the last move before it is filled up


class Budget(NamedTuple):
    """Milliseconds for a move: `soft` is what it should take, `hard` what it must not exceed."""

    soft: float
    hard: float
    exact: bool = False  # asked for to the millisecond (movetime): no stopping early


def budget_of_clock(clock: Clock, ply: int, overhead: float, usual: float | None = None) -> Budget:
    """Divide a clock; at most what is left after `overhead` ms, which a move may cost besides.

    `usual` is what moves do cost, where that is known to be more than the increment: then so much
    is put aside for many moves, however late in the game.

    >>> budget_of_clock(Clock(59_650, 600), ply=0, overhead=50)
    Budget(soft=2434.0625, hard=9736.25, exact=False)
    """
    usable = max(0.0, clock.left - overhead)
    moves = clock.moves_to_go or _moves_expected(ply)
    if moves == 1:
        return Budget(LAST_MOVE_SHARE * usable, usable)
    if usual is None:
        usual = USUAL_OVERHEAD * overhead
    elif clock.moves_to_go is None:
        moves = MOVES_AT_START
    pool = clock.left - overhead + (clock.increment - usual) * (moves - 1)
    hard_limit = HARD_SHARE * usable
    soft = min(max(LEAST_SHARE * usable, pool / moves), hard_limit)
    return Budget(soft, min(HARD_FACTOR * soft, hard_limit))


def _moves_expected(ply: int) -> int:
    """How many moves of ours the rest of the game may have."""
    return max(MOVES_AT_LEAST, MOVES_AT_START - ply // PLIES_A_MOVE)


def budget(limits: Limits, clock: Clock | None, ply: int, settings: Settings) -> Budget | None:
    """The budget of a search; None if time does not limit it. Ponder time has no budget yet."""
    if limits.infinite or limits.ponder:
        return None
    if limits.movetime is not None:
        return Budget(float(limits.movetime), float(limits.movetime), exact=True)
    if clock is None:
        return None
    overhead = float(max(settings.move_overhead, limits.lag))
    if settings.time_manager == "budget":
        # Where every move costs more than it gains, the clock sinks to nothing unless that is
        # put aside.
        sinking = 0 < clock.increment < limits.usual_lag
        usual = float(limits.usual_lag) if sinking else None
        return budget_of_clock(clock, ply, overhead, usual)
    wanted = OTHERS[settings.time_manager](clock, ply)
    allowed = min(wanted, max(0.0, clock.left - overhead))  # they leave the overhead out
    return Budget(allowed, allowed)


OTHERS: dict[str, Callable[[Clock, int], float]] = {
    "chesscoach": lambda clock, _ply: chesscoach_time(clock),
    "dlchess": dlchess_simple_time,
    "dlchess-percent": lambda clock, _ply: dlchess_percent_time(clock),
}


# --- when to stop ---------------------------------------------------------------------------------

CHANGE_WORTH, CHANGES_COUNTED = 0.5, 3.0  # each recent change of the best move: half as much again
CHANGE_FADES = 0.7  # what a change is still worth after each new sample
DROP_WORTH, DROP_COUNTED = 4.0, 0.3  # a value 0.1 lower than before: 40 % more time
CALM_SHARE = 0.85  # of the soft limit is enough while nothing happens
MATE_SHARE = 0.1  # of the soft limit goes into looking for a shorter mate


class Reason(enum.Enum):
    """Why a search by the clock ends."""

    ONE_MOVE = "only one legal move"
    MATE = "a mate is proved"
    DECIDED = "the best move cannot be overtaken"
    SOFT = "the time for this move is used"
    HARD = "no move may take longer"


class BestMoveInstability(NamedTuple):
    """How often the best move changed and how far its value fell, from sample to sample."""

    move: int = 0  # the best move, 16-bit code
    changes: float = 0.0  # recent changes of the best move, fading
    highest: float = 0.0  # highest value of the best move so far, in [-1, 1]
    value: float = 0.0  # its value now
    samples: int = 0


class Standing(NamedTuple):
    """The root at one moment."""

    moves: int  # legal moves, or searchmoves
    best: int  # visits of the most visited move
    second: int  # visits of the one behind it
    proof: int = 0  # of the best move, see proof.py
    visits: int = 0  # of the root
    move: int = 0  # the most visited move, 16-bit code
    value: float = 0.0  # its value, in [-1, 1]


def sampled(unrest: BestMoveInstability, move: int, value: float) -> BestMoveInstability:
    """The unrest after another sample: the root's best move and that move's value."""
    if unrest.samples == 0:
        return BestMoveInstability(move, 0.0, value, value, 1)
    changed = 1.0 if move != unrest.move else 0.0
    changes = unrest.changes * CHANGE_FADES + changed
    return BestMoveInstability(move, changes, max(unrest.highest, value), value, unrest.samples + 1)


def soft_limit(plan: Budget, unrest: BestMoveInstability) -> float:
    """The soft limit in ms, shorter in calm, extended by unrest, never beyond the hard one."""
    if plan.soft == plan.hard:
        return plan.hard
    drop = min(DROP_COUNTED, max(0.0, unrest.highest - unrest.value))
    changes = min(CHANGES_COUNTED, unrest.changes)
    factor = CALM_SHARE + CHANGE_WORTH * changes + DROP_WORTH * drop
    return min(plan.hard, plan.soft * factor)


def verdict(
    plan: Budget,
    elapsed: float,
    standing: Standing,
    unrest: BestMoveInstability,
    visits_per_ms: float = 0.0,
    share: float = 1.0,
) -> Reason | None:
    """Why to stop after `elapsed` ms, None to go on; for searches with at least one visit.

    The soft limit counts as so large a `share` of itself.
    """
    if elapsed >= plan.hard:
        return Reason.HARD
    if plan.exact:
        return None
    if standing.moves == 1:
        return Reason.ONE_MOVE
    limit = min(plan.hard, share * soft_limit(plan, unrest))
    if is_mate(standing.proof) and (standing.proof == 1 or elapsed >= MATE_SHARE * limit):
        return Reason.MATE
    if elapsed >= limit:
        return Reason.SOFT
    # Whatever changed the best move would extend the limit, but nothing can change it before.
    reachable = visits_per_ms * (limit - elapsed)
    if visits_per_ms > 0.0 and standing.best - standing.second > reachable:
        return Reason.DECIDED
    return None


def is_mate(proof: int) -> bool:
    """Whether a proof says that the player who moves mates by force."""
    return 0 < proof < TABLEBASE and proof != DRAW


# --- the time of one search -----------------------------------------------------------------------

SAMPLES_A_MOVE = 40  # how often the unrest of a timed search is sampled
LEAST_INTERVAL_MS = 20.0


class Timer:
    """The time of one search: what it may take, what it has taken, and whether that is enough."""

    def __init__(
        self, limits: Limits, side: Side, ply: int, settings: Settings, visits: int = 0
    ) -> None:
        self._limits, self._side, self._ply, self._settings = limits, side, ply, settings
        self.budget: Budget | None = None
        self._unrest = BestMoveInstability()
        self._start(limits, visits)
        self._began = self._started

    def _start(self, limits: Limits, visits: int) -> None:
        # The budget comes last: `is_over` may run on another thread, and reads it first.
        self._started, self._next_sample = time.perf_counter(), 0.0
        self.visits_before, self.pondering = visits, limits.ponder
        self.budget = budget(limits, limits.clock(self._side), self._ply, self._settings)

    def start_own_clock(self, visits: int) -> None:
        """Begin our own time, as the expected move was played; the root has so many visits."""
        self._start(self._limits.after_ponderhit(), visits)

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the search began, or since `ponderhit`."""
        return 1000.0 * (time.perf_counter() - self._started)

    @property
    def since_go_ms(self) -> float:
        """Milliseconds since the search began, those before `ponderhit` included."""
        return 1000.0 * (time.perf_counter() - self._began)

    @property
    def share_used(self) -> float:
        """Share of the time for this move that is used; 0 if it has no limit."""
        if self.budget is None or self.budget.soft <= 0.0:
            return 0.0
        return min(1.0, self.elapsed_ms / self.budget.soft)

    def left_ms(self, share: float) -> float:
        """Milliseconds to that share of the soft limit, or to the hard one; samples nothing."""
        plan, elapsed = self.budget, self.elapsed_ms
        if plan is None:
            return math.inf
        limit = plan.hard if plan.exact else share * soft_limit(plan, self._unrest)
        return min(plan.hard, limit) - elapsed

    def is_over(self, standing: Standing, share: float = 1.0) -> bool:
        """Whether to stop now, given how the root stands; see `verdict`."""
        plan, elapsed = self.budget, self.elapsed_ms
        if plan is None:
            return False
        if elapsed >= self._next_sample:
            self._next_sample = elapsed + max(LEAST_INTERVAL_MS, plan.soft / SAMPLES_A_MOVE)
            self._unrest = sampled(self._unrest, standing.move, standing.value)
        visits_per_ms = (standing.visits - self.visits_before) / max(elapsed, 1.0)
        return verdict(plan, elapsed, standing, self._unrest, visits_per_ms, share) is not None

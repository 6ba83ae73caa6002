"""What `go` asks for: nodes, time, a clock, depth, a mate, or no end at all.

All times are whole milliseconds. A tree that grows unevenly has no depth of its own; ours is a
measure of work, see `visits_of`, made so that alpha-beta programs need about as many nodes.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kibitz.core.errors import InputError

if TYPE_CHECKING:  # UCI reads limits before it loads the rules of chess
    from kibitz.position.board import Side


LARGEST = 1 << 60  # of any number


class Clock(NamedTuple):
    """One player's clock; milliseconds, never negative."""

    left: int
    increment: int = 0
    moves_to_go: int | None = None  # to the next time control, this move included; None: all


@dataclass(frozen=True)
class Limits:
    """When a search ends; every limit that is not None counts, whichever is reached first."""

    nodes: int | None = None  # visits of the root, those of a tree that was kept included
    movetime: int | None = None  # milliseconds for this move, exactly
    wtime: int | None = None  # milliseconds on White's clock; GUIs send negative ones, too
    btime: int | None = None
    winc: int | None = None  # milliseconds gained with every move
    binc: int | None = None
    movestogo: int | None = None  # moves until the clock is filled up again
    depth: int | None = None  # see `depth_of`; a number of visits, like nodes
    mate: int | None = None  # whether there is a mate in that many moves; the search ends with that
    infinite: bool = False  # until `stop`
    ponder: bool = False  # the clock is the opponent's until `ponderhit`
    searchmoves: tuple[str, ...] = ()  # UCI or SAN; empty: all moves
    lines: int | None = None  # at most, where MultiPV has more
    every_change: bool = False  # report changes of the best move within a sixteenth of the nodes
    lag: int = 0  # milliseconds that a move costs besides, where it is more than Move Overhead
    usual_lag: int = 0  # milliseconds of a usual move, where it is known
    report_ms: int | None = None  # between two reports while nothing new is found; None: 500

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not hasattr(value, "__index__"):
                raise InputError(f"go {name}", value=value, fix="expected a whole number")
            if value is not None and value < least:
                raise InputError(f"go {name}", value=value, fix=f"expected at least {least}")
            if value is not None and value > LARGEST:
                raise InputError(f"go {name}", value=value, fix=f"expected at most {LARGEST}")

    def given(self) -> dict[str, Any]:
        """The limits that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value}

    def clock(self, side: Side) -> Clock | None:
        """The clock of the side to move, None if it has none."""
        left = self.wtime if side == "white" else self.btime
        if left is None:
            return None
        increment = self.winc if side == "white" else self.binc
        moves = self.movestogo if self.movestogo else None  # 0 is how some GUIs say none
        return Clock(max(0, left), max(0, increment or 0), moves)

    def after_ponderhit(self) -> Limits:
        """The limits that hold once the expected move was played."""
        return replace(self, ponder=False)

    def ends_for(self, side: Side) -> bool:
        """Whether the search of that side surely ends; a mate may take for ever to find."""
        timed = self.movetime is not None or self.clock(side) is not None
        return (timed or self.visits is not None) and not (self.infinite or self.ponder)

    @property
    def visits(self) -> int | None:
        """The most visits of the root, by nodes or by depth; None if neither limits them."""
        by_depth = None if self.depth is None else visits_of(self.depth)
        return min((count for count in (self.nodes, by_depth) if count is not None), default=None)

    @property
    def shorten_mates(self) -> bool:
        """Whether to look for a shorter mate than the one proved: in analysis and by nodes."""
        timed = self.movetime is not None or self.wtime is not None or self.btime is not None
        return (self.infinite or self.nodes is not None) and not timed

    @property
    def unlimited(self) -> bool:
        """Whether only `stop` ends the search."""
        counts = (self.nodes, self.movetime, self.depth, self.mate)
        timed = self.wtime is not None or self.btime is not None
        return self.infinite or not (timed or any(count is not None for count in counts))


@dataclass(frozen=True)
class Signals:
    """How other threads stop a search, or start its own clock; both count even before it begins."""

    stop: threading.Event = field(default_factory=threading.Event)
    ponderhit: threading.Event = field(default_factory=threading.Event)


# Depth d takes UNIT * GROWTH^d visits of the root; no search reaches the last of these.
UNIT, GROWTH, DEEPEST = 20, 1.6, 80
_VISITS = [math.ceil(UNIT * GROWTH**depth) for depth in range(1, DEEPEST + 1)]


def visits_of(depth: int) -> int:
    """Visits of the root that make a depth.

    >>> [visits_of(depth) for depth in (1, 2, 3, 10, 20, 30)]
    [32, 52, 82, 2200, 241786, 26584560]
    """
    return _VISITS[min(depth, DEEPEST) - 1]


def depth_of(visits: int) -> int:
    """The depth that so many visits of the root come to; at least 1.

    >>> [depth_of(visits) for visits in (1, 52, 20_000)]
    [1, 2, 14]
    """
    return max(1, bisect_right(_VISITS, visits))


_LEAST = {
    "nodes": 1,
    "movetime": 0,
    "movestogo": 0,
    "depth": 1,
    "mate": 1,
    "lines": 1,
    "report_ms": 1,
}

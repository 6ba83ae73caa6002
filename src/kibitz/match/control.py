"""Time controls and the clock of a game.

    `40/60+0.6`, nodes, depth -> **Control** -> GameClock -> Limits of every move

Times inside are milliseconds. Nodes and depth may come with a clock or without one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from kibitz.errors import InputError
from kibitz.position.board import SIDES, Side
from kibitz.search.limits import Limits

UNTIMED_MS = 60_000.0  # what a move may take where only nodes or depth limit it
_TIMES = re.compile(r"(?:(\d+)/)?(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Control:
    """What a player gets for a game, or for each move."""

    base: int | None = None  # ms on the clock at the start
    increment: int = 0  # ms gained with every move
    moves: int | None = None  # moves until the clock gets its base again; None: never
    movetime: int | None = None  # ms for each move
    nodes: int | None = None  # for each move
    depth: int | None = None  # plies, for each move

    @property
    def timed(self) -> bool:
        """Whether time can be lost on it."""
        return self.base is not None or self.movetime is not None

    @property
    def limited(self) -> bool:
        """Whether anything ends a move."""
        return self.timed or self.nodes is not None or self.depth is not None

    def __str__(self) -> str:
        parts = []
        if self.base is not None:
            period = f"{self.moves}/" if self.moves else ""
            gain = f"+{self.increment / 1000:g}" if self.increment else ""
            parts.append(f"{period}{self.base / 1000:g}{gain}")
        if self.movetime is not None:
            parts.append(f"{self.movetime / 1000:g}/move")
        parts += [f"{self.nodes} nodes"] if self.nodes is not None else []
        parts += [f"{self.depth} plies"] if self.depth is not None else []
        return " ".join(parts) or "no limit"


def parse_times(text: str) -> Control:
    """Seconds, as cutechess and fastchess write them: `60`, `10+0.1`, `40/60+0.6`.

    >>> parse_times("40/60+0.6")
    Control(base=60000, increment=600, moves=40, movetime=None, nodes=None, depth=None)
    """
    found = _TIMES.fullmatch(text.strip())
    if found is None or float(found[2]) <= 0:
        fix = "seconds and increment, like 10+0.1 or 40/60"
        raise InputError("time control", value=text, fix=fix)
    moves = int(found[1]) if found[1] else None
    if moves == 0:
        raise InputError("time control", value=text, fix="a period has at least one move")
    return Control(round(1000 * float(found[2])), round(1000 * float(found[3] or 0)), moves)


def parse_minutes(text: str) -> Control:
    """Minutes and seconds a move, as people and servers write them.

    >>> str(parse_minutes("5+3"))
    '300+3'
    """
    minutes, _, seconds = text.partition("+")
    try:
        base, increment = float(minutes), float(seconds or 0)
    except ValueError:
        base = increment = -1.0
    if not (0 < base <= 600 and 0 <= increment <= 600):
        raise InputError("--clock", value=text, fix="expected minutes+seconds, such as 5+3")
    return Control(round(60_000 * base), round(1000 * increment))


class GameClock:
    """Both players' clocks in one game."""

    def __init__(self, white: Control, black: Control, margin: float = 0.0) -> None:
        self._controls: dict[Side, Control] = {"white": white, "black": black}
        self.left = {side: float(self._controls[side].base or 0) for side in SIDES}  # ms
        self._made = dict.fromkeys(SIDES, 0)
        self._margin = margin  # ms of a transgression that is forgiven

    def __str__(self) -> str:
        seconds = ((side, int(left) // 1000) for side, left in self.left.items())
        return ", ".join(f"{side} {left // 60}:{left % 60:02}" for side, left in seconds)

    def limits(self, side: Side) -> Limits:
        """Limits of the next move of the side to move."""
        control, period = self._controls[side], self._controls[side].moves
        times: dict[str, Any] = {}
        for color in SIDES if control.base is not None else ():
            if self._controls[color].base is not None:
                times[f"{color[0]}time"] = round(self.left[color])
                times[f"{color[0]}inc"] = self._controls[color].increment
        return Limits(
            nodes=control.nodes,
            movetime=control.movetime,
            depth=control.depth,
            movestogo=period - self._made[side] % period if period and control.base else None,
            **times,
        )

    def allowed(self, side: Side) -> float:
        """Milliseconds the move may take before the time is lost, or before patience ends."""
        control = self._controls[side]
        if not control.timed:
            return UNTIMED_MS
        left = math.inf if control.base is None else self.left[side]
        return min(left, math.inf if control.movetime is None else control.movetime) + self._margin

    def spend(self, side: Side, milliseconds: float) -> bool:
        """Charge a move; whether it was made in time."""
        control = self._controls[side]
        in_time = not control.timed or milliseconds <= self.allowed(side)
        if control.base is not None:
            # What the margin forgives is not taken from the moves to come.
            self.left[side] = max(0.0, self.left[side] - milliseconds) + control.increment
            self._made[side] += 1
            if control.moves and self._made[side] % control.moves == 0:
                self.left[side] += control.base
        return in_time

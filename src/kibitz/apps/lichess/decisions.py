"""A game's decisions: how long to think, when to resign, when a game is drawn; all by numbers.

Nothing here needs the server, so the game in the terminal decides so, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.messages import State
from kibitz.position.board import SIDES, Board, Side
from kibitz.search.limits import Limits
from kibitz.search.report import Score

MATE_CP = 30_000
TAKES_DRAW_MOVES = 3  # of the bot's own, all level or worse, before it takes a draw


LAG_MOVES = 20  # moves to come whose lag is kept back
LONGEST_LAG = 2000.0  # ms that count; more was an accident


class Lag:
    """What moves cost beside thinking, by the server's clock: an average of the last ones, ms."""

    def __init__(self) -> None:
        self.average = 0.0
        self._left, self._since, self._spent = 0.0, 0.0, 0.0

    def begin(self, left: float) -> None:
        """The bot is to move, with so much on its clock."""
        self._left, self._since = left, time.monotonic()

    def send(self) -> None:
        """Its move is about to be sent."""
        self._spent = 1000 * (time.monotonic() - self._since)

    def charge(self, left: float, increment: float) -> None:
        """The server has the move, and says what is left."""
        lag = self._left + increment - left - self._spent
        self.average += (min(LONGEST_LAG, max(0.0, lag)) - self.average) / 2


def kept_back(left: float, settings: Lichess, lag: float = 0.0) -> float:
    """Milliseconds of the clock that are left to the network, which takes `lag` a move.

    >>> [kept_back(left, Lichess()) for left in (400, 60_000, 900_000)]
    [200.0, 600.0, 1500.0]
    """
    share = max(settings.buffer_least, min(settings.buffer_most, settings.buffer_share * left))
    return min(left / 2, share) + min(0.4 * left, LAG_MOVES * lag)


def limits_of(
    state: State,
    ply: int,
    side: Side,
    settings: Lichess,
    *,
    spent: float = 0.0,
    lag: float = 0.0,
    timed: bool = True,
) -> Limits:
    """Limits of a move, `spent` ms after the clock was told; each move costs `lag` ms besides.

    No clock runs before each side has made a move, nor in games without one.
    """
    nodes = settings.nodes or None
    first = 1000 * settings.first_moves
    if not timed:
        return Limits(nodes=nodes, movetime=1000 * settings.correspondence_seconds)
    times: dict[str, Any] = {}
    for colour, left, increment in zip(
        SIDES, (state.wtime, state.btime), (state.winc, state.binc), strict=True
    ):
        own = colour == side
        left = max(1, left - round(spent)) if own else left
        left = round(left - kept_back(left, settings, lag)) if own else left
        times[f"{colour[0]}time"] = max(1, left)
        times[f"{colour[0]}inc"] = round(settings.increment_share * increment)
    if ply < 2:
        wanted = times[f"{side[0]}time"] // 20  # what a move of a whole game may take
        return Limits(nodes=nodes, movetime=max(1, min(first, wanted)))
    return Limits(nodes=nodes, **times)


def centipawns_of(score: Score) -> int:
    """A score as one number: mates are beyond all others."""
    if score.kind == "cp":
        return score.amount
    return MATE_CP if score.amount > 0 else -MATE_CP


def gives_up(scores: Sequence[int], settings: Lichess, at_odds: bool) -> bool:
    """Whether the bot resigns; `scores` are those of its moves, the newest last."""
    lost = _last(scores, settings.resign_moves, lambda score: score <= -settings.resign_score)
    return settings.resign and not at_odds and lost


def offers_draw(scores: Sequence[int], board: Board, settings: Lichess) -> bool:
    """Whether the bot offers a draw with its move."""
    level = _last(scores, settings.draw_moves, lambda score: abs(score) <= settings.draw_score)
    return settings.draws and _late(board, settings) and level


def takes_draw(scores: Sequence[int], board: Board, settings: Lichess) -> bool:
    """Whether the bot takes a draw that is offered: late enough, and never when it is better."""
    no_better = _last(scores, TAKES_DRAW_MOVES, lambda score: score <= settings.draw_score)
    return settings.draws and _late(board, settings) and no_better


def _last(scores: Sequence[int], moves: int, fits: Callable[[int], bool]) -> bool:
    """Whether there are so many moves, and the scores of the last of them are of some kind."""
    return len(scores) >= moves and all(map(fits, scores[-moves:]))


def _late(board: Board, settings: Lichess) -> bool:
    return board.ply >= 2 * (settings.draw_from - 1)

"""A game's decisions: time, draws, resigning; and the way of moves to the server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.messages import State
from kibitz.apps.lichess.server import (
    LimitedError,
    RefusedError,
    Server,
    ServerError,
    TokenError,
    UnreachableError,
)
from kibitz.position.board import SIDES, Board, Side
from kibitz.search.limits import Limits
from kibitz.search.report import Score

# --- decisions ------------------------------------------------------------------------------------
#
# How long to think, when to resign and when a game is drawn: functions of numbers.


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


# --- the way to the server ------------------------------------------------------------------------
#
# The way of moves and of all else in a game to the server: once if all goes well, else again.


REFUSALS = 3  # of a move before the game is given up
SHARE = 50  # of the time left that passes between two attempts, once it is more than a few seconds

Moves: TypeAlias = tuple[str, ...]


class Reply(NamedTuple):
    """The bot's move in a position, known by the moves that led there."""

    after: Moves
    uci: str
    offers_draw: bool


class Delivery:
    """Sends the moves of one game."""

    def __init__(self, game: str, server: Server, archive: Archive) -> None:
        self._game, self._server, self._archive = game, server, archive
        self.lag = Lag()
        self._reply: Reply | None = None
        self._sent = self._tried = self._unsure = self._late = False
        self._refused, self._at, self._wait = 0, 0.0, 0.0

    def take(self, reply: Reply) -> None:
        """Take the next move."""
        self._reply = reply
        self._sent = self._tried = self._unsure = self._late = False
        self._refused, self._at, self._wait = 0, 0.0, self._server.pauses.again

    def has_move_for(self, moves: Moves) -> bool:
        """Whether the move in this position is decided, and sent or about to be."""
        return self._reply is not None and self._reply.after == moves

    def confirmed(self, moves: Moves, left: float, increment: float) -> None:
        """The game has gone on to other moves; what is left on the bot's clock."""
        reply = self._reply
        if reply is not None and moves == (*reply.after, reply.uci) and len(moves) > 2:
            self.lag.charge(left, increment)
        if not self.has_move_for(moves):
            self._reply = None

    def send(self, until: float) -> bool:
        """Send the move if that is due; False if the server will never take it.

        `until` is when the bot's clock runs out: no server takes a move after that.
        """
        if self._sent or self._reply is None or time.monotonic() < self._at:
            return True
        if self._tried and time.monotonic() > until:
            if not self._late:
                late = (
                    f"game {self._game}: {self._reply.uci} is not sent any more: the clock is out"
                )
                self._archive.say(late)
            self._late = True
            return True
        if not self._tried:
            self.lag.send()
        self._tried = True
        try:
            if self._unsure and self._server.moves_of(self._game) != self._reply.after:
                self._sent = True  # it has arrived after all, and the stream will say so
                return True
            self._unsure = False
            self._server.move(self._game, self._reply.uci, self._reply.offers_draw)
            self._sent = True
        except UnreachableError as error:
            # The move may have arrived all the same; sent again later it would be another move.
            self._unsure |= not isinstance(error, LimitedError)
            self._failed(f"not sent: {error}", until)
            if isinstance(error, LimitedError):
                self._at = time.monotonic() + error.seconds
        except RefusedError as error:
            # Most often the stream is about to say that the game is over, or the move made.
            self._failed(f"refused: {error}", until)
            self._refused += 1
            self._sent = self._refused >= REFUSALS
            return not self._sent
        return True

    def _failed(self, why: str, until: float) -> None:
        """Wait before the next attempt, twice as long each time, up to a share of what is left."""
        assert self._reply is not None
        self._archive.say(f"game {self._game}: {self._reply.uci} {why}")
        now, pauses = time.monotonic(), self._server.pauses
        self._at = now + self._wait
        longest = max(pauses.game, min(pauses.events, (until - now) / SHARE))
        self._wait = min(2 * self._wait, longest)


@dataclass
class _Due:
    """Something to be done in a game."""

    at: float  # by time.monotonic
    wait: float  # seconds before it is tried again
    refused: int = 0


class GameActions:
    """What the bot has to do in a game beside moves; what fails is tried again."""

    def __init__(self, game: str, server: Server, archive: Archive) -> None:
        self._game, self._server, self._archive = game, server, archive
        self._due: dict[str, _Due] = {}

    def ask(self, what: str, at: float = 0.0) -> None:
        """Do something from a time on: draw/yes, claim-victory."""
        self._due[what] = _Due(at, self._server.pauses.again)

    def drop(self, *whats: str) -> None:
        """Leave things undone, whatever has become of them."""
        for what in whats:
            self._due.pop(what, None)

    def look(self) -> None:
        """Do what is due; what is refused thrice stays undone."""
        for what, due in list(self._due.items()):
            if time.monotonic() < due.at:
                continue
            error = self.do(what)
            if error is None:
                del self._due[what]
                continue
            due.refused += isinstance(error, RefusedError)
            if due.refused >= REFUSALS:
                del self._due[what]
            wait = error.seconds if isinstance(error, LimitedError) else due.wait
            due.at = time.monotonic() + wait
            due.wait = min(2 * due.wait, self._server.pauses.game)

    def do(self, what: str) -> ServerError | None:
        """Do something now, once; what was in the way."""
        try:
            self._server.act(self._game, what)
        except TokenError:
            raise
        except ServerError as error:
            self._archive.say(f"game {self._game}: {what} failed: {error}")
            return error
        self._archive.say(f"game {self._game}: {what}")
        return None

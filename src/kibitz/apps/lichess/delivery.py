"""The way of moves, and of all else in a game, to the server: once if all goes well, else again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.decisions import Lag
from kibitz.apps.lichess.messages import Full
from kibitz.apps.lichess.server import (
    LimitedError,
    RefusedError,
    Server,
    ServerError,
    TokenError,
    UnreachableError,
)

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
        self._held = 0.0  # until then, by time.monotonic, no move is sent

    def hold(self) -> None:
        """Send nothing for a moment: moves are about to be taken back."""
        self._held = time.monotonic() + self._server.pauses.again

    def take(self, reply: Reply) -> None:
        """Take the next move."""
        self._reply = reply
        self._sent = self._tried = self._unsure = self._late = False
        self._refused, self._at, self._wait = 0, 0.0, self._server.pauses.again

    def has_move_for(self, moves: Moves) -> bool:
        """Whether the move in this position is decided, and sent or about to be."""
        return self._reply is not None and self._reply.after == moves

    def doubt(self) -> None:
        """The position is heard of once more: the move may have been taken back unheard."""
        if self._sent:
            self._sent, self._unsure = False, True
            self._at = time.monotonic() + self._server.pauses.again

    def confirmed(self, moves: Moves, left: float, increment: float) -> None:
        """The game has gone on to other moves; what is left on the bot's clock."""
        reply = self._reply
        if reply is not None and moves == (*reply.after, reply.uci) and len(moves) > 2:
            self.lag.charge(left, increment)
        self._held = 0.0
        if not self.has_move_for(moves):
            self._reply = None

    def send(self, until: float) -> Full | bool:
        """Send the move if that is due; False if the server will never take it.

        `until` is when the bot's clock runs out: no server takes a move after that. Where the game
        stands otherwise than the bot has heard, the move is not sent again: that is returned.
        """
        if self._sent or self._reply is None or time.monotonic() < max(self._at, self._held):
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
            if self._unsure:
                standing = self._server.standing(self._game)
                if standing.state.gone_on(self._reply.after):
                    self._sent = True
                    return standing
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
            self._refused, self._unsure = self._refused + 1, True
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

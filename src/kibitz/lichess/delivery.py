"""The way of a move to the server: sent once if all goes well, else again and again."""

from __future__ import annotations

import time
from typing import NamedTuple, TypeAlias

from kibitz.lichess.archive import Archive
from kibitz.lichess.decisions import Lag
from kibitz.lichess.server import LimitedError, RefusedError, Server, UnreachableError

REFUSALS = 3  # of a move before the game is given up

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
        self._sent = self._tried = self._unsure = False
        self._refused, self._at, self._wait = 0, 0.0, 0.0

    def take(self, reply: Reply) -> None:
        """Take the next move."""
        self._reply = reply
        self._sent = self._tried = self._unsure = False
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

    def send(self) -> bool:
        """Send the move if that is due; False if the server will never take it."""
        if self._sent or self._reply is None or time.monotonic() < self._at:
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
            self._failed(f"not sent: {error}")
        except RefusedError as error:
            # Most often the stream is about to say that the game is over, or the move made.
            self._failed(f"refused: {error}")
            self._refused += 1
            self._sent = self._refused >= REFUSALS
            return not self._sent
        return True

    def _failed(self, why: str) -> None:
        """Wait before the next attempt, twice as long each time."""
        assert self._reply is not None
        self._archive.say(f"game {self._game}: {self._reply.uci} {why}")
        self._at = time.monotonic() + self._wait
        self._wait = min(2 * self._wait, self._server.pauses.game)

"""What Lichess's streams say, as types: events of an account and of one game.

Fields that the bot has no use for are left out, and so are kinds of messages it does not know.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

BOT = "BOT"


class Player(msgspec.Struct, rename="camel", frozen=True):
    """A player, or Lichess's own engine at a level."""

    id: str = ""
    name: str = ""
    title: str | None = None
    rating: int | None = None
    ai_level: int | None = None

    def __str__(self) -> str:
        if self.ai_level is not None:
            return f"Stockfish level {self.ai_level}"
        return self.name or self.id or "Anonymous"

    @property
    def is_bot(self) -> bool:
        """Whether a program plays."""
        return self.title == BOT or self.ai_level is not None


class Variant(msgspec.Struct, frozen=True):
    """A variant of chess."""

    key: str = "standard"


class TimeControl(msgspec.Struct, frozen=True):
    """How much time there is; seconds."""

    type: str = "unlimited"
    limit: int = 0
    increment: int = 0


class Challenge(msgspec.Struct, rename="camel", frozen=True):
    """A challenge, from somebody else or of our own."""

    id: str
    variant: Variant = Variant()
    rated: bool = False
    speed: str = ""
    time_control: TimeControl = TimeControl()
    color: str = "random"  # of the challenger
    final_color: str | None = None  # what `random` has come to
    challenger: Player | None = None
    dest_user: Player | None = None
    initial_fen: str | None = None
    rematch_of: str | None = None
    decline_reason_key: str | None = None

    @property
    def opponent(self) -> Player:
        """Who challenges."""
        return self.challenger or Player()


class ChallengeMade(msgspec.Struct, frozen=True, tag="challenge"):
    """A challenge was made."""

    challenge: Challenge


class ChallengeDeclined(msgspec.Struct, frozen=True, tag="challengeDeclined"):
    """A challenge was declined."""

    challenge: Challenge


class ChallengeCanceled(msgspec.Struct, frozen=True, tag="challengeCanceled"):
    """A challenge was taken back."""

    challenge: Challenge


class GameInfo(msgspec.Struct, rename="camel", frozen=True):
    """A game as events name it."""

    game_id: str


class GameStart(msgspec.Struct, frozen=True, tag="gameStart"):
    """A game has begun, or is under way when the stream begins."""

    game: GameInfo


class GameFinish(msgspec.Struct, frozen=True, tag="gameFinish"):
    """A game has ended."""

    game: GameInfo


Event: TypeAlias = ChallengeMade | ChallengeDeclined | ChallengeCanceled | GameStart | GameFinish


class State(msgspec.Struct, frozen=True, tag="gameState"):
    """How a game stands; times are milliseconds."""

    moves: str = ""
    wtime: int = 0
    btime: int = 0
    winc: int = 0
    binc: int = 0
    status: str = "started"
    winner: str | None = None
    wdraw: bool = False
    bdraw: bool = False
    wtakeback: bool = False
    btakeback: bool = False

    @property
    def going_on(self) -> bool:
        """Whether the game has not ended."""
        return self.status in ("created", "started")


class Times(msgspec.Struct, frozen=True):
    """A game's time control; milliseconds."""

    initial: int = 0
    increment: int = 0


class Full(msgspec.Struct, rename="camel", frozen=True, tag="gameFull"):
    """All about a game; the first message of its stream, and of every stream after that."""

    id: str
    state: State
    variant: Variant = Variant()
    rated: bool = False
    speed: str = ""
    clock: Times | None = None
    white: Player = Player()
    black: Player = Player()
    initial_fen: str = "startpos"
    created_at: int = 0  # ms since 1970


class ChatLine(msgspec.Struct, frozen=True, tag="chatLine"):
    """Somebody has written something."""

    username: str
    text: str
    room: str = "player"


class OpponentGone(msgspec.Struct, rename="camel", frozen=True, tag="opponentGone"):
    """The opponent has left, or is back."""

    gone: bool
    claim_win_in_seconds: int | None = None


Message: TypeAlias = Full | State | ChatLine | OpponentGone


class AccountInfo(msgspec.Struct, frozen=True):
    """What Lichess says of the token's account."""

    id: str = ""
    username: str = ""
    title: str | None = None
    count: dict[str, int] = {}


class Perf(msgspec.Struct, frozen=True):
    """A player's rating at one speed."""

    rating: int = 0


class OnlineBot(msgspec.Struct, frozen=True):
    """A bot in the list of those that are online."""

    username: str = ""
    perfs: dict[str, Perf] = {}  # by speed


class Made(msgspec.Struct, frozen=True):
    """A challenge that was made; older servers wrap it."""

    id: str = ""
    challenge: Challenge | None = None


_EVENTS = {"challenge", "challengeDeclined", "challengeCanceled", "gameStart", "gameFinish"}
_MESSAGES = {"gameFull", "gameState", "chatLine", "opponentGone"}


def event_of(raw: dict[str, Any]) -> Event | None:
    """A message of the stream of events; None for kinds that are not known."""
    return msgspec.convert(raw, Event) if str(raw.get("type")) in _EVENTS else None


def message_of(raw: dict[str, Any]) -> Message | None:
    """A message of the stream of a game; None for kinds that are not known."""
    return msgspec.convert(raw, Message) if str(raw.get("type")) in _MESSAGES else None

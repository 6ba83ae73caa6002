"""What Lichess's streams say, as types: events of an account and of one game.

Fields that the bot has no use for are left out, and so are kinds of messages it does not know.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

BOT = "BOT"
CORRESPONDENCE = "correspondence"
LONGEST_LINE = 1 << 20  # bytes of a stream; a message has a few thousand
DEPTH = 4  # of objects in objects that the types below have
LAST_DATE = 253_402_300_799_000  # ms since 1970, of the year 9999

Milliseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=-(10**12), le=10**12)]
Moment: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LAST_DATE)]  # ms since 1970
Reason: TypeAlias = Literal[  # to decline a challenge
    "generic", "later", "tooFast", "tooSlow", "timeControl", "rated", "casual", "standard",
    "variant", "noBot", "onlyBot",
]  # fmt: skip


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


class TimeControl(msgspec.Struct, rename="camel", frozen=True):
    """How much time there is; seconds, or days a move."""

    type: str = "unlimited"
    limit: int = 0
    increment: int = 0
    days_per_turn: int = 0

    @property
    def is_correspondence(self) -> bool:
        """Whether a move has days."""
        return self.type == CORRESPONDENCE


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
    opponent: Player = Player()
    speed: str = ""


class GameStart(msgspec.Struct, frozen=True, tag="gameStart"):
    """A game has begun, or is under way when the stream begins."""

    game: GameInfo


class GameFinish(msgspec.Struct, frozen=True, tag="gameFinish"):
    """A game has ended."""

    game: GameInfo


Event: TypeAlias = ChallengeMade | ChallengeDeclined | ChallengeCanceled | GameStart | GameFinish


class State(msgspec.Struct, frozen=True, tag="gameState"):
    """How a game stands; times are milliseconds."""

    moves: str  # one that is missing is not a game at its start, nor a time the end of a clock
    wtime: Milliseconds
    btime: Milliseconds
    status: str
    winc: Milliseconds = 0
    binc: Milliseconds = 0
    winner: str | None = None
    wdraw: bool = False
    bdraw: bool = False
    wtakeback: bool = False
    btakeback: bool = False

    @property
    def going_on(self) -> bool:
        """Whether the game has not ended."""
        return self.status in ("created", "started")

    def gone_on(self, moves: tuple[str, ...]) -> bool:
        """Whether the game has ended, or has other moves than these."""
        return not self.going_on or tuple(self.moves.split()) != moves


class Times(msgspec.Struct, frozen=True):
    """A game's time control; milliseconds."""

    initial: Milliseconds = 0
    increment: Milliseconds = 0


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
    created_at: Moment = 0
    tournament_id: str = ""


class ChatLine(msgspec.Struct, frozen=True, tag="chatLine"):
    """Somebody has written something."""

    username: str = ""
    text: str = ""
    room: str = "player"


class OpponentGone(msgspec.Struct, rename="camel", frozen=True, tag="opponentGone"):
    """The opponent has left, or is back."""

    gone: bool
    claim_win_in_seconds: Milliseconds | None = None


Message: TypeAlias = Full | State | ChatLine | OpponentGone


class AccountInfo(msgspec.Struct, frozen=True):
    """What Lichess says of the token's account."""

    id: str = ""
    username: str = ""
    title: str | None = None
    count: dict[str, int] = {}


class OngoingGame(msgspec.Struct, rename="camel", frozen=True):
    """A game under way, and whose turn it is."""

    game_id: str
    is_my_turn: bool


class Ongoing(msgspec.Struct, rename="camel", frozen=True):
    """The games under way."""

    now_playing: tuple[OngoingGame, ...] = ()


class Perf(msgspec.Struct, frozen=True):
    """A player's rating at one speed."""

    rating: int = 0


class OnlineBot(msgspec.Struct, frozen=True):
    """A bot in the list of those that are online."""

    username: str = ""
    perfs: dict[str, Perf] = {}  # by speed


class ChallengeReply(msgspec.Struct, frozen=True):
    """A challenge that was made; older servers wrap it."""

    id: str = ""
    challenge: Challenge | None = None


class ChatMade(msgspec.Struct, frozen=True):
    """A line of a chat that was written before."""

    user: str = ""
    text: str = ""


_EVENTS = {"challenge", "challengeDeclined", "challengeCanceled", "gameStart", "gameFinish"}
_MESSAGES = {"gameFull", "gameState", "chatLine", "opponentGone"}


def event_of(raw: dict[str, Any]) -> Event | None:
    """A message of the stream of events; None for kinds that are not known."""
    return msgspec.convert(_given(raw), Event) if _type_of(raw) in _EVENTS else None


def message_of(raw: dict[str, Any]) -> Message | None:
    """A message of the stream of a game; None for kinds that are not known."""
    return msgspec.convert(_given(raw), Message) if _type_of(raw) in _MESSAGES else None


def _type_of(raw: dict[str, Any]) -> str:
    """The kind of a message, which all have: what has none may have been a move."""
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise msgspec.ValidationError("no type")
    return kind


def _given(value: Any, depth: int = DEPTH) -> Any:
    """An object without the fields that are null: to Lichess they are the same as missing ones.

    Halves of surrogate pairs, which JSON allows and UTF-8 does not, become question marks.
    """
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if depth == 0 or not isinstance(value, dict):
        return value
    parts = ((key, part) for key, part in value.items() if part is not None)
    return {_given(key): _given(part, depth - 1) for key, part in parts}


# --- lines ----------------------------------------------------------------------------------------


def lines_in(pieces: Iterable[bytes]) -> Iterator[bytes]:
    r"""The lines that pieces of a stream make up; empty ones only say that it lives.

    >>> list(lines_in([b"a\nb", b"c\n\n", b"d"]))
    [b'a', b'bc', b'', b'd']
    """
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from map(bytes.strip, whole)
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"a line of more than {LONGEST_LINE} bytes")
    if rest.strip():
        yield rest.strip()


def object_of(line: bytes) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise msgspec.ValidationError("no JSON object")
    return value


# --- Retry-After ----------------------------------------------------------------------------------


def pause_after(header: str | None, usual: float, least: float, most: float) -> float:
    """Seconds of silence that a Retry-After asks for; the usual ones if it makes no sense.

    >>> [pause_after(text, 65, 0.5, 600) for text in ("3", "0", "9" * 500, "soon", "-5", None)]
    [3.0, 0.5, 600, 65, 65, 65]
    """
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        seconds = float(text)
    else:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return usual
    return min(most, max(least, seconds))

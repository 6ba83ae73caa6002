"""Lichess's server as the bot uses it."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from kibitz.apps.lichess.config import Clock
from kibitz.apps.lichess.messages import (
    BOT,
    AccountInfo,
    ChallengeReply,
    ChatMade,
    Event,
    Full,
    Message,
    Ongoing,
    OnlineBot,
    Reason,
    event_of,
    lines_in,
    message_of,
    object_of,
    pause_after,
)
from kibitz.core.errors import KibitzError, missing_extra, shorten
from kibitz.core.log import say

# --- the server -----------------------------------------------------------------------------------
#
# The connection to Lichess: requests one at a time, streams that connect again, pauses after 429.
#
# berserk makes the requests. What it leaves open is done here: time limits, a stream that breaks or
# brings a broken line, HTTP 429, errors in words that never show the token.


try:
    import berserk
    import requests
    from berserk.exceptions import ApiError, ResponseError
    from berserk.formats import FormatHandler
    from requests.adapters import HTTPAdapter
except ImportError as error:
    raise missing_extra("kibitz lichess", "berserk", "lichess") from error

Answer = TypeVar("Answer")
Told = TypeVar("Told")
Kind: TypeAlias = Literal["move", "answer", "chat", "challenge", "look"]
KINDS: tuple[Kind, ...] = ("move", "answer", "chat", "challenge", "look")
LICHESS = "https://lichess.org"
_BETWEEN_QUOTES = re.compile(r"[^\"'()]+")  # errors of requests are objects in objects
NEEDED_SCOPE = "bot:play"
MOST_GAMES = 50  # that are listed
MOST_BOTS = 100  # that are listed
KEPT_JUNK = 100  # lines of a stream that made no sense and are passed over when they come again
PIECE = 512  # bytes
FULL = b"gameFull"
UNAUTHORISED, LIMITED, SERVER_ERRORS = 401, 429, 500
UNREADABLE = (  # no answer, or one that is not what Lichess says
    ApiError, requests.RequestException, ValueError, KeyError, RecursionError,
    msgspec.ValidationError,
)  # fmt: skip


class Pauses(NamedTuple):
    """Seconds that things take; tests have shorter ones."""

    limited: float = 65.0  # of silence after HTTP 429 without Retry-After; Lichess wants a minute
    limited_most: float = 600.0  # of silence, whatever Retry-After says
    begins: float = 90.0  # from an accepted challenge to its game; it may have been taken back
    challenges: float = 3600.0  # without challenges of our own after a 429 to one
    again: float = 0.5  # before the first new attempt; doubled each time
    events: float = 60.0  # before a new attempt to get events, at most
    game: float = 5.0  # before a new attempt to get a game's stream or to send a move, at most
    connect: float = 10.0  # until a connection stands
    reply: float = 10.0  # until a request is answered
    silence: float = 25.0  # of a stream, which else has an empty line every 7 seconds
    tick: float = 0.5  # between two looks at the time while nothing comes


USUAL_PAUSES = Pauses()


class ServerError(KibitzError):
    """A request that has not done what it should."""


class RefusedError(ServerError):
    """Lichess says no."""


class UnreachableError(ServerError):
    """No answer, or one that makes no sense; a later attempt may succeed."""


class LimitedError(UnreachableError):
    """Too many requests: nothing of this kind for so many seconds."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what)
        self.seconds = seconds


class TokenError(ServerError):
    """The token is not accepted."""


class Account(NamedTuple):
    """Whose token it is."""

    id: str
    name: str
    is_bot: bool
    games: int  # played so far
    scopes: frozenset[str] | None  # what the token may do; None: not said


class Server:
    """Lichess, as one account sees it; methods may be called from any thread."""

    def __init__(
        self,
        token: str,
        url: str = LICHESS,
        *,
        pauses: Pauses = USUAL_PAUSES,
        dry_run: bool = False,  # only look
    ) -> None:
        self.pauses, self.url, self.dry_run = pauses, url.rstrip("/"), dry_run
        self.closed = threading.Event()
        self.say: Callable[[str], None] = say  # for what becomes of streams
        self._session = requests.Session()
        self._session.auth = _Bearer(token)  # set so that no ~/.netrc can take its place
        adapter = _Timed(pauses)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)
        client = berserk.Client(self._session, base_url=self.url)
        self._bots, self._challenges = _Bots(self._session, self.url), client.challenges
        self._account = client.account
        self._locks = {kind: threading.Lock() for kind in ("move", "other")}
        self._free_at = dict.fromkeys(KINDS, 0.0)

    def close(self) -> None:
        """End all streams, soon, and close connections."""
        self.closed.set()
        self._session.close()

    # --- requests -------------------------------------------------------------------------------

    def free(self, kind: Kind) -> bool:
        """Whether requests of a kind are not in a pause."""
        return time.monotonic() >= self._free_at[kind]

    def _ask(self, kind: Kind, request: Callable[[], Answer]) -> Answer:
        """Make a request when no other is under way; moves do not wait for other kinds."""
        with self._locks["move" if kind == "move" else "other"]:
            left = self._free_at[kind] - time.monotonic()
            if left > 0:
                raise LimitedError(f"{self.url}: a pause after too many requests", left)
            try:
                return request()
            except ResponseError as error:
                raise self._failure(kind, error) from None
            except UNREADABLE as error:
                raise UnreachableError(f"{self.url}: {_cause(error)}") from None

    def _failure(self, kind: Kind, error: ResponseError) -> ServerError:
        """What an HTTP status means; after 429 there is a pause."""
        status, message = error.status_code, _message_of(error)
        if status == LIMITED:
            now, header = time.monotonic(), error.response.headers.get("Retry-After")
            pauses = self.pauses
            seconds = pause_after(header, pauses.limited, pauses.again, pauses.limited_most)
            for paused in KINDS if kind == "move" else KINDS[1:]:
                self._free_at[paused] = max(self._free_at[paused], now + seconds)
            if kind == "challenge":
                self._free_at[kind] = now + max(seconds, self.pauses.challenges)
            what = f"{self.url}: too many requests ({kind}), so there is a pause of {seconds:.0f} s"
            return LimitedError(what, seconds)
        if status == UNAUTHORISED:
            return TokenError(f"{self.url} does not know this token", fix="make a new one")
        if status >= SERVER_ERRORS:
            return UnreachableError(f"{self.url}: HTTP {status}")
        return RefusedError(f"{self.url}: HTTP {status}: {message}")

    def account(self) -> Account:
        """Whose token it is, and what it may do."""

        def look() -> tuple[AccountInfo, str | None]:
            response = self._session.get(f"{self.url}/api/account")
            if not response.ok:
                raise ResponseError(response)
            facts = msgspec.convert(response.json(), AccountInfo)
            return facts, response.headers.get("X-OAuth-Scopes")

        facts, header = self._ask("look", look)
        scopes = None if header is None else frozenset(header.replace(",", " ").split())
        name, games = facts.username, facts.count.get("all", 0)
        return Account(facts.id or name, name, facts.title == BOT, games, scopes)

    def upgrade(self) -> None:
        """Make the account a bot's, for ever."""
        self._do("answer", self._account.upgrade_to_bot)

    def ongoing(self) -> dict[str, bool]:
        """The games under way by their names, and whether it is the bot's turn."""
        games = self._ask("look", self._bots.ongoing).now_playing
        return {game.game_id: game.is_my_turn for game in games}

    def join(self, tournament: str) -> None:
        """Enter an arena."""
        self._do("answer", lambda: self._bots.tournament(tournament, "join"))

    def withdraw(self, tournament: str) -> None:
        """Get no further pairings in an arena."""
        self._do("answer", lambda: self._bots.tournament(tournament, "withdraw"))

    def online_bots(self) -> list[OnlineBot]:
        """Bots that are online, with their ratings."""

        def look() -> list[OnlineBot]:
            return msgspec.convert([*self._bots.get_online_bots(MOST_BOTS)], list[OnlineBot])

        return self._ask("look", look)

    def _do(self, kind: Kind, request: Callable[[], Any]) -> Any:
        """Make a request that changes something, but in a dry run."""
        return None if self.dry_run else self._ask(kind, request)

    def move(self, game: str, move: str, offer_draw: bool) -> None:
        """Make a move."""
        self._do("move", lambda: self._bots.move(game, move, offer_draw))

    def standing(self, game: str) -> Full:
        """How a game stands."""

        def look() -> Full:
            until = time.monotonic() + self.pauses.reply
            for line in self._bots.game(game):
                if FULL in line:
                    message = message_of(object_of(line))
                    if isinstance(message, Full):
                        return message
                if time.monotonic() > until:
                    break
            raise msgspec.ValidationError("a stream that does not say which game it is")

        return self._ask("move", look)

    def act(self, game: str, what: str) -> None:
        """Do what a word says in a game: abort, resign, draw/yes, takeback/no, claim-victory."""
        self._do("move", lambda: self._bots.act(game, what))

    def chat(self, game: str, text: str, spectators: bool) -> None:
        """Write a line into a chat."""
        self._do("chat", lambda: self._bots.post_message(game, text, spectators))

    def chat_lines(self, game: str) -> list[ChatMade]:
        """What was written so far in the chat of the players."""
        lines = self._ask("chat", lambda: self._bots.chat_lines(game))
        return [line for line in lines if line.text]

    def accept(self, challenge: str) -> None:
        """Accept a challenge."""
        self._do("answer", lambda: self._bots.accept_challenge(challenge))

    def decline(self, challenge: str, reason: Reason) -> None:
        """Decline a challenge, with a reason of Lichess's."""
        self._do("answer", lambda: self._bots.decline_challenge(challenge, reason))

    def challenge(self, name: str, rated: bool, clock: Clock) -> str:
        """Challenge a player to a game; the challenge's id, if there is one."""

        def create() -> ChallengeReply:
            return msgspec.convert(self._challenges.create(name, rated, *clock), ChallengeReply)

        made = self._do("challenge", create) or ChallengeReply()
        return made.id or (made.challenge.id if made.challenge is not None else "")

    def cancel(self, challenge: str) -> None:
        """Take a challenge back."""
        self._do("answer", lambda: self._challenges.cancel(challenge))

    # --- streams --------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """What happens to the account, until the server is closed."""
        connect, longest = self._bots.events, self.pauses.events
        return self._stream("events", connect, event_of, lambda: True, longest)

    def game(self, game: str, alive: Callable[[], bool]) -> Iterator[Message]:
        """The messages of a game, until it ends; of each connection from a Full on."""
        has_full = False

        def connect() -> Iterator[bytes]:
            nonlocal has_full
            has_full = False
            return self._bots.game(game)

        def read(raw: dict[str, Any]) -> Message | None:
            nonlocal has_full
            message = message_of(raw)
            has_full |= isinstance(message, Full)
            return message if has_full else None

        return self._stream(f"game {game}", connect, read, alive, self.pauses.game)

    def _stream(
        self,
        name: str,
        connect: Callable[[], Iterator[bytes]],
        read: Callable[[dict[str, Any]], Told | None],
        alive: Callable[[], bool],
        longest: float,
    ) -> Iterator[Told]:
        """The messages of a stream, connected again whenever it ends, ever later if at once.

        A line that makes no sense may have been a move or a game, so the stream is connected again
        to hear of it; if the same line comes then, it is passed over.
        """
        wait, complaint = self.pauses.again, ""
        junk = deque[bytes](maxlen=KEPT_JUNK)
        while alive() and not self.closed.is_set():
            since, reason = math.inf, "ended"
            try:
                for line in connect():
                    since = min(since, time.monotonic())
                    try:
                        message = read(object_of(line)) if line else None
                    except msgspec.ValidationError as error:
                        if line in junk:
                            continue
                        junk.append(line)
                        reason = f"a line that makes no sense: {shorten(repr(line))}: {error}"
                        break
                    if message is not None:
                        yield message
                    if self.closed.is_set() or not alive():
                        return
            except ResponseError as error:
                failure = self._failure("look", error)
                if isinstance(failure, (TokenError, RefusedError)):
                    raise failure from None
                reason = failure.what
                wait = max(wait, failure.seconds) if isinstance(failure, LimitedError) else wait
            except UNREADABLE as error:
                reason = _cause(error)
            if time.monotonic() - since > self.pauses.game:  # it has worked for a while
                wait, complaint = self.pauses.again, ""
            if alive() and reason != complaint and not self.closed.is_set():
                complaint = reason
                self.say(f"stream of {name}: {reason}; connecting again")
            self.closed.wait(wait)
            wait = min(2 * wait, longest)


class _Bots(berserk.clients.Bots):
    """berserk's requests of bots, with those that it does not have; times stay milliseconds."""

    def events(self) -> Iterator[bytes]:
        yield from self._r.get("/api/stream/event", stream=True, fmt=_LINES)

    def game(self, game: str) -> Iterator[bytes]:
        yield from self._r.get(f"/api/bot/game/stream/{game}", stream=True, fmt=_LINES)

    def tournament(self, name: str, what: str) -> None:
        self._r.post(f"/api/tournament/{name}/{what}")

    def ongoing(self) -> Ongoing:
        games = self._r.get("/api/account/playing", params={"nb": MOST_GAMES})
        return msgspec.convert(games, Ongoing)

    def chat_lines(self, game: str) -> list[ChatMade]:
        return msgspec.convert(self._r.get(f"/api/bot/game/{game}/chat"), list[ChatMade])

    def move(self, game: str, move: str, offer_draw: bool) -> None:
        draw = {"offeringDraw": "true"} if offer_draw else None
        self._r.post(f"/api/bot/game/{game}/move/{move}", params=draw)

    def act(self, game: str, what: str) -> None:
        self._r.post(f"/api/bot/game/{game}/{what}")


class _Lines(FormatHandler[bytes]):
    """Streams as lines of bytes: what is in them is looked at line by line."""

    def parse_stream(self, response: requests.Response) -> Iterator[bytes]:
        return lines_in(response.iter_content(PIECE))


_LINES = _Lines("application/x-ndjson")


class _Bearer(requests.auth.AuthBase):
    """Adds the token to requests; its own text does not show it."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Timed(HTTPAdapter):
    """Gives every request a time limit; that of streams is for the silence between two lines."""

    def __init__(self, pauses: Pauses) -> None:
        super().__init__()
        self._pauses = pauses

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        patience = self._pauses.silence if stream else self._pauses.reply
        timeout = timeout or (self._pauses.connect, patience)
        return super().send(request, stream, timeout, verify, cert, proxies)


def _message_of(error: ResponseError) -> str:
    """What Lichess says of an error."""
    cause = error.cause
    message = cause.get("error", cause) if isinstance(cause, dict) else error.reason
    return str(message)


def _cause(error: Exception) -> str:
    """The innermost reason of a failed request, without the objects around it."""
    if isinstance(error, requests.Timeout) or isinstance(error.__cause__, requests.Timeout):
        return "no answer in time"
    if isinstance(error, RecursionError | msgspec.ValidationError):
        return f"an answer that makes no sense ({error})"
    if isinstance(error, ValueError):
        return f"an answer that is not JSON ({error})"
    parts = [part.strip() for part in _BETWEEN_QUOTES.findall(str(error))]
    spoken = [part for part in parts if any(letter.isalpha() for letter in part)]
    return spoken[-1].rpartition(": ")[2] if spoken else type(error).__name__

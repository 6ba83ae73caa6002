"""A player's games from Lichess and chess.com, by name: only what is new, one request at a time.

Both have public interfaces: Lichess streams games from a moment on, a JSON object a line; chess.com
has a list of months, and a file of games for each. How far a run has come is written together with
the games it has brought, so the next one goes on from there, however the last one ended.
"""

from __future__ import annotations

import datetime
import http.client
import os
import re
import time
import urllib.error
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode

import msgspec

from kibitz.coach.database import Database, StoredGame
from kibitz.coach.games import BATCH, Added, Site, Wanted, add_games, games_of
from kibitz.core.downloads import FetchError, Pause, back_off, fault_of_token, with_retries
from kibitz.core.errors import ConfigError, InputError
from kibitz.core.log import Bar, Stop, say
from kibitz.data.pgn import PACES

TOKEN_VARIABLE = "LICHESS_TOKEN"
DAY = 86_400
OVERLAP = DAY  # seconds before the newest game in which others may have begun, and ended later
SLOW_OVERLAP = 120 * DAY  # the same for correspondence
PIECE = 1 << 16  # bytes of a stream
LONGEST_LINE = 1 << 22  # bytes of a game
LARGEST_MONTH = 1 << 28  # bytes of a month of chess.com
SILENCE = 60.0  # seconds
NOT_MODIFIED, NOT_FOUND, GONE, UNAUTHORISED, FORBIDDEN = 304, 404, 410, 401, 403
LICHESS, CHESSCOM = "https://lichess.org", "https://api.chess.com"
_NAME = re.compile(r"[A-Za-z0-9_-]{2,30}")
_ADDRESS = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?")
_MONTH = re.compile(r".*/games/(\d{4})/(\d{2})")
STANDARD = {"standard", "chess960", "fromPosition", "chess"}


class Account(NamedTuple):
    """A player's name on a site."""

    site: str  # lichess or chesscom
    name: str
    url: str  # of the site's interface

    def __str__(self) -> str:
        return f"{self.site}:{self.name.casefold()}"


def account_of(text: str, server: str | None = None) -> Account | None:
    """The account that `lichess:NAME` or `chesscom:NAME` is; None for the name of a file."""
    site, colon, name = text.partition(":")
    if not colon or site not in ("lichess", "chesscom"):
        return None
    if _NAME.fullmatch(name) is None:
        fix = "letters, digits, _ and -, as in the address of the player's page"
        raise InputError(f"no name that {site} gives", value=name, fix=fix)
    server = server or (LICHESS if site == "lichess" else CHESSCOM)
    if _ADDRESS.fullmatch(server) is None:
        fix = f"an address like {LICHESS}"
        raise InputError("--server: no address of a site", value=server, fix=fix)
    return Account(site, name, server.rstrip("/"))


class LichessGame(msgspec.Struct, frozen=True):
    """What is read of a line of Lichess's stream."""

    id: str
    pgn: str = ""
    variant: str = "standard"
    speed: str = ""
    rated: bool | None = None
    createdAt: int = 0  # noqa: N815 - milliseconds since 1970

    @property
    def kind(self) -> str:
        """The variant."""
        return self.variant

    @property
    def pace(self) -> str:
        """As PACES have it."""
        return self.speed.casefold()

    @property
    def played(self) -> int:
        """When it began, in seconds since 1970."""
        return self.createdAt // 1000


class ChesscomGame(msgspec.Struct, frozen=True):
    """What is read of a game of a month of chess.com."""

    url: str = ""
    pgn: str = ""
    rules: str = "chess"
    time_class: str = ""
    rated: bool | None = None
    end_time: int = 0  # seconds since 1970

    @property
    def kind(self) -> str:
        """The variant."""
        return self.rules

    @property
    def pace(self) -> str:
        """As PACES have it, where the clock does not say it."""
        return "correspondence" if self.time_class == "daily" else ""

    @property
    def played(self) -> int:
        """When it ended, in seconds since 1970."""
        return self.end_time


class Month(msgspec.Struct, frozen=True):
    """The games of a month; one that cannot be read does not cost the others."""

    games: list[msgspec.Raw] = []


class Months(msgspec.Struct, frozen=True):
    """Addresses of the months in which a player has played."""

    archives: list[str] = []


@dataclass
class Fetching:
    """Brings the games of an account that are not in the database."""

    account: Account
    database: Database
    wanted: Wanted
    stop: Stop
    bar: Bar
    added: Added
    pause: Pause = back_off

    def __post_init__(self) -> None:
        self._progress = self._reached = 0
        keys = (str(self.account), str(self.wanted))
        self.database.write("INSERT OR IGNORE INTO sources (name, filters) VALUES (?, ?)", keys)
        query = "SELECT id, newest FROM sources WHERE name = ? AND filters = ?"
        self._source, self._newest = self.database.rows(query, keys)[0]

    def run(self) -> None:
        """Bring them, and note whose they are."""
        self.database.add_name(self.account.name)
        try:
            if self.account.site == "lichess":
                self.lichess()
            else:
                self.chesscom()
        except urllib.error.HTTPError as error:
            raise _refused(self.account, error, self.pause) from None

    # --- Lichess --------------------------------------------------------------------------------

    def lichess(self) -> None:
        """The games since the newest one, and correspondence that has ended since."""
        speeds, newest = self.wanted.speeds, self._newest
        if newest and (not speeds or "correspondence" in speeds):
            self._stream(("correspondence",), newest - 1000 * SLOW_OVERLAP)
        if not self.stop.requested:
            self._stream(speeds, newest - 1000 * OVERLAP, moves_on=True)

    def _stream(self, speeds: Sequence[str], since: int, moves_on: bool = False) -> None:
        """Games of some speeds that began at a moment (ms) or later, the earliest first."""
        self._reached = max(since, 1000 * self.wanted.since, 0)

        def address() -> str:
            options = {"since": str(self._reached), "sort": "dateAsc", "pgnInJson": "true"}
            options |= dict.fromkeys(("clocks", "evals", "opening"), "true")
            if speeds:
                options["perfType"] = ",".join(map(_as_lichess_says, speeds))
            if self.wanted.rated:
                options["rated"] = "true"
            return f"{self.account.url}/api/games/user/{self.account.name}?{urlencode(options)}"

        def take(answer: HTTPResponse) -> None:
            for batch in _batches(answer):
                self._keep_lines(batch, moves_on)
                if self.stop.requested:
                    return

        self._ask(address, take, _lichess_headers)

    def _keep_lines(self, lines: list[LichessGame], moves_on: bool) -> None:
        games = [game for line in lines for game in self._games(line)]
        latest = max(line.createdAt for line in lines)
        with self.database.transaction():
            add_games(self.database, games, self.wanted, self.added)
            if moves_on:
                self._newest = max(self._newest, latest)
                values = (self._newest, self._source)
                self.database.write("UPDATE sources SET newest = ? WHERE id = ?", values)
        self._progress += latest > self._reached
        self._reached = max(self._reached, latest)
        self.bar.advance(len(lines))

    # --- chess.com ------------------------------------------------------------------------------

    def chesscom(self) -> None:
        """The months that may have changed since the last run, the earliest first."""
        url = f"{self.account.url}/pub/player/{self.account.name.casefold()}/games"
        months = self._ask(lambda: f"{url}/archives", _months)
        fetched = {
            month: (tag, final)
            for month, tag, final in self.database.rows(
                "SELECT month, tag, final FROM archives WHERE source = ?", (self._source,)
            )
        }
        for month in months:
            tag, final = fetched.get(month, ("", 0))
            if self.stop.requested:
                return
            if not final and _end_of(month) > self.wanted.since:
                self._month(f"{url}/{month}", month, tag)

    def _month(self, url: str, month: str, tag: str) -> None:
        final = time.time() > _end_of(month) + DAY  # it has no more games to come
        try:
            content, tag = self._ask(
                lambda: url, _content, lambda: {"If-None-Match": tag} if tag else {}
            )
            games = self._month_games(content)
        except urllib.error.HTTPError as error:
            if error.code != NOT_MODIFIED:
                raise
            games = []
        with self.database.transaction():
            add_games(self.database, games, self.wanted, self.added)
            self.database.write(
                "INSERT OR REPLACE INTO archives VALUES (?, ?, ?, ?)",
                (self._source, month, tag, int(final)),
            )
        self.bar.advance(len(games))

    def _month_games(self, content: bytes) -> list[StoredGame]:
        games: list[StoredGame] = []
        for raw in _decoded(content, Month).games:
            try:
                game = msgspec.json.decode(raw, type=ChesscomGame)
            except msgspec.MsgspecError:
                self.added["not readable"] += 1
                continue
            games += self._games(game)
        return games

    # --- both -----------------------------------------------------------------------------------

    def _ask(
        self,
        url: Callable[[], str],
        use: Callable[[HTTPResponse], Any],
        headers: Callable[[], Mapping[str, str]] = dict,
    ) -> Any:
        """Ask as long as every few tries bring some games."""
        while True:
            before = self._progress
            try:
                return with_retries(url, use, headers=headers, timeout=SILENCE, pause=self.pause)
            except FetchError as error:
                if self._progress > before:
                    say(f"{self.account}: {error.what}; going on")
                    continue
                fix = error.fix or "the same command goes on from here"
                raise FetchError(error.what, value=str(self.account), fix=fix) from error

    def _games(self, game: LichessGame | ChesscomGame) -> Iterator[StoredGame]:
        if game.kind not in STANDARD:
            self.added["of a variant"] += 1
            return
        site = cast(Site, self.account.site)
        for stored in games_of(game.pgn, (self.account.name,), self.added, site):
            yield stored._replace(
                pace=game.pace if game.pace in PACES else stored.pace,
                rated=stored.rated if game.rated is None else game.rated,
                played=game.played or stored.played,
            )


def _as_lichess_says(pace: str) -> str:
    return "ultraBullet" if pace == "ultrabullet" else pace


def _lichess_headers() -> dict[str, str]:
    """What is accepted, and the token, if the environment has one; nothing ever shows it."""
    headers = {"Accept": "application/x-ndjson"}
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token and (wrong := fault_of_token(token)):
        raise ConfigError(f"{TOKEN_VARIABLE}: not a token: {wrong}", fix="set another, or unset it")
    return headers | ({"Authorization": f"Bearer {token}"} if token else {})


def _lines(answer: HTTPResponse) -> Iterator[LichessGame]:
    """The games of a stream; an error where it is cut within a line."""
    rest = b""
    while piece := answer.read1(PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        for line in filter(bytes.strip, lines):
            yield _decoded(line, LichessGame)
        if len(rest) > LONGEST_LINE:
            raise FetchError(f"a line of more than {LONGEST_LINE:,} bytes is no game")
    if rest.strip():
        try:
            yield msgspec.json.decode(rest, type=LichessGame)
        except msgspec.MsgspecError as error:
            raise http.client.IncompleteRead(rest) from error


def _batches(answer: HTTPResponse) -> Iterator[list[LichessGame]]:
    """The games of a stream, some at a time; what came before it was cut is not lost with it."""
    batch: list[LichessGame] = []
    cut: Exception | None = None
    try:
        for line in _lines(answer):
            batch.append(line)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except (http.client.HTTPException, OSError) as error:
        cut = error
    if batch:
        yield batch
    if cut is not None:
        raise cut


def _decoded(content: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        fix = "is this the address of its interface?"
        raise FetchError(f"an answer that makes no sense ({error})", fix=fix) from error


def _months(answer: HTTPResponse) -> list[str]:
    """The months in which there are games, as 2024/03; addresses are made of nothing else."""
    addresses = _decoded(answer.read(PIECE << 4), Months).archives
    months = [_MONTH.fullmatch(address) for address in addresses]
    return sorted(
        f"{month[1]}/{month[2]}" for month in months if month and 1 <= int(month[2]) <= 12
    )


def _content(answer: HTTPResponse) -> tuple[bytes, str]:
    """The body, whole, and the server's name for this state of it."""
    content = answer.read(LARGEST_MONTH)
    length = answer.headers.get("Content-Length", "")
    if length.isdecimal() and len(content) < int(length):
        raise http.client.IncompleteRead(content)
    return content, answer.headers.get("ETag", "")


def _end_of(month: str) -> int:
    """When a month like 2024/03 ends, in seconds since 1970."""
    year, number = map(int, month.split("/"))
    after = datetime.datetime(year + number // 12, number % 12 + 1, 1, tzinfo=datetime.UTC)
    return int(after.timestamp())


def _refused(account: Account, error: urllib.error.HTTPError, pause: Pause) -> FetchError:
    """What a refusal means for an account."""
    if error.code in (UNAUTHORISED, FORBIDDEN) and os.environ.get(TOKEN_VARIABLE):
        what, fix = f"{account.site} refuses the token ({error.code})", f"renew {TOKEN_VARIABLE}"
        return FetchError(what, value=account.name, fix=fix)
    if error.code not in (NOT_FOUND, GONE):
        return FetchError(f"{error.code} {error.reason}", value=str(account))
    if _is_closed(account, pause):
        fix = "export its games on the site, and add the files"
        return FetchError(f"this account of {account.site} is closed", value=account.name, fix=fix)
    what = f"{account.site} has no player of this name"
    return FetchError(what, value=account.name, fix="is it spelt as on the player's page?")


class _Player(msgspec.Struct):
    """What sites say of a player."""

    disabled: bool = False  # Lichess
    status: str = ""  # chess.com


def _is_closed(account: Account, pause: Pause) -> bool:
    path = "api/user" if account.site == "lichess" else "pub/player"
    try:
        content = with_retries(
            f"{account.url}/{path}/{account.name}", lambda answer: answer.read(PIECE), pause=pause
        )
        player = msgspec.json.decode(content, type=_Player)
    except (urllib.error.HTTPError, FetchError, msgspec.MsgspecError):
        return False
    return player.disabled or player.status.startswith("closed")

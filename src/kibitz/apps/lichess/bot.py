"""The bot: whose it is, the events that come, challenges that are answered, games that begin.

A file with the token must be readable by its owner alone.
"""

from __future__ import annotations

import os
import queue
import stat
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kibitz.apps.lichess.archive import Archive, Reports
from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.game import Game
from kibitz.apps.lichess.lookups import Lookups
from kibitz.apps.lichess.messages import (
    CORRESPONDENCE,
    Challenge,
    ChallengeCanceled,
    ChallengeDeclined,
    ChallengeMade,
    Event,
    GameFinish,
    GameInfo,
    GameStart,
)
from kibitz.apps.lichess.rules import Challenger, Workload, why_declined
from kibitz.apps.lichess.server import (
    NEEDED_SCOPE,
    Account,
    LimitedError,
    Pauses,
    RefusedError,
    Server,
    ServerError,
    TokenError,
    UnreachableError,
)
from kibitz.core.downloads import fault_of_token
from kibitz.core.errors import ConfigError, InputError, KibitzError
from kibitz.core.files import read_bytes
from kibitz.core.log import Stop, say
from kibitz.engine import Engine
from kibitz.engine.levels import against_people

DAY_SECONDS = 86_400.0
ATTEMPTS = 3  # to answer a challenge, or to get at a game that is refused
TROUBLE = KibitzError, OSError  # after which other games go on


def warm_up(network: str, settings: Lichess) -> None:
    """Compile and load what games need, before a clock runs."""
    with Engine(network) as engine:
        engine.ready()
        for problem in engine.problems:
            say(problem)
        if "fromPosition" in settings.variants and settings.odds_options:
            engine.configure(**settings.odds_settings())
            engine.ready()
        if settings.mistakes != "never":
            engine.configure(**against_people(engine.options.weights, settings.strength_elo))
            engine.ready()


class Bot:
    """An account that plays."""

    def __init__(
        self, me: str, server: Server, network: str, settings: Lichess, archive: Archive
    ) -> None:
        self._me, self._server, self._network = me, server, network
        self._settings, self._archive, self._dry_run = settings, archive, server.dry_run
        server.say = archive.say
        self._inbox: queue.Queue[Event | BaseException] = queue.Queue()
        self._waiting: dict[str, _Waiting] = {}  # challenges that are not answered yet
        self._games: dict[str, _GameThread] = {}
        self._accepted: dict[str, float] = {}  # whose games have not begun, and until when they may
        self._opponents: dict[str, str] = {}  # ids, by game; accepted and under way
        self._played: list[tuple[float, str]] = []  # when games began, and the opponents' ids
        self._slow: set[str] = set()  # names of correspondence games, from their acceptance on
        self._resting: set[str] = set()  # those of them that wait for a reply
        self._looked = time.monotonic()  # for replies
        self._stop = Stop()
        self._ended: set[str] = set()  # games; a new stream of events may name one once more
        self._challenger = Challenger(me, settings, server, archive)
        self._lookups = Lookups(settings, archive.say)
        if settings.reports:
            nodes = settings.report_nodes
            archive.reports = Reports(archive.folder, network, nodes, archive.say)

    def run(self, stop: Stop) -> None:
        """Play until a stop is requested and the games under way have ended."""
        self._stop = stop
        threading.Thread(target=self._listen, name="events", daemon=True).start()
        self._in_tournaments(self._server.join, "joins")
        announced = False
        while not (stop.requested and not self._games and not self._accepted):
            if stop.requested and not announced:
                announced = True
                self._in_tournaments(self._server.withdraw, "leaves")
                names = ", ".join([*self._games, *self._accepted])
                self._archive.say(f"no new games; finishing {names}; Ctrl-C again leaves them")
            try:
                item = self._inbox.get(timeout=self._server.pauses.tick)
            except queue.Empty:
                item = None
            if isinstance(item, BaseException):
                raise item
            if item is not None:
                self._handle(item)
            self._reap()
            self._give_up_waiting()
            self._look_for_replies(time.monotonic())
            self._answer(self._workload(stop.requested))
            quick = {*self._games, *self._accepted} - self._slow
            self._challenger.look(bool(quick or stop.requested))

    def _in_tournaments(self, act: Callable[[str], None], what: str) -> None:
        """Join or leave all tournaments; one that cannot be joined costs nothing else."""
        for name in self._settings.tournaments:
            try:
                act(name)
                self._archive.say(f"{'would: ' * self._dry_run}{what} tournament {name}")
            except ServerError as error:
                self._archive.say(f"tournament {name}: {error}")

    def _workload(self, stopping: bool) -> Workload:
        """What goes on."""
        names = [*self._games, *self._accepted, *self._resting]
        self._slow &= {*names}
        self._opponents = {name: self._opponents.get(name, "") for name in names}
        since = time.monotonic() - DAY_SECONDS
        self._played = [entry for entry in self._played if entry[0] >= since]
        opponents, played = tuple(self._opponents.values()), tuple(name for _, name in self._played)
        slow = len(self._slow)
        return Workload(len(names) - slow, stopping, opponents, played, slow)

    def hurry(self) -> None:
        """Challenge somebody at once, if that is wanted at all."""
        self._challenger.hurry()

    @property
    def playing(self) -> list[str]:
        """The games under way."""
        return list(self._games)

    @property
    def resting(self) -> list[str]:
        """The correspondence games that wait for a reply."""
        return sorted(self._resting)

    def _listen(self) -> None:
        """Put the events into the inbox."""
        try:
            for event in self._server.events():
                self._inbox.put(event)
        except BaseException as error:  # noqa: BLE001 - run raises it
            self._inbox.put(error)

    def _handle(self, event: Event) -> None:
        if isinstance(event, ChallengeMade):
            if event.challenge.opponent.id.casefold() != self._me.casefold():
                self._waiting.setdefault(event.challenge.id, _Waiting(event.challenge))
        elif isinstance(event, ChallengeCanceled):
            self._waiting.pop(event.challenge.id, None)
            self._accepted.pop(event.challenge.id, None)
        elif isinstance(event, ChallengeDeclined):
            self._challenger.declined(event.challenge)
        elif isinstance(event, GameStart):
            self._start(event.game)
        elif isinstance(event, GameFinish):
            self._accepted.pop(event.game.game_id, None)
            if event.game.game_id in self._resting:
                self._begin(event.game.game_id)  # which keeps how it ended

    # --- challenges -----------------------------------------------------------------------------

    def _answer(self, now: Workload) -> None:
        """Accept or decline what waits, rated games first."""
        due = [waits for waits in self._waiting.values() if time.monotonic() >= waits.at]
        for waiting in sorted(due, key=lambda waits: not waits.challenge.rated):
            challenge = waiting.challenge
            if not self._server.free("answer"):
                return
            refusal = why_declined(challenge, self._settings, now)
            what = _described(challenge)
            try:
                if refusal is None:
                    self._server.accept(challenge.id)
                    self._archive.say(f"{'would accept' if self._dry_run else 'accepted'}: {what}")
                    if not self._dry_run:
                        self._accepted[challenge.id] = time.monotonic() + self._server.pauses.begins
                        name = self._opponents[challenge.id] = challenge.opponent.id.casefold()
                        slow = challenge.time_control.is_correspondence
                        self._slow |= {challenge.id} if slow else set()
                        now = now._replace(
                            games=now.games + (not slow),
                            opponents=(*now.opponents, name),
                            correspondence=now.correspondence + slow,
                        )
                else:
                    self._server.decline(challenge.id, refusal.reason)
                    verb = "would decline" if self._dry_run else "declined"
                    self._archive.say(f"{verb} ({refusal.reason}: {refusal.objection}): {what}")
            except LimitedError:
                return
            except ServerError as error:
                self._archive.say(f"not answered: {what}: {error}")
                if isinstance(error, UnreachableError) and waiting.again(self._server.pauses.again):
                    continue
            del self._waiting[challenge.id]

    def _give_up_waiting(self) -> None:
        """Forget games of accepted challenges that do not begin: they end while no stream stands.

        One that begins later after all is played.
        """
        for name, until in list(self._accepted.items()):
            if time.monotonic() >= until:
                del self._accepted[name]
                self._archive.say(f"game {name} has not begun; not waiting for it any more")

    # --- games ----------------------------------------------------------------------------------

    def _start(self, game: GameInfo) -> None:
        name, opponent = game.game_id, game.opponent.id.casefold()
        self._accepted.pop(name, None)
        self._waiting.pop(name, None)  # its acceptance has arrived, though no answer came
        if name in self._games or name in self._ended or name in self._resting:
            return
        if self._dry_run:
            self._archive.say(f"would play game {name}")
            return
        self._opponents[name] = opponent or self._opponents.get(name, "")
        self._played.append((time.monotonic(), self._opponents[name]))
        if game.speed == CORRESPONDENCE:
            self._slow.add(name)
        self._begin(name)

    def _begin(self, name: str) -> None:
        """Play a game on a thread of its own, from where it stands."""
        self._resting.discard(name)
        self._games[name] = _GameThread(lambda: self._play(name))

    def _look_for_replies(self, now: float) -> None:
        """Go on with correspondence games in which it is the bot's turn, or that have ended."""
        due = now - self._looked >= self._settings.correspondence_every
        if not (self._resting and due) or self._stop.requested or not self._server.free("look"):
            return
        self._looked = now
        try:
            ongoing = self._server.ongoing()
        except ServerError as error:
            self._archive.say(f"no look for replies: {error}")
            return
        for name in sorted(self._resting):
            if name not in ongoing or ongoing[name]:
                self._begin(name)

    def _play(self, name: str) -> bool:
        """Play a game, with an engine of its own; whether it rests until there is a reply."""
        with Engine(self._network) as engine:
            shared = self._server, engine, self._settings, self._archive, self._lookups
            game = Game(name, self._me, *shared, lambda: self._stop.requested)
            game.play()
        return game.rests

    def _reap(self) -> None:
        """See to games that have ended; one that an error interrupts begins again."""
        for name, running in list(self._games.items()):
            if running.thread.is_alive():
                continue
            if running.error is None:
                (self._resting if running.rests else self._ended).add(name)
                del self._games[name]
                continue
            if running.again_at is not None:
                if time.monotonic() >= running.again_at:
                    running.begin()
                continue
            self._archive.say(f"game {name}: {type(running.error).__name__}: {running.error}")
            if not isinstance(running.error, TROUBLE) or isinstance(running.error, TokenError):
                raise running.error
            gone = isinstance(running.error, RefusedError) or self._stop.requested
            if gone and running.attempts >= ATTEMPTS:
                del self._games[name]
            else:
                running.wait(self._server.pauses)


@dataclass
class _Waiting:
    """A challenge without an answer."""

    challenge: Challenge
    attempts: int = 0  # to answer it
    at: float = 0.0  # the next one, by time.monotonic

    def again(self, pause: float) -> bool:
        """Answer it later; False after too many attempts."""
        self.attempts += 1
        self.at = time.monotonic() + pause * 2**self.attempts
        return self.attempts < ATTEMPTS


class _GameThread:
    """A game on a thread of its own."""

    def __init__(self, play: Callable[[], bool]) -> None:
        self._play, self.attempts, self.rests = play, 0, False
        self.begin()

    def begin(self) -> None:
        """Play it, from where it stands."""
        self.error: BaseException | None = None
        self.again_at: float | None = None  # after an error
        self._began = time.monotonic()
        self.attempts += 1
        self.thread = threading.Thread(target=self._run, name="game", daemon=True)
        self.thread.start()

    def wait(self, pauses: Pauses) -> None:
        """Begin again soon; later after each attempt in a row."""
        now = time.monotonic()
        if now - self._began > pauses.events:
            self.attempts = 1
        self.again_at = now + min(pauses.again * 2 ** min(self.attempts, 20), pauses.game)

    def _run(self) -> None:
        try:
            self.rests = self._play()
        except BaseException as error:  # noqa: BLE001 - the bot raises it
            self.error = error


def _described(challenge: Challenge) -> str:
    """A challenge in words."""
    rating = "" if challenge.opponent.rating is None else f" ({challenge.opponent.rating})"
    clock = challenge.time_control
    time = f"{clock.limit}+{clock.increment}" if clock.type == "clock" else clock.type
    mode = "rated" if challenge.rated else "casual"
    again = ", a rematch" if challenge.rematch_of else ""
    return f"{challenge.opponent}{rating}, {time}, {challenge.variant.key}, {mode}{again}"


# --- the account ----------------------------------------------------------------------------------

VARIABLE = "LICHESS_BOT_TOKEN"
PAGE = "https://lichess.org/account/oauth/token/create?scopes[]=bot:play&scopes[]=challenge:write"


def read_token(path: Path | None) -> str:
    """The token of a file, or of the environment; errors never show it."""
    if path is None:
        token, source = os.environ.get(VARIABLE, "").strip(), VARIABLE
        if not token:
            raise InputError("no token", fix=f"set {VARIABLE}, or --token-file; make one at {PAGE}")
    else:
        content, source = read_bytes(path), str(path)
        if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InputError("others may read this token", value=str(path), fix=f"chmod 600 {path}")
        token = content.decode("ascii", errors="replace").strip()
    if wrong := fault_of_token(token):
        raise InputError(f"{source}: not a token: {wrong}", fix=f"make one at {PAGE}")
    return token


def check_url(url: str) -> str:
    """A server's address; without encryption only this machine's own."""
    parts = urlsplit(url)
    try:
        _ = parts.port
    except ValueError as error:
        raise ConfigError("--url", value=url, fix="a port is a number up to 65535") from error
    if parts.scheme == "https" and parts.hostname:
        return url
    if parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"):
        return url
    raise ConfigError("--url", value=url, fix="the token needs https://, or http://localhost")


def checked_account(server: Server, upgrade: bool, dry_run: bool, stop: Stop) -> Account | None:
    """The account, which may play as a bot; upgraded first if that is wanted and confirmed.

    While the server cannot be reached it tries again; None if a stop was requested meanwhile.
    """
    account = _account(server, stop)
    if account is None:
        return None
    if account.scopes is not None and NEEDED_SCOPE not in account.scopes:
        raise InputError(f"the token lacks the scope {NEEDED_SCOPE}", fix=f"make one at {PAGE}")
    if account.is_bot:
        return account
    if dry_run:
        say(f"{account.name} is no bot account yet: kibitz lichess --upgrade makes it one")
        return account
    if not upgrade:
        fix = "kibitz lichess --upgrade makes it one, for ever"
        raise InputError("no bot account", value=account.name, fix=fix)
    if account.games:
        fix = "only an account without games can become a bot's: make a new one"
        raise InputError(f"{account.games} games were played with it", value=account.name, fix=fix)
    _confirm(account.name)
    server.upgrade()
    say(f"{account.name} is a bot account now")
    return account._replace(is_bot=True)


def _account(server: Server, stop: Stop) -> Account | None:
    wait = server.pauses.again
    while not stop.requested:
        try:
            return server.account()
        except UnreachableError as error:
            say(f"{error}; trying again in {wait:g} s, Ctrl-C ends that")
        until = time.monotonic() + wait
        while time.monotonic() < until and not stop.requested:
            server.closed.wait(min(wait, server.pauses.tick))
        wait = min(2 * wait, server.pauses.events)
    return None


def _confirm(name: str) -> None:
    """Ask before what cannot be undone."""
    say(f"{name} becomes a bot account for ever: it can never again be used by a person.")
    say(f"Type its name to go on: {name}")
    if sys.stdin.readline().strip() != name:
        raise InputError("the account was left as it is")

"""Challenges of the bot's own: whom it challenges, when, and whom not after a refusal.

Which challenges of others it accepts is in rules.py.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.config import Clock, Lichess
from kibitz.apps.lichess.messages import Challenge, OnlineBot, Perf
from kibitz.apps.lichess.server import Server, ServerError

# What a reason of Lichess's says about later challenges to that player.
Lesson: TypeAlias = Literal["never", "later", "not this clock", "not this mode"]
LESSONS: dict[str, Lesson] = {
    "generic": "later",
    "later": "later",
    "tooFast": "not this clock",
    "tooSlow": "not this clock",
    "timeControl": "not this clock",
    "rated": "not this mode",
    "casual": "not this mode",
    "standard": "never",
    "variant": "never",
    "noBot": "never",
    "onlyBot": "never",
}
LATER_SECONDS = 3600.0
BLITZ_SECONDS, RAPID_SECONDS, CLASSICAL_SECONDS = 180, 480, 1500  # of a game of 40 moves


class Offer(NamedTuple):
    """A challenge that might be made."""

    name: str
    clock: Clock
    rated: bool


class Memory:
    """What players have answered to earlier challenges."""

    def __init__(self) -> None:
        self._never: set[str] = set()
        self._until: dict[str, float] = {}
        self._not: set[tuple[str, Clock | bool]] = set()

    def learn(self, offer: Offer, reason: str, now: float) -> None:
        """Remember why a bot has declined."""
        lesson = LESSONS.get(reason, "later")
        if lesson == "never":
            self._never.add(offer.name)
        elif lesson == "later":
            self._until[offer.name] = now + LATER_SECONDS
        else:
            self._not.add((offer.name, offer.clock if lesson == "not this clock" else offer.rated))

    def allows(self, offer: Offer, now: float) -> bool:
        """Whether an offer was not refused before."""
        if offer.name in self._never or now < self._until.get(offer.name, 0.0):
            return False
        return not {(offer.name, offer.clock), (offer.name, offer.rated)} & self._not


def speed_of(clock: Clock) -> str:
    """Lichess's name for a time control.

    >>> [speed_of(Clock(*one)) for one in ((60, 0), (180, 2), (600, 5), (1800, 20))]
    ['bullet', 'blitz', 'rapid', 'classical']
    """
    seconds = clock.base + 40 * clock.increment
    limits = {"bullet": BLITZ_SECONDS, "blitz": RAPID_SECONDS, "rapid": CLASSICAL_SECONDS}
    return next((name for name, limit in limits.items() if seconds < limit), "classical")


def choose(
    bots: Sequence[OnlineBot],
    me: str,
    settings: Lichess,
    memory: Memory,
    now: float,
    generator: random.Random,
) -> Offer | None:
    """Draw a time control and then an opponent, stronger ones more often; None: there is none."""
    clock = generator.choice(settings.clocks)
    ratings = {bot.username: bot.perfs.get(speed_of(clock), Perf()).rating for bot in bots}
    own = next((rating for name, rating in ratings.items() if name.casefold() == me.casefold()), 0)
    within = settings.challenge_within if own else 0
    excluded = {me, *settings.blocked, *settings.challenge_blocked}
    excluded = {name.casefold() for name in excluded}
    strengths = {}
    for name, rating in ratings.items():
        wanted = settings.challenge_min_rating <= rating <= settings.challenge_max_rating
        wanted = wanted and (not within or abs(rating - own) <= within)
        offer = Offer(name, clock, settings.challenge_rated)
        if wanted and offer.name.casefold() not in excluded and memory.allows(offer, now):
            strengths[offer] = rating
    if not strengths:
        return None
    best = max(strengths.values())
    weights = [(rating / best) ** 2 if best else 1.0 for rating in strengths.values()]
    return generator.choices(list(strengths), weights)[0]


class Challenger:
    """Challenges other bots while the bot has nothing to do."""

    def __init__(self, me: str, settings: Lichess, server: Server, archive: Archive) -> None:
        self._me, self._settings = me, settings
        self._server, self._archive = server, archive
        self._memory, self._dice = Memory(), random.Random()
        self._idle_since = time.monotonic()
        self._open: tuple[str, Offer, float] | None = None  # id, offer, until when

    def look(self, busy: bool) -> None:
        """Challenge somebody, or take a challenge back, if it is time."""
        now = time.monotonic()
        if busy or not self._settings.challenge:
            self._idle_since, self._open = now, None
        elif self._open is not None:
            if now >= self._open[2]:
                self._give_up(now)
        elif now - self._idle_since >= self._settings.challenge_after:
            self._idle_since = now
            if self._server.free("challenge") and self._server.free("look"):
                self._challenge(now)

    def hurry(self) -> None:
        """Count as idle for long enough."""
        self._idle_since = time.monotonic() - self._settings.challenge_after

    def declined(self, challenge: Challenge) -> None:
        """Remember that a challenge was declined, and why."""
        if self._open is not None and challenge.id == self._open[0]:
            offer, reason = self._open[1], challenge.decline_reason_key or "generic"
            self._archive.say(f"{offer.name} declines ({reason})")
            self._memory.learn(offer, reason, time.monotonic())
            self._open = None

    def _challenge(self, now: float) -> None:
        try:
            bots = self._server.online_bots()
            offer = choose(bots, self._me, self._settings, self._memory, now, self._dice)
            if offer is None:
                return
            made = self._server.challenge(offer.name, offer.rated, offer.clock)
        except ServerError as error:
            self._archive.say(f"no challenge: {error}")
            return
        base, increment = offer.clock
        would = "would challenge" if self._server.dry_run else "challenge to"
        self._archive.say(f"{would} {offer.name}: {base}+{increment}")
        if made:
            self._open = made, offer, now + self._settings.challenge_wait

    def _give_up(self, now: float) -> None:
        assert self._open is not None
        made, offer, _ = self._open
        self._open = None
        self._memory.learn(offer, "later", now)
        try:
            self._server.cancel(made)
        except ServerError as error:
            self._archive.say(f"challenge to {offer.name} not taken back: {error}")

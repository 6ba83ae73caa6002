"""Challenges: which the bot accepts, by a table of rules, and whom it challenges itself.

Each rule has the reason that Lichess passes on; the first rule of RULES that has an objection
decides. Odds are positions where the bot lacks pieces; how many it gives depends on the opponent's
rating.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from kibitz.apps.lichess.archive import Archive
from kibitz.apps.lichess.config import Clock, Lichess
from kibitz.apps.lichess.messages import Challenge, OnlineBot, Perf, Reason
from kibitz.apps.lichess.server import Server, ServerError
from kibitz.core.errors import InputError
from kibitz.data.openings import odds_in
from kibitz.position.board import Board, Side
from kibitz.position.fen import START


class Workload(NamedTuple):
    """What goes on when a challenge comes."""

    games: int = 0  # under way
    stopping: bool = False  # no new ones
    opponents: tuple[str, ...] = ()  # of these games, by their ids
    played: tuple[str, ...] = ()  # opponents of games in the last 24 hours
    correspondence: int = 0  # games of that kind, beside the others


class Rule(NamedTuple):
    """A reason to decline."""

    name: str  # what is looked at
    reason: Reason  # the key by which Lichess tells the challenger
    settings: str  # that decide
    objection: Callable[[Challenge, Lichess, Workload], str]  # in words; empty: none


class Refusal(NamedTuple):
    """Why a challenge is declined."""

    reason: Reason
    objection: str


def why_declined(challenge: Challenge, settings: Lichess, now: Workload) -> Refusal | None:
    """The first rule's objection to a challenge; None to accept it."""
    for rule in RULES:
        objection = rule.objection(challenge, settings, now)
        if objection:
            return Refusal(rule.reason, objection)
    return None


# --- objections -----------------------------------------------------------------------------------


def _blocked(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    names = {challenge.opponent.id.casefold(), challenge.opponent.name.casefold()}
    return "blocked" if names & {name.casefold() for name in settings.blocked} else ""


def _not_allowed(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    names = {challenge.opponent.id.casefold(), challenge.opponent.name.casefold()}
    allowed = {name.casefold() for name in settings.allowed}
    return "not among those allowed" if allowed and not names & allowed else ""


def _bot(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    return "a bot" if settings.opponents == "people" and challenge.opponent.is_bot else ""


def _person(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    return "no bot" if settings.opponents == "bots" and not challenge.opponent.is_bot else ""


def _variant(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    key = challenge.variant.key
    return "" if key in settings.variants else f"variant {key}"


def _position(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    if challenge.variant.key == "standard":
        return ""
    try:
        board = Board(challenge.initial_fen or START)
    except InputError:
        return "a position that cannot be played"
    if board.outcome() is not None:
        return "a position where the game is over"
    if challenge.variant.key == "chess960" or settings.positions == "any" or _odds(challenge):
        return ""
    return "a position that is not odds of the bot's"


def _odds_of_rating(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    odds = _odds(challenge)
    if not odds or odds == "none":
        return ""
    rating, limit = challenge.opponent.rating, odds_limits(settings)[odds]
    if rating is None:
        return f"odds of a {odds} for an opponent without a rating"
    return "" if rating < limit else f"odds of a {odds} for a rating of {rating}, from {limit}"


def _casual(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    rated = challenge.rated or challenge.variant.key == "fromPosition"  # never rated on Lichess
    return "casual" if settings.modes == "rated" and not rated else ""


def _rated(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    return "rated" if settings.modes == "casual" and challenge.rated else ""


def _clock(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    time = challenge.time_control
    if time.is_correspondence and settings.correspondence:
        fits = settings.min_days <= time.days_per_turn <= settings.max_days
        return "" if fits else f"{time.days_per_turn} days a move"
    return "" if time.type == "clock" else f"no clock ({time.type})"


def _speed(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    allowed = challenge.time_control.is_correspondence or challenge.speed in settings.speeds
    return "" if allowed else f"speed {challenge.speed}"


def _too_fast(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    if challenge.time_control.is_correspondence:
        return ""
    base, increment = challenge.time_control.limit, challenge.time_control.increment
    least = settings.min_base if increment else max(settings.min_base, settings.min_base_alone)
    return f"{base}+{increment}" if base < least or increment < settings.min_increment else ""


def _too_slow(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    base, increment = challenge.time_control.limit, challenge.time_control.increment
    slow = base > settings.max_base or increment > settings.max_increment
    return f"{base}+{increment}" if slow else ""


def _rating(challenge: Challenge, settings: Lichess, _: Workload) -> str:
    rating = challenge.opponent.rating
    if rating is None:
        return "no rating" if settings.min_rating else ""
    return "" if settings.min_rating <= rating <= settings.max_rating else f"rating {rating}"


def _stopping(_: Challenge, __: Lichess, now: Workload) -> str:
    return "stopping" if now.stopping else ""


def _busy(challenge: Challenge, settings: Lichess, now: Workload) -> str:
    if challenge.time_control.is_correspondence:
        full = now.correspondence >= settings.correspondence
        return f"{now.correspondence} correspondence games under way" if full else ""
    return f"{now.games} games under way" if now.games >= settings.games else ""


def _kept_for_people(challenge: Challenge, settings: Lichess, now: Workload) -> str:
    full = now.games >= settings.games - settings.people_slots
    beside = challenge.time_control.is_correspondence or not challenge.opponent.is_bot
    return "the rest is for people" if full and not beside else ""


def _often(challenge: Challenge, settings: Lichess, now: Workload) -> str:
    name = challenge.opponent.id.casefold()
    for most, those in (
        (settings.games_per_opponent, now.opponents),
        (settings.games_a_day, now.played),
    ):
        count = those.count(name)
        if most and count >= most:
            return f"{count} games with this player"
    return ""


RULES = (
    Rule("a blocked player", "generic", "blocked", _blocked),
    Rule("a player who is not allowed", "generic", "allowed", _not_allowed),
    Rule("a bot", "noBot", "opponents", _bot),
    Rule("a person", "onlyBot", "opponents", _person),
    Rule("the variant", "variant", "variants", _variant),
    Rule("the position", "variant", "positions", _position),
    Rule("odds for this rating", "variant", "odds_*", _odds_of_rating),
    Rule("casual", "rated", "modes", _casual),
    Rule("rated", "casual", "modes", _rated),
    Rule("no clock", "timeControl", "correspondence, min_days, max_days", _clock),
    Rule("too fast", "tooFast", "min_base, min_base_alone, min_increment", _too_fast),
    Rule("too slow", "tooSlow", "max_base, max_increment", _too_slow),
    Rule("the speed", "timeControl", "speeds", _speed),
    Rule("the rating", "generic", "min_rating, max_rating", _rating),
    Rule("the bot is stopping", "later", "", _stopping),
    Rule("enough games", "later", "games, correspondence", _busy),
    Rule("a bot where people are to play", "later", "people_slots", _kept_for_people),
    Rule("too many games with the player", "later", "games_per_opponent, games_a_day", _often),
)


# --- odds -----------------------------------------------------------------------------------------


def odds_limits(settings: Lichess) -> dict[str, int]:
    """The rating below which an opponent gets odds, by the pieces that the bot lacks."""
    return {
        "pawn": settings.odds_pawn,
        "two pawns": settings.odds_two_pawns,
        "knight": settings.odds_minor,
        "bishop": settings.odds_minor,
        "rook": settings.odds_rook,
        "queen": settings.odds_queen,
    }


def _odds(challenge: Challenge) -> str:
    """What the bot would lack in a challenge's position; empty if it is no such position."""
    if challenge.variant.key != "fromPosition":
        return ""
    colours: dict[str | None, Side] = {"white": "black", "black": "white"}  # the challenger's
    own = colours.get(challenge.final_color or challenge.color)
    return "" if own is None else odds_in(challenge.initial_fen or START, own)


# --- challenges of its own ------------------------------------------------------------------------

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
        """Send the next challenge, or cancel one that nobody has accepted, once it is due."""
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

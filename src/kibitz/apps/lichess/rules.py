"""Which challenges the bot accepts: a table of rules, each with the reason that Lichess passes on.

Whom the bot challenges itself is in challenges.py.

The first rule of RULES that has an objection decides. Odds are positions where the bot lacks
pieces; how many it gives depends on the opponent's rating.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from kibitz.apps.lichess.config import Lichess
from kibitz.apps.lichess.messages import Challenge
from kibitz.core.errors import InputError
from kibitz.data.openings import odds_in
from kibitz.position.board import Board, Side
from kibitz.position.fen import START

Reason: TypeAlias = Literal[
    "generic", "later", "tooFast", "tooSlow", "timeControl", "rated", "casual", "standard",
    "variant", "noBot", "onlyBot",
]  # fmt: skip


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

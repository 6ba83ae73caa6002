"""The settings of a bot: the table [lichess] of the settings file, and `--set` of the command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from kibitz.core.errors import ConfigError, did_you_mean
from kibitz.core.options import check, find, read, setting
from kibitz.core.settings import load, used
from kibitz.engine.levels import STRONGEST, WEAKEST
from kibitz.engine.options import ALL_OPTIONS

Variant: TypeAlias = Literal["standard", "chess960", "fromPosition"]
Speed: TypeAlias = Literal["ultraBullet", "bullet", "blitz", "rapid", "classical"]

_CLOCK = re.compile(r"(\d+)\+(\d+)")


class Clock(NamedTuple):
    """A time control in seconds, as Lichess has it."""

    base: int
    increment: int


@dataclass(frozen=True)
class Lichess:
    """Whom the bot plays, how, and what it says."""

    # --- challenges it accepts
    games: int = setting(1, "games at once", low=1, high=16)
    variants: tuple[Variant, ...] = setting(
        ("standard", "chess960", "fromPosition"), "variants it plays"
    )
    positions: Literal["odds", "any"] = setting(
        "odds", "of fromPosition: only odds that the bot gives, or any position"
    )
    speeds: tuple[Speed, ...] = setting(
        ("bullet", "blitz", "rapid", "classical"), "speeds, by Lichess's names"
    )
    min_base: int = setting(0, "seconds on the clock, at least", low=0, high=10_800)
    min_base_alone: int = setting(
        60, "seconds on the clock, at least, without an increment", low=0, high=10_800
    )
    max_base: int = setting(900, "seconds on the clock, at most", low=0, high=10_800)
    min_increment: int = setting(0, "seconds a move, at least", low=0, high=180)
    max_increment: int = setting(10, "seconds a move, at most", low=0, high=180)
    modes: Literal["both", "rated", "casual"] = setting("both", "rated games, casual ones, or both")
    opponents: Literal["all", "people", "bots"] = setting("all", "who may challenge it")
    min_rating: int = setting(0, "rating of an opponent, at least", low=0, high=4000)
    max_rating: int = setting(4000, "rating of an opponent, at most", low=0, high=4000)
    blocked: tuple[str, ...] = setting((), "names of players it never plays")
    allowed: tuple[str, ...] = setting((), "names of players it plays; empty: everybody")
    people_slots: int = setting(0, "of the games at once, so many only for people", low=0, high=16)
    games_per_opponent: int = setting(0, "games at once with a player; 0: any", low=0, high=16)
    games_a_day: int = setting(0, "games with a player in 24 hours; 0: any", low=0, high=1000)
    # --- odds: the rating below which an opponent gets them
    odds_pawn: int = setting(3000, "a pawn for opponents rated lower", low=0, high=4000)
    odds_two_pawns: int = setting(2850, "two pawns for opponents rated lower", low=0, high=4000)
    odds_minor: int = setting(
        2500, "a knight or bishop for opponents rated lower", low=0, high=4000
    )
    odds_rook: int = setting(2000, "a rook for opponents rated lower", low=0, high=4000)
    odds_queen: int = setting(1500, "the queen for opponents rated lower", low=0, high=4000)
    odds_options: tuple[str, ...] = setting(
        ("Search=mcts", "ScLimit=28"), "engine options in games at odds, as NAME=VALUE"
    )
    mistakes: Literal["never", "odds", "always"] = setting(
        "never",
        "play for the mistakes that people of the opponent's rating make, at odds or always",
    )
    tournaments: tuple[str, ...] = setting(
        (), "arenas it joins at the start, by their ids; they must let bots in"
    )
    # --- correspondence: beside `games`
    correspondence: int = setting(0, "correspondence games at once", low=0, high=100)
    min_days: int = setting(1, "days a move, at least", low=1, high=14)
    max_days: int = setting(14, "days a move, at most", low=1, high=14)
    correspondence_seconds: int = setting(60, "for a move without a clock", low=1, high=3600)
    correspondence_rest: int = setting(
        120, "seconds to wait for a reply, then the engine and the connection go", low=0
    )
    correspondence_every: int = setting(300, "seconds between two looks for replies", low=1)
    # --- moves that need no search, in games from the usual start
    books: tuple[str, ...] = setting((), "Polyglot books (.bin) and repertoires (.pgn), in order")
    book_moves: int = setting(20, "so many moves from books at most", low=0)
    book_choice: Literal["weight", "best"] = setting(
        "weight", "of a book's moves: any, as likely as its weight, or the heaviest"
    )
    explorer: Literal["off", "masters", "lichess"] = setting(
        "off", "games that the online opening explorer is asked about, after the books"
    )
    explorer_moves: int = setting(10, "so many moves from the explorer at most", low=0)
    explorer_games: int = setting(20, "games that a move of the explorer has at least", low=1)
    explorer_url: str = setting("https://explorer.lichess.ovh", "where the explorer is")
    online_tablebases: bool = setting(False, "ask online tablebases, up to seven pieces")
    tablebase_url: str = setting("https://tablebase.lichess.ovh", "where they are")
    online_seconds: float = setting(2.0, "for an online answer, at most", low=0.1, high=10)
    online_least: int = setting(60, "seconds on its clock it needs to ask online", low=10)
    # --- strength; below the full one it plays as UCI_Elo says, and as people do where these can
    strength: Literal["full", "fixed", "opponent"] = setting(
        "full", "how strong it plays: fully, as strength_elo says, or as the opponent's rating"
    )
    strength_elo: int = setting(
        1500, "Elo; also against opponents without a rating", low=WEAKEST, high=STRONGEST
    )
    strength_ahead: int = setting(
        0, "points above the opponent's rating, or below it", low=-1000, high=1000
    )
    # --- thinking
    nodes: int = setting(0, "most nodes for a move; 0: the clock alone", low=0)
    ponder: bool = setting(True, "think in the opponent's time")
    ponder_seconds: int = setting(300, "of thinking in the opponent's time, at most", low=1)
    buffer_share: float = setting(0.01, "of the clock kept back for the network", low=0, high=0.5)
    buffer_least: int = setting(250, "ms kept back, at least", low=0, high=10_000)
    buffer_most: int = setting(1500, "ms kept back, at most", low=0, high=60_000)
    increment_share: float = setting(0.95, "of the increment that is counted on", low=0, high=1)
    first_moves: int = setting(10, "seconds for a move while no clock runs", low=1, high=25)
    # --- resigning, draws, aborting
    resign: bool = setting(True, "resign lost games, but not at odds")
    resign_score: int = setting(1000, "centipawns behind from which a game is lost", low=100)
    resign_moves: int = setting(4, "moves in a row with such a score", low=1)
    draws: bool = setting(True, "offer and accept draws")
    draw_score: int = setting(10, "centipawns within which a game is level", low=0)
    draw_moves: int = setting(8, "moves in a row with such a score before it offers", low=1)
    draw_from: int = setting(35, "move from which it offers and accepts", low=1)
    takebacks: int = setting(0, "takebacks an opponent gets in a casual game", low=0)
    abort_seconds: int = setting(30, "wait for an opponent's first move", low=1, high=300)
    # --- reports
    reports: bool = setting(False, "annotate every finished game, as PGN and HTML")
    report_nodes: int = setting(20_000, "nodes for each position of a report", low=1)
    # --- chat
    greeting: str = setting(
        "Good luck, {opponent}! I am Kibitz, a chess program. Ask me: !help",
        "to the opponent at the start; empty: silent",
    )
    farewell: str = setting("Thank you for the game, {opponent}!", "at the end; empty: silent")
    answers: bool = setting(True, "answer !help, !eval and the like")
    comment_every: int = setting(30, "seconds between comments for spectators; 0: none", low=0)
    comment_least: int = setting(30, "seconds on its clock it needs to comment", low=0)
    # --- challenges of its own
    challenge: bool = setting(False, "challenge other bots when there is nothing to do")
    challenge_after: int = setting(65, "idle seconds before a challenge", low=10)
    challenge_wait: int = setting(15, "seconds an opponent has to accept", low=5, high=20)
    challenge_rated: bool = setting(True, "for rated games")
    challenge_min_rating: int = setting(1800, "rating of bots it challenges, at least", low=0)
    challenge_max_rating: int = setting(4000, "rating of bots it challenges, at most", low=0)
    challenge_within: int = setting(0, "points around its own rating; 0: any", low=0, high=4000)
    challenge_blocked: tuple[str, ...] = setting((), "names of bots it does not challenge")
    challenge_clocks: tuple[str, ...] = setting(
        (
            *("30+3", "60+0", "120+1", "180+0", "180+2", "300+0"),
            *("300+3", "600+0", "600+5", "900+0", "900+10"),
        ),
        "time controls, seconds+increment, one drawn for each challenge",
    )

    def __post_init__(self) -> None:
        check(self)
        for text in self.challenge_clocks:
            parse_clock(text)
        for name in self.tournaments:
            if not (name.isascii() and name.isalnum()):
                fix = "the letters and digits behind lichess.org/tournament/"
                raise ConfigError("lichess: tournaments", value=name, fix=fix)
        for what in ("base", "increment", "rating", "days"):
            self._check_order(f"min_{what}", f"max_{what}")
        self._check_order("challenge_min_rating", "challenge_max_rating")
        self._check_order("buffer_least", "buffer_most")
        if self.challenge and self.people_slots >= self.games:
            fix = "give more games, or fewer people_slots: it challenges bots"
            raise ConfigError("lichess: people_slots", value=self.people_slots, fix=fix)
        if self.challenge and not self.challenge_clocks:
            raise ConfigError("lichess: challenge_clocks", value="", fix="name at least one")
        if self.mistakes == "always" and self.strength != "full":
            fix = 'give strength = "full", or mistakes = "odds"'
            raise ConfigError("lichess: mistakes", value=self.mistakes, fix=fix)
        self.odds_settings()

    def _check_order(self, least: str, most: str) -> None:
        if getattr(self, least) > getattr(self, most):
            fix = f"give {most} at least as much"
            raise ConfigError(f"lichess: {least}", value=getattr(self, least), fix=fix)

    def odds_settings(self) -> dict[str, bool | int | float | str]:
        """The engine's options in games at odds, by their names in Python."""
        values = {}
        for text in self.odds_options:
            name, equals, typed = text.partition("=")
            option = find(ALL_OPTIONS, name)
            if option is None or not equals:
                fix = (
                    did_you_mean(name, [each.uci for each in ALL_OPTIONS])
                    if equals
                    else "NAME=VALUE"
                )
                raise ConfigError("lichess: odds_options", value=text, fix=fix)
            values[option.name] = read(option, typed)
        return values

    def elo_against(self, rating: int | None) -> int | None:
        """The Elo figure to play at against a rating; None for full strength.

        >>> Lichess(strength="opponent", strength_ahead=100).elo_against(1400)
        1500
        """
        if self.strength == "full":
            return None
        if self.strength == "fixed" or rating is None:
            return self.strength_elo
        return max(WEAKEST, min(STRONGEST, rating + self.strength_ahead))

    @property
    def clocks(self) -> list[Clock]:
        """The time controls of challenges of its own."""
        return [parse_clock(text) for text in self.challenge_clocks]


def parse_clock(text: str) -> Clock:
    """Seconds and increment.

    >>> parse_clock("180+2")
    Clock(base=180, increment=2)
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        fix = "seconds+increment, such as 180+2"
        raise ConfigError("lichess: challenge_clocks", value=text, fix=fix)
    return Clock(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class _Tables:
    """The table of the settings file."""

    lichess: Lichess = field(default_factory=Lichess)


def lichess_settings(overrides: Sequence[str] = ()) -> Lichess:
    """What the settings file says, then KEY=VALUE of the command line."""
    keyed = [f"lichess.{override.removeprefix('lichess.')}" for override in overrides]
    return load(_Tables, used(), overrides=keyed, partial=True).lichess

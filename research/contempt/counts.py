"""What games add up to: wins, draws, losses, decided games for each draw, repeated beginnings.

The games are PGN of any program or those of a journal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from typing import NamedTuple, Protocol

from kibitz.arena.match.elo import DEVIATIONS_95, Tally, wilson
from kibitz.core.files import Location
from kibitz.core.places import Place
from kibitz.data.shard import start_positions
from kibitz.data.store import Store
from kibitz.position.fen import fen_of
from kibitz.position.pgn import read_games
from kibitz.zero.selfplay.play import NUMBER_BITS

POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}  # White's


class Moves(NamedTuple):
    """A finished game: where it began, its moves, and White's points."""

    start: str
    moves: tuple[str | int, ...]  # UCI, or the codes of a shard
    points: float


class HasMoves(Protocol):
    """A game of any kind."""

    @property
    def moves(self) -> Sized:
        """Its moves."""


class Share(NamedTuple):
    """A number with the ends of its 95 % interval; None where it is infinite."""

    value: float | None
    low: float | None
    high: float | None

    def text(self, places: int = 2) -> str:
        """The number and its interval."""
        written = ("inf" if number is None else f"{number:.{places}f}" for number in self)
        value, low, high = written
        return f"{value} [{low}, {high}]"

    @property
    def percent(self) -> str:
        """A share in per cent with its interval."""
        value, low, high = (100.0 * (number or 0.0) for number in self)
        return f"{value:.0f} [{low:.0f}-{high:.0f}]"


def of_pgn(location: Location) -> list[Moves]:
    """The finished games of a PGN file; games without a result are left out."""
    return [
        Moves(game.start.fen(), tuple(move.uci() for move in game.moves), POINTS[game.result])
        for game in read_games(location)
        if game.result in POINTS
    ]


def of_shards(paths: Iterable[Place], first: int) -> list[Moves]:
    """The first so many games of a run of self-play, in the order of their numbers."""
    played = {}
    for shard in Store([*paths]):
        for row, start in enumerate(start_positions(shard)):
            number = int(shard.seeds[row]) & (1 << NUMBER_BITS) - 1
            moves = shard.moves[shard.offsets[row] : shard.offsets[row + 1]].tolist()
            played[number] = Moves(fen_of(start), tuple(moves), (1 + int(shard.results[row])) / 2)
    return [played[number] for number in sorted(played) if number < first]


def white_tally(games: Iterable[Moves]) -> Tally:
    """Wins, draws and losses of White."""
    tally = Tally()
    for game in games:
        tally = tally.plus(game.points)
    return tally


def decided_per_draw(tally: Tally) -> Share:
    """The ratio (w + l) / d; its interval is Wilson's of the share of draws.

    >>> decided_per_draw(Tally(17, 46, 37)).text(3)
    '1.174 [0.794, 1.735]'
    """
    low, high = wilson(tally.draws, tally.games)
    return Share(*(_odds_against(share) for share in (tally.draws / tally.games, high, low)))


def _odds_against(share: float) -> float | None:
    return (1.0 - share) / share if share > 0.0 else None


def mean_plies(games: Sequence[HasMoves]) -> float:
    """Plies of a game."""
    return sum(len(game.moves) for game in games) / len(games)


def repeat_rate(games: Sequence[Moves], plies: int) -> Share:
    """The share of games that begin as an earlier one does: (games - distinct beginnings) / games.

    The interval is the jackknife's: without a game whose beginning is its own there is one
    beginning less. Where all games are alike in that, Wilson's interval takes its place.
    """
    count, begun = len(games), Counter((game.start, game.moves[:plies]) for game in games)
    rate = (count - len(begun)) / count
    unique = sum(times == 1 for times in begun.values()) / count
    reach = DEVIATIONS_95 * math.sqrt((count - 1) * unique * (1.0 - unique)) / count
    if reach == 0.0:
        return Share(rate, *wilson(rate * count, count))
    return Share(rate, max(0.0, rate - reach), min(1.0, rate + reach))

"""What the games of a match add up to.

GameRecords -> **Results** -> SPRT, report.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kibitz.match.elo import Pairs, Tally
from kibitz.match.play import FORFEITS
from kibitz.match.record import GameRecord


class Results:
    """Counts of finished games; players are known by their place in the match."""

    def __init__(self, games: Mapping[int, GameRecord]) -> None:
        self._games = games

    @property
    def games(self) -> list[GameRecord]:
        """The games in the order of the schedule."""
        return [self._games[number] for number in sorted(self._games)]

    def tally(self, player: int, other: int) -> Tally:
        """Wins, draws and losses of a player against another."""
        tally = Tally()
        for game in _between(self.games, player, other):
            tally = tally.plus(points_of(game, player))
        return tally

    def pairs(self, player: int, other: int) -> Pairs:
        """Finished pairs of games by the player's results; half a pair does not count."""
        pairs = Pairs()
        for game in _between(self.games, player, other):
            second = self._games.get(game.number + 1)
            if game.number % 2 == 0 and second is not None:
                pairs = pairs.plus(points_of(game, player), points_of(second, player))
        return pairs

    def forfeits(self, player: int) -> Counter[str]:
        """How often a player forfeited, by the reason."""
        lost = (game for game in self.games if game.loser == player)
        return Counter(game.termination for game in lost if game.termination in FORFEITS)

    def terminations(self) -> Counter[str]:
        """How the games ended."""
        return Counter(game.termination for game in self.games)


def points_of(game: GameRecord, player: int) -> float:
    """The points a player made in a game."""
    return game.points if game.white == player else 1.0 - game.points


def _between(games: Iterable[GameRecord], player: int, other: int) -> Iterable[GameRecord]:
    return (game for game in games if {game.white, game.black} == {player, other})

"""Elo from games: difference with its interval, normalised Elo, likelihood of superiority.

    results of games, in colour-swapped pairs -> **Estimate** -> report

Two models. Trinomial: every game counts alone. Pentanomial: the two games of a pair, same opening
and colours exchanged, count together as one sample of 0, 1/2, 1, 3/2 or 2 points, which takes the
opening's share out of the variance. Definitions and intervals are fastchess's: the 95 % interval
is that of the mean score, its ends turned into Elo, and half their distance printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

DEVIATIONS_95 = 1.959963984540054  # half of the 95 % interval of a normal distribution
NORMALISED = 800.0 / math.log(10.0)  # nElo of one standard deviation of a game's score


class Tally(NamedTuple):
    """Wins, draws and losses of the first player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """All games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """A win is 1, a draw 1/2."""
        return self.wins + self.draws / 2

    def plus(self, points: float) -> Tally:
        """One more game, in which the first player made 1, 0.5 or 0 points."""
        return Tally(
            self.wins + (points == 1.0), self.draws + (points == 0.5), self.losses + (points == 0.0)
        )


class Pairs(NamedTuple):
    """Pairs of games by the first player's results in them; the order of the two does not count."""

    loss_loss: int = 0
    loss_draw: int = 0
    win_loss: int = 0
    draw_draw: int = 0
    win_draw: int = 0
    win_win: int = 0

    @property
    def five(self) -> tuple[int, int, int, int, int]:
        """Counts of 0, 1/2, 1, 3/2 and 2 points."""
        middle = self.win_loss + self.draw_draw
        return self.loss_loss, self.loss_draw, middle, self.win_draw, self.win_win

    @property
    def total(self) -> int:
        """All pairs."""
        return sum(self)

    def plus(self, first: float, second: float) -> Pairs:
        """One more pair, with the first player's points in its two games."""
        low, high = sorted((first, second))
        name = {
            (0.0, 0.0): "loss_loss",
            (0.0, 0.5): "loss_draw",
            (0.0, 1.0): "win_loss",
            (0.5, 0.5): "draw_draw",
            (0.5, 1.0): "win_draw",
            (1.0, 1.0): "win_win",
        }[low, high]
        return self._replace(**{name: getattr(self, name) + 1})


@dataclass(frozen=True)
class Estimate:
    """What results say about two players; `error` is half of the 95 % interval."""

    score: float  # mean, 0 to 1
    elo: float
    error: float
    nelo: float
    nelo_error: float
    los: float  # probability that the first player is the stronger one


def expected_score(elo: float) -> float:
    """The score of a player who is that much stronger.

    >>> round(expected_score(70.436504), 6)
    0.6
    """
    return 1.0 / (1.0 + math.pow(10.0, -elo / 400.0))


def elo_of(score: float) -> float:
    """The difference that a mean score stands for; infinite at 0 and 1.

    >>> round(elo_of(0.6), 2)  # of 17 wins, 46 draws, 37 losses for the one who lost 17
    70.44
    """
    if score <= 0.0:
        return -math.inf
    return math.inf if score >= 1.0 else -400.0 * math.log10(1.0 / score - 1.0)


def of_games(tally: Tally) -> Estimate:
    """Estimate from single games (trinomial)."""
    return _estimate((tally.losses, tally.draws, tally.wins), games_a_sample=1)


def of_pairs(pairs: Pairs) -> Estimate:
    """Estimate from pairs of games (pentanomial)."""
    return _estimate(pairs.five, games_a_sample=2)


def moments(counts: Sequence[float]) -> tuple[float, float]:
    """Mean and variance of a sample's score in [0, 1]; the counts are of evenly spaced scores."""
    total, last = sum(counts), len(counts) - 1
    mean = sum(index * count for index, count in enumerate(counts)) / last / total
    spread = sum(count * (index / last - mean) ** 2 for index, count in enumerate(counts))
    return mean, spread / total


def _estimate(counts: Sequence[int], games_a_sample: int) -> Estimate:
    samples = sum(counts)
    if not samples:
        return Estimate(*[math.nan] * 6)
    mean, variance = moments(counts)
    reach = DEVIATIONS_95 * math.sqrt(variance / samples)
    # Beyond 0 and 1 there is no Elo, and so no interval: fastchess says nan there, too.
    inside = mean - reach > 0.0 and mean + reach < 1.0
    error = (elo_of(mean + reach) - elo_of(mean - reach)) / 2.0 if inside else math.nan
    deviation = math.sqrt(games_a_sample * variance)  # of one game
    return Estimate(
        score=mean,
        elo=elo_of(mean),
        error=error,
        nelo=_ratio((mean - 0.5) * NORMALISED, deviation),
        nelo_error=_ratio(reach * NORMALISED, deviation),
        los=_los(mean - 0.5, variance / samples),
    )


def _ratio(above: float, below: float) -> float:
    if below > 0.0:
        return above / below
    return math.nan if above == 0.0 else math.copysign(math.inf, above)


def _los(lead: float, variance: float) -> float:
    """Probability that the true score is above one half."""
    if variance <= 0.0:
        return math.nan if lead == 0.0 else float(lead > 0.0)
    return (1.0 + math.erf(lead / math.sqrt(2.0 * variance))) / 2.0


# --- the lines of the block -----------------------------------------------------------------------


def draw_ratio(pairs: Pairs) -> float:
    """Share of pairs that ended level."""
    return _ratio(pairs.win_loss + pairs.draw_draw, pairs.total)


def pairs_ratio(pairs: Pairs) -> float:
    """Pairs won for every pair lost."""
    won, lost = pairs.win_draw + pairs.win_win, pairs.loss_draw + pairs.loss_loss
    return _ratio(won, lost)


def block(title: str, tally: Tally, pairs: Pairs) -> list[str]:
    """The lines fastchess prints about a match; pentanomial, so only pairs count in lines 2, 3."""
    found = of_pairs(pairs)
    level = _ratio(pairs.win_loss, pairs.draw_draw)
    share = 100.0 * _ratio(tally.points, tally.games)
    return [
        f"Results of {title}:",
        f"Elo: {found.elo:.2f} +/- {found.error:.2f}, "
        f"nElo: {found.nelo:.2f} +/- {found.nelo_error:.2f}",
        f"LOS: {100 * found.los:.2f} %, DrawRatio: {100 * draw_ratio(pairs):.2f} %, "
        f"PairsRatio: {pairs_ratio(pairs):.2f}",
        f"Games: {tally.games}, Wins: {tally.wins}, Losses: {tally.losses}, "
        f"Draws: {tally.draws}, Points: {tally.points:.1f} ({share:.2f} %)",
        f"Ptnml(0-2): {list(pairs.five)}, WL/DD Ratio: {level:.2f}",
    ]

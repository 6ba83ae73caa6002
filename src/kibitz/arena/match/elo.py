"""What games prove: Elo with intervals, and the sequential probability ratio test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple, TypeAlias

from kibitz.core.errors import ConfigError, InputError

DEVIATIONS_95 = 1.959963984540054  # half of the 95 % interval of a normal distribution
Interval: TypeAlias = Literal["normal", "wilson"]

HALVINGS = 200  # at most, when a root is looked for
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

    @property
    def text(self) -> str:
        """Wins-draws-losses."""
        return f"{self.wins}-{self.draws}-{self.losses}"

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
    """What results say about two players; no field is infinite, None is what they do not say."""

    score: float | None = None  # mean, 0 to 1; None without games
    elo: float | None = None  # None if all games were won, or all lost
    low: float | None = None  # ends of the 95 % interval; None where it has no end
    high: float | None = None
    interval: Interval | None = None
    nelo: float | None = None  # None if all samples are alike
    nelo_error: float | None = None
    los: float | None = None  # probability that the first player is the stronger one

    @property
    def error(self) -> float | None:
        """Half of the 95 % interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2.0

    def as_json(self) -> dict[str, float | str | None]:
        """All of it for programs; null is what the results do not say."""
        return {**asdict(self), "error": self.error}

    def text(self, places: int = 1) -> str:
        """The difference with its interval, or the bound that is known.

        >>> of_games(Tally(60, 0, 40)).text(), of_games(Tally(20)).text()
        ('+70.4 +/- 70.6', 'above +286.6')
        """
        return elo_text(self.elo, self.low, self.high, self.interval, places)


def elo_text(
    elo: float | None, low: float | None, high: float | None, interval: str | None, places: int = 1
) -> str:
    """Elo for people, all ends those of 95 % intervals; for the fields of an Estimate."""
    if elo is not None and low is not None and high is not None:
        if interval == "wilson":  # too lopsided for one number
            return f"{elo:+.{places}f} [{low:+.{places}f}, {high:+.{places}f}]"
        return f"{elo:+.{places}f} +/- {(high - low) / 2.0:.{places}f}"
    if low is not None:
        return f"above {low:+.{places}f}"
    return "unknown" if high is None else f"below {high:+.{places}f}"


def expected_score(elo: float) -> float:
    """The score of a player who is that much stronger.

    >>> round(expected_score(70.436504), 6)
    0.6
    """
    return 1.0 / (1.0 + math.pow(10.0, -elo / 400.0))


def elo_of(score: float) -> float | None:
    """The difference that a mean score stands for; None at 0 and 1, where none is large enough.

    >>> round(elo_of(0.6), 2)  # of 17 wins, 46 draws, 37 losses for the one who lost 17
    70.44
    """
    return 400.0 * math.log10(score / (1.0 - score)) if 0.0 < score < 1.0 else None


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


def falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls between the ends is zero, to the last bit."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if function(middle) > 0.0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def wilson(points: float, games: float) -> tuple[float, float]:
    """95 % interval of a mean score, or of a share (E. B. Wilson, 1927).

    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    """
    if not games:
        return 0.0, 1.0
    share, squared = points / games, DEVIATIONS_95**2
    middle = (share + squared / (2 * games)) / (1 + squared / games)
    spread = share * (1 - share) / games + squared / (4 * games**2)
    reach = DEVIATIONS_95 * math.sqrt(spread) / (1 + squared / games)
    low = 0.0 if points == 0 else max(0.0, middle - reach)
    return low, 1.0 if points == games else min(1.0, middle + reach)


def _estimate(counts: Sequence[int], games_a_sample: int) -> Estimate:
    samples = sum(counts)
    if not samples:
        return Estimate()
    mean, variance = moments(counts)
    reach = DEVIATIONS_95 * math.sqrt(variance / samples)
    ends, games = (mean - reach, mean + reach), samples * games_a_sample
    usual = variance > 0.0 and ends[0] > 0.0 and ends[1] < 1.0
    if not usual:
        ends = wilson(mean * games, games)
    deviation = math.sqrt(games_a_sample * variance)  # of one game
    return Estimate(
        score=mean,
        elo=elo_of(mean),
        low=elo_of(ends[0]),
        high=elo_of(ends[1]),
        interval="normal" if usual else "wilson",
        nelo=_ratio((mean - 0.5) * NORMALISED, deviation),
        nelo_error=_ratio(reach * NORMALISED, deviation),
        los=_los(mean - 0.5, variance / samples, games),
    )


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0.0 else None


def _los(lead: float, variance: float, games: int) -> float:
    """Probability that the true score is above one half.

    Samples that are all alike have no variance; that of games without draws is the largest.
    """
    variance = variance or 0.25 / games
    return (1.0 + math.erf(lead / math.sqrt(2.0 * variance))) / 2.0


# --- the lines of the block -----------------------------------------------------------------------


def draw_ratio(pairs: Pairs) -> float | None:
    """Share of pairs that ended level; None without pairs."""
    return _ratio(pairs.win_loss + pairs.draw_draw, pairs.total)


def pairs_ratio(pairs: Pairs) -> float | None:
    """Pairs won for every pair lost; None if no pair was lost."""
    won, lost = pairs.win_draw + pairs.win_win, pairs.loss_draw + pairs.loss_loss
    return _ratio(won, lost)


def block(title: str, tally: Tally, pairs: Pairs) -> list[str]:
    """The lines fastchess prints about a match; pentanomial, so only pairs count in lines 2, 3.

    Where it prints inf or nan, there is the bound that is known, or a dash.
    """
    estimate = of_pairs(pairs)
    return [
        f"Results of {title}:",
        f"Elo: {_elo(estimate)}, "
        f"nElo: {_number(estimate.nelo)}"
        + ("" if estimate.nelo_error is None else f" +/- {estimate.nelo_error:.2f}"),
        f"LOS: {_percent(estimate.los)}, DrawRatio: {_percent(draw_ratio(pairs))}, "
        f"PairsRatio: {_number(pairs_ratio(pairs))}",
        f"Games: {tally.games}, Wins: {tally.wins}, Losses: {tally.losses}, "
        f"Draws: {tally.draws}, Points: {tally.points:.1f} "
        f"({_percent(_ratio(tally.points, tally.games))})",
        f"Ptnml(0-2): {list(pairs.five)}, "
        f"WL/DD Ratio: {_number(_ratio(pairs.win_loss, pairs.draw_draw))}",
    ]


def _elo(estimate: Estimate) -> str:
    if estimate.interval == "normal":
        return f"{estimate.elo:.2f} +/- {estimate.error:.2f}"
    return estimate.text(2) + (" (95 %, Wilson)" if estimate.interval else "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


# --- the sequential test --------------------------------------------------------------------------
#
# SPRT: stop a match as soon as its results decide between two differences in strength.
#
# Generalised sequential probability ratio test on pentanomial counts. The likeliest distribution of
# the five results is found under each hypothesis, that the mean is what elo0 (or elo1) says; the
# logarithm of the ratio of both likelihoods decides as soon as it leaves the bounds. After Michel
# Van den Bergh, "Comments on normalized Elo" (propositions 1.1, section 4.1). Elo is logistic, or
# normalised: in units of the standard deviation of a game, so that draws and openings do not change
# the length of the test.


Model: TypeAlias = Literal["normalised", "logistic"]
Verdict: TypeAlias = Literal["H0", "H1"]

FARTHEST = (
    500  # Elo of a hypothesis; beyond it the fit may end at another than the likeliest answer
)
RARE = 1e-3  # stands for a result that has not been seen, as in fastchess
CONVERGED = 1e-9  # change of a probability below which the fit is done
FITS = 100
TINY = 1e-15
STEEPEST = 20.0  # logarithm of a factor


@dataclass(frozen=True)
class Sprt:
    """A test of H0 (difference elo0) against H1 (elo1), with the chances of a wrong answer."""

    elo0: float
    elo1: float
    alpha: float = 0.05  # accepting H1 though H0 holds
    beta: float = 0.05  # accepting H0 though H1 holds
    model: Model = "normalised"

    @classmethod
    def between(cls, bounds: Sequence[float], option: str) -> Sprt:
        """The test of an option's two bounds; an error names the option."""
        if len(bounds) != 2 or not bounds[0] < bounds[1]:
            fix = "give elo0 and elo1, the lower one first: [0, 5]"
            raise ConfigError(option, value=tuple(bounds), fix=fix)
        return cls(bounds[0], bounds[1])

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            fix = "give the smaller difference first"
            raise InputError("SPRT: elo0 must be below elo1", value=(self.elo0, self.elo1), fix=fix)
        for bound in (self.elo0, self.elo1):
            if not abs(bound) <= FARTHEST:
                fix = f"differences are tested from -{FARTHEST} to {FARTHEST}"
                raise InputError("SPRT: a bound", value=bound, fix=fix)
        if not (0 < self.alpha < 1 and 0 < self.beta < 1 and self.alpha + self.beta < 1):
            raise InputError("SPRT: error rates", value=(self.alpha, self.beta), fix="try 0.05")

    @property
    def lower(self) -> float:
        """Where H0 is accepted."""
        return math.log(self.beta / (1.0 - self.alpha))

    @property
    def upper(self) -> float:
        """Where H1 is accepted."""
        return math.log((1.0 - self.beta) / self.alpha)

    def llr(self, pairs: Pairs) -> float:
        """Log-likelihood ratio of H1 to H0."""
        if not pairs.total:
            return 0.0
        counts = [float(count) if count else RARE for count in pairs.five]
        total = sum(counts)
        shares = [count / total for count in counts]
        first, second = self._fit(shares, self.elo0), self._fit(shares, self.elo1)
        return total * sum(
            share * math.log(high / low)
            for share, low, high in zip(shares, first, second, strict=True)
        )

    def _fit(self, shares: Sequence[float], elo: float) -> list[float]:
        if self.model == "logistic":
            return likeliest_with_mean(shares, expected_score(elo))
        return likeliest_with_lead(shares, math.sqrt(2.0) * elo / NORMALISED)

    def verdict(self, pairs: Pairs) -> Verdict | None:
        """The hypothesis that is accepted, None to play on."""
        llr = self.llr(pairs)
        if llr >= self.upper:
            return "H1"
        return "H0" if llr <= self.lower else None

    def line(self, pairs: Pairs) -> str:
        """The line fastchess prints: LLR, how far it has come, bounds and hypotheses."""
        llr = self.llr(pairs)
        share = llr / self.upper if llr >= 0 else -llr / self.lower
        bounds = f"({self.lower:.2f}, {self.upper:.2f}) [{self.elo0:.2f}, {self.elo1:.2f}]"
        return f"LLR: {llr:.2f} ({100 * share:.1f}%) {bounds}"


class RunningTest:
    """A test as the pairs of a match come in; they count in the order of the schedule.

    So the verdict, and the pairs that it rests on, are the same however many are played at once.
    """

    def __init__(self, sprt: Sprt) -> None:
        self._sprt = sprt
        self.pairs = Pairs()
        self.verdict: Verdict | None = None

    def advance(self, points: Callable[[int], tuple[float, float] | None]) -> Verdict | None:
        """Count further pairs; `points` are the first player's in a pair, None until it ends."""
        while self.verdict is None and (pair := points(self.pairs.total)) is not None:
            self.pairs = self.pairs.plus(*pair)
            self.verdict = self._sprt.verdict(self.pairs)
        return self.verdict


# --- likeliest distributions ----------------------------------------------------------------------


def likeliest_with_mean(shares: Sequence[float], mean: float) -> list[float]:
    """The distribution closest to what was seen among those with that mean score."""
    last = len(shares) - 1
    return _tilted(shares, [index / last - mean for index in range(len(shares))])


def likeliest_with_lead(shares: Sequence[float], lead: float) -> list[float]:
    """The same among those whose mean is `lead` standard deviations above one half.

    The constraint is not linear; it is replaced by its tangent at the last answer, repeatedly.
    """
    last = len(shares) - 1
    fitted = _rising(len(shares), lead)
    for _ in range(FITS):
        mean, variance = moments(fitted)
        deviation = math.sqrt(variance)
        slopes = [
            index / last
            - 0.5
            - 0.5 * lead * deviation * (1.0 + ((index / last - mean) / deviation) ** 2)
            for index in range(len(shares))
        ]
        before, fitted = fitted, _tilted(shares, slopes)
        if max(abs(new - old) for new, old in zip(fitted, before, strict=True)) < CONVERGED:
            break
    return fitted


def _rising(count: int, lead: float) -> list[float]:
    """A distribution with that lead whose shares rise, or fall, by the same factor each."""

    def shares(power: float) -> list[float]:
        weights = [math.exp(power * index) for index in range(count)]
        return [weight / sum(weights) for weight in weights]

    def missing(power: float) -> float:
        mean, variance = moments(shares(power))
        return lead * math.sqrt(variance) - (mean - 0.5)

    return shares(falling_root(missing, -STEEPEST, STEEPEST))


def _tilted(shares: Sequence[float], slopes: Sequence[float]) -> list[float]:
    """Shares `seen / (1 + t slopes)` with the t that makes the slopes average to zero."""

    def average(tilt: float) -> float:
        total = 0.0
        for share, slope in zip(shares, slopes, strict=True):
            below = 1.0 + tilt * slope
            if below <= 0.0:  # rounded onto the pole
                return math.copysign(math.inf, slope)
            total += share * slope / below
        return total

    tilt = falling_root(average, -1.0 / max(slopes), -1.0 / min(slopes))
    return [
        share / max(TINY, 1.0 + tilt * slope) for share, slope in zip(shares, slopes, strict=True)
    ]

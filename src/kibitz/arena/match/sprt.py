"""SPRT: stop a match as soon as its results decide between two differences in strength.

Generalised sequential probability ratio test on pentanomial counts. The likeliest distribution of
the five results is found under each hypothesis, that the mean is what elo0 (or elo1) says; the
logarithm of the ratio of both likelihoods decides as soon as it leaves the bounds. After Michel
Van den Bergh, "Comments on normalized Elo" (propositions 1.1, section 4.1). Elo is logistic, or
normalised: in units of the standard deviation of a game, so that draws and openings do not change
the length of the test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kibitz.arena.match.elo import NORMALISED, Pairs, expected_score, falling_root, moments
from kibitz.core.errors import InputError

Model: TypeAlias = Literal["normalised", "logistic"]
Verdict: TypeAlias = Literal["H0", "H1"]

RARE = 1e-3  # stands for a result that has not been seen, as in fastchess
CONVERGED = 1e-9  # change of a probability below which the fit is done
FITS = 100
TINY = 1e-15


@dataclass(frozen=True)
class Sprt:
    """A test of H0 (difference elo0) against H1 (elo1), with the chances of a wrong answer."""

    elo0: float
    elo1: float
    alpha: float = 0.05  # accepting H1 though H0 holds
    beta: float = 0.05  # accepting H0 though H1 holds
    model: Model = "normalised"

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            fix = "give the smaller difference first"
            raise InputError("SPRT: elo0 must be below elo1", value=(self.elo0, self.elo1), fix=fix)
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
        seen = [count / total for count in counts]
        first, second = self._fit(seen, self.elo0), self._fit(seen, self.elo1)
        return total * sum(
            share * math.log(high / low)
            for share, low, high in zip(seen, first, second, strict=True)
        )

    def _fit(self, seen: Sequence[float], elo: float) -> list[float]:
        if self.model == "logistic":
            return likeliest_with_mean(seen, expected_score(elo))
        return likeliest_with_lead(seen, math.sqrt(2.0) * elo / NORMALISED)

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


# --- likeliest distributions ----------------------------------------------------------------------


def likeliest_with_mean(seen: Sequence[float], mean: float) -> list[float]:
    """The distribution closest to what was seen among those with that mean score."""
    last = len(seen) - 1
    return _tilted(seen, [index / last - mean for index in range(len(seen))])


def likeliest_with_lead(seen: Sequence[float], lead: float) -> list[float]:
    """The same among those whose mean is `lead` standard deviations above one half.

    The constraint is not linear; it is replaced by its tangent at the last answer, repeatedly.
    """
    last = len(seen) - 1
    fitted = [1.0 / len(seen)] * len(seen)
    for _ in range(FITS):
        mean, variance = moments(fitted)
        deviation = math.sqrt(variance)
        slopes = [
            index / last
            - 0.5
            - 0.5 * lead * deviation * (1.0 + ((index / last - mean) / deviation) ** 2)
            for index in range(len(seen))
        ]
        before, fitted = fitted, _tilted(seen, slopes)
        if max(abs(new - old) for new, old in zip(fitted, before, strict=True)) < CONVERGED:
            break
    return fitted


def _tilted(seen: Sequence[float], slopes: Sequence[float]) -> list[float]:
    """Shares `seen / (1 + t slopes)` with the t that makes the slopes average to zero."""

    def average(tilt: float) -> float:
        total = 0.0
        for share, slope in zip(seen, slopes, strict=True):
            below = 1.0 + tilt * slope
            if below <= 0.0:  # rounded onto the pole
                return math.copysign(math.inf, slope)
            total += share * slope / below
        return total

    tilt = falling_root(average, -1.0 / max(slopes), -1.0 / min(slopes))
    return [
        share / max(TINY, 1.0 + tilt * slope) for share, slope in zip(seen, slopes, strict=True)
    ]

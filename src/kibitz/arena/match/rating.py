"""Ratings from the games of many players, and ladders of opponents."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kibitz.arena.match.elo import DEVIATIONS_95, Tally, expected_score, falling_root
from kibitz.arena.match.spec import Spec, parse_player
from kibitz.core.errors import InputError

PRIOR_GAMES = 1.0  # drawn games assumed between two players who met
SCALE = math.log(10.0) / 400.0
STEPS, CONVERGED = 100, 1e-6
LONGEST_STEP = 400.0  # Elo; further, Newton's parabola no longer resembles the likelihood


class Rating(NamedTuple):
    """A player's rating; the mean of all ratings, or the anchor's, is given. 95 % interval."""

    name: str
    elo: float
    error: float
    points: float
    games: int


def ratings(
    names: Sequence[str],
    results: Mapping[tuple[int, int], Tally],
    *,
    mean: float = 0.0,
    anchor: int | None = None,
) -> list[Rating]:
    """Rate the players, best first; `results[a, b]` are those of player a against player b.

    With an anchor, `mean` is that player's rating and errors are of the difference from it.
    """
    points, games = _matrices(len(names), results)
    scored, played = points.copy(), games.copy()
    met = games > 0
    scored[met] += PRIOR_GAMES / 2
    played[met] += PRIOR_GAMES
    elo = _likeliest(scored, played)
    errors = DEVIATIONS_95 * np.sqrt(np.maximum(0.0, _variances(elo, played, anchor)))
    elo += mean - (elo.mean() if anchor is None else elo[anchor])
    rows = [
        Rating(name, float(elo[i]), float(errors[i]), float(points[i].sum()), int(games[i].sum()))
        for i, name in enumerate(names)
    ]
    return sorted(rows, key=lambda row: -row.elo)


def _matrices(
    count: int, results: Mapping[tuple[int, int], Tally]
) -> tuple[np.ndarray, np.ndarray]:
    """Points of row against column and games between them; float64 [count, count] each."""
    points, games = np.zeros((count, count)), np.zeros((count, count))
    for (first, second), tally in results.items():
        points[first, second] += tally.points
        points[second, first] += tally.games - tally.points
        games[first, second] += tally.games
        games[second, first] += tally.games
    return points, games


def _expected(elo: np.ndarray) -> np.ndarray:
    """Score that row is expected to make against column; float64 [count, count]."""
    gaps: np.ndarray = elo[:, None] - elo[None, :]
    return np.asarray(1.0 / (1.0 + np.power(10.0, -gaps / 400.0)))


def _likeliest(points: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Newton's method from equal ratings; the mean stays where it is."""
    elo = np.zeros(len(points))
    for _ in range(STEPS):
        slope = SCALE * (points - games * _expected(elo)).sum(axis=1)
        step = np.linalg.pinv(_information(elo, games)) @ slope
        elo += np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        if np.abs(step).max() < CONVERGED:
            break
    return elo


def _information(elo: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Fisher information of the ratings; float64 [count, count], singular along equal shifts."""
    expected = _expected(elo)
    weight = SCALE**2 * games * expected * (1.0 - expected)
    information: np.ndarray = np.diag(weight.sum(axis=1)) - weight
    return information


def _variances(elo: np.ndarray, games: np.ndarray, anchor: int | None) -> np.ndarray:
    """Variance of every rating, relative to the mean of all or to the anchor; float64 [count]."""
    covariance: np.ndarray = np.linalg.pinv(_information(elo, games))
    own: np.ndarray = covariance.diagonal()
    if anchor is not None:
        own = own + own[anchor] - 2.0 * covariance[anchor]
    return own


# --- against players whose ratings are known ------------------------------------------------------

WIDEST = 4000.0  # Elo beyond the known ratings that are looked at
LIKELY_95 = 1.9207294103470267  # half of the 95 % point of chi squared with one degree of freedom


class KnownRating(NamedTuple):
    """A rating on the scale of others; the interval is that of the likelihood ratio, 95 %.

    Who won or lost everything has an infinite rating, but an end of the interval that is finite.
    """

    elo: float
    low: float
    high: float
    points: float
    games: int


def rating_against(opponents: Sequence[tuple[float, Tally]]) -> KnownRating:
    """The likeliest rating of a player with these results against these ratings.

    A draw counts as half a win and half a loss. What the ratings themselves are worth, and whether
    they hold at this time control, is not in the interval.
    """
    points = sum(tally.points for _, tally in opponents)
    games = sum(tally.games for _, tally in opponents)
    low = min(elo for elo, _ in opponents) - WIDEST
    high = max(elo for elo, _ in opponents) + WIDEST

    def excess(elo: float) -> float:
        """Points made beyond those expected at a rating; falls as the rating grows."""
        expected = (tally.games * expected_score(elo - other) for other, tally in opponents)
        return points - sum(expected)

    if not 0.0 < points < games:
        best = math.copysign(math.inf, points - games / 2)
        top = 0.0
    else:
        best = falling_root(excess, low, high)
        top = _log_likelihood(best, opponents)

    def likely(elo: float) -> float:
        return _log_likelihood(elo, opponents) - top + LIKELY_95

    middle = min(max(best, low), high)
    lowest = -math.inf if points == 0 else falling_root(lambda elo: -likely(elo), low, middle)
    highest = math.inf if points == games else falling_root(likely, middle, high)
    return KnownRating(best, lowest, highest, points, games)


def _log_likelihood(elo: float, opponents: Sequence[tuple[float, Tally]]) -> float:
    total = 0.0
    for other, tally in opponents:
        score = expected_score(elo - other)
        total += tally.points * math.log(score) if tally.points else 0.0
        lost = tally.games - tally.points
        total += lost * math.log(expected_score(other - elo)) if lost else 0.0
    return total


# --- the ladder -----------------------------------------------------------------------------------
#
# Opponents on a ladder: programs of known strength, levels of Stockfish, players of this package.
#
# Ratings of programs are those of public lists, each with its source; they were found at other time
# controls, on other machines, and are as good as that.


PROGRAM_FOLDERS = ("/usr/games", "/usr/local/bin")  # not on every path
LARGEST_RATING = 5000  # on either side of 0: what is beyond was mistyped
LEVELS, QUICK_LEVELS = (1350, 1500, 1700, 1900, 2200, 2500), (1350, 1600, 1900)  # of UCI_Elo


class Listed(NamedTuple):
    """A program on the ladder, weakest first."""

    command: str  # the player, without the folder of the program
    rating: int | None = None
    source: str = ""  # of the rating: version, list, year

    @property
    def name(self) -> str:
        """The program's."""
        return self.command.partition(":")[2].replace(",", " ").split()[0]


LISTED = (
    Listed("xboard:fairymax"),
    Listed("xboard:hoichess"),
    Listed("xboard:sjeng"),
    Listed("xboard:phalanx", 2521, "Phalanx XXIV (Debian has XXV), CCRL 40/15, August 2026"),
    Listed("uci:gnuchess --uci,OwnBook=false", 2661, "GNU Chess 6.2.5, CCRL 40/2, by 2021"),
    Listed(
        "uci:glaurung,Threads=1,OwnBook=false",
        2793,
        "Glaurung 2.2 64-bit, CCRL 40/15, August 2026, 1396 games",
    ),
    Listed("uci:toga2,OwnBook=false"),
    Listed("uci:ethereal-chess"),
)


class Opponent(NamedTuple):
    """A player on the ladder; only games against those with a rating count for ours."""

    spec: Spec
    rating: float | None
    source: str = ""  # of the rating


def parse_opponent(text: str) -> Opponent:
    """Read a player with `rating=R`; without it, UCI_Elo counts if UCI_LimitStrength is on."""
    parts = text.split(",")
    ratings = [part for part in parts if part.startswith("rating=")]
    spec = parse_player(",".join(part for part in parts if part not in ratings))
    options = {name.casefold(): value for name, value in spec.options.items()}
    limited = options.get("uci_limitstrength", "").casefold() == "true"
    if ratings:
        rating_text = ratings[-1].removeprefix("rating=").strip()
    elif spec.kind == "uci" and limited and "uci_elo" in options:
        rating_text = options["uci_elo"]
    else:
        return Opponent(spec, None)
    try:
        rating = float(rating_text)
    except ValueError:
        rating = math.nan
    if not abs(rating) <= LARGEST_RATING:  # nor is nan
        fix = f"give a number from -{LARGEST_RATING} to {LARGEST_RATING}"
        raise InputError(f"opponent {text}: rating", value=rating_text, fix=fix)
    return Opponent(spec, rating)


def find_program(name: str) -> str | None:
    """Path of an installed program."""
    places = (name, *(f"{folder}/{name}" for folder in PROGRAM_FOLDERS))
    return next((program for place in places if (program := shutil.which(place))), None)


def usual_opponents(stockfish: str | None, quick: bool) -> list[str]:
    """Players of this package and, where Stockfish is installed, some levels of it."""
    opponents = ["random", "greedy"] if quick else ["random", "greedy", "material"]
    if stockfish is not None:
        levels = QUICK_LEVELS if quick else LEVELS
        opponents += [
            f"uci:{stockfish},UCI_LimitStrength=true,UCI_Elo={elo},Hash=16,name=stockfish-{elo}"
            for elo in levels
        ]
    return opponents


def listed_opponents() -> list[Opponent]:
    """The programs of the ladder that are installed."""
    opponents = []
    for listed in LISTED:
        path = find_program(listed.name)
        if path is not None:
            spec = parse_player(
                f"{listed.command.replace(listed.name, path, 1)},name={listed.name}"
            )
            opponents.append(Opponent(spec, listed.rating, listed.source))
    return opponents

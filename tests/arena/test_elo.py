"""Elo against numbers that others have published, among them blocks fastchess printed."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import logit  # type: ignore[import-untyped]
from scipy.stats import binomtest  # type: ignore[import-untyped]

from kibitz.arena.match.elo import (
    Model,
    Pairs,
    Sprt,
    Tally,
    block,
    draw_ratio,
    elo_of,
    expected_score,
    of_games,
    of_pairs,
)
from kibitz.arena.match.rating import ratings


class Published(NamedTuple):
    """A block that fastchess printed after a match, and the test it ran with."""

    test: Sprt
    draws: int
    lines: list[str]

    @property
    def pairs(self) -> Pairs:
        """The six kinds of pairs; the block tells five, the draws tell the sixth."""
        found = self.lines[4].partition("[")[2].partition("]")[0]
        zero, half, one, more, two = (int(text) for text in found.split(","))
        level = (self.draws - half - more) // 2
        return Pairs(zero, half, one - level, level, more, two)

    @property
    def tally(self) -> Tally:
        """Wins, draws and losses."""
        words = self.lines[3].replace(",", "").split()
        return Tally(int(words[3]), self.draws, int(words[5]))


PUBLISHED = [
    Published(
        Sprt(0.0, 10.0),
        383,
        [
            "Results of Artemis-dev vs Artemis-master (8+0.08, NULL, 128MB, noob_4moves.epd):",
            "Elo: 42.05 +/- 10.91, nElo: 126.40 +/- 32.46",
            "LOS: 100.00 %, DrawRatio: 75.00 %, PairsRatio: 26.50",
            "Games: 440, Wins: 55, Losses: 2, Draws: 383, Points: 246.5 (56.02 %)",
            "Ptnml(0-2): [0, 2, 165, 51, 2], WL/DD Ratio: 0.00",
            "LLR: 2.95 (100.2%) (-2.94, 2.94) [0.00, 10.00]",
        ],
    ),
    Published(
        Sprt(0.0, 5.0),
        909,
        [
            "Results of aspiration2 vs phase3 (8+0.08, 1t, 64MB, UHO_4060_v4.epd):",
            "Elo: 19.22 +/- 9.01, nElo: 33.41 +/- 15.62",
            "LOS: 100.00 %, DrawRatio: 46.63 %, PairsRatio: 1.44",
            "Games: 1900, Wins: 548, Losses: 443, Draws: 909, Points: 1002.5 (52.76 %)",
            "Ptnml(0-2): [15, 193, 443, 270, 29], WL/DD Ratio: 0.99",
            "LLR: 2.41 (81.8%) (-2.94, 2.94) [0.00, 5.00]",
        ],
    ),
    Published(
        Sprt(0.0, 5.0),
        2005,
        [
            "Results of PEA vs STASH36 (5+0.1, 1t, 256MB, book.epd):",
            "Elo: -4.84 +/- 6.08, nElo: -5.86 +/- 7.36",
            "LOS: 5.95 %, DrawRatio: 38.71 %, PairsRatio: 0.98",
            "Games: 8550, Wins: 3213, Losses: 3332, Draws: 2005, Points: 4215.5 (49.30 %)",
            "Ptnml(0-2): [585, 735, 1655, 814, 486], WL/DD Ratio: 6.26",
            "LLR: -2.96 (-100.5%) (-2.94, 2.94) [0.00, 5.00]",
        ],
    ),
    Published(
        Sprt(0.0, 10.0, model="logistic"),
        9,
        [
            "Results of base vs test (10+0.1, NULL, NULL, openings.epd):",
            "Elo: -21.74 +/- 96.80, nElo: -39.34 +/- 170.24",
            "LOS: 32.53 %, DrawRatio: 37.50 %, PairsRatio: 0.67",
            "Games: 16, Wins: 3, Losses: 4, Draws: 9, Points: 7.5 (46.88 %)",
            "Ptnml(0-2): [0, 3, 3, 2, 0], WL/DD Ratio: 0.50",
            "LLR: -0.11 (-3.8%) (-2.94, 2.94) [0.00, 10.00]",
        ],
    ),
    Published(
        Sprt(70.0, 75.0, alpha=0.01, beta=0.01),
        1701,
        [
            "Results of Zeno current vs Zeno Develop (8+0.08, NULL, NULL, UHO_4852_v1.epd):",
            "Elo: 72.32 +/- 6.98, nElo: 92.97 +/- 8.71",
            "LOS: 100.00 %, DrawRatio: 36.10 %, PairsRatio: 2.52",
            "Games: 6106, Wins: 2829, Losses: 1576, Draws: 1701, Points: 3679.5 (60.26 %)",
            "Ptnml(0-2): [153, 402, 1102, 831, 565], WL/DD Ratio: 3.71",
            "LLR: 4.61 (100.4%) (-4.60, 4.60) [70.00, 75.00]",
        ],
    ),
]


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one.lines[0].split()[2])
def test_the_block_is_fastchess_s_line_for_line(published: Published) -> None:
    title = published.lines[0].removeprefix("Results of ").removesuffix(":")
    lines = block(title, published.tally, published.pairs)
    assert [*lines, published.test.line(published.pairs)] == published.lines


def test_the_match_of_the_paper() -> None:
    # 17 wins, 46 draws, 37 losses: 0.6 points a game for the other side.
    found = of_games(Tally(37, 46, 17))
    assert found.score == pytest.approx(0.6)
    assert found.elo == pytest.approx(70.44, abs=0.005)
    # The interval by hand: variance 0.265 - ... of the score, its ends as Elo.
    reach = 1.96 * math.sqrt((37 * 0.16 + 46 * 0.01 + 17 * 0.36) / 100 / 100)
    high, low = (400 * math.log10(share / (1 - share)) for share in (0.6 + reach, 0.6 - reach))
    assert found.error == pytest.approx((high - low) / 2, rel=1e-4)
    assert found.los is not None
    assert found.los > 0.99


def test_a_match_won_to_nothing_has_a_bound() -> None:
    lines = block("a vs b", Tally(148, 0, 0), Pairs(win_win=74))
    assert lines[1:] == [
        "Elo: above +634.31 (95 %, Wilson), nElo: -",
        "LOS: 100.00 %, DrawRatio: 0.00 %, PairsRatio: -",
        "Games: 148, Wins: 148, Losses: 0, Draws: 0, Points: 148.0 (100.00 %)",
        "Ptnml(0-2): [0, 0, 0, 0, 74], WL/DD Ratio: -",
    ]
    assert block("a vs b", Tally(0, 0, 20), Pairs(10))[1].startswith("Elo: below -286.61 (95 %")


def by_scipy(points: float, games: int) -> list[float]:
    """Wilson's ends in Elo, by scipy's own implementation (whole points only)."""
    found = binomtest(int(points), games).proportion_ci(0.95, "wilson")
    return [float(logit(end)) * 400 / math.log(10) for end in (found.low, found.high)]


@pytest.mark.parametrize("pairs", [1, 2, 10, 74, 500])
def test_one_sided_results_have_wilson_s_bound(pairs: int) -> None:
    won, lost = of_pairs(Pairs(win_win=pairs)), of_pairs(Pairs(loss_loss=pairs))
    bound = by_scipy(2 * pairs, 2 * pairs)[0]
    # All won: n / (n + z^2), so that the odds are n to z^2.
    assert bound == pytest.approx(400 * math.log10(2 * pairs / 1.959963984540054**2))
    assert won.low == pytest.approx(bound, abs=1e-6)
    assert lost.high == pytest.approx(-bound, abs=1e-6)
    assert won.elo is won.high is won.error is lost.elo is lost.low is None
    assert won.interval == lost.interval == "wilson"
    assert won.text(2) == f"above {bound:+.2f}"
    # A few games are few whatever their results: 2 of 2 is not certainty.
    assert won.los is not None
    assert lost.los == pytest.approx(1 - won.los)
    assert pairs > 2 or won.los < 0.98


@pytest.mark.parametrize(
    ("tally", "told"),
    [
        (Tally(19, 0, 1), "+511.5 [+203.9, +819.1]"),  # the usual interval passes 1
        (Tally(0, 20, 0), "+0.0 [-147.8, +147.8]"),  # all alike: no variance to go by
    ],
)
def test_lopsided_and_equal_results_have_a_finite_interval(tally: Tally, told: str) -> None:
    found = of_games(tally)
    assert [found.low, found.high] == pytest.approx(by_scipy(tally.points, tally.games), abs=1e-6)
    assert found.interval == "wilson"
    assert found.text() == told


def test_no_result_prints_what_is_not_a_number() -> None:
    for wins, draws, losses in itertools.product((0, 1, 7), repeat=3):
        found = of_games(Tally(wins, draws, losses))
        numbers = [value for value in found.as_json().values() if isinstance(value, float)]
        assert all(math.isfinite(value) for value in numbers)
        for pairs in (Pairs(losses, 0, 0, draws, 0, wins), Pairs(0, losses, draws, 0, wins)):
            text = " ".join(block("a vs b", Tally(wins, draws, losses), pairs)[1:])
            assert "nan" not in text
            assert "inf" not in text
        if found.elo is not None:
            assert found.low is not None
            assert found.high is not None
            assert found.low < found.elo < found.high
        elif found.score is not None:
            assert (found.low is None) != (found.high is None)


def test_a_match_that_has_not_begun_prints() -> None:
    assert block("a vs b", Tally(), Pairs())[1].startswith("Elo: unknown, nElo: -")
    assert Sprt(0, 5).line(Pairs()) == "LLR: 0.00 (0.0%) (-2.94, 2.94) [0.00, 5.00]"


def test_pairs_are_counted_in_either_order() -> None:
    pairs = Pairs()
    for first, second in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, 0.5), (0.0, 0.0), (1.0, 1.0)):
        pairs = pairs.plus(first, second)
    assert pairs == Pairs(1, 0, 2, 1, 1, 1)
    assert pairs.five == (1, 0, 3, 1, 1)
    assert draw_ratio(pairs) == 0.5
    assert Tally().plus(1.0).plus(0.5).plus(0.0).plus(0.0) == Tally(1, 1, 2)


# --- several players ------------------------------------------------------------------------------


def test_two_players_are_rated_by_their_score() -> None:
    [best, other] = ratings(["a", "b"], {(0, 1): Tally(17, 46, 37)})
    assert (best.name, best.points, best.games) == ("b", 60.0, 100)
    # One drawn game is assumed, so the difference is that of 60.5 points in 101 games.
    assert best.elo - other.elo == pytest.approx(elo_of(60.5 / 101), abs=1e-3)


def test_ratings_come_back_from_simulated_games() -> None:
    true = {"strong": 150.0, "middle": 0.0, "weak": -150.0}
    names, generator = list(true), np.random.default_rng(1)
    results = {}
    for a, b in ((0, 1), (0, 2), (1, 2)):
        wins = int(generator.binomial(1000, expected_score(true[names[a]] - true[names[b]])))
        results[a, b] = Tally(wins, 0, 1000 - wins)
    found = ratings(names, results)
    assert [row.name for row in found] == names
    for row in found:
        assert abs(row.elo - true[row.name]) < 1.5 * row.error
    assert sum(row.elo for row in found) == pytest.approx(0.0, abs=1e-6)


def test_intervals_contain_the_truth_as_often_as_they_say() -> None:
    generator, inside = np.random.default_rng(2), 0
    for _ in range(200):
        results = {}
        for a, b, gap in ((0, 1, 100.0), (0, 2, 150.0), (1, 2, 50.0)):
            wins = int(generator.binomial(100, expected_score(gap)))
            results[a, b] = Tally(wins, 0, 100 - wins)
        found = {row.name: row for row in ratings(["a", "b", "c"], results)}
        inside += abs(found["a"].elo - 250.0 / 3) < found["a"].error
    assert 0.90 <= inside / 200 <= 0.99


def test_an_anchor_keeps_its_rating() -> None:
    results = {(0, 1): Tally(60, 20, 20), (1, 2): Tally(30, 40, 30)}
    found = {row.name: row for row in ratings(["a", "b", "c"], results, mean=2800.0, anchor=1)}
    assert found["b"].elo == pytest.approx(2800.0)
    assert found["b"].error == pytest.approx(0.0, abs=1e-6)
    assert found["c"].elo == pytest.approx(2800.0, abs=1.0)
    assert found["a"].elo > 2900.0


def test_whoever_won_everything_has_a_finite_rating() -> None:
    best = ratings(["a", "b"], {(0, 1): Tally(50, 0, 0)})[0]
    assert best.name == "a"
    assert 300 < best.elo < 1000
    assert best.error > 100


# --- error rates ----------------------------------------------------------------------------------


def wrong_answers(test: Sprt, truth: float, wrong: str, runs: int, every: int) -> tuple[int, float]:
    """How many of the simulated tests ended with the wrong verdict, and their mean length."""
    generator, bad, lengths = np.random.default_rng(7), 0, 0
    shape = np.array([0.05, 0.2, 0.5, 0.2, 0.05])
    scores = np.arange(5) / 4
    deviation = math.sqrt(float(shape @ (scores - 0.5) ** 2))
    # A tilt of the shape moves its mean; small enough that the deviation stays.
    mean = truth * math.sqrt(2.0) / 347.4355855 * deviation
    shares = shape * (1.0 + mean / deviation**2 * (scores - 0.5))
    for _ in range(runs):
        pairs, verdict = np.zeros(5, dtype=int), None
        while verdict is None:
            pairs += generator.multinomial(every, shares / shares.sum())
            verdict = test.verdict(Pairs(pairs[0], pairs[1], pairs[2], 0, pairs[3], pairs[4]))
        bad += verdict == wrong
        lengths += int(pairs.sum())
    return bad, lengths / runs


@pytest.mark.slow
def test_sprt_is_rarely_wrong() -> None:
    test = Sprt(0.0, 100.0)
    assert wrong_answers(test, 0.0, "H1", runs=40, every=2)[0] <= 7
    assert wrong_answers(test, 100.0, "H0", runs=40, every=2)[0] <= 7


@pytest.mark.parametrize("model", ["normalised", "logistic"])
def test_any_counts_and_hypotheses_have_a_finite_ratio(model: Model) -> None:
    generator = np.random.default_rng(3)
    for _ in range(300):
        counts = generator.integers(0, 2, 5) * generator.integers(1, 2000, 5)
        zero, half, one, more, two = (int(count) for count in counts)
        low = float(generator.uniform(-500, 400))
        test = Sprt(low, low + float(generator.uniform(0.1, 100)), model=model)
        llr = test.llr(Pairs(zero, half, one, 0, more, two))
        assert math.isfinite(llr)
    assert Sprt(0, 10, model=model).llr(Pairs(win_win=500)) > 2.94
    assert Sprt(0, 10, model=model).llr(Pairs(loss_loss=500)) < -2.94


@pytest.mark.parametrize("elo", [230.0, 240.0, 350.0, 500.0])
def test_a_level_match_speaks_against_any_large_difference(elo: float) -> None:
    for level in (Pairs(0, 0, 0, 1), Pairs(3, 9, 20, 3, 9, 3)):
        assert Sprt(0.0, elo).llr(level) < 0.0 < Sprt(-elo, 0.0).llr(level)
    assert Sprt(0.0, elo).llr(Pairs(loss_loss=5)) < 0.0 < Sprt(-elo, 0.0).llr(Pairs(win_win=5))


@pytest.mark.parametrize("elo", [501.0, math.inf, math.nan])
def test_differences_that_cannot_be_tested_are_refused(elo: float) -> None:
    with pytest.raises(ValueError, match=r"elo0 must be below|a bound"):
        Sprt(0.0, elo)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["normalised", "logistic"])
def test_error_rates_of_sprt_are_those_promised(model: Model) -> None:
    # In this shape a normalised difference of 30 is a logistic one of about 19.
    test = Sprt(0.0, 30.0, model=model)
    deviation = math.sqrt(2 * (0.1 * 0.25 + 0.4 * 0.0625))
    truth = 30.0 if model == "normalised" else (expected_score(30.0) - 0.5) / deviation * 347.4356
    for at, wrong in ((0.0, "H1"), (truth, "H0")):
        bad, pairs = wrong_answers(test, at, wrong, runs=1000, every=8)
        assert bad / 1000 <= 0.065, f"{model}: {bad} of 1000 wrong, {pairs:.0f} pairs on average"


def test_hypotheses_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="elo0 must be below elo1"):
        Sprt(5.0, 0.0)
    with pytest.raises(ValueError, match="error rates"):
        Sprt(0.0, 5.0, alpha=0.6, beta=0.5)

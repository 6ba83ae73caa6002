"""Figures of quality against scipy, published definitions and loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import stats  # type: ignore[import-untyped]

from kibitz.train import metrics, validate
from kibitz.train.validate import CORRELATIONS, rank_correlations


def with_ties(seed: int, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Two correlated columns with many equal numbers."""
    random = np.random.default_rng(seed)
    x = random.normal(size=count)
    y = 0.5 * x + random.normal(size=count)
    return np.round(2 * x) / 2, np.round(3 * y) / 3


@pytest.mark.parametrize("seed", range(6))
def test_correlations_equal_scipys(seed: int) -> None:
    x, y = with_ties(seed, 10 + 80 * seed)
    assert validate.kendall_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, rel=1e-12)
    assert validate.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12)
    theirs = stats.weightedtau(x, y).statistic
    assert validate.weighted_kendall(x, y) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_tau_a_is_over_all_pairs(seed: int) -> None:
    x, y = with_ties(seed, 60)
    signs = [
        np.sign((x[i] - x[j]) * (y[i] - y[j])) for i, j in itertools.combinations(range(60), 2)
    ]
    assert validate.kendall_a(x, y) == pytest.approx(sum(signs) / len(signs))
    different = np.random.default_rng(seed).permutation(60)
    expected = stats.kendalltau(different, np.arange(60)).statistic  # without ties a and b agree
    assert validate.kendall_a(different, np.arange(60)) == pytest.approx(expected)


def test_order_and_reverse_are_the_extremes() -> None:
    x = np.array([3.0, 1.0, 2.0, 7.0])
    for name, correlation in CORRELATIONS.items():
        assert correlation(x, 10 * x) == pytest.approx(1), name
        assert correlation(x, -x) == pytest.approx(-1), name


@pytest.mark.filterwarnings("ignore")
def test_nothing_to_order_is_nan_as_in_scipy() -> None:
    constant, x = np.ones(5), np.arange(5.0)
    assert math.isnan(stats.kendalltau(constant, x).statistic)
    for name in ("kendall_b", "weighted_kendall", "spearman"):
        assert math.isnan(CORRELATIONS[name](constant, x)), name
    assert validate.kendall_a(constant, x) == 0


@pytest.mark.parametrize("count", [27, 139, 1000])
def test_scores_that_are_all_alike_have_no_correlation(count: int) -> None:
    """Sums of weights are rounded: the tied pairs may seem to be more than all."""
    x, y = np.full(count, 0.25), np.random.default_rng(count).normal(size=count)
    for name in ("kendall_b", "weighted_kendall", "spearman"):
        for one in (CORRELATIONS[name](x, y), CORRELATIONS[name](y, x)):
            assert math.isnan(one), name


def test_each_correlation_is_a_figure_of_validations() -> None:
    assert tuple(CORRELATIONS) == metrics.CORRELATIONS


def test_mates_are_looked_at_apart() -> None:
    random = np.random.default_rng(5)
    labels = random.integers(-300, 300, 200).astype(float)
    mates = random.random(200) < 0.2
    labels[mates] = np.where(labels[mates] > 0, 1e6, -1e6) - random.integers(1, 9, mates.sum())
    scores = labels + random.normal(0, 200, 200)
    found = rank_correlations(scores, labels, mates)
    for name, group in {"all": mates | True, "mates": mates, "others": ~mates}.items():
        expected = stats.kendalltau(scores[group], labels[group]).statistic
        assert found[name]["kendall_b"] == pytest.approx(expected), name
        assert found[name].keys() == CORRELATIONS.keys()
    assert math.isnan(rank_correlations(scores, labels, mates & False)["mates"]["spearman"])


def test_a_hundred_thousand_ranks_are_no_trouble() -> None:
    random = np.random.default_rng(6)
    x = random.integers(0, 5000, 100_000).astype(float)
    y = x + random.normal(0, 2000, 100_000).round()
    assert validate.kendall_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, rel=1e-10)


def test_policy_accuracy_counts_moves_preferred_to_the_best() -> None:
    random = np.random.default_rng(7)
    counts = random.integers(1, 12, 80)
    offsets = np.concatenate([[0], counts.cumsum()])
    logits = random.integers(-4, 5, offsets[-1]).astype(np.float32)
    targets = random.integers(0, 5, offsets[-1]).astype(np.float32)
    weight = (random.random(80) < 0.7).astype(np.float32)
    ranks = []
    for b in range(80):
        row = slice(offsets[b], offsets[b + 1])
        best = [i for i, t in enumerate(targets[row]) if t == targets[row].max()]
        liked = max(logits[row][i] for i in best)
        ranks.append(sum(logit > liked for logit in logits[row]))
    given = (torch.tensor(logits), torch.tensor(targets), torch.tensor(offsets))
    assert validate.target_ranks(*given).tolist() == ranks
    for first in (1, 3, 5):
        hits = [rank < first for rank, w in zip(ranks, weight, strict=True) if w]
        found = validate.policy_accuracy(*given, torch.tensor(weight), first)
        assert found == pytest.approx(np.mean(hits))


def test_value_figures_leave_out_what_is_unknown() -> None:
    values = torch.tensor([0.5, -0.2, 0.3, 0.9, 0.1])
    targets = torch.tensor([0.6, 0.4, math.nan, 0.05, -1.0])
    weight = torch.tensor([1.0, 1, 0, 1, 1])
    assert validate.value_error(values, targets, weight) == pytest.approx(
        (0.1 + 0.6 + 0.85 + 1.1) / 4
    )
    assert validate.sign_accuracy(values, targets, weight) == pytest.approx(1 / 3)
    assert math.isnan(validate.value_error(values, targets, 0 * weight))

"""Scores: golden centipawns, per mille that add up, mates counted in moves."""

from __future__ import annotations

import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.search import report
from kibitz.search.proof import DRAW, TABLEBASE
from kibitz.search.report import (
    CENTIPAWNS,
    LOGISTIC_SCALE,
    Score,
    Wdl,
    centipawns,
    centipawns_2019,
    centipawns_tangent,
    centipawns_wdl,
    mate_moves,
    score_of,
    value_of_2019,
    wdl_of,
)

values = st.floats(-1, 1)
shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (0.1, 17.594), (0.25, 45.988), (0.5, 110.744), (0.9, 671.175), (1, 12_800)],
)
def test_golden_centipawns_of_2019(value: float, expected: float) -> None:
    assert centipawns_2019(value) == pytest.approx(expected, abs=0.005)
    assert centipawns_2019(-value) == pytest.approx(-expected, abs=0.005)


def test_golden_inverse() -> None:
    value = value_of_2019(12_797)
    assert value == pytest.approx(0.99999869, abs=1e-8)
    assert (value + 1) / 2 == pytest.approx(0.99999935, abs=1e-8)


@given(values)
def test_the_inverse_is_one(value: float) -> None:
    assert value_of_2019(centipawns_2019(value)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("middle", [-2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 2.0, 3.0])
def test_wdl_mu_is_the_middle_of_the_logistic_model(middle: float) -> None:
    win = 1 / (1 + math.exp((1 - middle) / LOGISTIC_SCALE))
    loss = 1 / (1 + math.exp((1 + middle) / LOGISTIC_SCALE))
    assert centipawns_wdl(win - loss) == pytest.approx(100 * middle, abs=1e-6)
    # Stockfish's and lc0's formula, which such wins and losses fulfil.
    against_loss, against_win = math.log(1 / loss - 1), math.log(1 / win - 1)
    expected = 100 * (against_loss - against_win) / (against_loss + against_win)
    assert centipawns_wdl(win - loss) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", CENTIPAWNS)
def test_better_values_give_more_centipawns(kind: str) -> None:
    scores = [centipawns(kind, value / 1000) for value in range(-1000, 1001)]
    assert scores == sorted(scores)
    assert scores == [-score for score in reversed(scores)]
    assert len(set(scores)) > 300
    assert scores[-1] in (12_798, 12_800)


def test_near_certainty_the_tangent_takes_over() -> None:
    for value in (0.95, 0.99, 0.9999, 1.0):
        assert centipawns_wdl(value) == centipawns_tangent(value)
    assert centipawns_wdl(0.9) > centipawns_tangent(0.9)


@given(values, shares)
def test_per_mille_add_up(value: float, draw: float) -> None:
    wdl = wdl_of(value, draw)
    assert sum(wdl) == 1000
    assert min(wdl) >= 0
    assert (wdl.wins - wdl.losses) / 1000 == pytest.approx(value, abs=0.0011)


def test_certain_outcomes() -> None:
    assert wdl_of(1.0, 0.0) == Wdl(1000, 0, 0)
    assert wdl_of(0.0, 1.0) == Wdl(0, 1000, 0)
    assert wdl_of(-1.0, 0.3) == Wdl(0, 0, 1000)


@pytest.mark.parametrize(
    ("proof", "moves"),
    [(1, 1), (3, 2), (5, 3), (-2, -1), (-4, -2), (0, None), (DRAW, None), (TABLEBASE, None)],
)
def test_mates_are_counted_in_moves(proof: int, moves: int | None) -> None:
    assert mate_moves(proof) == moves
    assert mate_moves(-TABLEBASE) is None


def test_scores_as_text() -> None:
    assert str(score_of("centipawn_2019", 0.5, 0)) == "cp 111"
    assert score_of("WDL_mu", 1.0, 5) == Score("mate", 3)
    assert str(score_of("WDL_mu", -1.0, -4)) == "mate -2"
    assert score_of("WDL_mu", 1.0, TABLEBASE).kind == "cp"


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(report).failed == 0

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


def test_the_formula_of_wdl_mu_between_the_extremes() -> None:
    win, draw, loss = 0.4, 0.5, 0.1
    against_loss, against_win = math.log(1 / loss - 1), math.log(1 / win - 1)
    expected = 100 * (against_loss - against_win) / (against_loss + against_win)
    assert centipawns_wdl(win - loss, draw) == pytest.approx(expected)


@pytest.mark.parametrize("draw", [0.2, 0.4, 0.49])
def test_one_pawn_is_an_even_chance_to_win(draw: float) -> None:
    win = 0.5
    assert centipawns_wdl(win - (1 - draw - win), draw) == pytest.approx(100.0)


@given(values, values, shares)
def test_better_values_give_more_centipawns(one: float, other: float, draw: float) -> None:
    low, high = sorted((one, other))
    for kind in ("WDL_mu", "centipawn", "centipawn_2019"):
        assert centipawns(kind, low, draw) <= centipawns(kind, high, draw)
        assert centipawns(kind, -high, draw) == -centipawns(kind, high, draw)
    assert abs(centipawns("WDL_mu", one, draw)) <= 12_900


@given(shares)
def test_near_certainty_the_tangent_takes_over(draw: float) -> None:
    assert centipawns_wdl(1.0, draw) == centipawns_tangent(1.0)
    assert centipawns_tangent(1.0) == pytest.approx(12_798, abs=5)


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
    assert str(score_of("centipawn_2019", 0.5, 0.0, 0)) == "cp 111"
    assert score_of("WDL_mu", 1.0, 0.0, 5) == Score("mate", 3)
    assert str(score_of("WDL_mu", -1.0, 0.0, -4)) == "mate -2"
    assert score_of("WDL_mu", 1.0, 0.0, TABLEBASE).kind == "cp"


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(report).failed == 0

"""Scores: golden centipawns, per mille that add up, mates counted in moves."""

from __future__ import annotations

import doctest
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz.position.board import Board
from kibitz.search import report
from kibitz.search.proof import DRAW, TABLEBASE
from kibitz.search.report import (
    CENTIPAWNS,
    DRAWISH,
    ENOUGH_MATERIAL,
    Score,
    Wdl,
    centipawns,
    centipawns_2019,
    centipawns_common,
    common_wdl,
    has_opposite_bishops,
    mate_moves,
    material,
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


def test_one_pawn_is_an_even_chance_to_win() -> None:
    assert common_wdl(Score("cp", 100)).wins == 500
    assert common_wdl(Score("cp", -100)).losses == 500


@given(st.integers(-20_000, 20_000))
def test_chances_add_up_and_grow_with_the_score(amount: int) -> None:
    wdl, better = common_wdl(Score("cp", amount)), common_wdl(Score("cp", amount + 1))
    assert sum(wdl) == 1000
    assert min(wdl) >= 0
    assert better.wins >= wdl.wins
    assert better.losses <= wdl.losses
    assert common_wdl(Score("cp", -amount)) == Wdl(wdl.losses, wdl.draws, wdl.wins)


def test_a_draw_that_is_proved_is_certain() -> None:
    assert common_wdl(Score("cp", 0), draw=True) == Wdl(0, 1000, 0)


# A ladder of material, from all of it down to bare kings.
LADDER = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",  # 78 points
    "r2qk2r/pppppppp/8/8/8/8/PPPPPPPP/R2QK2R w - - 0 1",  # 54
    "3qk3/pppppppp/8/8/8/8/PPPPPPPP/3QK3 w - - 0 1",  # 34
    "r3k3/pppp4/8/8/8/8/PPPP4/R3K3 w - - 0 1",  # 18
    "4k3/pp6/8/8/8/8/PPP5/4K3 w - - 0 1",  # 5
    "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
]
OPPOSITE = "8/5pk1/3b2p1/7p/PP5P/5BP1/5PK1/8 {} - - 0 1"


def common(value: float, fen: str) -> int:
    score = score_of("WDL_mu", value, 0, 0, Board(fen).position)
    assert score.kind == "cp"
    return score.amount


@pytest.mark.parametrize("fen", [*LADDER, OPPOSITE.format("w")])
def test_in_a_position_scores_grow_with_the_value_alone(fen: str) -> None:
    position = Board(fen).position
    scores = [
        score_of("WDL_mu", value / 1000, 0, 0, position).amount for value in range(-1000, 1001)
    ]
    assert scores == sorted(scores)
    assert scores == [-score for score in reversed(scores)]
    assert len(set(scores)) > 500


def test_scores_grow_with_the_value_at_every_count_of_material() -> None:
    for points in range(ENOUGH_MATERIAL + 1):
        drawish = DRAWISH * (ENOUGH_MATERIAL - points) / ENOUGH_MATERIAL
        scores = [centipawns_common(value / 1000, drawish) for value in range(-1000, 1001)]
        assert all(low < high for low, high in pairwise(scores))
        assert scores == [-score for score in reversed(scores)]


@pytest.mark.parametrize("value", [1e-320, -1e-200, 1e-12])
def test_the_smallest_values_have_scores(value: float) -> None:
    assert centipawns_common(value) == pytest.approx(0.0, abs=1e-6)
    assert centipawns_common(value, 180.0) == pytest.approx(0.0, abs=1e-6)


def test_material_is_counted_on_both_sides() -> None:
    assert [material(Board(fen).position) for fen in LADDER] == [78, 54, 34, 18, 5, 0]
    assert material(Board("QQQQkQQQ/8/8/8/8/8/8/4K3 b - - 0 1").position) == 63


# By hand, from the formula of research/README.md: full material, rooks and pawns, bare kings.
@pytest.mark.parametrize(
    ("value", "full", "middle", "bare"),
    [
        (0.05, 40, 4, 2),
        (0.13, 100, 43, 24),
        (0.25, 181, 129, 91),
        (0.5, 342, 307, 268),
        (0.75, 568, 546, 516),
        (0.9, 841, 825, 804),
    ],
)
def test_golden_centipawns_of_the_common_scale(
    value: float, full: int, middle: int, bare: int
) -> None:
    assert [common(value, LADDER[at]) for at in (0, 3, 5)] == [full, middle, bare]
    assert [common(-value, LADDER[at]) for at in (0, 3, 5)] == [-full, -middle, -bare]


def test_less_material_wins_less() -> None:
    for value in (0.05, 0.2, 0.4, 0.8):
        scores = [common(value, fen) for fen in LADDER]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] > scores[-1]


@pytest.mark.parametrize("side", "wb")
def test_small_advantages_are_less_with_opposite_bishops(side: str) -> None:
    fen = OPPOSITE.format(side)
    assert has_opposite_bishops(Board(fen).position)
    assert common(0.15, fen) < 0.5 * score_of("WDL_mu", 0.15, 0).amount
    assert common(0.9, fen) > 0.9 * score_of("WDL_mu", 0.9, 0).amount


@pytest.mark.parametrize(
    "fen",
    [
        "8/5pk1/4b1p1/7p/PP5P/5BP1/5PK1/8 w - - 0 1",  # of one colour
        "8/r4pk1/3b2p1/7p/PP5P/5BP1/R4PK1/8 w - - 0 1",  # with rooks
        "8/5pk1/3bb1p1/7p/PP5P/5BP1/5PK1/8 w - - 0 1",
        "8/5pk1/3bb1p1/7p/PP5P/6P1/5PK1/8 w - - 0 1",
    ],
)
def test_other_endings_have_no_opposite_bishops(fen: str) -> None:
    assert not has_opposite_bishops(Board(fen).position)


@pytest.mark.parametrize("kind", CENTIPAWNS)
def test_better_values_give_more_centipawns(kind: str) -> None:
    scores = [centipawns(kind, value / 1000) for value in range(-1000, 1001)]
    assert scores == sorted(scores)
    assert scores == [-score for score in reversed(scores)]
    assert len(set(scores)) > 300
    assert scores[-1] in (5_999, 12_798, 12_800)


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

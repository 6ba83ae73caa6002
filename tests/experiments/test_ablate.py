"""Mates that are verified by brute force, and the ladder of nodes that solves them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kibitz.errors import InputError
from kibitz.evaluator.inline import inline_evaluator
from kibitz.evaluator.simple import Material
from kibitz.experiments.ablate import (
    Problem,
    ablate,
    geometric_mean,
    is_solution,
    mates,
    nodes_to_solve,
    read_problems,
    variants,
)
from kibitz.match.elo import wilson
from kibitz.position.board import Board
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.params import Settings

LADDER_MATE = "6k1/8/8/8/8/8/R7/1R4K1 w - - 0 1"  # two rooks: 1 Ra7 and 2 Rb8#


def test_brute_force_counts_moves_to_mate() -> None:
    board = Board(LADDER_MATE)
    assert not mates(board.position, 1)
    assert mates(board.position, 2)
    assert is_solution(board, board.parse("Ra7"), 2)
    assert not is_solution(board, board.parse("Kg2"), 2)


def test_a_stalemate_is_no_mate() -> None:
    board = Board("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1")
    assert not is_solution(board, board.parse("Qf7"), 1)  # stalemate
    assert is_solution(board, board.parse("Qf8"), 1)


def test_problems_are_read_and_spread(tmp_path: Path) -> None:
    suite = tmp_path / "suite.epd"
    lines = [f"6k1/8/8/8/8/8/R7/1R4K1 w - - bm #{2 + n % 3}; id {n};" for n in range(12)]
    suite.write_text("\n".join(lines))
    assert len(read_problems(suite)) == 8  # mates in 4 take too long to verify
    assert len(read_problems(suite, 3)) == 3
    assert read_problems(suite)[0] == Problem(LADDER_MATE, 2)


def test_a_suite_without_mates_is_named(tmp_path: Path) -> None:
    suite = tmp_path / "empty.epd"
    suite.write_text("6k1/8/8/8/8/8/R7/1R4K1 w - - bm Ra7;\n")
    with pytest.raises(InputError, match="no mates"):
        read_problems(suite)


def test_the_ladder_is_climbed_until_the_mate_is_found() -> None:
    with Searcher(inline_evaluator(Material()), Settings(hash=4)) as searcher:
        problem = Problem(LADDER_MATE, 2)
        solved, announced = nodes_to_solve(searcher, problem, (100, 1000, 20_000))
        assert solved is not None
        assert announced
        assert nodes_to_solve(searcher, problem, (1000,), ask=True) == (1000, True)
        assert not nodes_to_solve(searcher, Problem(LADDER_MATE, 3), (1000,), ask=True)[1]


def test_every_variant_has_a_row() -> None:
    names = ["puct", "puct + proving"]
    rows = list(
        ablate([Problem(LADDER_MATE, 2)], inline_evaluator(Material()), names, (10_000,), 4)
    )
    assert [row.variant for row in rows] == names
    assert rows[1].solved == 1
    assert set(names) < set(variants())


def test_intervals_of_known_samples() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)  # Wilson, tabulated
    assert wilson(0, 0) == (0.0, 1.0)
    mean, lower, upper = geometric_mean([100.0, 400.0] * 50)
    assert mean == pytest.approx(200.0)
    assert 100 < lower < 200 < upper < 400

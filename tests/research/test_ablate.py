"""Mates that are verified by brute force, and the ladder of nodes that solves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kibitz.arena.match.elo import wilson
from kibitz.core.errors import InputError
from kibitz.nets.discover import resolve
from kibitz.nets.evaluators.inline import InlineEvaluator, Material, inline_evaluator
from kibitz.nets.load import load_evaluator
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings
from kibitz.search.report import Report
from research.ablations.mates import (
    SMALL,
    Problem,
    ablate,
    geometric_mean,
    is_solution,
    mates,
    nodes_to_solve,
    read_problems,
    variants,
)

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
        solved, announced, _ = nodes_to_solve(searcher, problem, (100, 1000, 20_000))
        assert solved is not None
        assert announced
        assert nodes_to_solve(searcher, problem, (1000,), ask=True)[:2] == (1000, True)
        assert not nodes_to_solve(searcher, Problem(LADDER_MATE, 3), (1000,), ask=True).announced


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


# --- each switch of SBLE does what it is for ------------------------------------------------------

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
FOOLS_MATE = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2"  # not g2g4
MATES_IN_TWO = (
    "2brrb2/8/p7/7Q/1p1kpPp1/1P1pN1K1/3P4/8 w - - 0 1",
    "2N2B2/2N1r3/8/3nQ2R/1k6/8/2B5/R3K3 w Q - 0 1",
    "8/7B/2R5/4Nr1p/4kb1Q/8/1B6/4K2R w K - 0 1",
    "8/8/8/2p1R3/1p3p2/1p1k1p2/1B5p/1K2Q3 w - - 0 1",
)
SWITCHES = tuple(name for name in variants() if name.startswith(f"{SMALL} - "))


@pytest.fixture(scope="module")
def shipped() -> InlineEvaluator:
    evaluator = load_evaluator(resolve("kibitz-64x256"))
    assert isinstance(evaluator, InlineEvaluator)
    return evaluator


def searched(evaluator: InlineEvaluator, fen: str, **changes: Any) -> Report:
    settings = variants()[SMALL].with_(hash=16, diversity_temperature=0.0, **changes)
    with Searcher(evaluator, settings) as searcher:
        return searcher.search(Board(fen), Limits(nodes=4_000)).report


def visits_of(report: Report) -> list[int]:
    return sorted((row.visits for row in report.moves), reverse=True)


def test_every_switch_changes_searches(shipped: InlineEvaluator) -> None:
    problems = [Problem(fen, 2) for fen in MATES_IN_TWO]
    rows = list(ablate(problems, shipped, (SMALL, *SWITCHES), (3_200,), 16))
    assert [row.variant for row in rows if not row.differs] == [SMALL]
    assert len(rows) == 9


def test_a_variant_without_its_base_says_nothing_of_differences(shipped: InlineEvaluator) -> None:
    (row,) = ablate([Problem(LADDER_MATE, 2)], shipped, SWITCHES[:1], (100,), 4)
    assert row.differs is None


def test_the_linear_term_explores_and_elimination_comes_back_to_the_best(
    shipped: InlineEvaluator,
) -> None:
    best_two = [
        sum(visits_of(searched(shipped, MIDDLEGAME, **changes))[:2])
        for changes in ({"elimination": False}, {}, {"linear": False})
    ]
    assert best_two == sorted(best_two)
    assert len(set(best_two)) == 3


def test_what_was_explored_is_not_backed_up(shipped: InlineEvaluator) -> None:
    value = searched(shipped, MIDDLEGAME).root.value
    assert value > searched(shipped, MIDDLEGAME, selective_backup=False).root.value + 0.02


def test_the_shortest_mates_are_searched_more(shipped: InlineEvaluator) -> None:
    """Both moves that mate in two; the tree goes on below what it has proved."""
    shares = []
    for incentive in (0.0, 1.0):
        report = searched(shipped, LADDER_MATE, faster_mate=incentive)
        assert report.nodes == 4_000
        shares.append(sum(row.visits for row in report.moves if row.proof == 3))
    assert shares[1] > 1.2 * shares[0]


def test_a_move_that_is_proved_to_lose_is_not_tried_again(shipped: InlineEvaluator) -> None:
    tried = []
    for clear in (False, True):
        settings = {"clear_losses": clear, "cpuct": 30.0, "root_policy_temperature": 5.0}
        report = searched(shipped, FOOLS_MATE, **settings)
        (lost,) = (row for row in report.moves if str(row.move) == "g2g4")
        assert lost.proof < 0
        tried.append(lost.visits)
    assert tried[1] < tried[0] / 2

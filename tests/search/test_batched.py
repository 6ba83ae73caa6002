"""The batched driver: the same search as the inline one, and no visit lost on the way."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.nets.encodings.leaves import Leaves
from kibitz.nets.evaluators.batched import Evaluations, InlineBatch
from kibitz.nets.evaluators.inline import Material, Uniform, inline_evaluator
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.mcts.driver import Batches
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings
from tests.search.consistency import pending

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
QUEEN_ENDGAME = "7k/8/8/8/8/8/5KQ1/8 w - - 0 1"  # one of the moves is stalemate
SMOTHERED = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"


def visits(searcher: Searcher, fen: str, nodes: int) -> dict[str, int]:
    report = searcher.search(Board(fen), Limits(nodes=nodes)).report
    assert report.nodes == nodes
    return {str(row.move): row.visits for row in report.moves}


@pytest.mark.parametrize("fen", [MIDDLEGAME, QUEEN_ENDGAME])
def test_batches_of_one_search_as_the_inline_driver_does(fen: str) -> None:
    settings = Settings(hash=8, minibatch_size=1, expand_at=1)
    with Searcher(inline_evaluator(Material()), settings) as inline:
        expected = visits(inline, fen, 600)
    with Searcher(InlineBatch(inline_evaluator(Material())), settings) as batched:
        work = batched.driver.work
        assert isinstance(work, Batches)
        del work.free[1:]
        assert visits(batched, fen, 600) == expected


@pytest.mark.parametrize("rows", [1, 7, 32, 256])
def test_every_visit_is_settled(rows: int) -> None:
    with Searcher(
        InlineBatch(inline_evaluator(Uniform())),
        Settings(minibatch_size=rows, variance_scaling=0.0),  # all values are alike here
    ) as search:
        counted = visits(search, QUEEN_ENDGAME, 2_000)
        assert pending(search.memory) == 0
    assert sum(counted.values()) == 1_999  # and one for the root itself
    assert max(counted.values()) < 200  # a game that is over does not soak up the visits


def test_a_full_tree_gives_back_and_goes_on() -> None:
    settings = Settings(hash=1, minibatch_size=64)
    with Searcher(InlineBatch(inline_evaluator(Material())), settings) as searcher:
        visits(searcher, MIDDLEGAME, 30_000)
        assert pending(searcher.memory) == 0
        assert searcher.memory.bytes <= 2**20


def test_the_same_batch_size_repeats_itself() -> None:
    trees = []
    for _ in range(2):
        with Searcher(InlineBatch(inline_evaluator(Material())), Settings(hash=8)) as searcher:
            visits(searcher, MIDDLEGAME, 3_000)
            used = int(searcher.memory.record.edges_used)
            trees.append(searcher.memory.edges[:used].copy())
    assert np.array_equal(trees[0], trees[1])


class Sized(InlineBatch):
    """Material, and the sizes of the batches."""

    def __init__(self) -> None:
        super().__init__(inline_evaluator(Material()))
        self.sizes: list[int] = []

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        self.sizes.append(len(leaves.known))
        super().evaluate(leaves, out)


def test_slow_start_may_change_between_searches() -> None:
    evaluator, settings = Sized(), Settings(hash=8, slow_start_nodes=400)
    with Searcher(evaluator, settings) as searcher:
        visits(searcher, MIDDLEGAME, 300)
        assert max(evaluator.sizes) > 5
        evaluator.sizes.clear()
        searcher.new_game()
        searcher.settings = settings.with_(slow_start_parallelism=5)
        visits(searcher, MIDDLEGAME, 300)
        assert max(evaluator.sizes) == 5


def test_a_watched_run_is_looked_at_after_every_batch() -> None:
    evaluator, looks = Sized(), 0

    def look() -> bool:
        nonlocal looks
        looks += 1
        return False

    with Searcher(evaluator, Settings(hash=8)) as searcher:
        visits(searcher, MIDDLEGAME, 10)
        evaluator.sizes.clear()
        assert searcher.driver.run([500], look, frequent=True) == 500
    assert looks >= len(evaluator.sizes) > 10


def test_a_mate_is_proved_through_batches() -> None:
    with Searcher(InlineBatch(inline_evaluator(Uniform())), Settings(hash=8)) as searcher:
        result = searcher.search(Board(SMOTHERED), Limits(nodes=5_000))
    assert str(result.report.best.score) == "mate 1"
    assert str(result.move) == "h5f7"


def test_where_every_line_ends_at_once_the_clock_is_still_looked_at() -> None:
    """Two plies from the fifty-move rule no playout ever needs the evaluator."""
    with Searcher(InlineBatch(inline_evaluator(Material())), Settings(hash=8)) as searcher:
        board = Board("7k/8/8/8/8/8/8/KR6 w - - 98 80")
        assert searcher.search(board, Limits(movetime=50)).move is not None

"""A searcher's life: what it grows with and without a report, and what stays of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.options import Settings


@pytest.fixture
def nobody_collects() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("nobody_collects")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_closed_searcher_gives_its_tree_back_at_once(threads: int) -> None:
    """A match makes players by the game; Python looks for circles too seldom to keep up."""
    searcher = Searcher(inline_evaluator(Material()), Settings(hash=8, threads=threads))
    searcher.search(Board(), Limits(nodes=50), lambda _report: None)
    searcher.search(Board(), Limits(nodes=100))
    memory = weakref.ref(searcher.memory)
    searcher.close()
    del searcher
    assert memory() is None


def test_growing_a_tree_is_searching_without_a_word() -> None:
    settings, board = Settings(hash=8), Board()
    with (
        Searcher(inline_evaluator(Material()), settings) as silent,
        Searcher(inline_evaluator(Material()), settings) as other,
    ):
        for move in ("e2e4", "c7c5"):
            silent.search_tree(board, Limits(nodes=300))
            other.search(board, Limits(nodes=300))
            assert np.array_equal(silent.memory.edges, other.memory.edges)
            board.push(board.parse(move))
        assert silent.knows(board) == other.knows(board)

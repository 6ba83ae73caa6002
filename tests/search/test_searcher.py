"""A searcher's life: what stays when it is closed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from kibitz.evaluator.inline import inline_evaluator
from kibitz.evaluator.simple import Material
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.params import Settings
from kibitz.search.searcher import Searcher


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

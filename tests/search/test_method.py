"""The seam: another kind of search needs nothing of the tree search, and engines take it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import kibitz.search
from kibitz import Board, Engine
from kibitz.search.clock import Standing
from kibitz.search.mate import search_mate
from kibitz.search.method import changes_of, preset, resolved
from kibitz.search.options import Settings
from kibitz.search.report import Line, Report, RootStatistics, Score, wdl_of
from kibitz.search.searcher import BaseSearcher

SHARED = sorted(Path(kibitz.search.__file__).parent.glob("*.py"))


class FirstMove(BaseSearcher):
    """A search that takes the first legal move when its timer says so."""

    games, closed, nodes, proof, memory = 1, False, 0, 0, False

    def prepare(self) -> None:
        assert self.memory, "the clock runs before the search is ready"
        self.nodes = 0

    def run(self) -> None:
        while not self.is_over():
            self.nodes += 1

    def is_late(self) -> bool:
        standing = Standing(moves=len(self.task.board.legal_moves), best=1, second=0)
        return self.task.timer.is_over(standing)

    def report(self) -> Report:
        move = next(iter(self.task.board.legal_moves))
        line = Line(1, Score("cp", 0), wdl_of(0.0, 0.0), 0.0, (move,))
        root = RootStatistics(1, 0, 0.0, 0.0, 0.0, 0, 0.0)
        return Report(**vars(self.totals()), lines=(line,), moves=(), root=root)

    def ready(self) -> None:
        self.memory = True

    def forget(self) -> None:
        self.games += 1

    def end(self) -> None:
        self.closed = True


def test_what_shows_a_mate_is_loaded_before_a_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def searched(*memory: Any) -> int:
        calls.append(1)
        return search_mate(*memory)

    monkeypatch.setattr("kibitz.search.mate.search_mate", searched)
    with Engine("material", hash=4) as engine:
        engine.ready()
        assert calls
        loaded = len(calls)
        engine.ready()
        assert len(calls) == loaded


def test_an_engine_plays_with_another_search(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[FirstMove] = []

    def open_search(_: object, settings: Settings) -> BaseSearcher:
        opened.append(FirstMove(settings))
        return opened[-1]

    monkeypatch.setattr("kibitz.engine.engine.open_search", open_search)
    monkeypatch.setattr("kibitz.engine.options.warm", lambda *_: None)
    board = Board()
    with Engine("material") as engine:
        result = engine.play(board, movetime=3)
        assert result.move == next(iter(board.legal_moves))
        assert result.report.milliseconds >= 3
        engine.configure(multipv=2)
        engine.new_game()
        assert [report.nodes for report in engine.analyse(board, movetime=0)] == [0]
    (search,) = opened
    assert (search.games, search.settings.multipv, search.closed) == (2, 2, True)


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_what_all_searches_share_does_not_import_the_tree_search(path: Path) -> None:
    """Only opening a search does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {name for name in modules if name.startswith("kibitz.search.mcts")}
    names.discard("kibitz.search.mcts.rules.parameters")  # the table of rules: numbers alone
    assert not names or path.stem == "method"


@pytest.mark.parametrize(
    ("changes", "batched", "kind"),
    [
        ({}, False, "alphabeta"),
        ({"threads": 2, "hash": 16, "multipv": 3}, False, "alphabeta"),
        ({}, True, "mcts"),
        ({"sc_limit": 28}, False, "mcts"),
        ({"cpuct": 2.0}, False, "mcts"),
        ({"minibatch_size": 16, "virtual_loss": 1.0}, False, "alphabeta"),  # of no effect
        ({"threads": 2, "virtual_loss": 1.0}, False, "mcts"),
        ({"gumbel_noise": 0.5, "bestfirst_batch": 8}, False, "alphabeta"),
        ({"search": "alphabeta", "cpuct": 2.0}, False, "alphabeta"),
        ({"search": "mcts"}, False, "mcts"),
        ({"search": "bestfirst"}, True, "bestfirst"),
    ],
)
def test_the_kind_of_search_that_auto_means(
    changes: dict[str, Any], batched: bool, kind: str
) -> None:
    assert resolved(Settings().with_(**changes), batched=batched).search == kind


def test_a_named_rule_is_the_tree_search() -> None:
    assert changes_of("default", "puct")["search"] == "mcts"
    assert resolved(preset("alphazero"), batched=False).search == "mcts"

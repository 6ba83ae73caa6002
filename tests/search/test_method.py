"""The seam: another kind of search needs nothing of the tree search, and engines take it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kibitz.search
from kibitz import Board, Engine
from kibitz.search.clock import Standing, Timer
from kibitz.search.limits import Limits, Signals
from kibitz.search.method import SearchMethod
from kibitz.search.params import Settings
from kibitz.search.report import (
    Line,
    Listener,
    Report,
    Result,
    RootStatistics,
    Score,
    wdl_of,
)

SHARED = sorted(Path(kibitz.search.__file__).parent.glob("*.py"))


class FirstMove:
    """A search that takes the first legal move when its timer says so."""

    batched = False

    def __init__(self, settings: Settings) -> None:
        self.settings, self.problems = settings, list[str]()
        self.games, self.closed = 1, False

    def adopt(self, settings: Settings) -> bool:
        self.settings = settings
        return True

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        on_report: Listener | None = None,
        signals: Signals | None = None,
    ) -> Result:
        timer = Timer(limits or Limits(movetime=0), board.turn, board.ply, self.settings)
        nodes, standing = 1, Standing(moves=len(board.legal_moves), best=1, second=0)
        stop = (signals or Signals()).stop
        while not (stop.is_set() or timer.is_over(standing)):
            nodes += 1
        move = next(iter(board.legal_moves))
        line = Line(1, Score("cp", 0), wdl_of(0.0, 0.0), 0.0, (move,))
        report = Report(
            nodes=nodes,
            milliseconds=round(timer.since_go_ms),
            hashfull=0,
            lines=(line,),
            moves=(),
            root=RootStatistics(1, 0, 0.0, 0.0, 0.0, 0, 0.0),
        )
        if on_report is not None:
            on_report(report)
        return Result(move, None, report)

    def stop(self) -> None:
        pass

    def ponderhit(self) -> None:
        pass

    def new_game(self) -> None:
        self.games += 1

    def close(self) -> None:
        self.closed = True


def test_an_engine_plays_with_another_search(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[FirstMove] = []

    def open_search(_: object, settings: Settings) -> SearchMethod:
        opened.append(FirstMove(settings))
        return opened[-1]

    monkeypatch.setattr("kibitz.engine.engine.open_search", open_search)
    monkeypatch.setattr("kibitz.engine.engine.warm", lambda *_: None)
    board = Board()
    with Engine("material") as engine:
        result = engine.play(board, movetime=3)
        assert result.move == next(iter(board.legal_moves))
        assert result.report.milliseconds >= 3
        engine.configure(multipv=2)
        engine.new_game()
        assert [report.nodes for report in engine.analyse(board, movetime=0)] == [1]
    (search,) = opened
    assert (search.games, search.settings.multipv, search.closed) == (2, 2, True)


@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
def test_what_all_searches_share_does_not_import_the_tree_search(path: Path) -> None:
    """Only opening a search does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {name for name in modules if name.startswith("kibitz.search.mcts")}
    assert not names or path.stem == "method"

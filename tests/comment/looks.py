"""Analyses for tests: what a deeper look sees, or what tables say, is told by a function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import chess

from kibitz.comment.analysis import Analysis
from kibitz.comment.judge import Evaluation
from kibitz.position.board import Board
from kibitz.search.report import Score
from kibitz.search.tablebase import Tablebases

# Where no words are judged, the looks that confirm them are short, and kept apart from others.
SHORT_LOOKS = {
    "kibitz.comment.searches.DEEP": 2_000,
    "kibitz.comment.cache.FOLDER": "analyses-by-short-looks",
}
NOTHING = Evaluation(Score("cp", 0), 0.0, ())


class Looks(dict[str, Evaluation]):
    """Every look there is, by a function of the position and how large it is."""

    def __init__(self, look: Callable[[chess.Board, int], Evaluation]) -> None:
        self._look = look

    def __contains__(self, _: object) -> bool:
        return True

    def __getitem__(self, name: str) -> Evaluation:
        *fen, size = name.split()[:7]
        return self._look(chess.Board(" ".join(fen)), int(size.partition("x")[0]))


def seen_by(look: Callable[[chess.Board, int], Evaluation]) -> Analysis:
    """An analysis with the looks of a function."""
    return Analysis(views=(NOTHING, NOTHING), looks=Looks(look))


class Verdicts(dict[str, int | None]):
    """What tables say of every position."""

    def __init__(self, folder: Path) -> None:
        self._tables = Tablebases(str(folder))

    def __contains__(self, _: object) -> bool:
        return True

    def __getitem__(self, name: str) -> int | None:
        return self._tables.wdl(Board(" ".join(name.split()[:6])).position)


def judged_by(folder: Path) -> Analysis:
    """An analysis without searches, with the endgame tables of a folder."""
    return Analysis(has_tables=True, verdicts=Verdicts(folder))

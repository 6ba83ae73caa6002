"""The record of an analysis: written, read, kept, and asked again without a search."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import pytest

from kibitz.comment import analysis as record
from kibitz.comment.analyse import analyse
from kibitz.comment.analysis import Analysis, UnsearchedError, name_of
from kibitz.comment.annotate import Style, annotate
from kibitz.comment.cache import AnalysisCache
from kibitz.comment.facts import scenes_of
from kibitz.comment.judge import Evaluation
from kibitz.comment.searches import Effort, Searches
from kibitz.comment.select.rank import LEVELS, Memory
from kibitz.comment.select.selection import select
from kibitz.engine import Engine
from kibitz.position.pgn import parse_game
from kibitz.search.limits import Limits
from kibitz.search.report import Result, Score

pytestmark = pytest.mark.usefixtures("short_looks")

TRAP = "1. e4 e5 2. Nf3 Nc6 3. Bc4 Nd4 4. Nxe5 Qg5 5. Nxf7 Qxg2 6. Rf1 Qxe4+ 7. Be2 Nf3# 0-1"
EFFORT = Effort(Limits(nodes=300))
STYLE = Style(limits=EFFORT.limits)


class Counting(Engine):
    """An engine that counts its searches."""

    searches = 0

    def play(self, *given: Any, **more: Any) -> Result:
        self.searches += 1
        return super().play(*given, **more)


@pytest.fixture(scope="module")
def engine() -> Iterator[Counting]:
    with Counting("material", hash=16, multipv=2) as engine:
        yield engine


@pytest.fixture(scope="module")
def made(engine: Engine) -> Analysis:
    """An analysis of the trap with all that claims ask for."""
    tree, searches = parse_game(TRAP).tree, Searches(engine)
    moves = [node.move for node in tree.mainline()]
    analysis = analyse(tree.board(), moves, 0, searches, EFFORT)
    for scene in scenes_of(analysis):
        select(scene, Memory(), "club")
    return analysis


def test_an_analysis_is_read_as_it_was_written(made: Analysis) -> None:
    assert made.looks
    again = record.read(record.written(made))
    assert again == made
    for one, other in zip(scenes_of(made), scenes_of(again), strict=True):
        assert select(one, Memory(), "club") == select(other, Memory(), "club")


def test_moves_priors_and_verdicts_are_read_as_they_were_written() -> None:
    castles, promotes = chess.Move.from_uci("e1h1"), chess.Move.from_uci("a7a8n")
    then = Evaluation(Score("mate", -2), -1.0, (promotes,))
    view = Evaluation(Score("cp", 31), 1 / 3, (castles,), 0.1, {castles: 0.25}, then, then)
    start = "7k/P7/8/8/8/8/8/4K2R w H - 0 1"
    whole = Analysis(start, True, (castles,), (view, then), {"x": view}, {"y": None, "z": 1}, True)
    assert record.read(record.written(whole)) == whole


def test_a_claim_names_the_search_that_it_lacks() -> None:
    board = chess.Board()
    nothing = Evaluation(Score("cp", 0), 0.0, ())
    searched = Analysis(views=(nothing, nothing))
    with pytest.raises(UnsearchedError) as lacks:
        searched.deeper(board, 5)
    assert lacks.value.args == (name_of(board, 5),)
    searched.looks[name_of(board, 5)] = nothing
    assert searched.deeper(board, 5) is nothing
    assert Analysis().deeper(board, 5) is None  # nothing is searched at all


def test_what_may_be_repeated_makes_another_search() -> None:
    shuffled = chess.Board()
    for move in ["g1f3", "g8f6", "f3g1", "f6g8"]:
        shuffled.push_uci(move)
    fresh = chess.Board(shuffled.fen())
    assert name_of(shuffled, 1) != name_of(fresh, 1)
    assert name_of(fresh, 1, 2) != name_of(fresh, 1)
    opened = chess.Board()
    opened.push_uci("e2e3")  # what came before cannot come again
    assert name_of(opened, 1) == name_of(chess.Board(opened.fen()), 1)


def test_a_kept_game_is_not_searched_again(engine: Counting, tmp_path: Path) -> None:
    cache = AnalysisCache(engine, EFFORT, tmp_path)
    first = annotate(parse_game(TRAP), engine, STYLE, cache=cache)
    for level in LEVELS:  # each asks for what it says beside the others
        annotate(parse_game(TRAP), engine, Style(level, limits=EFFORT.limits), cache=cache)
    before = engine.searches
    plies: list[None] = []
    again = annotate(parse_game(TRAP), engine, STYLE, lambda: plies.append(None), cache=cache)
    for level in LEVELS:
        annotate(parse_game(TRAP), engine, Style(level, limits=EFFORT.limits), cache=cache)
    assert engine.searches == before
    assert str(again.game) == str(first.game)
    assert len(plies) == 15


def test_another_language_of_a_kept_game_searches_nothing(engine: Counting, tmp_path: Path) -> None:
    cache = AnalysisCache(engine, EFFORT, tmp_path)
    english = annotate(parse_game(TRAP), engine, STYLE, cache=cache).game
    before = engine.searches
    style = Style(limits=EFFORT.limits, language="de")
    german = annotate(parse_game(TRAP), engine, style, cache=cache).game
    assert engine.searches == before
    assert "Genauigkeit: " in german.tree.comment
    assert "Accuracy: " in english.tree.comment
    assert "Deutsch" in german.tags["Annotator"]
    again = annotate(german, engine, STYLE, cache=cache).game  # what was written is replaced
    assert str(again) == str(english)


def test_another_network_effort_or_game_is_searched_anew(engine: Counting, tmp_path: Path) -> None:
    annotate(parse_game(TRAP), engine, STYLE, cache=AnalysisCache(engine, EFFORT, tmp_path))
    tree = parse_game(TRAP).tree
    start, moves = tree.board(), tuple(node.move for node in tree.mainline())
    assert AnalysisCache(engine, EFFORT, tmp_path).find(start, moves) is not None
    assert AnalysisCache(engine, EFFORT, tmp_path).find(start, moves[:-1]) is None
    assert AnalysisCache(engine, Effort(Limits(nodes=301)), tmp_path).find(start, moves) is None
    with Engine("uniform", hash=16, multipv=2) as other:
        assert AnalysisCache(other, EFFORT, tmp_path).find(start, moves) is None


def test_a_damaged_analysis_is_made_again(
    engine: Counting, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = AnalysisCache(engine, EFFORT, tmp_path)
    first = annotate(parse_game(TRAP), engine, STYLE, cache=cache)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-20], b"", io.BytesIO(whole).read(40) + whole[41:]):
        path.write_bytes(damaged)
        again = annotate(parse_game(TRAP), engine, STYLE, cache=cache)
        assert str(again.game) == str(first.game)
        assert "searched again" in capsys.readouterr().err
        assert path.read_bytes() == whole

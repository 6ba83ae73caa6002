"""Results of three men agree with the tables; marks in such endings do not depend on the nodes."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import chess
import chess.syzygy
import pytest

from kibitz.comment.analyse import analyse
from kibitz.comment.claims.lines.outlook import mark_of
from kibitz.comment.facts import scenes_of
from kibitz.comment.judge import Evaluation, Label, value_of
from kibitz.comment.searches import Effort, Searches
from kibitz.comment.three_men import SURE, exact, result_of
from kibitz.engine import Engine
from kibitz.search.limits import Limits
from kibitz.search.report import Score

TABLES = Path(__file__).parent.parent / "fixtures" / "syzygy"
DRAWN = "8/8/8/3k4/3P4/3K4/8/8 b - - 0 1"


def positions(kind: int, step: int) -> Iterator[chess.Board]:
    """Every so-many-th position of two kings and one more piece."""
    squares = product(range(64), repeat=3)
    for number, ((king, other, square), white, turn) in enumerate(
        product(squares, (True, False), (True, False))
    ):
        if number % step or len({king, other, square}) < 3:
            continue
        board = chess.Board(None)
        board.set_piece_at(king, chess.Piece(chess.KING, True))
        board.set_piece_at(other, chess.Piece(chess.KING, False))
        board.set_piece_at(square, chess.Piece(kind, white))
        board.turn = turn
        if board.is_valid() and not board.is_checkmate():
            yield board


@pytest.mark.parametrize("kind", range(chess.PAWN, chess.KING))
def test_results_of_three_men_are_those_of_the_tables(kind: int) -> None:
    count = 0
    with chess.syzygy.open_tablebase(str(TABLES)) as tables:
        for board in positions(kind, 997):
            told = tables.probe_wdl(board)
            assert result_of(board) == (told > 0) - (told < 0), board.fen()
            count += 1
    assert count > 300


@pytest.mark.parametrize("move", ["Kd6", "Ke6", "Kc6"])
def test_a_drawn_pawn_ending_has_no_mark_at_few_nodes(move: str) -> None:
    board = chess.Board(DRAWN)
    with Engine(search="alphabeta", multipv=2, hash=16) as engine:
        effort = Effort(Limits(nodes=500))
        analysis = analyse(board, [board.parse_san(move)], 0, Searches(engine), effort)
    (scene,) = scenes_of(analysis)
    assert mark_of(scene) is Label.NONE
    assert (scene.had, scene.has) != (None, None)
    assert scene.had is not None
    assert scene.had.score == Score("cp", 0)


def seen(cp: int, *lines: str) -> Evaluation:
    """What a search of few nodes might say, with a second line if there is one."""
    made = [
        Evaluation(Score("cp", cp), value_of(Score("cp", cp)), (chess.Move.from_uci(line),))
        for line in lines
    ]
    best, *rest = made
    if not rest:
        return best
    return Evaluation(best.score, best.value, best.line, rest[0].value, {}, rest[0])


def test_the_move_that_holds_is_the_best_whatever_was_seen() -> None:
    board = chess.Board("4k3/8/3KP3/8/8/8/8/8 b - - 0 1")  # only 1...Kd8 draws
    right = exact(seen(-300, "e8f8", "e8d8"), board)
    assert [move.uci() for move in right.line] == ["e8d8"]
    assert (right.score, right.second) == (Score("cp", 0), value_of(Score("cp", -SURE)))
    unseen = exact(seen(-300, "e8f8"), board)
    assert [move.uci() for move in unseen.line] == ["e8d8"]
    only = exact(seen(-300, "e8f8"), board, [chess.Move.from_uci("e8f8")])
    assert only.score == Score("cp", -SURE)
    late = chess.Board(board.fen().replace("- 0 1", "- 80 60"))
    assert exact(seen(-300, "e8f8"), late) == seen(-300, "e8f8")

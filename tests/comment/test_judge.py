"""Labels and accuracy: Lichess's limits, and sense in games that are decided."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import harmonic_mean, pstdev

import chess
import pytest

from kibitz.comment.judge import (
    Evaluation,
    Label,
    accuracy,
    as_queens,
    evaluation_of,
    in_hindsight,
    is_hard_to_find,
    is_only_move,
    label,
    labels_of,
    move_accuracy,
    turning_points,
    value_of,
)
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.search.report import Score


def seen(kind: str, amount: int, second: float | None = None) -> Evaluation:
    score = Score("mate" if kind == "mate" else "cp", amount)
    return Evaluation(score, value_of(score), (chess.Move.from_uci("e2e4"),), second)


# Before the move for the mover; after it for the opponent.
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (("cp", 20), ("cp", -10), Label.NONE),
        (("cp", 20), ("cp", 60), Label.INACCURACY),
        (("cp", 20), ("cp", 120), Label.MISTAKE),
        (("cp", 20), ("cp", 200), Label.BLUNDER),
        (("mate", 2), ("mate", -9), Label.NONE),  # one mate or another
        (("mate", 2), ("cp", -900), Label.NONE),
        (("mate", 2), ("cp", 0), Label.BLUNDER),
        (("mate", -5), ("mate", 1), Label.NONE),  # lost is lost
        (("cp", -900), ("mate", 1), Label.NONE),
        (("cp", 0), ("mate", 3), Label.BLUNDER),
    ],
)
def test_labels(before: tuple[str, int], after: tuple[str, int], expected: Label) -> None:
    assert label(seen(*before), seen(*after)) is expected


@pytest.mark.parametrize(("moves", "ahead"), [(3, True), (-3, False), (0, False)])
def test_only_who_mates_may_be_ahead_by_anything(moves: int, ahead: bool) -> None:
    mate = seen("mate", moves)
    assert (mate.ahead_at_most(own=True) == math.inf) is ahead
    assert (mate.ahead_at_most(own=False) == math.inf) is not ahead


def test_marks_are_on_the_common_scale_whatever_is_shown() -> None:
    fen = "4k3/8/8/8/8/8/PP6/4K3 w - - 0 1"
    with Engine("material", hash=16, search="alphabeta") as engine:
        plain = engine.play(Board(fen), nodes=2000).report
        engine.configure(weights="material", hash=16, search="alphabeta", score_type="centipawn")
        engine.new_game()
        other = engine.play(Board(fen), nodes=2000).report
    assert plain.best.value == other.best.value
    assert plain.best.score != other.best.score
    assert evaluation_of(chess.Board(fen), other).score == plain.best.score


def test_accuracy_of_moves_is_as_lichess_has_it() -> None:
    assert move_accuracy(50.0, 50.0) == 100.0
    assert move_accuracy(60.0, 50.0) == pytest.approx(64.58, abs=0.01)  # with the point given
    assert move_accuracy(40.0, 50.0) == 100.0
    assert move_accuracy(100.0, 0.0) == 0.0


def accuracy_of(scores: Sequence[int], first_white: bool = True) -> tuple[float, ...]:
    """Accuracies of a game that begins at 15 centipawns, as Lichess takes it."""
    found = accuracy([value_of(Score("cp", one)) for one in (15, *scores)], first_white)
    return tuple(one for one in found if one is not None)


# Lichess's own cases, of lila's AccuracyPercentTest.scala: scores, White, Black, how nearly.
@pytest.mark.parametrize(
    ("scores", "white", "black", "nearly"),
    [
        ([15, 15], 100, 100, 1),
        ([-900, -900], 10, 100, 5),
        ([15, 900], 100, 10, 5),
        ([-900, 0], 10, 10, 5),
        ([15] * 20, 100, 100, 1),
        ([*[15] * 20, -900], 50, 100, 5),
        ([*[15] * 21, 900], 100, 50, 5),
        ([-50, 15] * 5, 76, 76, 8),
        ([-50, 15] * 50, 76, 76, 8),
        ([-135, 15] * 50, 54, 54, 8),
        ([-435, 15] * 50, 20, 20, 8),
    ],
)
def test_accuracy_of_games_is_as_lichess_has_it(
    scores: list[int], white: float, black: float, nearly: float
) -> None:
    assert accuracy_of(scores) == pytest.approx((white, black), abs=nearly)
    turned = accuracy_of([-one for one in scores], first_white=False)  # 15 counts for the other
    assert turned == pytest.approx((black, white), abs=nearly + 3)


def test_accuracy_weighs_a_move_by_the_positions_up_to_it() -> None:
    """Of 80 plies Black's last loses ten points; a window of eight ends with the position after."""
    _, black = accuracy([0.0] * 80 + [0.2], first_white=True)
    lost, weight = move_accuracy(60.0, 50.0), pstdev([50.0] * 7 + [60.0])
    weighted = (39 * 0.5 * 100.0 + weight * lost) / (39 * 0.5 + weight)
    assert black == pytest.approx((weighted + harmonic_mean([*[100.0] * 39, lost])) / 2)


def test_a_mate_counts_as_ten_pawns_in_accuracies() -> None:
    values = [0.0, 0.0, value_of(Score("cp", 1000)), 0.5]
    assert accuracy([*values[:2], 1.0, 0.5], True) == accuracy(values, True)


def test_accuracy_of_a_game_tells_the_sides_apart() -> None:
    white, black = accuracy([0.0, 0.0, 0.5, 0.5, 0.9], first_white=True)
    assert white is not None
    assert black is not None
    assert white > 99 > black
    assert accuracy([0.0], first_white=True) == (None, None)


def test_a_game_turns_where_its_standing_changes_by_much() -> None:
    assert turning_points([0.0, 0.05, 0.7, 0.75, -0.1, -0.15]) == [1, 3]


def test_an_only_move_is_the_best_and_all_others_are_mistakes() -> None:
    best, other = chess.Move.from_uci("e2e4"), chess.Move.from_uci("d2d4")
    assert is_only_move(seen("cp", 0, second=-0.5), best)
    assert not is_only_move(seen("cp", 0, second=-0.5), other)
    assert not is_only_move(seen("cp", 0, second=-0.05), best)
    assert is_only_move(seen("cp", 900, second=0.5), best)
    assert not is_only_move(seen("cp", 900, second=0.6), best)  # which wins, too


def test_a_mate_in_one_is_not_hard_to_find() -> None:
    best = chess.Move.from_uci("e2e4")
    unlikely = {best: 0.01}
    assert is_hard_to_find(replace(seen("cp", 0, second=-0.5), priors=unlikely), best)
    assert not is_hard_to_find(replace(seen("mate", 1, second=0.0), priors=unlikely), best)


def test_hindsight_believes_the_moves_that_were_made() -> None:
    made, other = chess.Move.from_uci("e2e4"), chess.Move.from_uci("d2d4")
    had, level, lost = seen("cp", 0), seen("cp", 0), seen("mate", -2)
    assert in_hindsight(had, level, made) is had
    won = in_hindsight(had, lost, other)  # an overlooked mate was there before the move, too
    assert (won.score, won.value, won.line[0]) == (Score("mate", 3), 1.0, other)
    assert in_hindsight(had, seen("mate", 2), other) is had  # a bad move says nothing of the rest
    spare = Evaluation(Score("cp", -50), value_of(Score("cp", -50)), (other,))
    saved = in_hindsight(replace(had, other=spare), seen("mate", 2), made)
    assert (saved.score, saved.line, saved.second) == (spare.score, (other,), -1.0)


@pytest.mark.parametrize(
    ("fen", "line", "shown"),
    [
        ("4k3/8/8/8/8/8/3p4/2R1K3 b - - 0 1", "d2c1r", "d2c1r"),
        ("4k3/8/8/8/8/8/K2p4/2R1R3 b - - 0 1", "d2c1r e1c1", "d2c1q e1c1"),
        ("4k3/8/8/8/8/8/K2p4/2R1R3 b - - 0 1", "d2c1r e1e2", "d2c1r e1e2"),
        ("4k3/8/8/8/8/8/K2p4/2R1R3 b - - 0 1", "e8d7 e1d1 d2c1b d1c1", "e8d7 e1d1 d2c1q d1c1"),
    ],
)
def test_what_is_promoted_and_taken_at_once_is_a_queen(fen: str, line: str, shown: str) -> None:
    moves = [chess.Move.from_uci(move) for move in line.split()]
    assert " ".join(move.uci() for move in as_queens(chess.Board(fen), moves)) == shown


def test_a_mate_that_was_not_given_is_marked_in_a_decided_game() -> None:
    mate, won = Evaluation(Score("mate", 1), 1.0, ()), Evaluation(Score("cp", -1200), -0.975, ())
    assert label(mate, won) is Label.INACCURACY
    assert label(mate, Evaluation(Score("mate", 0), -1.0, ())) is Label.NONE
    assert label(Evaluation(Score("mate", 4), 1.0, ()), won) is Label.NONE
    assert labels_of((1.0, 0.97), True, {0}) == (Label.INACCURACY,)
    assert labels_of((1.0, 0.97), True) == (Label.NONE,)
    assert labels_of((1.0, 0.0), True, {0}) == (Label.BLUNDER,)

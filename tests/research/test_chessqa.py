"""ChessQA's questions are answered from the board alone; comments are matched by what they say."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from research.chessqa.board import Row, answered, wanted
from research.chessqa.semantic import FEATURES, WEIGHTS, chosen, features


def row(task: str, position: str, answer: str, square: str = "", kind: str = "multi") -> Row:
    return {
        "task_type": task,
        "input": position,
        "correct_answer": answer,
        "answer_type": kind,
        "metadata": {"target_square": square},
    }


# Each answered by hand on its board.
QUESTIONS = [
    row("motifs_fork", "4k3/8/2n5/8/3P1P2/8/8/4K3 w - - 0 1", ""),
    row("motifs_fork", "4k3/8/8/4p3/3P1P2/8/8/4K3 w - - 0 1", "e5>d4-f4"),
    row("motifs_pin", "4k3/8/4n3/8/8/8/4R3/4K3 w - - 0 1", "e2>e6>e8"),
    row("motifs_skewer", "4q3/8/4k3/8/8/8/4R3/6K1 b - - 0 1", "e2>e6>e8"),
    row("motifs_battery", "4k3/8/8/8/8/Q7/R7/R3K3 w - - 0 1", "a1>a2>a3"),
    row("motifs_battery", "4k3/8/8/8/8/1Q6/B7/4K3 w - - 0 1", "a2>b3"),
    row(
        "motifs_discovered_check",
        "4k3/8/8/8/4N3/8/8/4RK2 w - - 0 1",
        "e4c3, e4c5, e4d2, e4d6, e4f2, e4f6, e4g3, e4g5",
    ),
    row("motifs_double_check", "4k3/8/8/8/4N3/8/8/4RK2 w - - 0 1", "e4d6, e4f6"),
    row("structural_check_detection", "4k3/8/8/8/8/8/8/4RK2 b - - 0 1", "White Rook at e1"),
    row("structural_check_in_1", "4k3/8/8/8/8/8/8/R4K2 w - - 0 1", "a1a8, a1e1"),
    row("structural_capture_squares", "4k3/8/8/3p4/8/8/8/3RK3 w - - 0 1", "d5", "d1"),
    row("structural_protect_squares", "4k3/8/8/3P4/8/8/8/3RK3 w - - 0 1", "d5", "d1"),
    row("structural_control_squares", "4k3/8/8/8/8/8/PP6/RK6 w - - 0 1", "", "a1"),
    row("structural_legal_move_piece", "4k3/8/8/8/8/8/P7/4K3 w - - 0 1", "a2a3, a2a4", "a2"),
    row(
        "structural_piece_arrangement",
        "4k3/8/8/8/8/8/8/R3K3 w - - 0 1",
        "White King: ['e1'], White Rook: ['a1'], Black King: ['e8']",
        kind="single",
    ),
    row(
        "structural_state_tracking_short",
        f"{chess.STARTING_FEN} | e2e4 e7e5",
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
        kind="single",
    ),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=[one["task_type"] for one in QUESTIONS])
def test_what_the_board_tells(question: Row) -> None:
    assert answered(question) == {one for one in wanted(question) if one}


def test_a_comment_is_matched_by_what_it_says() -> None:
    """The same options, in each of four places."""
    board, move = chess.Board(), chess.Move.from_uci("g1f3")
    options = [
        "The knight goes to f3, where it attacks e5.",
        "In this endgame the rook on a7 cuts off the king.",
        "34. Qxf7 Kh8 wins the exchange.",
        "Black castles queenside.",
    ]
    for turn in range(4):
        turned = options[turn:] + options[:turn]
        assert turned[chosen(turned, board, move, lambda _: 0.0)] == options[0]
    values = features(options[0], board, move, lambda _: 0.0)
    assert values.shape == (len(FEATURES),) == (len(WEIGHTS),)
    assert values[FEATURES.index("goes to")] == 1
    assert np.isfinite(values).all()

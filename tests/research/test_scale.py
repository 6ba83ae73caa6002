"""The scale of centipawns: bins by hand-made games, questions by hand-made options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kibitz.core.errors import InputError
from kibitz.engine import Engine
from research.scale import bins_of, judged, nearest, questions_of, questions_of_games

GAME = """[Result "{result}"]

1. e4 {{ {first}/12 1.0s }} 1... e5 {{ {second}/12 1.0s }} 2. Nf3 {{ +M5/12 1.0s }} {result}

"""


def games(folder: Path, *rows: tuple[str, str, str]) -> Path:
    path = folder / "games.pgn"
    texts = (GAME.format(result=result, first=one, second=two) for result, one, two in rows)
    path.write_text("".join(texts))
    return path


def test_bins_count_results_for_the_side_that_is_ahead(tmp_path: Path) -> None:
    # Black's score of -1.10 is White's +1.10.
    path = games(tmp_path, ("1-0", "+1.10", "-1.10"), ("1/2-1/2", "+1.10", "-1.10"))
    only = bins_of([path])
    assert [(one.low, one.positions, one.games) for one in only] == [(100, 4, 2)]
    assert only[0].centipawns == pytest.approx(110)
    assert (only[0].scored, only[0].wins) == (0.5, 0.5)
    assert only[0].wins_expected == pytest.approx(0.55, abs=0.001)


def test_mates_and_games_without_a_result_are_left_out(tmp_path: Path) -> None:
    path = games(tmp_path, ("*", "+1.10", "-1.10"), ("0-1", "-0.20", "+0.20"))
    assert [(one.low, one.positions, one.scored) for one in bins_of([path])] == [(15, 2, 1.0)]


def test_files_without_a_score_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pgn").write_text("1. e4 e5 1-0\n")
    with pytest.raises(InputError, match="no score"):
        bins_of([tmp_path / "a.pgn"])


def test_questions_are_answered_by_the_nearest_option(tmp_path: Path) -> None:
    fen = "4k3/8/8/8/8/8/8/3QK3 b - -"
    row = {
        "input": fen,
        "correct_answer": "400",
        "metadata": {"options": [-400, -200, 0, 200, 400]},
    }
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with Engine("material", hash=16) as engine:
        answer = judged(engine, questions_of(path)[0], 500)
    assert answer.right
    assert answer.centipawns > 400  # White's view, though Black is to move
    assert nearest(99, answer.options) == 0
    path.write_text("{}\n")
    with pytest.raises(InputError, match="Position Judgements"):
        questions_of(path)


def test_questions_of_games_are_near_an_option_and_few_of_a_game(tmp_path: Path) -> None:
    scores = [0.1] * 8 + [0.2, 0.3, 1.0, 2.4, 2.6, -3.6, 0.1, 4.0]
    pawns = [f"{file}{rank}" for file in "abcdefgh" for rank in "36"]
    moves = [f"{move} {{ [%eval {score}] }}" for move, score in zip(pawns, scores, strict=True)]
    path = tmp_path / "games.pgn"
    path.write_text("\n\n".join(f'[Result "*"]\n\n{" ".join(moves)} *' for _ in range(3)))
    answers = [one["answer"] for one in questions_of_games(path, 2)]
    assert answers == [-400, -400, 0, 0, 200, 200, 400, 400]
    first = questions_of_games(path, 1)[1]["fen"]  # the first of +0.10 after eight plies
    assert first.startswith("rnbqkbnr/4pppp/pppp4/8/8/PPPP4/4PPPP/RNBQKBNR w")
    path.write_text("1. e4 e5 1-0\n")
    with pytest.raises(InputError, match="no evaluation"):
        questions_of_games(path, 2)

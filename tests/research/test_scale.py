"""The scale of centipawns: bins by hand-made games, questions by hand-made options."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from kibitz.comment.judge import Label, labels_of
from kibitz.comment.words.story import Figures, figures_in
from kibitz.core.errors import InputError
from kibitz.engine import Engine
from research.command import carry_out
from research.scale import (
    app,
    bins_of,
    compared,
    evaluated_games,
    judged,
    nearest,
    precision_and_recall,
    questions_of,
    questions_of_games,
)

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


LICHESS = """[Result "1-0"]

1. e4 { [%eval 0.2] } 1... f6 { [%eval 1.4] }
2. d4 { [%eval 1.3] } 2... g5 { [%eval #1] } 3. Qh5# 1-0

[Result "*"]

1. e4 { [%eval 0.2] } 1... e5 *

"""


def test_marks_by_lichess_are_compared_with_ours(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(LICHESS)
    (tree,) = evaluated_games(path, 5)
    theirs = figures_in(tree)
    assert theirs is not None
    assert theirs.labels == (Label.NONE, Label.MISTAKE, Label.NONE, Label.BLUNDER, Label.NONE)
    # As near to a mistake as the tolerance has it, a mark too many, and the mate in one missed.
    values = (0.0, 0.03, 0.21, 0.1, 1.0, 0.0)
    ours = Figures(values, labels_of(values, True), None)
    pairs = list(compared(ours, theirs, True))
    assert [each[:3] for each in pairs[1:]] == [
        (Label.INACCURACY, Label.MISTAKE, Label.MISTAKE),
        (Label.INACCURACY, Label.NONE, Label.INACCURACY),
        (Label.BLUNDER, Label.BLUNDER, Label.BLUNDER),
        (Label.BLUNDER, Label.NONE, Label.BLUNDER),
    ]
    counted = precision_and_recall(Counter(pairs), Label.MISTAKE)
    assert [counted[name] for name in ("ours", "theirs", "both")] == [2, 2, 1]
    assert (counted["recall"], counted["recall_near"]) == (0.5, 1.0)
    counted = precision_and_recall(Counter(pairs), Label.INACCURACY)
    assert (counted["precision"], counted["recall"]) == (0.5, 1.0)


def test_marks_are_printed_and_analyses_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "games.pgn"
    path.write_text(LICHESS)
    words = ["marks", str(path), "--nodes", "100", "--network", "material"]
    assert carry_out(app, [*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["games"], facts["moves"], facts["accuracy"]["sides"]) == (1, 5, 2)
    monkeypatch.setattr("research.scale.analyse", None)  # nothing is searched again
    assert carry_out(app, words) == 0
    assert "mistakes" in capsys.readouterr().out
    path.write_text("1. e4 e5 1-0\n")
    assert carry_out(app, words) == 2


def test_another_program_marks_in_our_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(LICHESS)
    program = f"{sys.executable} -m kibitz --config= uci"
    words = ["marks", str(path), "--nodes", "2000", "--json", "--engine"]
    assert carry_out(app, [*words, program]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["program"], facts["games"], facts["moves"]) == (program, 1, 5)
    assert "network" not in facts
    assert facts["marks"]["mistakes"]["theirs"] == 2
    assert facts["marks"]["mistakes"]["both"] >= 1  # the mate in one that is allowed
    assert carry_out(app, [*words, program, "--network", "material"]) == 2
    assert "--network has no effect with --engine: 'material'" in capsys.readouterr().err
    assert carry_out(app, [*words, "no-such-program"]) == 2
    assert "no-such-program" in capsys.readouterr().err

"""Estimated ratings against given ones, where both are known."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import research.puzzles
from kibitz.coach.human import RATING, Terms, weighed
from kibitz.coach.puzzles.formats import Puzzle
from kibitz.engine.levels import People
from research.command import carry_out
from research.puzzles import app, put_aside

ROW = "{name},6Qk/p1p3pp/4N3/1p6/2q1r1n1/2B5/PP4PP/3R1R1K b - - 0 28,h8g8 f1f8,{rating},mate"


def _terms(puzzle: Puzzle, _: People) -> Terms:
    chance = random.Random(puzzle.name)
    return Terms(1.0, chance.randint(1, 3), chance.uniform(-3, 3), chance.random() < 0.5, 0.5)


def test_ratings_made_by_the_weights_are_fitted_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(research.puzzles, "terms_of", _terms)
    puzzles = [Puzzle(fen="", moves=(), name=str(number)) for number in range(60)]
    lines = [ROW.format(name=p.name, rating=weighed(_terms(p, People()))) for p in puzzles]
    lines.append(ROW.format(name="none", rating=""))
    file = tmp_path / "puzzles.csv"
    file.write_text("\n".join(["PuzzleId,FEN,Moves,Rating,Themes", *lines, lines[0]]))
    assert carry_out(app, [str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["puzzles"] == sum(map(put_aside, puzzles))
    assert said["puzzles"] + said["fitted"] == 60
    assert (said["spearman"], said["mean_error"]) == (pytest.approx(1.0), 0.0)
    assert said["spearman_of_length"] < 1
    assert [said[name] for name in ("moves", "odds", "mate")] == [
        pytest.approx(getattr(RATING, name), abs=1) for name in ("moves", "odds", "mate")
    ]


def test_puzzles_without_ratings_say_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "puzzles.csv"
    file.write_text(f"PuzzleId,FEN,Moves,Rating,Themes\n{ROW.format(name='a', rating='')}\n")
    assert carry_out(app, [str(file)]) == 2
    assert "too few puzzles with a rating" in capsys.readouterr().err

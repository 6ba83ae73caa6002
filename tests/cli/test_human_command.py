"""`kibitz human` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kibitz.cli import main
from kibitz.position.board import Board

SCHOLAR = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
GAME = '[Event "one"]\n[Result "*"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 *\n'


def test_likely_moves_mistakes_and_how_many_find_the_best(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["human", SCHOLAR, "--rating", "1300", "--nodes", "5000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["networks"] == {"1100": 0.5, "1500": 0.5}
    assert {row["move"] for row in told["moves"]} == {str(m) for m in Board(SCHOLAR).legal_moves}
    assert sum(row["share"] for row in told["moves"]) == pytest.approx(1.0)
    first = told["moves"][0]
    assert (first["san"], first["score"], first["mark"]) == ("Qxf7#", "#1", "")
    assert told["best"]["san"] == "Qxf7#"
    assert set(told["best"]["by_rating"]) == {"1100", "1300", "1500", "1900"}
    assert told["best"]["by_rating"]["1300"] == told["best"]["share"] == first["share"]
    marks = {row["san"]: row.get("mark") for row in told["moves"]}
    assert marks["Qf3"] in ("?", "??")


def test_history_comes_from_moves_or_from_a_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.pgn"
    file.write_text(GAME)
    said = []
    for words in (
        [str(file), "--ply", "4"],
        ["--moves", "e4", "e5", "Nf3", "Nc6"],
        ["--moves", "e4", "e7e5", "--moves", "Nf3", "--moves", "b8c6"],
        ["r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"],
    ):
        assert main(["human", *words, "--nodes", "0", "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out)["moves"])
    assert said[0] == said[1] == said[2] != said[3]
    assert "score" not in said[0][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rating", "100"], "--rating: 100"),
        (["--moves", "e5"], "--moves"),
        (["--ply", "3"], "it is for PGN files"),
        (["nonsense"], "FEN"),
        (["--nodes", "-1"], "--nodes: -1"),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["human", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_game_that_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["human", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]) == 0
    assert "the game is over" in capsys.readouterr().err

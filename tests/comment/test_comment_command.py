"""`kibitz comment`: one move, the suite, a corpus; what is wrong takes one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kibitz.cli import main
from kibitz.comment.annotate import scene_on
from kibitz.comment.decoder.comments import SUITE, each_alone
from kibitz.comment.decoder.corpus import TABLE, read_examples
from kibitz.comment.words.speaker import Speaker
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.search.limits import Limits

GAME = """[Event "?"]

1. e4 { A very good move for White here. } e5 2. Qh5 $2 { Too early: Black can attack the queen. }
Nc6 3. Bc4 Nf6 { Oh } 4. Qxf7# *
"""


def run(words: list[object], capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert main([*map(str, words), "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_suite_comments_on_eleven_moves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = run(["comment", "--suite", "--nodes", 200], capsys)["suite"]
    assert len(found) == len(SUITE) == 11
    for one in found:
        texts = [text for text, _ in one["comments"]]
        assert len({*texts}) == len(texts) == 5
        assert {whose for _, whose in one["comments"]} == {"table"}


def test_the_suite_says_four_things_of_a_position_at_least() -> None:
    """Five comments are not one in five forms."""
    with Engine(search="alphabeta", multipv=2, hash=16) as engine:
        for case in SUITE:
            scene = scene_on(engine, Board(case.fen), case.move, Limits(nodes=2000))
            claims = each_alone(scene, Speaker().comment(scene), "club")
            assert len({*claims}) >= 4, case.name


def test_the_settings_choose_the_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kibitz.toml").write_text('[comment]\nlanguage = "de"\n')
    fen = "q3k3/p4ppp/8/3N4/8/8/P4PPP/4K3 w - - 0 1"
    asked = ["comment", "--fen", fen, "--move", "Nc7+", "--nodes", 0]
    german = ["--config", tmp_path / "kibitz.toml"]
    assert "Dame auf a8" in run([*asked, *german], capsys)["comment"]
    assert "queen on a8" in run([*asked, *german, "--language", "en"], capsys)["comment"]
    assert "queen on a8" in run(asked, capsys)["comment"]
    assert "Dame auf a8" in run([*asked, "--language", "de"], capsys)["comment"]


def test_a_corpus_of_comments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "game.pgn").write_text(GAME)
    path = tmp_path / "corpus.jsonl"
    words = ["comment", "corpus", tmp_path / "game.pgn", "-o", path, "--licence", "CC0"]
    found = run(words, capsys)
    assert found["examples"] == 2
    assert found["rules"] == {"kept": 2, "too few English words": 1}
    examples = list(read_examples(path))
    assert [one.move for one in examples] == ["e2e4", "d1h5"]
    assert examples[0].claims.startswith("White 1.e4: ")
    assert {(one.source, one.licence) for one in examples} == {("game.pgn", "CC0")}


def test_a_corpus_of_own_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "game.pgn").write_text(GAME)
    path = tmp_path / "own.jsonl"
    words = ["comment", "corpus", tmp_path / "game.pgn", "-o", path, "--own", "--nodes", 200]
    count = run(words, capsys)["examples"]
    examples = list(read_examples(path))
    assert len(examples) == count >= 1
    assert {one.author for one in examples} == {TABLE}
    assert all(one.claims and one.text.endswith(".") for one in examples)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["comment"], "one of --move and --suite"),
        (["comment", "--move", "e4", "--suite"], "one of --move and --suite"),
        (["comment", "--move", "e4", "--words", "decoder"], "a decoder needs a model"),
        (["comment", "--move", "e4", "--p", "2"], "only a decoder has that flag: '--p'"),
        (["comment", "--move", "e4", "--words", "decoder", "--model", "no.words"], "no such file"),
        (["comment", "--move", "e4", "--nodes", "0", "--time", "1"], "leave out --time"),
        (["comment", "--move", "e4", "--words", "decoder", "--language", "de"], "English only"),
        (["annotate", "-x"], "no such option: '-x'"),
        (["comment", "corpus", "nothing.pgn", "-o", "x"], "nothing.pgn"),
        (["comment", "fetch", "-o", "x"], "start pages"),
        (["comment", "fetch", "ftp://here", "-o", "x"], "no address of a page"),
        (["comment", "train", "nothing.jsonl", "-o", "x"], "no such file"),
        (["comment", "train", "-o", "x"], "no examples"),
    ],
)
def test_what_is_wrong_takes_one_line(
    words: list[str],
    why: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert why in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("fen", "move", "said"),
    [
        ("5Q2/8/8/8/5r2/8/5K2/7k w - - 0 1", "Qxf4", "Stalemate: Black to move"),
        ("8/8/8/8/8/7k/7p/4b2K b - - 0 1", "Bf2", "Stalemate: White to move"),
        ("7k/8/6K1/8/8/8/8/1Q6 w - - 0 1", "Qf5", "1.Qb8#"),
        ("6k1/5ppp/8/8/8/8/r4PPP/1R4K1 w - - 0 1", "Rb5", "1...Ra1+ begins a mate in 2"),
    ],
)
def test_the_end_by_the_rules_and_mates_are_told(
    fen: str, move: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["comment", "--fen", fen, "--move", move, "--nodes", "2000"]) == 0
    told = capsys.readouterr().out
    assert said in told
    assert "threatens" not in told
    assert "it is mate in" not in told


def test_a_mate_is_called_one(capsys: pytest.CaptureFixture[str]) -> None:
    fen = "4rkr1/4p1p1/8/8/8/8/8/4K2R w K - 0 1"
    assert main(["comment", "--fen", fen, "--move", "O-O", "--nodes", "0"]) == 0
    assert capsys.readouterr().out == "1.O-O# is checkmate.\n"


def test_a_game_with_a_null_move_is_named_and_gets_no_comments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "null.pgn", tmp_path / "out.pgn"
    source.write_text("1. e4 { mine } e5 2. -- *\n\n1. f3 e5 2. g4 Qh4# 0-1\n")
    words = ["annotate", str(source), "-o", str(output), "--nodes", "50", "--network", "material"]
    assert main(words) == 0
    assert "a null move; the game is left without comments" in capsys.readouterr().err
    first, second = output.read_text().split(" -- ")
    assert "{ mine }" in first
    assert "%eval" not in first
    assert "%eval" in second


def test_games_that_cannot_be_read_cost_no_other_and_are_told_in_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "games.pgn", tmp_path / "out.pgn"
    whole = '[Event "whole"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
    source.write_text(f'{whole}\n[Event "torn"]\n\n1. e4 e5 2. Bb9 *\n\n{whole}')
    words = ["annotate", str(source), "-o", str(output), "--nodes", "50", "--network", "material"]
    for _ in range(2):  # and so it is when everything has been done before
        assert main(words) == 1
        assert "game 2 (line 5) skipped" in capsys.readouterr().err
        assert output.read_text().count('[Event "whole"]') == 2
    assert main(["check", str(source), "--nodes", "0"]) == 1
    assert "game 2 (line 5) skipped" in capsys.readouterr().err
    source.write_text(whole)
    assert main([*words[:3], str(tmp_path / "other.pgn"), *words[4:]]) == 0
    assert main(["check", str(source), "--nodes", "0"]) == 0

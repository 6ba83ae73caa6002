"""`python -m research.commentary`: verdicts against labels that were given by hand."""

from __future__ import annotations

import json
from pathlib import Path

import chess
import pytest

from kibitz.comment.claims.claim import Step
from kibitz.comment.claims.faults import Allows, Better
from kibitz.comment.claims.merits import MateIn
from kibitz.comment.claims.tactical import Fork, Mates
from kibitz.comment.facts import Unit
from kibitz.comment.words.speaker import Comment
from research.command import carry_out
from research.commentary import app, compared, labelled_of, rows_of
from research.tags import TAGS, tagged_in, tags_said

LABELS = Path(__file__).parents[1] / "comment" / "labelled.tsv"
POSITIONS = LABELS.parent / "data" / "positions.tsv"
TABLE = Path(__file__).parents[3] / "shared" / "data" / "annotated" / "commentary_clear.tsv"
HEAD = "game\tply\tfen_before\tuci\tfen_after\tcomment\n"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
AFTER = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


def test_the_labels_are_whole() -> None:
    labels = labelled_of(LABELS)
    assert len(labels) == 400
    assert sum(bool(one.replaced) for one in labels) == 100
    assert {one.label for one in labels} == {"true", "false", "not checkable"}


@pytest.mark.skipif(not TABLE.exists(), reason="the annotated games are not here")
def test_what_is_called_false_is_false() -> None:
    """Without a search; with one it takes a minute: `labelled` prints it."""
    counts = compared(rows_of(TABLE), labelled_of(LABELS), None)
    called = {label: count for (_, label, verdict), count in counts.items() if verdict == "false"}
    assert called.get("false", 0) >= 12
    assert {*called} == {"false"}


def test_texts_on_positions_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert carry_out(app, ["positions", str(POSITIONS), "--nodes", "1", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["checkable"]["of"] == 150
    assert facts["precision_of_false"]["share"] == 1.0
    assert facts["recall_of_true"]["share"] > 0.7


def test_rates_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comment = "The pawn on e4 attacks d5. The queen on h5 attacks f7. Who knows?"
    table = tmp_path / "table.tsv"
    table.write_text(f"{HEAD}a\t1\t{START}\te2e4\t{AFTER}\t{comment}\nb\t2\t\t\t\tNothing.\n")
    assert carry_out(app, ["human", str(table), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["true"], facts["false"], facts["not checkable"]) == (1, 1, 1)
    assert facts["false_claims"]["share"] == 0.5
    assert facts["findings"] == [{"game": "a", "reason": "no queen on h5: h5 is empty"}]
    labels = tmp_path / "labels.tsv"
    head = "row\tgame\tply\tstart\tend\treplaced\tby\tlabel\n"
    labels.write_text(f"{head}0\ta\t1\t0\t26\te4\ta4\tfalse\n0\ta\t1\t0\t26\t\t\ttrue\n")
    assert carry_out(app, ["labelled", str(table), str(labels), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["precision_of_false"]["count"] == 1 == facts["recall_of_true"]["count"]
    table.write_text("game\tply\nx\t1\n")
    assert carry_out(app, ["human", str(table)]) == 2


# A fork of king and rook after the other side's blunder, and a mate.
PUZZLES = """PuzzleId,FEN,Moves,Themes
a,4k3/8/8/8/8/2n5/8/R5K1 w - - 0 1,g1h2 c3b1,fork short
b,6k1/p4ppp/8/8/8/8/5PPP/4R1K1 b - - 0 1,a7a6 e1e8,backRankMate mateIn1 oneMove
c,6k1/p4ppp/8/8/8/8/5PPP/4R1K1 b - - 0 1,a7a6 e1e8,endgame
"""


def test_tags_are_in_the_words_of_what_is_said() -> None:
    reply = Step(chess.Move.from_uci("a1a8"), "2.Ra8#")
    knight, rook = Unit(chess.KNIGHT, chess.C7, True), Unit(chess.ROOK, chess.A8, False)
    fork = Fork(knight, (rook,))
    said = [Comment("", (Allows(reply, (fork,)),)), Comment("", (MateIn(2),))]
    assert tags_said(said) == {"fork", "mateIn3"}
    assert tags_said([Comment("", (Better(reply, (fork,)),)), Comment()]) == set()
    assert tags_said([Comment("", (fork,)), Comment("", (Mates("back rank"),))]) == {
        "backRankMate",
        "mateIn1",
    }
    assert all(TAGS.values())


def test_a_table_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "games.csv"
    table.write_text("PuzzleId,FEN,Moves\n")
    assert carry_out(app, ["puzzles", str(table)]) == 2
    assert f"{table}: no column Themes" in " ".join(capsys.readouterr().err.split())
    table.write_text(PUZZLES)
    for tables in ([str(table)], []):
        assert carry_out(app, ["puzzles", *tables, "--half", "held"]) == 2
        error = " ".join(capsys.readouterr().err.split())
        assert (
            f"no puzzle of this half has a tag with an idea: '{''.join(tables) or 'no table'}'"
            in error
        )


def test_tags_of_puzzles_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "puzzles.csv"
    table.write_text(PUZZLES)
    assert len(tagged_in([table], "build", 1, 9)) == 2  # by their names; the third has no idea
    words = ["puzzles", str(table), "--half", "build", "--nodes", "100", "--network", "material"]
    assert carry_out(app, [*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    rows = {row["tag"]: row for row in facts["tags"]}
    assert (rows["backRankMate"]["said"], rows["mateIn1"]["said"]) == (1, 1)
    assert facts["wrong"]["count"] == 0

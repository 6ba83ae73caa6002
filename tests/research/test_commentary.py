"""`python -m research.commentary`: verdicts against labels that were given by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research.command import carry_out
from research.commentary import app, compared, labelled_of, rows_of

LABELS = Path(__file__).parents[1] / "comment" / "labelled.tsv"
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

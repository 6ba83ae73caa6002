"""Which filed test stands behind each number of alpha-beta."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kibitz.cli import main
from kibitz.search.alphabeta.constants import NAMES
from research.command import carry_out
from research.report.constants import TESTS, app


def test_each_number_has_its_test_or_none_yet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "match material,Search=alphabeta,LateMoveDepth=0 material,Search=alphabeta --nodes 200"
    file = tmp_path / "late.json"
    assert main([*words.split(), "--games", "4", "--sprt", "0", "5", "--file", str(file)]) == 0
    capsys.readouterr()
    assert carry_out(app, ["--folder", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["constants"]
    (test,) = found["LateMoveDepth"]["tests"]
    filed = json.loads(file.read_text())
    assert (test["patch"], test["base"], test["against"], test["games"]) == (0, 6, 0, 4)
    assert (test["llr"], test["accepted"], test["file"]) == (filed["sprt"]["llr"], None, "late")
    assert [one["tests"] for name, one in found.items() if name != "LateMoveDepth"] == [[]] * (
        len(NAMES) - 1
    )
    assert carry_out(app, ["--folder", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("none yet" in line for line in lines) == len(NAMES) - 1
    assert any("LateMoveDepth" in line and "undecided" in line for line in lines)


def test_all_tests_on_file_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert carry_out(app, ["--json"]) == 0
    found = json.loads(capsys.readouterr().out)["constants"]
    read = {one["file"] for row in found.values() for one in row["tests"]}
    for file in TESTS.glob("*.json"):  # a patch of code changes no number
        code = any("checkout" in player for player in json.loads(file.read_text())["players"])
        assert (file.stem in read) == (not code)


def test_the_elo_is_that_of_the_default_whichever_side_had_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the patch has become the default or not; much that was changed with it is counted."""
    filed = json.loads((TESTS / "nineteen.json").read_text())
    elo = filed["pairs"][0]["by_pairs"]["elo"]
    for name, players in (("now", filed["players"]), ("before", filed["players"][::-1])):
        (tmp_path / f"{name}.json").write_text(json.dumps(filed | {"players": players}))
    assert carry_out(app, ["--folder", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    before, now = (row.split() for row in lines if "SeeQuietMargin" in row)
    assert before[:6] == ["SeeQuietMargin", "19", "25", "with", "18", "others"]
    assert now[:6] == before[:6]
    assert (now[6][0], before[6][0]) == ("+", "-")
    assert float(now[6]) == pytest.approx(elo, abs=0.06)
    # Of a number that has become a third one since, it is the patch's.
    before, now = (row.split()[2:9] for row in lines if "FutilityBase" in row)
    assert before[:3] == ["65", "by", "90"]
    assert now[:3] == ["90", "by", "65"]
    assert (now[6][0], before[6][0]) == ("+", "+")


def test_a_file_that_is_no_test_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.json").write_text("{}")
    assert carry_out(app, ["--folder", str(tmp_path)]) == 2
    assert "notes.json" in capsys.readouterr().err


def test_a_default_of_then_is_no_value_of_today(capsys: pytest.CaptureFixture[str]) -> None:
    """The other side of this test had no such number; what was usual for it is not 190."""
    assert carry_out(app, ["--json"]) == 0
    (test,) = json.loads(capsys.readouterr().out)["constants"]["DoubtTime"]["tests"]
    assert (test["patch"], test["base"], test["against"]) == (190, None, None)
    assert test["elo"].startswith("+")

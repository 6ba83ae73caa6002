"""Two ways to learn from nothing: equal evaluations, one scale, going on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from research.ablations.__main__ import app
from research.command import carry_out
from tests.zero.test_learn import TINY, flags


@pytest.mark.slow
def test_two_arms_learn_at_equal_evaluations_and_meet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["from-zero", str(tmp_path), "--generations", "1", "--json"]
    arms = ["--arms", "gumbel", str(tmp_path / "more.toml")]
    (tmp_path / "more.toml").write_text("[selfplay]\nplayouts = 4\n")
    settings = [one for one in TINY if not one.startswith("selfplay.playouts")]
    given = [*words, *arms, "--evaluations", "400", *flags(*settings)]
    assert carry_out(app, given) == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    assert point["arms"] == ["gumbel", "more"]
    group = 3 * 24 * 33  # at most: games, plies, and playouts with the root's
    assert all(400 <= spent < 400 + group for spent in point["evaluations"])
    assert point["games"][0] != point["games"][1]
    assert sum(point["between"]) == 4
    assert all(error > 0 for error in point["error"])
    assert "gumbel" in (tmp_path / "curve.svg").read_text()
    assert carry_out(app, given) == 0  # all is there
    assert json.loads(capsys.readouterr().out)["points"] == [point]
    assert carry_out(app, [*given, "--set", "learn.seed=5"]) == 2
    assert "this arm began with other settings" in capsys.readouterr().err

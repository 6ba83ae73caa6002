"""Games by the networks of people: legal moves, and the policies of each rating beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import research.distil
from kibitz.data.batches.sample import check_rules
from kibitz.data.shard import games_of, read
from kibitz.data.store import shards_in
from kibitz.engine.levels import People
from kibitz.position.board import Board
from kibitz.position.notation import absolute
from research.command import carry_out
from research.distil import COUNTS, LEAST, app


def test_each_rating_has_its_policy_of_the_same_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(research.distil, "SEATS", 2)
    monkeypatch.setattr(research.distil, "SHORTEST", 4)
    monkeypatch.setattr(research.distil, "ABANDONED", 0.5)
    words = ["games", "-o", str(tmp_path), "--count", "3", "--piece", "2", "--seed", "5"]
    assert carry_out(app, [*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    people = People()
    assert said["ratings"] == people.ratings
    lines = []
    for rating in people.ratings:
        files = shards_in(tmp_path / str(rating))
        assert len(files) == 2
        games = [game for file in files for game in games_of(read(file))]
        for file in files:
            check_rules(read(file), file)
        assert (len(games), sum(len(game.plies) for game in games)) == (3, said["positions"])
        lines.append(sorted(tuple(ply.move for ply in game.plies) for game in games))
        board = Board()
        for ply in games[0].plies:
            shares = people.shares(board, rating)
            counts = {absolute(board.position, move): count for move, count in ply.visits}
            expected = {m: s for m, s in shares.items() if np.rint(COUNTS * s) >= LEAST}
            assert counts.keys() == expected.keys()
            # rounded, and by a batch of another size
            assert counts == pytest.approx({m: COUNTS * s for m, s in expected.items()}, abs=2)
            board.push(absolute(board.position, ply.move))
    assert lines[0] == lines[1] == lines[2]

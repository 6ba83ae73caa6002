"""Games against itself: reproducible to the byte, resumed, and the same as by the searcher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kibitz.files import read_bytes
from kibitz.games.record import games_of
from kibitz.games.shard import read
from kibitz.games.store import shards_in
from kibitz.kernel.compile import COMPILED
from kibitz.log import Stop
from kibitz.position.board import Board
from kibitz.position.notation import absolute
from kibitz.selfplay.config import SelfPlay, preset
from kibitz.selfplay.play import GameSummary, play

pytestmark = pytest.mark.skipif(not COMPILED, reason="plays thousands of moves")

SHORT = replace(SelfPlay(), most_plies=40, group=4, random_plies=(0, 3), workers=1)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: read_bytes(path) for path in shards_in(folder)}


def test_the_same_seed_gives_the_same_bytes_however_often_it_was_stopped(tmp_path: Path) -> None:
    whole = play("material", SHORT, tmp_path / "whole", games=10, seed=3)
    assert (whole.games, whole.shards, whole.there) == (10, 3, 0)
    stop, seen = Stop(), []

    def on_game(game: GameSummary) -> None:
        seen.append(game.number)
        if len(seen) == 6:
            stop.request()

    folder = tmp_path / "stopped"
    first = play("material", SHORT, folder, games=10, seed=3, stop=stop, on_game=on_game)
    assert first.stopped
    assert first.shards == 1
    again = play("material", replace(SHORT, workers=2), folder, games=10, seed=3)
    assert (again.games, again.there, again.stopped) == (6, 4, False)
    assert contents(folder) == contents(tmp_path / "whole")
    other = play("material", SHORT, tmp_path / "other", games=10, seed=4)
    assert other.games == 10
    assert not contents(tmp_path / "other").keys() & contents(folder).keys()


def test_games_are_legal_and_their_policies_are_whole(tmp_path: Path) -> None:
    play("material", SHORT, tmp_path / "games", games=4, seed=1)
    (path,) = shards_in(tmp_path / "games")
    for game in games_of(read(path)):
        board = Board(game.start)
        for ply in game.plies:
            assert ply.visits
            legal = {absolute(board.position, move) for move, _ in ply.visits}
            assert legal <= set(board.legal_moves)
            board.push(absolute(board.position, ply.move))


@pytest.mark.parametrize("name", ["kibitz", "azero", "chesscoach", "dlchess", "lc0"])
def test_presets_work(name: str) -> None:
    assert preset(name).validated().idle() == []

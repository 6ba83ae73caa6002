"""Agreement with people: moves counted by hand, bands, and errors by games."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kibitz import Board
from kibitz.engine.levels import People, people_networks, policy_of
from kibitz.nets.discover import resolve
from kibitz.nets.encodings.leaves import leaves_of
from kibitz.nets.load import load_batched
from kibitz.position.notation import absolute
from research.command import carry_out
from research.people import BLEND, Agreement, Move, _band, agreements, app

GAME = """[Event "one"]
[WhiteElo "{white}"]
[BlackElo "{black}"]
[TimeControl "{control}"]
[Result "*"]

{moves} *
"""
MOVES = (
    "1. e4 {[%clk 0:05:00]} e5 {[%clk 0:05:00]} 2. Qh5 {[%clk 0:04:00]} Nc6 {[%clk 0:00:20]} "
    "3. Bc4 {[%clk 0:04:00]} Nf6 {[%clk 0:00:10]} 4. Qxf7# {[%clk 0:03:00]}"
)
LONG = "1. a3 a6 2. b3 b6 3. c3 c6 4. d3 d6 5. e3 e6 6. f3 {[%clk 0:01:00]} f6 7. g3 g6"


def _said(file: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[Agreement]:
    assert carry_out(app, [str(file), "--json", *more]) == 0
    return [Agreement(**row) for row in json.loads(capsys.readouterr().out)["bands"]]


def test_every_move_counts_for_the_player_s_rating(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(GAME.format(white=1500, black=1120, control="300+3", moves=MOVES))
    rows = {row.band: row for row in _said(file, capsys)}
    assert {band: row.moves for band, row in rows.items()} == {1500: 4, 1100: 3}
    people, board, hits = People(), Board(), 0
    for ply, move in enumerate(("e4", "e5", "Qh5", "Nc6", "Bc4", "Nf6", "Qxf7#")):
        first = next(iter(people.shares(board, 1500)))
        hits += ply % 2 == 0 and board.san(first) == move
        board.push(move)
    assert rows[1500].agreement["1500"] == pytest.approx(25.0 * hits)
    assert rows[1500].agreement["1500"] == rows[1500].agreement[BLEND]


def test_other_networks_stand_beside_those_of_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(GAME.format(white=1500, black=1500, control="300+3", moves=MOVES))
    copy = tmp_path / "again.pb.gz"
    copy.write_bytes(people_networks()[1500].read_bytes())
    row = _said(file, capsys, "--network", str(copy), "--network", "kibitz-64x256")[0]
    assert row.agreement["again"] == row.agreement["1500"]
    board, hits = Board(), 0
    network = load_batched(resolve("kibitz-64x256"))
    for text in ("e4", "e5", "Qh5", "Nc6", "Bc4", "Nf6", "Qxf7#"):
        leaves = leaves_of([board.positions()])
        move = absolute(board.position, leaves.moves[policy_of(network, leaves).argmax()])
        hits += board.san(move) == text
        board.push(text)
    assert row.agreement["kibitz-64x256"] == pytest.approx(100 * hits / 7)


@pytest.mark.parametrize(("control", "moves"), [("300+3", 4), ("60+0", 0), ("-", 4)])
def test_careful_moves_are_no_openings_and_no_bullet(
    control: str, moves: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(GAME.format(white=1500, black=1500, control=control, moves=LONG))
    counted = {row.careful: row.moves for row in _said(file, capsys)}
    assert counted == {False: 14} | ({True: moves} if moves else {})


def test_unrated_games_are_left_out_and_none_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    file.write_text(GAME.format(white="?", black=1500, control="-", moves=MOVES))
    assert carry_out(app, [str(file)]) == 2
    assert "no move of a rated player" in capsys.readouterr().err


def test_levels_are_asked_about_moves_of_their_band(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.pgn"
    rated = (
        GAME.format(white=r, black=3000, control="-", moves=LONG) for r in range(1100, 1901, 200)
    )
    file.write_text("\n".join(rated))
    assert carry_out(app, ["levels", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["levels"]
    assert [row["positions"] for row in rows] == [2] * 5
    assert all(0 <= row["share_of_level"] <= 100 for row in rows)


def test_errors_are_by_games() -> None:
    """Two games of four moves, all right in one and none in the other: as two coins."""
    moves = [
        Move(game, 1510, True, {BLEND: game == 0}, {BLEND: 0.5}) for game in (0, 1) for _ in "1234"
    ]
    row = next(agreements(moves))
    assert (row.games, row.moves, row.agreement[BLEND], row.share) == (2, 8, 50.0, 50.0)
    assert row.error == pytest.approx(196 * (2 * 2.0**2) ** 0.5 / 8)


def test_bands_have_their_ratings_in_the_middle() -> None:
    assert [_band(rating) for rating in (1399, 1400, 1500, 1599, 1600)] == [
        *(1300, 1500, 1500, 1500, 1700)
    ]

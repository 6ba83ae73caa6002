"""Labelled positions become games again, against python-chess; the label model against scipy."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import chess
import numpy as np
import pytest
import scipy.optimize  # type: ignore[import-untyped]
import zstandard

from kibitz.cli import main
from kibitz.core.errors import InputError
from kibitz.data.importing import import_labelled
from kibitz.data.labels.labels import LabelModel, fit, parse, score_of, shard_of_lines, wdl
from kibitz.data.shard import Shard, games_of, read
from kibitz.data.store import shards_in

MODEL = LabelModel(150.0, 120.0)


class Played(NamedTuple):
    """A game of python-chess and its lines."""

    moves: list[chess.Move]
    lines: list[str]


def play(seed: int, plies: int, game: int) -> Played:
    generator = random.Random(seed)
    board = chess.Board.from_chess960_pos(generator.randrange(960))
    moves: list[chess.Move] = []
    lines: list[str] = []
    result = generator.choice((1, 0, -1))
    for _ in range(plies):
        legal = list(board.legal_moves)
        if not legal:
            break
        score = generator.choice(
            (f"{generator.randint(-900, 900)},", f",{generator.choice((-7, 3))}")
        )
        fen, best = board.fen(), generator.choice(legal)
        lines.append(f"77,{game},{fen},{score},{best.uci()},{result}\n")
        castling = [move for move in legal if board.is_castling(move)]
        moves.append(castling[0] if castling else generator.choice(legal))
        board.push(moves[-1])
    return Played(moves, lines)


def uci(code: int, black: bool) -> str:
    """A kernel's move in UCI, by hand."""
    view = 56 if black else 0
    squares = chess.square_name((code & 63) ^ view) + chess.square_name((code >> 6 & 63) ^ view)
    return squares + ("" if code >> 12 < 4 else "nbrq"[(code >> 12) - 4])


def shard_from(lines: list[str]) -> Shard:
    return shard_of_lines(parse(lines), MODEL, {"kind": "labels"}, {})


def test_moves_are_found_again() -> None:
    games = [play(seed, 120, seed) for seed in range(12)]
    lines = [line for game in games for line in game.lines]
    shard = shard_from(lines)
    assert shard.games == len(games)
    assert shard.seeds.tolist() == [(77 << 24) + number for number in range(12)]
    castled = 0
    for played, game in zip(games, games_of(shard), strict=True):
        assert len(game.plies) == len(played.lines)
        assert game.plies[-1].move == 0
        board = chess.Board(game.start, chess960=True)
        for ply, move, line in zip(game.plies, played.moves, played.lines, strict=True):
            fen, cp, mate, best, result = line.strip().split(",")[2:]
            assert board.fen() == chess.Board(fen, chess960=True).fen()
            assert game.result == int(result)
            assert [uci(code, not board.turn) for code, _ in ply.visits] == [best]
            assert ply.value == (math.copysign(1, int(mate)) if mate else value_by_hand(int(cp)))
            if ply.move:
                assert uci(ply.move, not board.turn) == move.uci()
                castled += board.is_castling(move)
                board.push(move)
    assert castled > 3


def value_by_hand(cp: int) -> float:
    win = 1 / (1 + math.exp((MODEL.a - cp) / MODEL.b))
    loss = 1 / (1 + math.exp((MODEL.a + cp) / MODEL.b))
    return pytest.approx(win - loss, abs=1e-6)  # type: ignore[return-value]


def test_a_gap_begins_a_new_record() -> None:
    game = play(3, 30, 1)
    shard = shard_from(game.lines[:10] + game.lines[12:])
    assert np.diff(shard.offsets).tolist() == [10, 18]
    assert (shard.seeds == shard.seeds[0]).all()  # still one game to whoever splits
    assert shard.moves[[9, 27]].tolist() == [0, 0]


def test_games_with_the_same_positions_stay_apart() -> None:
    lines = play(4, 10, 1).lines
    moved = [line.replace("77,1,", "77,2,", 1) for line in lines]
    assert shard_from(lines[:5] + moved[5:]).games == 2


@pytest.mark.parametrize(
    "line",
    [
        "1,1,rnbqkbnr/8/8/8/8/8/8/RNBQKBNR w - - 0 1,12,,a1a2",  # a column is missing
        "1,1,8/8/8/8/8/8/8/8 w - - 0 1,12,,a1a2,0",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,x,,a1a2,0",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,1,,a1z2,0",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,1,,a1a2,2",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,100001,,a1a2,0",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,,-1001,a1a2,0",
        "1,16777216,k7/8/8/8/8/8/8/K6R w - - 0 1,1,,a1a2,0",
        "-1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,1,,a1a2,0",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,nan,,a1a2,0",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,1e3,,a1a2,0",
        "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,1,,a1a1,0",
        "1,1,caf\xe9,1,,a1a2,0",
    ],
)
def test_a_bad_line_is_named(line: str) -> None:
    good = "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,1,,a1a2,0\n"
    found = parse([good, "\n", line + "\n", good], 7)
    (bad,) = found.bad
    assert bad.startswith("line 9: ")
    assert len(found.scores) == 2


def test_an_illegal_best_move_is_refused() -> None:
    line = "1,{},k7/8/8/8/8/8/8/K6R w - - 0 1,1,,{},0\n"
    moves = ["a1a3", "a1a2", "", "h1a1", "h1h8"]
    found = parse([line.format(game, move) for game, move in enumerate(moves)], 31)
    assert [text.partition(" is ")[0] for text in found.bad] == [
        "line 31: the best move 'a1a3'",
        "line 34: the best move 'h1a1'",
    ]
    assert (found.seeds & 0xFF).tolist() == [1, 2, 4]


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".csv": bytes,
    ".csv.gz": gzip.compress,
    ".csv.bz2": bz2.compress,
    ".csv.xz": lzma.compress,
    ".csv.zst": lambda text: zstandard.compress(text[:999]) + zstandard.compress(text[999:]),
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files(suffix: str, tmp_path: Path) -> None:
    lines = [line for seed in range(6) for line in play(seed, 40, seed).lines]
    packed = PACKERS[suffix]("".join(lines).encode())
    path = tmp_path / f"some{suffix}"
    path.write_bytes(packed)
    done = list(import_labelled(path, tmp_path / "out", MODEL, plies=60))
    assert sum(piece.plies for piece in done) == len(lines)
    found = [read(place) for place in shards_in(tmp_path / "out")]
    assert len(found) == len(done) > 1
    assert all(shard.plies >= 60 for shard in found[:-1])
    together = [game.seed for shard in found for game in games_of(shard)]
    assert together == [(77 << 24) + number for number in range(6)]
    if suffix != ".csv":
        path.write_bytes(packed[: len(packed) - 20])
        refused = [
            text for one in import_labelled(path, tmp_path / "out2", MODEL) for text in one.refused
        ]
        assert len(refused) == 1
        assert "cannot decompress" in refused[0]
        assert path.name in refused[0]


def imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, code: int = 0
) -> tuple[dict[str, Any], str]:
    """Import one CSV and a PGN; the result and what was said."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_bytes(content)
    (tmp_path / "in" / "b.pgn").write_text("1. e4 e5 *\n")
    words = ["data", "import", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--json"]
    assert main(words) == code
    shown = capsys.readouterr()
    return json.loads(shown.out), shown.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a.csv: no position in it"),
        (b"\n \n", "a.csv: no position in it"),
        (b"name;elo\nCarlsen;2830\n", "a.csv: line 1: not a labelled position: 'name;elo'"),
        ("caf\xe9,1,2,3,4,5,6\n".encode("latin-1"), "line 1: not a labelled position: 'caf\xe9"),
        ("seed,game,fen\n".encode("utf-16"), "a.csv: no position in it"),
        (b"fen,cp\n", "a.csv: no position in it"),
    ],
)
def test_a_file_of_another_kind_does_not_stop_the_import(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts, told = imported(tmp_path, capsys, content, 1)
    assert (facts["games"], facts["refused"]) == (1, 1)
    assert said in told
    assert main(["data", "fit-labels", str(tmp_path / "in" / "a.csv")]) == 2
    assert "kibitz: error: " in capsys.readouterr().err


def test_bad_lines_are_named_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = play(1, 20, 1).lines
    fields = lines[7].split(",")
    lines[7] = ",".join([*fields[:5], "a1a8", fields[6]])
    lines[12] = "caf\xe9\n"
    facts, told = imported(tmp_path, capsys, "".join(lines).encode("latin-1"))
    assert (facts["games"], facts["positions"], facts["skipped"]) == (4, 20, 2)
    assert "a.csv, line 8: the best move 'a1a8' is illegal in" in told
    assert "a.csv, line 13: not a labelled position: 'caf\xe9'" in told


def test_a_heading_names_the_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = play(1, 20, 1).lines
    plain = shard_of_lines(parse(lines), LabelModel(), {}, {})
    heading = ["result", "fen", "mate", "cp", "best", "seed", "game"]
    order = [6, 2, 4, 3, 5, 0, 1]
    fields = [line.strip().split(",") for line in lines]
    rows = [heading, *([one[at] for at in order] for one in fields)]
    text = "\ufeff" + "\r\n".join(",".join(f'"{field}"' for field in row) for row in rows)
    facts, _ = imported(tmp_path, capsys, text.encode())
    assert facts["positions"] == 20 + 2
    shard = read(shards_in(tmp_path / "out")[0])
    for name in ("starts", "moves", "values", "seeds", "results", "visit_moves"):
        assert np.array_equal(getattr(shard, name), getattr(plain, name), name == "values"), name


def test_a_mate_counts_where_both_are_given() -> None:
    line = "1,1,k7/8/8/8/8/8/8/K6R w - - 0 1,{},{},a1a2,0\n"
    found = parse([line.format(-500, 4), line.format("", 4), line.format(-500, "")])
    assert found.scores[0] == found.scores[1] == score_of(None, 4)
    assert found.scores[2] == -500


def test_the_command_is_repeatable_with_any_number_of_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for seed in range(6) for line in play(seed, 40, seed).lines]
    (tmp_path / "some.csv").write_text("".join(lines))
    names = []
    for folder, workers in (("one", 1), ("two", 2), ("two", 1)):
        words = ["data", "import", str(tmp_path / "some.csv"), "--plies", "60", "--json"]
        assert main([*words, "-o", str(tmp_path / folder), "--workers", str(workers)]) == 0
        result = json.loads(capsys.readouterr().out)
        assert (result["games"], result["positions"]) == (6, len(lines))
        names.append([path.name for path in shards_in(tmp_path / folder)])
    assert names[0] == names[1] == names[2]


# --- the label model --------------------------------------------------------------------------


def test_scores() -> None:
    values, draws = wdl(np.array([0, 150, -150, score_of(None, 3), score_of(None, -1)]), MODEL)
    assert values[0] == 0
    assert values[1] == -values[2]
    assert (values[1] + 1 - draws[1]) / 2 == pytest.approx(0.5)  # `a` wins half the games
    assert values[3:].tolist() == [1, -1]
    assert draws[3:].tolist() == [0, 0]
    assert math.isnan(score_of(None, None))
    assert score_of(None, 0) < score_of(None, -1) < score_of(-30_000, None) < score_of(30_000, None)
    assert score_of(30_000, None) < score_of(None, 9) < score_of(None, 1)
    unknown, _ = wdl(np.array([math.nan]), MODEL)
    assert math.isnan(unknown[0])


def test_fit_finds_what_scipy_finds() -> None:
    generator = np.random.default_rng(4)
    cp = generator.integers(-800, 800, 5000)
    values, draws = wdl(cp, MODEL)
    chance = generator.random(5000)
    losses = (1 - draws - values) / 2
    results = np.where(chance < losses, -1, np.where(chance < losses + draws, 0, 1))

    def cost(at: np.ndarray) -> float:
        win, loss = (1 / (1 + np.exp((at[0] - side * cp) / at[1])) for side in (1, -1))
        seen = np.where(results == 1, win, np.where(results == -1, loss, 1 - win - loss))
        return -float(np.log(seen).mean())

    best = scipy.optimize.minimize(cost, [100, 100], method="Nelder-Mead")
    found = fit(np.append(cp, score_of(None, 5)), np.append(results, -1))
    assert found.model == pytest.approx(best.x, rel=1e-3)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    assert found.positions == 5000


def test_fit_needs_all_results() -> None:
    with pytest.raises(InputError, match="never occurs"):
        fit(np.array([1, 2, 3]), np.array([1, 1, 0]))

"""What is exported is read back by others: python-chess, pyarrow, a memmap as DLChess opens it."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
import pytest

from kibitz.cli import main
from kibitz.data.labels.labels import LabelModel, score_of_value, wdl
from kibitz.data.pgn import read_pgn
from kibitz.data.shard import Game, Ply, Shard, games_of, read, shard_of, write
from kibitz.position.pgn import BadGame
from tests.data.conftest import random_game

MODEL = LabelModel(180.0, 90.0)
SOURCE = {"kind": "labels", "labels": MODEL._asdict(), "white": "One\nline", "event": "Test"}


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    """Games as a teacher leaves them: a score for every ply, whole centipawns."""
    generator = random.Random(6)
    games = [scored(random_game(generator), generator) for _ in range(20)]
    written = shard_of([game for game in games if game.plies])
    write(tmp_path / "some.shard", written)
    return read(tmp_path / "some.shard")


def scored(game: Game, generator: random.Random) -> Game:
    def value() -> tuple[float, float]:
        values, draws = wdl(np.array([generator.randint(-900, 900)]), MODEL)
        return float(values[0]), float(draws[0])

    plies = tuple(Ply(ply.move, *value(), visits=ply.visits) for ply in game.plies)
    return Game(plies, game.start, game.result, game.end, SOURCE, game.seed)


def export(tmp_path: Path, name: str, *more: str) -> int:
    return main(["data", "export", str(tmp_path / "some.shard"), "-o", str(tmp_path / name), *more])


def test_pgn(shard: Shard, tmp_path: Path) -> None:
    assert export(tmp_path, "some.pgn") == 0
    games = list(games_of(shard))
    with (tmp_path / "some.pgn").open() as file:
        trees = list(iter(lambda: chess.pgn.read_game(file), None))
    assert len(trees) == len(games)
    for game, tree in zip(games, trees, strict=True):
        assert not tree.errors
        assert tree.headers["White"] == "One line"
        assert tree.headers["Result"] == {1: "1-0", 0: "1/2-1/2", -1: "0-1", 2: "*"}[game.result]
        assert ("FEN" in tree.headers) == (chess.Board(game.start) != chess.Board())
        unusual = chess.Board(game.start, chess960=True).has_chess960_castling_rights()
        assert ("Variant" in tree.headers) == unusual
        assert len(list(tree.mainline())) == sum(ply.move != 0 for ply in game.plies)
        first = tree.eval()
        assert first is not None
        assert first.white().score() == round(score_of_value(game.plies[0].value, MODEL))


def test_pgn_comes_back_as_the_same_games(shard: Shard, tmp_path: Path) -> None:
    """All but what PGN cannot hold: visits, flags, and that the game was judged after its end."""
    assert export(tmp_path, "some.pgn") == 0
    bad: list[BadGame] = []
    back = list(read_pgn(tmp_path / "some.pgn", MODEL, "some.pgn", bad.append))
    assert bad == []
    for game, again in zip(games_of(shard), back, strict=True):
        assert (again.result, again.start) == (game.result, game.start)
        assert [ply.move for ply in again.plies] == [ply.move for ply in game.plies]
        assert [ply.value for ply in again.plies] == [ply.value for ply in game.plies]
        assert [ply.draw for ply in again.plies] == [ply.draw for ply in game.plies]


TAGGED = """[Event "The \\"open\\" championship"]
[Site "https://lichess.org/abcd"]
[Date "2024.01.??"]
[Round "3.7"]
[White "A, B."]
[Black "C"]
[Result "1/2-1/2"]
[BlackElo "1888"]
[ECO "B01"]
[Termination "Time forfeit"]
[TimeControl "300+0"]
[WhiteElo "2001"]

1. e4 d5 1/2-1/2

[Event "Freestyle"]
[Site "?"]
[Date "????.??.??"]
[Round "?"]
[White "?"]
[Black "?"]
[Result "*"]
[FEN "rkrbbqnn/pppppppp/8/8/8/8/PPPPPPPP/RKRBBQNN w KQkq - 0 1"]
[Opening "None"]
[SetUp "1"]
[Variant "Chess960"]

1. e4 *
"""


def test_all_tags_survive_import_and_export(tmp_path: Path) -> None:
    (tmp_path / "some.pgn").write_text(TAGGED)
    assert main(["data", "import", str(tmp_path / "some.pgn"), "-o", str(tmp_path / "in")]) == 0
    assert main(["data", "export", str(tmp_path / "in"), "-o", str(tmp_path / "out.pgn")]) == 0
    tags = []
    for name in ("some.pgn", "out.pgn"):
        with (tmp_path / name).open() as file:
            trees = list(iter(lambda: chess.pgn.read_game(file), None))
        tags.append([dict(tree.headers) for tree in trees])
    before, after = tags
    before[1] |= {"Event": "Freestyle", "Round": "2"}  # unknown is the number in the file
    assert after == before


@pytest.mark.parametrize("cp", [-3000, -250, -1, 0, 1, 77, 1500])
def test_values_back_to_scores(cp: int) -> None:
    win, loss = (1 / (1 + math.exp((MODEL.a - side * cp) / MODEL.b)) for side in (1, -1))
    assert score_of_value(win - loss, MODEL) == pytest.approx(cp, rel=1e-4, abs=1e-6)


def test_mates_and_unknown_values_in_pgn(tmp_path: Path) -> None:
    plies = (Ply(12 | 28 << 6 | 3 << 12, 1.0), Ply(12 | 28 << 6 | 3 << 12), Ply(0, -1.0))
    write(tmp_path / "some.shard", shard_of([Game(plies, result=1)]))
    assert export(tmp_path, "some.pgn") == 0
    text = (tmp_path / "some.pgn").read_text()
    assert "{ [%eval 100.00] } 1. e4 e5 { [%eval -100.00] } 1-0" in text


def parquet(tmp_path: Path) -> Any:
    return pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "some.parquet").to_pylist()


def test_parquet(shard: Shard, tmp_path: Path) -> None:
    assert export(tmp_path, "some.parquet") == 0
    rows = iter(parquet(tmp_path))
    for number, game in enumerate(games_of(shard)):
        board = chess.Board(game.start, chess960=True)
        for ply in game.plies:
            if not ply.move and board.is_checkmate():
                continue
            row = next(rows)
            view = 1 if board.turn else -1
            assert row["game"] == number
            assert chess.Board(row["fen"], chess960=True).fen() == board.fen()
            assert row["result"] == (None if game.result == 2 else view * game.result)
            assert (row["value"], row["draw"]) == (ply.value, ply.draw)
            best = max((count for _, count in ply.visits), default=0)
            assert (row["best"] is None) == (not best)
            if best:
                best_move = chess.Move.from_uci(row["best"])
                castling = board.castling_rights and board.is_castling(best_move)
                assert castling or best_move in board.legal_moves
            if ply.move:
                board.push(board.parse_uci(row["move"]))
            else:
                assert row["move"] is None
    assert next(rows, None) is None


def test_parquet_without_its_package(
    shard: Shard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert shard.games
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert export(tmp_path, "some.parquet") == 2
    assert "pip install 'kibitz[parquet]'" in capsys.readouterr().err
    assert not (tmp_path / "some.parquet").exists()


def memmap(folder: Path, name: str) -> np.ndarray:
    info = json.loads((folder / f"{name}.json").read_text())
    assert info["strides"] == [math.prod(info["shape"][n + 1 :]) for n in range(len(info["shape"]))]
    return np.memmap(
        folder / info["data"], dtype=info["dtype"], mode="r", shape=tuple(info["shape"])
    )


def test_experience(shard: Shard, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(tmp_path, "dl", "--format", "experience", "--label", "7", "--json") == 0
    count = json.loads(capsys.readouterr().out)["positions"]
    states, visits, rewards = (
        memmap(tmp_path / "dl", f"{name}_7") for name in ("states", "visit_counts", "rewards")
    )
    assert states.shape == (count, 22, 8, 8)
    assert visits.shape == (count, 73, 8, 8)
    row = 0
    for game in games_of(shard):
        board = chess.Board(game.start, chess960=True)
        for ply in game.plies:
            if ply.visits and game.result != 2:
                assert rewards[row] == (game.result if board.turn else -game.result)
                assert (planes_of(board) == states[row, :12]).all()
                counts = sorted(count for _, count in ply.visits)
                shares = np.sort(visits[row][visits[row] > 0])
                assert shares == pytest.approx(np.array(counts) / sum(counts), rel=1e-5)
                assert (visits[row].sum(axis=0) > 0)[states[row, :6].sum(axis=0) == 0].sum() == 0
                row += 1
            if ply.move:
                board.push(move_of(ply.move, board))
    assert row == count > 100


def planes_of(board: chess.Board) -> np.ndarray:
    """Own and other pieces, the board turned by half a circle for Black."""
    planes = np.zeros((12, 64), dtype=np.float32)
    for square, piece in board.piece_map().items():
        plane = piece.piece_type - 1 + 6 * (piece.color != board.turn)
        planes[plane, square if board.turn else 63 - square] = 1
    return planes.reshape(12, 8, 8)


def move_of(code: int, board: chess.Board) -> chess.Move:
    view = 0 if board.turn else 56
    promotion = (code >> 12) - 2 if code >> 12 >= 4 else None
    return chess.Move((code & 63) ^ view, (code >> 6 & 63) ^ view, promotion)


def test_nothing_to_export(tmp_path: Path) -> None:
    write(tmp_path / "some.shard", shard_of([Game((Ply(12 | 28 << 6 | 3 << 12),), result=1)]))
    assert export(tmp_path, "dl", "--format", "experience") == 2
    assert list((tmp_path / "dl").iterdir()) == []
    assert export(tmp_path, "some.doc") == 2


@pytest.mark.parametrize("name", ["out.pgn", "out.parquet"])
def test_an_export_of_nothing_leaves_what_was_there(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "some.shard", shard_of([Game((Ply(0),), result=1)]))
    damaged = bytearray((tmp_path / "some.shard").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "some.shard").write_bytes(damaged)
    (tmp_path / name).write_bytes(b"before")
    assert export(tmp_path, name) == 2
    assert "--force" in capsys.readouterr().err
    assert export(tmp_path, name, "--force") == 1
    assert "nothing to export" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == b"before"
    (tmp_path / name).unlink()
    assert export(tmp_path, name) == 1
    assert not (tmp_path / name).exists()

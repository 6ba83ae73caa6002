"""The lines of docs/data.md run, and what it says of bytes is so."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import shlex
import shutil
import sys
from pathlib import Path

import chess
import chess.pgn
import pytest
import zstandard

from kibitz.cli import main
from kibitz.data.labels.evaluating import Labelling
from kibitz.data.labels.labels import LabelModel
from kibitz.data.shard import DTYPES, Game, encode, shard_of

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
LINES = re.findall(r"^    kibitz (data .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
# The tutorial: label, inspect, train, play.
OWN_GAMES = re.findall(r"((?:^    kibitz .*\n)+)", PAGE.read_text("utf-8"), re.MULTILINE)[1]
OWN_GAMES = re.findall(r"kibitz (.*)", OWN_GAMES)
PGN = '[Result "1-0"]\n\n1. e4 { [%eval 0.3] } e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n'
START, NEXT = "k7/8/8/8/8/8/8/K6R w - - 0 1", "k6R/8/8/8/8/8/8/K7 b - - 1 1"
ROWS = [
    f"1,{game},{START},{cp},,h1h8,{result}\n1,{game},{NEXT},{-cp},,a8b7,{result}\n"
    for game, (cp, result) in enumerate([(300, 1), (20, 0), (500, 1), (150, 0), (-90, -1)] * 12)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    for name in ("games.pgn", "one.pgn", "more/two.pgn"):
        (tmp_path / name).write_text(PGN)
    (tmp_path / "labelled.csv").write_text("".join(ROWS))
    return tmp_path


def test_the_commands_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tour = [line for line in LINES if "label " not in line and line not in OWN_GAMES]
    assert len(tour) == 13
    for line in tour:
        if "parquet" in line:
            pytest.importorskip("pyarrow")
        assert main(shlex.split(line, comments=True)) == 0, capsys.readouterr().err
    assert {"all.pgn", "all.parquet", "experience"} <= {path.name for path in folder.iterdir()}


@pytest.mark.skipif(shutil.which("stockfish") is None, reason="needs Stockfish")
def test_the_teacher_teaches(folder: Path) -> None:
    line = LINES[-2]
    assert "--games 20" in line
    quick = line.replace("--games 20", "--games 2").replace("nodes=500", "nodes=10")
    assert main([*shlex.split(quick), "--set", "most_plies=10"]) == 0
    assert len(list((folder / "taught").glob("*.shard"))) == 1


def random_games(count: int) -> str:
    generator, texts = random.Random(1), []
    for _ in range(count):
        board = chess.Board()
        for _ in range(8):
            board.push(generator.choice(list(board.legal_moves)))
        texts.append(f"{chess.pgn.Game.from_board(board)}\n\n")
    return "".join(texts)


@pytest.mark.skipif(shutil.which("stockfish") is None, reason="needs Stockfish")
def test_own_games_become_a_network_that_plays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    (folder / "games.pgn").write_text(random_games(100))
    monkeypatch.setattr(sys, "stdin", io.StringIO("e2e4\nquit\n"))
    for line in OWN_GAMES:
        quick = line.replace("nodes=1000", "nodes=10").replace("--steps 1000", "--steps 4")
        words = shlex.split(quick) + (["--nodes", "20"] if line.startswith("play") else [])
        assert main(words) == 0, capsys.readouterr().err
    assert "plays" in capsys.readouterr().out


def test_the_bytes_are_those_described(games: list[Game]) -> None:
    content = encode(shard_of(games))
    end = len(content) - 52
    assert content[:4] == bytes.fromhex("28 B5 2F FD")
    assert content[end : end + 4] == bytes.fromhex("50 2A 4D 18")
    assert content[end + 4 : end + 8] == bytes.fromhex("2C 00 00 00")
    assert content[end + 8 : end + 20] == b"kibitz shard"
    assert content[end + 20 :] == hashlib.sha256(content[:end]).digest()
    tensors = zstandard.decompress(content[:end])
    length = int.from_bytes(tensors[:8], "little")
    described = json.loads(tensors[8 : 8 + length])
    header = json.loads(described.pop("__metadata__")["header"])
    page = PAGE.read_text(encoding="utf-8")
    for key in header:
        assert f"`{key}`" in page
    assert described.keys() == DTYPES.keys()
    for name, entry in described.items():
        assert f"| `{name}` | {entry['dtype']} |" in page
    place = 8 + length + described["starts"]["data_offsets"][0]
    first = tensors[place : place + 32]
    assert first[:8] == bytes([255, 255, 0, 0, 0, 0, 255, 255])  # the ranks of a start position
    assert first[28:] == bytes([64, 0, 0, 0])  # nothing en passant, White to move


def test_defaults_are_those_described() -> None:
    page, model, settings = PAGE.read_text(encoding="utf-8"), LabelModel(), Labelling()
    assert f"**a = {model.a}, b = {model.b}**" in page
    assert f"| `nodes`, `depth` | {settings.nodes}, {settings.depth} |" in page
    for name in ("lines", "temperature", "chess960", "most_plies"):
        assert f"| `{name}` | {getattr(settings, name)} |" in page
    for name in ("random_plies", "random_share"):
        assert f"| `{name}` | {list(getattr(settings, name))} |" in page
    assert f"| {settings.win_cp}, {settings.win_plies} |" in page
    assert f"| {settings.draw_cp}, {settings.draw_plies}, {settings.draw_from} |" in page

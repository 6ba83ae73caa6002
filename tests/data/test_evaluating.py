"""Games that exist, evaluated by an engine: every position once, through kills and copies."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import chess
import chess.engine
import chess.pgn
import numpy as np
import pytest

from kibitz.cli import main
from kibitz.core.journal import with_lock
from kibitz.core.places import place
from kibitz.data.labels.evaluating import (
    Evaluating,
    Evaluation,
    Line,
    Teacher,
    TeacherJob,
    evaluate_game,
    identities,
)
from kibitz.data.labels.labels import LabelModel, wdl
from kibitz.data.pgn import read_pgn
from kibitz.data.shard import NOT_A_POLICY, RANDOM_MOVE, Game, games_of, read, shard_of
from kibitz.data.store import shards_in

MODEL = LabelModel()
FAKE = Path(__file__).parents[1] / "arena" / "fake_engine.py"

MINE = """[Event "Mated"]
[White "Me"]
[WhiteElo "1500"]
[Result "0-1"]

1. f3 { [%eval 9.9] } e5 2. g4 Qh4# 0-1

[Event "Resigned"]
[Result "1-0"]

1. e4 e5 2. Nf3 d6 1-0

[Event "Broken"]
[Result "*"]

1. e4 e5 2. Ke3 *

[Event "Freestyle"]
[SetUp "1"]
[FEN "rkrbbqnn/pppppppp/8/8/8/8/PPPPPPPP/RKRBBQNN w CAca - 0 1"]
[Variant "Chess960"]
[Result "*"]

1. e4 e5 *
"""


class ByMaterial:
    """A teacher whose score of the k-th legal move by name is the own material minus 10 k."""

    def __init__(self, lines: int) -> None:
        self.lines, self.variants = lines, list[bool]()

    def new_game(self, chess960: bool) -> None:
        self.variants.append(chess960)

    def evaluate(self, position: str, limit: str) -> Evaluation:
        assert limit == "nodes 7"
        fen, _, moves = position.removeprefix("fen ").partition(" moves")
        board = chess.Board(fen, chess960=self.variants[-1])
        for move in moves.split():
            board.push_uci(move)
        legal = sorted(map(str, board.legal_moves))[: self.lines]
        own = score(board)
        return Evaluation(legal[0], tuple(Line(m, own - 10 * k, None) for k, m in enumerate(legal)))


def score(board: chess.Board) -> int:
    """A number that differs from position to position."""
    return sum(ord(letter) for letter in board.fen()) % 500 - 250


def job_of(command: tuple[str, ...] = (), lines: int = 1) -> TeacherJob:
    return TeacherJob(
        command, (), Evaluating(nodes=7, lines=lines), MODEL, {"judged": {"teacher": "T"}}
    )


def mine() -> list[Game]:
    return list(read_pgn(io.StringIO(MINE), MODEL, "mine.pgn", lambda _: None))


def test_every_position_gets_a_value_and_a_best_move_and_nothing_else_changes() -> None:
    teacher = ByMaterial(1)
    before = mine()
    after = [evaluate_game(game, job_of(), cast(Teacher, teacher)) for game in before]
    assert teacher.variants == [False, False, True]
    for old, new in zip(before, after, strict=True):
        assert (new.start, new.result, new.end, new.seed) == (
            old.start, old.result, old.end, old.seed
        )  # fmt: skip
        assert new.source == old.source | {"judged": {"teacher": "T"}}
        board = chess.Board(new.start, chess960=True)
        for ply in new.plies:
            view = 0 if board.turn else 56
            value, draw = wdl(np.array([score(board)]), MODEL)
            assert (ply.value, ply.draw) == (value[0], draw[0])
            ((code, count),) = ply.visits
            best = chess.Move((code & 63) ^ view, (code >> 6 & 63) ^ view)
            assert (best.uci(), count) == (min(map(str, board.legal_moves)), 1)
            if ply.move:
                board.push(chess.Move((ply.move & 63) ^ view, (ply.move >> 6 & 63) ^ view))
        assert [ply.move for ply in new.plies if ply.move] == [p.move for p in old.plies if p.move]
        assert (new.plies[-1].move == 0) == any(board.legal_moves)  # evaluated unless it is over


def test_several_lines_are_a_softmax_of_their_values() -> None:
    game = evaluate_game(mine()[1], job_of(lines=3), cast(Teacher, ByMaterial(3)))
    board = chess.Board()
    first = score(board)
    values, _ = wdl(np.array([first, first - 10, first - 20]), MODEL)
    shares = np.exp(values / 0.1) / np.exp(values / 0.1).sum()
    counts = [count for _, count in game.plies[0].visits]
    assert np.array(counts) / 1000 == pytest.approx(shares, abs=1e-3)


def test_flags_of_the_search_before_go_those_of_the_game_stay() -> None:
    game = mine()[1]
    flagged = [RANDOM_MOVE | NOT_A_POLICY, *[0] * (len(game.plies) - 1)]
    plies = tuple(
        type(ply)(ply.move, flags=flags) for ply, flags in zip(game.plies, flagged, strict=True)
    )
    again = evaluate_game(Game(plies, source={}), job_of(), cast(Teacher, ByMaterial(1)))
    assert [ply.flags for ply in again.plies][:2] == [RANDOM_MOVE, 0]


def test_games_keep_their_identity_when_they_are_evaluated() -> None:
    before = mine()
    after = [evaluate_game(game, job_of(), cast(Teacher, ByMaterial(1))) for game in before]
    keys = identities(shard_of(before))
    assert identities(shard_of(after)) == keys
    assert len(set(keys)) == 3


# --- the command --------------------------------------------------------------------------------


def fake(way: str, *more: object) -> str:
    return " ".join([sys.executable, str(FAKE), way, *map(str, more)])


def words_of(files: list[Path], out: Path, *more: str, way: str = "none") -> list[str]:
    engine = ["--engine", fake(way), "--patience", "20"]
    return ["data", "label", *map(str, files), "-o", str(out), *engine, "--json", *more]


def done(capsys: pytest.CaptureFixture[str], words: list[str], code: int = 0) -> dict[str, Any]:
    assert main(words) == code
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def found(folder: Path) -> list[Game]:
    games = [game for path in shards_in(folder) for game in games_of(read(path))]
    return sorted(games, key=repr)


STANDARD = MINE.partition('[Event "Freestyle"]')[0]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Games of all kinds: PGN with a broken game, CSV with and without scores, a shard."""
    (tmp_path / "mine.pgn").write_text(STANDARD)
    (tmp_path / "some.csv").write_text(
        "best,FEN,name\ng1f3,rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1,a\n"
        ",8/8/8/8/8/6k1/7q/7K w - - 0 1,mated\n,8/8/8/8/8/5k2/6q1/K7 w - - 0 1,b\n"
    )
    (tmp_path / "stored.pgn").write_text('[Event "Stored"]\n\n1. d4 d5 2. c4 *\n')
    assert main(["data", "import", str(tmp_path / "stored.pgn"), "-o", str(tmp_path / "in")]) == 0
    return [tmp_path / "mine.pgn", tmp_path / "some.csv", tmp_path / "in"]


def test_files_of_all_kinds(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    out = tmp_path / "out"
    facts = done(capsys, words_of(files, out, "--workers", "2"))
    assert (facts["games"], facts["skipped"], facts["there"]) == (6, 1, 0)
    games = found(out)
    assert sum(len(game.plies) for game in games) == facts["positions"] == 4 + 5 + 2 + 4
    assert all(ply.visits and ply.value == ply.value for game in games for ply in game.plies)
    elos = [game.source["tags"]["WhiteElo"] for game in games if "tags" in game.source]
    assert elos == ["1500"]
    assert all(game.source["judged"]["teacher"] == "Fake" for game in games)
    names = [path.name for path in shards_in(out)]
    again = done(capsys, words_of(files[::-1], out))
    assert (again["games"], again["there"]) == (0, 6)
    assert [path.name for path in shards_in(out)] == names
    one = tmp_path / "one"
    assert done(capsys, words_of(files, one, "--workers", "1"))["games"] == 6
    assert list(map(repr, found(one))) == list(map(repr, games))


@pytest.mark.parametrize("patience", ["0", "-1", "nan"])
def test_patience_that_makes_no_sense_is_refused(
    patience: str, files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words_of(files, tmp_path / "out", f"--patience={patience}")) == 2
    assert "--patience" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_games_in_a_damaged_shard_are_evaluated_again(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(words_of(files, out)) == 0
    (shard,) = out.glob("*.shard")
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    capsys.readouterr()
    assert main(words_of(files, out)) == 0
    shown = capsys.readouterr()
    assert (json.loads(shown.out)["games"], json.loads(shown.out)["there"]) == (6, 0)
    assert "games are not there" in shown.err
    assert "left out" not in shown.err


def test_copies_are_counted_and_more_files_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "mine.pgn", tmp_path / "out"
    path.write_text(STANDARD + "\n" + STANDARD)
    facts = done(capsys, words_of([path], out, "--workers", "1"))
    assert (facts["games"], facts["copies"], facts["skipped"]) == (2, 2, 2)
    path.write_text('[Event "New"]\n\n1. c4 *\n\n' + STANDARD)
    facts = done(capsys, words_of([path], out, "--workers", "1"))
    assert (facts["games"], facts["there"]) == (1, 2)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process the hard way")
def test_killed_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "many.pgn", tmp_path / "killed"
    games = [f'[Event "{number}"]\n\n1. e4 e5 2. Nf3 *\n\n' for number in range(2000)]
    path.write_text("".join(games))
    words = words_of([path], out, "--workers", "1")
    run = subprocess.Popen(
        [sys.executable, "-m", "kibitz", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(list(out.glob("*-game-*.shard"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    saved = len(found(out))
    assert 3 <= saved < 2000
    facts = done(capsys, words)
    assert (facts["there"], facts["games"]) == (saved, 2000 - saved)
    assert sorted(int(game.source["event"]) for game in found(out)) == list(range(2000))
    assert list(out.glob("*-game-*.shard")) == []


def test_a_run_that_dropped_its_games_does_not_end_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.pgn").write_text(STANDARD)
    words = words_of([tmp_path / "mine.pgn"], tmp_path / "out", "--workers", "1", way="crash 0")
    facts = done(capsys, words, 1)
    assert (facts["games"], facts["dropped"]) == (0, 2)
    played = [*words[:2], *words[3:], "--games", "2", "--set", "most_plies=9"]
    assert done(capsys, played, 1)["dropped"] == 2
    (tmp_path / "empty.pgn").write_text("\n")
    words = words_of([tmp_path / "mine.pgn", tmp_path / "empty.pgn"], tmp_path / "out")
    facts = done(capsys, words, 1)
    assert (facts["games"], facts["refused"]) == (2, 1)


def test_labels_may_go_behind_a_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written, packed, and gone on with in a file system that only this process sees."""
    (tmp_path / "mine.pgn").write_text(STANDARD)
    words = words_of([tmp_path / "mine.pgn"], tmp_path, "--workers", "1")
    words[words.index("-o") + 1] = "memory://judged"
    assert done(capsys, words)["games"] == 2
    facts = done(capsys, words)
    assert (facts["games"], facts["there"]) == (0, 2)
    games = [game for path in shards_in(place("memory://judged")) for game in games_of(read(path))]
    assert len(games) == 2


def test_one_labelling_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.pgn").write_text(STANDARD)
    with with_lock(tmp_path / "out", "labelling"):
        for files in ([tmp_path / "mine.pgn"], []):
            assert main(words_of(files, tmp_path / "out", "--workers", "1")) == 2
            said = f"another labelling is running here (process {os.getpid()})"
            assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--games", "3"], "--games is for games that are played"),
        (["--seed", "3"], "--seed is for games that are played"),
        (["--openings", "some.epd"], "--openings is for games that are played"),
        (["--set", "random_share=[0,1]"], "random_share"),
        (["--set", "nodes=0"], "nothing ends a search"),
        (["--workers", "0"], "--workers"),
        (["none.pgn"], "no such file or folder: 'none.pgn'"),
        (["notes.txt"], "notes.txt"),
    ],
)
def test_what_does_not_apply_is_refused(
    more: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.pgn").write_text(STANDARD)
    Path("notes.txt").write_text("notes")
    assert main(words_of([Path("mine.pgn")], Path("out"), *more)) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


def test_other_settings_are_not_mixed_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.pgn").write_text(STANDARD)
    words = words_of([tmp_path / "mine.pgn"], tmp_path / "out", "--workers", "1")
    assert main(words) == 0
    assert main([*words, "--set", "nodes=9"]) == 2
    said = capsys.readouterr().err
    assert "made with other settings" in said
    assert "--seed" not in said  # which is for games that are played
    assert main(words_of([tmp_path / "out"], tmp_path / "out")) == 2  # into itself


@pytest.mark.skipif(shutil.which("stockfish") is None, reason="needs Stockfish")
def test_labels_are_those_that_python_chess_gets(tmp_path: Path) -> None:
    (tmp_path / "mine.pgn").write_text(MINE)
    words = ["data", "label", str(tmp_path / "mine.pgn"), "-o", str(tmp_path / "out")]
    assert main([*words, "--engine", "stockfish", "--set", "nodes=0", "--set", "depth=6"]) == 0
    with chess.engine.SimpleEngine.popen_uci("stockfish") as engine:
        for game in found(tmp_path / "out"):
            board, new_game = chess.Board(game.start, chess960=True), object()
            board.chess960 = board.has_chess960_castling_rights()
            for ply in game.plies:
                info = engine.analyse(board, chess.engine.Limit(depth=6), game=new_game)
                told = info["score"].relative
                value = 1.0 if told.is_mate() and told > chess.engine.Cp(0) else -1.0
                if not told.is_mate():
                    value = float(wdl(np.array([told.score()]), MODEL)[0][0])
                assert ply.value == value
                view = 0 if board.turn else 56
                if ply.move:
                    board.push(chess.Move((ply.move & 63) ^ view, (ply.move >> 6 & 63) ^ view))

"""Games that an engine plays are the same for the same seed, through crashes, hangs and kills."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import chess
import numpy as np
import pytest

from kibitz.cli import main
from kibitz.core.errors import InputError
from kibitz.data.labels import teaching
from kibitz.data.labels.evaluating import (
    Evaluation,
    Labelling,
    Line,
    PlayJob,
    Teacher,
    evaluation_of,
    play_game,
)
from kibitz.data.labels.labels import LabelModel, wdl
from kibitz.data.labels.teaching import LabelledGame, Task, There
from kibitz.data.shard import RANDOM_MOVE, Game, games_of, read
from kibitz.data.store import shards_in
from kibitz.position.fen import START
from kibitz.uci.client import ProgramFault

FAKE = Path(__file__).parents[1] / "arena" / "fake_engine.py"
QUICK = Labelling(most_plies=12, random_share=(0.1, 0.4), random_plies=(0, 4))
SHORT = ["--set", "most_plies=12", "--set", "random_share=[0.1, 0.4]"]
MODEL = LabelModel()


def fake(way: str, *more: object) -> tuple[str, ...]:
    return (sys.executable, str(FAKE), way, *map(str, more))


def job_of(command: tuple[str, ...], labelling: Labelling = QUICK, **more: Any) -> PlayJob:
    job = PlayJob(command, (), labelling, MODEL, {"kind": "teacher"}, seed=7)
    return replace(job, **more)


def label(job: PlayJob, folder: Path, games: int = 6, **more: Any) -> list[Game | str]:
    stop: Callable[[], bool] = more.pop("stop", lambda: False)
    workers = more.pop("workers", 1)
    made = teaching.label(job, folder, games, workers, stop, 1000, Counter())
    return [one.game or one.fault for one in made]


def kept(folder: Path) -> dict[int, Game]:
    """The games in a folder, by number; each must be there once."""
    games = [game for path in shards_in(folder) for game in games_of(read(path))]
    by_number = {game.seed % (1 << 24): game for game in games}
    assert len(by_number) == len(games)
    return by_number


def shown(game: Game) -> str:
    """All of a game, NaN included, as text."""
    return repr(game)


class Scripted:
    """A teacher that always plays the first legal move and has one score a ply."""

    def __init__(self, scores: Callable[[int], int]) -> None:
        self.scores, self.asked, self.variant = scores, 0, False

    def new_game(self, chess960: bool) -> None:
        self.variant = chess960

    def evaluate(self, position: str, limit: str) -> Evaluation:
        assert limit == "nodes 2000"
        fen, _, moves = position.removeprefix("fen ").partition(" moves")
        board = chess.Board(fen, chess960=self.variant)
        for move in moves.split():
            board.push(chess.Move.from_uci(move))
        legal = sorted(map(str, board.legal_moves))
        white = self.scores(self.asked)
        self.asked += 1
        return Evaluation(legal[0], (Line(legal[0], white if board.turn else -white, None),))


def played(scores: Callable[[int], int], number: int = 0, **settings: Any) -> Game:
    job = job_of((), Labelling(**settings))
    return play_game(job, number, cast(Teacher, Scripted(scores)))


def test_a_game_is_legal_and_says_what_the_teacher_said() -> None:
    random_moves = 0
    for number in range(8):
        game = played(lambda _: 30, number, most_plies=60, random_share=(0.2, 0.3), chess960=0.5)
        board = chess.Board(game.start, chess960=True)
        for ply in game.plies:
            view = 0 if board.turn else 56
            squares = ((ply.move & 63) ^ view, (ply.move >> 6 & 63) ^ view)
            promotion = (ply.move >> 12) - 2 if ply.move >> 12 >= 4 else None
            value, draw = wdl(np.array([30 if board.turn else -30]), MODEL)
            assert (ply.value, ply.draw) == (value[0], draw[0])
            assert len(ply.visits) == 1
            assert ply.flags == RANDOM_MOVE or ply.visits == ((ply.move, 1),)
            random_moves += ply.flags == RANDOM_MOVE
            move = chess.Move(*squares, promotion)
            assert move in board.legal_moves
            board.push(move)
    assert random_moves > 20


@pytest.mark.parametrize(
    ("scores", "settings", "result", "end", "plies"),
    [
        (lambda _: 2000, {"win_plies": 6}, 1, "adjudicated: decided", 6),
        (lambda ply: -1500 if ply > 2 else 9000, {"win_plies": 6}, -1, "adjudicated: decided", 9),
        (lambda ply: (8, -8)[ply % 2], {"draw_plies": 10, "draw_from": 0}, 0, "level", 10),
        (lambda _: 0, {"draw_plies": 10, "draw_from": 12}, 0, "adjudicated: level", 12),
        (lambda ply: (2000, -2000)[ply % 2], {"most_plies": 10}, 0, "adjudicated: length", 10),
    ],
)
def test_adjudication(
    scores: Any, settings: dict[str, Any], result: int, end: str, plies: int
) -> None:
    game = played(scores, random_share=(0.0, 0.0), random_plies=(0, 0), **settings)
    assert (game.result, len(game.plies)) == (result, plies)
    assert game.end.endswith(end)


def test_several_lines_become_a_policy() -> None:
    class Three(Scripted):
        def evaluate(self, position: str, limit: str) -> Evaluation:  # noqa: ARG002
            lines = (Line("e2e4", 40, None), Line("d2d4", 40, None), Line("a2a3", -900, None))
            return Evaluation("e2e4", lines)

    job = job_of((), Labelling(most_plies=1, lines=3, random_plies=(0, 0), random_share=(0, 0)))
    game = play_game(job, 0, cast(Teacher, Three(lambda _: 0)))
    e4, d4 = 12 | 28 << 6 | 3 << 12, 11 | 27 << 6 | 3 << 12
    assert game.plies[0].visits == ((e4, 500), (d4, 500))  # nothing left for the blunder


# --- what a search says -------------------------------------------------------------------------


def test_the_last_whole_iteration_counts() -> None:
    told = [
        "info depth 1 multipv 1 score cp 10 nodes 20 pv e2e4 e7e5",
        "info depth 1 multipv 2 score cp 5 pv d2d4",
        "info depth 2 multipv 1 score mate 3 upperbound pv c2c4",
        "info depth 2 multipv 1 score cp 33 pv g1f3",
        "info depth 2 currmove e2e4 currmovenumber 1",
    ]
    found = evaluation_of("g1f3", told)
    assert found == Evaluation("g1f3", (Line("g1f3", 33, None), Line("d2d4", 5, None)))
    only_bound = evaluation_of("a2a3", ["info depth 1 score mate -2 lowerbound"])
    assert only_bound.lines == (Line("a2a3", None, -2),)
    for wrong in (["info depth 1 nodes 3"], ["info score cp"], ["info score elo 9 pv a2a3"]):
        with pytest.raises(ProgramFault):
            evaluation_of("a2a3", wrong)


def test_an_engine_that_waits_between_games_is_left_alone() -> None:
    teacher = Teacher(fake("none"), {}, patience=3.0)
    time.sleep(3.5)
    teacher.new_game(False)
    assert teacher.evaluate(f"fen {START}", "nodes 1").best == "a2a3"
    teacher.close()


def test_what_engines_cannot_do_is_said() -> None:
    with pytest.raises(InputError, match=r"no such option.*Threads"):
        Teacher(fake("none"), {"Strength": "9"})
    with pytest.raises(InputError, match="cannot start"):
        Teacher(("/does/not/exist",), {})
    with pytest.raises(ProgramFault, match=r"no answer for 0\.3 s"):
        Teacher(fake("mute"), {}, patience=0.3)
    teacher = Teacher(fake("none"), {})
    with pytest.raises(InputError, match="Chess960"):
        teacher.new_game(True)
    teacher.close()


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("script", ["sleep 40; true", "sleep 40 & exit"])
def test_what_a_shell_has_started_is_ended_with_it(script: str) -> None:
    """The child has the pipes: a reader would wait for 40 s if only the shell were killed."""
    with pytest.raises(ProgramFault, match=r"no answer for 0\.3 s|it ended with code 0"):
        Teacher(("sh", "-c", script), {}, patience=0.3)


# --- many games ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["crash", "close-output", "illegal", "nonsense", "silence"])
def test_a_game_with_a_fault_is_dropped_and_the_engine_restarted(way: str, tmp_path: Path) -> None:
    """The engine fails in its 20th answer, every life again: in its second game."""
    found = label(job_of(fake(way, 19)), tmp_path)
    dropped = [one for one in found if isinstance(one, str)]
    assert len(dropped) == 3
    assert all("dropped" in one for one in dropped)
    whole = {number: shown(game) for number, game in kept(tmp_path).items()}
    assert len(whole) == 3
    sound = tmp_path / "sound"
    label(job_of(fake("none")), sound)
    expected = {number: shown(game) for number, game in kept(sound).items()}
    assert whole == {number: expected[number] for number in whole}


def test_a_hanging_engine_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "MOST_DROPPED", 2)
    with pytest.raises(InputError, match=r"2 times in a row.*no answer for 0\.3 s"):
        label(job_of(fake("hang", 0), patience=0.3), tmp_path)


def test_stopped_and_continued(tmp_path: Path) -> None:
    label(job_of(fake("none")), tmp_path / "whole")
    answers = iter([False, False, True])
    first = label(job_of(fake("none")), tmp_path / "parts", stop=lambda: next(answers))
    assert len(first) == 2
    assert len(shards_in(tmp_path / "parts")) == 1  # packed, although there are more to come
    rest = label(job_of(fake("none")), tmp_path / "parts", workers=2)
    assert len(rest) == 4
    whole, parts = kept(tmp_path / "whole"), kept(tmp_path / "parts")
    assert {n: shown(game) for n, game in whole.items()} == {n: shown(g) for n, g in parts.items()}
    assert label(job_of(fake("none")), tmp_path / "parts") == []


@pytest.mark.parametrize("seed", range(4))
def test_shards_are_the_same_whoever_was_first_and_after_any_interruption(
    tmp_path: Path, seed: int
) -> None:
    """Names of shards have the checksums of their contents."""
    job, most, chance = job_of((), Labelling(most_plies=12)), 30, random.Random(seed)
    games = {
        number: replace(
            play_game(job, number, cast(Teacher, Scripted(lambda ply: 20 * ply))),
            source=job.source,
        )
        for number in range(12)
    }

    def make(folder: Path, starts: int, *, shuffled: bool) -> set[str]:
        for start in range(1, starts + 1):
            kept_games = teaching.KeptGames(job, folder, most)
            done = kept_games.done
            listed = [There(n, n) if n in done else Task(n) for n in games]
            tasks = kept_games.missing(listed, lambda: False)
            numbers = [task.number for task in tasks]
            assert len(numbers) + len(done) == len(games)
            if shuffled:
                chance.shuffle(numbers)
            for number in numbers[: None if start == starts else 3]:
                kept_games.add(LabelledGame(number, games[number] if number != 5 else None))
            kept_games.close()
            assert set(kept(folder)) == set(games) - {5} or start < starts
        return {path.name for path in shards_in(folder)}

    whole = make(tmp_path / "whole", 1, shuffled=False)
    assert len(whole) > 2
    assert not any("-game-" in name for name in whole)
    assert make(tmp_path / "shuffled", 1, shuffled=True) == whole
    assert make(tmp_path / "interrupted", 3, shuffled=True) == whole


def test_other_settings_are_not_mixed_in(tmp_path: Path) -> None:
    label(job_of(fake("none")), tmp_path, games=1)
    with pytest.raises(InputError, match=r"other settings \(nodes None there, 9 now\)"):
        label(job_of(fake("none"), source={"kind": "teacher", "nodes": 9}), tmp_path, games=2)
    label(job_of(fake("none"), seed=8, source={"kind": "other"}), tmp_path, games=1)


def command(folder: Path, games: int) -> list[str]:
    engine = " ".join(fake("none"))
    words = ["data", "label", "--engine", engine, "-o", str(folder), "--games", str(games)]
    return [*words, *SHORT, "--seed", "3", "--json"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process the hard way")
def test_killed_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "killed"
    run = subprocess.Popen(
        [sys.executable, "-m", "kibitz", *command(folder, 500)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(list(folder.glob("*-game-*.shard"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    saved = len(kept(folder))
    assert saved >= 3
    assert main(command(folder, saved + 3)) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 3
    assert main(command(tmp_path / "whole", saved + 3)) == 0
    whole, resumed = kept(tmp_path / "whole"), kept(folder)
    assert {n: shown(g) for n, g in whole.items()} == {n: shown(g) for n, g in resumed.items()}
    assert list(folder.glob("*-game-*.shard")) == []


def test_killed_between_packing_and_cleaning_up(tmp_path: Path) -> None:
    """The small shards are still there, their games are in the large one, too."""
    job = job_of(fake("none"))
    some_games = teaching.label(job, tmp_path, 2, 1, lambda: False, 1000, Counter())
    next(some_games)
    (small,) = tmp_path.glob("*-game-*.shard")
    content = small.read_bytes()
    next(some_games)
    assert next(some_games, None) is None
    small.write_bytes(content)
    assert label(job, tmp_path, games=2) == []
    assert len(kept(tmp_path)) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["--set", "nodes=0"],
        ["--set", "random_share=[0.5, 0.1]"],
        ["--set", "colour=1"],
        ["--option", "Threads"],
        ["--games", "0"],
        ["--seed", "-1"],
        ["--engine", "/does/not/exist"],
    ],
)
def test_wrong_arguments_are_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command(tmp_path, 1), *words]) == 2
    assert capsys.readouterr().err.startswith("kibitz: error")


@pytest.mark.skipif(shutil.which("stockfish") is None, reason="needs Stockfish")
def test_a_real_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["data", "label", "--engine", "stockfish", "-o", str(tmp_path), "--games", "4"]
    more = ["nodes=60", "lines=4", "chess960=0.5", "most_plies=40"]
    assert main([*words, *(word for one in more for word in ("--set", one)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dropped"] == 0
    for game in kept(tmp_path).values():
        for ply in game.plies:
            assert abs(sum(count for _, count in ply.visits) - 1000) <= 4
            assert -1 <= ply.value <= 1

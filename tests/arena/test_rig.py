"""Patches tested by games at fixed nodes: one kernel call a move, checkouts, results on file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import kibitz
from kibitz.arena.match.elo import Pairs, RunningTest, Sprt
from kibitz.arena.match.game import Control, Terms
from kibitz.arena.match.journal import Journal, PlayedGame
from kibitz.arena.match.runner import Setup, run
from kibitz.arena.match.spec import parse_player, parse_players
from kibitz.cli import main
from kibitz.core.log import Stop
from kibitz.core.provenance import KEY
from kibitz.data.openings import random_openings
from kibitz.engine import Engine
from kibitz.jit.compile import COMPILED
from kibitz.position.board import Board

ROOT = Path(kibitz.__file__).parents[2]
BASE = "material,Search=alphabeta"
PATCH = f"{BASE},NullMoveReduction=5,LateMoveDepth=0"
CONTEMPT = "material,Search=mcts,ScLimit=5,Temperature=0.5"
PEOPLE = "kibitz-plain-4x64,Search=mcts,rule=gumbel,nodes=2,GumbelConsidered=1,GumbelNoise=1"
TOWER = "kibitz-64x256+kibitz-plain-4x64,Search=mcts,MinibatchSize=8,nodes=40"
pytestmark = pytest.mark.skipif(not COMPILED, reason="too slow as plain Python")


def played(*players: str, nodes: int = 300, rounds: int = 3, **more: Any) -> dict[int, PlayedGame]:
    setup = Setup(
        parse_players(list(players)),
        Control(nodes=nodes),
        random_openings(rounds),
        rounds,
        terms=Terms(margin=5_000.0),
        **more,
    )
    with Journal(setup.header()) as journal:
        run(setup, journal, Stop())
        return journal.games


def told(games: dict[int, PlayedGame]) -> list[Any]:
    """All of the games but times."""
    return [
        (
            games[n].result,
            [(one.uci, one.cp, one.mate, one.depth, one.nodes) for one in games[n].moves],
        )
        for n in sorted(games)
    ]


@pytest.mark.parametrize(
    ("players", "rounds"),
    [
        ((PATCH, BASE), 3),
        pytest.param((CONTEMPT, BASE), 3, marks=pytest.mark.slow),
        pytest.param((PEOPLE, TOWER), 1, marks=pytest.mark.slow),
    ],
)
def test_one_call_a_move_plays_the_games_of_the_engine(
    players: tuple[str, str], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = told(played(*players, rounds=rounds))
    assert direct == told(played(*players, rounds=rounds))
    assert direct == told(played(*players, rounds=rounds, concurrency=3))
    monkeypatch.setattr(Engine, "best_at", lambda *_: None)
    assert direct == told(played(*players, rounds=rounds))


@pytest.mark.parametrize("nodes", [2, 60])
def test_a_short_tree_search_waits_for_no_other_thread(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine("kibitz-plain-4x64", hash=1, minibatch_size=8) as engine:
        longer = engine.play(Board(), nodes=nodes).report
        engine.new_game()
        monkeypatch.setattr(ThreadPoolExecutor, "submit", None)
        monkeypatch.setattr(threading.Thread, "start", None)
        direct = engine.best_at(Board(), nodes)
    assert direct is not None
    assert (direct.best, direct.nodes, direct.moves) == (longer.best, longer.nodes, longer.moves)


@pytest.mark.parametrize(
    "options",
    [
        {"network": "material", "sc_limit": 3, "temperature": 1.0},
        {"network": "material", "search_rule": "gumbel", "gumbel_noise": 1.0},
        {"network": "material", "noise_epsilon": 0.25, "share_values": True},
        {"network": "kibitz-plain-4x64", "minibatch_size": 8, "noise_epsilon": 0.25},
    ],
)
def test_a_game_begins_as_in_a_new_searcher(options: dict[str, Any]) -> None:
    def game(engine: Engine, seed: int) -> list[Any]:
        engine.configure(seed=seed)
        engine.new_game()
        board, reports = Board(), []
        for _ in range(8):
            report = engine.best_at(board, 60)
            assert report is not None
            reports.append((report.best, report.moves, report.root))
            board.push(report.best.moves[0])
        return reports

    given = {"hash": 1, "search": "mcts", **options}
    with Engine(**given) as engine, Engine(**given) as other:
        first, second = game(engine, 5), game(engine, 6)
        searcher = engine.searcher
        assert first != second
        assert game(engine, 5) == first
        assert engine.searcher is searcher
        assert game(other, 6) == second


@pytest.mark.parametrize(
    "options",
    [{"threads": 2}, {"multipv": 2}, {"temperature": 1.0}, {"search": "mcts", "threads": 2}],
)
def test_other_searches_have_no_such_call(options: dict[str, Any]) -> None:
    with Engine("material", **{"hash": 1, "search": "alphabeta", **options}) as engine:
        assert engine.best_at(Board(), 50) is None
    with Engine("material", hash=1, search="mcts") as engine:
        assert engine.best_at(Board(), 1_000_000) is None
    with Engine("material", hash=1, limit_strength=True) as engine:
        assert engine.best_at(Board(), 50) is None


# --- tests in sequence ----------------------------------------------------------------------------


def test_a_test_is_decided_in_the_order_of_the_schedule() -> None:
    points = [(1.0, 0.5), (0.5, 0.5), (1.0, 1.0)] * 40
    whole = RunningTest(Sprt(0, 100))
    verdict = whole.advance(lambda number: points[number])
    assert verdict == "H1"
    assert 3 < whole.pairs.total < 60
    late, ended = RunningTest(Sprt(0, 100)), set[int]()
    for number in (*range(1, 90), 0):  # the first pair ends last
        assert late.advance(lambda n: points[n] if n in ended else None) is None
        assert late.pairs == Pairs()
        ended.add(number)
    assert late.advance(lambda n: points[n] if n in ended else None) == "H1"
    assert late.pairs == whole.pairs


@pytest.mark.slow
def test_what_ends_beside_the_deciding_pair_does_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = []
    for concurrency in ("1", "4"):
        command = ["match", "greedy", "random", "--sprt", "0", "200", "--json", "--quiet"]
        assert main([*command, "--concurrency", concurrency]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["sprt"]["accepted"] == "H1"
        counts.append((result["games"], result["pairs"][0]["pentanomial"], result["sprt"]["llr"]))
    assert counts[0] == counts[1]


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_test_goes_on_after_a_kill_with_the_same_games(tmp_path: Path) -> None:
    words = ["match", PATCH, BASE, "--sprt", "-5", "0", "--games", "40", "--nodes", "400"]
    whole, torn = tmp_path / "whole.json", tmp_path / "torn.json"
    started = subprocess.Popen(
        [sys.executable, "-m", "kibitz", *words, "--resume", str(tmp_path / "torn.jsonl")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    journal, deadline = tmp_path / "torn.jsonl", time.monotonic() + 120
    while started.poll() is None and time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") > 4:
            started.send_signal(signal.SIGKILL)
        time.sleep(0.02)
    assert started.wait() == -signal.SIGKILL
    for file, more in ((torn, ["--resume", str(journal)]), (whole, ["--concurrency", "1"])):
        assert main([*words, "--quiet", "--file", str(file), *more]) == 0
    first, second = (json.loads(file.read_text()) for file in (torn, whole))
    for result in (first, second):
        about = result.pop(KEY)
        assert about["command"].startswith("kibitz match")
        assert {"version", "commit", "seed", "networks"} <= about.keys()
    assert first == second
    assert first["players"][0]["settings"]["null_move_reduction"] == 5
    assert first["games"] == 40


@pytest.mark.slow
def test_two_checkouts_play_by_their_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    players = [f"material,checkout={ROOT},Search=alphabeta,name={name}" for name in ("new", "old")]
    assert main(["match", *players, "--nodes", "300", "--games", "2", "--json", "--quiet"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["pairs"][0]["pentanomial"] == [0, 0, 1, 0, 0]  # the same program on both sides
    assert {one["checkout"] for one in result["players"]} == {str(ROOT)}
    assert not any(one["forfeits"] for one in result["players"])


def test_a_player_whose_code_has_changed_is_another(tmp_path: Path) -> None:
    code, program = tmp_path / "src" / "kibitz" / "__main__.py", tmp_path / "engine.sh"
    code.parent.mkdir(parents=True)
    for path in (code, program):
        path.write_text("one")
        path.chmod(0o755)
    texts = (
        f"kibitz,checkout={tmp_path}",
        f"uci:{program}",
        f"uci:sh {program}",
        f"xboard:{program}",
    )
    before = [parse_player(text).identity for text in texts]
    assert before == [parse_player(text).identity for text in texts]
    for path in (code, program):
        path.write_text("two")
    for text, identity in zip(texts, before, strict=True):
        assert parse_player(text).identity != identity


def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for player, error in (
        ("kibitz,NullMoveReductoin=3", "NullMoveReduction"),
        ("kibitz,NullMoveReduction=0", "must be from 1 to 20, found: 0"),
        (f"kibitz,checkout={tmp_path}", "no checkout of Kibitz"),
        (f"kibitz,checkout={ROOT},preset=lc0", "preset of another checkout"),
    ):
        assert main(["match", player, BASE, "--sprt", "0", "5"]) == 2
        assert error in capsys.readouterr().err
    assert main(["match", BASE, BASE, "--alpha", "0.1"]) == 2
    assert "give --sprt" in capsys.readouterr().err

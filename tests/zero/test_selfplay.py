"""Games against itself: reproducible to the byte, resumed, the same as by the searcher, legal."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from kibitz.cli import main
from kibitz.core.errors import ConfigError, FileError, InputError
from kibitz.core.files import read_bytes
from kibitz.core.log import Stop
from kibitz.core.options import options_of
from kibitz.data.shard import NOT_A_POLICY, Game, games_of, read
from kibitz.data.store import shards_in
from kibitz.jit.compile import COMPILED
from kibitz.nets.encodings.leaves import Leaves
from kibitz.nets.evaluators.batched import Evaluations, InlineBatch
from kibitz.nets.evaluators.cache import PredictionCache
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.nets.load import Evaluator
from kibitz.position.board import Board
from kibitz.position.notation import absolute, relative
from kibitz.search.limits import Limits
from kibitz.search.mcts.driver import Batches
from kibitz.search.mcts.searcher import Searcher
from kibitz.zero.selfplay.config import PRESETS, SelfPlay, preset
from kibitz.zero.selfplay.game import ENDS, Finished, Seat
from kibitz.zero.selfplay.play import GameSummary, SelfPlayReport, as_shard, play
from kibitz.zero.selfplay.players import BatchedPlayer, InlinePlayer, Starts
from kibitz.zero.selfplay.targets import policy_target, searched_value

pytestmark = pytest.mark.skipif(not COMPILED, reason="plays thousands of moves")

SHORT = replace(SelfPlay(), most_plies=40, group=4, random_plies=(0, 3), workers=1)
BY_VISITS = replace(SHORT, rule="puct", playouts=40)


class Few:
    """Games with the numbers from 0 on."""

    stopped = False

    def __init__(self, count: int) -> None:
        self._numbers = iter(range(count))
        self.games: dict[int, Finished] = {}

    def following(self) -> int | None:
        return next(self._numbers, None)

    def keep(self, game: Finished) -> None:
        self.games[game.number] = game


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: read_bytes(path) for path in shards_in(folder)}


def games_in(folder: Path) -> list[Game]:
    return [game for path in shards_in(folder) for game in games_of(read(path))]


def alone(settings: SelfPlay, count: int) -> list[Game]:
    run = Few(count)
    InlinePlayer(inline_evaluator(Material()), settings).play(Starts(settings, 1), run)
    return [*games_of(as_shard([run.games[number] for number in range(count)]))]


# --- reproducible, resumed ------------------------------------------------------------------------


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
    assert len([*folder.glob("*.part")]) == 1
    again = play("material", replace(SHORT, workers=2), folder, games=10, seed=3)
    assert (again.games, again.there, again.stopped) == (4, 6, False)  # none is played twice
    assert not [*folder.glob("*.part")]
    assert contents(folder) == contents(tmp_path / "whole")
    other = play("material", SHORT, tmp_path / "other", games=10, seed=4)
    assert other.games == 10
    assert not contents(tmp_path / "other").keys() & contents(folder).keys()


def test_games_of_an_incomplete_group_outlive_a_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped_after(count: int, name: str) -> Path:
        stop, folder, seen = Stop(), tmp_path / name, []

        def on_game(game: GameSummary) -> None:
            seen.append(game.number)
            if len(seen) == count:
                stop.request()

        play("material", SHORT, folder, games=8, seed=3, stop=stop, on_game=on_game)
        return folder

    play("material", SHORT, tmp_path / "whole", games=8, seed=3)
    whole = contents(tmp_path / "whole")
    damaged, other = stopped_after(2, "damaged"), stopped_after(2, "other")
    (part,) = damaged.glob("*.part")
    part.write_bytes(part.read_bytes()[:-40] + bytes(40))
    report = play("material", SHORT, damaged, games=8, seed=3)
    assert (report.games, report.there, contents(damaged)) == (7, 1, whole)  # the last was damaged
    assert "damaged, its games are played again" in capsys.readouterr().err
    # Groups of another size take the games over, but for the last one of a group.
    report = play("material", replace(SHORT, group=2), other, games=8, seed=3)
    assert (report.games, report.there) == (7, 1)
    assert not [*other.glob("*.part")]


DIES = """
import os, signal, sys
from dataclasses import replace
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.play import play
settings = SelfPlay(playouts=4, most_plies=30, group=20, workers=1)
seen = []
def on_game(game):
    seen.append(game.number)
    if len(seen) == 8:
        os.kill(os.getpid(), signal.SIGKILL)
play("material", settings, sys.argv[1], games=20, seed=3, on_game=on_game)
"""


def test_a_process_that_is_killed_loses_no_game_that_was_over(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    died = subprocess.run([sys.executable, "-c", DIES, str(killed)], check=False)
    assert died.returncode == -signal.SIGKILL
    (part,) = killed.glob("*.part")
    part.write_bytes(part.read_bytes() + b"\x40\0\0\0\1\2")  # it was writing the next one
    settings = SelfPlay(playouts=4, most_plies=30, group=20, workers=1)
    report = play("material", settings, killed, games=20, seed=3)
    assert (report.games, report.there) == (13, 7)  # the eighth was not handed over yet
    play("material", settings, whole, games=20, seed=3)
    assert contents(killed) == contents(whole)


def kill_and_go_on(words: list[str], folder: Path) -> int:
    """Kill a run at its first shard, go on, compare with a whole one; shards when it was killed."""
    killed, whole = folder / "killed", folder / "whole"
    command = [sys.executable, "-m", "kibitz", *words, str(killed)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while not (killed.is_dir() and any(killed.glob("*.shard"))) and run.poll() is None:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
    there = len(contents(killed))
    assert there > 0
    assert main([*words, str(killed)]) == 0
    assert main([*words, str(whole)]) == 0
    assert contents(killed) == contents(whole)
    return there


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    words = ["selfplay", "--network", "material", "--games", "400", "--set", "group=2"]
    assert kill_and_go_on([*words, "--set", "workers=2", "--json"], tmp_path) < 200


def test_a_damaged_shard_is_named_and_its_games_are_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play("material", SHORT, tmp_path, games=8, seed=1)
    before = contents(tmp_path)
    path = sorted(tmp_path.glob("*.shard"))[1]
    path.write_bytes(path.read_bytes()[:-100] + b"x" * 100)
    report = play("material", SHORT, tmp_path, games=8, seed=1)
    assert (report.games, report.there, report.damaged) == (4, 4, [str(path)])
    assert path.name in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_written_is_refused_before_a_game(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")

    def on_game(game: GameSummary) -> None:
        raise AssertionError(f"game {game.number} was played")

    with pytest.raises(FileError, match="file"):
        play("material", SHORT, tmp_path / "file" / "in", games=4, seed=1, on_game=on_game)


def test_games_of_other_settings_do_not_mix(tmp_path: Path) -> None:
    play("material", SHORT, tmp_path, games=4, seed=1)
    with pytest.raises(InputError, match=r"other settings \(playouts 16 there, 17 now\)"):
        play("material", replace(SHORT, playouts=17), tmp_path, games=4, seed=1)
    with pytest.raises(InputError, match="games of other network"):
        play("uniform", SHORT, tmp_path, games=4, seed=1)
    assert play("material", SHORT, tmp_path, games=4, seed=1, generation=1).games == 4


# --- the same as by the searcher ------------------------------------------------------------------


class Rounded(InlineBatch):
    """Material with the digits that the prediction cache keeps."""

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        super().evaluate(leaves, out)
        for row, wdl in enumerate(out.wdl.astype(float)):
            value = 2 * (int((wdl[0] - wdl[2] + 1) / 2 * (2**32 - 1)) / (2**32 - 1)) - 1
            draw = int(wdl[1] * 65_535 + 0.5) / 65_535
            out.wdl[row] = (1 - draw + value) / 2, draw, (1 - draw - value) / 2
            part = slice(leaves.offsets[row], leaves.offsets[row + 1])
            powers = np.exp((out.logits[part] - out.logits[part].max()).astype(float))
            steps = np.floor(powers / powers.sum() * 65_536 + 0.5).clip(1, 65_536)
            out.logits[part] = np.log((steps / 65_536).astype(np.float32).astype(float))


def by_searcher(
    settings: SelfPlay, number: int, evaluator: Evaluator
) -> list[tuple[int, float, float, Any]]:
    """Move, value, draw and policy of every ply, each searched by a Searcher from Python."""
    seat = Seat(settings)
    found: list[tuple[int, float, float, Any]] = []
    Starts(settings, 1).begin_game(seat, number)
    (game,) = games_of(as_shard([replace(seat.finished(), number=number)]))
    search = settings.searching().with_(
        noise_epsilon=settings.noise, noise_alpha=settings.noise_alpha, hash=1, minibatch_size=1
    )
    board = Board(game.start)
    with Searcher(evaluator, search) as searcher:
        if isinstance(searcher.driver.work, Batches):
            searcher.driver.work.free.pop()  # nothing is gathered while a leaf is evaluated
        random_state = seat.searches[0].contexts[0].record.random_state
        searcher.contexts[0].record.random_state = random_state
        while board.outcome(claim=True) is None and len(found) < settings.most_plies:
            if not settings.reuse:
                searcher.new_game()
            limits = Limits(nodes=settings.playouts + 1, movetime=10**7)  # mates stay as they are
            move = searcher.search(board, limits).move
            assert move is not None
            code = int(relative(board.position, move))
            value, draw = searched_value(searcher.memory.record)
            found.append((code, value, draw, policy_target(searcher.memory, searcher.rule)))
            board.push(move)
    return found


@pytest.mark.parametrize(
    "settings",
    [
        replace(SHORT, most_plies=150),
        replace(BY_VISITS, temperature=0.0, noise=0.25, most_plies=150),
        replace(BY_VISITS, temperature=0.0, noise=0.25, reuse=True),
    ],
    ids=["gumbel", "visits", "reuse"],
)
def test_compiled_games_are_those_of_the_searcher(settings: SelfPlay) -> None:
    material = inline_evaluator(Material())
    for number, game in enumerate(alone(settings, 3)):
        expected = by_searcher(settings, number, material)
        found = [(ply.move, ply.value, ply.draw, ply.visits) for ply in game.plies]
        assert [row[0] for row in found] == [row[0] for row in expected]
        assert [row[3] for row in found] == [row[3] for row in expected]
        for column in (1, 2):
            expected_numbers = [row[column] for row in expected]
            assert [row[column] for row in found] == pytest.approx(expected_numbers, abs=1e-6)


def in_step(settings: SelfPlay, count: int) -> list[Game]:
    run, cache = Few(count), PredictionCache(settings.cache << 20 or 2_000)
    player = BatchedPlayer(InlineBatch(inline_evaluator(Material())), settings, cache)
    player.play(Starts(settings, 1), run)
    return [*games_of(as_shard([run.games[number] for number in range(count)]))]


IN_STEP = [
    SHORT,
    replace(BY_VISITS, temperature=0.0, noise=0.25, reuse=True, most_plies=80),
]


@pytest.mark.parametrize(
    "settings",
    [pytest.param(IN_STEP[0], marks=pytest.mark.slow), IN_STEP[1]],
    ids=["gumbel", "visits"],
)
def test_games_in_step_are_those_of_the_searcher(settings: SelfPlay) -> None:
    rounded = Rounded(inline_evaluator(Material()))
    together = in_step(replace(settings, rows=3), 4)
    for number, game in enumerate(together):
        expected = by_searcher(settings, number, rounded)
        found = [(ply.move, ply.value, ply.draw, ply.visits) for ply in game.plies]
        assert [row[0] for row in found] == [row[0] for row in expected]
        assert [row[3] for row in found] == [row[3] for row in expected]
        for column in (1, 2):
            expected_numbers = [row[column] for row in expected]
            assert [row[column] for row in found] == pytest.approx(expected_numbers, abs=1e-6)
    for changes in ({"rows": 1}, {"rows": 16}, {"cache": 0}, {"hash": 0.16}):
        again = in_step(replace(settings, **changes), 4)  # nor does a full tree change it
        assert again == together or "hash" in changes


def test_games_are_legal_and_end_by_the_rules() -> None:
    for game in alone(replace(SHORT, most_plies=400), 12):
        board = chess.Board(game.start)
        for ply in game.plies:
            assert not board.is_game_over(claim_draw=False)
            legal = {move.uci() for move in board.legal_moves}
            view = Board(board.fen())
            assert {absolute(view.position, code).uci() for code, _ in ply.visits} <= legal
            board.push_uci(absolute(view.position, ply.move).uci())
        ends = {"1-0": 1, "0-1": -1}
        if game.end == "checkmate":
            assert board.is_checkmate()
            assert ends[board.result()] == game.result
        elif game.end != "ply limit":
            assert board.outcome(claim_draw=True) is not None
            assert game.result == 0


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_presets_work(name: str) -> None:
    assert preset(name).validated().idle() == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"reuse": True}, "reuse"),
        ({"forced": 2.0}, "forced"),
        ({"kl_gain": 0.001}, "kl_gain"),
        ({"rule": "puct", "sc_limit": 10}, "trees"),
        ({"random_plies": (4, 2)}, "random_plies"),
        ({"kind": "alphabeta", "random_share": (0.2, 0.1)}, "random_share"),
        ({"odds": "queen", "chess960": 0.5}, "odds"),
        ({"options": ("Threads=2",)}, "Threads"),
        ({"options": ("SearchRule=puct",)}, "SearchRule=puct beside rule=gumbel"),
        ({"options": ("Search=alphabeta",)}, "Search: .alphabeta."),
    ],
)
def test_what_cannot_work_says_so(changes: dict[str, Any], named: str) -> None:
    with pytest.raises((ConfigError, InputError), match=named):
        replace(SelfPlay(), **changes).validated()


def test_settings_that_came_later_are_written_only_where_they_are_used() -> None:
    """Shards from before them go on."""
    plain = preset("alphabeta")
    assert not {"random_share", "noisy"} & plain.of_games().keys()
    changed = replace(plain, random_share=(0.0, 0.1), noisy=True).of_games()
    assert (changed["random_share"], changed["noisy"]) == ((0.0, 0.1), True)


def test_what_has_no_effect_says_so() -> None:
    assert "temperature" in replace(SelfPlay(), temperature=0.5).idle()[0]
    assert "kl_interval" in replace(BY_VISITS, kl_interval=7).idle()[0]


def policies(games: Sequence[Game]) -> tuple[int, int]:
    """Plies with a policy, and all."""
    plies = [ply for game in games for ply in game.plies]
    assert all(bool(ply.visits) != bool(ply.flags & NOT_A_POLICY) for ply in plies)
    return sum(bool(ply.visits) for ply in plies), len(plies)


def test_randomised_playouts_teach_a_share_of_policies() -> None:
    games = alone(replace(SHORT, full=0.25, fast_playouts=4), 20)
    full, plies = policies(games)
    assert abs(full - 0.25 * plies) < 4 * math.sqrt(0.25 * 0.75 * plies)


def test_calm_searches_stop_sooner_and_resigned_games_are_over() -> None:
    settings = replace(BY_VISITS, playouts=200, most_plies=200, kl_gain=0.0005, kl_interval=20)
    settings = replace(settings, resign=0.5, resign_plies=2, played_out=0.3)
    run = Few(12)
    InlinePlayer(inline_evaluator(Material()), settings).play(Starts(settings, 1), run)
    playouts = sum(game.playouts for game in run.games.values())
    assert playouts < 0.95 * 200 * sum(len(game.plies) for game in run.games.values())
    resigned = [game for game in run.games.values() if ENDS[game.end] == "resigned"]
    assert resigned
    assert not any(game.played_out for game in resigned)
    for game in resigned:
        assert game.result == {1: -1, 2: 1}[game.given_up]
        assert (game.plies["value"][-3::2] < -0.5).all()  # the last two of that side


def adjudicated(game: Finished, settings: SelfPlay) -> tuple[int, str, int]:
    """When a game ends by agreement, how, and the result for White; (plies, "", 0) if it does not.

    By values alone: each is for the side to move.
    """
    white, lost, level = bool(game.start["side"][0] == 0), {True: 0, False: 0}, 0
    for ply, value in enumerate(game.plies["value"].tolist()):
        lost[white] = lost[white] + 1 if value < -settings.resign else 0
        level = level + 1 if abs(value) <= settings.draw else 0
        if settings.resign and lost[white] == settings.resign_plies and not game.played_out:
            return ply + 1, "resigned", -1 if white else 1
        if settings.draw and level >= settings.draw_plies and ply >= settings.draw_from:
            return ply + 1, "adjudicated: level", 0
        white = not white
    return len(game.plies), "", 0


@pytest.mark.parametrize(
    "changes",
    [
        {"draw": 0.25, "draw_plies": 5, "draw_from": 12},
        {"resign": 0.4, "resign_plies": 2, "played_out": 0.4},
        {"draw": 0.15, "draw_plies": 3, "draw_from": 0, "resign": 0.6, "resign_plies": 1},
    ],
    ids=["draws", "resignation", "both"],
)
def test_games_are_adjudicated_when_values_say_so(changes: dict[str, Any]) -> None:
    settings = replace(BY_VISITS, most_plies=120, **changes)
    run = Few(16)
    InlinePlayer(inline_evaluator(Material()), settings).play(Starts(settings, 1), run)
    agreed = 0
    for game in run.games.values():
        plies, end, result = adjudicated(game, settings)
        assert plies == len(game.plies)
        if end:
            assert (ENDS[game.end], game.result) == (end, result)
            agreed += 1
        else:
            assert ENDS[game.end] not in ("resigned", "adjudicated: level")
    assert agreed > 3


def test_a_share_of_games_is_played_out() -> None:
    settings, count = replace(BY_VISITS, resign=0.9, played_out=0.2, most_plies=2), 600
    seat, starts = Seat(settings), Starts(settings, 1)
    played_out = 0
    for number in range(count):
        starts.begin_game(seat, number)
        played_out += int(seat.record.played_out)
    assert abs(played_out - 0.2 * count) < 4 * math.sqrt(0.2 * 0.8 * count)


# --- networks that are asked in batches -----------------------------------------------------------

TOWER = "kibitz-plain-4x64"
FEW = replace(SelfPlay(), playouts=8, most_plies=10, group=1)


def test_a_tower_plays_the_same_bytes_whatever_the_rows_and_threads(tmp_path: Path) -> None:
    runs = {"one": (1, 1, 0), "three": (3, 2, 1), "many": (64, 1, 64)}
    for name, (rows, workers, cache) in runs.items():
        settings = replace(FEW, rows=rows, workers=workers, cache=cache)
        report = play(TOWER, settings, tmp_path / name, games=4, seed=3)
        assert 0 < report.leaves <= report.room
    assert contents(tmp_path / "one") == contents(tmp_path / "three") == contents(tmp_path / "many")


@pytest.mark.slow
def test_a_killed_run_of_a_tower_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    words = ["selfplay", "--network", TOWER, "--games", "10", "--json"]
    for text in ("playouts=8", "most_plies=10", "group=1", "rows=2", "workers=1"):
        words += ["--set", text]
    assert kill_and_go_on(words, tmp_path) < 10


@pytest.mark.slow
def test_search_contempt_has_a_tree_for_each_side() -> None:
    settings = replace(BY_VISITS, sc_limit=6, trees=2, reuse=True).validated()
    games = alone(settings, 4)
    assert policies(games)[0] == sum(len(game.plies) for game in games)
    assert games != alone(replace(settings, sc_limit=12), 4)


def test_odds_and_chess960_and_books(tmp_path: Path) -> None:
    odds = alone(replace(SHORT, odds="rook", random_plies=(0, 0), most_plies=4), 4)
    boards = [chess.Board(game.start) for game in odds]
    counts = [(len(one.pieces(4, True)), len(one.pieces(4, False))) for one in boards]
    assert counts == [(1, 2), (2, 1), (1, 2), (2, 1)]
    starts = {game.start for game in alone(replace(SHORT, chess960=1.0, most_plies=1), 8)}
    assert len(starts) == 8
    book = tmp_path / "book.epd"
    book.write_text("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - bm Ra8#;\n")
    settings = replace(SHORT, openings=str(book), random_plies=(0, 0))
    play("material", settings, tmp_path / "games", games=4, seed=1)
    assert {game.start.split()[0] for game in games_in(tmp_path / "games")} == {
        "6k1/5ppp/8/8/8/8/5PPP/R5K1"
    }


# --- the command ----------------------------------------------------------------------------------


def test_the_command_reports_and_writes_a_pgn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["selfplay", str(tmp_path / "games"), "--network", "material", "--games", "4"]
    words += ["--set", "most_plies=30", "--set", "workers=1", "--pgn", str(tmp_path / "some.pgn")]
    assert main([*words, "--every", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["games"] == 4
    assert sum(result["results"].values()) == 4
    text = (tmp_path / "some.pgn").read_text()
    assert text.count("[Event") == 2
    assert '[White "material"]' in text
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["there"] == 4
    assert main(["selfplay", str(tmp_path / "x"), "--set", "playout=3"]) == 2
    assert "playouts" in capsys.readouterr().err


def test_the_report_counts() -> None:
    report = SelfPlayReport(games=2, plies=30, seconds=2.0, lengths=[10, 20])
    assert report.facts()["moves_per_second"] == 15.0
    assert report.facts()["longest"] == 20
    assert np.isfinite(report.facts()["games_per_second"])


def test_the_page_has_every_setting() -> None:
    page = (Path(__file__).parents[2] / "docs" / "selfplay.md").read_text()
    rows = [f"| `{one.name}` | {one.help} |" for one in options_of(SelfPlay)]
    assert [row for row in rows if row not in page] == []

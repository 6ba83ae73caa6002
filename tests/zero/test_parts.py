"""The formulas of learning, the control of search-contempt, and the scale of ratings."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibitz
from kibitz.arena.match.elo import Pairs, Sprt
from kibitz.core.errors import ConfigError, DamagedFileError
from kibitz.core.files import sha256_of
from kibitz.core.log import Stop
from kibitz.core.settings import dump
from kibitz.nets.discover import shipped_default
from kibitz.zero.config import Learn, from_file
from kibitz.zero.folder import Folder, Group, Rated, Result, Trained, Work
from kibitz.zero.loop import tuned
from kibitz.zero.rating import best_of, identity_of, opponents_of, player_of, ratings_of, scale
from kibitz.zero.selfplay.config import next_sc_limit
from kibitz.zero.status import duration, label_of, line_of, rows_of, status_of
from tests.zero.test_learn import begin

SHIPPED = str(shipped_default())


def test_the_settings_file_reads_back_as_it_was(tmp_path: Path) -> None:
    settings = from_file(None, ["learn.games=7", "optimiser.weight_decay=0.5"])
    file = tmp_path / "learn.toml"
    file.write_text(dump(settings))
    assert from_file(file) == settings
    assert settings.optimiser.weight_decay == 0.5


def test_the_window_grows_as_katago_has_it() -> None:
    learn = Learn(window=100, window_growth=0.75)
    assert [learn.window_of(n) for n in (10, 100)] == [10, 100]
    expected = 100 * (1 + 0.4 * ((2000 / 100) ** 0.75 - 1) / 0.75)
    assert learn.window_of(2000) == round(expected)
    sizes = [learn.window_of(n) for n in range(0, 5000, 50)]
    assert sizes == sorted(sizes)
    assert Learn(window=100, window_growth=0).window_of(5000) == 100


def test_games_are_by_alphabeta_unless_something_else_is_said(tmp_path: Path) -> None:
    usual, tree = from_file(None), from_file(None, ["selfplay.kind=mcts"])
    assert (usual.selfplay.kind, usual.learn.start) == ("alphabeta", "random")
    assert usual.learn.gate_bounds == (0.0, 50.0)
    assert (tree.selfplay.kind, tree.learn.start, tree.learn.gate_bounds) == ("mcts", "uniform", ())
    file = tmp_path / "settings.toml"
    file.write_text('[selfplay]\nkind = "mcts"\n[learn]\nrating_nodes = 7\n')
    assert (from_file(file).learn.start, from_file(file).learn.rating_nodes) == ("uniform", 7)
    assert from_file(file, ["selfplay.kind=alphabeta"]).learn.start == "random"
    for bounds in ("[50, 0]", "[5]"):
        with pytest.raises(ConfigError, match=r"learn.gate_bounds.*the lower one first"):
            from_file(None, [f"learn.gate_bounds={bounds}"])


def test_a_killed_process_is_gone_from_the_status_at_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    now = "Now(role='play', stage='play', generation=0, done=0, total=8, rate=0, "
    code = (
        "import os, sys, time; from pathlib import Path; from kibitz.zero.folder import *\n"
        "folder = Folder(Path(sys.argv[1]))\n"
        "with folder.present('play'):\n"
        f"    folder.say_now({now}time=time.time(), process=os.getpid()))\n"
        "    print('here', flush=True); time.sleep(1000)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        assert [now.process for now in folder.live_processes()] == [process.pid]
        process.kill()
    assert folder.live_processes() == []
    folder.remove_dead_processes()
    assert not any((tmp_path / "processes").iterdir())


def test_a_run_names_its_damaged_network_and_knows_sizes_without_records(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.begin(from_file(None, ["selfplay.kind=mcts", "learn.grow=['2:sparse-16']"]))
    made = Trained(
        generation=2, size="sparse-16", plays=2, window=1, steps=1, rate=1.0, losses={},
        validation={}, processor=1.0,
    )  # fmt: skip
    folder.write(tmp_path / "trained" / "0002.json", made)
    sizes = [row.size for row in rows_of(folder, {})]
    assert sizes == ["uniform", "sparse-64x32-threats", "sparse-16"]
    with pytest.raises(DamagedFileError, match=r"0002.safetensors.*remove .*trained/0002.json"):
        folder.check_networks()


def test_a_wider_network_begins_with_the_first_rate() -> None:
    learn = Learn(rate=0.01, rate_decay=0.5, rate_lowest=0.001, grow=("3:sparse-16",))
    assert [learn.rate_of(n) for n in range(1, 8)] == [
        0.01,
        0.005,
        0.01,
        0.005,
        0.0025,
        0.00125,
        0.001,
    ]
    assert [learn.size_of(n) for n in (2, 3, 9)] == [learn.network, "sparse-16", "sparse-16"]
    wider = learn.training(3, 1000, 100, 1, "last.safetensors", learn.network)
    assert wider.run.network == "sparse-16"
    assert wider.distill.teacher == "last.safetensors"
    after = learn.training(4, 1000, 100, 1, "last.safetensors", "sparse-16")
    assert after.run.network == after.distill.teacher == "last.safetensors"
    assert after.run.steps == math.ceil(learn.reuse * 100 / after.run.batch)


def test_a_share_of_the_positions_teaches_the_policy() -> None:
    for share in (0.25, 1.0):
        learn = Learn(policy_share=share)
        training = learn.training(2, 1000, 100, 1, "last.safetensors", learn.network)
        assert training.data.policy_share == share
    by_tree_search = from_file(None, ["selfplay.kind=mcts"]).learn
    assert (by_tree_search.policy_share, Learn().policy_share) == (1, 0.25)


def test_results_count_less_as_searches_come_to_know_more() -> None:
    learn = Learn(result_share=0.4, result_fade=3)
    assert [learn.result_share_of(n) for n in range(1, 6)] == pytest.approx([1, 0.8, 0.6, 0.4, 0.4])


def group(white: int, draws: int, black: int, sc_limit: int = 5) -> Group:
    return Group(
        games=white + draws + black, positions=10, playouts=100, white=white, draws=draws,
        black=black, seconds=1.0, processor=1.0, playouts_set=16, sc_limit=sc_limit,
    )  # fmt: skip


def test_the_controller_finds_the_limit_that_keeps_decided_games_and_draws_level() -> None:
    """Games as the paper's figure 2 has them: 1.381 decided ones a draw at 5, 0.316 at 32."""
    random, limit, ratios = np.random.default_rng(1), 300, []
    power = math.log(1.381 / 0.316) / math.log(32 / 5)
    for _ in range(12):
        ratio = 1.381 * (5 / limit) ** power
        draws = int(random.binomial(3000, 1 / (1 + ratio)))
        ratios.append(ratio)
        limit = next_sc_limit(limit, 3000 - draws, draws, 1.0, 0.8)
    assert all(0.8 < ratio < 1.25 for ratio in ratios[6:])


def test_the_limit_moves_and_playouts_double_with_the_games(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    limits = ("selfplay.playouts=10", "selfplay.sc_limit=20", "selfplay.trees=2")
    settings = from_file(None, ["selfplay.kind=mcts", "selfplay.rule=puct", *limits])
    control = replace(settings.learn, ratio=1.0, doubling=100, most_playouts=35)
    settings = replace(settings, learn=control)
    assert tuned(folder, settings, 0) == settings.selfplay
    for number, one in enumerate([group(10, 80, 10, 20), group(70, 10, 20, 12)]):
        folder.write(folder.group_file(number, 0), one)
    assert tuned(folder, settings, 1).sc_limit < 20
    later = tuned(folder, settings, 2)
    assert later.sc_limit > 12
    assert later.playouts == 35


def test_ratings_come_from_all_games_and_hold_to_the_anchor() -> None:
    games = [
        ("1", Result(opponent="random", wins=75, draws=0, losses=25)),
        ("2", Result(opponent="1", wins=50, draws=50, losses=0)),
        ("2", Result(opponent="1", wins=25, draws=50, losses=25)),
    ]
    found = scale(games, Learn(anchor="random", anchor_elo=100.0))
    # With one draw more between those who met, the score of a pair alone says how far apart.
    first = 400 * math.log10(75.5 / 25.5)
    assert found["random"].elo == pytest.approx(100)
    assert found["1"].elo == pytest.approx(100 + first, abs=0.1)
    assert found["2"].elo == pytest.approx(100 + first + 400 * math.log10(125.5 / 75.5), abs=0.1)
    assert best_of(found, 2) == 2
    assert best_of({}, 2) == 2
    near, below = found["2"]._replace(elo=found["2"].elo - 49), found["1"]
    assert best_of({**found, "3": near}, 4) == 3  # the newest of those that are hardly apart
    assert best_of({**found, "3": below}, 4) == 2


def test_who_is_beaten_is_met_no_more() -> None:
    learn = Learn(opponents=("random", "greedy"), earlier=(1, 2), beaten=0.9)
    beaten = Result(opponent="random", wins=19, draws=1, losses=0)
    close = Result(opponent="greedy", wins=1, draws=1, losses=18)
    rated = {3: Rated(generation=3, results=(beaten, close), processor=1.0)}
    assert opponents_of({}, learn, 3, {}) == ["random", "greedy", "0"]
    same = {"random": "", "greedy": ""}
    assert opponents_of(rated, learn, 4, same) == ["greedy", "0", "3"]
    changed = {"random": "another", "greedy": ""}  # it may be stronger: it is met once more
    assert opponents_of(rated, learn, 4, changed) == ["random", "greedy", "0", "3"]


def test_a_player_is_known_by_search_network_and_version(tmp_path: Path) -> None:
    folder, learn = Folder(tmp_path), Learn(rating_search="mcts")
    assert "Search=mcts" in player_of(folder, learn, "material")
    assert "Search=alphabeta" in player_of(folder, learn, "material,Search=alphabeta")
    assert "mcts" not in player_of(folder, learn, "material,Search=alphabeta")
    assert player_of(folder, learn, "greedy") == "greedy"
    identity = identity_of(folder, player_of(folder, learn, "material"))
    assert "search=mcts" in identity
    assert kibitz.__version__ in identity
    assert f"#{sha256_of(SHIPPED)[:12]}" in identity_of(folder, f"{SHIPPED},Search=mcts")


@pytest.mark.slow
def test_rating_games_have_new_openings_each_match_and_the_last_network_is_rated(
    tmp_path: Path,
) -> None:
    begin(tmp_path / "run", "learn.rate_every=10", "learn.rating_games=4", generations=2)
    run = Folder(tmp_path / "run")
    assert sorted(run.rated()) == [1, 2]  # 2 is not a tenth, but the last
    books = []
    for path in sorted((run.root / "matches").glob("*.jsonl")):
        games = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        books.append({tuple(game["book"]) for game in games})
        assert len(books[-1]) == 2
    assert len(books) == sum(len(one.results) for one in run.rated().values()) > 4
    assert len(set.union(*books)) == 2 * len(books)


def test_intervals_are_as_wide_as_pairs_vary() -> None:
    def rated_by(pairs: tuple[int, ...]) -> float:
        one = Result(opponent="random", wins=50, draws=0, losses=50, pairs=pairs)
        return scale([("1", one)], Learn(anchor="random"))["1"].error

    independent = rated_by(())
    # Each opening decides both games: pairs are won or lost whole, and say as little as 50 games.
    assert rated_by((25, 0, 0, 0, 0, 25)) == pytest.approx(independent * math.sqrt(2), rel=0.02)
    # White wins each game: all pairs are level.
    assert rated_by((0, 0, 50, 0, 0, 0)) == 0
    few = Result(opponent="random", wins=5, draws=0, losses=5, pairs=(0, 0, 5, 0, 0, 0))
    assert scale([("1", few)], Learn(anchor="random"))["1"].error > 0


@pytest.mark.slow
def test_games_of_gates_count_in_the_ratings(tmp_path: Path) -> None:
    begin(
        tmp_path / "run", "learn.gate=0.1", "learn.gate_games=4", "learn.earlier=[4]", generations=2
    )
    run = Folder(tmp_path / "run")
    games = run.trained()[2].gate_games
    assert games is not None
    assert games.opponent == "1"
    rated = sum(one.wins + one.draws + one.losses for one in run.rated()[2].results)
    assert ratings_of(run)["2"].games == rated + 4


def test_a_gate_is_a_test_that_ends_when_it_is_decided(tmp_path: Path) -> None:
    wide = ("learn.gate_bounds=[0, 500]", "learn.gate_games=40", "learn.earlier=[4]")
    begin(tmp_path / "run", *wide, generations=2)
    second = Folder(tmp_path / "run").trained()[2]
    games = second.gate_games
    assert games is not None
    sprt, pairs = Sprt(0.0, 500.0), Pairs(*games.pairs)
    assert sprt.verdict(pairs) is not None
    assert pairs.total < 20  # not all of them
    assert second.plays == (2 if sprt.llr(pairs) > 0 else 1)


def test_opponents_are_called_by_their_names() -> None:
    assert label_of("uci:stockfish --fast,name=fish,movetime=10") == "fish"
    assert label_of("greedy") == "greedy"
    assert label_of("uci:x,name=fish (until generation 4)") == "fish (until generation 4)"
    own = {"uci:python3 x.py": "Fish 2"}
    assert label_of("uci:python3 x.py (until generation 4)", own) == "Fish 2 (until generation 4)"


def trained(generation: int, **more: Any) -> Trained:
    return Trained(
        generation=generation, size="sparse-8x8", plays=generation, window=1, steps=1, rate=1.0,
        losses={"value": 0.5, "policy": 2.0}, processor=36.0, seconds=100.0, **more,
    )  # fmt: skip


def test_the_table_has_losses_of_held_out_games_times_and_what_is_left(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.begin(from_file(None, ["learn.generations=10", "learn.total_games=4000"]))
    held_out = {"value": 0.7, "policy": 2.5}
    for number in (1, 2):
        folder.write(folder.group_file(number - 1, number), group(30, 40, 30, 5))
        file = tmp_path / "trained" / f"{number:04}.json"
        folder.write(file, trained(number, validation=held_out))
    won = Result(opponent="greedy", wins=3, draws=0, losses=1)
    match = Rated(generation=1, results=(won,), processor=1800.0, seconds=50.0)
    folder.write(tmp_path / "rated" / "0001.json", match)
    found = status_of(folder)
    assert found.rows[2].loss_value == 0.7
    assert "held-out losses 0.700 value, 2.500 policy" in line_of(found.rows[2])
    assert found.rows[2].rating_hours == 0.5
    said = " ".join(found.lines)
    assert "30 min of rating beside it" in said
    assert "losses on held-out games" in said
    assert "may rise while the network gets better" in said
    each = 100.0 + group(30, 40, 30, 5).seconds + 25.0
    assert f"about {duration(8 * each / 3600)} to 10 generations" in said
    assert f"about {duration(38 * each / 3600)} to 4,000 games" in said


def test_speed_is_measured_from_the_first_that_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = 0.0
    monkeypatch.setattr("kibitz.zero.folder.time.monotonic", lambda: moment)
    folder = Folder(tmp_path)
    work = Work(folder, from_file(None), Stop(), "all")
    with folder.present("all"):
        work.begin("play", 0, 100)
        moment = 60.0  # kernels were compiled
        work.advance()
        moment = 65.0
        work.advance(10)
        (now,) = folder.live_processes()
    assert (now.done, now.rate) == (11, 2.0)

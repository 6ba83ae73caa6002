"""Learning from nothing, whole: two generations in seconds, killed, shared, damaged, pruned."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from kibitz.cli import main
from kibitz.core.errors import InputError
from kibitz.core.log import Stop
from kibitz.data.shard import read
from kibitz.data.store import Store, shards_in
from kibitz.nets import files as network_files
from kibitz.nets.discover import resolve
from kibitz.nets.files import read_card
from kibitz.zero.config import from_file
from kibitz.zero.folder import Folder, Work
from kibitz.zero.loop import Learning, Role
from kibitz.zero.rating import ratings_of

TINY = (
    *("selfplay.kind=mcts", "learn.games=6", "learn.group=3", "selfplay.group=2", "learn.cores=1"),
    *("selfplay.playouts=2", "selfplay.most_plies=24", "learn.network=sparse-8x8"),
    *("learn.batch=64", "learn.rating_games=2", "learn.rating_nodes=4", "learn.validation=0"),
    *("learn.rate_every=1", "learn.opponents=['random', 'greedy']"),
)


def flags(*settings: str) -> list[str]:
    last = {text.partition("=")[0]: text for text in settings}  # a key may be given once
    return [word for text in last.values() for word in ("--set", text)]


def begin(folder: Path, *more: str, generations: int = 2) -> None:
    words = ["learn", str(folder), "--generations", str(generations), *flags(*TINY, *more)]
    assert main(words) == 0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run of two generations, the second one with a wider network."""
    folder = tmp_path_factory.mktemp("learn") / "run"
    begin(folder, "learn.grow=['2:sparse-16x8']")
    return Folder(folder)


def weights(folder: Folder, generation: int) -> dict[str, bytes]:
    _, arrays = network_files.load(folder.network(generation, playing=False))
    return {name: array.tobytes() for name, array in arrays.items()}


def test_each_generation_keeps_its_network_its_settings_and_its_figures(finished: Folder) -> None:
    assert sorted(finished.trained()) == sorted(finished.rated()) == [1, 2]
    assert [read_card(finished.network(n)).size for n in (1, 2)] == ["sparse-8x8", "sparse-16x8"]
    card = read_card(finished.network(2))
    assert (card.name, card.precision) == ("run-0002", "int8")
    assert card.provenance.data.startswith("12 games against itself, ")
    assert card.provenance.commands == ("kibitz learn: generations 1 to 2",)
    text = (finished.root / "generations.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["games"] for line in lines] == [6, 6, 0]
    assert [line["all_games"] for line in lines] == [0, 6, 12]
    for line in lines[:2]:
        played = line["played"]
        assert played["white"] + played["draws"] + played["black"] == 6
        assert played["playouts_a_move"] == 2
    for line in lines[1:]:
        assert line["trained"]["steps"] > 0
        assert sum(
            game["wins"] + game["draws"] + game["losses"] for game in line["rated"]["results"]
        )
    assert (finished.root / "curve.svg").read_text().startswith("<svg")


def starts_of(folder: Folder, generation: int) -> list[tuple[int, bytes]]:
    """Seed and first four plies of each game."""
    shards = [read(path) for path in sorted(folder.games(generation).glob("*.shard"))]
    return [
        (int(shard.seeds[game]), shard.moves[shard.offsets[game] :][:4].tobytes())
        for shard in shards
        for game in range(shard.games)
    ]


@pytest.mark.slow
def test_no_generation_repeats_the_random_numbers_of_another_also_after_a_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path / "run", "learn.games=30", "learn.group=10", generations=2)
    assert main(["learn", str(tmp_path / "run"), "--resume", "--generations", "3"]) == 0
    run = Folder(tmp_path / "run")
    found = [starts_of(run, generation) for generation in range(3)]
    seeds = [seed for games in found for seed, _ in games]
    assert len(seeds) == len(set(seeds)) == 90
    for first, second in ((0, 1), (1, 2)):
        pairs = zip(found[first], found[second], strict=True)
        same = [a for (_, a), (_, b) in pairs if a == b]
        assert len(same) < 10  # of 30; with the same random numbers they are nearly all alike
    capsys.readouterr()
    assert main(["data", "stats", str(run.games()), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["unique_openings"] > 0.9


def test_a_run_that_ends_within_a_generation_counts_all_games_of_its_shards(
    tmp_path: Path,
) -> None:
    begin(tmp_path / "run", "learn.total_games=3", generations=9)
    lines = (tmp_path / "run" / "generations.jsonl").read_text().splitlines()
    games = [json.loads(line)["games"] for line in lines]
    assert sum(games) == sum(shard.games for shard in Store(shards_in(tmp_path / "run")))
    assert games == [Folder(tmp_path / "run").all_games] != [0]


@pytest.mark.slow
def test_a_generation_has_no_more_games_than_its_settings_say(tmp_path: Path) -> None:
    begin(tmp_path / "run", "learn.games=4", "learn.group=200", generations=2)
    run = Folder(tmp_path / "run")
    assert [group.games for at in (0, 1) for group in run.groups(at).values()] == [4, 4]
    seeds = [seed for at in (0, 1) for seed, _ in starts_of(run, at)]
    assert len(set(seeds)) == 8


@pytest.mark.slow
def test_a_network_that_has_learned_goes_on_in_another_run(
    finished: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taught = finished.network(2, playing=False)
    sizes = "learn.network=sparse-16x8", "learn.gate_games=2"
    begin(tmp_path / "run", f"learn.start={taught}", *sizes, generations=1)
    run = Folder(tmp_path / "run")
    assert weights(run, 0) == weights(finished, 2) != weights(run, 1)
    assert run.settings().learn.result_share_of(1) == 0.5  # its searches know something
    assert "0001.safetensors" not in (run.training(1) / "training.toml").read_text()
    assert "networks/0000.safetensors" in (run.training(1) / "training.toml").read_text()
    card = read_card(run.network(1))
    assert card.provenance.data.startswith("12 games against itself, ")
    assert "; then 6 games against itself, " in card.provenance.data
    assert len(card.provenance.commands) == 2
    shutil.move(taught, tmp_path / "gone.safetensors")  # what goes on has its own copy
    try:
        assert main(["learn", str(run.root), "--resume", "--generations", "2"]) == 0
    finally:
        shutil.move(tmp_path / "gone.safetensors", taught)
    capsys.readouterr()
    for start, why in (
        (str(finished.network(2)), "int8"),
        ("nowhere.safetensors", "no such file: 'nowhere.safetensors'"),
        ("materiel", "give uniform, random, material, or the .safetensors of a float network"),
    ):
        folder = str(tmp_path / "none")
        assert main(["learn", folder, *flags(*TINY, f"learn.start={start}")]) == 2
        assert why in capsys.readouterr().err


def test_the_best_network_of_a_run_plays(finished: Folder) -> None:
    best = finished.root / "best.safetensors"
    assert resolve(finished.root) == str(best)
    assert resolve(f"{finished.root}@2") == str(finished.network(2))
    with pytest.raises(InputError, match="give one from 1 to 2"):
        resolve(f"{finished.root}@7")
    assert best.read_bytes() in [finished.network(n).read_bytes() for n in (1, 2)]


def test_the_status_is_printed_once(finished: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(finished.root), "--status"]) == 0
    shown = capsys.readouterr().out
    assert "16x8" in shown
    assert "of rating beside it" in shown
    assert "losses on what was trained on" in shown
    assert f"kibitz play --network {finished.root}" in shown
    assert main(["learn", str(finished.root), "--status", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [row["generation"] for row in facts["generations"]] == [0, 1, 2]
    assert {"random", "greedy", "0", "1", "2"} == {one["name"] for one in facts["ratings"]}


def test_the_curve_of_a_run_has_its_ratings(
    finished: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["curve", str(finished.root), "-o", str(tmp_path / "c.svg"), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    met = [(number, one) for number, rated in finished.rated().items() for one in rated.results]
    assert [(one["player"], one["opponent"]) for one in run["strength"]] == [
        (f"generation {number}", result.opponent) for number, result in met
    ]
    assert run["strength"][-1]["step"] == run["steps"]


def test_a_generation_that_is_named_plays(
    finished: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("e4\nquit\n"))
    assert main(["play", f"{finished.root}@1", "--nodes", "10"]) == 0
    assert "0001-int8.safetensors" in capsys.readouterr().out.replace("\n", "")


def test_a_damaged_shard_is_named_and_put_aside_and_a_gate_decides_who_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path / "run", "learn.rate_every=10", generations=1)
    run = Folder(tmp_path / "run")
    shard = min(run.games(0).glob("*.shard"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    capsys.readouterr()
    gate = flags("learn.gate=0.9", "learn.gate_games=2")
    assert main(["learn", str(run.root), "--resume", "--generations", "2", *gate]) == 0
    assert shard.name in capsys.readouterr().err.replace("\n", "")
    assert not shard.exists()
    assert (run.root / "damaged" / "0000" / shard.name).exists()
    assert run.newest == 2
    second = run.trained()[2]
    assert second.gate is not None
    assert second.plays == (2 if second.gate >= 0.9 else 1)


@pytest.mark.slow
def test_what_the_window_needs_no_more_is_listed_then_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(
        tmp_path / "run", "learn.window=20", "learn.window_growth=0", "learn.rate_every=10",
        generations=4,
    )  # fmt: skip
    run, words = Folder(tmp_path / "run"), ["learn", str(tmp_path / "run"), "--prune", "--json"]
    games = {n: sorted(run.games(n).glob("*.shard")) for n in range(4)}
    capsys.readouterr()
    assert main(words) == 0
    listed = json.loads(capsys.readouterr().out)
    kinds = {(one["generation"], one["what"]) for one in listed["found"]}
    assert {(0, "games"), (1, "games"), (0, "claims")} <= kinds
    assert all(path.exists() for paths in games.values() for path in paths)
    assert main([*words, "--yes"]) == 0
    capsys.readouterr()
    assert [n for n in games if run.games(n).is_dir() and any(run.games(n).glob("*.shard"))] == [
        2,
        3,
    ]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["found"] == []
    assert main(["learn", str(run.root), "--resume", "--generations", "5"]) == 0
    assert run.newest == 5


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["{run}"], "go on with --resume"),
        (["{run}", "--yes"], "it belongs to --prune"),
        (["{new}", "--hours", "0"], "more than 0"),
        (["{new}", "--generations", "0"], "give 1 or more"),
        ([__file__], "not a folder"),
        ([str(Path(__file__).parent)], "other files are here"),
        (["{new}", "--set", "selfplay.openings=none.pgn"], "none.pgn"),
        (["{new}", "--set", "learn.grow=['5:sparse-8x8','5:sparse-16x8']"], "give one size"),
        (["{new}", "--resume"], "no run here"),
        (["{new}", "--status"], "no run here"),
        (["{new}", "--set", "learn.grow=['1:sparse-8']"], "write 20:sparse-128x64-threats"),
        (["{new}", "--set", "learn.network=plain-2x8"], "give a sparse one"),
        (["{new}", "--set", "learn.rating_games=3"], "give an even number"),
        (
            ["{new}", "--set", "learn.opponents=['nobody', 'greedy']"],
            "neither a player nor a network",
        ),
        (["{new}", "--set", "learn.anchor=stockfish"], "one of learn.opponents: random, greedy"),
        (["{new}", "--set", "learn.gamse=3"], "did you mean 'games'"),
        (["{new}", "--set", "selfplay.kind=mcts", "--set", "selfplay.sc_limit=5"], "trees=2"),
        (["{new}", "--set", "learn.ratio=1"], "which is off"),
    ],
)
def test_what_cannot_be_is_refused(
    finished: Folder,
    tmp_path: Path,
    words: list[str],
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    new = tmp_path / "new"
    words = [word.format(run=finished.root, new=new) for word in words]
    assert main(["learn", *words]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())
    assert not new.exists()


def test_what_has_no_effect_on_games_by_alphabeta_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = [text for text in TINY if not text.startswith(("selfplay.kind", "selfplay.playouts"))]
    more = ("selfplay.sc_limit=5", "learn.gate_games=2")
    words = ["--generations", "1", *flags(*tiny, *more, "selfplay.nodes=20")]
    assert main(["learn", str(tmp_path / "run"), *words]) == 0
    assert "selfplay.sc_limit has no effect: with kind alphabeta" in capsys.readouterr().err
    run = Folder(tmp_path / "run")
    assert run.settings().selfplay.kind == "alphabeta"
    assert run.trained()[1].size == "sparse-8x8"


def test_only_one_process_trains_in_a_folder(finished: Folder) -> None:
    first, second = (Learning(finished, "train", Stop()) for _ in range(2))
    with first.locks(), pytest.raises(Exception, match="another learning is running here"):
        second.run()


def test_an_opponent_that_became_another_is_said_and_rated_apart(
    finished: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Folder(tmp_path / "run")
    shutil.copytree(finished.root, run.root)
    file = run.root / "rated" / "0001.json"
    file.write_text(file.read_text().replace("greedy kibitz ", "greedy kibitz before "))
    (run.root / "rated" / "0002.json").unlink()
    capsys.readouterr()
    assert main(["learn", str(run.root), "--resume"]) == 0
    assert "greedy is another player now" in " ".join(capsys.readouterr().err.split())
    assert {"greedy", "greedy (until generation 1)"} <= set(ratings_of(run))
    assert "random (until generation 1)" not in ratings_of(run)


# --- several processes ----------------------------------------------------------------------------


@pytest.mark.slow
def test_two_that_play_one_that_trains_and_one_that_rates_share_a_run(tmp_path: Path) -> None:
    begin(tmp_path / "run", generations=1)
    run = Folder(tmp_path / "run")
    run.begin(run.settings(("learn.generations=3",)))
    roles: tuple[Role, ...] = ("play", "play", "train", "rate")
    workers = [Learning(Folder(run.root), role, Stop()) for role in roles]
    threads = [Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run.newest == 3
    assert sorted(run.rated()) == [1, 2, 3]
    assert len(run.groups(1)) >= 2
    played = [path.name.split("-")[2] for path in run.games(1).glob("*.shard")]
    assert len(played) == len(set(played))  # no game twice


def test_a_process_that_joins_a_run_has_its_settings(
    finished: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Folder(tmp_path / "run")
    shutil.copytree(finished.root, run.root)
    before = (run.root / "learn.toml").read_text()
    words = ["--quiet", "learn", str(run.root), "--role", "train"]
    assert main([*words, *flags("learn.games=7")]) == 2
    assert "learn.games is 6 in this run: 7; leave it out" in capsys.readouterr().err
    assert main([*words, *flags("learn.games=6", "learn.cores=2", "selfplay.playouts=2")]) == 0
    assert (run.root / "learn.toml").read_text() == before


def test_settings_are_changed_while_no_process_is_in_the_run(
    finished: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Folder(tmp_path / "run")
    shutil.copytree(finished.root, run.root)
    words = ["--quiet", "learn", str(run.root), "--resume", "--role", "rate"]
    with run.present("train"):
        Work(run, run.settings(), Stop(), "train").begin("train", 2)
        assert main([*words, *flags("learn.window=7")]) == 2
        assert "learn.window is 500000 in this run: 7; end" in capsys.readouterr().err
    assert main([*words, *flags("learn.window=7")]) == 0
    assert run.settings().learn.window == 7


def test_of_processes_that_start_at_once_the_first_writes_the_settings(tmp_path: Path) -> None:
    run, settings = Folder(tmp_path / "run"), from_file(None, ["learn.games=8"])
    run.begin(settings, join=True)
    run.begin(from_file(None), join=True)  # which saw no run when it was started
    assert run.settings() == settings
    run.begin(from_file(None))
    assert run.settings().learn.games == 4000


def test_a_run_that_was_moved_in_a_training_goes_on_where_it_is_now(
    finished: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = Folder(tmp_path / "moved it")
    shutil.copytree(finished.root, moved.root)
    (moved.root / "trained" / "0002.json").unlink()
    moved.network(2, playing=False).unlink()
    before = sorted(finished.root.rglob("*"))
    assert main(["learn", str(moved.root), "--resume"]) == 0
    said = capsys.readouterr()
    assert f"--network '{moved.root}'" in " ".join(said.out.split())
    assert sorted(finished.root.rglob("*")) == before
    assert weights(moved, 2) == weights(finished, 2)


def test_a_run_without_a_network_cannot_play_yet(tmp_path: Path) -> None:
    (tmp_path / "learn.toml").write_text("[learn]\n")
    with pytest.raises(InputError, match="no network yet"):
        resolve(str(tmp_path))


def test_before_any_rating_the_newest_network_plays(finished: Folder, tmp_path: Path) -> None:
    run = Folder(tmp_path / "run")
    shutil.copytree(finished.root, run.root)
    best = run.root / "best.safetensors"
    for path in (run.root / "trained/0002.json", best):
        path.unlink()
    shutil.rmtree(run.root / "rated")
    assert main(["--quiet", "learn", str(run.root), "--role", "train"]) == 0
    assert resolve(run.root) == str(best)
    assert best.read_bytes() == run.network(2).read_bytes()


def test_a_start_mends_the_best_network_and_says_why_it_ends(
    finished: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Folder(tmp_path / "run")
    shutil.copytree(finished.root, run.root)
    best = run.root / "best.safetensors"
    before = best.read_bytes()
    best.write_bytes(before[:-1])
    assert main(["learn", str(run.root), "--resume"]) == 0
    assert best.read_bytes() == before
    assert "the budget is spent: 2 generations" in capsys.readouterr().err


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kibitz", "--quiet", "learn", str(folder), *words]
    return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})


MOMENTS: list[Callable[[Folder], bool]] = [
    lambda run: any(run.games().rglob("*.shard")),
    lambda run: (run.training(1) / "training.toml").exists(),
    lambda run: any((run.root / "matches").glob("0001-*")),
    lambda run: any(run.games(1).glob("*.shard")),
]


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    begin(tmp_path / "whole")
    run, words = Folder(tmp_path / "killed"), ["--generations", "2", *flags(*TINY)]
    for moment in MOMENTS:
        process = start(run.root, *words)
        while process.poll() is None and not moment(run):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        words = ["--resume"]
    assert main(["learn", str(run.root), "--resume"]) == 0
    whole = Folder(tmp_path / "whole")
    for generation in (1, 2):
        assert weights(run, generation) == weights(whole, generation)
        assert run.rated()[generation].results == whole.rated()[generation].results
    names = [sorted(path.name for path in one.games().rglob("*.shard")) for one in (run, whole)]
    assert names[0] == names[1]

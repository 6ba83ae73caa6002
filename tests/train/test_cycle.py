"""A cycle of real stages on made-up games: trained, averaged, tested, saved, killed, gone on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kibitz.arena.match.game import Control
from kibitz.arena.match.runner import Setup
from kibitz.arena.match.spec import parse_players
from kibitz.cli import main
from kibitz.core.errors import ConfigError
from kibitz.core.files import sha256_of
from kibitz.core.log import Stop
from kibitz.data.openings import random_openings
from kibitz.data.shard import write
from kibitz.nets import files as network_files
from kibitz.zero.cycle import marker_of, read_cycle, read_marker, run_cycle
from kibitz.zero.cycle_stages import KINDS, measure
from tests.data.batches.makers import random_shard

TRAIN = """
[run]
network = "{size}"
batch = 64
steps = {steps}
log = 2
checkpoint = 2
threads = 1
tensorboard = false
[data]
folders = ["{folder}/games"]
validation = 0.1
"""

CYCLE = """
folder = "{folder}/small"
iterations = {iterations}
[[stages]]
kind = "train"
config = "{folder}/train.toml"
"""


def prepare(
    folder: Path, size: str = "sparse-16", steps: int = 4, iterations: int = 2, more: str = ""
) -> Path:
    """Games, settings and a list of stages; returns the list."""
    for number in range(2):
        write(folder / "games" / f"{number}.shard", random_shard(20, 30, seed=number))
    train = TRAIN.format(size=size, steps=steps, folder=folder)
    (folder / "train.toml").write_text(train, encoding="utf-8")
    path = folder / "cycle.toml"
    path.write_text(CYCLE.format(folder=folder, iterations=iterations) + more, encoding="utf-8")
    return path


def go(path: Path) -> None:
    assert run_cycle(*read_cycle(path, KINDS), Stop())


def weights(path: Path) -> dict[str, Any]:
    return network_files.load_weights(path)


AVERAGE_SAVE = """
[[stages]]
kind = "average"
norm_batches = 2
[[stages]]
kind = "save"
network = "average"
to = "{folder}/players"
"""


@pytest.mark.parametrize(
    "size", ["sparse-16", pytest.param("residual-1x4", marks=pytest.mark.slow)]
)
def test_networks_are_trained_on_averaged_and_saved(tmp_path: Path, size: str) -> None:
    go(prepare(tmp_path, size, more=AVERAGE_SAVE.format(folder=tmp_path)))
    home = tmp_path / "small"
    first, second = (
        weights(home / f"000{k}" / "train" / f"small-000{k}.safetensors") for k in (1, 2)
    )
    made = weights(home / "0002" / "average" / "small-0002-average.safetensors")
    assert first.keys() == second.keys() == made.keys()
    for name in made:
        if "running" not in name and "tracked" not in name:
            assert np.allclose(made[name], (first[name] + second[name]) / 2, atol=1e-6), name
            assert not np.array_equal(first[name], second[name]), name
        elif "running_var" in name:
            between = (first[name] + second[name]) / 2
            assert not np.allclose(made[name], between, rtol=1e-4), name  # estimated, not averaged
    card = network_files.read_card(home / "0002" / "train" / "small-0002.safetensors")
    assert card.provenance.steps == 8  # those of the first iteration are counted
    playing = "-int8.safetensors" if size.startswith("sparse") else ".onnx"
    for end in (".safetensors", playing):
        saved = tmp_path / "players" / f"latest{end}"
        assert (
            saved.read_bytes()
            == (home / "0002" / "average" / f"small-0002-average{end}").read_bytes()
        )


@pytest.mark.slow
def test_a_training_killed_and_gone_on_with_ends_like_one_that_was_not(tmp_path: Path) -> None:
    folders = [tmp_path / "whole" / "x", tmp_path / "cut" / "x"]
    paths = [prepare(folder, steps=60, iterations=1) for folder in folders]
    script = (
        "from kibitz.zero.cycle_stages import KINDS; from kibitz.core.log import Stop\n"
        "from kibitz.zero.cycle import read_cycle, run_cycle\n"
        f"run_cycle(*read_cycle({str(paths[1])!r}, KINDS), Stop())"
    )
    home = folders[1] / "small" / "0001" / "train"
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as process:
        while not any(home.glob("checkpoints/step-*")) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, "it was done before it could be killed"
    marker = read_marker(marker_of(folders[1] / "small", 1, "train"))
    assert marker is not None
    assert marker.outputs is None
    for path in paths:
        go(path)
    found = [
        weights(folder / "small" / "0001" / "train" / "small-0001.safetensors")
        for folder in folders
    ]
    for name, array in found[0].items():
        assert np.array_equal(array, found[1][name]), name


STUDENT = """
[[stages]]
kind = "train"
name = "student"
config = "{folder}/train.toml"
set = ["run.network=sparse-24", "distill.value_share=0.5"]
teacher = "train"
"""


def test_a_student_listens_to_the_network_of_its_iteration(tmp_path: Path) -> None:
    path = prepare(tmp_path, more=STUDENT.format(folder=tmp_path))
    go(path)
    for iteration in (1, 2):
        home = tmp_path / "small" / f"{iteration:04}"
        marker = read_marker(home / "student.json")
        assert marker is not None
        assert str(home / "train" / f"small-{iteration:04}.safetensors") in marker.inputs
        student = network_files.read_card(home / "student" / f"small-{iteration:04}.safetensors")
        assert student.size == "sparse-24"
        assert student.provenance.steps == 4 * iteration
    text = path.read_text("utf-8").replace('teacher = "train"', 'teacher = "student"')
    path.write_text(text.replace("/small", "/other"), encoding="utf-8")
    with pytest.raises(ConfigError, match="has not been trained"):
        go(path)


STRENGTH = """
[[stages]]
kind = "strength"
opponents = ["random", "previous", "first"]
games = 2
nodes = 2
plies = 4
"""


def test_strength_is_measured_against_players_and_the_past(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = prepare(tmp_path, steps=1, more=STRENGTH)
    assert main(["cycle", str(path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["stages"]
    assert [(row["iteration"], row["stage"]) for row in listed] == [
        (k, name) for k in (1, 2) for name in ("train", "strength")
    ]
    reports = {
        iteration: [json.loads(one.read_text("utf-8")) for one in sorted(found.glob("strength-*"))]
        for iteration in (1, 2)
        for found in [tmp_path / "small" / f"000{iteration}" / "strength"]
    }
    assert [one["opponent"] for one in reports[1]] == ["random"]
    assert [one["opponent"] for one in reports[2]] == ["random", "previous", "first"]
    for one in reports[1] + reports[2]:
        assert one["wins"] + one["draws"] + one["losses"] == one["games"] == 2
        assert one["score"] == (one["wins"] + one["draws"] / 2) / 2
        assert one["control"] == "2 nodes"
    for iteration, found in reports.items():
        name = f"small-{iteration:04}-int8.safetensors"
        playing = tmp_path / "small" / f"{iteration:04}" / "train" / name
        for one in found:
            assert one["player"] == name
            assert one["players"][0] == f"{playing} #{sha256_of(playing)[:12]}"
    assert "small-0001" in reports[2][1]["players"][1]
    assert main(["curve", str(tmp_path / "small"), "-o", str(tmp_path / "curve.svg")]) == 0
    assert "previous" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("size", ["sparse-16", "residual-1x4"])
def test_a_damaged_network_is_named_and_written_again_and_nothing_else_is(
    tmp_path: Path, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = prepare(tmp_path, size, more=AVERAGE_SAVE.format(folder=tmp_path))
    go(path)
    home = tmp_path / "small"
    made = {one: one.read_bytes() for one in sorted(home.rglob("small-*")) if one.is_file()}
    markers = {one: one.read_bytes() for one in home.rglob("*.json") if "0002" in str(one)}
    assert markers
    for name in ("train", "average"):
        found = (home / "0001" / name).glob("small-*.safetensors")
        (network,) = (one for one in found if "int8" not in one.name)
        damaged = bytearray(network.read_bytes())
        damaged[-5] ^= 16
        network.write_bytes(damaged)
    capsys.readouterr()
    time.sleep(1.1)  # a date written anew would be another one
    go(path)
    told = capsys.readouterr().err
    assert told.count("small-0001.safetensors is damaged") == 1
    assert told.count("small-0001-average.safetensors is damaged") == 1
    assert "beginning" not in told
    for one, content in made.items():
        assert one.read_bytes() == content, one
    for one, content in markers.items():
        assert one.read_bytes() == content, one


def test_a_stopped_match_goes_on_from_its_journal(tmp_path: Path) -> None:
    openings = random_openings(3, 4, seed=1)
    players = parse_players(["random", "greedy"])
    match = Setup(players, Control(), openings, rounds=3, seed=1, concurrency=1)
    journal, report, stop = tmp_path / "games.jsonl", tmp_path / "strength-0.json", Stop()
    stop.request()
    assert not measure(match, "greedy", journal, report, stop)
    assert not report.exists()
    assert measure(match, "greedy", journal, report, Stop())
    lines = journal.read_bytes().splitlines()
    journal.write_bytes(b"\n".join(lines[:4]) + b"\n")
    assert measure(match, "greedy", journal, report, Stop())
    assert journal.read_bytes().splitlines()[:4] == lines[:4]
    assert json.loads(report.read_text("utf-8"))["games"] == 6


def test_play_is_not_a_kind_yet(tmp_path: Path) -> None:
    path = prepare(tmp_path, more='[[stages]]\nkind = "play"\n')
    with pytest.raises(ConfigError, match="known kinds: average, save, strength, train"):
        read_cycle(path, KINDS)


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        ('kind = "strength"\nopponents = ["random"]\ngames = 3', "games"),
        ('kind = "average"\ndecay = 1.0', "decay"),
        ('kind = "average"\nnetwork = "trian"', "did you mean 'train'"),
        ('kind = "save"\nto = "x"\nnetwork = "save"', "made no network"),
    ],
)
def test_lists_that_cannot_work_are_refused(tmp_path: Path, stage: str, reason: str) -> None:
    path = prepare(tmp_path, steps=1, iterations=1, more=f"[[stages]]\n{stage}\n")
    with pytest.raises(ConfigError, match=reason):
        go(path)

"""Whole trainings: resumed to the bit, stopped, killed, validated, and saved as networks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats  # type: ignore[import-untyped]

from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.core.journal import with_lock
from kibitz.core.log import Stop
from kibitz.data.batches.batch import recipe
from kibitz.data.batches.loader import rows_in_batches
from kibitz.data.shard import write
from kibitz.nets import files as network_files
from kibitz.nets.card import Heads
from kibitz.nets.models.build import load_network
from kibitz.nets.models.sizes import new_card
from kibitz.train.checkpoint import checkpoints_in
from kibitz.train.loop import HeldOut, held_out_of, train, warn_of_idle_head
from kibitz.train.state import window_of
from kibitz.train.step import LossError, outputs_of
from tests.data.batches.makers import random_shard
from tests.train.running import (
    NETWORK,
    last_checkpoint,
    lines_of,
    make_games,
    run,
    same_tensors,
    settings_of,
)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_games(tmp_path_factory.mktemp("games"))


class StopAt(Stop):
    """A user who presses Ctrl-C during a step."""

    def __init__(self, step: int) -> None:
        self.left = step
        super().__init__()

    @property
    def requested(self) -> bool:
        self.left -= 1
        return self.left <= 0

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


@pytest.mark.parametrize(
    "more",
    [
        ("run.clip=0.5",),
        ("optimiser.kind=sgd", "average.kind=ema", "schedule.shape=cosine", "schedule.warmup=3"),
        (
            "run.network=tower-1x8",
            "average.kind=swa",
            "average.decay=0.5",
            "average.interval=3",
            "run.export=false",
        ),
    ],
)
def test_a_resumed_training_ends_with_the_same_bits(
    games: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    more = (*more, "run.steps=17")  # several epochs
    whole, parts = (settings_of(games, tmp_path / name, *more) for name in ("whole", "parts"))
    undisturbed = run(whole)
    steps: list[int] = []
    stopped = train(parts, "first", StopAt(7), on_step=steps.append)
    assert steps == list(range(8))
    assert (stopped.stopped, stopped.step, stopped.files) == (True, 7, [])
    resumed = run(parts, resume=True)
    assert (undisturbed.step, resumed.step) == (17, 17)
    first, second = (last_checkpoint(settings.run.output) for settings in (whole, parts))
    assert same_tensors(first, second)
    assert first.state["place"] == second.state["place"]
    assert first.state["place"][0] >= 1
    for mine, theirs in zip(undisturbed.files, resumed.files, strict=True):
        assert network_files.read_card(mine).sha256 == network_files.read_card(theirs).sha256


@pytest.mark.slow
def test_a_killed_process_loses_only_what_came_after_the_checkpoint(
    games: Path, tmp_path: Path
) -> None:
    """SIGKILL in the middle of anything; resumed, the end is that of the undisturbed training."""
    steps = ("run.steps=40", "run.checkpoint=10", "run.log=1")
    undisturbed = settings_of(games, tmp_path / "whole", *steps)
    run(undisturbed)
    killed = settings_of(games, tmp_path / "killed", *steps)
    command = [sys.executable, "-m", "kibitz", "train", "--network", NETWORK]
    command += ["--data", str(games), "--output", str(killed.run.output), "--batch", "64"]
    command += ["--steps", "40", "--threads", "1", "--device", "cpu", "--rate", "0.01"]
    sets = ("run.checkpoint=10", "run.log=1", "run.validate=0", "data.validation=0.2")
    for text in sets:
        command += ["--set", text]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        folder = killed.run.output / "checkpoints"
        while not checkpoints_in(folder) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert not (killed.run.output / "killed.safetensors").exists()
    assert 10 <= last_checkpoint(killed.run.output).state["step"] < 40
    run(killed, resume=True)
    assert same_tensors(last_checkpoint(undisturbed.run.output), last_checkpoint(killed.run.output))
    steps_told = [line["step"] for line in lines_of(killed.run.output) if "total" in line]
    assert steps_told == list(range(1, 41))  # none twice, none missing


def test_a_damaged_checkpoint_is_named_and_passed_over_only_if_allowed(
    games: Path, tmp_path: Path
) -> None:
    settings = settings_of(games, tmp_path / "a", "run.steps=9", "run.checkpoint=3")
    run(settings)
    *_, last = checkpoints_in(settings.run.output / "checkpoints")
    expected = last_checkpoint(settings.run.output)
    content = bytearray(last.read_bytes())
    content[-100] ^= 4
    last.write_bytes(content)
    with pytest.raises(DamagedFileError, match="step-000000009"):
        run(settings, resume=True)
    run(settings, resume=True, damaged_allowed=True)
    assert same_tensors(last_checkpoint(settings.run.output), expected)


def test_only_the_last_checkpoints_are_kept(games: Path, tmp_path: Path) -> None:
    settings = settings_of(games, tmp_path / "a", "run.steps=9", "run.checkpoint=2", "run.keep=2")
    run(settings)
    names = [path.name for path in checkpoints_in(settings.run.output / "checkpoints")]
    assert names == ["step-000000008.safetensors", "step-000000009.safetensors"]


def test_a_folder_with_a_training_is_not_begun_again(games: Path, tmp_path: Path) -> None:
    settings = settings_of(games, tmp_path / "a", "run.steps=2")
    run(settings)
    with pytest.raises(InputError, match="--resume"):
        run(settings)


@pytest.mark.parametrize("change", ["run.batch=32", "optimiser.kind=sgd", "loss.policy=2.0"])
def test_resuming_with_other_settings_is_refused(games: Path, tmp_path: Path, change: str) -> None:
    run(settings_of(games, tmp_path / "a", "run.steps=2"))
    with pytest.raises(InputError, match=change.partition("=")[0]):
        run(settings_of(games, tmp_path / "a", "run.steps=4", change), resume=True)


def test_more_steps_and_new_games_may_be_added(tmp_path: Path) -> None:
    games = make_games(tmp_path / "games")
    run(settings_of(games, tmp_path / "a", "run.steps=4"))
    assert last_checkpoint(tmp_path / "a").state["place"] == [0, 0, 4]
    write(games / "new.shard", random_shard(20, 30, seed=9))
    outcome = run(settings_of(games, tmp_path / "a", "run.steps=6"), resume=True)
    assert outcome.step == 6
    assert last_checkpoint(tmp_path / "a").state["place"] == [1, 0, 2]  # a new epoch began


def test_what_a_finished_training_leaves(games: Path, tmp_path: Path) -> None:
    output = tmp_path / "small"
    settings = settings_of(games, output, "average.kind=ema", "run.steps=5", "run.validate=2")
    settings = replace(settings, run=replace(settings.run, licence="CC0", best=False))
    outcome = run(settings)
    names = ["small", "small-int8", "small-average", "small-average-int8"]
    assert [path.stem for path in outcome.files] == names
    network, card = load_network(outcome.files[0])
    assert [card.licence, network_files.read_card(outcome.files[-1]).licence] == ["CC0", "CC0"]
    assert card.provenance.steps == 5
    assert card.provenance.positions == 5 * 64
    assert card.provenance.commands == ("kibitz train ...",)
    assert str(games) in card.provenance.data
    assert card.provenance.date == "2000-01-01T00:00:00+00:00"  # SOURCE_DATE_EPOCH of all tests
    # What all threats of a piece have in common is learned apart and kept in their rows.
    assert card.parameters == 3072 * (16 + 8) + 16 * 17 + 16 + 32 * 17 + 3 * 33 + 8 + 1858 * 9
    state = network.state_dict()
    learned = last_checkpoint(output).part("network")
    for layer in ("value_features", "policy_features"):
        common = learned.pop(f"{layer}.shared")
        assert common.abs().max() > 0
        assert not state[f"{layer}.shared"].any()
        learned[f"{layer}.weight"] += common.repeat(4, 1)
    for name, tensor in learned.items():
        assert torch.equal(state[name], tensor)
    integers = network_files.load_weights(outcome.files[1])
    expected = (255 * learned["value_features.weight"]).round().numpy()
    assert np.array_equal(integers["value_features"], expected)
    lines = lines_of(output)
    told = [line["step"] for line in lines if "validation_policy" in line]
    assert told == [2, 4, 5]
    wanted = {"value", "policy", "value_error", "sign", "top1", "top3", "positions"}
    last = next(line for line in reversed(lines) if "validation_policy" in line)
    assert {name.removeprefix("validation_") for name in last} >= wanted


def test_a_trained_network_is_trained_on(games: Path, tmp_path: Path) -> None:
    first = run(settings_of(games, tmp_path / "a", "run.steps=2")).files[0]
    settings = settings_of(games, tmp_path / "b", f"run.network={first}", "run.steps=1")
    card = network_files.read_card(run(settings).files[0])
    assert card.provenance.steps == 3
    assert len(card.provenance.commands) == 2
    assert card.size == NETWORK
    before, after = (load_network(path)[0] for path in (first, tmp_path / "b" / "b.safetensors"))
    changes = [
        float((a - b).detach().abs().max())
        for a, b in zip(before.parameters(), after.parameters(), strict=True)
    ]
    # One step of AdamW at 0.01 from there, of two parts of a row, not a new beginning.
    assert 0 < max(changes) < 0.021


def test_validation_looks_at_held_out_games_only(games: Path, tmp_path: Path) -> None:
    without = settings_of(games, tmp_path / "a", "data.validation=0.0", "run.steps=1")
    assert run(without).validation == {}
    few = settings_of(games, tmp_path / "b", "data.validation_positions=10", "run.steps=1")
    run(few)
    assert lines_of(tmp_path / "b")[-1]["validation_positions"] == 10


def test_positions_are_not_shown_more_often_than_allowed(games: Path, tmp_path: Path) -> None:
    one = run(settings_of(games, tmp_path / "a", "run.steps=0", "run.epochs=1"))
    more = ("run.steps=1000", "data.reuse=2.5")
    assert run(settings_of(games, tmp_path / "b", *more)).step == int(2.5 * one.step)


def test_epochs_of_more_than_memory_are_refused(games: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--steps"):
        run(settings_of(games, tmp_path / "a", "run.steps=0", "data.memory=300"))
    assert run(settings_of(games, tmp_path / "a", "run.steps=9", "data.memory=300")).step == 9


def test_a_poisoned_value_ends_the_training(tmp_path: Path) -> None:
    """A rate that sends the weights to infinity: the batch is kept, nothing is saved as good."""
    games = make_games(tmp_path / "games")
    settings = settings_of(
        games, tmp_path / "a", "run.network=plain-1x8", "schedule.rate=1e38", "optimiser.kind=sgd"
    )
    with np.errstate(all="ignore"), pytest.raises(LossError, match="bad-batch-"):
        run(settings)
    assert list((tmp_path / "a").glob("bad-batch-*.safetensors"))
    assert not list((tmp_path / "a").glob("a*.safetensors"))
    assert checkpoints_in(tmp_path / "a" / "checkpoints") == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are sent")
def test_two_processes_equal_one_with_the_doubled_batch(games: Path, tmp_path: Path) -> None:
    """The same weights but for the order in which gradients were summed."""
    common = ["--network", NETWORK, "--data", str(games), "--steps", "8", "--threads", "1"]
    common += ["--device", "cpu", "--optimiser", "sgd"]
    for text in ("run.log=1", "run.validate=0", "data.validation=0.2"):
        common += ["--set", text]
    one = [sys.executable, "-m", "kibitz", "train", "--output", str(tmp_path / "one")]
    two = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two += ["-m", "kibitz", "train", "--output", str(tmp_path / "two")]
    # What is given for one device is doubled for two: the rate, and half the steps of warm-up.
    alone = ["--batch", "64", "--rate", "0.02", "--warmup", "2"]
    together = ["--batch", "32", "--rate", "0.01", "--warmup", "4"]
    jobs = [[*one, *alone, *common], [*two, *together, *common]]
    for job in jobs:
        done = subprocess.run([*job, "--json"], check=True, capture_output=True, timeout=240)
        assert json.loads(done.stdout)["steps"] == 8  # one object, however many processes
    curves = [
        [line for line in lines_of(tmp_path / name) if "total" in line] for name in ("one", "two")
    ]
    assert len(curves[0]) == len(curves[1]) == 8
    for mine, theirs in zip(*curves, strict=True):
        for loss in ("value", "policy", "total", "gradient", "rate"):
            assert mine[loss] == pytest.approx(theirs[loss], rel=1e-4)
    ends = [last_checkpoint(tmp_path / name) for name in ("one", "two")]
    for name, tensor in ends[0].part("network").items():
        torch.testing.assert_close(ends[1].part("network")[name], tensor, rtol=1e-4, atol=1e-5)
    assert (
        network_files.read_card(tmp_path / "two" / "two.safetensors").provenance.positions == 8 * 64
    )


def test_the_best_network_is_exported_and_kept(games: Path, tmp_path: Path) -> None:
    """A rate that jumps up at the end spoils the weights; what is written is from before."""
    spoiled = ("schedule.shape=steps", "schedule.boundaries=[0, 20]", "schedule.rates=[0.01, 0.9]")
    often = ("run.steps=30", "run.validate=5")
    settings = settings_of(games, tmp_path / "a", *spoiled, *often)
    outcome = run(settings)
    found = {
        line["step"]: line["validation_value"] + line["validation_policy"]
        for line in lines_of(settings.run.output)
        if "validation_value" in line
    }
    best = min(found, key=lambda step: found[step])
    assert best < 30
    assert outcome.best == best
    card = network_files.read_card(outcome.files[0])
    assert (card.provenance.steps, card.provenance.positions) == (best, best * 64)
    # The same training, ended there, has these weights.
    short = settings_of(games, tmp_path / "b", *spoiled, f"run.steps={best}")
    assert network_files.read_card(run(short).files[0]).sha256 == card.sha256
    kept = settings_of(games, tmp_path / "c", *spoiled, *often, "run.best=false")
    assert network_files.read_card(run(kept).files[0]).provenance.steps == 30


def test_patience_ends_a_training_and_resuming_does_not_go_beyond(
    games: Path, tmp_path: Path
) -> None:
    spoiled = ("schedule.shape=steps", "schedule.boundaries=[0, 8]", "schedule.rates=[0.01, 0.9]")
    settings = settings_of(
        games, tmp_path / "a", *spoiled, "run.steps=200", "run.validate=4", "run.patience=2"
    )
    outcome = run(settings)
    assert outcome.best is not None
    assert outcome.step == outcome.best + 8  # two validations, none of them better
    assert not outcome.stopped
    again = run(settings, resume=True)
    assert (again.step, again.best) == (outcome.step, outcome.best)
    sums = [network_files.read_card(one.files[0]).sha256 for one in (outcome, again)]
    assert sums[0] == sums[1]


def test_patience_needs_validations(games: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="patience without validations"):
        run(settings_of(games, tmp_path / "a", "run.patience=2"))


def test_where_no_game_is_held_out_the_last_weights_are_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = make_games(tmp_path / "few", shards=1, games=4)
    rare = ("data.validation=0.001", "run.steps=6", "run.validate=2", "run.batch=16")
    outcome = run(settings_of(few, tmp_path / "a", *rare))
    assert (outcome.best, outcome.validation) == (None, {})
    assert network_files.read_card(outcome.files[0]).provenance.steps == 6
    said = capsys.readouterr().err
    assert "no game is held out to validate on (data.validation=0.001)" in said
    assert "positions of held-out games" not in said
    outcome = run(settings_of(few, tmp_path / "b", *rare, "run.patience=1"))
    assert network_files.read_card(outcome.files[0]).provenance.steps == 6
    assert "patience does not" in capsys.readouterr().err


def test_a_head_that_can_learn_nothing_is_warned_of(
    games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held_out = held_out_of(settings_of(games, Path("x")), window_of(settings_of(games, Path("x"))))
    assert held_out is not None
    card = new_card("tower-1x8", heads=Heads(mcts_value=True))
    values = held_out.samples.values

    def told(searched: np.ndarray, share: float) -> str:
        samples = held_out.samples._replace(values=searched.astype(values.dtype))
        warn_of_idle_head(card, HeldOut(samples, held_out.rows), share)
        return capsys.readouterr().err

    spread = np.linspace(-1, 1, len(values))
    assert told(spread, 0.5) == ""
    assert "data.result_share is 0" in told(spread, 0.0)
    assert "all searches came to +0.00" in told(np.zeros(len(values)), 0.5)
    assert "no position has one" in told(np.full(len(values), np.nan), 0.5)
    warn_of_idle_head(new_card("tower-1x8", heads=Heads()), held_out, 0.0)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_the_best_weights_survive_a_kill_and_their_damage_is_named(
    games: Path, tmp_path: Path
) -> None:
    """Killed after the best validation and before the end, the best is what it would have been."""
    spoiled = ("schedule.shape=steps", "schedule.boundaries=[0, 10]", "schedule.rates=[0.01, 0.9]")
    more = (*spoiled, "run.steps=60", "run.validate=5", "run.checkpoint=7", "run.log=1")
    whole = run(settings_of(games, tmp_path / "whole", *more))
    killed = settings_of(games, tmp_path / "killed", *more)
    script = (
        "import torch; from pathlib import Path; from kibitz.core.log import Stop\n"
        "from kibitz.train.loop import train; from tests.train.running import settings_of\n"
        f"train(settings_of(Path({str(games)!r}), Path({str(killed.run.output)!r}), *{more!r}), "
        "'kibitz train ...', Stop())"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as process:
        folder = killed.run.output / "checkpoints"
        while not (folder / "best.safetensors").exists() or not checkpoints_in(folder):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    resumed = run(killed, resume=True)
    assert (resumed.step, resumed.best) == (whole.step, whole.best)
    sums = [network_files.read_card(one.files[0]).sha256 for one in (whole, resumed)]
    assert sums[0] == sums[1]
    content = bytearray((folder / "best.safetensors").read_bytes())
    content[-9] ^= 1
    (folder / "best.safetensors").write_bytes(content)
    with pytest.raises(DamagedFileError, match="best"):
        run(killed, resume=True)


def test_two_trainings_do_not_share_a_folder(games: Path, tmp_path: Path) -> None:
    with with_lock(tmp_path / "a", "training"), pytest.raises(InputError, match="another training"):
        run(settings_of(games, tmp_path / "a"))
    assert run(settings_of(games, tmp_path / "a")).step == 6


def test_a_folder_that_cannot_be_written_is_named(games: Path, tmp_path: Path) -> None:
    """Made below a file, which is refused to everybody, also to the administrator."""
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file/a"):
        run(settings_of(games, tmp_path / "file" / "a"))


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_named(games: Path, tmp_path: Path, device: str) -> None:
    with pytest.raises(InputError, match=f"{device}.*--device cpu"):
        run(settings_of(games, tmp_path / "a", f"run.device={device}"))
    assert not (tmp_path / "a").exists()


def test_few_steps_are_warned_of(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(settings_of(games, tmp_path / "a", "run.steps=2")).files[0]
    assert "2 steps are too few" in capsys.readouterr().err
    run(settings_of(games, tmp_path / "b", f"run.network={first}", "run.steps=2"))
    assert "too few" not in capsys.readouterr().err  # it has learned before


def test_values_are_correlated_by_rank_as_scipy_does(games: Path, tmp_path: Path) -> None:
    settings = settings_of(games, tmp_path / "a", "run.steps=4", "run.export=false")
    outcome = run(settings)
    network, card = load_network(outcome.files[0])
    window = window_of(settings)
    samples, rows = window.validation_rows(10_000)
    how = recipe(card, 0.0)
    scores, labels = [], []
    for batch in rows_in_batches(samples, rows, how, 64, "cpu"):
        found = outputs_of(network.eval(), card, batch)["value"].detach().softmax(1)
        known = batch.value_weight > 0
        scores.append((found[:, 0] - found[:, 2])[known])
        labels.append(batch.value[known])
    x, y = torch.cat(scores).double().numpy(), torch.cat(labels).double().numpy()
    expected = {
        "kendall_b": stats.kendalltau(x, y).statistic,
        "weighted_kendall": stats.weightedtau(x, y).statistic,
        "spearman": stats.spearmanr(x, y).statistic,
        "spearman_others": stats.spearmanr(x[abs(y) < 1], y[abs(y) < 1]).statistic,
    }
    told = lines_of(settings.run.output)[-1]
    for name, value in expected.items():
        assert outcome.validation[name] == pytest.approx(value, abs=1e-6), name
        assert told[f"validation_{name}"] == outcome.validation[name]

"""Tunings of a function whose optimum is known, and of the engine in small."""

from __future__ import annotations

import math
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from kibitz.arena.match.elo import expected_score
from kibitz.arena.tuning import loop
from kibitz.arena.tuning import study as study_module
from kibitz.arena.tuning.config import Tuning, as_toml, command_of, parameters_of
from kibitz.arena.tuning.loop import (
    DIVERGED,
    Confirmation,
    Job,
    best_of,
    by_loss,
    confirmation_of,
    mean_of,
    tune,
    verdict_of,
)
from kibitz.arena.tuning.report import standing, verdict_text, write_page
from kibitz.arena.tuning.study import Measured, Model, Study, even_points, settings_of
from kibitz.cli import main
from kibitz.core.errors import ConfigError, DamagedFileError, InputError, MissingExtraError
from kibitz.core.log import Stop
from kibitz.train.step import LossError

TREE = "material,Search=mcts"
BEST = {"CPuct": 2.2, "PolicyTemperature": 1.25}
PARAMETERS = ("CPuct=1:3", "PolicyTemperature=1:2")


def quality(values: dict[str, float]) -> float:
    """A bowl with its top, 0, at BEST."""
    return -((values["CPuct"] - 2.2) ** 2) - 4 * (values["PolicyTemperature"] - 1.25) ** 2


def noisy(job: Job, _: Stop) -> Measured:
    """The height of the bowl with noise of a known size."""
    noise = random.Random(job.seed).gauss(0, 0.1)
    return Measured(quality(job.values) + noise, 0.1)


def games(job: Job, _: Stop) -> Measured:
    """The score of 100 games without draws between two points of the bowl."""
    chance = expected_score(200 * (quality(job.values) - quality(job.against)))
    generator = random.Random(job.seed)
    return Measured(sum(generator.random() < chance for _ in range(100)) / 100, 0.05)


def tuning_of(**more: Any) -> Tuning:
    return Tuning(**{"parameters": PARAMETERS, "player": TREE, "trials": 30, **more})


def study_in(folder: Path, **more: Any) -> Study:
    tuning = tuning_of(**more)
    return Study(folder, tuning, parameters_of(tuning))


def values_of(study: Study) -> list[tuple[dict[str, float], Measured | None]]:
    return [(one.values, one.measured) for one in study.trials()]


# --- the optimum of a known function --------------------------------------------------------------


@pytest.mark.parametrize(("method", "trials"), [("tpe", 30), ("gp", 20)])
def test_optuna_finds_the_top_of_a_noisy_bowl(method: str, trials: int, tmp_path: Path) -> None:
    study = study_in(tmp_path, method=method, trials=trials)
    assert tune(study, noisy, Stop())
    best = best_of(study)
    assert best is not None
    assert len(study.trials()) == trials
    assert quality(best) > -0.06  # the noise of one measurement is 0.1, the range of heights 2.9
    first = study.trials()[0].values
    assert first == {"CPuct": 1.745, "PolicyTemperature": 1.4}  # the defaults


def test_spsa_climbs_a_noisy_bowl_from_the_defaults(tmp_path: Path) -> None:
    study = study_in(tmp_path, method="spsa", trials=150)
    assert tune(study, games, Stop())
    best = best_of(study)
    assert best is not None
    assert quality(best) > -0.03
    assert quality({"CPuct": 1.745, "PolicyTemperature": 1.4}) < -0.29


def test_less_is_better_of_nodes_required(tmp_path: Path) -> None:
    study = study_in(tmp_path, metric="required", suites=("some.epd",))
    tune(study, lambda job, stop: noisy(job, stop)._replace(value=-quality(job.values)), Stop())
    best = best_of(study)
    assert best is not None
    assert quality(best) > -0.06


# --- going on, alone and together -----------------------------------------------------------------


@pytest.mark.parametrize(("method", "measure"), [("tpe", noisy), ("spsa", games)])
def test_a_tuning_that_was_stopped_goes_on_to_the_same_end(
    method: str, measure: Callable[[Job, Stop], Measured], tmp_path: Path
) -> None:
    whole = study_in(tmp_path / "whole", method=method, trials=22)
    tune(whole, measure, Stop())
    stop, count = Stop(), 0

    def until_stopped(job: Job, stop: Stop) -> Measured | None:
        nonlocal count
        count += 1
        if count in (9, 20):  # within a trial of the even points, and within one of the method's
            stop.request()
            return None
        return measure(job, stop)

    for _ in range(3):
        tune(study_in(tmp_path / "parts", method=method, trials=22), until_stopped, Stop())
    parts = study_in(tmp_path / "parts", method=method, trials=22)
    assert values_of(parts) == values_of(whole)
    assert best_of(parts) == best_of(whole)
    assert not stop.requested


def test_what_a_kill_left_unfinished_is_cut_off(tmp_path: Path) -> None:
    tune(study_in(tmp_path, trials=3), noisy, Stop())
    path = tmp_path / "study.jsonl"
    with path.open("ab") as file:
        file.write(b'{"op_code":4,"wor')
    tune(study_in(tmp_path, trials=5), noisy, Stop())
    assert len(values_of(study_in(tmp_path, trials=5))) == 5
    assert all(measured for _, measured in values_of(study_in(tmp_path, trials=5)))


WORKER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.arena.test_tuning import noisy, study_in
from kibitz.core.log import Stop
from kibitz.arena.tuning.loop import tune
def measure(job, stop):
    with Path({log!r}).open("a") as file:
        file.write(job.name + chr(10))
    return noisy(job, stop)
tune(study_in(Path({folder!r}), trials=8), measure, Stop())
"""


@pytest.mark.slow
def test_two_processes_share_a_study_and_do_no_trial_twice(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    log, folder = str(tmp_path / "log"), str(tmp_path / "study")
    script = WORKER.format(tests=root, log=log, folder=folder)
    workers = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    names = Path(log).read_text().split()
    assert sorted(names) == [f"{place:04}-0" for place in range(8)]
    assert all(measured for _, measured in values_of(study_in(Path(folder), trials=8)))


@pytest.mark.slow
def test_a_killed_process_leaves_its_trial_to_the_next(tmp_path: Path) -> None:
    script = WORKER.format(
        tests=str(Path(__file__).parents[2]), log=str(tmp_path / "log"), folder=str(tmp_path / "s")
    ).replace("return noisy", "import os; os.kill(os.getpid(), 9); return noisy")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    study = study_in(tmp_path / "s", trials=2)
    assert [measured for _, measured in values_of(study)] == [None]
    assert tune(study, noisy, Stop())
    assert [one.place for one in study.trials() if one.measured] == [0, 1]


# --- the model ------------------------------------------------------------------------------------


def test_the_model_finds_a_smooth_function_and_what_matters() -> None:
    points = even_points(60, 2)
    noise = np.random.default_rng(1).normal(0, 0.1, 60)
    model = Model(points, np.sin(4 * points[:, 0]) + noise, np.full(60, 0.1))
    means, deviations = model.predict(points)
    assert np.abs(means - np.sin(4 * points[:, 0])).max() < 0.2
    assert deviations.max() < 0.2
    shares = model.shares()
    assert shares[0] > 0.9
    assert shares[1] < 0.05
    grid, curve, _ = model.curve(0)
    assert np.abs(curve - np.sin(4 * grid)).max() < 0.2


def test_noise_alone_gives_a_flat_model() -> None:
    noise = np.random.default_rng(2).normal(0, 1, 50)
    means, _ = Model(even_points(50, 2), noise, np.full(50, 1.0)).predict(even_points(99, 2))
    assert np.ptp(means) < 0.5 * np.ptp(noise) / 2


def test_repeats_have_the_error_of_their_spread() -> None:
    mean = mean_of([Measured(value, 0.01, "x") for value in (1.0, 2.0, 3.0)])
    assert (mean.value, mean.text) == (2.0, "x x x")
    assert mean.error == pytest.approx(1 / math.sqrt(3))


def test_a_training_that_diverged_counts_as_the_worst(tmp_path: Path) -> None:
    def measure(job: Job, _: Stop) -> Measured:
        diverged = job.name.startswith(("0001", "0003"))
        return DIVERGED if diverged else Measured(-quality(job.values), 0.0)

    study = study_in(tmp_path, metric="required", suites=("some.epd",), trials=6)
    assert tune(study, measure, Stop())
    values = [trial.measured.value for trial in study.trials() if trial.measured]
    assert values[1] == values[3] == max(values) == max(values[0], values[2], *values[4:])
    write_page(study, standing(study))
    assert "diverged" in (tmp_path / "report.html").read_text()
    assert mean_of([Measured(1.0, 0.1), DIVERGED]) == DIVERGED


def test_an_error_of_a_training_that_diverged_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def diverges(*_: object) -> None:
        raise LossError("step 14: loss 3.3e+27, length of the gradient inf")

    monkeypatch.setattr(loop, "train", diverges)
    tuning = tuning_of(metric="loss", parameters=("schedule.rate=1:2",))
    assert by_loss(tuning, tmp_path, Job("0003-0", {}, {}, 0), Stop()) == DIVERGED
    said = " ".join(capsys.readouterr().err.split())
    assert "0003-0 diverged and counts as the worst: step 14: loss 3.3e+27" in said


def test_where_all_trainings_diverged_nothing_is_best(tmp_path: Path) -> None:
    study = study_in(tmp_path, metric="required", suites=("some.epd",), trials=3)
    assert tune(study, lambda *_: DIVERGED, Stop())
    found = standing(study)
    write_page(study, found)
    assert (found.best, found.verdict, found.toml) == (None, "all trainings diverged", "")


# --- the verdict ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("five", "word"),
    [((10, 60, 150, 160, 60), "confirmed"), ((60, 160, 150, 60, 10), "rejected"),
     ((1, 4, 10, 5, 1), "not confirmed")],
)  # fmt: skip
def test_only_games_that_decide_make_an_improvement(
    five: tuple[int, ...], word: str, tmp_path: Path
) -> None:
    study = study_in(tmp_path, trials=1)
    test = study.tuning.test()
    loss_loss, loss_draw, level, win_draw, win_win = five

    class Planted:
        games = (None,) * (2 * sum(five))

        def pairs(self, *_: int) -> Any:
            from kibitz.arena.match.elo import Pairs

            return Pairs(loss_loss, loss_draw, level, 0, win_draw, win_win)

    found = verdict_of(Planted(), BEST, test)  # type: ignore[arg-type]
    (tmp_path / "confirmation.json").write_bytes(msgspec.json.encode(found))
    assert confirmation_of(tmp_path, BEST) == found
    assert confirmation_of(tmp_path, {**BEST, "CPuct": 2.3}) is None
    assert verdict_text(BEST, False, found).startswith(f"{word}: ")


def test_without_a_match_nothing_is_confirmed() -> None:
    assert verdict_text(BEST, False, None).startswith("not confirmed")
    assert verdict_text(BEST, True, None) == "nothing better than the defaults was found"
    empty = Confirmation(values=BEST, pairs=(0,) * 5, games=0, elo="", test="", accepted=None)
    assert verdict_text(BEST, False, empty).startswith("not confirmed")


# --- input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"parameters": ("CPut",)}, "did you mean 'CPuct'"),
        ({"parameters": ("Threads",)}, "Threads has no tuning step"),
        ({"parameters": ("CPuct=3:1",)}, "'3:1'"),
        ({"parameters": ("CPuct=-1:1",)}, "CPuct"),
        ({"parameters": ("CPuct=x",)}, "'x'"),
        ({"parameters": ("CPuct", "cpuct")}, "twice"),
        ({"player": "random"}, "only our own engine"),
        ({"parameters": ()}, "no parameter"),
        ({"games": 3}, "even"),
        ({"method": "spsa", "metric": "points", "suites": ("x",)}, "spsa"),
        ({"metric": "points"}, "without a suite"),
        ({"metric": "points", "suites": ("x",), "repeats": 2}, "repeats"),
        ({"sprt": (1.0,)}, "sprt"),
        ({"metric": "loss"}, "no such number of a training"),
        ({"metric": "loss", "parameters": ("schedule.rate",)}, "no range"),
    ],
)
def test_wrong_settings_are_named(more: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        parameters_of(tuning_of(**more))


def test_constants_stand_for_all_numbers_of_alphabeta() -> None:
    tuning = tuning_of(parameters=("constants",), method="spsa", player="material")
    names = [parameter.name for parameter in parameters_of(tuning)]
    assert "NullMoveReduction" in names
    assert "AbortShare" not in names  # without a clock it changes nothing
    timed = tuning_of(parameters=("constants",), method="spsa", player="material", tc="1+0.01")
    assert "AbortShare" in [parameter.name for parameter in parameters_of(timed)]


def test_the_command_that_tests_values_names_those_that_changed() -> None:
    tuning = tuning_of(parameters=("NullMoveReduction", "DeltaMargin"), player="material")
    values, defaults = {"NullMoveReduction": 4, "DeltaMargin": 180}, {"NullMoveReduction": 3}
    command = command_of(tuning, values, {**defaults, "DeltaMargin": 180})
    assert command == "kibitz match material,NullMoveReduction=4 material --sprt 0 5 --nodes 1000"


def test_values_of_a_training_are_tried_by_training() -> None:
    training = ("run.steps=8", "schedule.rate=0.01", 'data.folders=["a b"]')
    tuning = tuning_of(metric="loss", training=training)
    values, defaults = {"schedule.rate": 0.02, "run.clip": 1.0}, {"schedule.rate": 0.01}
    command = command_of(tuning, values, {**defaults, "run.clip": 1.0})
    expected = "--set run.steps=8 --set 'data.folders=[\"a b\"]' --set schedule.rate=0.02"
    assert command == f"kibitz train {expected}"


def test_a_range_follows_from_the_step_and_the_player() -> None:
    one, two = parameters_of(
        tuning_of(
            parameters=("policy_temperature", "ElIminationBaseExponent"),
            player=f"{TREE},PolicyTemperature=2",
        )
    )
    assert (one.name, one.low, one.high, one.default) == ("PolicyTemperature", 1.6, 2.4, 2.0)
    assert (two.low, two.high, two.whole) == (2, 16, True)
    (rate,) = parameters_of(tuning_of(parameters=("schedule.rate=1e-4:1e-2:log",), metric="loss"))
    assert rate.at(0.5) == pytest.approx(1e-3)
    assert rate.part(1e-3) == pytest.approx(0.5)
    assert as_toml([one, rate], {one.name: 1.5, rate.name: 0.001}) == (
        "[search]\npolicy_temperature = 1.5\n[schedule]\nrate = 0.001"
    )


def test_a_folder_keeps_its_settings(tmp_path: Path) -> None:
    study_in(tmp_path, trials=2)
    assert settings_of(tmp_path, None, ["trials=9"]).trials == 9
    assert settings_of(tmp_path, None, []) == tuning_of(trials=2)
    with pytest.raises(InputError, match="games was 40: 20"):
        settings_of(tmp_path, None, ["games=20"])
    with pytest.raises(ConfigError, match="did you mean 'games'"):
        settings_of(tmp_path, None, ["game=20"])
    study = study_in(tmp_path, trials=2)
    study.same({"player": "one"})
    with pytest.raises(InputError, match="player was 'one'"):
        study.same({"player": "two"})


def test_a_file_that_is_no_study_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "study.jsonl").write_text("{}\n")
    with pytest.raises(DamagedFileError, match="no study"):
        study_in(tmp_path)


def test_without_optuna_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kibitz\[tune\]'"):
        study_in(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(study_module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"kibitz\[train\]|kibitz\[tune\]"):
        study_module.check_method(tuning_of(method="gp"))


# --- the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "measure"), [("tpe", noisy), ("spsa", games)])
def test_the_page_has_figures_and_needs_nothing_else(
    method: str, measure: Callable[[Job, Stop], Measured], tmp_path: Path
) -> None:
    study = study_in(tmp_path, method=method, trials=20)
    write_page(study, standing(study))  # before anything was measured
    tune(study, measure, Stop())
    found = standing(study)
    write_page(study, found)
    page = (tmp_path / "report.html").read_text()
    assert page.count("<g transform") == (3 if method == "tpe" else 2)
    assert (tmp_path / "figures.svg").read_text() in page
    image = (tmp_path / "figures.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    assert len(image) > 10_000  # more than an empty sheet
    assert "not confirmed" in page
    assert "[search]" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    if method == "tpe":
        assert sum(found.shares) < 1.1
        assert min(found.shares) > 0.05


# --- the command ----------------------------------------------------------------------------------


def test_a_small_tuning_by_matches_and_its_confirmation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "t")
    words = ["tune", folder, "--parameter", "CPuct=0.5:4", "--player", TREE, "--nodes", "20"]
    words += ["--games", "2", "--trials", "3", "--set", "initial=2", "--set", "confirm=4"]
    assert main(["--quiet", *words]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 trials" in out
    assert "[search]\ncpuct = " in out
    assert "not confirmed" in out or "nothing better" in out
    assert main(["--quiet", "tune", folder, "--status", "--json"]) == 0
    assert len(msgspec.json.decode(capsys.readouterr().out)["trials"]) == 3
    assert main(["--quiet", "tune", folder, "--games", "4"]) == 2
    assert "games was 2" in capsys.readouterr().err


def test_a_small_tuning_by_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = tmp_path / "mates.epd"
    suite.write_text('6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#; id "a";\n' * 3)
    words = [
        "tune",
        str(tmp_path / "t"),
        "--parameter",
        "CPuct",
        "--player",
        TREE,
        "--nodes",
        "400",
    ]
    words += ["--metric", "points", "--suite", str(suite), "--trials", "2", "--set", "confirm=0"]
    empty = tmp_path / "empty.epd"
    empty.write_text('6k1/5ppp/8/8/8/8/8/R5K1 w - - id "b";\n')
    assert main(["--quiet", *words, "--suite", str(empty)]) == 2
    assert not (tmp_path / "t").exists()  # refused before anything is kept
    capsys.readouterr()
    suite.write_text(suite.read_text() + '6k1/5ppp/8/8/8/8/8/R5K1 w - - id "b";\n')
    assert main(words) == 0
    said = capsys.readouterr()
    assert "3/3" in said.out
    assert "mates.epd: positions left out, as they have no bm, am or points: 1" in said.err
    suite.write_text('6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#; id "b";\n')
    assert main(["--quiet", *words]) == 2
    assert "is of another tuning" in capsys.readouterr().err


def test_parameters_without_effect_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", str(tmp_path / "t"), "--parameter", "LogVisitsBase", "--player", TREE]
    assert main(["--quiet", *words]) == 2
    assert "LogVisitsBase has no effect" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
    assert main(["--quiet", "tune", str(tmp_path / "none"), "--status"]) == 2


def test_losses_need_games_that_are_held_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games = tmp_path / "games"
    words = ["--network", "material", "--games", "4", "--seed", "3", "--set", "playouts=4"]
    assert main(["--quiet", "selfplay", str(games), *words]) == 0
    words = ["tune", str(tmp_path / "t"), "--metric", "loss", "--trials", "2"]
    words += ["--parameter", "schedule.rate=1e-4:1e-2:log", "--set", "confirm=0"]
    data = ["run.network=sparse-8x8", f'data.folders=["{games}"]', "run.steps=2", "run.batch=16"]
    capsys.readouterr()
    assert main([*words, "--set", f"training={[*data, 'data.validation=0']}"]) == 2
    assert "no game is held out" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
    assert main([*words, "--set", f"training={[*data, 'data.validation=0.6']}"]) == 0
    said = capsys.readouterr()
    assert "2 of 2 trials" in said.out
    assert "kibitz match" not in said.out


def test_spsa_and_another_method_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--quiet", "tune", str(tmp_path / "t"), "--spsa"]
    assert main([*words, "--method", "gp"]) == 2
    assert "--spsa is a method of its own: 'gp'" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
    short = ["--trials", "1", "--games", "2", "--parameter", "DeltaMargin", "--nodes", "50"]
    assert main([*words, *short, "--method", "spsa"]) == 0

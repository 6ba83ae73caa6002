"""The study of a tuning: its trials, and the model that proposes the next."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.tuning.config import MAY_CHANGE, Parameter, TuneFile, Tuning, Values, centre
from kibitz.core.errors import DamagedFileError, InputError, missing_extra
from kibitz.core.files import Location, cut_torn_line, write_bytes
from kibitz.core.journal import lock, locked, open_lock
from kibitz.core.settings import dump, load

if TYPE_CHECKING:
    import optuna

Array = NDArray[np.float64]

TRIES, REFINED = 60, 120  # sets of lengths and noises that are tried, at random and near the best
GRID, AROUND = 25, 128  # points of a curve; settings of the other parameters it is averaged over


class Model:
    """A smooth function with noise, known by its measurements; higher or lower as measured."""

    def __init__(self, points: Array, values: Array, errors: Array) -> None:
        self.points = points  # [n, d]
        self._mean, self._scale = float(values.mean()), float(values.std()) or 1.0
        self._values = (values - self._mean) / self._scale
        self._variances = (errors / self._scale) ** 2
        self._logs = self._likeliest()
        root, self._weights, _ = self._solved(self._logs)
        self._inverse = np.linalg.inv(root)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Means and standard deviations of the function itself, without noise."""
        amplitude, lengths, _ = _parts(self._logs)
        across = amplitude * _matern(points, self.points, lengths)
        left = amplitude - ((across @ self._inverse.T) ** 2).sum(axis=1)
        means = self._mean + self._scale * (across @ self._weights)
        return means, self._scale * np.sqrt(np.maximum(left, 0.0))

    def curve(self, place: int) -> tuple[Array, Array, Array]:
        """Partial dependence on one parameter: its places, means, standard deviations."""
        amplitude, lengths, _ = _parts(self._logs)
        grid, means, deviations = np.linspace(0.0, 1.0, GRID), [], []
        for at in grid:
            around = even_points(AROUND, self.points.shape[1])
            around[:, place] = at
            across = amplitude * _matern(around, self.points, lengths).mean(axis=0)
            own = amplitude * _matern(around, around, lengths).mean()
            means.append(self._mean + self._scale * float(across @ self._weights))
            left = own - float(((self._inverse @ across) ** 2).sum())
            deviations.append(self._scale * max(0.0, left) ** 0.5)
        return grid, np.array(means), np.array(deviations)

    def shares(self) -> list[float]:
        """The share of the model's variance that each parameter explains by itself."""
        count = self.points.shape[1]
        whole = float(self.predict(even_points(4 * AROUND, count))[0].var())
        own = [float(self.curve(place)[1].var()) for place in range(count)]
        return [
            min(1.0, variance / whole) if whole > 1e-12 * self._scale**2 else 0.0
            for variance in own
        ]

    def _likeliest(self) -> Array:
        """Logarithms of amplitude, noise and lengths with the highest posterior."""
        generator = np.random.default_rng(0)
        middle = np.log([1.0, 0.05, *[0.5] * self.points.shape[1]])
        spread = np.array([1.0, 1.5, *[0.8] * self.points.shape[1]])

        def worth(logs: Array) -> float:
            return self._solved(logs)[2] - 0.5 * float((((logs - middle) / spread) ** 2).sum())

        best = middle
        highest = worth(best)
        for number in range(TRIES + REFINED):
            near = best if number >= TRIES else middle
            width = 1.0 if number < TRIES else 0.3
            tried = near + width * spread * generator.standard_normal(len(middle))
            tried_worth = worth(tried)
            if tried_worth > highest:
                best, highest = tried, tried_worth
        return best

    def _solved(self, logs: Array) -> tuple[Array, Array, float]:
        """Cholesky root of the covariance, weights of the measurements, log-likelihood."""
        amplitude, lengths, noise = _parts(logs)
        covariance = amplitude * _matern(self.points, self.points, lengths)
        root = np.linalg.cholesky(covariance + np.diag(self._variances + noise + 1e-8))
        weights = np.linalg.solve(root.T, np.linalg.solve(root, self._values))
        fit = -0.5 * float(self._values @ weights) - float(np.log(np.diag(root)).sum())
        return np.asarray(root, dtype=np.float64), weights, fit


def _parts(logs: Array) -> tuple[float, Array, float]:
    return float(np.exp(logs[0])), np.exp(logs[2:]), float(np.exp(logs[1]))


def _matern(first: Array, second: Array, lengths: Array) -> Array:
    apart = (first[:, None, :] - second[None, :, :]) / lengths
    distance = np.sqrt(5.0 * (apart**2).sum(axis=2))
    shape: Array = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    return shape


def even_points(count: int, dimensions: int, start: float = 0.5) -> Array:
    """Points spread evenly over the unit cube (M. Roberts' sequence by generalised golden ratios).

    >>> even_points(3, 1).round(3).ravel().tolist()
    [0.118, 0.736, 0.354]
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    points: Array = (start + np.arange(1, count + 1)[:, None] * steps) % 1.0
    return points


# --- the study ------------------------------------------------------------------------------------
#
# The study of a tuning: Optuna's trials in one file, shared by processes, picked up after kills.
#
#     tune.toml           settings
#     study.jsonl         Optuna's journal: every trial with its parameters and its value
#     claims/0007         locked while a process measures trial 7
#     matches/, trainings/    games and trainings of trials; one that was stopped goes on from there
#     confirm/, confirmation.json, report.html    the match against the defaults, results
#
# All changes of the study are made under one lock, and a trial belongs to who holds its claim. The
# system frees a dead process's claim, and the next process measures that trial to its end. What is
# tried next depends on the seed, the trial's number and the trials before it only, so one process
# that is stopped and goes on tries the same as one that is not.


SETTINGS, STUDY, NAME = "tune.toml", "study.jsonl", "kibitz"


class Measured(NamedTuple):
    """What a trial came to, with its standard error."""

    value: float
    error: float
    text: str = ""


class Trial(NamedTuple):
    """A trial by its place among those that count; without a measurement it is going on."""

    place: int
    number: int  # Optuna's
    values: Values
    measured: Measured | None = None
    claim: IO[bytes] | None = None


# --- settings -------------------------------------------------------------------------------------


def settings_of(root: Path, file: Location | None, overrides: Sequence[str]) -> Tuning:
    """Settings of the tuning there, or of a new one; others than it began with are refused."""
    path = root / SETTINGS
    keyed = [f"tune.{override}" for override in overrides]
    if not path.is_file():
        return load(TuneFile, file, overrides=keyed, partial=True).tune
    before = load(TuneFile, path).tune
    tuning = load(TuneFile, path, overrides=keyed).tune
    for name in (field.name for field in fields(Tuning)):
        old, new = getattr(before, name), getattr(tuning, name)
        if old != new and (name not in MAY_CHANGE or (name, tuning.method) == ("trials", "spsa")):
            what = f"{root} is of another tuning: {name} was {old!r}"
            raise InputError(what, value=new, fix="repeat the settings, or name another folder")
    return tuning


# --- trials ---------------------------------------------------------------------------------------


class Study:
    """The trials of a folder."""

    def __init__(self, root: Path, tuning: Tuning, parameters: list[Parameter]) -> None:
        self.root, self.tuning, self.parameters = root, tuning, parameters
        self._optuna = _optuna()
        with self._locked_study():
            write_bytes(root / SETTINGS, dump(TuneFile(tuning)).encode())
            self._study = self._open_study()

    def same(self, facts: Mapping[str, str]) -> None:
        """Refuse to go on with another network or other files than the tuning began with."""
        with self._locked_study():
            before = self._study.user_attrs
            for name, new in facts.items():
                old = before.get(name)
                if old is None:
                    self._study.set_user_attr(name, new)
                elif old != new:
                    what = f"{self.root} is of another tuning: {name} was {old!r}"
                    raise InputError(what, value=new, fix="name another folder")

    def trials(self) -> list[Trial]:
        """All trials, finished or not, in the order in which they began.

        A trial without a finite value, a training that diverged, has the worst one of the others.
        """
        notes, trials = self._study.user_attrs, list[Trial]()
        states = self._optuna.trial.TrialState
        for trial in self._study.get_trials(deepcopy=False):
            if trial.state in (states.COMPLETE, states.RUNNING) and len(trial.params) == len(
                self.parameters
            ):
                note = notes.get(f"trial {trial.number}", {})
                measured = Measured(trial.value, **note) if trial.value is not None else None
                trials.append(Trial(len(trials), trial.number, dict(trial.params), measured))
        known = [trial.measured.value for trial in trials if trial.measured]
        finite = [value for value in known if math.isfinite(value)]
        if len(finite) in (0, len(known)):
            return trials
        worst = max(finite) if self.tuning.lower else min(finite)
        return [
            trial._replace(measured=trial.measured._replace(value=worst))
            if trial.measured and not math.isfinite(trial.measured.value)
            else trial
            for trial in trials
        ]

    @contextmanager
    def next(self) -> Iterator[Trial | None]:
        """A trial to measure, claimed while the block runs; None if there is none left."""
        with self._locked_study():
            claimed = self._claimed()
        try:
            yield claimed
        finally:
            if claimed is not None and claimed.claim is not None:
                claimed.claim.close()

    def finish(self, trial: Trial, measured: Measured) -> None:
        """Keep what a trial came to."""
        note = {"error": measured.error, "text": measured.text}
        with self._locked_study():
            self._study.set_user_attr(f"trial {trial.number}", note)
            self._study.tell(trial.number, measured.value)

    def _claimed(self) -> Trial | None:
        for trial in (candidate for candidate in self.trials() if candidate.measured is None):
            claim = self._claim(trial.number)
            if claim is not None:
                return trial._replace(claim=claim)
        trials = self.trials()
        if len(trials) >= self.tuning.trials:
            return None
        self._drop_torn()
        values = self._chosen(len(trials), trials)
        waiting = self._study.get_trials(
            deepcopy=False, states=[self._optuna.trial.TrialState.WAITING]
        )
        if values is not None and not waiting:
            self._study.enqueue_trial(values)
        suggestion = self._study.ask(self._distributions())
        claim = self._claim(suggestion.number)
        assert claim is not None, "a new trial is claimed"
        return Trial(len(trials), suggestion.number, dict(suggestion.params), claim=claim)

    def _chosen(self, place: int, trials: list[Trial]) -> Values | None:
        """What is tried next; None if Optuna's sampler is to say."""
        tuning, seed = self.tuning, random.Random(f"sampler {self.tuning.seed} {place}")
        if tuning.method == "spsa":
            scores = {trial.place: trial.measured.value for trial in trials if trial.measured}
            return dict(centre(tuning, self.parameters, scores))
        if place < tuning.initial:
            return initial_values(tuning, self.parameters, place)
        samplers, number = self._optuna.samplers, seed.getrandbits(31)
        if tuning.method == "gp":
            self._study.sampler = samplers.GPSampler(seed=number, n_startup_trials=tuning.initial)
        else:
            self._study.sampler = samplers.TPESampler(seed=number, n_startup_trials=tuning.initial)
        return None

    def _distributions(self) -> dict[str, optuna.distributions.BaseDistribution]:
        kinds = self._optuna.distributions
        return {
            parameter.name: kinds.IntDistribution(
                round(parameter.low), round(parameter.high), log=parameter.log
            )
            if parameter.whole and self.tuning.method != "spsa"
            else kinds.FloatDistribution(parameter.low, parameter.high, log=parameter.log)
            for parameter in self.parameters
        }

    def _drop_torn(self) -> None:
        """Give up trials whose process died before it had all parameters."""
        for trial in self._study.get_trials(deepcopy=False):
            running = trial.state == self._optuna.trial.TrialState.RUNNING
            if running and len(trial.params) < len(self.parameters):
                self._study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL)

    # --- files ------------------------------------------------------------------------------------

    def _claim(self, number: int) -> IO[bytes] | None:
        file = open_lock(self.root / "claims" / f"{number:04}")
        if lock(file, wait=False):
            return file
        file.close()
        return None

    @contextmanager
    def _locked_study(self) -> Iterator[None]:
        """Hold the lock of the folder; what a killed process left unfinished is cut off."""
        with locked(self.root / ".lock"):
            cut_torn_line(self.root / STUDY)
            yield

    def _open_study(self) -> optuna.Study:
        path = self.root / STUDY
        journal = self._optuna.storages.journal
        try:
            # Optuna's own lock outlives a killed process by half a minute; ours does not.
            backend = journal.JournalFileBackend(str(path), lock_obj=_FolderLock())
            study: optuna.Study = self._optuna.create_study(
                storage=self._optuna.storages.JournalStorage(backend),
                study_name=NAME,
                direction="minimize" if self.tuning.lower else "maximize",
                load_if_exists=True,
            )
            return study
        except (ValueError, KeyError) as error:
            fix = "name another folder"
            raise DamagedFileError("no study of a tuning", value=str(path), fix=fix) from error


class _FolderLock:
    """The lock of Optuna's journal: the folder's, which is held already."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        """Nothing to release."""


def initial_values(tuning: Tuning, parameters: Sequence[Parameter], place: int) -> Values:
    """The defaults, then points spread evenly over the ranges; the seed shifts them."""
    if place == 0:
        return {parameter.name: parameter.value(parameter.default) for parameter in parameters}
    start = random.Random(f"initial {tuning.seed}").random()
    parts = even_points(place, len(parameters), start)[-1]
    return {
        parameter.name: parameter.at(float(part))
        for parameter, part in zip(parameters, parts, strict=True)
    }


def _optuna() -> Any:
    try:
        import optuna
        import optuna.storages.journal
    except ImportError as error:
        raise missing_extra("tuning", "optuna", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def check_method(tuning: Tuning) -> None:
    """Refuse a method whose packages are missing."""
    _optuna()
    for package, extra in (("scipy", "tune"), ("torch", "train")):
        if tuning.method == "gp" and find_spec(package) is None:
            raise missing_extra("the method gp", package, extra)

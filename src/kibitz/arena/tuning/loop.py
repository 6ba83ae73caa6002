"""How good parameters are: by games, by suites, by the loss of a training.

Points and nodes required of a suite differ from one position to the next: as a sample of positions
they have an error, too. A training's error is known from repeats only.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from kibitz.arena.match.elo import Sprt, moments, of_pairs
from kibitz.arena.match.game import Control
from kibitz.arena.match.journal import Journal, Results
from kibitz.arena.match.runner import Setup, run
from kibitz.arena.match.spec import Spec, parse_player, parse_players
from kibitz.arena.match.suites import Outcome, run_suite, suite_of
from kibitz.arena.tuning.config import Parameter, Tuning, Values, centre, player_with, sides
from kibitz.arena.tuning.study import Measured, Model, Study, Trial, initial_values
from kibitz.core.errors import InputError, missing_extra
from kibitz.core.files import crc32_of, read_bytes, sha256_of, write_bytes
from kibitz.core.journal import lock, open_lock
from kibitz.core.log import Stop, progress, say
from kibitz.core.settings import load
from kibitz.data.openings import RANDOM_PLIES, chosen_openings
from kibitz.train.config import TrainingSettings

SMOOTH = 0.2  # of a pair, added to each of its five results: few pairs say little of their variance
DIVERGED = Measured(math.inf, 0.0, "diverged")
FAILURE = 10  # times the nodes, required of a position that was not solved


class Job(NamedTuple):
    """One measurement: values against others, or against the defaults."""

    name: str  # of its files
    values: Values
    against: Values
    seed: int


Measure: TypeAlias = Callable[[Job, Stop], Measured | None]  # None if asked to stop


def measure_of(tuning: Tuning, folder: Path) -> Measure:
    """The measure that the settings name; files are kept in the folder."""
    if tuning.metric == "match":
        return lambda job, stop: by_match(tuning, folder, job, stop)
    if tuning.metric == "loss":
        return lambda job, stop: by_loss(tuning, folder, job, stop)
    return lambda job, stop: by_suites(tuning, job, stop)


def facts_of(tuning: Tuning) -> dict[str, str]:
    """What must stay as it is beside the settings: the network, and what is in files."""
    files = [*tuning.suites, *([tuning.openings] if tuning.openings else [])]
    facts = {file: sha256_of(file)[:12] for file in files}
    return facts if tuning.metric == "loss" else facts | {"player": identity(tuning)}


def identity(tuning: Tuning) -> str:
    """The player with what is in its network and in the settings file."""
    return parse_player(tuning.player).identity


# --- games ----------------------------------------------------------------------------------------


def by_match(tuning: Tuning, folder: Path, job: Job, stop: Stop) -> Measured | None:
    """The mean score of games in pairs; the error is that of the pairs."""
    players = [player_with(tuning, values) for values in (job.values, job.against)]
    first, second = (parse_player(text).engine().settings for text in players)
    if first == second:
        return Measured(0.5, 0.0, "no change")
    path = folder / "matches" / f"{job.name}.jsonl"
    results = play(tuning, path, players, tuning.games, tuning.control(), job.seed, stop)
    if len(results.games) < tuning.games:
        return None
    return score_of(results)


def score_of(results: Results) -> Measured:
    """The first player's mean score and its standard error."""
    pairs = results.pairs(0, 1)
    mean, _ = moments(pairs.five)
    variance = moments([count + SMOOTH for count in pairs.five])[1]
    return Measured(mean, math.sqrt(variance / pairs.total), results.tally(0, 1).text)


def play(
    tuning: Tuning,
    path: Path,
    players: list[str],
    games: int,
    control: Control,
    seed: int,
    stop: Stop,
    sprt: Sprt | None = None,
) -> Results:
    """A match that is kept in a journal; the file's name depends on all that makes it another."""
    specs: list[Spec] = parse_players(players)
    setup = Setup(
        players=specs,
        control=control,
        openings=chosen_openings(tuning.openings, None, games // 2, seed),
        rounds=games // 2,
        seed=seed,
        sprt=sprt,
        concurrency=tuning.concurrency,
        source=tuning.openings or f"random {RANDOM_PLIES}",
    )
    header = setup.header()
    with Journal(header, path.with_stem(f"{path.stem}-{header.digest}")) as journal:
        return run(setup, journal, stop)


# --- suites ---------------------------------------------------------------------------------------


def by_suites(tuning: Tuning, job: Job, stop: Stop) -> Measured | None:
    """Points, or nodes required, of all positions."""
    spec, outcomes = parse_player(player_with(tuning, job.values)), list[Outcome]()
    control = Control(nodes=tuning.nodes)
    for file in tuning.suites:
        epds = suite_of(Path(file)).positions
        outcomes += run_suite(epds, spec, control, concurrency=tuning.concurrency, stop=stop)
        if stop.requested:
            return None
    failure = tuning.failure_nodes or FAILURE * tuning.nodes
    each = [
        outcome.points
        if tuning.metric == "points"
        else outcome.required
        if outcome.solved
        else failure
        for outcome in outcomes
    ]
    numbers = [float(number or 0) for number in each]
    solved = f"{sum(outcome.solved for outcome in outcomes)}/{len(outcomes)}"
    error = statistics.stdev(numbers) * math.sqrt(len(numbers)) if len(numbers) > 1 else 0.0
    return Measured(sum(numbers), error, solved)


# --- trainings ------------------------------------------------------------------------------------


def by_loss(tuning: Tuning, folder: Path, job: Job, stop: Stop) -> Measured | None:
    """The validation loss of a training, weighted as without tuning; infinite if it diverged."""
    with training_needed():
        from kibitz.train.step import LossError
    try:
        done = train(tuning, folder, job, stop)
    except LossError as error:
        say(f"the training {job.name} diverged and counts as the worst: {error.what}")
        return DIVERGED
    if done is None:
        return None
    return Measured(done[0], 0.0) if math.isfinite(done[0]) else DIVERGED


def check_held_out(tuning: Tuning) -> None:
    """Refuse trainings without a game that is held out, of which no loss is known."""
    with training_needed():
        from kibitz.train.state import check, window_of
    settings = load(TrainingSettings, overrides=tuning.training)
    check(settings)
    if not len(window_of(settings).validation_rows(1)[1]):
        fix = "give a larger data.validation in tune.training, like 0.1"
        share = f"data.validation={settings.data.validation:g}"
        raise InputError("no game is held out to measure the loss on", value=share, fix=fix)


@contextmanager
def training_needed() -> Iterator[None]:
    """Have what trainings need and is missing say what to install."""
    try:
        yield
    except ImportError as error:
        raise missing_extra("a training", error.name or "torch", "train") from error


def train(tuning: Tuning, folder: Path, job: Job, stop: Stop) -> tuple[float, Path] | None:
    """The validation loss of a training and the file of its network; None if asked to stop."""
    with training_needed():
        from kibitz.train.checkpoint import validation_loss
        from kibitz.train.loop import train as train_network
    output = folder / "trainings" / job.name
    own = [f"{name}={value}" for name, value in job.values.items()]
    places = [f"run.output={output}", f"run.seed={job.seed}", "run.name=tuned"]
    base = load(TrainingSettings, overrides=tuning.training)
    settings = load(TrainingSettings, overrides=[*tuning.training, *own, *places])
    outcome = train_network(settings, "kibitz tune", stop, resume=output.is_dir())
    if outcome.stopped:
        return None
    return validation_loss(outcome.validation, base.loss), outcome.files[-1]


# --- the loop -------------------------------------------------------------------------------------
#
# The work of a tuning: one trial after another, then a match of the best against the defaults.


CONFIRMATION = "confirmation.json"


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """The match of some values against the defaults."""

    values: Values
    pairs: tuple[int, ...]  # of games, by 0, 1/2, 1, 3/2 and 2 points
    games: int
    elo: str
    test: str
    accepted: str | None  # H1, H0, or neither yet


def tune(study: Study, measure: Measure, stop: Stop) -> bool:
    """Measure trials until there are enough; False if asked to stop before, or others go on."""
    with progress("trials", total=study.tuning.trials) as bar:
        bar.advance(sum(each.measured is not None for each in study.trials()))
        while not stop.requested:
            with study.next() as trial:
                if trial is None:
                    break
                measured = _measured(study, trial, measure, stop)
                if measured is None:
                    return False
                study.finish(trial, measured)
                bar.advance()
                say(f"trial {trial.place + 1}: {line_of(trial.values, measured)}")
    left = sum(each.measured is None for each in study.trials())
    if left and not stop.requested:
        say(f"another process is at the last {left} trials")
    return not left and not stop.requested


def line_of(values: Values, measured: Measured) -> str:
    """A trial in a line."""
    settings = ", ".join(f"{name} {value:g}" for name, value in values.items())
    return f"{settings}: {measured.value:g} +/- {measured.error:.2g} {measured.text}".rstrip()


def _measured(study: Study, trial: Trial, measure: Measure, stop: Stop) -> Measured | None:
    """The mean of a trial's repeats; None if asked to stop."""
    tuning, repeats = study.tuning, list[Measured]()
    values, against = _whole(study, trial.values), Values()
    if tuning.method == "spsa":
        values, against = sides(tuning, study.parameters, trial.values, trial.place)
    for number in range(tuning.repeats):
        seed = random.Random(f"trial {tuning.seed} {trial.place} {number}").getrandbits(31)
        job = Job(f"{trial.place:04}-{number}", values, against, seed)
        repeat = measure(job, stop)
        if repeat is None:
            return None
        repeats.append(repeat)
    return mean_of(repeats)


def mean_of(repeats: list[Measured]) -> Measured:
    """The mean of several measurements; its error by theirs or their spread, whichever is more."""
    values = [repeat.value for repeat in repeats]
    if not all(map(math.isfinite, values)):
        return DIVERGED
    error = math.sqrt(sum(repeat.error**2 for repeat in repeats)) / len(repeats)
    if len(repeats) > 1:
        error = max(error, statistics.stdev(values) / math.sqrt(len(repeats)))
    return Measured(statistics.fmean(values), error, " ".join(repeat.text for repeat in repeats))


def _whole(study: Study, values: Values) -> Values:
    return {
        parameter.name: parameter.value(values[parameter.name]) for parameter in study.parameters
    }


# --- the best -------------------------------------------------------------------------------------


def model_of(study: Study, trials: list[Trial]) -> Model | None:
    """The model of all measurements; spsa has none, as each of its matches has two sides."""
    done = [(trial.values, trial.measured) for trial in trials if trial.measured is not None]
    is_finite = all(math.isfinite(measured.value) for _, measured in done)
    if study.tuning.method == "spsa" or len(done) < 2 or not is_finite:
        return None
    points = [
        [parameter.part(values[parameter.name]) for parameter in study.parameters]
        for values, _ in done
    ]
    errors = np.array([measured.error for _, measured in done])
    if study.tuning.repeats > 1:  # a few repeats say little of their own spread
        errors = np.full_like(errors, math.sqrt(float((errors**2).mean())))
    return Model(np.array(points), np.array([measurement.value for _, measurement in done]), errors)


def ranked(study: Study) -> tuple[list[tuple[Trial, float, float]], Model | None]:
    """Measured trials, best first, with mean and deviation of the model; and the model."""
    trials = [trial for trial in study.trials() if trial.measured is not None]
    model = model_of(study, trials)
    if model is None:
        rows = [
            (trial, trial.measured.value, trial.measured.error)
            for trial in trials
            if trial.measured
        ]
    else:
        means, deviations = model.predict(model.points)
        rows = list(zip(trials, means.tolist(), deviations.tolist(), strict=True))
    sign = 1 if study.tuning.lower else -1
    return sorted(rows, key=lambda row: sign * row[1]), model


def best_of(study: Study) -> Values | None:
    """The values to play with: of the best trial by the model's mean, or where spsa has come to."""
    if study.tuning.method == "spsa":
        scores = {trial.place: trial.measured.value for trial in study.trials() if trial.measured}
        return _whole(study, centre(study.tuning, study.parameters, scores)) if scores else None
    rows, _ = ranked(study)
    found = rows and math.isfinite(rows[0][1])  # else all trainings diverged
    return _whole(study, rows[0][0].values) if found else None


def defaults_of(study: Study) -> Values:
    """What the player, or the training, has without tuning."""
    return {parameter.name: parameter.default for parameter in study.parameters}


# --- the match that confirms ----------------------------------------------------------------------


def confirm(study: Study, stop: Stop) -> Confirmation | None:
    """Play the best against the defaults by SPRT; None if there is nothing to confirm."""
    tuning, best = study.tuning, best_of(study)
    if not tuning.confirm or best is None or best == defaults_of(study):
        return None
    with open_lock(study.root / "claims" / "confirm") as file:
        if not lock(file, wait=False):
            say("another process plays the match against the defaults")
            return None
        confirmation = _confirmed(study, best, stop)
    if confirmation is not None:
        write_bytes(study.root / CONFIRMATION, msgspec.json.encode(confirmation))
    return confirmation


def _confirmed(study: Study, best: Values, stop: Stop) -> Confirmation | None:
    tuning = study.tuning
    seed = random.Random(f"confirm {tuning.seed}").getrandbits(31)  # openings of no trial
    players = [f"{player_with(tuning, best)},name=tuned", f"{tuning.player},name=defaults"]
    if tuning.metric == "loss":
        players = []
        for name, values in (("tuned", best), ("defaults", Values())):
            work = f"confirm-{crc32_of(repr(values).encode())}"
            done = train(tuning, study.root, Job(work, values, {}, seed), stop)
            if done is None:
                return None
            players.append(f"{done[1]},name={name}")
    test, path = tuning.test(), study.root / "confirm" / "match.jsonl"
    control = tuning.control(confirming=True)
    results = play(tuning, path, players, tuning.confirm, control, seed, stop, test)
    return verdict_of(results, best, test)


def verdict_of(results: Results, best: Values, test: Sprt) -> Confirmation:
    """What the games say."""
    pairs = results.pairs(0, 1)
    return Confirmation(
        values=best,
        pairs=pairs.five,
        games=len(results.games),
        elo=of_pairs(pairs).text(),
        test=test.line(pairs),
        accepted=test.verdict(pairs),
    )


def confirmation_of(root: Path, best: Values | None) -> Confirmation | None:
    """The match that was played for these values; those of others prove nothing."""
    path = root / CONFIRMATION
    if not path.is_file():
        return None
    confirmation = msgspec.json.decode(read_bytes(path), type=Confirmation)
    return confirmation if confirmation.values == best else None


def check_effect(tuning: Tuning, parameters: Sequence[Parameter]) -> None:
    """Refuse parameters that change nothing with this player."""
    values = initial_values(tuning, parameters, 1)
    player = parse_player(player_with(tuning, values)).open()
    try:
        player.new_game(0)
        problems = list(getattr(player, "problems", ()))
    finally:
        player.close()
    for problem in problems:
        if problem.split(" has no effect")[0] in values:
            fix = "name a player that heeds it, as kibitz,Search=mcts does the tree search's"
            raise InputError(problem, value=tuning.player, fix=fix)

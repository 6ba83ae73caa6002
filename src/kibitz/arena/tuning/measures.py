"""How good parameters are: by games, by suites, by the loss of a training.

Points and nodes required of a suite differ from one position to the next: as a sample of positions
they have an error, too. A training's error is known from repeats only.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from kibitz.arena.match.elo import Sprt, moments
from kibitz.arena.match.game import Control
from kibitz.arena.match.journal import Journal, Results
from kibitz.arena.match.runner import Setup, run
from kibitz.arena.match.spec import Spec, parse_player, parse_players
from kibitz.arena.match.suites import Outcome, run_suite, suite_of
from kibitz.arena.tuning.config import Tuning, Values, player_with
from kibitz.arena.tuning.study import Measured
from kibitz.core.errors import missing_extra
from kibitz.core.files import sha256_of
from kibitz.core.log import Stop
from kibitz.core.settings import load
from kibitz.data.openings import RANDOM_PLIES, chosen_openings
from kibitz.train.config import TrainingSettings

SMOOTH = 0.2  # of a pair, added to each of its five results: few pairs say little of their variance
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
    digest = hashlib.sha256(msgspec.json.encode(header)).hexdigest()[:8]
    with Journal(header, path.with_stem(f"{path.stem}-{digest}")) as journal:
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
    """The validation loss of a training, weighted as without tuning."""
    done = train(tuning, folder, job, stop)
    return None if done is None else Measured(done[0], 0.0)


def train(tuning: Tuning, folder: Path, job: Job, stop: Stop) -> tuple[float, Path] | None:
    """The validation loss of a training and the file of its network; None if asked to stop."""
    try:
        from kibitz.train.checkpoint import validation_loss
        from kibitz.train.loop import train as train_network
    except ImportError as error:
        raise missing_extra("a training", error.name or "torch", "train") from error
    output = folder / "trainings" / job.name
    own = [f"{name}={value}" for name, value in job.values.items()]
    places = [f"run.output={output}", f"run.seed={job.seed}", "run.name=tuned"]
    base = load(TrainingSettings, overrides=tuning.training)
    settings = load(TrainingSettings, overrides=[*tuning.training, *own, *places])
    outcome = train_network(settings, "kibitz tune", stop, resume=output.is_dir())
    if outcome.stopped:
        return None
    return validation_loss(outcome.validation, base.loss), outcome.files[-1]

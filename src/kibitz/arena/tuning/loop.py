"""The work of a tuning: one trial after another, then a match of the best against the defaults."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from kibitz.arena.match.elo import Sprt, of_pairs
from kibitz.arena.match.journal import Results
from kibitz.arena.match.spec import parse_player
from kibitz.arena.tuning.config import Parameter, Tuning, Values, centre, player_with, sides
from kibitz.arena.tuning.measures import Job, Measure, play, train
from kibitz.arena.tuning.study import Measured, Model, Study, Trial, initial_values
from kibitz.core.errors import InputError
from kibitz.core.files import crc32_of, read_bytes, write_bytes
from kibitz.core.journal import lock, open_lock
from kibitz.core.log import Stop, progress, say

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
    given = ", ".join(f"{name} {value:g}" for name, value in values.items())
    return f"{given}: {measured.value:g} +/- {measured.error:.2g} {measured.text}".rstrip()


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
    if study.tuning.method == "spsa" or len(done) < 2:
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
    return _whole(study, rows[0][0].values) if rows else None


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

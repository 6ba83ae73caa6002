"""The kinds of stages of `kibitz cycle`.

    train      a training run, from the network of the iteration before
    average    the decaying average of the last networks, its batch norms estimated again
    strength   matches of a network against fixed opponents and its own past
    save       a copy of a network where players look for it

Each works in its own folder and goes on there after an interruption: trainings from checkpoints,
matches from journals.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from torch import Tensor, nn

from kibitz.arena.match.elo import of_pairs
from kibitz.arena.match.game import Control, parse_times
from kibitz.arena.match.journal import Journal
from kibitz.arena.match.runner import Setup, run
from kibitz.arena.match.spec import parse_players
from kibitz.core.errors import ConfigError, InputError
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.log import Stop, progress, say
from kibitz.core.settings import used
from kibitz.data.batches.loader import Loader, Share
from kibitz.data.batches.window import parse_source, shards_in
from kibitz.data.openings import chosen_openings
from kibitz.nets.card import Provenance
from kibitz.nets.models.build import count_parameters, file_weights, load_network
from kibitz.nets.models.make import trained_card, write_networks
from kibitz.train.checkpoint import average_of, checkpoints_that_matter, estimate_norms, has_norms
from kibitz.train.config import TrainingSettings, from_file
from kibitz.train.loop import train
from kibitz.train.state import learner_of, recipe_of, window_of
from kibitz.train.step import local_device
from kibitz.zero.cycle import Context, Kind

FOUND = ("score", "elo", "error", "low", "high", "interval")  # of an estimate, in reports
LIST_BEFORE = "list it before"
FLOAT, PLAYING = 0, 1  # what a stage that makes a network puts first

Positive = Annotated[int, Meta(ge=1)]


class TrainStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`kibitz train` with a file of settings and changes to them, `table.key=value`."""

    config: str = ""
    set: tuple[str, ...] = ()
    go_on: str = ""  # the stage whose last network it starts from; its own if empty
    teacher: str = ""  # the stage whose last network teaches


class AverageStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """ChessCoach's average over checkpoints, here over the networks of iterations."""

    network: str = "train"
    decay: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    smallest: Annotated[float, Meta(gt=0, lt=1)] = 0.01  # a network with less is left out
    norm_batches: Annotated[int, Meta(ge=0)] = 100


class StrengthStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A match against each opponent; options are the network's, as `kibitz match` takes them.

    Opponents are players of `kibitz match`, or `previous` and `first`: the same stage's networks.
    """

    opponents: tuple[str, ...]
    network: str = "train"
    options: tuple[str, ...] = ()
    games: Annotated[int, Meta(ge=2, multiple_of=2)] = 100
    nodes: Positive | None = None
    movetime: Positive | None = None  # ms
    tc: str = ""
    openings: str = ""
    plies: Annotated[int, Meta(ge=0)] = 0
    seed: int = 0
    concurrency: Positive = 1


class SaveStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Copies of a network under one name, replaced in every iteration."""

    to: str  # folder
    name: str = "latest"
    network: str = "train"


# --- train --------------------------------------------------------------------------------------


def _training(stage: TrainStage, context: Context) -> TrainingSettings:
    """Return the settings of this iteration's training."""
    file, network = stage.config or used(), context.folder.name
    settings = from_file(file, stage.set, network)
    start = _start(stage, context)
    overrides = [
        f"run.output={context.home}",
        f"run.name={context.folder.name}-{context.iteration:04}",
        "run.export=true",  # matches and players take the form that plays
        f"run.seed={settings.run.seed + context.iteration - 1}",
        *([f"run.network={start}"] if start else []),
        *([f"distill.teacher={_teacher(stage, context)}"] if stage.teacher else []),
    ]
    return from_file(file, [*stage.set, *overrides], network)


def _start(stage: TrainStage, context: Context) -> Path | None:
    """Return the network a training starts from, None for that of its settings."""
    made = _last(stage.go_on or context.home.name, context)
    return made[FLOAT] if made else None


def _teacher(stage: TrainStage, context: Context) -> Path:
    made = _last(stage.teacher, context)
    if not made:
        raise ConfigError("this teacher has not been trained", value=stage.teacher, fix=LIST_BEFORE)
    return made[FLOAT]


def _last(name: str, context: Context) -> list[Path]:
    """Return the last outputs of a stage; one further down the list has yet to have its turn."""
    order = list(context.stages)
    earlier = name in order and order.index(name) < order.index(context.home.name)
    return context.outputs(name, context.iteration - (0 if earlier else 1))


def _train_inputs(stage: TrainStage, context: Context) -> list[Path]:
    settings, start = _training(stage, context), _start(stage, context)
    folders = [parse_source(text).folder for text in settings.data.folders]
    shards = [path for folder in folders for path in shards_in(folder, settings.data.generations)]
    local = [shard for shard in shards if isinstance(shard, Path)]
    if len(local) < len(shards):
        what = "a cycle sees what is new by files on this machine, not behind a URL"
        raise InputError(what, value=str(settings.data.folders), fix="copy the shards here")
    named = [str(stage.config or used() or ""), settings.distill.teacher, str(start or "")]
    return [*(Path(name) for name in named if name), *local]


def _train(stage: TrainStage, context: Context) -> list[Path] | None:
    settings = _training(stage, context)
    command = f"kibitz cycle: {context.home.name}, iteration {context.iteration}"
    outcome = train(settings, command, context.stop, resume=True)
    return None if outcome.stopped else outcome.files


# --- average ------------------------------------------------------------------------------------


def _averaged(stage: AverageStage, context: Context) -> list[Path]:
    """Return the networks that have a part in the average, the oldest first."""
    count = checkpoints_that_matter(stage.decay, stage.smallest)
    first = max(1, context.iteration - count + 1)
    iterations = range(first, context.iteration + 1)
    made = [context.outputs(stage.network, iteration) for iteration in iterations]
    floats = [outputs[FLOAT] for outputs in made if outputs]
    if not floats:
        raise ConfigError(f"nothing to average: {stage.network} has made no network yet")
    return floats


def _average(stage: AverageStage, context: Context) -> list[Path] | None:
    files = _averaged(stage, context)
    networks = [load_network(path) for path in files]
    network, card = networks[-1]
    states: list[dict[str, Tensor]] = [network.state_dict() for network, _ in networks]
    network.load_state_dict(average_of(states, stage.decay))
    if has_norms(network) and stage.norm_batches:
        network = _with_norms(network, stage, context)
    name = f"{context.folder.name}-{context.iteration:04}-average"
    # Made again it has to be the same file, or what was made from it would begin again.
    date = card.provenance.date
    made = Provenance(commands=(f"average of {len(files)} networks",), date=date)
    card = trained_card(card, name, made, count_parameters(network))
    return write_networks(context.home, file_weights(network.state_dict()), card, playing=True)


def _with_norms(network: nn.Module, stage: AverageStage, context: Context) -> nn.Module:
    """Estimate batch norms again, on the data of the training."""
    training = context.stages[stage.network].settings
    if not isinstance(training, TrainStage):
        raise ConfigError("only a training has data for batch norms", value=stage.network)
    place = context.folder / f"{context.iteration:04}" / stage.network
    settings = _training(training, dataclasses.replace(context, home=place))
    batch, seed = settings.run.batch, settings.run.seed
    learner = learner_of(settings, None, Share(), local_device(settings.run.device))
    learner.network.load_state_dict(network.state_dict())
    how = recipe_of(learner.card, settings.data)
    window, device = window_of(settings), str(learner.device)
    with Loader(window, how, batch, seed, device=device) as loader:
        ahead = itertools.islice(loader, stage.norm_batches)
        count = estimate_norms(learner.network, ahead, learner.forward)
    say(f"batch norms estimated on {count} batches of {batch}")
    return learner.network


# --- strength -----------------------------------------------------------------------------------


def _opponents(stage: StrengthStage, context: Context) -> list[tuple[str, str]]:
    """Return names and players; the past is left out where there is none."""
    past = {"previous": context.iteration - 1, "first": 1}
    opponents = []
    for name in stage.opponents:
        if name not in past:
            opponents.append((name, name))
        elif 0 < past[name] < context.iteration:
            files = context.outputs(stage.network, past[name])
            opponents += [(name, ",".join([str(files[PLAYING]), *stage.options]))] if files else []
    return opponents


def _strength_inputs(stage: StrengthStage, context: Context) -> list[Path]:
    book = [Path(stage.openings)] if stage.openings else []
    past = {"previous": context.iteration - 1, "first": 1}
    iterations = {past[name] for name in stage.opponents if name in past} | {context.iteration}
    made = [context.outputs(stage.network, iteration) for iteration in sorted(iterations)]
    return book + [outputs[PLAYING] for outputs in made if outputs]


def _strength(stage: StrengthStage, context: Context) -> list[Path] | None:
    made = _network(stage.network, context)
    times = parse_times(stage.tc) if stage.tc else Control()
    player = ",".join([str(made[PLAYING]), *stage.options])
    reports, rounds = [], stage.games // 2
    for number, (name, opponent) in enumerate(_opponents(stage, context)):
        match = Setup(
            players=parse_players([player, opponent]),
            control=Control(times.base, times.increment, times.moves, stage.movetime, stage.nodes),
            openings=chosen_openings(stage.openings, stage.plies or None, rounds, stage.seed),
            rounds=rounds,
            seed=stage.seed,
            concurrency=stage.concurrency,
        )
        journal = context.home / f"games-{number}.jsonl"
        report = context.home / f"strength-{number}.json"
        if not measure(match, name, journal, report, context.stop):
            return None
        reports += [report, journal]
    return reports


def measure(match: Setup, opponent: str, journal: Path, report: Path, stop: Stop) -> bool:
    """Play what the journal lacks and write the report; False if stopped before the end."""
    with Journal(match.header(), journal) as played, progress("games", total=match.games) as bar:
        bar.advance(len(played.games))
        results = run(match, played, stop, lambda _: bar.advance())
    if len(results.games) < match.games:
        return False
    pairs, tally = results.pairs(0, 1), results.tally(0, 1)
    estimate = of_pairs(pairs)
    ours, theirs = match.players
    facts: dict[str, Any] = {
        "player": ours.name,
        "opponent": opponent,
        # As given, with checksums of the networks' files: what the result is of, whatever comes.
        "players": [ours.identity, theirs.identity],
        "time": round(time.time(), 3),
        "control": str(match.control),
        "games": match.games,
        **tally._asdict(),
        "pentanomial": list(pairs.five),
        # A match won or lost in every game has no Elo, but a bound: see arena/match/elo.py.
        **{name: getattr(estimate, name) for name in FOUND},
    }
    write_bytes(report, msgspec.json.format(msgspec.json.encode(facts), indent=1))
    counts = f"+{tally.wins} ={tally.draws} -{tally.losses}"
    say(f"{ours.name} against {opponent}, {match.control}: {counts}, Elo {estimate.text(0)}")
    return True


def _network(name: str, context: Context) -> list[Path]:
    made = context.outputs(name, context.iteration)
    if len(made) <= PLAYING:
        raise ConfigError("this stage has made no network", value=name, fix=LIST_BEFORE)
    return made


# --- save ---------------------------------------------------------------------------------------


def _save(stage: SaveStage, context: Context) -> list[Path] | None:
    """Copy the float network and the one that plays, each atomically."""
    made = _network(stage.network, context)
    ends = [made[FLOAT].suffix, made[PLAYING].name.removeprefix(made[FLOAT].stem)]
    for source, end in zip(made, ends, strict=False):
        write_bytes(Path(stage.to) / f"{stage.name}{end}", read_bytes(source))
    return []


def _save_inputs(stage: SaveStage, context: Context) -> list[Path]:
    return context.outputs(stage.network, context.iteration)[: PLAYING + 1]


KINDS = {
    "train": Kind(TrainStage, _train_inputs, _train),
    "average": Kind(AverageStage, _averaged, _average),
    "strength": Kind(StrengthStage, _strength_inputs, _strength),
    "save": Kind(SaveStage, _save_inputs, _save),
}

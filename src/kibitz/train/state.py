"""What a training begins with and what a checkpoint holds."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import torch

from kibitz.core.errors import InputError
from kibitz.core.files import dated
from kibitz.core.log import progress, say
from kibitz.core.places import size_of
from kibitz.data.batches.batch import Recipe, recipe
from kibitz.data.batches.loader import Loader, PlaceInData, Share
from kibitz.data.batches.window import Window, parse_source
from kibitz.nets.card import NetworkCard
from kibitz.nets.discover import RUN
from kibitz.nets.models.build import build, channels_last, load_network
from kibitz.nets.models.sizes import new_card
from kibitz.train import checkpoint as checkpoints
from kibitz.train.checkpoint import Average, Best, Checkpoint
from kibitz.train.config import DataSettings, TrainingSettings
from kibitz.train.step import Learner, Teacher, make_optimiser, shared

FEW_STEPS = 1000  # a new network is far from its best before
GAMES_AS_TEXT = (".pgn", ".csv", ".epd")  # what `kibitz data import` reads

# Settings that may change when a training goes on.
MAY_CHANGE = {
    "run": {
        *("steps", "epochs", "device", "threads", "log", "validate", "checkpoint", "keep"),
        *("tensorboard", "output", "name", "licence", "export", "best", "patience", "hours"),
    },
    "data": {"validation_positions", "memory", "reuse"},
}


@dataclass
class TrainState:
    """What changes while a training runs and a checkpoint holds."""

    learner: Learner  # network, card and optimiser
    loader: Loader  # the place in the data
    average: Average | None
    step: int  # steps made
    date: str  # of the last checkpoint
    best: Best | None = None  # kept in a file of its own, by the first process
    figures: dict[str, float] = field(default_factory=dict)  # of the last validation of this run
    validated: int = -1  # the step of that


def begin(
    settings: TrainingSettings,
    checkpoint: Checkpoint | None,
    window: Window,
    share: Share,
    device: torch.device,
) -> TrainState:
    """Return the state of a new training, or of one that goes on, as the checkpoint has it."""
    run, data = settings.run, settings.data
    torch.manual_seed(run.seed)
    learner = learner_of(settings, checkpoint, share, device)
    how = recipe_of(learner.card, data)
    teacher_recipe = recipe_of(learner.teacher.card, data) if learner.teacher else None
    place = place_of(checkpoint, window)
    loader = Loader(window, how, run.batch, run.seed, place, share, str(device), teacher_recipe)
    average = None
    if settings.average.kind != "none":
        average = Average(settings.average.kind, settings.average.decay)
    if checkpoint is None:
        return TrainState(learner, loader, average, step=0, date=now())
    if average is not None:
        average.restore(checkpoint.part("average"))
    checkpoints.restore_random(checkpoint)
    step, date = int(checkpoint.state["step"]), checkpoint.state.get("date", now())
    return TrainState(learner, loader, average, step, date)


def checkpoint_of(
    state: TrainState, settings: TrainingSettings, window: Window, command: str
) -> Checkpoint:
    """Return what a training needs to go on exactly where it is."""
    tensors, optimiser = checkpoints.optimiser_parts(state.learner.optimiser)
    network = state.learner.network.state_dict()
    tensors |= {f"network.{name}": tensor for name, tensor in network.items()}
    if state.average is not None:
        sums = state.average.state()
        tensors |= {f"average.{name}": tensor for name, tensor in sums.items()}
    tensors |= checkpoints.random_parts()
    rest = {
        "step": state.step,
        "place": list(state.loader.place),
        "window": fingerprint(window),
        "settings": as_json(settings),
        "card": msgspec.to_builtins(state.learner.card),
        "command": command,
        "date": state.date,
        "optimiser": optimiser,
    }
    return Checkpoint(tensors, rest)


def now() -> str:
    """Return the date as files have it."""
    return dated(datetime.datetime.now(datetime.UTC))


# --- checks ---------------------------------------------------------------------------------------


def check(settings: TrainingSettings) -> None:
    """Refuse what is known to be wrong before anything is written or read."""
    run, data = settings.run, settings.data
    if not run.network:
        raise InputError("no network to train", fix="give --network, like sparse-512x256-threats")
    if not run.network.endswith(".safetensors"):
        new_card(run.network, encoding=run.encoding)
    if not data.folders:
        raise InputError("no data to train on", fix="give --data FOLDER")
    for text in data.folders:
        source = parse_source(text).folder
        named = str(source)
        if (source / RUN).is_file():
            say(f"{named} is a run of kibitz learn: the games of all its generations are the data")
        if re.sub(r"\.(gz|bz2|xz|zstd?)$", "", named.lower()).endswith(GAMES_AS_TEXT):
            fix = f"import it first: kibitz data import {named} --output games"
            raise InputError("games as text are no data to train on", value=named, fix=fix)
    refuse_run(run.output)
    if run.patience and not (run.validate and data.validation):
        fix = "give run.validate and data.validation, or leave --patience out"
        raise InputError("patience without validations", value=run.patience, fix=fix)


def refuse_run(output: Path) -> None:
    """Refuse the folder of a run of `kibitz learn`, which trains by itself, to write into."""
    if (output / RUN).is_file():
        fix = f"go on with it: kibitz learn {output} --resume; or give another --output"
        raise InputError("a run of kibitz learn is here", value=str(output), fix=fix)


def found_checkpoint(
    settings: TrainingSettings, resume: bool, damaged_allowed: bool
) -> Checkpoint | None:
    """Return where an earlier training in the output folder was left, if it is to go on."""
    folder = settings.run.output / "checkpoints"
    if not resume:
        if checkpoints.checkpoints_in(folder):
            fix = "go on with --resume, or choose another --output"
            raise InputError("a training is here already", value=str(folder), fix=fix)
        return None
    newest = checkpoints.newest(folder, damaged_allowed)
    if newest is None:
        return None
    path, checkpoint = newest
    _check_same(settings, checkpoint)
    say(f"going on from {path}")
    return checkpoint


def _check_same(settings: TrainingSettings, checkpoint: Checkpoint) -> None:
    """Refuse to go on with settings under which the result would be neither one nor the other."""
    current, saved = as_json(settings), checkpoint.state["settings"]
    old_folder, new_folder = Path(saved["run"]["output"]), Path(current["run"]["output"])
    for table, before in saved.items():
        for key, value in before.items():
            same = value, _moved(value, old_folder, new_folder)
            if key not in MAY_CHANGE.get(table, ()) and current[table].get(key) not in same:
                what = f"{table}.{key} was {value!r} when this training began, now it is"
                fix = "keep it, or choose another --output"
                raise InputError(what, value=current[table].get(key), fix=fix)


def _moved(value: Any, old_folder: Path, new_folder: Path) -> Any:
    """A setting whose places are beside an output that was moved from there to here."""
    if isinstance(value, list):
        return [_moved(item, old_folder, new_folder) for item in value]
    while old_folder.name and old_folder.name == new_folder.name:
        old_folder, new_folder = old_folder.parent, new_folder.parent
    if isinstance(value, str) and Path(value).is_relative_to(old_folder):
        return str(new_folder / Path(value).relative_to(old_folder))
    return value


def as_json(settings: TrainingSettings) -> dict[str, Any]:
    """Return settings as JSON gives them back."""
    text = msgspec.json.encode(dataclasses.asdict(settings), enc_hook=os.fspath)
    tables: dict[str, Any] = json.loads(text)
    return tables


def warn_of_few_steps(settings: TrainingSettings, total: int) -> None:
    """Say that a new network will learn little, where the end comes too soon for it."""
    run = settings.run
    if total >= FEW_STEPS or run.overfit or run.network.endswith(".safetensors"):
        return
    say(
        f"warning: {total} steps are too few for a new network, which learns little in less than "
        f"{FEW_STEPS:,}; give a smaller --batch, more --epochs, or --recipe small"
    )


# --- the network ----------------------------------------------------------------------------------


def learner_of(
    settings: TrainingSettings, checkpoint: Checkpoint | None, share: Share, device: torch.device
) -> Learner:
    """Return the network with its optimiser, new or as the checkpoint left them."""
    run = settings.run
    if run.network.endswith(".safetensors"):
        network, card = load_network(run.network)
        if run.encoding not in ("", card.encoding):
            fix = f"leave run.encoding out: this network sees {card.encoding}"
            raise InputError("another encoding than the file's", value=run.encoding, fix=fix)
    else:
        card = new_card(run.network, encoding=run.encoding)
        network = build(card)
    if checkpoint is not None:
        card = msgspec.convert(checkpoint.state["card"], NetworkCard)
        network.load_state_dict(checkpoint.part("network"))
    channels_last(network.to(device))
    optimiser = make_optimiser(network, settings.optimiser, settings.schedule.rate)
    if checkpoint is not None:
        checkpoints.restore_optimiser(optimiser, checkpoint)
    return Learner(
        network=network,
        card=card,
        optimiser=optimiser,
        weights=settings.loss,
        device=device,
        bfloat16=run.precision == "bfloat16",
        clip=run.clip,
        bad_batches=run.output,
        teacher=_teacher(settings, device),
        share=share,
        module=shared(network, share, device),
    )


def _teacher(settings: TrainingSettings, device: torch.device) -> Teacher | None:
    if not settings.distill.teacher:
        return None
    network, card = load_network(settings.distill.teacher)
    return Teacher(channels_last(network.to(device)), card, settings.distill)


# --- the data -------------------------------------------------------------------------------------


def window_of(settings: TrainingSettings) -> Window:
    """Return the data to train on, read and checked."""
    data = settings.data
    with progress("reading shards") as bar:
        window = Window(
            tuple(parse_source(text) for text in data.folders),
            data.validation,
            data.newest,
            data.generations,
            data.memory,
            settings.run.seed,
            data.played,
            data.policy_share,
            bar,
        )
    window.bar = None
    return window


def recipe_of(card: NetworkCard, data: DataSettings) -> Recipe:
    """Return what batches for a network are made like."""
    return recipe(card, data.result_share, data.policy_share)


def place_of(checkpoint: Checkpoint | None, window: Window) -> PlaceInData:
    """Return where to go on: where it stopped, or at a new epoch if the data has changed since."""
    if checkpoint is None:
        return PlaceInData()
    place = PlaceInData(*checkpoint.state["place"])
    if checkpoint.state["window"] == fingerprint(window):
        return place
    say("the data has changed since the checkpoint: a new epoch begins")
    return PlaceInData(place.epoch + 1)


def fingerprint(window: Window) -> str:
    """Return what changes when shards come, go or change in length."""
    digest = hashlib.sha256()
    for path in window.files:
        digest.update(f"{path.name} {size_of(path)}\n".encode())
    return digest.hexdigest()


def described(window: Window) -> str:
    """Return what a card says about the data."""
    parts = [f"{source.folder}={source.weight:g}" for source in window.sources]
    return f"{', '.join(parts)} ({len(window.files)} shards)"


def total_steps(settings: TrainingSettings, window: Window, loader: Loader) -> int:
    """Return the step to end at: asked for, or by epochs, or as far as positions may be shown."""
    run, reuse = settings.run, settings.data.reuse
    steps = run.steps
    if window.chunks > 1:
        if not steps:
            fix = "give --steps, or let all positions into memory"
            raise InputError("epochs of data that is larger than memory", value=run.epochs, fix=fix)
        return steps
    steps = steps or round(run.epochs * loader.batches())
    if reuse:
        shown = int(reuse * loader.batches() / max(source.weight for source in window.sources))
        if steps > shown:
            say(f"stopping at step {shown}: a position may be shown {reuse:g} times")
            steps = shown
    if not steps:
        what = f"fewer positions than half a batch in --epochs {run.epochs:g}: nothing to train"
        fix = "give a smaller --batch, more data, more --epochs, or --steps"
        raise InputError(what, value=f"batch {run.batch}", fix=fix)
    return steps

"""All settings of a training: the tables of a TOML file.

Imports no torch: the settings file is checked where torch need not be installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kibitz.core.errors import ConfigError
from kibitz.core.files import Location
from kibitz.core.options import setting
from kibitz.core.settings import load


@dataclass(frozen=True)
class DataSettings:
    """Where positions come from and how they become targets."""

    folders: tuple[str, ...] = setting((), "folders of shards; DIR=2 is shown twice an epoch")
    newest: int = setting(0, "positions from the end of each folder; 0 all", low=0)
    generations: int = setting(0, "sub-folders from the end of each folder; 0 all", low=0)
    memory: int = setting(0, "positions in memory at a time; 0 all of them", low=0)
    reuse: float = setting(0.0, "most times a position may be shown; 0 any number", low=0)
    validation: float = setting(0.01, "share of games held out", low=0, high=0.9)
    validation_positions: int = setting(65_536, "most positions validated on", low=1)
    played: bool = setting(True, "moves made are policy targets where no search left any")
    result_share: float = setting(
        0.0, "share of the game's result in the value target", low=0, high=1
    )
    policy_share: float = setting(
        1.0, "share of the positions that teach the policy: its moves cost most", low=0, high=1
    )


@dataclass(frozen=True)
class AverageSettings:
    """An average of the weights along the way, saved beside the network."""

    kind: Literal["none", "swa", "ema"] = setting(
        "none", "average of the weights: none, swa or ema"
    )
    decay: float = setting(0.999, "what each update leaves of the average", low=0, high=0.999999)
    interval: int = setting(1, "steps between updates", low=1)
    norm_batches: int = setting(100, "batches that estimate batch norms anew", low=0)


@dataclass(frozen=True)
class RunSettings:
    """How long, how fast and on what."""

    network: str = setting("", "a size like sparse-512x256-threats, or a file to go on from")
    encoding: str = setting("", "planes it sees, like history109; the family's by default")
    name: str = setting("", "of the network; that of the output folder by default")
    licence: str = setting("", "of the network, for its card; mind that of the data")
    output: Path = setting(Path("training"), "folder for checkpoints, metrics, networks")
    batch: int = setting(4096, "positions in a batch of one process", low=1)
    steps: int = setting(0, "batches to train on; 0: by epochs", low=0)
    epochs: float = setting(1.0, "times to go over the data, where steps is 0", low=0)
    overfit: bool = setting(False, "show the first batch again and again: a check")
    seed: int = setting(0, "of weights and of the order of positions", low=0)
    device: str = setting(
        "auto", "where to compute: cpu, cuda, or auto, which takes cuda where there is one"
    )
    threads: int = setting(0, "threads of torch; 0: as many as there are cores", low=0)
    precision: Literal["float32", "bfloat16"] = setting(
        "float32", "of the numbers: float32, or bfloat16 by autocast"
    )
    clip: float = setting(0.0, "longest gradient; 0 any length", low=0)
    log: int = setting(50, "steps between lines of metrics", low=1)
    validate: int = setting(500, "steps between validations; 0 at the end only", low=0)
    checkpoint: int = setting(1000, "steps between checkpoints; 0 at the end only", low=0)
    keep: int = setting(3, "checkpoints kept, the newest", low=1)
    best: bool = setting(True, "export the weights of the best validation, not the last ones")
    patience: int = setting(0, "end after so many validations without a better one", low=0)
    hours: float = setting(0.0, "end after so many hours of this start; 0: no end", low=0)
    export: bool = setting(True, "write the forms that play: int8 or ONNX")
    tensorboard: bool = setting(True, "write TensorBoard's files, too, if it is installed")


@dataclass(frozen=True)
class OptimiserSettings:
    """SGD with momentum, Adam, or AdamW with decay apart from the gradient."""

    kind: Literal["sgd", "adam", "adamw"] = setting("adamw", "how weights move: sgd, adam or adamw")
    momentum: float = setting(0.9, "of sgd", low=0, high=1)
    nesterov: bool = setting(False, "of sgd: look ahead")
    weight_decay: float = setting(0.0, "of weights; biases and norms never decay", low=0)
    beta1: float = setting(0.9, "of adam and adamw", low=0, high=1)
    beta2: float = setting(0.999, "of adam and adamw", low=0, high=1)
    epsilon: float = setting(1e-8, "of adam and adamw", low=0)

    def __post_init__(self) -> None:
        if self.kind == "sgd" and self.nesterov and self.momentum == 0:
            raise ConfigError("nesterov looks along the momentum", value=0, fix="give a momentum")


@dataclass(frozen=True)
class Schedule:
    """A learning rate over the steps of a training; all counts are optimiser steps."""

    shape: Literal["constant", "steps", "exponential", "cosine", "cyclic"] = setting(
        "constant", "of the learning rate: constant, steps, exponential, cosine or cyclic"
    )
    rate: float = setting(1e-3, "the highest learning rate (steps has its own)", low=0)
    lowest: float = setting(0.0, "of exponential, cosine and cyclic", low=0)
    warmup: int = setting(0, "steps in which the rate grows from 0 at the start", low=0)
    boundaries: tuple[int, ...] = setting((), "steps: where each rate begins, from 0", low=0)
    rates: tuple[float, ...] = setting((), "steps: a rate for each boundary", low=0)
    factor: float = setting(0.96, "exponential: each period multiplies by it", low=0, high=1)
    period: int = setting(1000, "exponential: steps; cyclic: half a cycle", low=1)
    whole_periods: bool = setting(False, "exponential: change at the end of periods only")
    length: int = setting(0, "cosine: the step of the lowest rate; 0 the last one", low=0)
    by_devices: bool = setting(
        True, "several processes: rates times their number, counts of steps divided by it"
    )

    def __post_init__(self) -> None:
        if self.shape == "steps":
            self._check_steps()
        if self.lowest > self.rate and self.shape in ("exponential", "cosine", "cyclic"):
            raise ConfigError("the lowest rate is above the rate", value=self.lowest)
        if self.shape == "cosine" and self.length and self.length <= self.warmup:
            raise ConfigError("length ends before the warm-up does", value=self.length)

    def _check_steps(self) -> None:
        if not self.boundaries or len(self.rates) != len(self.boundaries):
            fix = f"give {max(1, len(self.boundaries))} rates, one for each boundary"
            raise ConfigError("rates and boundaries differ in number", value=self.rates, fix=fix)
        if self.boundaries != tuple(sorted({0, *self.boundaries})):
            fix = "start with 0 and go up"
            raise ConfigError("boundaries out of order", value=self.boundaries, fix=fix)


@dataclass(frozen=True)
class WordsSettings:
    """How long and how fast a decoder is trained; rates are ChessCoach's but for their cycle."""

    steps: int = 4000
    batch: int = 32
    rate: float = 1e-3
    lowest: float = 1e-5
    period: int = setting(500, "Steps of half a cycle of the rate.")
    held_out: float = 0.05  # share of the games
    every: int = setting(250, "Steps between checkpoints.")
    seed: int = 0
    threads: int = 1

    @property
    def schedule(self) -> Schedule:
        """The triangular rate."""
        return Schedule(shape="cyclic", rate=self.rate, lowest=self.lowest, period=self.period)


@dataclass(frozen=True)
class LossWeights:
    """What each head's loss counts; a weight of 0 switches a loss off."""

    value: float = setting(1.0, "value head: squared error, cross-entropy or ranking", low=0)
    policy: float = setting(1.0, "policy head: cross-entropy over the legal moves", low=0)
    mcts_value: float = setting(0.15, "value of the search, where the net has a head", low=0)
    soft_policy: float = setting(8.0, "softened visits, where the net has a head", low=0)
    soft_temperature: float = setting(4.0, "visits to the power 1 / temperature", low=1)
    moves_left: float = setting(0.01, "plies to the end, where the net has a head", low=0)


@dataclass(frozen=True)
class DistillSettings:
    """A teacher to learn from besides the games, and how much it counts."""

    temperature: float = setting(5.0, "softens both policies before comparing them", low=0.01)
    policy_share: float = setting(0.6, "of the teacher in the policy's loss", low=0, high=1)
    value_share: float = setting(0.0, "of the teacher in the value target", low=0, high=1)
    teacher: str = setting("", "float network file of any family; none: no distillation")


@dataclass(frozen=True)
class TrainingSettings:
    """All of it: the tables of a TOML file."""

    run: RunSettings = field(default_factory=RunSettings)
    data: DataSettings = field(default_factory=DataSettings)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    schedule: Schedule = field(default_factory=Schedule)
    loss: LossWeights = field(default_factory=LossWeights)
    average: AverageSettings = field(default_factory=AverageSettings)
    distill: DistillSettings = field(default_factory=DistillSettings)


def from_file(
    path: Location | None, overrides: Sequence[str] = (), name: str = ""
) -> TrainingSettings:
    """Settings of a training; the file's tables [networks.NAME] hold if its network is NAME."""
    plain = load(TrainingSettings, path, overrides=overrides, partial=True)
    name = name or plain.run.name or plain.run.output.name
    return load(TrainingSettings, path, name, overrides, partial=True)


# What `--recipe` stands for: settings below those of the command line.
RECIPES = {
    # Value layers that are wider learn a thousand results by heart in two epochs.
    "small": (
        "run.network=sparse-8x64-tactics",
        "run.batch=256",
        "run.epochs=4",
        "run.validate=100",
        "run.patience=5",
        "run.clip=1.0",
        "data.validation=0.05",
        "optimiser.weight_decay=1.0",
        "schedule.shape=cosine",
        "schedule.rate=0.002",
        "schedule.warmup=50",
    )
}

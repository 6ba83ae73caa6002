"""All settings of a training: the tables of a TOML file.

Imports no torch: the settings file is checked where torch need not be installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kibitz.errors import ConfigError
from kibitz.files import Location
from kibitz.options import setting
from kibitz.settings import load


@dataclass(frozen=True)
class DataSettings:
    """Where positions come from and how they become targets."""

    folders: tuple[str, ...] = setting((), about="folders of shards; DIR=2 is shown twice an epoch")
    newest: int = setting(0, low=0, about="positions from the end of each folder; 0 all")
    generations: int = setting(0, low=0, about="sub-folders from the end of each folder; 0 all")
    memory: int = setting(0, low=0, about="positions in memory at a time; 0 all of them")
    reuse: float = setting(0.0, low=0, about="most times a position may be shown; 0 any number")
    validation: float = setting(0.01, low=0, high=0.9, about="share of games held out")
    validation_positions: int = setting(65_536, low=1, about="most positions validated on")
    played: bool = setting(True, about="moves made are policy targets where no search left any")
    result_share: float = setting(
        0.0, low=0, high=1, about="share of the game's result in the value target"
    )


@dataclass(frozen=True)
class AverageSettings:
    """An average of the weights along the way, saved beside the network."""

    kind: Literal["none", "swa", "ema"] = setting(
        "none", about="average of the weights: none, swa or ema"
    )
    decay: float = setting(
        0.999, low=0, high=0.999999, about="what each update leaves of the average"
    )
    interval: int = setting(1, low=1, about="steps between updates")
    norm_batches: int = setting(100, low=0, about="batches that estimate batch norms anew")


@dataclass(frozen=True)
class RunSettings:
    """How long, how fast and on what."""

    network: str = setting("", about="a size like sparse-512x256-threats, or a file to go on from")
    encoding: str = setting("", about="planes it sees, like history109; the family's by default")
    name: str = setting("", about="of the network; that of the output folder by default")
    licence: str = setting("", about="of the network, for its card; mind that of the data")
    output: Path = setting(Path("training"), about="folder for checkpoints, metrics, networks")
    batch: int = setting(4096, low=1, about="positions in a batch of one process")
    steps: int = setting(0, low=0, about="batches to train on; 0: by epochs")
    epochs: float = setting(1.0, low=0, about="times to go over the data, where steps is 0")
    overfit: bool = setting(False, about="show the first batch again and again: a check")
    seed: int = setting(0, low=0, about="of weights and of the order of positions")
    device: str = setting(
        "auto", about="where to compute: cpu, cuda, or auto, which takes cuda where there is one"
    )
    threads: int = setting(0, low=0, about="threads of torch; 0: as many as there are cores")
    precision: Literal["float32", "bfloat16"] = setting(
        "float32", about="of the numbers: float32, or bfloat16 by autocast"
    )
    clip: float = setting(0.0, low=0, about="longest gradient; 0 any length")
    log: int = setting(50, low=1, about="steps between lines of metrics")
    validate: int = setting(500, low=0, about="steps between validations; 0 at the end only")
    checkpoint: int = setting(1000, low=0, about="steps between checkpoints; 0 at the end only")
    keep: int = setting(3, low=1, about="checkpoints kept, the newest")
    best: bool = setting(True, about="export the weights of the best validation, not the last ones")
    patience: int = setting(0, low=0, about="end after so many validations without a better one")
    export: bool = setting(True, about="write the forms that play: int8 or ONNX")
    tensorboard: bool = setting(True, about="write TensorBoard's files, too, if it is installed")


@dataclass(frozen=True)
class OptimiserSettings:
    """SGD with momentum, Adam, or AdamW with decay apart from the gradient."""

    kind: Literal["sgd", "adam", "adamw"] = setting(
        "adamw", about="how weights move: sgd, adam or adamw"
    )
    momentum: float = setting(0.9, low=0, high=1, about="of sgd")
    nesterov: bool = setting(False, about="of sgd: look ahead")
    weight_decay: float = setting(0.0, low=0, about="of weights; biases and norms never decay")
    beta1: float = setting(0.9, low=0, high=1, about="of adam and adamw")
    beta2: float = setting(0.999, low=0, high=1, about="of adam and adamw")
    epsilon: float = setting(1e-8, low=0, about="of adam and adamw")

    def __post_init__(self) -> None:
        if self.kind == "sgd" and self.nesterov and self.momentum == 0:
            raise ConfigError("nesterov looks along the momentum", value=0, fix="give a momentum")


@dataclass(frozen=True)
class Schedule:
    """A learning rate over the steps of a training; all counts are optimiser steps."""

    shape: Literal["constant", "steps", "exponential", "cosine", "cyclic"] = setting(
        "constant", about="of the learning rate: constant, steps, exponential, cosine or cyclic"
    )
    rate: float = setting(1e-3, low=0, about="the highest learning rate (steps has its own)")
    lowest: float = setting(0.0, low=0, about="of exponential, cosine and cyclic")
    warmup: int = setting(0, low=0, about="steps in which the rate grows from 0 at the start")
    boundaries: tuple[int, ...] = setting((), low=0, about="steps: where each rate begins, from 0")
    rates: tuple[float, ...] = setting((), low=0, about="steps: a rate for each boundary")
    factor: float = setting(0.96, low=0, high=1, about="exponential: each period multiplies by it")
    period: int = setting(1000, low=1, about="exponential: steps; cyclic: half a cycle")
    whole_periods: bool = setting(False, about="exponential: change at the end of periods only")
    length: int = setting(0, low=0, about="cosine: the step of the lowest rate; 0 the last one")
    by_devices: bool = setting(
        True, about="several processes: rates times their number, counts of steps divided by it"
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
class LossWeights:
    """What each head's loss counts; a weight of 0 switches a loss off."""

    value: float = setting(1.0, low=0, about="value head: squared error, cross-entropy or ranking")
    policy: float = setting(1.0, low=0, about="policy head: cross-entropy over the legal moves")
    mcts_value: float = setting(0.15, low=0, about="value of the search, where the net has a head")
    soft_policy: float = setting(8.0, low=0, about="softened visits, where the net has a head")
    soft_temperature: float = setting(4.0, low=1, about="visits to the power 1 / temperature")
    moves_left: float = setting(0.01, low=0, about="plies to the end, where the net has a head")


@dataclass(frozen=True)
class DistillSettings:
    """A teacher to learn from besides the games, and how much it counts."""

    temperature: float = setting(5.0, low=0.01, about="softens both policies before comparing them")
    policy_share: float = setting(0.6, low=0, high=1, about="of the teacher in the policy's loss")
    value_share: float = setting(0.0, low=0, high=1, about="of the teacher in the value target")
    teacher: str = setting("", about="float network file of any family; none: no distillation")


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
    ),
}

"""Small trainings for tests: a folder of random games, settings, a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from kibitz.core.log import Stop
from kibitz.core.settings import load
from kibitz.data.shard import write
from kibitz.train.checkpoint import Checkpoint, checkpoints_in
from kibitz.train.checkpoint import load as load_checkpoint
from kibitz.train.config import TrainingSettings
from kibitz.train.loop import Outcome, train
from tests.data.batches.makers import random_shard

NETWORK = "sparse-16x8-threats"


def make_games(folder: Path, shards: int = 2, games: int = 20) -> Path:
    """Write some random games; returns their folder."""
    for number in range(shards):
        write(folder / f"{number}.shard", random_shard(games, 30, seed=number))
    return folder


def settings_of(data: Path, output: Path, *overrides: str) -> TrainingSettings:
    """Settings of a training of a few small steps on one thread."""
    given = [
        f"run.network={NETWORK}",
        f'data.folders=["{data}"]',
        f"run.output={output}",
        *("run.batch=64", "run.steps=6", "run.log=2", "run.validate=0", "run.checkpoint=0"),
        *("run.threads=1", "run.device=cpu", "data.validation=0.2", "run.tensorboard=false"),
        "schedule.rate=0.01",
    ]
    return load(TrainingSettings, overrides=[*given, *overrides])


def run(settings: TrainingSettings, resume: bool = False, damaged_allowed: bool = False) -> Outcome:
    """Train; torch's own threads are as before afterwards."""
    before = torch.get_num_threads()
    try:
        return train(settings, "kibitz train ...", Stop(), resume, damaged_allowed)
    finally:
        torch.set_num_threads(before)


def last_checkpoint(output: Path) -> Checkpoint:
    """The newest checkpoint of a training."""
    return load_checkpoint(checkpoints_in(output / "checkpoints")[-1])


def lines_of(output: Path) -> list[dict[str, Any]]:
    """The lines of a training's metrics."""
    return [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]


def same_tensors(first: Checkpoint, second: Checkpoint) -> bool:
    """Whether two checkpoints hold the same bits."""
    assert first.tensors.keys() == second.tensors.keys()
    return all(torch.equal(first.tensors[name], second.tensors[name]) for name in first.tensors)

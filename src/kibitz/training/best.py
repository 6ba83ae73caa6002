"""The weights of the best validation, kept beside the checkpoints; loop -> **best** -> networks.

Better is a smaller sum of the losses on held-out games, weighted as in training.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from kibitz.errors import DamagedFileError
from kibitz.log import say
from kibitz.training import checkpoint as checkpoints
from kibitz.training.checkpoint import Checkpoint
from kibitz.training.config import LossWeights
from kibitz.training.loss import weighted_sum

FILE = "best.safetensors"


class Best(NamedTuple):
    """Weights and what they were worth."""

    step: int
    loss: float
    figures: dict[str, float]  # of the validation
    weights: dict[str, Tensor]


def loss_of(figures: dict[str, float], weights: LossWeights) -> float:
    """Return what validations are compared by; infinite if it is not a number."""
    names = [name for name in vars(weights) if name in figures]
    losses = {name: torch.tensor(figures[name], dtype=torch.float64) for name in names}
    found = float(weighted_sum(losses, weights)) if losses else math.nan
    return found if math.isfinite(found) else math.inf


def save(folder: Path, best: Best) -> None:
    """Replace the best weights of a folder of checkpoints, atomically."""
    tensors = {f"network.{name}": tensor for name, tensor in best.weights.items()}
    state = {"step": best.step, "loss": best.loss, "figures": best.figures}
    checkpoints.save(folder / FILE, Checkpoint(tensors, state))


def load(folder: Path, damaged_allowed: bool = False) -> Best | None:
    """Return the best weights of a folder of checkpoints, None where there are none.

    Damaged ones are an error, unless they may be done without.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        found = checkpoints.load(path)
    except DamagedFileError as error:
        if not damaged_allowed:
            raise
        say(f"passed over: {error}")
        return None
    state = found.state
    return Best(state["step"], state["loss"], state["figures"], found.part("network"))


def forget(folder: Path) -> None:
    """Remove the best weights of a training that begins anew."""
    (folder / FILE).unlink(missing_ok=True)

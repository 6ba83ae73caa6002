"""Averages of weights, and checkpoints from which a training goes on exactly."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import safetensors.numpy
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from kibitz.core.errors import DamagedFileError, InputError, did_you_mean
from kibitz.core.files import (
    HEADER_KEY,
    ZEROS,
    ChecksumError,
    check_header,
    fill_header,
    newer_format,
    read_bytes,
    write_bytes,
)
from kibitz.core.log import say
from kibitz.core.unpacking import arrays_of
from kibitz.nets.models.build import laid_out
from kibitz.train.config import LossWeights
from kibitz.train.loss import weighted_sum

Kind = Literal["swa", "ema"]
KINDS = ("swa", "ema")
Inputs = TypeVar("Inputs")

COUNT = "updates"


class Average:
    """A running average of a network's state, in float32 or better, on the network's device."""

    def __init__(self, kind: Kind, decay: float) -> None:
        if kind not in KINDS:
            raise InputError("no such average", value=kind, fix=did_you_mean(kind, KINDS))
        if not 0 <= decay < 1:
            raise InputError("decay of an average", value=decay, fix="give 0 to less than 1")
        self.kind, self.decay, self.updates = kind, decay, 0
        self._sums: dict[str, Tensor] = {}

    @torch.no_grad()
    def update(self, state: Mapping[str, Tensor]) -> None:
        """Take in a network's `state_dict()`."""
        if not self._sums:
            self._sums = {name: _beginning(tensor, self.kind) for name, tensor in state.items()}
        for name, tensor in state.items():
            if tensor.is_floating_point():
                average = self._sums[name]
                average.lerp_(tensor.to(average.dtype), 1 - self.decay)
            else:
                self._sums[name].copy_(tensor)  # a count of batches is nothing to average
        self.updates += 1

    def weights(self) -> dict[str, Tensor]:
        """Return the average, as `load_state_dict` takes it; copies."""
        if not self.updates:
            raise InputError("an average of nothing", fix="update it once before it is used")
        # With decay d, n updates hold only 1 - d ** n of what an average ought to.
        power = self.updates * math.log(self.decay) if self.decay else -math.inf
        total_weight = 1.0 if self.kind == "swa" else -math.expm1(power)
        return {
            name: tensor / total_weight if tensor.is_floating_point() else tensor.clone()
            for name, tensor in self._sums.items()
        }

    def state(self) -> dict[str, Tensor]:
        """Return everything that `restore` needs to go on exactly, for a checkpoint."""
        return {**self._sums, COUNT: torch.tensor(self.updates)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state` gave; kind and decay must be the same as then."""
        self.updates = int(state[COUNT])
        self._sums = {name: tensor.clone() for name, tensor in state.items() if name != COUNT}


def _beginning(tensor: Tensor, kind: str) -> Tensor:
    """Return the place of a tensor in an average: a copy, or zeros."""
    if not tensor.is_floating_point():
        return tensor.detach().clone()
    wide = torch.promote_types(tensor.dtype, torch.float32)
    place = tensor.detach().to(wide, copy=True)
    return place if kind == "swa" else place.zero_()


def checkpoints_that_matter(decay: float, smallest: float = 0.01) -> int:
    """Return how many of the last checkpoints have a part of at least `smallest` in an average.

    ChessCoach resumes its average (0.5) from the last 6.
    """
    if not 0 < decay < 1 or not 0 < smallest < 1:
        raise InputError("decay and smallest part", value=(decay, smallest), fix="give 0 to 1")
    return max(1, math.floor(math.log(smallest) / math.log(decay)))


def average_of(states: Iterable[Mapping[str, Tensor]], decay: float) -> dict[str, Tensor]:
    """Return the average (SWA) of some networks' states, the oldest first."""
    average = Average("swa", decay)
    for state in states:
        average.update(state)
    return average.weights()


def has_norms(network: nn.Module) -> bool:
    """Whether anything in a network depends on statistics of batches."""
    return bool(_norms(network))


def _norms(network: nn.Module) -> list[Any]:
    kinds = (nn.BatchNorm1d, nn.BatchNorm2d)
    return [
        module
        for module in network.modules()
        if isinstance(module, kinds) and module.track_running_stats
    ]


@torch.no_grad()
def estimate_norms(
    network: nn.Module, batches: Iterable[Inputs], forward: Callable[[Inputs], object]
) -> int:
    """Estimate the statistics of all batch norms again, as means over batches; returns how many.

    `forward` runs the network on a batch. No other number of the network changes, and it is left in
    the mode it was in. Without batches nothing changes at all.
    """
    norms = _norms(network)
    if not norms:
        return 0
    modes = {module: module.training for module in network.modules()}
    momenta = [norm.momentum for norm in norms]
    count = 0
    try:
        for batch in batches:
            if not count:
                _forget(network, norms)
            forward(batch)
            count += 1
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for module, training in modes.items():
            module.training = training
    return count


def _forget(network: nn.Module, norms: list[Any]) -> None:
    """Begin the statistics of batch norms anew, as plain means (a momentum of None)."""
    network.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
        norm.train()


# --- checkpoints ----------------------------------------------------------------------------------
#
# Checkpoints, from which a training goes on exactly, and the weights of the best validation.
#
# A checkpoint is a safetensors file: tensors under the names `network.*`, `optimiser.N.*`,
# `average.*`, `random.*`, and in the header's metadata `state`, one JSON object with everything
# that is no tensor, and `seal`, the SHA-256 of the whole file with these digits replaced by zeros.
# docs/training.md describes it byte by byte.


FORMAT_VERSION = 1
BEST = "best.safetensors"
_NAME = re.compile(r"step-(\d{9})\.safetensors")


class Checkpoint(NamedTuple):
    """Everything a training needs to go on."""

    tensors: dict[str, Tensor]
    state: dict[str, Any]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors whose names begin with `prefix` and a dot, without both."""
        head = f"{prefix}."
        return {n[len(head) :]: t for n, t in self.tensors.items() if n.startswith(head)}


def path_of(folder: Path, step: int) -> Path:
    """Return where the checkpoint of a step lies."""
    return folder / f"step-{step:09}.safetensors"


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, atomically."""
    arrays = {
        name: tensor.detach().cpu().contiguous().numpy()
        for name, tensor in checkpoint.tensors.items()
    }
    state = json.dumps({"format_version": FORMAT_VERSION, **checkpoint.state})
    content = safetensors.numpy.save(arrays, {"state": state, HEADER_KEY: ZEROS})
    write_bytes(path, fill_header(content))


def load(path: Path) -> Checkpoint:
    """Read a checkpoint and check all of it; raises DamagedFileError naming the file."""
    content = read_bytes(path)
    _check(path, content)
    try:
        length = int.from_bytes(content[:8], "little")
        state = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["state"])
        version = int(state.get("format_version", 0))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, f"cannot be read ({error})") from error
    arrays = arrays_of(content, path, "checkpoint")
    if version > FORMAT_VERSION:
        raise newer_format("checkpoint", version, FORMAT_VERSION, os.fspath(path))
    # Laid out as they were: another layout would be summed in another order.
    tensors = {name: laid_out(torch.from_numpy(array)) for name, array in arrays.items()}
    return Checkpoint(tensors, state)


def newest(folder: Path, damaged_allowed: bool) -> tuple[Path, Checkpoint] | None:
    """Return the last checkpoint of a folder, or None if there is none.

    A damaged one is an error, unless it may be passed over for the one before.
    """
    for path in reversed(checkpoints_in(folder)):
        checkpoint = _load_or_pass(path, damaged_allowed)
        if checkpoint is not None:
            return path, checkpoint
    return None


def _load_or_pass(path: Path, damaged_allowed: bool) -> Checkpoint | None:
    """Return a checkpoint, None if it is damaged and may be."""
    try:
        return load(path)
    except DamagedFileError as error:
        if not damaged_allowed:
            raise
        say(f"passed over: {error}")
        return None


def checkpoints_in(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def prune(folder: Path, keep: int) -> list[Path]:
    """Delete all checkpoints but the newest; returns what is gone."""
    gone = checkpoints_in(folder)[:-keep]
    for path in gone:
        path.unlink()
    return gone


def optimiser_parts(optimiser: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return an optimiser's tensors, `optimiser.N.name`, and the rest of its state."""
    state = optimiser.state_dict()
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, dict[str, Any]] = {}
    for index, entries in state["state"].items():
        for name, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{index}.{name}"] = value
            else:
                numbers.setdefault(str(index), {})[name] = value
    return tensors, {"groups": state["param_groups"], "numbers": numbers}


def restore_optimiser(optimiser: Optimizer, checkpoint: Checkpoint) -> None:
    """Give an optimiser the state that `optimiser_parts` took from one of the same network."""
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in checkpoint.part("optimiser").items():
        index, _, entry = name.partition(".")
        state.setdefault(int(index), {})[entry] = tensor
    rest = checkpoint.state["optimiser"]
    for number, entries in rest["numbers"].items():
        state.setdefault(int(number), {}).update(entries)
    optimiser.load_state_dict({"state": state, "param_groups": rest["groups"]})


def random_parts() -> dict[str, Tensor]:
    """Return the state of torch's random numbers, on the GPUs as well."""
    states_by_name = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states = torch.cuda.get_rng_state_all()
        states_by_name |= {f"random.cuda{index}": state for index, state in enumerate(states)}
    return states_by_name


def restore_random(checkpoint: Checkpoint) -> None:
    """Give torch's random numbers the state that `random_parts` took."""
    for name, state in checkpoint.part("random").items():
        if name == "cpu":
            torch.set_rng_state(state)
        elif int(name.removeprefix("cuda")) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, int(name.removeprefix("cuda")))


def _check(path: Path, content: bytes) -> None:
    """Refuse a file of which any byte is not as it was written."""
    try:
        check_header(content)
    except ChecksumError as error:
        raise _damaged(path, error.why("checkpoint")) from error


def _damaged(path: Path, why: str) -> DamagedFileError:
    fix = "delete it to go on from the one before (kibitz train: --allow-damaged)"
    return DamagedFileError(f"damaged checkpoint, {why}", value=os.fspath(path), fix=fix)


# --- the weights of the best validation -----------------------------------------------------------


class Best(NamedTuple):
    """Weights and what they were worth."""

    step: int
    loss: float
    figures: dict[str, float]  # of the validation
    weights: dict[str, Tensor]


def validation_loss(figures: dict[str, float], weights: LossWeights) -> float:
    """Return what validations are compared by; infinite if it is not a number."""
    names = [name for name in vars(weights) if name in figures]
    losses = {name: torch.tensor(figures[name], dtype=torch.float64) for name in names}
    loss = float(weighted_sum(losses, weights)) if losses else math.nan
    return loss if math.isfinite(loss) else math.inf


def save_best(folder: Path, best: Best) -> None:
    """Replace the best weights of a folder of checkpoints, atomically."""
    tensors = {f"network.{name}": tensor for name, tensor in best.weights.items()}
    state = {"step": best.step, "loss": best.loss, "figures": best.figures}
    save(folder / BEST, Checkpoint(tensors, state))


def load_best(folder: Path, damaged_allowed: bool = False) -> Best | None:
    """Return the best weights of a folder of checkpoints, None where there are none.

    Damaged ones are an error, unless they may be done without.
    """
    path = folder / BEST
    checkpoint = _load_or_pass(path, damaged_allowed) if path.exists() else None
    if checkpoint is None:
        return None
    state = checkpoint.state
    return Best(state["step"], state["loss"], state["figures"], checkpoint.part("network"))


def forget_best(folder: Path) -> None:
    """Remove the best weights of a training that begins anew."""
    (folder / BEST).unlink(missing_ok=True)

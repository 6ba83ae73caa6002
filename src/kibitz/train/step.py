"""One step of training: learning rate, forward, losses, backward, the optimiser's update.

On several processes at once by torch's DDP, started by `torchrun --nproc-per-node N -m kibitz
train ...`: every process works on its share of each batch, gradients are averaged, and so all
weights stay the same everywhere.
"""

from __future__ import annotations

import dataclasses
import math
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD, Adam, AdamW, Optimizer

from kibitz.core.errors import InputError, KibitzError
from kibitz.core.files import write_bytes
from kibitz.data.batches.loader import Share, TensorBatch
from kibitz.nets.card import FEATURES, NetworkCard
from kibitz.nets.models.convolutional import Outputs
from kibitz.nets.models.sparse import SparseNetwork
from kibitz.train.config import DistillSettings, LossWeights, OptimiserSettings, Schedule
from kibitz.train.loss import (
    Taught,
    counted,
    distilled_losses,
    losses,
    teacher_outputs,
    weighted_sum,
)

# --- how weights move -----------------------------------------------------------------------------


NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)
# The name's ends of what is added, not multiplied: pulling it to 0 regularises nothing.
ADDED = ("bias", "shift")


def parameter_groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return torch's groups: weights that decay, then biases, norms and shifts that do not."""
    norms = {
        id(tensor)
        for module in network.modules()
        if isinstance(module, NORMS)
        for tensor in module.parameters()
    }
    decaying: list[Tensor] = []
    others: list[Tensor] = []
    for name, tensor in network.named_parameters():
        if tensor.requires_grad:
            added = id(tensor) in norms or name.endswith(ADDED)
            (others if added else decaying).append(tensor)
    groups = [
        {"params": decaying, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def make_optimiser(network: nn.Module, settings: OptimiserSettings, rate: float) -> Optimizer:
    """Return the optimiser of a network; `set_rate` changes its learning rate."""
    groups = parameter_groups(network, settings.weight_decay)
    if settings.kind == "sgd":
        return SGD(groups, rate, momentum=settings.momentum, nesterov=settings.nesterov, fused=True)
    cls = AdamW if settings.kind == "adamw" else Adam
    betas = (settings.beta1, settings.beta2)
    return cls(groups, rate, betas=betas, eps=settings.epsilon, fused=True)


def set_rate(optimiser: Optimizer, rate: float) -> None:
    """Use this learning rate from the next step on."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def ending_at(schedule: Schedule, last: int, devices: int = 1) -> Schedule:
    """Return the schedule of a training whose last step is known: a cosine may end with it."""
    if schedule.shape != "cosine" or schedule.length:
        return schedule
    # Counts of steps are those of one device, and `rate_at` divides them.
    return dataclasses.replace(schedule, length=max(last * devices, schedule.warmup + 1))


def rate_at(schedule: Schedule, step: int, devices: int = 1) -> float:
    """Return the learning rate of a step, counted from 0.

    On several devices each step sees so many times the positions: rates are multiplied by their
    number, and all counts of steps divided by it (rounded down).
    """
    rate = devices * _without_warmup(schedule, step, devices)
    warmup = schedule.warmup // devices
    return rate * step / warmup if step < warmup else rate


def _without_warmup(schedule: Schedule, step: int, devices: int) -> float:
    rate, lowest = schedule.rate, schedule.lowest
    period, warmup = max(1, schedule.period // devices), schedule.warmup // devices
    match schedule.shape:
        case "constant":
            return rate
        case "steps":
            begins = [boundary // devices for boundary in schedule.boundaries]
            return schedule.rates[bisect_right(begins, step) - 1]
        case "exponential":
            periods = step // period if schedule.whole_periods else step / period
            return max(lowest, rate * schedule.factor**periods)
        case "cosine":  # half a cosine from the end of the warm-up to `length`, then the lowest
            done = (step - warmup) / max(1, schedule.length // devices - warmup)
            height = (1 + math.cos(math.pi * min(1.0, max(0.0, done)))) / 2
            return lowest + height * (rate - lowest)
        case "cyclic":  # in straight lines: lowest at 0, highest at `period`, lowest at twice that
            away = abs(step % (2 * period) - period) / period
            return rate - away * (rate - lowest)


# --- the step -------------------------------------------------------------------------------------


class LossError(KibitzError, ArithmeticError):
    """The loss or its gradient became infinite or not a number."""


def outputs_of(network: Callable[..., Outputs], card: NetworkCard, batch: TensorBatch) -> Outputs:
    """Run a network of any family on a batch made for its card."""
    if card.encoding in FEATURES:
        features, offsets, *kinds = batch.inputs
        return network(features, offsets, batch.moves, batch.move_offsets, *kinds)
    return network(*batch.inputs)


class Teacher(NamedTuple):
    """A network to learn from, in evaluation mode."""

    network: nn.Module
    card: NetworkCard
    settings: DistillSettings

    def evaluate(self, batch: TensorBatch) -> Taught:
        """Return the teacher's outputs for a batch that was made for it, too."""
        assert batch.teacher is not None

        def forward(inputs: TensorBatch) -> Outputs:
            return outputs_of(self.network, self.card, inputs)

        return teacher_outputs(forward, self.card.heads, batch.teacher, batch)


@dataclass
class Learner:
    """A network, what moves its weights, and how."""

    network: nn.Module
    card: NetworkCard
    optimiser: Optimizer
    weights: LossWeights
    device: torch.device
    bfloat16: bool = False
    clip: float = 0.0
    bad_batches: Path = Path()
    teacher: Teacher | None = None
    share: Share = field(default_factory=Share)
    module: Callable[..., Outputs] | None = None  # the network, wrapped by DDP for instance

    def step(self, batch: TensorBatch, rate: float, number: int) -> dict[str, Tensor]:
        """Update the weights; returns the losses, detached, and the length of the gradient."""
        self.network.train()
        set_rate(self.optimiser, rate)
        self.optimiser.zero_grad(set_to_none=True)
        parts = self._losses(batch)
        if self.share.processes > 1:
            parts = balanced(parts, batch, self.weights, self.share)
        torch.autograd.backward(parts["total"])
        weights = list(self.network.parameters())
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        length = nn.utils.get_total_norm(gradients, foreach=True)
        self._check(batch, parts["total"], length, number)
        if self.clip:
            nn.utils.clip_grads_with_norm_(weights, self.clip, length, foreach=True)
        self.optimiser.step()
        if isinstance(self.network, SparseNetwork):
            self.network.clip_weights()
        detached = {name: loss.detach() for name, loss in parts.items()}
        return {**averaged(detached, self.share), "gradient": length}

    def forward(self, batch: TensorBatch) -> Outputs:
        """Return the outputs for a batch."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            return outputs_of(self.module or self.network, self.card, batch)

    def _losses(self, batch: TensorBatch) -> dict[str, Tensor]:
        """Return the losses that are learned from, with the teacher's share if there is one."""
        outputs = self.forward(batch)
        if self.teacher is None or batch.teacher is None:
            return losses(outputs, batch, self.card.heads, self.weights)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            taught = self.teacher.evaluate(batch)
        heads, settings = self.card.heads, self.teacher.settings
        return distilled_losses(outputs, batch, taught, heads, self.weights, settings)

    @torch.no_grad()
    def evaluate(self, batch: TensorBatch) -> tuple[Outputs, dict[str, Tensor]]:
        """Return outputs and losses without learning."""
        self.network.eval()
        outputs = self.forward(batch)
        return outputs, losses(outputs, batch, self.card.heads, self.weights)

    def _check(self, batch: TensorBatch, loss: Tensor, length: Tensor, number: int) -> None:
        """Save the batch and raise an error if the loss or its gradient is not finite."""
        if math.isfinite(float(loss.detach())) and math.isfinite(float(length)):
            return
        whose = f"-{self.share.rank}" if self.share.processes > 1 else ""
        path = self.bad_batches / f"bad-batch-{number}{whose}.safetensors"
        save_batch(path, batch)
        raise LossError(
            f"step {number}: loss {float(loss.detach())}, length of the gradient {float(length)}",
            fix=f"lower the learning rate or clip gradients; the batch is in {path}",
        )


def save_batch(path: Path, batch: TensorBatch) -> None:
    """Write all tensors of a batch; inputs are `input0`, `input1`."""
    tensors: dict[str, Any] = batch._asdict()
    inputs = tensors.pop("inputs")
    del tensors["teacher"]
    tensors |= {f"input{index}": tensor for index, tensor in enumerate(inputs)}
    cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, safetensors.torch.save(cpu))


# --- devices and processes ------------------------------------------------------------------------


@contextmanager
def processes(device: str) -> Iterator[Share]:
    """Join the other processes, if torchrun has started several."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Share()
        return
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Share(distributed.get_rank(), count)
    finally:
        distributed.destroy_process_group()


def local_device(name: str) -> torch.device:
    """Return the device of this process: `auto` is a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without it says so by assert
        reason = str(error).splitlines()[0]
        fix = f"use --device cpu ({reason})"
        raise InputError("no such device here", value=name, fix=fix) from error
    return device


def shared(network: nn.Module, share: Share, device: torch.device) -> Callable[..., Outputs] | None:
    """Return the network with gradients averaged over all processes; None for a single one."""
    if share.processes == 1:
        return None
    ids = [device] if device.type == "cuda" else None
    return DistributedDataParallel(network, device_ids=ids)


def balanced(
    parts: dict[str, Tensor], batch: TensorBatch, weights: LossWeights, share: Share
) -> dict[str, Tensor]:
    """Scale each mean so that the mean over all processes is that over all their positions.

    The processes' batches are equally long, but not all positions have every target.
    """
    names = [name for name in parts if name != "total"]
    mine = torch.stack([counted(name, batch) for name in names])
    total = mine.clone()
    distributed.all_reduce(total)
    factors = mine * share.processes / total.clamp(min=1)
    scaled = {name: parts[name] * factor for name, factor in zip(names, factors, strict=True)}
    return {**scaled, "total": weighted_sum(scaled, weights)}


def averaged(numbers: dict[str, Tensor], share: Share) -> dict[str, Tensor]:
    """Return the means of numbers over all processes."""
    if share.processes == 1:
        return numbers
    together = torch.stack([number.float() for number in numbers.values()])
    distributed.all_reduce(together)
    return dict(zip(numbers, together / share.processes, strict=True))


def any_process(flag: bool, share: Share) -> bool:
    """Return whether any process says so."""
    if share.processes == 1:
        return flag
    nccl = distributed.get_backend() == "nccl"
    votes = torch.tensor(int(flag), device="cuda" if nccl else "cpu")
    distributed.all_reduce(votes)
    return bool(votes)

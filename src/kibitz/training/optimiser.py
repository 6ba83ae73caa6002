"""How weights move: the optimiser of a network and the learning rate of every step."""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_right
from typing import Any

from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from kibitz.training.config import OptimiserSettings, Schedule

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

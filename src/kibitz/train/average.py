"""Averages of the weights along the way, which often play better than the last weights.

Two kinds, both `average = decay * average + (1 - decay) * weights`:

* swa: begins with the first weights it sees (ChessCoach: once a checkpoint, decay 0.5);
* ema: begins with nothing, and is divided by what it lacks, 1 - decay ** updates.

All floating-point numbers of a network's state are averaged, the statistics of its batch norms too;
they fit better once they are estimated again with the averaged weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from kibitz.core.errors import InputError, did_you_mean

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
        held = 1.0 if self.kind == "swa" else -math.expm1(power)
        return {
            name: tensor / held if tensor.is_floating_point() else tensor.clone()
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

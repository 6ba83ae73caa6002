"""One step of training: batch -> **forward, losses, backward, update** -> the next batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from kibitz.dataset.loader import Share, TensorBatch
from kibitz.errors import KibitzError
from kibitz.files import write_bytes
from kibitz.network.card import FEATURES, NetworkCard
from kibitz.network.heads import Outputs
from kibitz.network.sparse import SparseNetwork
from kibitz.training.config import DistillSettings, LossWeights
from kibitz.training.distill import Told, distilled_losses, teacher_outputs
from kibitz.training.loss import losses
from kibitz.training.optimiser import set_rate
from kibitz.training.parallel import averaged, balanced


class LossError(KibitzError, ArithmeticError):
    """The loss or its gradient became infinite or not a number."""


def outputs_of(network: Callable[..., Outputs], card: NetworkCard, batch: TensorBatch) -> Outputs:
    """Run a network of any family on a batch made for its card."""
    if card.encoding in FEATURES:
        features, offsets, *kinds = batch.inputs
        return network(features, offsets, batch.moves, batch.move_offsets, *kinds)
    return network(*batch.inputs)


class Teacher(NamedTuple):
    """A network that is believed to some extent; in evaluation mode."""

    network: nn.Module
    card: NetworkCard
    settings: DistillSettings

    def tell(self, batch: TensorBatch) -> Told:
        """Return what it says of a batch that was made for it, too."""
        assert batch.teacher is not None

        def forward(seen: TensorBatch) -> Outputs:
            return outputs_of(self.network, self.card, seen)

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
        found = self._losses(batch)
        if self.share.processes > 1:
            found = balanced(found, batch, self.weights, self.share)
        found["total"].backward()  # type: ignore[no-untyped-call]
        limit = self.clip or math.inf
        length = nn.utils.clip_grad_norm_(self.network.parameters(), limit, foreach=True)
        self._check(batch, found["total"], length, number)
        self.optimiser.step()
        if isinstance(self.network, SparseNetwork):
            self.network.clip_weights()
        told = {name: loss.detach() for name, loss in found.items()}
        return {**averaged(told, self.share), "gradient": length}

    def forward(self, batch: TensorBatch) -> Outputs:
        """Return the outputs for a batch."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            return outputs_of(self.module or self.network, self.card, batch)

    def _losses(self, batch: TensorBatch) -> dict[str, Tensor]:
        """Return the losses that are learned from: a teacher's word counts, if there is one."""
        outputs = self.forward(batch)
        if self.teacher is None or batch.teacher is None:
            return losses(outputs, batch, self.card.heads, self.weights)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            told = self.teacher.tell(batch)
        heads, settings = self.card.heads, self.teacher.settings
        return distilled_losses(outputs, batch, told, heads, self.weights, settings)

    @torch.no_grad()
    def judge(self, batch: TensorBatch) -> tuple[Outputs, dict[str, Tensor]]:
        """Return outputs and losses without learning."""
        self.network.eval()
        outputs = self.forward(batch)
        return outputs, losses(outputs, batch, self.card.heads, self.weights)

    def _check(self, batch: TensorBatch, loss: Tensor, length: Tensor, number: int) -> None:
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

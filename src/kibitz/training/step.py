"""One step of training: batch -> **forward, losses, backward, update** -> the next batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
from kibitz.training.loss import LossWeights, losses
from kibitz.training.optimiser import set_rate
from kibitz.training.parallel import averaged, balanced


class LossError(KibitzError, ArithmeticError):
    """The loss or its gradient became infinite or not a number."""


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
    share: Share = field(default_factory=Share)
    module: Callable[..., Outputs] | None = None  # the network, wrapped by DDP for instance

    def step(self, batch: TensorBatch, rate: float, number: int) -> dict[str, Tensor]:
        """Update the weights; returns the losses, detached, and the length of the gradient."""
        self.network.train()
        set_rate(self.optimiser, rate)
        self.optimiser.zero_grad(set_to_none=True)
        found = losses(self.forward(batch), batch, self.card.heads, self.weights)
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
        run: Callable[..., Outputs] = self.module or self.network
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            if self.card.encoding in FEATURES:
                return run(*batch.inputs, batch.moves, batch.move_offsets)
            return run(*batch.inputs)

    @torch.no_grad()
    def judge(self, batch: TensorBatch) -> tuple[Outputs, dict[str, Tensor]]:
        """Return outputs and losses without learning."""
        self.network.eval()
        outputs = self.forward(batch)
        return outputs, losses(outputs, batch, self.card.heads, self.weights)

    def _check(self, batch: TensorBatch, loss: Tensor, length: Tensor, number: int) -> None:
        if math.isfinite(float(loss.detach())) and math.isfinite(float(length)):
            return
        path = self.bad_batches / f"bad-batch-{number}.safetensors"
        save_batch(path, batch)
        raise LossError(
            f"step {number}: loss {float(loss.detach())}, length of the gradient {float(length)}",
            fix=f"lower the learning rate or clip gradients; the batch is in {path}",
        )


def save_batch(path: Path, batch: TensorBatch) -> None:
    """Write all tensors of a batch; inputs are `input0`, `input1`."""
    tensors: dict[str, Any] = batch._asdict()
    inputs = tensors.pop("inputs")
    tensors |= {f"input{index}": tensor for index, tensor in enumerate(inputs)}
    cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, safetensors.torch.save(cpu))

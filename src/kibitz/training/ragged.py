"""Softmax and cross-entropy over the legal moves of each position, no move more or less.

Everywhere: M legal moves of B positions, flat; offsets (B + 1,) integer, position b owns entries
offsets[b] to offsets[b + 1]. On the CPU in float32 the cross-entropy is one compiled pass which
leaves the gradient behind; other devices and types use plain torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kibitz.network.heads import rows_of
from kibitz.training import kernels


def row_sums(values: Tensor, rows: Tensor, count: int) -> Tensor:
    """Sum values (M,) over their rows, (count,); a row without entries has 0."""
    return values.new_zeros(count).index_add(0, rows, values)


def row_maxima(values: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return the largest value (M,) of each row, (count,); of a row without entries -inf."""
    lowest = values.new_full((count,), -torch.inf)
    return lowest.scatter_reduce(0, rows, values, "amax")


def log_softmax(logits: Tensor, offsets: Tensor) -> Tensor:
    """Return the logarithm of each legal move's probability, (M,), from logits (M,)."""
    rows, count = rows_of(offsets, len(logits)), len(offsets) - 1
    # The peak is only there against overflow; the result does not depend on it.
    shifted = logits - row_maxima(logits.detach(), rows, count)[rows]
    return shifted - row_sums(shifted.exp(), rows, count).log()[rows]


def softmax(logits: Tensor, offsets: Tensor) -> Tensor:
    """Return each legal move's probability, (M,), from logits (M,)."""
    return log_softmax(logits, offsets).exp()


def softened(targets: Tensor, offsets: Tensor, temperature: float) -> Tensor:
    """Return probabilities (M,) raised to 1 / temperature and made to sum to 1 again."""
    rows, count = rows_of(offsets, len(targets)), len(offsets) - 1
    raised = targets.pow(1 / temperature)
    sums = row_sums(raised, rows, count)
    return raised / torch.where(sums > 0, sums, 1)[rows]


def cross_entropy(logits: Tensor, targets: Tensor, offsets: Tensor) -> Tensor:
    """Return -sum of target * log softmax of each position, (B,), from logits, targets (M,)."""
    if logits.device.type == "cpu" and logits.dtype == torch.float32:
        _check(logits, targets, offsets)
        function: Any = _CrossEntropy
        found: Tensor = function.apply(logits, targets.float(), offsets.long())
        return found
    terms = targets * log_softmax(logits, offsets)
    return -row_sums(terms, rows_of(offsets, len(logits)), len(offsets) - 1)


def _check(logits: Tensor, targets: Tensor, offsets: Tensor) -> None:
    """Kernels do not check bounds, so nothing out of bounds may reach them."""
    ordered = bool((offsets[1:] >= offsets[:-1]).all()) and int(offsets[0]) == 0
    if not ordered or not int(offsets[-1]) == len(logits) == len(targets):
        found = f"{len(logits)} logits, {len(targets)} targets, offsets up to {int(offsets[-1])}"
        raise IndexError(f"logits and targets must match their offsets: {found}")


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, offsets: Tensor) -> Tensor:
        x, t, o = (tensor.detach().contiguous().numpy() for tensor in (logits, targets, offsets))
        losses = np.empty(len(offsets) - 1, np.float32)
        gradient = np.empty(len(logits), np.float32)
        kernels.cross_entropies(x, t, o, losses, gradient)
        ctx.save_for_backward(torch.from_numpy(gradient), offsets)
        return torch.from_numpy(losses)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        saved, offsets = (tensor.contiguous().numpy() for tensor in ctx.saved_tensors)
        factors = gradients[0].contiguous().numpy()
        out = np.empty(len(saved), np.float32)
        kernels.scale_rows(saved, offsets, factors, out)
        return torch.from_numpy(out), None, None

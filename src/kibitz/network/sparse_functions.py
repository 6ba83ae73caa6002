"""Sparse layers as torch functions with gradients; kernels -> **functions** -> sparse network.

On the CPU in float32 they run compiled loops on as many threads as torch has. Forward and backward
on one core, 4096 positions, 512 and 256 wide: features 22 ms against 42 with an embedding bag,
moves 26 ms against 141 with all logits and 251 with gathered embeddings. Other devices use plain
torch.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from kibitz.network import sparse_kernels as kernels

Array = NDArray[Any]

_pool: list[ThreadPoolExecutor] = []


def feature_sum(indices: Tensor, offsets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return bias plus the sum of the active rows, (B, H) float32.

    indices (N,) integer rows, flat; offsets (B + 1,) integer; weight (F, H); bias (H,).
    """
    if _compiled(weight):
        _check(indices, offsets, len(weight))
        return _FeatureSum.apply(indices.int(), offsets.long(), weight, bias)  # type: ignore[no-any-return, no-untyped-call]
    sums = functional.embedding_bag(
        indices.long(), weight, offsets.long(), mode="sum", include_last_offset=True
    )
    return sums + bias


def move_logits(
    hidden: Tensor, weight: Tensor, bias: Tensor, moves: Tensor, offsets: Tensor
) -> Tensor:
    """Return one logit per given move, (M,) float32.

    hidden (B, D); weight (K, D); bias (K,); moves (M,) integer rows of weight, flat; offsets
    (B + 1,) integer.
    """
    if _compiled(weight):
        _check(moves, offsets, len(weight))
        return _MoveLogits.apply(hidden, weight, bias, moves.int(), offsets.long())  # type: ignore[no-any-return, no-untyped-call]
    # Where arithmetic is cheap all logits at once beat a gather of whole rows.
    everything = functional.linear(hidden, weight, bias)
    counts = offsets[1:] - offsets[:-1]
    rows = torch.repeat_interleave(torch.arange(len(counts), device=hidden.device), counts)
    return everything[rows, moves.long()]


def screlu(x: Tensor) -> Tensor:
    """clip(x, 0, 1) squared, any shape; one pass over memory each way where torch makes ten."""
    if _compiled(x) and x.dim() == 2:
        return _Screlu.apply(x)  # type: ignore[no-any-return, no-untyped-call]
    clipped = x.clamp(0, 1)
    return clipped * clipped


def _compiled(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32


def _check(entries: Tensor, offsets: Tensor, rows: int) -> None:
    """Kernels do not check bounds, so nothing out of bounds may reach them."""
    inside = len(entries) == 0 or (int(entries.min()) >= 0 and int(entries.max()) < rows)
    ordered = bool((offsets[1:] >= offsets[:-1]).all())
    if not (inside and ordered and int(offsets[0]) == 0 and int(offsets[-1]) == len(entries)):
        raise IndexError(f"flat entries must be below {rows} and match their offsets")


def _parallel(work: Callable[[int, int], None], count: int) -> None:
    """Run work(first, last) on even shares of range(count), one share per torch thread."""
    shares = max(1, min(torch.get_num_threads(), count))
    if shares == 1:
        work(0, count)
        return
    if not _pool:
        _pool.append(ThreadPoolExecutor(torch.get_num_threads()))
    bounds = [count * share // shares for share in range(shares + 1)]
    for done in [_pool[0].submit(work, *pair) for pair in pairwise(bounds)]:
        done.result()


def _numpy(*tensors: Tensor) -> list[Array]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


class _FeatureSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, indices: Tensor, offsets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(indices, offsets)
        ctx.rows = len(weight)
        i, o, w, b = _numpy(indices, offsets, weight, bias)
        out = np.empty((len(o) - 1, w.shape[1]), np.float32)
        _parallel(lambda first, last: kernels.sum_rows(i, o, w, b, out, first, last), len(out))
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor, Tensor]:
        (gradient,) = gradients
        i, o, g = _numpy(*ctx.saved_tensors, gradient)
        out, ones = np.zeros((ctx.rows, g.shape[1]), np.float32), np.ones(len(i), np.float32)
        _parallel(lambda first, last: kernels.scatter(i, o, ones, g, out, first, last), g.shape[1])
        return None, None, torch.from_numpy(out), gradient.sum(0)


class _Screlu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        (given,) = _numpy(x)
        out = np.empty(given.shape, np.float32)
        _parallel(lambda first, last: kernels.square_clipped(given, out, first, last), len(out))
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        x, gradient = _numpy(*ctx.saved_tensors, *gradients)
        out = np.empty(x.shape, np.float32)
        _parallel(lambda first, last: kernels.pull_clipped(x, gradient, out, first, last), len(out))
        return torch.from_numpy(out)


class _MoveLogits(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, moves: Tensor, offsets: Tensor
    ) -> Tensor:
        ctx.save_for_backward(hidden, weight, moves, offsets)
        h, w, b, m, o = _numpy(hidden, weight, bias, moves, offsets)
        out = np.empty(len(m), np.float32)
        _parallel(lambda first, last: kernels.dot_moves(h, w, b, m, o, out, first, last), len(h))
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        h, w, m, o = _numpy(*ctx.saved_tensors)
        (g,) = _numpy(*gradients)
        pulled, scattered = np.zeros_like(h), np.zeros_like(w)
        _parallel(lambda first, last: kernels.pull_moves(g, w, m, o, pulled, first, last), len(h))
        _parallel(
            lambda first, last: kernels.scatter(m, o, g, h, scattered, first, last), h.shape[1]
        )
        bias = np.bincount(m, weights=g, minlength=len(w)).astype(np.float32)
        parts = [torch.from_numpy(array) for array in (pulled, scattered, bias)]
        return parts[0], parts[1], parts[2], None, None

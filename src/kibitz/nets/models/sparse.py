"""The CPU network: sparse inputs, one wide layer each for value and policy.

One dial: the width of the value layer (the policy layer is half as wide unless said otherwise).
The integer form of exactly this network is in `network.quantise`.

On the CPU in float32 its layers run compiled loops on as many threads as torch has. Forward and
backward on one core, 4096 positions, 512 and 256 wide: features 22 ms against 42 with an embedding
bag, moves 26 ms against 141 with all logits and 251 with gathered embeddings. Other devices use
plain torch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from kibitz.nets.encodings.features import PLAIN_FEATURES
from kibitz.nets.models import sparse_kernels as kernels
from kibitz.nets.models.convolutional import Outputs, legal_logits
from kibitz.nets.models.quantise import LIMIT

Array = NDArray[Any]

TAIL = (16, 32)
WDL = 3
# Small against the bias: what a rare feature starts with is noise that hardly anything unlearns.
FEATURE_DEVIATION = 0.02
FEATURE_BIAS = 0.25
SHARED = ".shared"  # the end of the name of what network files do not keep apart


class SparseSizes(NamedTuple):
    """Everything that shapes a sparse network."""

    features: int
    width: int
    policy_width: int
    moves: int = 1858
    kinds: int = 0  # rows of the policy for what moves do, see nets/encodings/move_features.py
    perspectives: int = 1
    direct: bool = False


class FeatureLayer(nn.Module):
    """The sum of one weight row per active feature: a linear layer on a vector of mostly zeros.

    With threats a piece on a square has four features. Their rows are learned as
    what they have in common plus what is their own, so that rare ones know what the others know.
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features, width).normal_(0, FEATURE_DEVIATION))
        self.bias = nn.Parameter(torch.full((width,), FEATURE_BIAS))
        apart = features > PLAIN_FEATURES
        self.shared = nn.Parameter(torch.zeros(PLAIN_FEATURES, width)) if apart else None

    def rows(self) -> Tensor:
        """Return the weight row of every feature, (F, H)."""
        return self.weight if self.shared is None else joined(self.weight, self.shared)

    def forward(self, indices: Tensor, offsets: Tensor) -> Tensor:
        """Sum over indices (N,) int32 flat, offsets (B + 1,) int64 -> (B, width) float32."""
        return feature_sum(indices, offsets, self.rows(), self.bias)

    @torch.no_grad()
    def clip(self) -> None:
        """Keep every row and the bias within what int16 accumulators need."""
        if self.shared is not None:
            self.weight.add_(self.rows().clamp(-LIMIT, LIMIT) - self.rows())
        else:
            self.weight.clamp_(-LIMIT, LIMIT)
        self.bias.clamp_(-LIMIT, LIMIT)


def joined(own: Tensor, shared: Tensor) -> Tensor:
    """Add rows (768, H) that variants have in common to those of each, (768 * variants, H)."""
    return own + shared.repeat(len(own) // len(shared), 1)


def kept(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a network's state as files keep it: common rows are added to the others."""
    found = {name: tensor for name, tensor in state.items() if not name.endswith(SHARED)}
    for name, shared in state.items():
        if name.endswith(SHARED):
            weight = name.removesuffix(SHARED) + ".weight"
            found[weight] = joined(found[weight], shared)
    return found


class SparseNetwork(nn.Module):
    """Win, draw, loss logits and policy logits, for the legal moves only or for all."""

    def __init__(self, sizes: SparseSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.value_features = FeatureLayer(sizes.features, sizes.width)
        self.policy_features = FeatureLayer(sizes.features, sizes.policy_width)
        hidden = sizes.perspectives * sizes.width
        self.tail1 = nn.Linear(hidden, WDL if sizes.direct else TAIL[0])
        self.tail2 = None if sizes.direct else nn.Linear(*TAIL)
        self.tail3 = None if sizes.direct else nn.Linear(TAIL[1], WDL)
        deviation = sizes.policy_width**-0.5
        moves = torch.empty(sizes.moves, sizes.policy_width).normal_(0, deviation)
        kinds = torch.zeros(sizes.kinds, sizes.policy_width)
        self.move_weight = nn.Parameter(torch.cat([moves, kinds]))
        self.move_bias = nn.Parameter(torch.zeros(sizes.moves + sizes.kinds))

    def forward(
        self,
        features: Tensor,
        offsets: Tensor,
        moves: Tensor | None = None,
        move_offsets: Tensor | None = None,
        kinds: Tensor | None = None,
    ) -> Outputs:
        """Evaluate B positions with N active features in all.

        features (P, N) int32, flat feature indices from the side to move's view and, with two
        perspectives, in row 1 from the opponent's; offsets (B + 1,) int64, common to both rows.
        moves (M,) int32 flat policy indices and move_offsets (B + 1,) int64, or neither; kinds
        (2, M) int32 of the moves, where the network knows any.
        Returns value (B, 3) logits, policy (M,) logits, or (B, moves of the table) without moves.
        """
        value = self.value(features, offsets)
        hidden = screlu(self.policy_features(features[0], offsets))
        if moves is None or move_offsets is None:
            table = self.sizes.moves
            policy = nn.functional.linear(hidden, self.move_weight[:table], self.move_bias[:table])
        else:
            rows = [moves] if kinds is None else [moves, *(kinds + self.sizes.moves)]
            policy = self._logits(hidden, rows, move_offsets)
        return {"value": value, "policy": policy}

    def _logits(self, hidden: Tensor, rows: list[Tensor], offsets: Tensor) -> Tensor:
        """Return for each move the sum of its rows' logits, (M,); rows (M,) each."""
        weight, bias = self.move_weight, self.move_bias
        parts = [move_logits(hidden, weight, bias, row, offsets) for row in rows]
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]

    def value(self, features: Tensor, offsets: Tensor) -> Tensor:
        """Return the win, draw, loss logits alone, (B, 3)."""
        views = [self.value_features(view, offsets) for view in features[: self.sizes.perspectives]]
        both = torch.cat(views, dim=1) if len(views) > 1 else views[0]
        x: Tensor = self.tail1(screlu(both))
        if self.tail2 is not None and self.tail3 is not None:
            x = self.tail3(screlu(self.tail2(screlu(x))))
        return x

    @torch.no_grad()
    def clip_weights(self) -> None:
        """Keep the weights that int16 accumulators need bounded; call after each training step."""
        for layer in (self.value_features, self.policy_features):
            layer.clip()


# --- layers as torch functions with gradients -----------------------------------------------------


def feature_sum(indices: Tensor, offsets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return bias plus the sum of the active rows, (B, H) float32.

    indices (N,) integer rows, flat; offsets (B + 1,) integer; weight (F, H); bias (H,).
    """
    if _compiled(weight):
        _check(indices, offsets, len(weight))
        return _applied(_FeatureSum, indices.int(), offsets.long(), weight, bias)
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
        return _applied(_MoveLogits, hidden, weight, bias, moves.int(), offsets.long())
    # Where arithmetic is cheap all logits at once beat a gather of whole rows.
    return legal_logits(functional.linear(hidden, weight, bias), moves, offsets)


def screlu(x: Tensor) -> Tensor:
    """clip(x, 0, 1) squared, any shape; one pass over memory each way where torch makes ten."""
    if _compiled(x) and x.dim() == 2:
        return _applied(_Screlu, x)
    clipped = x.clamp(0, 1)
    return clipped * clipped


def _applied(function: Any, *arguments: Tensor) -> Tensor:
    """Apply one of the functions below; torch gives `apply` no types."""
    result: Tensor = function.apply(*arguments)
    return result


def _compiled(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32


def _check(entries: Tensor, offsets: Tensor, rows: int) -> None:
    """Refuse indices out of bounds, which kernels do not check."""
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
    bounds = [count * share // shares for share in range(shares + 1)]
    for done in [_pool().submit(work, *pair) for pair in pairwise(bounds)]:
        done.result()


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(torch.get_num_threads())


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

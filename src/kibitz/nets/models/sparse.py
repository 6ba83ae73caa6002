"""The CPU network: sparse inputs, one wide layer each for value and policy.

One dial: the width of the value layer (the policy layer is half as wide unless said otherwise).
The integer form of exactly this network is in `models/make`.

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
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from kibitz.nets.encodings.features import MAX_ACTIVE, PLAIN_FEATURES
from kibitz.nets.models import sparse_kernels as kernels
from kibitz.nets.models.convolutional import Outputs, legal_logits
from kibitz.nets.models.make import LIMIT

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
    buckets: int = 1  # tails, each for as many numbers of pieces


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
        """Activations of P views: indices (P, N), offsets (B + 1,) -> (B, P * width) float32."""
        return feature_activations(indices, offsets, self.weight, self.bias, self.shared)

    @torch.no_grad()
    def clip(self) -> None:
        """Keep every row and the bias within what int16 accumulators need."""
        self.bias.clamp_(-LIMIT, LIMIT)
        if self.shared is None:
            self.weight.clamp_(-LIMIT, LIMIT)
        elif _compiled(self.weight):
            own, common = self.weight.numpy(), self.shared.numpy()
            _parallel(functools.partial(kernels.clip_rows, own, common, LIMIT), len(own))
        else:
            self.weight.add_(self.rows().clamp(-LIMIT, LIMIT) - self.rows())


def joined(own: Tensor, shared: Tensor) -> Tensor:
    """Add rows (768, H) that variants have in common to those of each, (768 * variants, H)."""
    return own + shared.repeat(len(own) // len(shared), 1)


def kept(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a network's state as files keep it: common rows are added to the others."""
    tensors = {name: tensor for name, tensor in state.items() if not name.endswith(SHARED)}
    for name, shared in state.items():
        if name.endswith(SHARED):
            weight = name.removesuffix(SHARED) + ".weight"
            tensors[weight] = joined(tensors[weight], shared)
    return tensors


class SparseNetwork(nn.Module):
    """Win, draw, loss logits and policy logits, for the legal moves only or for all."""

    def __init__(self, sizes: SparseSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.value_features = FeatureLayer(sizes.features, sizes.width)
        self.policy_features = FeatureLayer(sizes.features, sizes.policy_width)
        hidden = sizes.perspectives * sizes.width
        tails, direct = sizes.buckets, sizes.direct
        self.tail1 = nn.Linear(hidden, tails * (WDL if direct else TAIL[0]))
        self.tail2 = None if direct else nn.Linear(TAIL[0], tails * TAIL[1])
        self.tail3 = None if direct else nn.Linear(TAIL[1], tails * WDL)
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
        if moves is not None and move_offsets is not None:
            # What comes without moves, at the end of the batch, needs no policy.
            rows = int(torch.searchsorted(move_offsets, move_offsets[-1]))
            offsets, move_offsets = offsets[: rows + 1], move_offsets[: rows + 1]
        hidden = self.policy_features(features[:1, : int(offsets[-1])], offsets)
        if moves is None or move_offsets is None:
            table = self.sizes.moves
            policy = nn.functional.linear(hidden, self.move_weight[:table], self.move_bias[:table])
        else:
            entries = [moves] if kinds is None else [moves, *(kinds + self.sizes.moves)]
            policy = self._logits(hidden, entries, move_offsets)
        return {"value": value, "policy": policy}

    def _logits(self, hidden: Tensor, rows: list[Tensor], offsets: Tensor) -> Tensor:
        """Return for each move the sum of its rows' logits, (M,); rows (M,) each."""
        weight, bias = self.move_weight, self.move_bias
        parts = [move_logits(hidden, weight, bias, row, offsets) for row in rows]
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]

    def value(self, features: Tensor, offsets: Tensor) -> Tensor:
        """Return the win, draw, loss logits alone, (B, 3)."""
        x = self.value_features(features[: self.sizes.perspectives], offsets)
        x = self._tail(self.tail1, x, offsets)
        if self.tail2 is not None and self.tail3 is not None:
            x = self._tail(self.tail2, screlu(x), offsets)
            x = self._tail(self.tail3, screlu(x), offsets)
        return x

    def _tail(self, layer: nn.Linear, x: Tensor, offsets: Tensor) -> Tensor:
        """Apply each position's rows of a layer of the tail: pieces are as many as features."""
        count = self.sizes.buckets
        if count == 1:
            return cast("Tensor", layer(x))
        outputs = layer.out_features // count
        bucket = (offsets.diff() - 1) * count // MAX_ACTIVE
        every = torch.arange(outputs, device=x.device)
        rows = (bucket[:, None] * outputs + every).flatten().int()
        starts = torch.arange(len(offsets), device=x.device) * outputs
        return move_logits(x, layer.weight, layer.bias, rows, starts).view(-1, outputs)

    @torch.no_grad()
    def clip_weights(self) -> None:
        """Keep the weights that int16 accumulators need bounded; call after each training step."""
        for layer in (self.value_features, self.policy_features):
            layer.clip()


# --- layers as torch functions with gradients -----------------------------------------------------


def feature_activations(
    indices: Tensor, offsets: Tensor, weight: Tensor, bias: Tensor, shared: Tensor | None = None
) -> Tensor:
    """Return screlu(bias plus the sum of the active rows) of P views side by side, (B, P * H).

    indices (P, N) integer rows; offsets (B + 1,) integer, common to the views; weight (F, H);
    bias (H,); shared (S, H) what rows S apart have in common, added to theirs.
    """
    if _compiled(weight):
        _check(indices, offsets, len(weight))
        common = weight[:0] if shared is None else shared
        return _applied(_Features, indices.int(), offsets.long(), weight, common, bias)
    rows = weight if shared is None else joined(weight, shared)
    sums = [
        functional.embedding_bag(
            view.long(), rows, offsets.long(), mode="sum", include_last_offset=True
        )
        for view in indices
    ]
    return screlu(torch.cat([each + bias for each in sums], dim=1))


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
    count = entries.shape[-1]
    inside = entries.numel() == 0 or (int(entries.min()) >= 0 and int(entries.max()) < rows)
    ordered = bool((offsets[1:] >= offsets[:-1]).all())
    if not (inside and ordered and int(offsets[0]) == 0 and int(offsets[-1]) == count):
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


class _Features(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, indices: Tensor, offsets: Tensor, own: Tensor, shared: Tensor, bias: Tensor
    ) -> Tensor:
        i, o, w, s, b = _numpy(indices, offsets, own, shared, bias)
        rows, width = w.shape
        layer = kernels.tiles_for(width)
        tiles = np.empty((width // layer.columns, rows, layer.columns), np.float32)
        out = np.empty((len(o) - 1, len(i) * width), np.float32)
        _parallel(lambda first, last: kernels.join_tiles(w, s, tiles, first, last), rows)
        _parallel(lambda first, last: layer.activate(i, o, tiles, b, out, first, last), len(out))
        activations = torch.from_numpy(out)
        ctx.save_for_backward(indices, offsets, activations)
        ctx.shape, ctx.common = tiles.shape, len(s)
        return activations

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor, Tensor | None, Tensor]:
        i, o, activations, gradient = _numpy(*ctx.saved_tensors, *gradients)
        count, rows, columns = ctx.shape
        layer, width = kernels.tiles_for(count * columns), count * columns
        tiles, bias = np.zeros(ctx.shape, np.float32), np.zeros(width, np.float32)

        def scatter(first: int, last: int) -> None:
            layer.scatter(i, o, activations, gradient, tiles, bias, first, last)

        _parallel(scatter, count)
        own, shared = np.empty((rows, width), np.float32), np.zeros((ctx.common, width), np.float32)
        work = functools.partial(kernels.split_tiles, tiles, own, shared)
        _parallel(work, ctx.common or rows)
        parts = [torch.from_numpy(array) for array in (own, shared, bias)]
        return None, None, parts[0], parts[1] if ctx.common else None, parts[2]


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

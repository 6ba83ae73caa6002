"""The CPU network: sparse inputs, one wide layer each for value and policy; features -> **sparse**.

One dial: the width of the value layer (the policy layer is half as wide unless said otherwise).
The integer form of exactly this network is in `network.quantise`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kibitz.encoding.features import PLAIN_FEATURES
from kibitz.network.heads import Outputs
from kibitz.network.quantise import LIMIT
from kibitz.network.sparse_functions import feature_sum, move_logits, screlu

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
    kinds: int = 0  # rows of the policy for what moves do, see encoding/move_features.py
    perspectives: int = 1
    direct: bool = False


class FeatureLayer(nn.Module):
    """The sum of one weight row per active feature: a linear layer on a vector of mostly zeros.

    Where threats are told apart, a piece on a square has four features. Their rows are learned as
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

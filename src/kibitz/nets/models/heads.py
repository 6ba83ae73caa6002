"""The output heads shared by the convolutional families.

Outputs are for the side to move. Names and shapes (float32, B positions):

    value        (B,)     in [-1, 1]            value kind "tanh"
                 (B, 3)   win, draw, loss logits          "wdl"
                 (B,)     unbounded score, only its order and tanh(score / 2) mean something
                                                          "rank"
    policy       (B, 4672) logits, index 64 * plane + from-square of the card's policy order
    soft_policy  (B, 4672) logits for the softened visit target; used in training only
    mcts_value   (B,)     in [-1, 1], value of the root's best child; used in training only
    moves_left   (B,)     plies until the game ends, at least 0
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from kibitz.nets.card import Heads

Outputs = dict[str, Tensor]

POLICY_PLANES = 73
TRAINING_ONLY = ("mcts_value", "soft_policy")

# A fresh network starts near 28 plies (softplus of 0 is 0.69), a sane distance to the end.
PLIES_SCALE = 40.0


def convolution(inputs: int, outputs: int, kernel: int, bias: bool = False) -> nn.Conv2d:
    """Return a same-size convolution with he-normal weights; a following norm makes bias idle."""
    layer = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=bias)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def norm_relu(channels: int) -> nn.Sequential:
    """Batch norm, then ReLU."""
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())


def convolution_norm_relu(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    """Return convolution, batch norm and ReLU in this order."""
    return nn.Sequential(convolution(inputs, outputs, kernel), *norm_relu(outputs))


class SqueezeExcitation(nn.Module):
    """Scale each channel by a gate computed from all channel means."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze = convolution(channels, squeezed, 1, bias=True)
        self.excite = convolution(squeezed, channels, 1, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, 8, 8) float32 -> the same shape."""
        mean = x.mean((2, 3), keepdim=True)
        gate = torch.sigmoid(self.excite(torch.relu(self.squeeze(mean))))
        return x * gate


class ScalarHead(nn.Module):
    """1x1 convolution to one plane, a hidden dense layer, a few numbers."""

    def __init__(self, filters: int, dense: int, outputs: int) -> None:
        super().__init__()
        self.plane = convolution_norm_relu(filters, 1, 1)
        self.dense = nn.Linear(64, dense)
        self.out = nn.Linear(dense, outputs)

    def forward(self, trunk: Tensor) -> Tensor:
        """(B, C, 8, 8) float32 -> (B, outputs) float32, no activation."""
        hidden = torch.relu(self.dense(self.plane(trunk).flatten(1)))
        numbers: Tensor = self.out(hidden)
        return numbers


class PolicyHead(nn.Module):
    """3x3 convolution, then one logit per move plane and from-square, twice with a soft policy."""

    def __init__(self, filters: int, kernel: int, soft: bool) -> None:
        super().__init__()
        self.hidden = convolution_norm_relu(filters, filters, 3)
        self.out = convolution(filters, POLICY_PLANES, kernel, bias=True)
        self.soft = convolution(filters, POLICY_PLANES, kernel, bias=True) if soft else None

    def forward(self, trunk: Tensor) -> Outputs:
        """(B, C, 8, 8) float32 -> policy and soft_policy."""
        hidden = self.hidden(trunk)
        outputs: Outputs = {"policy": self.out(hidden).flatten(1)}
        if self.soft is not None:
            outputs["soft_policy"] = self.soft(hidden).flatten(1)
        return outputs


class ConvolutionalHeads(nn.Module):
    """All heads a card asks for on one trunk."""

    def __init__(self, filters: int, dense: int, policy_kernel: int, heads: Heads) -> None:
        super().__init__()
        self.kind = heads.value
        values = 3 if heads.value == "wdl" else 1
        self.value = ScalarHead(filters, dense, values) if heads.value != "none" else None
        self.policy = (
            PolicyHead(filters, policy_kernel, heads.soft_policy) if heads.policy else None
        )
        self.mcts_value = ScalarHead(filters, dense, 1) if heads.mcts_value else None
        self.moves_left = ScalarHead(filters, dense, 1) if heads.moves_left else None

    def forward(self, trunk: Tensor) -> Outputs:
        """(B, C, 8, 8) float32 -> named outputs."""
        outputs: Outputs = {}
        if self.value is not None:
            outputs["value"] = finish_value(self.value(trunk), self.kind)
        if self.policy is not None:
            outputs.update(self.policy(trunk))
        if self.mcts_value is not None:
            outputs["mcts_value"] = finish_value(self.mcts_value(trunk), "tanh")
        if self.moves_left is not None:
            plies = functional.softplus(self.moves_left(trunk)).flatten()
            outputs["moves_left"] = PLIES_SCALE * plies
        return outputs


def finish_value(numbers: Tensor, kind: str) -> Tensor:
    """Turn the last layer's numbers (B, 1 or 3) into the output of a value kind."""
    if kind == "wdl":
        return numbers
    return torch.tanh(numbers).flatten() if kind == "tanh" else numbers.flatten()


def rows_of(offsets: Tensor, entries: int) -> Tensor:
    """Return the position each of the M entries belongs to, (M,) int64; offsets (B + 1,)."""
    # The number of entries is given, because a GPU would be asked for it and waited for.
    return torch.repeat_interleave(offsets[1:] - offsets[:-1], output_size=entries)


def legal_logits(logits: Tensor, moves: Tensor, offsets: Tensor) -> Tensor:
    """Pick the logits of given moves only.

    logits (B, K) float32; moves (M,) integer policy indices, flat over all positions; offsets
    (B + 1,) integer, position b owns moves[offsets[b]:offsets[b + 1]]. Returns (M,) float32.
    """
    flat = rows_of(offsets, len(moves)) * logits.shape[1] + moves.long()
    return logits.flatten()[flat]

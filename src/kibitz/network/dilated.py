"""Batch-First's dilated networks: planes -> **dilated** -> a position's score or move scores.

The first layer looks from every square exactly along the lines and jumps a piece could attack it
from: seven 3x3 convolutions with dilations 1 to 7 see the queen lines, two 2x2 ones the eight
knight jumps. One dial: a multiplier of all widths.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kibitz.network.heads import POLICY_PLANES, Outputs, convolution

LINE_FILTERS = (64, 32, 20, 20, 18, 18, 16)
KNIGHT_FILTERS = 24
KNIGHT_DILATIONS = ((2, 4), (4, 2))
MODULES = 6


class ShiftNormRelu(nn.Module):
    """Batch norm without a scale, then ReLU: the next convolution can scale as well."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, affine=False)
        self.shift = nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) float32 -> the same shape."""
        return torch.relu(self.norm(x) + self.shift)


class AttackShapedInput(nn.Module):
    """Nine dilated convolutions side by side."""

    def __init__(self, planes: int, multiplier: int) -> None:
        super().__init__()
        lines = [
            nn.Conv2d(planes, multiplier * filters, 3, padding=d, dilation=d, bias=False)
            for d, filters in enumerate(LINE_FILTERS, start=1)
        ]
        # Two taps 4 squares apart, centred on the target, are the steps -2 and +2.
        jumps = [
            nn.Conv2d(
                planes,
                multiplier * KNIGHT_FILTERS,
                2,
                padding=(dilation[0] // 2, dilation[1] // 2),
                dilation=dilation,
                bias=False,
            )
            for dilation in KNIGHT_DILATIONS
        ]
        self.convolutions = nn.ModuleList([*lines, *jumps])
        for layer in [*lines, *jumps]:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        self.channels = sum(layer.out_channels for layer in [*lines, *jumps])

    def forward(self, planes: Tensor) -> Tensor:
        """(B, planes, 8, 8) float32 -> (B, channels, 8, 8) float32."""
        return torch.cat([layer(planes) for layer in self.convolutions], dim=1)


class DilatedNetwork(nn.Module):
    """The common trunk, then one score per position or one per move plane and from-square."""

    def __init__(self, planes: int, multiplier: int, moves: bool) -> None:
        super().__init__()
        wide, narrow, last = (multiplier * width for width in (512, 128, 32))
        entry = AttackShapedInput(planes, multiplier)
        layers: list[nn.Module] = [entry, ShiftNormRelu(entry.channels)]
        layers += _module(entry.channels, wide, 1)
        layers += _module(wide, narrow, 1)
        for number in range(MODULES):
            layers += _module(last if number else narrow, last, 3)
        self.trunk = nn.Sequential(*layers)
        self.output = "policy" if moves else "value"
        self.head = convolution(last, POLICY_PLANES, 1, bias=True) if moves else _whole_board(last)

    def forward(self, planes: Tensor) -> Outputs:
        """(B, planes, 8, 8) float32 -> policy (B, 4672) or value (B,), an unbounded score."""
        numbers = self.head(self.trunk(planes))
        return {self.output: numbers.flatten(1 if self.output == "policy" else 0)}


def _module(inputs: int, outputs: int, kernel: int) -> list[nn.Module]:
    return [convolution(inputs, outputs, kernel), ShiftNormRelu(outputs)]


def _whole_board(channels: int) -> nn.Sequential:
    board = nn.Conv2d(channels, channels // 2, 8, bias=False)
    nn.init.kaiming_normal_(board.weight, nonlinearity="relu")
    score = nn.Conv2d(channels // 2, 1, 1)
    return nn.Sequential(board, ShiftNormRelu(channels // 2), score)

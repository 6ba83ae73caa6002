"""DLChess's small networks: plain, residual and squeeze-excitation; planes -> **plain** -> heads.

One dial: blocks x filters. At 4x64 on 22 planes: plain 219k parameters, residual 369k, with
squeeze-excitation 372k (446k at 5x64).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kibitz.network.card import Heads
from kibitz.network.heads import (
    ConvolutionalHeads,
    Outputs,
    SqueezeExcitation,
    convolution,
    convolution_norm_relu,
)

VALUE_DENSE = 256
SQUEEZED = 4


class PostActivationBlock(nn.Module):
    """Two convolutions with norms, the shortcut added before the last ReLU.

    Where the number of channels changes the shortcut is a 1x1 convolution.
    """

    def __init__(self, inputs: int, filters: int, squeeze: bool) -> None:
        super().__init__()
        self.first = convolution_norm_relu(inputs, filters, 3)
        self.second = nn.Sequential(convolution(filters, filters, 3), nn.BatchNorm2d(filters))
        self.gate = SqueezeExcitation(filters, SQUEEZED) if squeeze else nn.Identity()
        self.shortcut = nn.Identity() if inputs == filters else convolution(inputs, filters, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, 8, 8) float32 -> (B, filters, 8, 8) float32."""
        change = self.gate(self.second(self.first(x)))
        return torch.relu(self.shortcut(x) + change)


class SmallNetwork(nn.Module):
    """A trunk and DLChess's heads."""

    def __init__(self, trunk: nn.Sequential, filters: int, heads: Heads) -> None:
        super().__init__()
        self.trunk = trunk
        self.heads = ConvolutionalHeads(filters, VALUE_DENSE, 3, heads)

    def forward(self, planes: Tensor) -> Outputs:
        """(B, planes, 8, 8) float32 -> named outputs."""
        outputs: Outputs = self.heads(self.trunk(planes))
        return outputs


def plain_network(planes: int, blocks: int, filters: int, heads: Heads) -> SmallNetwork:
    """Return a stack of `blocks` convolutions without shortcuts."""
    widths = [planes] + [filters] * blocks
    layers = [convolution_norm_relu(widths[i], filters, 3) for i in range(blocks)]
    return SmallNetwork(nn.Sequential(*layers), filters, heads)


def residual_network(
    planes: int, blocks: int, filters: int, heads: Heads, squeeze: bool, input_layer: bool
) -> SmallNetwork:
    """Return residual blocks, after an input convolution or with a 1x1 shortcut in the first."""
    layers: list[nn.Module] = []
    if input_layer:
        layers.append(convolution_norm_relu(planes, filters, 3))
    widths = [filters if input_layer else planes] + [filters] * blocks
    layers += [PostActivationBlock(widths[i], filters, squeeze) for i in range(blocks)]
    return SmallNetwork(nn.Sequential(*layers), filters, heads)

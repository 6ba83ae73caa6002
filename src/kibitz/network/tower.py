"""ChessCoach's residual tower: pre-activation blocks; planes -> **tower** -> value and policy.

One dial: blocks x filters. 19x256 is the teacher (23.33 million parameters on 109 planes), 8x128
the student (2.66 million).
"""

from __future__ import annotations

from torch import Tensor, nn

from kibitz.network.card import Heads
from kibitz.network.heads import (
    ConvolutionalHeads,
    Outputs,
    SqueezeExcitation,
    convolution,
    convolution_norm_relu,
    norm_relu,
)

SQUEEZE_RATIO = 8


class PreActivationBlock(nn.Module):
    """Norm, ReLU, convolution, twice, added to the untouched input.

    The first block of a tower has no leading norm and ReLU: the stem has just done both.
    """

    def __init__(self, filters: int, first: bool, squeeze: bool) -> None:
        super().__init__()
        self.before = nn.Identity() if first else norm_relu(filters)
        self.convolution1 = convolution(filters, filters, 3)
        self.between = norm_relu(filters)
        self.convolution2 = convolution(filters, filters, 3)
        self.gate = (
            SqueezeExcitation(filters, filters // SQUEEZE_RATIO) if squeeze else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, filters, 8, 8) float32 -> the same shape."""
        change = self.convolution1(self.before(x))
        change = self.convolution2(self.between(change))
        gated: Tensor = x + self.gate(change)
        return gated


class Tower(nn.Module):
    """Stem, pre-activation blocks, final norm and ReLU, heads."""

    def __init__(self, planes: int, blocks: int, filters: int, squeeze: bool, heads: Heads) -> None:
        super().__init__()
        self.stem = convolution_norm_relu(planes, filters, 3)
        self.blocks = nn.Sequential(
            *(PreActivationBlock(filters, number == 0, squeeze) for number in range(blocks))
        )
        self.final = norm_relu(filters)
        # ChessCoach's dense layers are as wide as its tower: 256 and 128.
        self.heads = ConvolutionalHeads(filters, filters, 1, heads)

    def forward(self, planes: Tensor) -> Outputs:
        """(B, planes, 8, 8) float32 -> named outputs."""
        outputs: Outputs = self.heads(self.final(self.blocks(self.stem(planes))))
        return outputs

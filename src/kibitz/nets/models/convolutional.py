"""The convolutional families of networks: bodies and output heads."""

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


# --- bodies ---------------------------------------------------------------------------------------
#
# The convolutional families of networks.
#
# * tower: ChessCoach's pre-activation tower. 19x256 is the teacher (23.33 million parameters on 109
#   planes), 8x128 the student (2.66 million).
# * plain, residual, se: DLChess's small networks. At 4x64 on 22 planes: plain 219k parameters,
#   residual 369k, with squeeze-excitation 372k (446k at 5x64).
# * dilated: Batch-First's networks of a position's score or of move scores. The first layer looks
#   from every square exactly along the lines and jumps a piece could attack it from: seven 3x3
#   convolutions with dilations 1 to 7 see the queen lines, two 2x2 ones the eight knight jumps.
#
# One dial each: blocks x filters, and of the dilated ones a multiplier of all widths.


# --- tower ----------------------------------------------------------------------------------------

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


# --- plain, residual, se --------------------------------------------------------------------------

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


# --- dilated --------------------------------------------------------------------------------------

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

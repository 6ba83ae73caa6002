"""The decoder: a transformer that puts proved claims about a move into words.

Its memory is ChessCoach's: a row for each square of the position before the move and after it, seen
by a frozen tower or by one layer, and a row for the side to move; then the tokens of the claims,
which layers of self-attention may relate to each other. Sinusoids tell the rows apart. Its tokens
share one matrix with the output.
"""

from __future__ import annotations

import io
import logging
import math
import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional

from kibitz.comment.decoder.file import PAD, WordsCard
from kibitz.nets.encodings.planes import layout_of

SMOOTHING = 0.1


class Attention(nn.Module):
    """Attention of several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """(B, L, width), (B, M, width), and a mask for (B, heads, L, M): what may be looked at."""
        batch, length, width = x.shape
        query = self.query(x).view(batch, length, self.heads, -1).transpose(1, 2)
        both = self.key_value(memory).view(batch, memory.shape[1], 2, self.heads, -1)
        key, value = both.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, mask)
        result: Tensor = self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return result


class Layer(nn.Module):
    """Attention to the text so far, then to the memory, then two dense layers; norms first."""

    def __init__(self, card: WordsCard, has_memory: bool) -> None:
        super().__init__()
        self.to_itself = Attention(card.width, card.heads)
        self.to_memory = Attention(card.width, card.heads) if has_memory else nn.Identity()
        self.norms = nn.ModuleList(nn.LayerNorm(card.width) for _ in range(3))
        self.dense = nn.Sequential(
            nn.Linear(card.width, card.feed_forward),
            nn.ReLU(),
            nn.Linear(card.feed_forward, card.width),
        )
        self.drop = nn.Dropout(card.dropout)

    def forward(
        self, x: Tensor, mask: Tensor, memory: Tensor | None = None, present: Tensor | None = None
    ) -> Tensor:
        """(B, L, width) -> the same shape."""
        normed = self.norms[0](x)
        x = x + self.drop(self.to_itself(normed, normed, mask))
        if memory is not None:
            x = x + self.drop(self.to_memory(self.norms[1](x), memory, present))
        result: Tensor = x + self.drop(self.dense(self.norms[2](x)))
        return result


class WordsNetwork(nn.Module):
    """Positions, side and claims to a memory; the memory and a text to the logits that follow."""

    def __init__(self, card: WordsCard, tower: nn.Module | None = None) -> None:
        super().__init__()
        self.card, self.tower = card, None if tower is None else tower.eval()
        planes = layout_of(card.encoding).planes
        with torch.no_grad():
            width = planes if tower is None else _seen(tower, torch.zeros(1, planes, 8, 8)).shape[1]
        self.squares = nn.Linear(width, card.width)
        self.side = nn.Embedding(2, card.width)
        self.words = nn.Embedding(card.vocabulary, card.width)
        nn.init.normal_(self.words.weight, std=card.width**-0.5)
        self.encoder = nn.ModuleList(Layer(card, False) for _ in range(card.encoder_layers))
        self.decoder = nn.ModuleList(Layer(card, True) for _ in range(card.layers))
        self.norms = nn.ModuleList(nn.LayerNorm(card.width) for _ in range(2))
        self.drop = nn.Dropout(card.dropout)
        rows = max(129 + max(1, card.longest_claims), card.longest + 2)
        self.places: Tensor
        self.register_buffer("places", sinusoids(rows, card.width), persistent=False)

    def train(self, mode: bool = True) -> WordsNetwork:
        """As every module, but for the tower, which stays as it is."""
        super().train(mode)
        if self.tower is not None:
            self.tower.eval()
        return self

    def memory(self, planes: Tensor, side: Tensor, claims: Tensor) -> tuple[Tensor, Tensor]:
        """Planes (B, 2, P, 8, 8), side (B), claims (B, C) -> rows (B, 129 + C, width), which count.

        The second is True for the rows that are no padding.
        """
        boards = planes.flatten(0, 1)
        if self.tower is not None:
            with torch.no_grad():
                boards = _seen(self.tower, boards).detach()
        squares = boards.flatten(2).transpose(1, 2).reshape(planes.shape[0], 128, -1)
        rows = torch.cat([self.squares(squares), self.side(side)[:, None]], 1)
        spoken = self.words(claims) * math.sqrt(self.card.width)
        rows = self.drop(torch.cat([rows, spoken], 1) + self.places[: 129 + claims.shape[1]])
        spoken = rows[:, 129:]
        # The first token always counts: attention to nothing is not a number.
        counts = torch.cat([torch.ones_like(claims[:, :1]), claims[:, 1:]], 1) != PAD
        for layer in self.encoder:
            spoken = layer(spoken, counts[:, None, None])
        rows = torch.cat([rows[:, :129], spoken], 1)
        shown = torch.ones_like(rows[:, :129, 0]) > 0
        present = torch.cat([shown, counts], 1)
        return self.norms[0](rows), present

    def forward(self, memory: Tensor, present: Tensor, tokens: Tensor) -> Tensor:
        """A memory and tokens (B, L) -> logits (B, L, vocabulary) of what follows each."""
        length = tokens.shape[1]
        rows = self.words(tokens) * math.sqrt(self.card.width)
        rows = self.drop(rows + self.places[:length])
        before = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril()
        for layer in self.decoder:
            rows = layer(rows, before[None, None], memory, present[:, None, None])
        return functional.linear(self.norms[1](rows), self.words.weight)


def _seen(tower: nn.Module, planes: Tensor) -> Tensor:
    """What a convolutional network has before its heads, (B, filters, 8, 8)."""
    names = ["trunk"] if hasattr(tower, "trunk") else ["stem", "blocks", "final"]
    for name in names:
        planes = tower.get_submodule(name)(planes)
    return planes


def sinusoids(rows: int, width: int) -> Tensor:
    """Places (rows, width): sines, then cosines, of wave lengths from 2 pi to 10 000 times that."""
    rates = torch.exp(torch.arange(width // 2) * (-math.log(10_000.0) / max(1, width // 2 - 1)))
    angles = torch.arange(rows)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


def words_loss(logits: Tensor, targets: Tensor, mean_length: float) -> Tensor:
    """Label-smoothed cross-entropy less its minimum, every word of the corpus alike.

    Texts are averaged over their tokens, padding left out, and weighted by their length over the
    mean length of all texts: so each word counts the same, whatever the length of its text.
    """
    size = logits.shape[-1]
    low = SMOOTHING / (size - 1)
    least = (1 - SMOOTHING) * math.log(1 - SMOOTHING) + (size - 1) * low * math.log(low)
    logs = functional.log_softmax(logits, -1)
    right = logs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - SMOOTHING - low) * right - low * logs.sum(-1) + least
    counts = targets != PAD
    lengths = counts.sum(1)
    of_texts = (losses * counts).sum(1) / lengths.clamp(min=1)
    return (of_texts * (lengths / mean_length)).mean()


class _Encode(nn.Module):
    def __init__(self, network: WordsNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, planes: Tensor, side: Tensor, claims: Tensor) -> tuple[Tensor, Tensor]:
        return self.network.memory(planes, side, claims)


class _Next(nn.Module):
    def __init__(self, network: WordsNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, memory: Tensor, present: Tensor, tokens: Tensor) -> Tensor:
        logits: Tensor = self.network(memory, present, tokens)[:, -1]
        return logits


def exported(network: WordsNetwork) -> tuple[bytes, bytes]:
    """The two networks of a decoder's file."""
    network.eval()
    planes = torch.zeros(2, 2, layout_of(network.card.encoding).planes, 8, 8)
    side, claims = torch.zeros(2, dtype=torch.long), torch.ones(2, 5, dtype=torch.long)
    tokens = torch.ones(2, 4, dtype=torch.long)
    with torch.no_grad():
        memory, present = network.memory(planes, side, claims)
    batch, length, rows = (torch.export.Dim(name, min=1) for name in ("batch", "length", "rows"))
    first = _export(
        _Encode(network),
        {"planes": (planes, {0: batch}), "side": (side, {0: batch})}
        | {"claims": (claims, {0: batch, 1: length})},
        ["memory", "present"],
    )
    second = _export(
        _Next(network),
        {"memory": (memory, {0: batch, 1: rows}), "present": (present, {0: batch, 1: rows})}
        | {"tokens": (tokens, {0: batch, 1: length})},
        ["logits"],
    )
    return first, second


def _export(
    network: nn.Module,
    inputs: dict[str, tuple[Tensor, dict[int, torch.export.Dim]]],
    outputs: list[str],
) -> bytes:
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of its own insides
        program = torch.onnx.export(
            network.eval(),
            tuple(tensor for tensor, _ in inputs.values()),
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes={name: shape for name, (_, shape) in inputs.items()},
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    out = io.BytesIO()
    out.write(program.model_proto.SerializeToString())
    return out.getvalue()

"""What training makes small: a batch and the outputs for it -> **losses** -> gradients.

Every loss is a mean over the positions that have a target of its kind; formulas and sources are in
docs/recipes.md. Losses are computed in float32 whatever the network computes in.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from kibitz.network.card import Heads
from kibitz.network.heads import Outputs
from kibitz.training.config import LossWeights
from kibitz.training.ragged import cross_entropy, rows_of, softened

# Rows of the table of all pairs that exist at the same time: 64 MiB at 16 384 positions.
PAIR_ROWS = 1024
HUBER_PLIES = 10.0  # beyond that distance the loss grows in a straight line
PLIES_SCALE = 40.0


class Targets(Protocol):
    """The fields of a batch that losses look at: B positions with M legal moves in all."""

    @property
    def moves(self) -> Any:
        """(M,) integer, policy indices."""

    @property
    def move_offsets(self) -> Any:
        """(B + 1,) integer."""

    @property
    def policy(self) -> Any:
        """(M,) float32, probabilities."""

    @property
    def policy_weight(self) -> Any:
        """(B,) float32, 1 or 0."""

    @property
    def wdl(self) -> Any:
        """(B, 3) float32, win, draw, loss for the side to move."""

    @property
    def value(self) -> Any:
        """(B,) float32, win minus loss."""

    @property
    def value_weight(self) -> Any:
        """(B,) float32."""

    @property
    def search_value(self) -> Any:
        """(B,) float32, in [-1, 1]."""

    @property
    def search_weight(self) -> Any:
        """(B,) float32, 1 or 0."""

    @property
    def plies_left(self) -> Any:
        """(B,) float32."""

    @property
    def plies_left_weight(self) -> Any:
        """(B,) float32, 1 or 0."""


def losses(
    outputs: Outputs, batch: Targets, card_heads: Heads, weights: LossWeights
) -> dict[str, Tensor]:
    """Return the loss of each head, unweighted scalars, and their weighted sum as "total"."""
    found: dict[str, Tensor] = {}
    if card_heads.value != "none":
        found["value"] = value_loss(outputs["value"].float(), batch, card_heads.value)
    if card_heads.policy:
        found["policy"] = policy_loss(outputs["policy"], batch, batch.policy)
    if card_heads.mcts_value:
        output = outputs["mcts_value"].float()
        found["mcts_value"] = squared_error(output, batch.search_value, batch.search_weight)
    if card_heads.soft_policy:
        targets = softened(batch.policy, batch.move_offsets, weights.soft_temperature)
        found["soft_policy"] = policy_loss(outputs["soft_policy"], batch, targets)
    if card_heads.moves_left:
        found["moves_left"] = moves_left_loss(outputs["moves_left"].float(), batch)
    found["total"] = weighted_sum(found, weights)
    return found


def weighted_sum(found: dict[str, Tensor], weights: LossWeights) -> Tensor:
    """Return the sum of losses times the weights of their names, a scalar."""
    terms = [getattr(weights, name) * loss for name, loss in found.items()]
    return torch.stack(terms).sum()


def mean(losses: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of losses (B,) with weights (B,); 0 when nothing has weight."""
    total = weight.sum()
    return (losses * weight).sum() / torch.where(total > 0, total, 1)


def known(targets: Tensor, weight: Tensor) -> Tensor:
    """Return targets (B,) or (B, 3) with 0 where the weight (B,) is 0: there they may be nan."""
    return torch.where((weight > 0).view(-1, *[1] * (targets.dim() - 1)), targets, 0)


def squared_error(values: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """Return the mean squared difference of values and targets, (B,) both."""
    return mean((values - known(targets, weight)) ** 2, weight)


def value_loss(output: Tensor, batch: Targets, kind: str) -> Tensor:
    """Return the loss of a value head of kind tanh, wdl or rank."""
    weight = batch.value_weight
    if kind == "tanh":
        return squared_error(output, batch.value, weight)
    if kind == "rank":
        total, pairs = pairwise_ranking(output, known(batch.value, weight), weight)
        return total / pairs.clamp(min=1)
    terms = known(batch.wdl, weight) * functional.log_softmax(output, dim=1)
    return mean(-terms.sum(1), weight)


def legal(logits: Tensor, batch: Targets) -> Tensor:
    """Return the logits of the legal moves, (M,) float32.

    Sparse networks give just these; of a tower's logits (B, K) they are picked.
    """
    if logits.dim() == 1:
        return logits.float()
    rows = rows_of(batch.move_offsets, len(batch.moves))
    flat = rows * logits.shape[1] + batch.moves.long()
    return logits.flatten()[flat].float()


def policy_loss(logits: Tensor, batch: Targets, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits (M,) or (B, K) against probabilities (M,)."""
    found = cross_entropy(legal(logits, batch), targets, batch.move_offsets)
    return mean(found, batch.policy_weight)


def moves_left_loss(plies: Tensor, batch: Targets) -> Tensor:
    """Return Huber's loss of the distance to the end, in units of 40 plies."""
    targets = known(batch.plies_left, batch.plies_left_weight)
    error = functional.huber_loss(plies, targets, reduction="none", delta=HUBER_PLIES)
    return mean(error / PLIES_SCALE, batch.plies_left_weight)


def pairwise_ranking(scores: Tensor, labels: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of Batch-First's loss over all pairs, and how many pairs there are.

    A pair of positions with different labels (B,) costs the sigmoid cross-entropy of the difference
    of their scores (B,) against whose label is larger, times both weights (B,).
    """
    pair = _PairwiseRanking.apply(scores, labels, weight)  # type: ignore[no-untyped-call]
    return pair[0], pair[1]


class _PairwiseRanking(torch.autograd.Function):
    """All pairs without keeping n x n numbers for the way back: the gradient is (n,)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, labels: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        gradient = torch.zeros_like(scores)
        total, pairs = scores.new_zeros(()), scores.new_zeros(())
        for first in range(0, len(scores), PAIR_ROWS):
            block = slice(first, first + PAIR_ROWS)
            # Each pair once: its row is the one with the larger label.
            counted = (labels[block, None] > labels) * (weight[block, None] * weight)
            ahead = scores[block, None] - scores
            total += (counted * functional.softplus(-ahead)).sum()
            pairs += counted.sum()
            pull = counted * torch.sigmoid(-ahead)
            gradient[block] -= pull.sum(1)
            gradient += pull.sum(0)
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(pairs)
        return total, pairs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return ctx.saved_tensors[0] * gradients[0], None, None

"""The losses that training makes small.

Every loss is a mean over the positions that have a target of its kind; formulas and sources are in
docs/recipes.md. Losses are computed in float32 whatever the network computes in.

A teacher, a network of any family, may supply part of the targets. It sees the same positions in
its own encoding: the same rows made into a second batch. Legal moves come in the same order in
both, so the teacher's logits lie beside the student's whatever their policy orders are.

The policy is a softmax over the M legal moves of B positions, flat; offsets (B + 1,) integer,
position b owns entries offsets[b] to offsets[b + 1]. On the CPU in float32 its cross-entropy is one
compiled pass which leaves the gradient behind; other devices and types use plain torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from kibitz.core.errors import InputError
from kibitz.data.batches.loader import TensorBatch
from kibitz.nets.card import Heads
from kibitz.nets.models.convolutional import Outputs, legal_logits, rows_of
from kibitz.train.config import DistillSettings, LossWeights
from kibitz.train.kernels import cross_entropies, scale_rows

# --- the policy: softmax over legal moves ---------------------------------------------------------


def row_sums(values: Tensor, rows: Tensor, count: int) -> Tensor:
    """Sum values (M,) over their rows, (count,); a row without entries has 0."""
    return values.new_zeros(count).index_add(0, rows, values)


def row_maxima(values: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return the largest value (M,) of each row, (count,); of a row without entries -inf."""
    lowest = values.new_full((count,), -torch.inf)
    return lowest.scatter_reduce(0, rows, values, "amax")


def log_softmax(logits: Tensor, offsets: Tensor) -> Tensor:
    """Return the logarithm of each legal move's probability, (M,), from logits (M,)."""
    rows, count = rows_of(offsets, len(logits)), len(offsets) - 1
    # The peak is only there against overflow; the result does not depend on it.
    shifted = logits - row_maxima(logits.detach(), rows, count)[rows]
    return shifted - row_sums(shifted.exp(), rows, count).log()[rows]


def softmax(logits: Tensor, offsets: Tensor) -> Tensor:
    """Return each legal move's probability, (M,), from logits (M,)."""
    return log_softmax(logits, offsets).exp()


def softened(targets: Tensor, offsets: Tensor, temperature: float) -> Tensor:
    """Return probabilities (M,) raised to 1 / temperature and made to sum to 1 again."""
    rows, count = rows_of(offsets, len(targets)), len(offsets) - 1
    raised = targets.pow(1 / temperature)
    sums = row_sums(raised, rows, count)
    return raised / torch.where(sums > 0, sums, 1)[rows]


def cross_entropy(logits: Tensor, targets: Tensor, offsets: Tensor) -> Tensor:
    """Return -sum of target * log softmax of each position, (B,), from logits, targets (M,)."""
    if logits.device.type == "cpu" and logits.dtype == torch.float32:
        _check(logits, targets, offsets)
        function: Any = _CrossEntropy
        loss: Tensor = function.apply(logits, targets.float(), offsets.long())
        return loss
    terms = targets * log_softmax(logits, offsets)
    return -row_sums(terms, rows_of(offsets, len(logits)), len(offsets) - 1)


def _check(logits: Tensor, targets: Tensor, offsets: Tensor) -> None:
    """Kernels do not check bounds, so nothing out of bounds may reach them."""
    ordered = bool((offsets[1:] >= offsets[:-1]).all()) and int(offsets[0]) == 0
    if not ordered or not int(offsets[-1]) == len(logits) == len(targets):
        sizes = f"{len(logits)} logits, {len(targets)} targets, offsets up to {int(offsets[-1])}"
        raise IndexError(f"logits and targets must match their offsets: {sizes}")


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, offsets: Tensor) -> Tensor:
        x, t, o = (tensor.detach().contiguous().numpy() for tensor in (logits, targets, offsets))
        losses = np.empty(len(offsets) - 1, np.float32)
        gradient = np.empty(len(logits), np.float32)
        cross_entropies(x, t, o, losses, gradient)
        ctx.save_for_backward(torch.from_numpy(gradient), offsets)
        return torch.from_numpy(losses)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        saved, offsets = (tensor.contiguous().numpy() for tensor in ctx.saved_tensors)
        factors = gradients[0].contiguous().numpy()
        out = np.empty(len(saved), np.float32)
        scale_rows(saved, offsets, factors, out)
        return torch.from_numpy(out), None, None


# Rows of the table of all pairs that exist at the same time: 64 MiB at 16 384 positions.
# --- all losses -----------------------------------------------------------------------------------


PAIR_ROWS = 1024
HUBER_PLIES = 10.0  # beyond that distance the loss grows in a straight line
PLIES_SCALE = 40.0

# The weight of positions in each loss; how many have one is what the loss is a mean over.
WEIGHTS = {
    "value": "value_weight",
    "policy": "policy_weight",
    "mcts_value": "search_weight",
    "soft_policy": "policy_weight",
    "moves_left": "plies_left_weight",
}


def losses(
    outputs: Outputs, batch: TensorBatch, heads: Heads, weights: LossWeights
) -> dict[str, Tensor]:
    """Return the loss of each head, unweighted scalars, and their weighted sum as "total"."""
    parts: dict[str, Tensor] = {}
    if heads.value != "none":
        parts["value"] = value_loss(outputs["value"].float(), batch, heads.value)
    if heads.policy:
        parts["policy"] = policy_loss(outputs["policy"], batch, batch.policy)
    if heads.mcts_value:
        output = outputs["mcts_value"].float()
        parts["mcts_value"] = squared_error(output, batch.search_value, batch.search_weight)
    if heads.soft_policy:
        targets = softened(batch.policy, batch.move_offsets, weights.soft_temperature)
        parts["soft_policy"] = policy_loss(outputs["soft_policy"], batch, targets)
    if heads.moves_left:
        parts["moves_left"] = moves_left_loss(outputs["moves_left"].float(), batch)
    return parts | {"total": weighted_sum(parts, weights)}


def counted(loss: str, batch: TensorBatch) -> Tensor:
    """Return over how many positions a loss is a mean, a scalar."""
    weight: Tensor = getattr(batch, WEIGHTS[loss])
    return weight.sum()


def weighted_sum(parts: dict[str, Tensor], weights: LossWeights) -> Tensor:
    """Return the sum of losses times the weights of their names, a scalar."""
    terms = [getattr(weights, name) * loss for name, loss in parts.items()]
    return torch.stack(terms).sum()


def mean(losses: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of losses (B,) with weights (B,); 0 when nothing has weight."""
    total = weight.sum()
    return (losses * weight).sum() / torch.where(total > 0, total, 1)


def zero_unweighted(targets: Tensor, weight: Tensor) -> Tensor:
    """Return targets (B,) or (B, 3) with 0 where the weight (B,) is 0: there they may be nan."""
    return torch.where((weight > 0).view(-1, *[1] * (targets.dim() - 1)), targets, 0)


def squared_error(values: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """Return the mean squared difference of values and targets, (B,) both."""
    return mean((values - zero_unweighted(targets, weight)) ** 2, weight)


def value_loss(output: Tensor, batch: TensorBatch, kind: str) -> Tensor:
    """Return the loss of a value head of kind tanh, wdl or rank."""
    weight = batch.value_weight
    if kind == "tanh":
        return squared_error(output, batch.value, weight)
    if kind == "rank":
        total, pairs = pairwise_ranking(output, zero_unweighted(batch.value, weight), weight)
        return total / pairs.clamp(min=1)
    terms = zero_unweighted(batch.wdl, weight) * functional.log_softmax(output, dim=1)
    return mean(-terms.sum(1), weight)


def values_of(output: Tensor, kind: str) -> tuple[Tensor, Tensor | None]:
    """Return a value head's output as values (B,) in [-1, 1] and, of kind wdl, shares (B, 3)."""
    output = output.float()
    if kind == "wdl":
        shares = output.softmax(1)
        return shares[:, 0] - shares[:, 2], shares
    return torch.tanh(output / 2) if kind == "rank" else output, None


def legal(logits: Tensor, batch: TensorBatch) -> Tensor:
    """Return the logits of the legal moves, (M,) float32; sparse networks give just these."""
    if logits.dim() > 1:
        logits = legal_logits(logits, batch.moves, batch.move_offsets)
    return logits.float()


def policy_loss(logits: Tensor, batch: TensorBatch, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits (M,) or (B, K) against probabilities (M,)."""
    entropies = cross_entropy(legal(logits, batch), targets, batch.move_offsets)
    return mean(entropies, batch.policy_weight)


def moves_left_loss(plies: Tensor, batch: TensorBatch) -> Tensor:
    """Return Huber's loss of the distance to the end, in units of 40 plies."""
    targets = zero_unweighted(batch.plies_left, batch.plies_left_weight)
    error = functional.huber_loss(plies, targets, reduction="none", delta=HUBER_PLIES)
    return mean(error / PLIES_SCALE, batch.plies_left_weight)


def pairwise_ranking(scores: Tensor, labels: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of Batch-First's loss over all pairs, and how many pairs there are.

    A pair of positions with different labels (B,) costs the sigmoid cross-entropy of the difference
    of their scores (B,) against whose label is larger, times both weights (B,).
    """
    function: Any = _PairwiseRanking
    total, pairs = function.apply(scores, labels, weight)
    return total, pairs


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


# --- with a teacher -------------------------------------------------------------------------------


class Taught(NamedTuple):
    """What a teacher's network says of a batch: B positions with M legal moves."""

    policy: Tensor | None  # (M,) float32 logits
    value: Tensor | None  # (B,) float32 in [-1, 1]
    wdl: Tensor | None  # (B, 3) float32, of a teacher with a draw head


def teacher_outputs(
    forward: Callable[[TensorBatch], Outputs],
    heads: Heads,
    batch: TensorBatch,
    student: TensorBatch,
) -> Taught:
    """Run the teacher, in evaluation mode, on its own batch of the rows of the student's batch.

    No gradient reaches the teacher. `forward` takes the teacher's batch.
    """
    if not torch.equal(batch.move_offsets, student.move_offsets):
        raise InputError("teacher and student were given different positions")
    with torch.no_grad():
        outputs = forward(batch)
        policy = legal(outputs["policy"], batch) if heads.policy else None
        if heads.value == "none":
            return Taught(policy, None, None)
        return Taught(policy, *values_of(outputs["value"], heads.value))


def distilled_losses(
    outputs: Outputs,
    batch: TensorBatch,
    taught: Taught,
    heads: Heads,
    weights: LossWeights,
    settings: DistillSettings,
) -> dict[str, Tensor]:
    """Return what `losses` returns, with the teacher's share in the policy's and value's loss."""
    targets, share = batch, settings.policy_share
    if settings.value_share:
        if taught.value is None:
            fix = "this teacher has no value"
            raise InputError("value_share", value=settings.value_share, fix=fix)
        targets = with_teachers_value(batch, taught.value, taught.wdl, settings.value_share)
    parts = losses(outputs, targets, heads, weights)
    if heads.policy and share:
        if taught.policy is None:
            raise InputError("policy_share", value=share, fix="this teacher has no policy")
        soft = policy_distillation(outputs["policy"], batch, taught.policy, settings.temperature)
        parts["policy"] = share * soft + (1 - share) * parts["policy"]
    del parts["total"]
    return parts | {"total": weighted_sum(parts, weights)}


def policy_distillation(
    logits: Tensor, batch: TensorBatch, teacher: Tensor, temperature: float
) -> Tensor:
    """Return T**2 * CE(softmax(teacher / T), softmax(student / T)), the mean over positions.

    The square keeps the gradient as large as it is without a temperature. Every position with a
    legal move counts, also where games give no policy.
    """
    offsets = batch.move_offsets
    targets = softmax(teacher / temperature, offsets)
    entropies = cross_entropy(legal(logits, batch) / temperature, targets, offsets)
    return temperature**2 * mean(entropies, (offsets[1:] > offsets[:-1]).float())


def with_teachers_value(
    batch: TensorBatch, value: Tensor, wdl: Tensor | None, share: float
) -> TensorBatch:
    """Mix the teacher's value (B,) into the targets; where there were none it is the target."""
    weight = batch.value_weight
    portion = torch.where(weight > 0, share, 1.0)
    own = zero_unweighted(batch.wdl, weight)
    wdl = _with_draws(value, own[:, 1]) if wdl is None else wdl
    return batch._replace(
        value=torch.lerp(zero_unweighted(batch.value, weight), value, portion),
        wdl=torch.lerp(own, wdl, portion[:, None]),
        value_weight=torch.ones_like(weight),
    )


def _with_draws(values: Tensor, draws: Tensor) -> Tensor:
    """Return win, draw, loss (B, 3) of values (B,), with these draws (B,) or what fits of them."""
    possible = torch.minimum(draws, 1 - values.abs())
    wins, losses = (1 - possible + values) / 2, (1 - possible - values) / 2
    return torch.stack([wins, possible, losses], dim=1)

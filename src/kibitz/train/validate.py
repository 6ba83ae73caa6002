"""Figures of a network on held-out games.

Values are for the side to move, in [-1, 1]. Rank correlations follow Batch-First's evaluation of
its networks; formulas are in docs/recipes.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kibitz.data.batches.loader import TensorBatch
from kibitz.nets.models.convolutional import rows_of
from kibitz.train.kernels import exchanges
from kibitz.train.loss import counted, legal, row_maxima, row_sums, values_of
from kibitz.train.step import Learner

Array = NDArray[Any]

ACCURACIES = {"top1": 1, "top3": 3}
DECIDED = 0.1
ROUNDING = 1e-12


def validate(learner: Learner, batches: Iterable[TensorBatch]) -> dict[str, float]:
    """Return means over all positions that have a target.

    Besides the losses: `value_error`, the mean distance from the target; `sign`, how often the
    better side is named where the target is beyond 0.1; `top1` and `top3`, how often the
    target's best move is among the first of the policy. Values are also correlated with their
    targets by rank: `spearman`, `kendall_b` ... over all positions, over the decided ones (targets
    of +-1, as mates have) as `spearman_mates`, and over the others.
    """
    sums: dict[str, float] = {}
    counts: dict[str, float] = {}
    ranked: list[tuple[Tensor, Tensor]] = []
    kind = learner.card.heads.value
    for batch in batches:
        outputs, losses = learner.evaluate(batch)
        figures = {
            name: (float(loss), float(counted(name, batch)))
            for name, loss in losses.items()
            if name != "total"
        }
        if "value" in outputs:
            (values, _), weight = values_of(outputs["value"], kind), batch.value_weight
            figures |= _value_figures(values, batch)
            ranked.append((values[weight > 0].cpu(), batch.value[weight > 0].cpu()))
        if "policy" in outputs:
            logits, weight = legal(outputs["policy"], batch), batch.policy_weight
            for name, first in ACCURACIES.items():
                share = policy_accuracy(logits, batch.policy, batch.move_offsets, weight, first)
                figures[name] = share, float(weight.sum())
        for name, (mean, count) in figures.items():
            if count:
                sums[name] = sums.get(name, 0.0) + mean * count
                counts[name] = counts.get(name, 0.0) + count
    return {name: sums[name] / counts[name] for name in sums} | _rank_figures(ranked)


def _rank_figures(ranked: list[tuple[Tensor, Tensor]]) -> dict[str, float]:
    """Return the rank correlations of all batches, without those that are not defined."""
    if not ranked:
        return {}
    scores, labels = (torch.cat(column).double().numpy() for column in zip(*ranked, strict=True))
    return {
        f"{name}_{group}" if group != "all" else name: value
        for group, correlations in rank_correlations(scores, labels, np.abs(labels) == 1).items()
        for name, value in correlations.items()
        if math.isfinite(value)
    }


def _value_figures(values: Tensor, batch: TensorBatch) -> dict[str, tuple[float, float]]:
    """Return the figures of values (B,) with the number of positions each is a mean over."""
    weight = batch.value_weight
    decided = (weight > 0) & (batch.value.abs() > DECIDED)
    return {
        "value_error": (value_error(values, batch.value, weight), float(weight.sum())),
        "sign": (sign_accuracy(values, batch.value, weight), float(decided.sum())),
    }


# --- figures --------------------------------------------------------------------------------------


def value_error(values: Tensor, targets: Tensor, weight: Tensor) -> float:
    """Return the mean distance of values from targets, (B,) each, where there is weight."""
    weighted = weight > 0
    return _mean((values - targets)[weighted].abs())


def sign_accuracy(values: Tensor, targets: Tensor, weight: Tensor) -> float:
    """Return how often the better side is named, where the target is beyond DECIDED."""
    counted = (weight > 0) & (targets.abs() > DECIDED)
    return _mean(((values > 0) == (targets > 0))[counted].float())


def _mean(numbers: Tensor) -> float:
    return float(numbers.mean()) if len(numbers) else math.nan


def target_ranks(logits: Tensor, targets: Tensor, offsets: Tensor) -> Tensor:
    """Return how many legal moves are preferred to the target's best one, (B,).

    logits and targets (M,), offsets (B + 1,). Of several best moves of the target the one counts
    that the logits like most; moves level with it are not preferred. A position without moves has
    0.
    """
    rows, count = rows_of(offsets, len(logits)), len(offsets) - 1
    best = targets == row_maxima(targets, rows, count)[rows]
    liked = row_maxima(torch.where(best, logits, -torch.inf), rows, count)
    return row_sums((logits > liked[rows]).float(), rows, count)


def policy_accuracy(
    logits: Tensor, targets: Tensor, offsets: Tensor, weight: Tensor, first: int = 1
) -> float:
    """Return how often the target's best move is among the `first` moves of the policy."""
    ranks = target_ranks(logits.detach(), targets, offsets)
    return _mean((ranks < first)[weight > 0].float())


def kendall_a(x: Array, y: Array) -> float:
    """Kendall's tau-a: pairs in the same order minus pairs in opposite order, of all pairs."""
    agreement, pairs, _, _ = _agreement(x, y)
    return agreement / pairs if pairs else math.nan


def kendall_b(x: Array, y: Array) -> float:
    """Kendall's tau-b: the same, of the pairs that are not tied in x or in y (geometric mean)."""
    return _of_untied(*_agreement(x, y))


def _of_untied(agreement: float, pairs: float, tied_x: float, tied_y: float) -> float:
    """Return the agreement as a share of the untied pairs, the geometric mean of both sides'."""
    untied_x, untied_y = pairs - tied_x, pairs - tied_y
    # Sums of weights are rounded, so what is tied throughout may differ from all pairs by a hair.
    if min(untied_x, untied_y) <= ROUNDING * pairs:
        return math.nan
    return agreement / math.sqrt(untied_x * untied_y)


def weighted_kendall(x: Array, y: Array) -> float:
    """Weighted tau (Vigna 2015): a pair counts 1 / (1 + rank) of each member, the best has rank 0.

    The mean of two: ranks by x, then y, and ranks by y, then x, both from the largest down.
    """
    return (_weighted_by_first(x, y) + _weighted_by_first(y, x)) / 2


def _weighted_by_first(x: Array, y: Array) -> float:
    upwards = np.lexsort((y, x))
    weights = np.empty(len(x))
    weights[upwards[::-1]] = 1 / (1 + np.arange(len(x)))
    return _of_untied(*_agreement(x, y, weights))


def _agreement(
    x: Array, y: Array, weights: Array | None = None
) -> tuple[float, float, float, float]:
    """Return agreeing minus opposite pairs, all pairs, pairs tied in x, pairs tied in y.

    Each pair is counted with the sum of its members' weights (n,); without weights once.
    """
    weights = np.full(len(x), 0.5) if weights is None else weights
    order = np.lexsort((y, x))
    values, ranks = np.unique(y[order], return_inverse=True)
    trees = np.zeros(len(values) + 1, np.int64), np.zeros(len(values) + 1)
    opposite = exchanges(ranks.astype(np.int64), weights[order], *trees)
    pairs = float(weights.sum()) * (len(x) - 1)
    tied_x, tied_y = _tied(x[:, None], weights), _tied(y[:, None], weights)
    tied_both = _tied(np.stack([x, y], axis=1), weights)
    agreement = pairs - tied_x - tied_y + tied_both - 2 * opposite
    return agreement, pairs, tied_x, tied_y


def _tied(keys: Array, weights: Array) -> float:
    """Return the weight of all pairs of equal rows of keys (n, k)."""
    _, group = np.unique(keys, axis=0, return_inverse=True)
    counts, sums = np.bincount(group), np.bincount(group, weights=weights)
    return float((sums * (counts - 1)).sum())


def spearman(x: Array, y: Array) -> float:
    """Spearman's rho: the linear correlation of ranks, equal numbers sharing their mean rank."""
    ranks = _mean_ranks(x), _mean_ranks(y)
    a, b = (rank - rank.mean() for rank in ranks)
    spread = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / spread if spread else math.nan


def _mean_ranks(x: Array) -> Array:
    _, group, counts = np.unique(x, return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    return (ends - (counts - 1) / 2)[group]


CORRELATIONS = {
    "kendall_a": kendall_a,
    "kendall_b": kendall_b,
    "weighted_kendall": weighted_kendall,
    "spearman": spearman,
}


def rank_correlations(scores: Array, labels: Array, mates: Array) -> dict[str, dict[str, float]]:
    """Return all correlations of scores and labels (n,): over all, the mates, and the others.

    mates (n,) bool says which labels are mates; they crowd at both ends, and telling them from the
    rest is easy. A group without two different labels has nan.
    """
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    groups = {"all": np.ones(len(labels), bool), "mates": mates, "others": ~mates}
    return {
        name: {
            word: correlation(scores[group], labels[group]) if group.sum() > 1 else math.nan
            for word, correlation in CORRELATIONS.items()
        }
        for name, group in groups.items()
    }

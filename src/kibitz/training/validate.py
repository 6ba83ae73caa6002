"""How good a network is on games it never saw; held-out rows -> **judgement** -> log, curves."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from kibitz.dataset.loader import TensorBatch
from kibitz.network.heads import Outputs
from kibitz.training.loss import legal
from kibitz.training.metrics import (
    DECIDED,
    policy_accuracy,
    rank_correlations,
    sign_accuracy,
    value_error,
)
from kibitz.training.parallel import counted
from kibitz.training.step import Learner

ACCURACIES = {"top1": 1, "top3": 3}


def validate(learner: Learner, batches: Iterable[TensorBatch]) -> dict[str, float]:
    """Return means over all positions that have a target.

    Besides the losses: `value_error`, the mean distance from the target; `sign`, how often the
    better side is told right where the target is beyond 0.1; `top1` and `top3`, how often the
    target's best move is among the first of the policy. Values are also correlated with their
    targets by rank: `spearman`, `kendall_b` ... over all positions, over the decided ones (targets
    of +-1, as mates have) as `spearman_mates`, and over the others.
    """
    sums: dict[str, float] = {}
    counts: dict[str, float] = {}
    ranked: list[tuple[Tensor, Tensor]] = []
    for batch in batches:
        outputs, losses = learner.judge(batch)
        found = {
            name: (float(loss), float(counted(name, batch)))
            for name, loss in losses.items()
            if name != "total"
        }
        found |= _value_figures(outputs, batch, learner.card.heads.value)
        if "value" in outputs:
            guess, known = expected(outputs["value"], learner.card.heads.value), batch.value_weight
            ranked.append((guess[known > 0].cpu(), batch.value[known > 0].cpu()))
        if "policy" in outputs:
            logits, known = legal(outputs["policy"], batch), batch.policy_weight
            for name, first in ACCURACIES.items():
                share = policy_accuracy(logits, batch.policy, batch.move_offsets, known, first)
                found[name] = share, float(known.sum())
        for name, (mean, count) in found.items():
            if count:
                sums[name] = sums.get(name, 0.0) + mean * count
                counts[name] = counts.get(name, 0.0) + count
    return {name: sums[name] / counts[name] for name in sums} | _rank_figures(ranked)


def _rank_figures(ranked: list[tuple[Tensor, Tensor]]) -> dict[str, float]:
    """Return the rank correlations of all batches, without those that are not defined."""
    if not ranked:
        return {}
    scores, labels = (torch.cat(column).double().numpy() for column in zip(*ranked, strict=True))
    found = rank_correlations(scores, labels, np.abs(labels) == 1)
    named = {
        name if group == "all" else f"{name}_{group}": value
        for group, correlations in found.items()
        for name, value in correlations.items()
    }
    return {name: value for name, value in named.items() if math.isfinite(value)}


def expected(output: Tensor, kind: str) -> Tensor:
    """Return the value head's judgement as values in [-1, 1], (B,)."""
    if kind == "wdl":
        shares = output.float().softmax(1)
        return shares[:, 0] - shares[:, 2]
    return torch.tanh(output.float() / 2) if kind == "rank" else output.float()


def _value_figures(
    outputs: Outputs, batch: TensorBatch, kind: str
) -> dict[str, tuple[float, float]]:
    if "value" not in outputs:
        return {}
    guess = expected(outputs["value"], kind)
    known = batch.value_weight
    decided = (known > 0) & (batch.value.abs() > DECIDED)
    return {
        "value_error": (value_error(guess, batch.value, known), float(known.sum())),
        "sign": (sign_accuracy(guess, batch.value, known), float(decided.sum())),
    }

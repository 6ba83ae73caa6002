"""How good a network is on games it never saw; held-out rows -> **judgement** -> log, curves."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from kibitz.dataset.loader import TensorBatch
from kibitz.network.heads import Outputs
from kibitz.training.loss import legal
from kibitz.training.ragged import row_maxima, rows_of
from kibitz.training.step import Learner

# What each loss is a mean over.
COUNTED = {"value": "value_weight", "mcts_value": "search_weight"}
DECIDED = 0.1  # a value beyond this has a sign worth guessing


def validate(learner: Learner, batches: Iterable[TensorBatch]) -> dict[str, float]:
    """Return means over all positions that have a target.

    Besides the losses: `value_error`, the mean distance from the target; `sign`, how often the
    better side is told right where the target is beyond 0.1; `top1`, how often the first move of
    the policy is the target's.
    """
    sums: dict[str, float] = {}
    counts: dict[str, float] = {}
    for batch in batches:
        outputs, losses = learner.judge(batch)
        found = {
            name: (float(loss), float(getattr(batch, COUNTED.get(name, "policy_weight")).sum()))
            for name, loss in losses.items()
            if name != "total"
        }
        found |= _value_figures(outputs, batch, learner.card.heads.value)
        if "policy" in outputs:
            found["top1"] = _top1(outputs["policy"], batch)
        for name, (mean, count) in found.items():
            sums[name] = sums.get(name, 0.0) + mean * count
            counts[name] = counts.get(name, 0.0) + count
    return {name: sums[name] / counts[name] for name in sums if counts[name]}


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
    known = batch.value_weight > 0
    guess, target = expected(outputs["value"], kind)[known], batch.value[known]
    decided = target.abs() > DECIDED
    right = (guess.sign() == target.sign())[decided]
    return {
        "value_error": (_mean((guess - target).abs()), len(target)),
        "sign": (_mean(right.float()), len(right)),
    }


def _top1(logits: Tensor, batch: TensorBatch) -> tuple[float, float]:
    rows, count = rows_of(batch.move_offsets, len(batch.moves)), len(batch.value)
    best = legal(logits, batch)
    best = best == row_maxima(best, rows, count)[rows]
    wanted = batch.policy == row_maxima(batch.policy, rows, count)[rows]
    right = torch.zeros(count, dtype=torch.bool, device=best.device)
    right[rows[best & wanted]] = True
    known = batch.policy_weight > 0
    return _mean(right[known].float()), float(known.sum())


def _mean(values: Tensor) -> float:
    return float(values.mean()) if len(values) else 0.0

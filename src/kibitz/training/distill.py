"""A teacher's judgement as a target: teacher, batch -> **told** -> the losses of a student.

Teacher and student may be of any two families. The teacher sees the same positions in its own
encoding: the same rows made into a second batch. Legal moves come in the same order in both, so the
teacher's logits lie beside the student's whatever their policy orders are.

ChessCoach distils the policy alone, with the student's share of 0.4 on the true targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kibitz.errors import InputError
from kibitz.network.card import Heads
from kibitz.network.heads import Outputs
from kibitz.training.config import DistillSettings, LossWeights
from kibitz.training.loss import Targets, known, legal, losses, mean, weighted_sum
from kibitz.training.ragged import cross_entropy, softmax


class Told(NamedTuple):
    """What a teacher says of a batch: B positions with M legal moves."""

    policy: Tensor | None  # (M,) float32 logits
    value: Tensor | None  # (B,) float32 in [-1, 1]
    wdl: Tensor | None  # (B, 3) float32, of a teacher that knows draws


def teacher_outputs(
    forward: Callable[[Any], Outputs], heads: Heads, batch: Targets, student: Targets
) -> Told:
    """Run the teacher, in evaluation mode, on its own batch of the rows of the student's batch.

    No gradient reaches the teacher. `forward` takes the teacher's batch.
    """
    if not torch.equal(batch.move_offsets, student.move_offsets):
        raise InputError("teacher and student were given different positions")
    with torch.no_grad():
        outputs = forward(batch)
        policy = legal(outputs["policy"], batch) if heads.policy else None
        if heads.value == "none":
            return Told(policy, None, None)
        value = outputs["value"].float()
        if heads.value == "wdl":
            wdl = value.softmax(1)
            return Told(policy, wdl[:, 0] - wdl[:, 2], wdl)
        return Told(policy, torch.tanh(value / 2) if heads.value == "rank" else value, None)


def distilled_losses(
    outputs: Outputs,
    batch: Targets,
    told: Told,
    card_heads: Heads,
    weights: LossWeights,
    settings: DistillSettings,
) -> dict[str, Tensor]:
    """Return what `losses` returns, the policy's and the value's loss being the student's."""
    if settings.value_share and told.value is None:
        raise InputError("value_share", value=settings.value_share, fix="this teacher has no value")
    taught = _Taught(batch, told, settings.value_share) if settings.value_share else batch
    found = losses(outputs, taught, card_heads, weights)
    if card_heads.policy and settings.policy_share:
        if told.policy is None:
            fix = "this teacher has no policy"
            raise InputError("policy_share", value=settings.policy_share, fix=fix)
        soft = policy_distillation(outputs["policy"], batch, told.policy, settings.temperature)
        share = settings.policy_share
        found["policy"] = share * soft + (1 - share) * found["policy"]
    del found["total"]
    found["total"] = weighted_sum(found, weights)
    return found


def policy_distillation(
    logits: Tensor, batch: Targets, teacher: Tensor, temperature: float
) -> Tensor:
    """Return T**2 * CE(softmax(teacher / T), softmax(student / T)), the mean over positions.

    The square keeps the gradient as large as it is without a temperature. Every position with a
    legal move counts: a teacher has an opinion where games have none.
    """
    offsets = batch.move_offsets
    targets = softmax(teacher / temperature, offsets)
    found = cross_entropy(legal(logits, batch) / temperature, targets, offsets)
    return temperature**2 * mean(found, (offsets[1:] > offsets[:-1]).float())


class _Taught:
    """A batch whose value targets are partly the teacher's; where there were none, wholly."""

    def __init__(self, batch: Targets, told: Told, share: float) -> None:
        self._batch = batch
        weight = batch.value_weight
        assert told.value is not None
        portion = torch.where(weight > 0, share, 1.0)
        self.value = torch.lerp(known(batch.value, weight), told.value, portion)
        own = known(batch.wdl, weight)
        wdl = _with_draws(told.value, own[:, 1]) if told.wdl is None else told.wdl
        self.wdl = torch.lerp(own, wdl, portion[:, None])
        self.value_weight = torch.ones_like(weight)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)


def _with_draws(values: Tensor, draws: Tensor) -> Tensor:
    """Return win, draw, loss (B, 3) of values (B,), with these draws (B,) or what fits of them."""
    possible = torch.minimum(draws, 1 - values.abs())
    wins, losses = (1 - possible + values) / 2, (1 - possible - values) / 2
    return torch.stack([wins, possible, losses], dim=1)

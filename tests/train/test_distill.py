"""Distillation against the formula written out move by move, and by teaching a student."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kibitz.core.errors import InputError
from kibitz.data.batches.batch import make, recipe
from kibitz.data.batches.loader import TensorBatch, rows_in_batches
from kibitz.data.batches.sample import replay
from kibitz.nets.card import Heads
from kibitz.nets.models.build import build, load_network, save_network
from kibitz.nets.models.convolutional import Outputs
from kibitz.nets.models.sizes import new_card
from kibitz.train import loss
from kibitz.train.config import DistillSettings, LossWeights, OptimiserSettings
from kibitz.train.loss import (
    Taught,
    distilled_losses,
    legal,
    losses,
    policy_distillation,
    teacher_outputs,
)
from kibitz.train.step import make_optimiser
from tests.data.batches.makers import STARTS, random_shard
from tests.train.running import (
    make_games,
    run,
    settings_of,
)
from tests.train.test_loss import planes, random_batch, rows

WDL, TANH = Heads(value="wdl"), Heads(value="tanh")


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def taught_at_random(seed: int, batch: TensorBatch) -> Taught:
    wdl = normal(seed, len(batch.value), 3).softmax(1)
    return Taught(2 * normal(seed, len(batch.moves)), wdl[:, 0] - wdl[:, 2], wdl)


def softmax_loop(logits: list[float], temperature: float) -> list[float]:
    raised = [math.exp(logit / temperature) for logit in logits]
    return [one / sum(raised) for one in raised]


def distillation_loop(
    student: Tensor, teacher: Tensor, batch: TensorBatch, temperature: float
) -> float:
    found = []
    for row in rows(batch):
        if row.stop > row.start:
            p = softmax_loop(teacher[row].tolist(), temperature)
            q = softmax_loop(student[row].tolist(), temperature)
            found.append(-sum(a * math.log(b) for a, b in zip(p, q, strict=True)))
    return temperature**2 * sum(found) / len(found)


@pytest.mark.parametrize("seed", range(3))
def test_chesscoachs_student_loss(seed: int) -> None:
    batch = random_batch(seed, 30)
    taught = taught_at_random(seed, batch)
    outputs = {"value": normal(seed, 30, 3), "policy": normal(seed + 50, len(batch.moves))}
    plain = losses(outputs, batch, WDL, LossWeights())
    found = distilled_losses(outputs, batch, taught, WDL, LossWeights(), DistillSettings())
    assert taught.policy is not None
    soft = distillation_loop(outputs["policy"], taught.policy, batch, 5.0)
    policy = 0.6 * soft + 0.4 * plain["policy"].item()
    assert found["policy"].item() == pytest.approx(policy, rel=1e-5)
    assert found["value"].item() == plain["value"].item()
    assert found["total"].item() == pytest.approx(policy + plain["value"].item(), rel=1e-5)


def test_the_square_keeps_gradients_large() -> None:
    batch = random_batch(4, 30)
    teacher, student = (0.1 * normal(seed, len(batch.moves)) for seed in (1, 2))
    sizes = []
    for temperature in (5.0, 50.0):
        logits = student.clone().requires_grad_()
        loss = policy_distillation(logits, batch, teacher, temperature)
        sizes.append(torch.autograd.grad(loss, logits)[0].norm().item())
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)


def test_a_student_that_says_the_same_pulls_nowhere() -> None:
    batch = random_batch(5, 30)
    logits = normal(5, len(batch.moves)).requires_grad_()
    loss = policy_distillation(logits, batch, logits.detach(), 5.0)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.abs().max() < 1e-6


def test_the_teachers_value_is_mixed_in_and_fills_gaps() -> None:
    batch = random_batch(6, 40)
    taught = taught_at_random(6, batch)
    assert taught.value is not None
    assert taught.wdl is not None
    settings = DistillSettings(policy_share=0, value_share=0.25)
    outputs = {"value": normal(7, 40, 3), "policy": normal(8, len(batch.moves))}
    found = distilled_losses(outputs, batch, taught, WDL, LossWeights(), settings)
    total = 0.0
    for b in range(40):
        own, theirs = batch.wdl[b].tolist(), taught.wdl[b].tolist()
        share = 0.25 if batch.value_weight[b] else 1.0
        own = own if batch.value_weight[b] else [0.0] * 3
        target = [share * t + (1 - share) * o for t, o in zip(theirs, own, strict=True)]
        q = softmax_loop(outputs["value"][b].tolist(), 1.0)
        total -= sum(t * math.log(p) for t, p in zip(target, q, strict=True))
    assert found["value"].item() == pytest.approx(total / 40, rel=1e-5)
    scalar = {"value": normal(9, 40).tanh(), "policy": outputs["policy"]}
    found = distilled_losses(scalar, batch, taught, TANH, LossWeights(), settings)
    portion = torch.where(batch.value_weight > 0, 0.25, 1.0)
    own_value = torch.where(batch.value_weight > 0, batch.value, 0.0)
    target_value = portion * taught.value + (1 - portion) * own_value
    expected = ((scalar["value"] - target_value) ** 2).mean().item()
    assert found["value"].item() == pytest.approx(expected, rel=1e-5)


def test_a_teacher_without_draws_leaves_those_of_the_target() -> None:
    batch = random_batch(10, 40)._replace(value_weight=torch.ones(40))
    batch = batch._replace(wdl=normal(10, 40, 3).softmax(1))
    values = normal(11, 40).tanh()
    settings = DistillSettings(policy_share=0, value_share=1)
    best: Any = None

    def loss(logits: Tensor) -> float:
        outputs = {"value": logits, "policy": torch.zeros(len(batch.moves))}
        taught = Taught(None, values, None)
        return distilled_losses(outputs, batch, taught, WDL, LossWeights(), settings)[
            "value"
        ].item()

    draws = torch.minimum(batch.wdl[:, 1], 1 - values.abs())
    best = torch.stack([(1 - draws + values) / 2, draws, (1 - draws - values) / 2], 1)
    assert torch.allclose(best.sum(1), torch.ones(40))
    assert best.min() >= -1e-6
    # The cross-entropy is least at its own target.
    least = loss(best.clamp(min=1e-9).log())
    assert all(
        loss(best.clamp(min=1e-9).log() + 0.1 * normal(seed, 40, 3)) > least for seed in range(9)
    )


def test_what_a_teacher_lacks_cannot_be_taught() -> None:
    batch = random_batch(12, 10)
    outputs = {"value": normal(1, 10, 3), "policy": normal(2, len(batch.moves))}
    for taught, settings in (
        (Taught(None, torch.zeros(10), None), DistillSettings()),
        (Taught(outputs["policy"], None, None), DistillSettings(value_share=0.5)),
    ):
        with pytest.raises(InputError, match="_share: 0"):
            distilled_losses(outputs, batch, taught, WDL, LossWeights(), settings)


def test_teachers_of_every_kind_speak_about_the_same_moves() -> None:
    student = random_batch(13, 12)
    mirror = student._replace(moves=torch.flip(student.moves, [0]))  # another policy order
    seen: list[Any] = []

    def forward(batch: TensorBatch) -> Outputs:
        seen.append(batch)
        weight = torch.ones(1, requires_grad=True)
        return {"value": weight * normal(13, 12, 3), "policy": weight * normal(14, 12, 1858)}

    taught = teacher_outputs(forward, WDL, mirror, student)
    assert seen == [mirror]
    assert taught.policy is not None
    assert taught.value is not None
    assert not taught.policy.requires_grad
    logits = normal(14, 12, 1858)
    for b, row in enumerate(rows(mirror)):
        assert torch.equal(taught.policy[row], logits[b, mirror.moves[row].long()])
    shares = normal(13, 12, 3).softmax(1)
    assert torch.allclose(taught.value, shares[:, 0] - shares[:, 2])
    rank = teacher_outputs(
        lambda _: {"value": normal(15, 12)}, Heads(value="rank", policy=False), mirror, student
    )
    assert rank.policy is None
    assert rank.value is not None
    assert torch.allclose(rank.value, 2 * torch.sigmoid(normal(15, 12)) - 1, atol=1e-6)
    with pytest.raises(InputError, match="different positions"):
        teacher_outputs(forward, WDL, random_batch(14, 12), student)


def test_a_tower_teaches_a_sparse_student() -> None:
    torch.manual_seed(16)
    teacher, heads = build("residual-1x8").eval(), new_card("residual-1x8").heads
    student = build("sparse-64-direct")
    batch, features = random_batch(16, 12), torch.randint(768, (1, 12 * 20)).int()
    own = batch._replace(moves=batch.moves % 4672)
    inputs = planes(16, 12)
    taught = teacher_outputs(lambda _: teacher(20 * inputs), heads, own, batch)
    settings = DistillSettings(policy_share=1, value_share=1)
    optimiser = make_optimiser(student, OptimiserSettings(kind="adamw"), rate=1e-2)
    starts = torch.arange(0, 12 * 20 + 1, 20)
    for _ in range(60):
        outputs = student(features, starts, batch.moves, batch.move_offsets)
        found = distilled_losses(outputs, batch, taught, WDL, LossWeights(), settings)
        optimiser.zero_grad()
        torch.autograd.backward(found["total"])
        optimiser.step()
    shares = outputs["value"].detach().softmax(1)
    assert taught.value is not None
    assert (shares[:, 0] - shares[:, 2] - taught.value).abs().mean() < 0.1


def test_two_encodings_of_the_same_rows_have_their_moves_in_one_order() -> None:
    samples = replay(random_shard(6, 30, seed=5, starts=STARTS))
    rows_ = np.arange(len(samples.values))
    cards = [new_card(size) for size in ("sparse-16-threats", "tower-1x8", "residual-1x8")]
    made = [make(samples, rows_, recipe(card, 0.0)) for card in cards]
    for other in made[1:]:
        assert np.array_equal(made[0].move_offsets, other.move_offsets)
        assert np.array_equal(made[0].policy, other.policy)
        assert np.array_equal(made[0].wdl, other.wdl)
        assert not np.array_equal(made[0].moves, other.moves)


def disagreement(student: Path, teacher: Path) -> float:
    """How far the student's policy is from the teacher's, in nats."""
    samples = replay(random_shard(8, 30, seed=9))
    judged = []
    for path in (student, teacher):
        network, card = load_network(path)
        (batch,) = rows_in_batches(
            samples, np.arange(len(samples.values)), recipe(card, 0.0), len(samples.values)
        )
        inputs = [*batch.inputs]
        if card.family == "sparse":
            inputs += [batch.moves, batch.move_offsets]
        with torch.no_grad():
            judged.append(legal(network(*inputs)["policy"], batch))
    targets = loss.softmax(judged[1], batch.move_offsets)
    offsets = batch.move_offsets
    own = loss.cross_entropy(judged[1], targets, offsets)
    return float((loss.cross_entropy(judged[0], targets, offsets) - own).mean())


def test_a_training_with_a_teacher_comes_closer_to_it(tmp_path: Path) -> None:
    games = make_games(tmp_path / "games")
    teacher = tmp_path / "teacher.safetensors"
    torch.manual_seed(17)
    card = new_card("residual-1x8")
    network = build(card)
    with torch.no_grad():  # an outspoken one
        for name, tensor in network.named_parameters():
            if "out" in name:
                tensor.mul_(8)
    save_network(teacher, network, card)
    found = []
    for number, more in enumerate(([], [f"distill.teacher={teacher}", "distill.temperature=1"])):
        output = tmp_path / f"student{number}"
        overrides = ("run.steps=30", "schedule.rate=0.03", "run.network=sparse-32", *more)
        outcome = run(settings_of(games, output, *overrides))
        found.append(disagreement(outcome.files[0], teacher))
    assert found[1] < 0.7 * found[0]

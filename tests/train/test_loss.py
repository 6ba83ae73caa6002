"""Losses against loops over positions, moves and pairs; gradients against autograd and steps."""

from __future__ import annotations

import math
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kibitz.core.errors import ConfigError
from kibitz.core.settings import dump, load
from kibitz.data.batches.loader import TensorBatch
from kibitz.nets.card import Heads
from kibitz.nets.models.build import build
from kibitz.nets.models.convolutional import Outputs
from kibitz.nets.models.sizes import new_card
from kibitz.train import loss
from kibitz.train.config import LossWeights, OptimiserSettings
from kibitz.train.loss import PAIR_ROWS, losses, pairwise_ranking, weighted_sum
from kibitz.train.step import make_optimiser

MOVES = 1858
EVERYTHING = Heads(value="tanh", mcts_value=True, soft_policy=True, moves_left=True)


def random_batch(seed: int, positions: int, table: int = MOVES) -> TensorBatch:
    """Rows of 0 to 40 moves; some positions without policy, value or searched value (nan)."""
    random = np.random.default_rng(seed)
    counts = random.integers(0, 41, positions)
    counts[0] = 0
    moves = [random.choice(table, count, replace=False) for count in counts]
    visits = [random.integers(0, 9, count) ** 3 + 1e-3 for count in counts]
    weights = [torch.tensor(random.random(positions) < 0.8).float() for _ in range(4)]
    weights[0][0] = 0
    wdl = torch.tensor(random.dirichlet([1, 1, 1], positions)).float()
    value = wdl[:, 0] - wdl[:, 2]
    search = torch.tensor(random.uniform(-1, 1, positions)).float()
    return TensorBatch(
        inputs=(),
        moves=torch.tensor(np.concatenate(moves)).int(),
        move_offsets=torch.tensor(np.concatenate([[0], counts.cumsum()])),
        policy=torch.tensor(np.concatenate([row / row.sum() for row in visits])).float(),
        policy_weight=weights[0],
        wdl=torch.where(weights[1][:, None] > 0, wdl, math.nan),
        value=torch.where(weights[1] > 0, value, math.nan),
        value_weight=weights[1],
        search_value=torch.where(weights[2] > 0, search, math.nan),
        search_weight=weights[2],
        plies_left=torch.tensor(random.integers(0, 150, positions)).float(),
        plies_left_weight=weights[3],
    )


def rows(batch: TensorBatch) -> list[slice]:
    ends = batch.move_offsets.tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def mean(terms: list[float], weights: Tensor) -> float:
    """Of the terms with weight 1."""
    kept = [term for term, weight in zip(terms, weights.tolist(), strict=True) if weight]
    return sum(kept) / len(kept) if kept else 0.0


def entropy_loop(logits: list[float], targets: list[float]) -> float:
    total = sum(math.exp(logit) for logit in logits)
    pairs = zip(logits, targets, strict=True)
    return -sum(target * math.log(math.exp(logit) / total) for logit, target in pairs)


def soft_loop(targets: list[float], temperature: float) -> list[float]:
    raised = [target ** (1 / temperature) for target in targets]
    return [one / sum(raised) for one in raised]


def policy_loop(logits: Tensor, batch: TensorBatch, temperature: float = 1.0) -> float:
    found = []
    for row in rows(batch):
        targets = soft_loop(batch.policy[row].tolist(), temperature)
        found.append(entropy_loop(logits[row].tolist(), targets))
    return mean(found, batch.policy_weight)


def squares_loop(values: Tensor, targets: Tensor, weights: Tensor) -> float:
    pairs = zip(values.tolist(), targets.tolist(), strict=True)
    return mean([(value - target) ** 2 for value, target in pairs], weights)


def pairs_loop(scores: list[float], labels: list[float], weights: list[float]) -> tuple[float, int]:
    """Batch-First's definition: i < j, sigmoid cross-entropy of c_i - c_j against d_i > d_j."""
    total, count = 0.0, 0
    for j in range(len(scores)):
        for i in range(j):
            if labels[i] != labels[j] and weights[i] and weights[j]:
                first = 1 / (1 + math.exp(-(scores[i] - scores[j])))
                total -= math.log(first if labels[i] > labels[j] else 1 - first)
                count += 1
    return total, count


def tower_outputs(seed: int, positions: int, table: int = MOVES) -> Outputs:
    generator = torch.Generator().manual_seed(seed)
    scalars = torch.randn(3, positions, generator=generator)
    return {
        "value": scalars[0].tanh(),
        "policy": 2 * torch.randn(positions, table, generator=generator),
        "soft_policy": torch.randn(positions, table, generator=generator),
        "mcts_value": scalars[1].tanh(),
        "moves_left": 40 * scalars[2].exp(),
    }


def huber_loop(plies: Tensor, batch: TensorBatch) -> float:
    errors = (plies - batch.plies_left).abs().tolist()
    terms = [error**2 / 2 if error < 10 else 10 * (error - 5) for error in errors]
    return mean([term / 40 for term in terms], batch.plies_left_weight)


@pytest.mark.parametrize("seed", range(5))
def test_every_head_equals_its_loop(seed: int) -> None:
    batch, outputs = random_batch(seed, 50), tower_outputs(seed, 50)
    weights = LossWeights(moves_left=0.5)
    found = losses(outputs, batch, EVERYTHING, weights)
    owner = np.repeat(np.arange(50), np.diff(batch.move_offsets.numpy()))
    policy, soft = (outputs[name][owner, batch.moves.long()] for name in ("policy", "soft_policy"))
    expected = {
        "value": squares_loop(outputs["value"], batch.value, batch.value_weight),
        "policy": policy_loop(policy, batch),
        "mcts_value": squares_loop(outputs["mcts_value"], batch.search_value, batch.search_weight),
        "soft_policy": policy_loop(soft, batch, temperature=4.0),
        "moves_left": huber_loop(outputs["moves_left"], batch),
    }
    assert found.keys() == {*expected, "total"}
    for name, number in expected.items():
        assert found[name].item() == pytest.approx(number, rel=1e-5), name
    e = expected
    total = e["value"] + e["policy"] + 0.15 * e["mcts_value"] + 8 * e["soft_policy"]
    assert found["total"].item() == pytest.approx(total + 0.5 * e["moves_left"], rel=1e-5)


def test_win_draw_loss_equals_its_loop_and_takes_logits_of_legal_moves() -> None:
    batch = random_batch(7, 40)
    generator = torch.Generator().manual_seed(7)
    value = 3 * torch.randn(40, 3, generator=generator)
    policy = torch.randn(len(batch.moves), generator=generator)
    found = losses({"value": value, "policy": policy}, batch, Heads(value="wdl"), LossWeights())
    terms = [
        entropy_loop(output, target)
        for output, target in zip(value.tolist(), batch.wdl.tolist(), strict=True)
    ]
    assert found["value"].item() == pytest.approx(mean(terms, batch.value_weight), rel=1e-5)
    assert found["policy"].item() == pytest.approx(policy_loop(policy, batch), rel=1e-5)


def test_the_ranking_loss_is_the_sum_over_all_pairs() -> None:
    random = np.random.default_rng(8)
    scores = torch.tensor(random.normal(size=60), requires_grad=True)
    labels = torch.tensor(random.permutation(60)).double()
    total, pairs = pairwise_ranking(scores, labels, torch.ones(60).double())
    expected, count = pairs_loop(scores.tolist(), labels.tolist(), [1] * 60)
    assert count == 60 * 59 // 2 == int(pairs)
    assert total.item() == pytest.approx(expected, rel=1e-12)
    assert torch.autograd.gradcheck(
        lambda x: pairwise_ranking(x, labels, torch.ones(60).double())[0], scores
    )


def test_ties_and_unknown_labels_make_no_pairs() -> None:
    batch = random_batch(9, 60)
    coarse = batch._replace(value=(batch.value * 3).round())
    scores = torch.randn(60, generator=torch.Generator().manual_seed(9))
    total, pairs = pairs_loop(scores.tolist(), coarse.value.tolist(), coarse.value_weight.tolist())
    assert 0 < pairs < 59 * 30
    found = losses({"value": scores}, coarse, Heads(value="rank", policy=False), LossWeights())
    assert found["value"].item() == pytest.approx(total / pairs, rel=1e-5)


def test_many_pairs_are_taken_in_blocks() -> None:
    count = PAIR_ROWS + 100
    generator = torch.Generator().manual_seed(10)
    scores = torch.randn(count, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 50, (count,), generator=generator)
    total, pairs = pairwise_ranking(scores, labels, torch.ones(count).double())
    (gradient,) = torch.autograd.grad(total, scores)
    first, second = torch.triu_indices(count, count, offset=1)
    unequal = labels[first] != labels[second]
    first, second = first[unequal], second[unequal]
    plain = nn.functional.binary_cross_entropy_with_logits(
        scores[first] - scores[second], (labels[first] > labels[second]).double(), reduction="sum"
    )
    assert int(pairs) == len(first)
    assert total.item() == pytest.approx(plain.item(), rel=1e-10)
    assert torch.allclose(gradient, torch.autograd.grad(plain, scores)[0])


@pytest.mark.parametrize("seed", range(3))
def test_compiled_gradients_equal_those_of_plain_torch(seed: int) -> None:
    batch = random_batch(seed, 30)
    start = 4 * torch.randn(len(batch.moves), generator=torch.Generator().manual_seed(seed))
    factors = torch.randn(30, generator=torch.Generator().manual_seed(seed))
    found = []
    for precision in (torch.float32, torch.float64):  # float64 takes the plain path
        logits = start.to(precision).requires_grad_()
        per_row = loss.cross_entropy(logits, batch.policy.to(precision), batch.move_offsets)
        (gradient,) = torch.autograd.grad((per_row * factors.to(precision)).sum(), logits)
        found.append((per_row.detach().double(), gradient.double()))
    assert torch.allclose(found[0][0], found[1][0], rtol=1e-5, atol=1e-6)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-6)
    for b, row in enumerate(rows(batch)):
        slow = entropy_loop(start[row].tolist(), batch.policy[row].tolist()) if b else 0.0
        assert found[1][0][b].item() == pytest.approx(slow, rel=1e-5)


def test_huge_logits_do_not_overflow_and_nan_is_not_hidden() -> None:
    offsets, targets = torch.tensor([0, 2, 4]), torch.tensor([1.0, 0, 0, 1])
    huge = torch.tensor([1e4, -1e4, 3e4, 3e4])
    for logits in (huge, huge.double()):
        found = loss.cross_entropy(logits, targets.to(logits.dtype), offsets)
        assert found.tolist() == pytest.approx([0, math.log(2)])
    huge[0] = math.nan
    assert torch.isnan(loss.cross_entropy(huge, targets, offsets)[0])
    assert torch.isnan(loss.cross_entropy(huge.double(), targets.double(), offsets)[0])


@pytest.mark.parametrize("offsets", [[0, 2, 5], [1, 2, 4], [0, 3, 2, 4], [0, 2, 3]])
def test_offsets_that_do_not_fit_never_reach_the_kernels(offsets: list[int]) -> None:
    with pytest.raises(IndexError, match="4 logits"):
        loss.cross_entropy(torch.zeros(4), torch.zeros(4), torch.tensor(offsets))


def test_probabilities_of_legal_moves_sum_to_one() -> None:
    batch = random_batch(11, 30)
    logits = torch.randn(len(batch.moves), generator=torch.Generator().manual_seed(11))
    found = loss.softmax(logits, batch.move_offsets)
    for row in rows(batch)[1:]:
        assert torch.allclose(found[row], logits[row].softmax(0))


def test_a_batch_without_targets_costs_nothing_and_pulls_nowhere() -> None:
    batch = random_batch(12, 20)
    none = torch.zeros(20)
    empty = batch._replace(
        policy_weight=none, value_weight=none, search_weight=none, plies_left_weight=none
    )
    outputs = {name: one.requires_grad_() for name, one in tower_outputs(12, 20).items()}
    total = losses(outputs, empty, EVERYTHING, LossWeights())["total"]
    gradients = torch.autograd.grad(total, list(outputs.values()))
    assert total.item() == 0
    assert all(not gradient.any() for gradient in gradients)


def test_weights_are_settings() -> None:
    weights = LossWeights(mcts_value=0.0, soft_temperature=2.0)
    assert load(LossWeights, overrides=["mcts_value=0", "soft_temperature=2"]) == weights
    names = [field.name for field in fields(LossWeights)]
    assert [line.split()[0] for line in dump(weights).splitlines() if "=" in line[:20]] == names
    with pytest.raises(ConfigError):
        load(LossWeights, overrides=["policy=-1"])
    parts = {"value": torch.tensor(2.0), "mcts_value": torch.tensor(5.0)}
    assert weighted_sum(parts, weights).item() == 2


def test_l2_is_weight_decay_of_twice_its_factor() -> None:
    torch.manual_seed(14)
    network = build("tower-1x8")
    before = {name: tensor.detach().clone() for name, tensor in network.named_parameters()}
    kernels = [one for one in network.parameters() if one.dim() > 1]
    penalty = 1e-2 * torch.stack([(one**2).sum() for one in kernels]).sum()
    optimiser = make_optimiser(network, OptimiserSettings(kind="sgd", weight_decay=2e-2), rate=0.1)
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    torch.autograd.backward(penalty)  # what the loss would add, were it in the loss
    by_loss = {name: tensor.grad for name, tensor in network.named_parameters()}
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    for name, tensor in network.named_parameters():
        gradient = by_loss[name]
        assert gradient is not None
        assert torch.allclose(tensor, before[name] - 0.1 * gradient, atol=1e-7), name


def planes(seed: int, positions: int) -> Tensor:
    return (
        torch.rand(positions, 22, 8, 8, generator=torch.Generator().manual_seed(seed)) < 0.2
    ) * 1.0


def test_bfloat16_autocast_is_close_to_float32() -> None:
    torch.manual_seed(15)
    network, heads = build("residual-2x32"), new_card("residual-2x32").heads
    batch, inputs = random_batch(15, 64, table=4672), planes(15, 64)
    found = []
    for automatic in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=automatic):
            outputs = network(inputs)
        assert (outputs["policy"].dtype == torch.bfloat16) == automatic
        found.append(losses(outputs, batch, heads, LossWeights()))
    for name, exact in found[0].items():
        assert found[1][name].dtype == torch.float32
        assert found[1][name].item() == pytest.approx(exact.item(), rel=0.01), name


def test_a_small_batch_is_learned_by_heart() -> None:
    torch.manual_seed(16)
    network, heads = build("sparse-64"), new_card("sparse-64").heads
    batch, features = random_batch(16, 16), torch.randint(768, (2, 16 * 20)).int()
    entropy = policy_loop(batch.policy.log(), batch)
    uncertain = [-sum(p * math.log(p) for p in row) for row in batch.wdl.tolist()]
    optimiser = make_optimiser(network, OptimiserSettings(kind="adamw"), rate=1e-2)
    for _ in range(100):
        inputs = (features, torch.arange(0, 16 * 20 + 1, 20), batch.moves, batch.move_offsets)
        found = losses(network(*inputs), batch, heads, LossWeights())
        optimiser.zero_grad()
        torch.autograd.backward(found["total"])
        optimiser.step()
    assert found["value"].item() < mean(uncertain, batch.value_weight) + 0.05
    assert found["policy"].item() < entropy + 0.05

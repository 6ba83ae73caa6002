"""Averages of weights against loops over everything ever seen; norms against plain statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kibitz.core.errors import InputError
from kibitz.nets.models.build import build
from kibitz.train.checkpoint import (
    Average,
    Kind,
    average_of,
    checkpoints_that_matter,
    estimate_norms,
    has_norms,
)

State = dict[str, Tensor]


def states(seed: int, count: int) -> list[State]:
    generator = torch.Generator().manual_seed(seed)
    return [
        {
            "weight": torch.randn(3, 4, generator=generator),
            "norm.running_var": torch.rand(5, generator=generator),
            "norm.num_batches_tracked": torch.tensor(10 * number),
        }
        for number in range(count)
    ]


def weighted(seen: list[State], parts: list[float], name: str) -> Tensor:
    return sum(
        (part * one[name].double() for part, one in zip(parts, seen, strict=True)), torch.zeros(())
    )


def parts_of(kind: str, decay: float, count: int) -> list[float]:
    """What each of `count` updates has in the average, the newest last."""
    parts = [(1 - decay) * decay ** (count - 1 - number) for number in range(count)]
    if kind == "swa":
        parts[0] = decay ** (count - 1)
    return [part / sum(parts) for part in parts]


@pytest.mark.parametrize("kind", ["swa", "ema"])
@pytest.mark.parametrize("decay", [0.0, 0.5, 0.99])
def test_every_network_has_its_part(kind: Kind, decay: float) -> None:
    seen, average = states(1, 8), Average(kind, decay)
    for count, state in enumerate(seen, start=1):
        average.update(state)
        found = average.weights()
        parts = parts_of(kind, decay, count)
        for name in ("weight", "norm.running_var"):
            expected = weighted(seen[:count], parts, name)
            assert torch.allclose(found[name].double(), expected, atol=1e-6), (count, name)
        assert int(found["norm.num_batches_tracked"]) == 10 * (count - 1)


def test_bias_correction_makes_a_constant_itself_from_the_start() -> None:
    average = Average("ema", 0.9999)
    for _ in range(3):
        average.update({"weight": torch.full((2,), 7.0)})
        assert average.weights()["weight"].tolist() == pytest.approx([7, 7], rel=1e-5)


@pytest.mark.parametrize("kind", ["swa", "ema"])
def test_a_restored_average_goes_on_exactly(kind: Kind) -> None:
    seen = states(2, 9)
    whole, first, second = (Average(kind, 0.7) for _ in range(3))
    for number, state in enumerate(seen):
        whole.update(state)
        if number < 4:
            first.update(state)
        if number == 4:
            second.restore(first.state())
            first.update({name: 0 * tensor for name, tensor in state.items()})  # it is a copy
        if number >= 4:
            second.update(state)
    assert second.updates == 9
    for name, tensor in whole.weights().items():
        assert torch.equal(second.weights()[name], tensor)


def test_an_average_keeps_copies() -> None:
    weight = torch.ones(2)
    average = Average("swa", 0.5)
    average.update({"weight": weight})
    weight.add_(5)
    average.weights()["weight"].add_(3)
    assert average.weights()["weight"].tolist() == [1, 1]


def test_half_precision_is_averaged_in_single() -> None:
    average = Average("ema", 0.999)
    for _ in range(200):
        average.update({"weight": torch.tensor([1.0078125]).bfloat16()})
    assert average.weights()["weight"].item() == pytest.approx(1.0078125, rel=1e-4)


def test_six_checkpoints_matter_to_chesscoach() -> None:
    assert checkpoints_that_matter(0.5) == 6 == math.floor(math.log(0.01) / math.log(0.5))
    assert checkpoints_that_matter(0.9) == 43
    assert checkpoints_that_matter(0.001) == 1
    parts = parts_of("swa", 0.5, 8)
    found = average_of(states(3, 8), 0.5)["weight"].double()
    assert torch.allclose(found, weighted(states(3, 8), parts, "weight"), atol=1e-6)


@pytest.mark.parametrize("decay", [-0.1, 1.0, 1.5, math.nan])
def test_a_decay_that_averages_nothing_is_refused(decay: float) -> None:
    with pytest.raises(InputError, match="decay"):
        Average("ema", decay)
    with pytest.raises(InputError):
        checkpoints_that_matter(decay)


def test_an_average_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="nothing"):
        Average("swa", 0.5).weights()
    with pytest.raises(InputError, match="did you mean 'ema'"):
        Average("emma", 0.5)  # type: ignore[arg-type]


def planes(seed: int, positions: int) -> Tensor:
    random = np.random.default_rng(seed).random((positions, 22, 8, 8))
    return torch.tensor(random < 0.2).float()


def test_norms_become_means_over_batches() -> None:
    norm = nn.BatchNorm2d(22)
    network = nn.Sequential(nn.Identity(), norm, nn.Dropout(0.5)).eval()
    batches = [planes(seed, 16) for seed in range(5)]
    assert estimate_norms(network, batches, network) == 5
    everything = torch.cat(batches)
    assert torch.allclose(norm.running_mean, everything.mean((0, 2, 3)), atol=1e-6)  # type: ignore[arg-type]
    spread = torch.stack([batch.var((0, 2, 3)) for batch in batches]).mean(0)
    assert torch.allclose(norm.running_var, spread, atol=1e-6)  # type: ignore[arg-type]
    assert norm.momentum == 0.1
    assert not norm.training
    assert torch.equal(norm.weight, torch.ones(22))


@pytest.mark.parametrize("size", ["tower-1x8", "dilated-eval", "residual-1x8"])
def test_statistics_of_averaged_weights_fit_again(size: str) -> None:
    torch.manual_seed(4)
    network = build(size)
    inputs = next(network.parameters()).shape[1]
    batches = [torch.rand(8, inputs, 8, 8) for _ in range(4)]
    estimate_norms(network, batches, network)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with torch.no_grad():
        for tensor in network.parameters():
            if tensor.dim() == 4:
                tensor.mul_(3)  # as if averaged into something else
    network.train()
    assert estimate_norms(network, batches, network) == 4
    assert all(module.training for module in network.modules())
    changed = {
        name
        for name, tensor in network.state_dict().items()
        if not torch.equal(tensor, before[name])
    }
    assert any("running_mean" in name for name in changed)
    assert not any(name.endswith("bias") for name in changed)
    assert has_norms(network)


def test_without_norms_or_batches_nothing_happens() -> None:
    sparse = build("sparse-16")
    assert not has_norms(sparse)
    assert estimate_norms(sparse, iter(()), sparse) == 0
    norm = nn.BatchNorm1d(3)
    norm(torch.randn(5, 3))
    before = norm.running_mean.clone()  # type: ignore[union-attr]
    assert estimate_norms(norm, iter(()), norm) == 0
    assert torch.equal(norm.running_mean, before)  # type: ignore[arg-type]


def test_a_failure_leaves_the_network_in_its_mode() -> None:
    norm = nn.BatchNorm1d(3).train()

    def fail(_: Tensor) -> None:
        raise RuntimeError("no more batches")

    with pytest.raises(RuntimeError):
        estimate_norms(norm, [torch.zeros(2, 3)], fail)
    assert norm.training
    assert norm.momentum == 0.1

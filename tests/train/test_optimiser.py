"""Learning rates against published values and formulas; optimisers against their equations."""

from __future__ import annotations

import copy
import itertools
import math

import pytest
import torch
from torch import nn

from kibitz.core.errors import ConfigError
from kibitz.core.settings import dump, load
from kibitz.nets.models.build import build
from kibitz.train.config import OptimiserSettings, Schedule
from kibitz.train.step import make_optimiser, parameter_groups, rate_at, set_rate

# 5.6 million steps of 512 positions.
CHESSCOACH = Schedule(
    shape="steps",
    boundaries=(0, 800_000, 2_400_000, 4_000_000),
    rates=(2e-2, 2.5e-3, 2.5e-4, 2.5e-5),
    warmup=8000,
)
CHESSCOACH_COMMENTARY = Schedule(shape="cyclic", rate=1e-3, lowest=1e-5, period=20_000)


def test_chesscoach_drops_at_its_boundaries_after_a_warm_up() -> None:
    rates = {
        0: 0.0,
        80: 2e-4,
        4000: 1e-2,
        7999: 2e-2 * 7999 / 8000,
        8000: 2e-2,
        799_999: 2e-2,
        800_000: 2.5e-3,
        2_399_999: 2.5e-3,
        2_400_000: 2.5e-4,
        4_000_000: 2.5e-5,
        5_600_000: 2.5e-5,
    }
    assert {step: rate_at(CHESSCOACH, step) for step in rates} == pytest.approx(rates)


def test_on_eight_devices_rates_grow_and_boundaries_shrink() -> None:
    for step in (0, 400, 8000, 799_992, 800_000, 2_400_000, 4_800_000):
        assert rate_at(CHESSCOACH, step // 8, devices=8) == pytest.approx(
            8 * rate_at(CHESSCOACH, step)
        )
    assert rate_at(CHESSCOACH, 99_999, devices=8) == pytest.approx(0.16)
    assert rate_at(CHESSCOACH, 100_000, devices=8) == pytest.approx(0.02)


def test_the_triangle_has_the_published_values() -> None:
    golden = {0: 1e-5, 10_000: 5.05e-4, 20_000: 1e-3, 30_000: 5.05e-4, 40_000: 1e-5}
    for step, rate in golden.items():
        assert rate_at(CHESSCOACH_COMMENTARY, step) == pytest.approx(rate)
        assert rate_at(CHESSCOACH_COMMENTARY, step + 400_000) == pytest.approx(rate)


def test_exponential_decay_multiplies_each_period() -> None:
    smooth = Schedule(shape="exponential", rate=2.5e-3, factor=0.96, period=100, lowest=1e-4)
    stairs = Schedule(shape="exponential", rate=2.5e-3, factor=0.96, period=100, whole_periods=True)
    for step in (0, 1, 99, 100, 250, 777):
        assert rate_at(smooth, step) == pytest.approx(
            2.5e-3 * math.exp(math.log(0.96) * step / 100)
        )
        assert rate_at(stairs, step) == pytest.approx(2.5e-3 * 0.96 ** (step // 100))
    assert rate_at(smooth, 100_000) == 1e-4


def test_cosine_equals_torchs() -> None:
    schedule = Schedule(shape="cosine", rate=0.1, lowest=0.01, length=50)
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], 0.1)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 50, 0.01)
    for step in range(51):
        assert rate_at(schedule, step) == pytest.approx(theirs.get_last_lr()[0])
        optimiser.step()
        theirs.step()
    assert rate_at(schedule, 10_000) == pytest.approx(0.01)


def test_a_warm_up_leads_to_the_top_of_the_cosine() -> None:
    schedule = Schedule(shape="cosine", rate=0.1, warmup=20, length=120)
    rates = [rate_at(schedule, step) for step in range(130)]
    assert rates[:21] == pytest.approx([0.005 * step for step in range(21)])
    assert all(before >= after for before, after in itertools.pairwise(rates[20:]))
    assert rates[70] == pytest.approx(0.05)
    assert rates[120:] == [0] * 10


def test_constant_stays() -> None:
    assert {rate_at(Schedule(rate=0.25), step) for step in (0, 1, 10**9)} == {0.25}
    assert rate_at(Schedule(rate=0.25), 5, devices=4) == 1


WRONG = [
    (["shape='steps'"], "rates and boundaries"),
    (["shape='steps'", "boundaries=[0, 5]", "rates=[1.0]"], "give 2 rates"),
    (["shape='steps'", "boundaries=[1, 5]", "rates=[1.0, 0.1]"], "start with 0"),
    (["shape='steps'", "boundaries=[0, 0]", "rates=[1.0, 0.1]"], "go up"),
    (["shape='cosine'", "lowest=1"], "above the rate"),
    (["shape='cosine'", "warmup=100", "length=100"], "before the warm-up"),
    (["shape='zigzag'"], "zigzag"),
    (["period=0"], "at least 1"),
]


@pytest.mark.parametrize(("overrides", "reason"), WRONG)
def test_what_cannot_be_meant_is_refused(overrides: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        load(Schedule, overrides=overrides)


def test_settings_survive_a_file(tmp_path: object) -> None:
    for settings in (CHESSCOACH, CHESSCOACH_COMMENTARY):
        path = f"{tmp_path}/schedule.toml"
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - written by hand
            file.write(dump(settings))
        assert load(Schedule, path) == settings


def test_biases_norms_and_shifts_do_not_decay() -> None:
    for size, kept in {
        "tower-1x8-se": {"bias"},
        "residual-1x8": {"bias"},
        "dilated-eval": {"bias", "shift"},
        "sparse-16": {"bias", "move_bias"},
    }.items():
        network = build(size)
        decaying = {id(tensor) for tensor in parameter_groups(network, 0.5)[0]["params"]}
        names = {name for name, one in network.named_parameters() if id(one) not in decaying}
        norms = {name for name in names if network.get_parameter(name).dim() == 1}
        assert {name.split(".")[-1] for name in names - norms} <= kept
        assert all(network.get_parameter(name).dim() > 1 for name in _others(network, names))
        groups = parameter_groups(network, 0.5)
        assert [group["weight_decay"] for group in groups] == [0.5, 0.0]
        counted = sum(tensor.numel() for group in groups for tensor in group["params"])
        assert counted == sum(tensor.numel() for tensor in network.parameters())


def _others(network: nn.Module, names: set[str]) -> set[str]:
    return {name for name, _ in network.named_parameters()} - names


def test_frozen_weights_are_left_out() -> None:
    network = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1, bias=False))
    network[0].requires_grad_(False)
    groups = parameter_groups(network, 0.1)
    assert len(groups) == 1
    assert groups[0]["params"] == [network[1].weight]


def stepped(settings: OptimiserSettings, gradients: list[float], rates: list[float]) -> list[float]:
    """Where one weight, at 1 before, goes under these gradients and rates."""
    network = nn.Linear(1, 1, bias=False)
    nn.init.ones_(network.weight)
    optimiser = make_optimiser(network, settings, rates[0])
    places = []
    for gradient, rate in zip(gradients, rates, strict=True):
        set_rate(optimiser, rate)
        network.weight.grad = torch.tensor([[gradient]])
        optimiser.step()
        places.append(network.weight.item())
    return places


GRADIENTS, RATES = [0.5, -1.0, 0.25, 2.0], [0.1, 0.1, 0.01, 0.05]


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_is_as_written(nesterov: bool) -> None:
    weight, velocity, expected = 1.0, 0.0, []
    for gradient, rate in zip(GRADIENTS, RATES, strict=True):
        pull = gradient + 0.01 * weight
        velocity = 0.9 * velocity + pull
        weight -= rate * (pull + 0.9 * velocity if nesterov else velocity)
        expected.append(weight)
    settings = OptimiserSettings(kind="sgd", nesterov=nesterov, weight_decay=0.01)
    assert stepped(settings, GRADIENTS, RATES) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_adam_is_as_written(kind: str) -> None:
    weight, first, second, expected = 1.0, 0.0, 0.0, []
    for step, (gradient, rate) in enumerate(zip(GRADIENTS, RATES, strict=True), start=1):
        pull = gradient + (0.01 * weight if kind == "adam" else 0)
        weight *= 1 if kind == "adam" else 1 - rate * 0.01
        first, second = 0.9 * first + 0.1 * pull, 0.999 * second + 0.001 * pull**2
        unbiased = first / (1 - 0.9**step), second / (1 - 0.999**step)
        weight -= rate * unbiased[0] / (math.sqrt(unbiased[1]) + 1e-8)
        expected.append(weight)
    settings = load(OptimiserSettings, overrides=[f"kind={kind}", "weight_decay=0.01"])
    assert stepped(settings, GRADIENTS, RATES) == pytest.approx(expected, rel=1e-5)


def test_an_optimiser_goes_on_from_its_saved_state() -> None:
    for kind in ("sgd", "adamw"):
        settings = load(OptimiserSettings, overrides=[f"kind={kind}"])
        torch.manual_seed(3)
        network = nn.Linear(4, 4)
        other = nn.Linear(4, 4)
        optimiser = make_optimiser(network, settings, 0.1)
        pulls = [torch.randn(4, 4) for _ in range(6)]
        for number, pull in enumerate(pulls):
            if number == 3:
                other.load_state_dict(network.state_dict())
                second = make_optimiser(other, settings, 0.7)
                second.load_state_dict(copy.deepcopy(optimiser.state_dict()))
            network.weight.grad = pull
            optimiser.step()
            if number >= 3:
                other.weight.grad = pull
                second.step()
        assert torch.equal(network.weight, other.weight)


def test_nesterov_needs_momentum() -> None:
    with pytest.raises(ConfigError, match="momentum"):
        load(OptimiserSettings, overrides=["kind=sgd", "nesterov=true", "momentum=0"])

"""Golden vectors: the kernels' formulas give the numbers other systems' authors published."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kibitz.jit.records import as_record
from kibitz.position.fen import START, parse_fen
from kibitz.search.mcts.playout.leaf import non_pawn_material, rule50_factor, step_size
from kibitz.search.mcts.rules.parameters import Exploration, Puct, Sble, to_behaviour, to_rule
from kibitz.search.mcts.rules.puct import exploration_weight, mate_bonus
from kibitz.search.mcts.rules.sble import azero_score, linear_score, survivors
from kibitz.search.mcts.tree.nodes import TreeMemory, clear_edge, prior_of, quantise_prior
from kibitz.search.method import preset


def test_moving_average() -> None:
    behaviour = as_record(to_behaviour(preset("chesscoach")))
    value, averages = 0.0, []
    for weight, sample in enumerate((1.0, 0.0, 1.0, 0.0), start=1):
        value += (sample - value) / step_size(behaviour, weight)
        averages.append(value)
    assert averages == pytest.approx([1.0, 0.375, 0.6354167, 0.4368490], abs=1e-7)


def test_a_plain_mean_is_a_moving_average_too() -> None:
    behaviour = as_record(to_behaviour(preset("default")))
    assert [step_size(behaviour, weight) for weight in (1, 2, 1000)] == [1.0, 2.0, 1000.0]


AZERO = [  # parent's visits, visits, prior, value in [0, 1] -> c, E, score, L
    (1, 0, 0.05, 0.0, 2.3500108, 2.3500108, 0.1175005, 9.5238e-7),
    (800, 100, 0.2, 0.55, 2.3543204, 0.6593093, 0.6818619, 5.67779e-4),
    (100_000, 40_000, 0.3, 0.6, 2.7821369, 0.0219942, 0.6065983, 6.91324e-4),
    (1_000_000, 5_000, 0.01, 0.4, 4.2071431, 0.8412604, 0.4084126, 0.0526316),
]


@pytest.mark.parametrize("row", AZERO, ids=lambda row: str(row[0]))
def test_azero_and_linear_terms(row: tuple[float, ...]) -> None:
    visits, tries, prior, value, weight, explore, score, linear = row
    rule = to_rule(preset("chesscoach"))
    assert isinstance(rule, Sble)
    rate = exploration_weight(as_record(rule.exploration), visits)
    assert rate == pytest.approx(weight, abs=1e-7)
    assert rate * math.sqrt(visits) / (tries + 1) == pytest.approx(explore, abs=1e-7)
    memory, record = edge_with(int(tries), value, prior), as_record(rule)
    total = azero_score(record, memory.record, 1, rate * math.sqrt(visits), 0.0)
    assert total == pytest.approx(score, abs=2e-5 * explore)  # 16-bit priors
    assert linear_score(record, memory.record, 1, visits) == pytest.approx(linear, rel=1e-5)


def edge_with(visits: int, value: float, prior: float) -> TreeMemory:
    """A tree whose edge 1 has a value given in [0, 1]."""
    memory = TreeMemory(1)
    clear_edge(memory.record, 1, 0, quantise_prior(prior))
    memory.edges[1]["visits"], memory.edges[1]["value"] = visits, 2 * value - 1
    return memory


@pytest.mark.parametrize(
    ("used", "expected"),
    [(0, 1024), (0.05, 1024), (0.1, 512), (0.25, 256), (0.5, 32), (0.75, 8), (0.9, 2), (0.99, 2)],
)
def test_survivors_of_elimination(used: float, expected: int) -> None:
    assert survivors(10.0, used, 5000.0, 5000.0, 2000) == expected
    assert survivors(10.0, used, 5000.0, 5000.0, 5) == min(5, expected)


@pytest.mark.parametrize(
    ("value", "rule50", "material", "expected"),
    [
        (1, 0, 15_258, 1.0),
        (1, 50, 15_258, 1.0),
        (1, 50, 3_915, 0.834437),
        (0.9, 99, 6_080, 0.687803),
    ],
)
def test_rule50_scaling(value: float, rule50: int, material: int, expected: float) -> None:
    # Golden values are in [0, 1]; ours shrink towards 0 in [-1, 1].
    shrunk = (2 * value - 1) * rule50_factor(material, rule50)
    assert (shrunk + 1) / 2 == pytest.approx(expected, abs=1e-6)


def test_material_of_the_start_position() -> None:
    assert non_pawn_material(parse_fen(START)) == 16_604  # the scaling stops at 15 258


@pytest.mark.parametrize(
    ("probability", "quantised"), [(1, 65_535), (0.5, 32_767), (0.25, 16_383), (0, 0), (0.001, 65)]
)
def test_prior_quantisation(probability: float, quantised: int) -> None:
    assert quantise_prior(probability) == quantised
    assert prior_of(quantised) == pytest.approx(probability, abs=1.0 / 65_536)


def test_priors_are_never_nothing() -> None:
    assert prior_of(0) == 1.0 / 65_536
    assert prior_of(65) == pytest.approx(0.00100708, abs=1e-8)


@pytest.mark.parametrize(
    ("visits", "expected"),
    [(1, 1.74510), (100, 1.75504), (1000, 1.84424), (20_000, 3.36590), (100_000, 6.71276)],
)
def test_growth_of_exploration(visits: float, expected: float) -> None:
    rule = to_rule(preset("lc0"))
    assert isinstance(rule, Puct)
    weight = exploration_weight(as_record(rule.exploration), visits)
    assert weight == pytest.approx(expected, abs=1e-5)
    assert exploration_weight(as_record(Exploration(1.25, 1.0, 0.0)), visits) == 1.25


@pytest.mark.parametrize(
    ("proof", "bonus"), [(1, 1.0), (3, 0.25), (5, 0.125), (-2, 0.0), (0, 0.0), (20_000, 0.0)]
)
def test_incentive_for_faster_mates(proof: int, bonus: float) -> None:
    assert mate_bonus(proof) == bonus


def test_a_visit_on_its_way_counts_as_a_tenth_of_a_loss() -> None:
    rule: Any = as_record(to_rule(preset("chesscoach")))
    memory = edge_with(10, 0.5, 0.2)
    memory.edges[1]["pending"] = 5
    # One sample (the node is unknown): 0.5 * 1 / (1 + 0.1 * 5); 15 visits in the exploration.
    expected = 0.5 / 1.5 + 3.0 / 16 * prior_of(quantise_prior(0.2))
    assert azero_score(rule, memory.record, 1, 3.0, 0.0) == pytest.approx(expected)

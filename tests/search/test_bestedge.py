"""The vector form of PUCT's choice against NumPy, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.jit.compile import kernel
from kibitz.jit.records import address_of
from kibitz.search.mcts.rules.puct import CONTESTED, LANES, LEAST, best_edge
from kibitz.search.mcts.tree.nodes import EDGE


@kernel
def _choose(
    edges: int, first: int, count: int, fresh: int, weight: float, level: float, drop: float
) -> int:
    return best_edge(edges, first, count, fresh, weight, level, drop)


def _random_edges(generator: np.random.Generator, count: int) -> np.ndarray:
    edges = np.zeros(count, dtype=EDGE)
    edges["value"] = generator.choice([-1.0, 0.0, 0.25, 1.0], count)  # few, so that some are equal
    edges["visits"] = generator.integers(1, 4, count)
    edges["pending"] = generator.integers(0, 3, count)
    edges["prior"] = generator.choice([0, 1, 700, 65535], count)
    return edges


@pytest.mark.parametrize("seed", range(40))
def test_the_same_place_as_numpy_finds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, count = int(generator.integers(0, 3)), LEAST + seed
    edges = _random_edges(generator, first + count)
    fresh = seed % 2
    if fresh:
        edges = np.append(edges, _random_edges(generator, 1))
        edges["visits"][-1] = edges["pending"][-1] = 0
    weight = float(generator.random()) if seed % 5 else 0.0
    level, drop = float(generator.normal()), float(generator.random()) if seed % 3 else 0.0
    found = _choose(address_of(edges), first, count, fresh, weight, level, drop)
    here = edges[first:]
    tried_mass = (here["prior"][:count] + 1.0).sum() / 65536
    untried = level - drop * np.sqrt(tried_mass)
    values = np.where(here["visits"] == 0, untried, here["value"])
    tried = 1.0 + here["visits"] + here["pending"]
    scores = values + weight * ((here["prior"] + 1.0) / 65536) / tried
    assert found == int(np.argmax(scores))


@pytest.mark.parametrize("count", [LEAST, LEAST + 1, LANES, LANES + 1])
@pytest.mark.parametrize("pending", [0, 1])
def test_moves_of_unclear_value_are_not_judged(count: int, pending: int) -> None:
    for place in range(count + 1):
        edges = _random_edges(np.random.default_rng(place), count + 1)
        edges["visits"][-1] = edges["pending"][-1] = 0
        edges["visits"][place], edges["pending"][place] = 0, pending
        found = _choose(address_of(edges), 0, count, 1, 1.0, 0.0, 0.0)
        assert (found == CONTESTED) == (place < count or pending == 1)


def test_one_more_move_that_has_visits_is_not_judged() -> None:
    edges = _random_edges(np.random.default_rng(0), LEAST + 1)
    assert _choose(address_of(edges), 0, LEAST, 1, 1.0, 0.0, 0.0) == CONTESTED
    assert _choose(address_of(edges), 0, LEAST, 0, 1.0, 0.0, 0.0) != CONTESTED

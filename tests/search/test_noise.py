"""Dirichlet noise at the root: once for every search, always over the priors of the network."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.nets.evaluators.batched import InlineBatch
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.mcts.playout.root import random_gamma
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.options import Settings
from tests.search.consistency import check_tree

EPSILON = 0.25
NOISY = Settings(hash=8, noise_epsilon=EPSILON, policy_temperature=0.3)
MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"


def priors(memory: TreeMemory) -> dict[int, int]:
    block = block_of(memory)
    codes = memory.cold["move"][block].tolist()
    return dict(zip(codes, memory.edges["prior"][block].tolist(), strict=True))


def clean() -> dict[int, int]:
    quiet = NOISY.with_(noise_epsilon=0.0)
    with Searcher(inline_evaluator(Material()), quiet) as searcher:
        searcher.search(Board(MIDDLEGAME), Limits(nodes=10))
        return priors(searcher.memory)


@pytest.mark.parametrize("batched", [False, True])
def test_a_root_searched_again_has_new_noise_over_its_own_priors(batched: bool) -> None:
    network, seen, inline = clean(), [], inline_evaluator(Material())
    with Searcher(InlineBatch(inline) if batched else inline, NOISY) as searcher:
        for nodes in range(100, 2_100, 100):
            searcher.search(Board(MIDDLEGAME), Limits(nodes=nodes))
            seen.append(priors(searcher.memory))
            check_tree(searcher.memory)
        assert len({tuple(sorted(noisy.items())) for noisy in seen}) == len(seen)
        for noisy in seen:
            for code, prior in noisy.items():
                assert prior >= (1 - EPSILON) * network[code] - 1
        searcher.settings = NOISY.with_(noise_epsilon=0.0)
        searcher.search(Board(MIDDLEGAME), Limits(nodes=2_200))
        assert priors(searcher.memory) == network
        check_tree(searcher.memory)


def test_a_root_that_was_a_reply_gets_noise_of_its_own() -> None:
    board = Board(MIDDLEGAME)
    with Searcher(inline_evaluator(Material()), NOISY) as searcher:
        result = searcher.search(board, Limits(nodes=3_000))
        assert result.move is not None
        assert result.ponder is not None
        board.push(result.move)
        board.push(result.ponder)
        searcher.search(board, Limits(nodes=3_000))
        noisy = priors(searcher.memory)
        searcher.settings = NOISY.with_(noise_epsilon=0.0)
        searcher.search(board, Limits(nodes=3_500))
        network = priors(searcher.memory)
    assert noisy != network
    for code, prior in noisy.items():
        assert prior >= (1 - EPSILON) * network[code] - 1


@pytest.mark.parametrize("shape", [0.03, 0.3, 1.0, 2.5])
def test_gamma_numbers_have_their_mean_and_variance(shape: float) -> None:
    context = ContextMemory(seed=5).record
    count = 20_000 if COMPILED else 2_000
    numbers = np.array([random_gamma(context, shape) for _ in range(count)])
    assert numbers.min() >= 0.0
    assert numbers.mean() == pytest.approx(shape, abs=5 * np.sqrt(shape / count))
    spread = np.sqrt((6 * shape + 2 * shape**2) / count)  # of the variance, by the fourth moment
    assert numbers.var() == pytest.approx(shape, abs=5 * spread)

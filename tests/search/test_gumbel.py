"""Sequential halving at the root: the same plan in every driver, and no move beyond the sample."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from kibitz.nets.evaluators.batched import InlineBatch
from kibitz.nets.evaluators.inline import Material, inline_evaluator
from kibitz.position.board import Board
from kibitz.search.limits import Limits, Signals
from kibitz.search.mcts.playout.root import PLANNED
from kibitz.search.mcts.rules.parameters import RULES
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.options import Settings
from kibitz.search.report import Report
from kibitz.zero.selfplay.config import SelfPlay
from tests.search.consistency import pending
from tests.search.oracle import halving

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
CONSIDERED = 8
IN_FLIGHT = 2  # visits by which threads may differ from the plan
SHARE_IN_FLIGHT = 0.03  # of all visits

GUMBEL = Settings(search_rule="gumbel", gumbel_considered=CONSIDERED, gumbel_noise=1.0, hash=8)


def counts(memory: TreeMemory) -> list[int]:
    assert pending(memory) == 0
    visits = memory.edges["visits"][block_of(memory)].tolist()
    return sorted((count for count in visits if count), reverse=True)


def planned(playouts: int) -> list[int]:
    """How often the moves are visited, most visited first."""
    plan = halving(CONSIDERED, playouts)
    moves = [
        sum(1 for level in range(max(plan) + 1) if plan.count(level) > rank) for rank in range(8)
    ]
    assert sum(moves) == playouts
    return moves


def searched(nodes: int, batched: bool = False, **changes: int) -> list[int]:
    inline = inline_evaluator(Material())
    evaluator = InlineBatch(inline) if batched else inline
    with Searcher(evaluator, GUMBEL.with_(**changes)) as searcher:
        searcher.search(Board(MIDDLEGAME), Limits(nodes=nodes))
        return counts(searcher.memory)


EXACT: dict[str, Callable[[int], list[int]]] = {
    "inline": searched,
    "batches of 1": lambda nodes: searched(nodes, batched=True, minibatch_size=1),
    "batches of 32": lambda nodes: searched(nodes, batched=True, minibatch_size=32),
    "batches of 256": lambda nodes: searched(nodes, batched=True, minibatch_size=256),
}


@pytest.mark.parametrize("nodes", [5, 33, 101, 1_025, 6_001])
@pytest.mark.parametrize("driver", EXACT)
def test_visits_are_those_of_the_plan(driver: str, nodes: int) -> None:
    assert EXACT[driver](nodes) == [count for count in planned(nodes - 1) if count]


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("nodes", [101, 1_025, 6_001])
def test_threads_follow_one_plan(nodes: int, threads: int) -> None:
    """Two threads may choose at once where one move has a place left: a round may take in one more.

    Which moves are visited at all is exact; shares are the plan's but for such visits.
    """
    found, plan = searched(nodes, threads=threads), planned(nodes - 1)
    assert len(found) <= CONSIDERED
    assert sum(found) == nodes - 1
    near = SHARE_IN_FLIGHT * (nodes - 1) + IN_FLIGHT * (threads - 1)
    assert found == [pytest.approx(count, abs=near) for count in plan[: len(found)]]


@pytest.mark.parametrize("driver", ["inline", "threads", "batched"])
def test_a_search_without_an_end_keeps_to_the_sample(driver: str) -> None:
    inline = inline_evaluator(Material())
    evaluator = InlineBatch(inline) if driver == "batched" else inline
    signals = Signals()

    def enough(report: Report) -> None:
        if report.nodes > 2 * PLANNED:
            signals.stop.set()

    settings = GUMBEL.with_(threads=2 if driver == "threads" else 1)
    with closing(Searcher(evaluator, settings)) as searcher:
        searcher.search(Board(MIDDLEGAME), Limits(infinite=True), enough, signals)
        found = counts(searcher.memory)
    assert sum(found) > PLANNED
    assert len(found) == CONSIDERED


# --- by default the rule plays --------------------------------------------------------------------


def chosen(seed: int, **changes: float) -> tuple[list[int], str]:
    """The visits that moves get in a search of 16 nodes, and the move."""
    settings = Settings(search_rule="gumbel", seed=seed, hash=8).with_(**changes)
    with Searcher(inline_evaluator(Material()), settings) as searcher:
        found = searcher.search(Board(MIDDLEGAME), Limits(nodes=16))
        return counts(searcher.memory), str(found.move)


def test_a_move_is_chosen_without_noise_and_halving_begins_at_few_nodes() -> None:
    assert len({chosen(seed)[1] for seed in range(6)}) == 1
    visits, _ = chosen(0)
    assert len(visits) == 4
    assert visits[1] > visits[2] >= 1  # of 16 moves each would get one visit


def test_targets_are_made_with_noise_over_many_moves() -> None:
    settings = SelfPlay(rule="gumbel").searching()
    assert (settings.gumbel_noise, settings.gumbel_considered) == (1.0, 16)
    assert len(chosen(0, **RULES["gumbel"].for_targets)[0]) == 15
    given = SelfPlay(rule="gumbel", options=("GumbelNoise=0", "GumbelConsidered=8")).searching()
    assert (given.gumbel_noise, given.gumbel_considered) == (0.0, 8)
    assert SelfPlay(rule="puct").searching().gumbel_noise == Settings().gumbel_noise

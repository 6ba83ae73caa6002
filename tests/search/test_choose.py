"""The choice of the move: proofs first, schedules of temperature, diversity, bounds, minimax."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from kibitz.position.fen import START
from kibitz.position.notation import Move
from kibitz.search.mcts.answer import (
    choose_move,
    diversity_weights,
    highest_bound,
    minimax_value,
    sample,
    temperature_at,
    temperature_weights,
)
from kibitz.search.mcts.rules.parameters import Puct
from kibitz.search.mcts.statistics import in_order, moves_below
from kibitz.search.options import Settings
from kibitz.search.proof import DRAW, TABLEBASE
from kibitz.search.report import MoveStatistics
from kibitz.search.tablebase import RootMove

ENDGAME = "8/8/8/3k4/8/3K4/3P4/8 w - - 0 60"
CHI_SQUARE = {2: 13.82, 3: 16.27}  # exceeded once in 1000 times, by degrees of freedom


def row(visits: int, value: float = 0.0, **others: Any) -> MoveStatistics:
    numbers: dict[str, Any] = {
        "move": Move(0),
        "code": 0,
        "edge": 0,
        "visits": visits,
        "pending": 0,
        "prior": 0.1,
        "value": value,
        "draw": 0.0,
        "deviation": 0.0,
        "bonus": 0.0,
        "raw": None,
        "proof": 0,
    }
    return MoveStatistics(**(numbers | others))


def fits(drawn: list[int], weights: np.ndarray) -> bool:
    """Chi-square test of counts against weights."""
    expected = sum(drawn) * weights / weights.sum()
    statistic = ((np.array(drawn) - expected) ** 2 / expected).sum()
    return bool(statistic < CHI_SQUARE[len(drawn) - 1])


def ordered(tree: Any, **others: Any) -> list[MoveStatistics]:
    return in_order(moves_below(tree.memory, tree.position, Puct(), **others))


def chosen(tree: Any, settings: Settings | None = None, seed: int = 0, **others: Any) -> str:
    generator = np.random.default_rng(seed)
    rows = ordered(tree, **others)
    found = choose_move(tree.memory, tree.position, settings or Settings(), generator, rows)
    assert found is not None
    return str(found.move)


# --- without chance -------------------------------------------------------------------------------


def test_no_moves_no_choice(handmade: Any) -> None:
    tree, generator = handmade("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), np.random.default_rng(0)
    assert choose_move(tree.memory, tree.position, Settings(), generator, ordered(tree)) is None


def test_most_visits_then_value_then_prior(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 30).plant(
        "", [reply("e2e4", 9, 0.9), reply("d2d4", 10, 0.1), reply("c2c4", 10, 0.2)]
    )
    assert chosen(tree) == "c2c4"
    tied = handmade(START, 20).plant(
        "", [reply("e2e4", 10, 0.1, prior=0.2), reply("d2d4", 10, 0.1, prior=0.3)]
    )
    assert chosen(tied) == "d2d4"


def test_without_visits_the_highest_prior(handmade: Any, reply: Any) -> None:
    tree = handmade(START).plant("", [reply("e2e4", prior=0.2), reply("d2d4", prior=0.5)])
    assert chosen(tree) == "d2d4"
    assert chosen(tree, Settings(temperature=1.0)) == "d2d4"


@pytest.mark.parametrize(
    ("proofs", "best"),
    [
        ((0, 0, 3), "c2c4"),  # a mate before any number of visits
        ((0, 5, 3), "c2c4"),  # the shorter one
        ((0, TABLEBASE, 9), "c2c4"),  # one that can be counted before one that cannot
        ((0, TABLEBASE, 0), "d2d4"),
        ((-2, 0, 0), "d2d4"),  # a loss after all others
        ((-2, -8, -4), "d2d4"),  # the longest
        ((-2, -8, -TABLEBASE), "c2c4"),
        ((-2, DRAW, -4), "d2d4"),
        ((0, DRAW, -4), "e2e4"),  # a draw is no reason to take or leave a move
    ],
)
def test_what_is_proved_goes_first(
    handmade: Any, reply: Any, proofs: tuple[int, int, int], best: str
) -> None:
    moves = zip(("e2e4", "d2d4", "c2c4"), (100, 50, 1), proofs, strict=True)
    tree = handmade(START, 151).plant("", [reply(m, n, 0.1, proof=p) for m, n, p in moves])
    assert chosen(tree) == best
    assert chosen(tree, Settings(move_choice="lcb")) == best
    every_die = Settings(sampling_plies=9)
    if proofs[0] or proofs[2] > 0:
        assert {chosen(tree, every_die, seed) for seed in range(20)} == {best}


def test_tablebase_ranks_go_before_everything(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 151).plant("", [reply("e2e4", 100, 0.9), reply("d2d4", 1, 0.0)])
    codes = {str(move): int(tree.memory.cold["move"][edge]) for move, edge in tree.edges.items()}
    ranks = {codes["e2e4"]: 899, codes["d2d4"]: 1000}
    outcomes = {code: RootMove(Move(code), code, rank, 0) for code, rank in ranks.items()}
    assert chosen(tree, outcomes=outcomes) == "d2d4"


def test_the_lower_bound_prefers_the_surer_move(handmade: Any, reply: Any) -> None:
    tree = handmade(START, 2000).plant(
        "",
        [
            reply("e2e4", 1000, 0.20, square=0.20**2 + 0.01),
            reply("d2d4", 900, 0.25, square=0.25**2 + 0.01),
            reply("c2c4", 20, 0.90, square=0.90**2 + 0.01),
        ],
    )
    assert chosen(tree) == "e2e4"
    assert chosen(tree, Settings(move_choice="lcb")) == "d2d4"
    unsure = [row(1000, 0.2, deviation=0.1), row(900, 0.25, deviation=1.0)]
    assert highest_bound(unsure, 5.0, 0.15) is unsure[0]


# --- schedules ------------------------------------------------------------------------------------


def test_lc0s_schedule_of_temperature() -> None:
    constant = Settings(temperature=1.0)
    assert temperature_at(constant, 200) == 1.0
    decaying = constant.with_(temp_decay_moves=10, temp_decay_delay_moves=5)
    assert [temperature_at(decaying, ply) for ply in (0, 8, 10, 20, 30, 90)] == pytest.approx(
        [1.0, 1.0, 1.0, 0.5, 0.0, 0.0]
    )
    floor = decaying.with_(temp_endgame=0.3)
    assert temperature_at(floor, 90) == 0.3
    cut = constant.with_(temp_cutoff_move=11, temp_endgame=0.2)
    assert [temperature_at(cut, ply) for ply in (18, 19, 20)] == [1.0, 1.0, 0.2]
    assert temperature_at(Settings(temp_decay_moves=5, temp_endgame=0.6), 4) == 0.0


def test_weights_of_a_temperature() -> None:
    rows = [row(400, 0.2), row(100, 0.1), row(0, -0.9)]
    assert temperature_weights(rows, 1.0) == pytest.approx([1.0, 0.25, 0.0])
    assert temperature_weights(rows, 0.5) == pytest.approx([1.0, 0.0625, 0.0])
    assert temperature_weights(rows, 1.0, 100.0) == pytest.approx([1.0, 0.4, 0.2])
    assert temperature_weights(rows, 1.0, -100.0) == pytest.approx([1.0, 0.0, 0.0])
    assert temperature_weights(rows, 1.0, -500.0) == pytest.approx([0.0, 0.0, 0.0])
    assert temperature_weights(rows, 1.0, 0.0, 4.0) == pytest.approx([1.0, 0.0, 0.0])
    assert temperature_weights(rows, 1.0, 0.0, 5.1) == pytest.approx([1.0, 0.25, 0.0])


@pytest.mark.parametrize(
    ("temperature", "shares"),
    [(0.75, (0.4911, 0.3136, 0.1587, 0.0367)), (2.52, (0.3277, 0.2868, 0.2341, 0.1514))],
)
def test_golden_weights_of_move_diversity(temperature: float, shares: tuple[float, ...]) -> None:
    weights = diversity_weights([row(350), row(250), row(150), row(50)], temperature)
    rounded = np.round(weights / weights.sum(), 4)
    assert rounded.tolist() == list(shares) or np.abs(rounded - shares).max() <= 0.0001


def test_samples_follow_their_weights() -> None:
    rows, generator = [row(350), row(250), row(150), row(50)], np.random.default_rng(11)
    for weights in (temperature_weights(rows, 1.0), diversity_weights(rows, 2.52)):
        drawn = Counter(sample(rows, weights, generator) for _ in range(20_000))
        assert fits([drawn[one] for one in rows], weights)
        assert not fits([drawn[one] for one in rows], weights**1.3)
    assert sample(rows, np.zeros(4), generator) is None


def test_chosen_moves_follow_the_schedule(handmade: Any, reply: Any) -> None:
    visits = {"e2e4": 400, "d2d4": 300, "c2c4": 100}
    tree = handmade(START, 801).plant("", [reply(move, n) for move, n in visits.items()])
    generator, settings = np.random.default_rng(5), Settings(temperature=0.5)
    drawn: Counter[str] = Counter()
    for _ in range(3000):
        found = choose_move(tree.memory, tree.position, settings, generator, ordered(tree))
        assert found is not None
        drawn[str(found.move)] += 1
    weights = np.array([n**2 for n in visits.values()], dtype=float)
    counts = [drawn[move] for move in visits]
    assert fits(counts, weights)


def test_the_same_dice_choose_the_same_move(handmade: Any, reply: Any) -> None:
    moves = [reply("e2e4", 10), reply("d2d4", 9), reply("c2c4", 8)]
    tree, settings = handmade(START, 28).plant("", moves), Settings(sampling_plies=30)
    choices = [chosen(tree, settings, seed) for seed in range(30)]
    assert choices == [chosen(tree, settings, seed) for seed in range(30)]
    assert len(set(choices)) == 3


def test_sampling_ends_with_its_plies(handmade: Any, reply: Any) -> None:
    moves = [reply("d3e3", 10), reply("d3c3", 9)]
    tree = handmade(ENDGAME, 20).plant("", moves)
    for settings in (Settings(sampling_plies=30), Settings(diversity_temperature=2.0)):
        assert {chosen(tree, settings, seed) for seed in range(20)} == {"d3e3"}


def test_diversity_is_among_near_equals(handmade: Any, reply: Any) -> None:
    moves = [reply("e2e4", 400, 0.10), reply("d2d4", 300, 0.09), reply("c2c4", 300, 0.05)]
    tree = handmade(START, 1001).plant("", moves)
    settings = Settings(diversity_temperature=2.52)  # 0.0089 in [0, 1] is 0.0178 here
    assert {chosen(tree, settings, seed) for seed in range(40)} == {"e2e4", "d2d4"}


# --- endgame minimax ------------------------------------------------------------------------------


def minimax_tree(handmade: Any, reply: Any) -> Any:
    """Averages say d3e3, but its best reply refutes it."""
    tree = handmade(ENDGAME, 1000)
    tree.plant("", [reply("d3e3", 600, 0.4), reply("d3c3", 300, 0.2), reply("d3c2", 50, 0.9)])
    tree.plant("d3e3", [reply("d5e5", 300, 0.3), reply("d5c4", 280, -0.9), reply("d5d6", 5, 0.8)])
    tree.plant("d3c3", [reply("d5e4", 150, -0.1), reply("d5c5", 140, -0.2)])
    return tree


def test_minimax_looks_behind_the_averages(handmade: Any, reply: Any) -> None:
    tree = minimax_tree(handmade, reply)
    settings = Settings(minimax=True, minimax_visits=200)
    assert chosen(tree) == "d3e3"
    assert chosen(tree, settings) == "d3c3"
    assert minimax_value(tree.memory, tree.edges["d3e3"], settings) == -0.3
    assert minimax_value(tree.memory, tree.edges["d3c3"], settings) == 0.1
    assert minimax_value(tree.memory, tree.edges["d3c2"], settings) == 0.9  # too few visits


def test_minimax_needs_visits_and_an_endgame(handmade: Any, reply: Any) -> None:
    tree = minimax_tree(handmade, reply)
    settings = Settings(minimax=True)
    assert chosen(tree, settings) == "d3e3"  # 1000 visits are fewer than 3258
    opening = handmade(START, 1000).plant("", [reply("e2e4", 600, 0.4)])
    opening.plant("e2e4", [reply("e7e5", 500, 0.9)])
    assert chosen(opening, Settings(minimax=True, minimax_visits=10)) == "e2e4"


def test_minimax_believes_proofs(handmade: Any, reply: Any) -> None:
    tree = minimax_tree(handmade, reply)
    tree.memory.cold["proof"][tree.edges["d3c3 d5e4"]] = TABLEBASE
    settings = Settings(minimax=True, minimax_visits=200)
    assert minimax_value(tree.memory, tree.edges["d3c3"], settings) == -1.0
    assert chosen(tree, settings) == "d3e3"

"""The move that is drawn, what is pruned and when games are adjudicated, by formulas in Python."""

from __future__ import annotations

import math
from dataclasses import replace

import chess
import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.jit.records import as_record, one_record
from kibitz.search.mcts.rules.parameters import Behaviour, Exploration, Forced, Puct
from kibitz.zero.selfplay.config import SelfPlay, preset
from kibitz.zero.selfplay.game import GAME, terms_of
from kibitz.zero.selfplay.moves import choose
from kibitz.zero.selfplay.targets import policy_target
from tests.search.compiled import Compiled
from tests.search.hashed import HASHED

pytestmark = pytest.mark.skipif(not COMPILED, reason="draws thousands of moves")

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
DRAWS = 4_000


def searched(rule: Puct | Forced, playouts: int) -> Compiled:
    compiled = Compiled(chess.Board(MIDDLEGAME), rule, Behaviour(), HASHED)
    compiled.run(playouts)
    assert not compiled.memory.cold["proof"][list(compiled.block(0))].any()
    return compiled


# --- the move -------------------------------------------------------------------------------------


def shares(compiled: Compiled, settings: SelfPlay, ply: int) -> dict[int, float]:
    """Probability of each move of the root, by its place among the edges."""
    edges, block = compiled.memory.edges, list(compiled.block(0))
    visits = {edge: int(edges["visits"][edge]) for edge in block}
    best = max(block, key=lambda edge: (visits[edge], float(edges["value"][edge])))
    temperature = settings.temperature
    if ply >= settings.temperature_plies:
        decayed = 0.0
        if settings.temperature_decay:
            past = (ply - settings.temperature_plies) / settings.temperature_decay
            decayed = temperature * (1 - past)
        temperature = max(decayed, settings.temperature_end)
    if temperature == 0:
        return {best: 1.0}
    worst = float(edges["value"][best]) - 2 * settings.value_cutoff
    weights = {
        edge: (count + settings.visit_offset) ** (1 / temperature)
        for edge, count in visits.items()
        if count and count + settings.visit_offset > 0 and edges["value"][edge] >= worst
    }
    return {edge: weight / sum(weights.values()) for edge, weight in weights.items()}


BY_VISITS = replace(SelfPlay(), rule="puct")
SCHEDULES = [
    *((BY_VISITS, ply) for ply in (0, 29, 30)),
    *((preset("dlchess"), ply) for ply in (0, 9_000)),
    *((preset("lc0"), ply) for ply in (0, 39, 40, 70, 90, 160, 400)),
    (replace(BY_VISITS, temperature=2.0, temperature_decay=10, temperature_end=0.1), 35),
    (replace(BY_VISITS, temperature=0.0), 0),
    (replace(BY_VISITS, value_cutoff=0.02), 0),
    (replace(BY_VISITS, visit_offset=3.0), 0),
]


@pytest.mark.parametrize(("settings", "ply"), SCHEDULES)
def test_moves_are_drawn_in_the_shares_of_the_formula(settings: SelfPlay, ply: int) -> None:
    compiled = searched(Puct(), 300)
    terms, game = as_record(terms_of(settings)), one_record(GAME)
    game.ply, game.random_state = ply, 5
    common = compiled.rule, terms, game, compiled.memory.record, compiled.context.record
    drawn = np.array([choose(*common) for _ in range(DRAWS)])
    wanted = shares(compiled, settings, ply)
    assert set(drawn.tolist()) <= set(wanted)
    counts = {edge: int((drawn == edge).sum()) for edge in wanted}
    often = [edge for edge in wanted if wanted[edge] * DRAWS >= 5]
    parts = [(counts[edge] - wanted[edge] * DRAWS) ** 2 / (wanted[edge] * DRAWS) for edge in often]
    freedom = max(len(often) - 1, 1)
    assert sum(parts) < freedom + 4 * math.sqrt(2 * freedom) + 4  # beyond the 99.9th percent
    rare = sum(wanted[edge] for edge in wanted if edge not in often) * DRAWS
    assert abs(sum(counts[edge] for edge in wanted if edge not in often) - rare) <= 5 * math.sqrt(
        rare + 1
    )


# --- the policy -----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [2.0, 8.0])
@pytest.mark.parametrize("exploration", [Exploration(), Exploration(init=4.0, factor=0.0)])
def test_what_was_only_forced_is_no_part_of_the_policy(
    share: float, exploration: Exploration
) -> None:
    """KataGo: up to sqrt(k P N) visits go while the score stays below the best move's."""
    rule = Forced(Puct(root_exploration=exploration), share)
    memory = searched(rule, 400).memory
    block = slice(
        int(memory.nodes[0]["first"]), int(memory.nodes[0]["first"]) + int(memory.nodes[0]["count"])
    )
    edges, moves = memory.edges[block], memory.cold["move"][block].tolist()
    visits, values = edges["visits"].astype(int).tolist(), edges["value"].tolist()
    priors = ((edges["prior"].astype(float) + 1) / 65_536).tolist()
    total = 401
    grown = math.log(
        (total + exploration.base_visits + exploration.offset) / exploration.base_visits
    )
    weight = (exploration.init + exploration.factor * grown) * math.sqrt(total - 1)

    def score(index: int, count: int) -> float:
        return float(values[index] + weight * priors[index] / (1 + count))

    best = visits.index(max(visits))
    top = score(best, visits[best])
    expected = []
    for index, count in enumerate(visits):
        forced = min(count, int(math.sqrt(share * priors[index] * total)))
        kept = count
        if index != best:
            kept = min(
                count - taken
                for taken in range(forced + 1)
                if all(score(index, count - n) < top for n in range(1, taken + 1))
            )
        if kept and not (kept == 1 < count):
            expected.append((moves[index], kept))
    assert list(policy_target(memory, rule)) == expected
    assert sum(kept for _, kept in expected) < total - 1
    unpruned = policy_target(memory, rule._replace(prune=0))
    assert dict(unpruned) == {move: n for move, n in zip(moves, visits, strict=True) if n}

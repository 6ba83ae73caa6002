"""The compiled search grows the same tree, visit for visit, as a plain one made from formulas."""

from __future__ import annotations

from typing import Any

import chess
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.nets.evaluators.inline import Material, Uniform
from kibitz.search.mcts.playout.root import plan_gumbel
from kibitz.search.mcts.rules.parameters import (
    FPU_ABSOLUTE,
    FPU_LOSS,
    FPU_REDUCTION,
    FPU_WIN,
    Behaviour,
    Contempt,
    Expectimax,
    Exploration,
    FirstPlay,
    Forced,
    Gumbel,
    Puct,
    Rule,
    Sble,
)
from tests.search.compiled import Compiled
from tests.search.hashed import HASHED
from tests.search.oracle import Oracle, halving, walk

PLAYOUTS = 150 if COMPILED else 25


def game(fen: str, moves: str = "") -> chess.Board:
    board = chess.Board(fen)
    for move in moves.split():
        board.push_uci(move)
    return board


SHUFFLE = "g1f3 g8f6 f3g1 f6g8"
BOARDS = {
    "start": game(chess.STARTING_FEN),
    "kiwipete": game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"),
    "black": game("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 b - - 0 10"),
    "promotions": game("n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1"),
    "en passant": game("rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"),
    "mate in 2": game("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"),
    "mates": game("6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1"),
    "queen": game("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"),
    "stalemates": game("8/8/8/8/8/5k2/5p2/5K2 b - - 4 1"),
    "minor": game("8/8/4k3/8/3n4/4K3/6P1/8 b - - 0 1"),
    "repeated": game(chess.STARTING_FEN, SHUFFLE),
    "once more": game("8/5k2/8/8/R7/8/1K6/7r w - - 8 40", "b2c2 f7e7 c2b2 e7f7 b2c2 f7e7 c2b2"),
    "fifty": game("8/5k2/8/8/R7/8/1K6/7r w - - 96 80"),
    "ninety": game("6k1/5ppp/8/8/8/8/5PPP/1R4K1 b - - 90 60"),
}

FLAT, STEEP = Exploration(1.25, 19_652.0, 0.0), Exploration(3.0, 100.0, 2.0, 1.0)
LOSS, WIN = FirstPlay(FPU_LOSS, 0.0), FirstPlay(FPU_WIN, 0.0)
ABSOLUTE, PARENT = FirstPlay(FPU_ABSOLUTE, 0.125), FirstPlay(FPU_REDUCTION, 0.0)
RULES: dict[str, Rule] = {
    "lc0": Puct(),
    "alphazero": Puct(FLAT, FLAT, LOSS, LOSS, count_parent=1),
    "root win": Puct(STEEP, FLAT, LOSS, WIN),
    "absolute": Puct(first_play=ABSOLUTE, root_first_play=PARENT),
    "parent": Puct(first_play=PARENT, root_first_play=ABSOLUTE, count_parent=1),
    "faster mate": Puct(faster_mate=1.0),
    "log visits": Puct(log_visits=0.5, log_base=20.0),
    "variance": Puct(variance=0.7),
    "gini": Puct(gini=0.8),
    "widening": Puct(widening=0.6),
    "sble": Sble(),
    "sble own root": Sble(root_exploration=Exploration(4.0, 900.0, 2.0, 1.0)),
    "sble greedy": Sble(linear_rate=40.0, linear_delay=400.0, elimination_exponent=10.0),
    "sble wide": Sble(linear_rate=9.0, linear_delay=90.0, backup_threshold=0.1, faster_mate=0.0),
    "gumbel": Gumbel(0.5, 50.0, 16, 1.0),
    "gumbel few": Gumbel(1.0, 20.0, 4, 1.0),
    "gumbel without noise": Gumbel(),
    "contempt": Contempt(limit=12),
    "contempt one": Contempt(limit=1, prefer_proven=0),
    "negative": Contempt(limit=9, parity=0),
    "warm": Contempt(limit=15, temperature=2.5),
    "cold": Contempt(limit=15, temperature=0.4, admit=1),
    "contempt sble": Contempt(Sble(), limit=10),
    "forced": Forced(),
    "expectimax": Expectimax(),
    "expectimax widening": Expectimax(Puct(widening=0.6)),
}
BEHAVIOURS = {
    "plain": Behaviour(),
    "first visit": Behaviour(expand_at=1),
    "no proofs": Behaviour(prove=0),
    "all chesscoach": Behaviour(
        build=0.8, cap=25e6, clear_losses=1, draw_sibling=1, rule50_scaling=1.0
    ),
    "descending": Behaviour(descend_proven=1, clear_losses=1),
    "temperature": Behaviour(policy_temperature=1.359, root_policy_temperature=2.0),
    "half scaled": Behaviour(rule50_scaling=0.5, build=0.5, cap=20.0),
    "siblings": Behaviour(draw_sibling=1, prove=0),
    "shared values": Behaviour(share_values=1),
    "shared unproved": Behaviour(share_values=1, prove=0, rule50_scaling=1.0),
}


def grown(
    board: chess.Board, rule: Rule, behaviour: Behaviour, evaluator: Any, playouts: int
) -> tuple[Compiled, Oracle]:
    compiled = Compiled(board, rule, behaviour, evaluator, seed=7)
    entries = len(compiled.memory.shared)
    oracle = Oracle(board, rule, behaviour, evaluator, seed=7, entries=entries)
    if isinstance(rule, Gumbel):
        planned = playouts // 2
        plan_gumbel(
            compiled.memory.record, compiled.context.record, rule.considered, rule.noise, planned
        )
        oracle.gumbel = compiled.memory.root[0]["gumbel"][: len(compiled.block(0))].tolist()
        oracle.plan = halving(min(rule.considered, len(oracle.gumbel)), planned)
    compiled.run(playouts)
    oracle.run(playouts)
    return compiled, oracle


def compare(compiled: Compiled, oracle: Oracle) -> None:
    """Every visited move of the whole tree agrees in all that the search knows about it."""
    memory, places = compiled.memory, dict(compiled.edges())
    nodes = {path: node for path, node in walk(oracle.root) if path}
    weights = memory.edges["visits"] - memory.nodes["excluded"][memory.cold["child"]]
    found = {
        path: (
            int(memory.edges["visits"][edge]),
            int(weights[edge]),
            compiled.proof(edge),
            compiled.bounds(edge),
        )
        for path, edge in places.items()
    }
    assert [reply.visits for reply in oracle.root.replies or []] == compiled.root_visits()
    assert found == {
        path: (node.visits, node.weight, node.proof and tuple(node.proof), (node.low, node.high))
        for path, node in nodes.items()
    }
    at = list(places.values())
    values = [nodes[path].value for path in places]
    priors = [nodes[path].prior for path in places]
    assert memory.edges["value"][at] == pytest.approx(values, abs=1e-9)
    # Powers of probabilities may fall on the other side of a half, in six digits.
    allowed = 1.1 / 65536 if oracle.behaviour.policy_temperature != 1 else 1e-9
    assert (memory.edges["prior"][at] + 1.0) / 65536 == pytest.approx(priors, abs=allowed, rel=0)
    assert memory.edges["visits"][0] == oracle.root.visits
    assert memory.edges["value"][0] == pytest.approx(oracle.root.value, abs=1e-9)
    assert compiled.proof(0) == (oracle.root.proof and tuple(oracle.root.proof))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule(rule: str, board: str) -> None:
    compare(*grown(BOARDS[board], RULES[rule], Behaviour(), HASHED, PLAYOUTS))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_every_behaviour(behaviour: str, board: str) -> None:
    rule: Rule = Sble(linear_rate=40.0, linear_delay=400.0)
    compare(*grown(BOARDS[board], rule, BEHAVIOURS[behaviour], HASHED, PLAYOUTS))


@pytest.mark.parametrize("board", ["start", "kiwipete", "mates", "queen", "once more"])
@pytest.mark.parametrize("evaluator", [Uniform(), Material()], ids=["uniform", "material"])
@pytest.mark.parametrize("rule", [Puct(), Sble()], ids=["puct", "sble"])
def test_equal_priors(rule: Rule, evaluator: Any, board: str) -> None:
    behaviour = Behaviour(clear_losses=1, draw_sibling=1)
    compare(*grown(BOARDS[board], rule, behaviour, evaluator, PLAYOUTS))


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_with_every_behaviour(rule: str, behaviour: str) -> None:
    # With a temperature a few priors are a 65536th apart (see `compare`): enough, once in hundreds
    # of long searches, for another choice between two that are nearly as good.
    exact = BEHAVIOURS[behaviour].policy_temperature == 1
    playouts = 800 if exact else PLAYOUTS
    for board in BOARDS.values():
        compare(*grown(board, RULES[rule], BEHAVIOURS[behaviour], HASHED, playouts))


@pytest.mark.parametrize("board", ["start", "kiwipete"])
def test_expectimax_visits_replies_as_often_as_the_policy_plays_them(board: str) -> None:
    rule = Expectimax()
    _, oracle = grown(BOARDS[board], rule, Behaviour(prove=0), HASHED, 3 * PLAYOUTS)
    checked = 0
    for reply in oracle.root.replies or []:
        answers = reply.replies or []
        total = sum(answer.visits for answer in answers)
        if total < 50:
            continue
        checked += 1
        for answer in answers:
            assert answer.visits == pytest.approx(answer.prior * total, abs=len(answers) / 4)
        mean = sum(answer.visits * answer.value for answer in answers) / total
        assert -mean == pytest.approx(reply.value, abs=2 / total)  # its first visit is its own
    assert checked

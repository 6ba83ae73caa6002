"""Moves that wait packed until they are looked at: nobody can tell them from edges."""

from __future__ import annotations

import chess
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.jit.records import as_record
from kibitz.position.board import Board
from kibitz.search.mcts.rules.parameters import (
    Behaviour,
    Contempt,
    Gumbel,
    Puct,
    Rule,
    Sble,
    looks_by_prior,
)
from kibitz.search.mcts.statistics import moves_below, packed_moves_of
from kibitz.search.mcts.tree.memory import compact
from kibitz.search.mcts.tree.nodes import EXPANDED, NONE
from tests.search.compiled import Compiled
from tests.search.consistency import check_tree
from tests.search.hashed import HASHED

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
ENDGAME = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"
PLAYOUTS = 1_000 if COMPILED else 40
RULES: dict[str, Rule] = {"puct": Puct(), "sble": Sble(), "widening": Puct(widening=1.5)}


def grown(fen: str, rule: Rule, by_prior: bool, expand_at: int) -> Compiled:
    behaviour = Behaviour(clear_losses=1, draw_sibling=1, expand_at=expand_at)
    compiled = Compiled(chess.Board(fen), rule, behaviour, HASHED, megabytes=8)
    if not by_prior:
        compiled.behaviour = as_record(behaviour)
    compiled.run(PLAYOUTS)
    return compiled


@pytest.mark.parametrize("expand_at", [1, 2])
@pytest.mark.parametrize("fen", [MIDDLEGAME, ENDGAME])
@pytest.mark.parametrize("rule", RULES)
def test_the_search_is_the_same(rule: str, fen: str, expand_at: int) -> None:
    held, whole = (grown(fen, RULES[rule], held, expand_at) for held in (True, False))
    words = 0
    for node in range(held.memory.record.nodes_used):
        if held.memory.nodes["state"][node] == EXPANDED:
            words += len(packed_moves_of(held.memory, node))
            assert packed_moves_of(whole.memory, node) == []
    assert words > PLAYOUTS
    check_tree(held.memory)
    # Edges have the same numbers: a block is as long as all of its moves.
    assert dict(held.edges()) == dict(whole.edges())
    position = Board(fen).position
    for _, edge in held.edges():
        child = held.memory.cold["child"][edge]
        if child != NONE:
            rows = (moves_below(tree.memory, position, RULES[rule], edge) for tree in (held, whole))
            first, second = rows
            assert first == second


@pytest.mark.parametrize("rule", RULES)
def test_a_new_root_has_all_its_moves(rule: str) -> None:
    compiled = grown(MIDDLEGAME, RULES[rule], True, 2)
    visits = compiled.root_visits()
    edge = compiled.block(0)[visits.index(max(visits))]
    node = int(compiled.memory.cold["child"][edge])
    count = int(compiled.memory.nodes["count"][node])
    words = packed_moves_of(compiled.memory, node)
    assert words
    compact(compiled.memory.record, node, 0)
    check_tree(compiled.memory)
    assert packed_moves_of(compiled.memory, 0) == []
    block = compiled.block(0)
    assert len(block) == count
    last = [int(code) for code in compiled.memory.cold["move"][block.start : block.stop]]
    assert last[-len(words) :] == [code for code, _ in words]


def test_rules_that_look_at_all_moves_get_all() -> None:
    assert [looks_by_prior(rule) for rule in (Puct(), Sble())] == [True, True]
    others: list[Rule] = [Gumbel(), Puct(gini=0.5), Contempt(inner=Puct(), limit=40)]
    assert not any(looks_by_prior(rule) for rule in others)

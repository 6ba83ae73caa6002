"""Making room: what is kept is kept whole, what is given back leaves no trace but its numbers."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.search.mcts.playout.playout import NO_ROOM
from kibitz.search.mcts.rules.parameters import Behaviour, Contempt, Puct, Rule, Sble
from kibitz.search.mcts.tree.memory import ROOM_WANTED, compact, make_room
from kibitz.search.mcts.tree.nodes import NODE, NONE, PATH_DRAW, clear
from tests.search.compiled import Compiled
from tests.search.consistency import check_sums, check_tree
from tests.search.hashed import HASHED

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
ROOKS = "8/5k2/8/8/R7/8/1K6/7r w - - 90 40"  # repetitions and the 50-move rule
FENS = (MIDDLEGAME, ROOKS, "6k1/5ppp/8/8/8/8/5PPP/1R4K1 b - - 0 1")
RULES: dict[str, Rule] = {"puct": Puct(), "sble": Sble(), "contempt": Contempt(limit=10)}
PLAYOUTS = 3_000 if COMPILED else 60
FUZZES = 30 if COMPILED else 1
USUAL = 14  # of them; the others are slow
# Compaction gives nodes new places, and may close moves that were opened but never visited.
CHANGES = ("first", "parent_edge", "tried")
STATISTICS = [name for name in NODE.names or () if name not in CHANGES]

Facts = dict[str, tuple[Any, ...]]


def facts(compiled: Compiled, node: int = 0, path: str = "") -> Facts:
    """All that is known about the visited moves below a node."""
    memory, known = compiled.memory, {}
    for line, edge in compiled.edges(node, path):
        cold = memory.cold[edge]
        known[line] = (
            memory.edges[edge].tobytes(),
            (cold["frozen"], cold["move"], cold["proof"]),
            node_facts(compiled, int(cold["child"])),
        )
    return known


def node_facts(compiled: Compiled, node: int) -> bytes | None:
    """A node without its places, None if there is none or a draw that depends on the path."""
    if node == NONE or compiled.memory.nodes["state"][node] == PATH_DRAW:
        return None
    record = compiled.memory.nodes[node]
    return b"".join(record[name].tobytes() for name in STATISTICS)


def reached_by(kept: Facts, least: int) -> Facts:
    """What is to stay when little-visited subtrees go: moves below often visited ones."""
    visits = {line: int(np.frombuffer(kept[line][0][8:12], np.uint32)[0]) for line in kept}
    stays: Facts = {}
    for line, (edge, cold, node) in kept.items():
        words = line.split()
        above = [" ".join(words[:count]) for count in range(1, len(words))]
        if all(visits.get(prefix, least) >= least for prefix in above):
            stays[line] = (edge, cold, node if visits[line] >= least else None)
    return stays


def grown(fen: str, rule: Rule, playouts: int = PLAYOUTS, **options: int) -> Compiled:
    compiled = Compiled(chess.Board(fen), rule, Behaviour(**options), HASHED, megabytes=8)
    compiled.run(playouts)
    return compiled


def play_best(compiled: Compiled, board: chess.Board) -> tuple[int, str]:
    """The root's most visited move: its node, and its text."""
    visits = compiled.root_visits()
    edge = compiled.block(0)[visits.index(max(visits))]
    line = next(line for line, place in compiled.edges() if place == edge)
    board.push_uci(line)
    return int(compiled.memory.cold["child"][edge]), line


@pytest.mark.parametrize("fen", FENS)
@pytest.mark.parametrize("rule", RULES)
def test_the_played_subtree_becomes_the_tree(rule: str, fen: str) -> None:
    compiled, board = grown(fen, RULES[rule]), chess.Board(fen)
    root_before = compiled.memory.edges["visits"][0]
    node, line = play_best(compiled, board)
    before = {
        key.removeprefix(line).strip(): known for key, known in facts(compiled, node, line).items()
    }
    value = compiled.memory.edges["value"][compiled.memory.nodes["parent_edge"][node]]
    compact(compiled.memory.record, node, 0)
    compiled.stand_at(board)
    check_tree(compiled.memory)
    after = facts(compiled)
    assert len(after) > (10 if COMPILED else 1)
    assert after == {line: known for line, known in before.items() if line in after}
    lost = set(before) - set(after)  # moves below draws that depend on the path: there are none
    assert lost == set()
    assert compiled.memory.edges["value"][0] == value
    assert compiled.memory.edges["visits"][0] < root_before
    assert not np.any(
        compiled.memory.nodes["state"][: compiled.memory.record.nodes_used] == PATH_DRAW
    )
    compiled.run(PLAYOUTS)
    check_tree(compiled.memory)


@pytest.mark.parametrize("least", [1, 2, 5, 40])
@pytest.mark.parametrize("fen", FENS)
def test_pruning_keeps_statistics_and_what_is_visited_often(fen: str, least: int) -> None:
    compiled = grown(fen, Sble())
    before, used = facts(compiled), int(compiled.memory.record.nodes_used)
    compact(compiled.memory.record, 0, least)
    check_tree(compiled.memory)
    assert facts(compiled) == reached_by(before, least)
    if least > 1:
        assert compiled.memory.record.nodes_used < used
    visits = int(compiled.memory.edges["visits"][0])
    compiled.run(PLAYOUTS)
    check_tree(compiled.memory)
    assert compiled.memory.edges["visits"][0] == visits + PLAYOUTS


def test_nothing_happens_to_a_tree_in_order() -> None:
    compiled = grown(MIDDLEGAME, Puct(), prove=0)
    arrays = ("edges", "cold", "nodes")
    before = [getattr(compiled.memory, name).tobytes() for name in arrays]
    compact(compiled.memory.record, 0, 0)
    assert [getattr(compiled.memory, name).tobytes() for name in arrays] == before


def test_a_rerooted_tree_grows_like_the_same_tree_elsewhere() -> None:
    """After re-rooting, sums still hold: new visits are counted on top of the kept ones."""
    compiled, board = grown(MIDDLEGAME, Puct(), prove=0), chess.Board(MIDDLEGAME)
    for _ in range(3):
        node, _ = play_best(compiled, board)
        compact(compiled.memory.record, node, 0)
        compiled.stand_at(board)
        compiled.run(PLAYOUTS)
        check_tree(compiled.memory)
        check_sums(compiled.memory)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] * (seed >= USUAL)) for seed in range(FUZZES)],
)
def test_any_sequence_of_growing_and_cutting(seed: int) -> None:
    generator = random.Random(seed)
    board = chess.Board(generator.choice(FENS))
    rule = generator.choice(list(RULES.values()))
    behaviour = Behaviour(expand_at=generator.choice([1, 2]), prove=generator.choice([0, 1]))
    compiled = Compiled(
        board, rule, behaviour, HASHED, seed, megabytes=generator.choice([0.15, 0.5, 2])
    )
    for _ in range(8):
        outcome = compiled.run(generator.choice([1, 30, 300, PLAYOUTS]))
        check_tree(compiled.memory)
        if outcome == NO_ROOM or generator.random() < 0.3:
            before, least = facts(compiled), generator.choice([2, 3, 10, 1_000])
            compact(compiled.memory.record, 0, least)
            assert facts(compiled) == reached_by(before, least)
        elif generator.random() < 0.4:
            node, _ = play_best(compiled, board)
            if node != NONE and compiled.block(node):
                compact(compiled.memory.record, node, 0)
                compiled.stand_at(board)
            else:
                board.pop()
        check_tree(compiled.memory)


@pytest.mark.slow
@pytest.mark.parametrize("expand_at", [1, 2])
def test_a_full_tree_goes_on_within_its_cap(expand_at: int) -> None:
    cap = 0.25
    behaviour = Behaviour(expand_at=expand_at, prove=0)
    compiled = Compiled(chess.Board(MIDDLEGAME), Puct(), behaviour, HASHED, megabytes=cap)
    rounds = 0
    compiled.control.tickets = 20_000 if COMPILED else 300
    while compiled.work(compiled.context) == NO_ROOM:
        check_tree(compiled.memory)
        make_room(compiled.memory)
        check_tree(compiled.memory)
        assert compiled.memory.permille <= ROOM_WANTED
        compiled.control.full = 0
        rounds += 1
    assert rounds > 3 or not COMPILED
    assert compiled.memory.bytes <= cap * 2**20
    assert compiled.memory.edges["visits"][0] == compiled.context.record.playouts + 1
    assert compiled.control.tickets == 0


def test_a_move_chosen_when_memory_was_full_stays_untried() -> None:
    """Selection takes opened moves for visited ones, so none may stay opened without a visit."""
    compiled = Compiled(chess.Board(MIDDLEGAME), Puct(), Behaviour(), HASHED, megabytes=0.12)
    assert compiled.run(100_000) == NO_ROOM
    make_room(compiled.memory)
    check_tree(compiled.memory)
    for node in range(1, compiled.memory.record.nodes_used):
        block, opened = compiled.block(node), int(compiled.memory.nodes["tried"][node])
        assert np.all(compiled.memory.edges["visits"][block.start : block.start + opened] > 0)


def leaves_no_trace(searches: int, playouts: int) -> None:
    """Search one position again and again in the same memory: always the same bytes."""
    compiled = grown(MIDDLEGAME, Puct(), playouts)
    tree = compiled.memory.record
    edges, nodes = int(tree.edges_used), int(tree.nodes_used)
    first = compiled.memory.edges[:edges].tobytes(), compiled.memory.nodes[:nodes].tobytes()
    for _ in range(searches):
        clear(tree)
        compiled.open_root()
        compiled.run(playouts)
        assert (tree.edges_used, tree.nodes_used, tree.faults) == (edges, nodes, 0)
    last = compiled.memory.edges[:edges].tobytes(), compiled.memory.nodes[:nodes].tobytes()
    assert first == last


def test_searches_leave_nothing_behind() -> None:
    leaves_no_trace(300 if COMPILED else 2, 100 if COMPILED else 20)


@pytest.mark.slow
def test_ten_thousand_searches_leave_nothing_behind() -> None:
    leaves_no_trace(10_000, 400)

"""Several threads in one tree: nothing is counted twice, lost, or left on its way."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import chess
import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.search.mcts.rules.parameters import Behaviour, Contempt, Gumbel, Puct, Rule, Sble
from kibitz.search.mcts.tree import nodes as tree_nodes
from kibitz.search.mcts.tree.context import ContextMemory
from kibitz.search.mcts.tree.memory import compact
from kibitz.search.mcts.tree.nodes import NONE, clear
from tests.search.compiled import Compiled
from tests.search.consistency import check_sums, check_tree, pending, used_nodes
from tests.search.hashed import HASHED

THREADS = 4
MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
MATES = "6k1/5ppp/8/8/8/8/5PPP/1R4K1 b - - 0 1"
RULES: dict[str, Rule] = {
    "puct": Puct(),
    "sble": Sble(),
    "gumbel": Gumbel(0.5, 50.0, 16, 1.0),
    "contempt": Contempt(limit=40),
}


def search_together(
    compiled: Compiled, playouts: int, threads: int = THREADS
) -> list[ContextMemory]:
    """Let threads share the playouts; their contexts."""
    contexts = [ContextMemory(seed) for seed in range(threads)]
    board = compiled.context.positions[:1]
    for context in contexts:
        context.set_line(board)
    compiled.control.tickets = compiled.control.full = 0
    compiled.work(contexts[0])  # compiles or loads the kernel, which the threads would wait for
    compiled.control.tickets = compiled.control.budget = playouts
    together = Barrier(threads)  # or the first is done before the last has begun

    def work(context: ContextMemory) -> int:
        together.wait()
        return compiled.work(context)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, contexts))
    return contexts


@pytest.mark.skipif(not COMPILED, reason="in plain Python the operations are not atomic")
@pytest.mark.parametrize(
    ("expand_at", "accumulate_from"),
    [
        (1, 10),
        (2, Behaviour().accumulate_from),
        pytest.param(2, 10, marks=pytest.mark.slow),
        pytest.param(1, Behaviour().accumulate_from, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_threads_share_a_tree(rule: str, expand_at: int, accumulate_from: int) -> None:
    behaviour = Behaviour(
        shared=tree_nodes.THREADS, prove=0, expand_at=expand_at, accumulate_from=accumulate_from
    )
    compiled = Compiled(chess.Board(MIDDLEGAME), RULES[rule], behaviour, HASHED, megabytes=40)
    contexts = search_together(compiled, 20_000)
    assert compiled.control.tickets == 0
    assert sum(int(context.record.playouts) for context in contexts) == 20_000
    # on few cores one of four may not run at all in the forty milliseconds this takes
    assert sum(int(context.record.playouts) > 0 for context in contexts) > 1
    assert compiled.memory.edges["visits"][0] == 20_001
    check_tree(compiled.memory, crowded=True)
    check_sums(compiled.memory)


@pytest.mark.skipif(not COMPILED, reason="in plain Python the operations are not atomic")
@pytest.mark.parametrize("rule", RULES)
def test_threads_prove_mates(rule: str) -> None:
    behaviour = Behaviour(
        shared=tree_nodes.THREADS, clear_losses=1, draw_sibling=1, accumulate_from=100
    )
    compiled = Compiled(chess.Board(MATES), RULES[rule], behaviour, HASHED, megabytes=40)
    search_together(compiled, 20_000)
    assert compiled.memory.edges["visits"][0] == 20_001
    check_tree(compiled.memory, crowded=True)


@pytest.mark.parametrize("fen", [MIDDLEGAME, MATES])
@pytest.mark.parametrize("rule", RULES)
def test_one_thread_in_a_shared_tree_does_what_it_would_do_alone(rule: str, fen: str) -> None:
    def grown(shared: int) -> Compiled:
        behaviour = Behaviour(shared=shared, draw_sibling=1)
        compiled = Compiled(chess.Board(fen), RULES[rule], behaviour, HASHED)
        compiled.run(3_000 if COMPILED else 40)
        return compiled

    alone, sharing = grown(tree_nodes.NOBODY), grown(tree_nodes.BATCHES)
    assert alone.memory.record.edges_used == sharing.memory.record.edges_used
    assert np.array_equal(alone.memory.edges, sharing.memory.edges)
    assert np.array_equal(alone.memory.cold, sharing.memory.cold)


@pytest.mark.skipif(not COMPILED, reason="in plain Python the operations are not atomic")
def test_replies_frozen_by_threads_are_those_tried_so_far() -> None:
    limit = 50
    rule, behaviour = Contempt(limit=limit), Behaviour(shared=tree_nodes.THREADS, prove=0)
    compiled = Compiled(chess.Board(MIDDLEGAME), rule, behaviour, HASHED, megabytes=40)
    search_together(compiled, 20_000)
    memory, totals = compiled.memory, []
    for node in np.flatnonzero(memory.nodes["freezing"]):
        block = compiled.block(int(node))
        totals.append(int(memory.cold["frozen"][block.start : block.stop].sum()))
    assert len(totals) > 20
    # While one thread writes the counts down, visits of other threads may come and go: one each,
    # more only where the writer loses its processor in between.
    totals.sort()
    assert totals[len(totals) // 2] - limit in range(THREADS)
    near = [total for total in totals if abs(total - limit) < THREADS]
    assert len(near) > 0.9 * len(totals)


DEBUG = """
from tests.search.test_threads import RULES, bounds_checked_searches
print(sum(bounds_checked_searches(RULES[name], {searches}, {playouts}) for name in {rules}))
"""


def bounds_checked_searches(rule: Rule, searches: int, playouts: int) -> int:
    """Short searches by two threads in one tree; how often an index was out of bounds."""
    behaviour = Behaviour(
        shared=tree_nodes.THREADS,
        clear_losses=1,
        draw_sibling=1,
        rule50_scaling=1.0,
        accumulate_from=20,
    )
    boards = [chess.Board(MIDDLEGAME), chess.Board(MATES)]
    compiled, faults = Compiled(boards[0], rule, behaviour, HASHED), 0
    for search in range(searches):
        clear(compiled.memory.record)
        compiled.stand_at(boards[search % 2])
        compiled.open_root()
        contexts = search_together(compiled, playouts, threads=2)
        faults += sum(int(context.record.faults) for context in contexts)
        assert compiled.memory.edges["visits"][0] == playouts + 1
        assert pending(compiled.memory) == 0
    return faults + int(compiled.memory.record.faults)


def in_debug_build(rules: list[str], searches: int, playouts: int) -> str:
    """What `bounds_checked_searches` finds in a process of its own."""
    root = str(Path(__file__).parents[2])
    paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    script = DEBUG.format(rules=rules, searches=searches, playouts=playouts)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"KIBITZ_BOUNDSCHECK": "1", "PYTHONPATH": paths},
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="checks of bounds are compiled in")
def test_a_debug_build_finds_no_access_out_of_bounds() -> None:
    assert in_debug_build(["contempt"], searches=40, playouts=400) == "0"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="checks of bounds are compiled in")
def test_ten_thousand_searches_in_a_debug_build() -> None:
    assert in_debug_build(list(RULES), searches=2_500, playouts=300) == "0"


@pytest.mark.skipif(not COMPILED, reason="in plain Python the operations are not atomic")
@pytest.mark.parametrize("least", [0, 3])
def test_what_threads_have_grown_can_be_compacted(least: int) -> None:
    """Threads take nodes for themselves, so that children stand before parents, and gaps remain."""
    behaviour = Behaviour(shared=tree_nodes.THREADS)
    compiled = Compiled(chess.Board(MIDDLEGAME), Puct(), behaviour, HASHED, megabytes=40)
    search_together(compiled, 20_000)
    memory = compiled.memory
    cold, nodes = memory.cold, memory.nodes
    used = used_nodes(memory)
    parents = {
        int(cold["child"][edge]): node
        for node in used
        for edge in range(compiled.block(node).start, compiled.block(node).stop)
        if cold["child"][edge] != NONE
    }
    # Played is a move below which a node stands before the one that the move leads to.
    chosen = max(parents[node] for node in used if node and parents[node] > node)
    above = int(nodes["parent_edge"][chosen])
    visits, raw = int(memory.edges["visits"][above]), float(nodes["raw"][chosen])
    compact(memory.record, chosen, least)
    check_tree(memory)
    assert len(used_nodes(memory)) == memory.record.nodes_used  # no gaps are left
    assert (int(memory.edges["visits"][0]), float(memory.nodes["raw"][0])) == (visits, raw)
    if least == 0:
        context = compiled.context.record
        assert memory.record.nodes_used < len(used)
        assert context.layout != memory.record.layout

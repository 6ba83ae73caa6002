"""Search-contempt: when replies freeze, how they are sampled, and what it is when it is off."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.search.mcts.rules.parameters import Behaviour, Contempt, Puct, Rule, Sble
from kibitz.search.mcts.rules.select import FROZEN
from kibitz.search.mcts.tree.nodes import set_proof
from tests.search.compiled import Compiled
from tests.search.hashed import HASHED

stats = pytest.importorskip("scipy.stats")

MIDDLEGAME = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"
PLAYOUTS = 20_000 if COMPILED else 60
LIMIT = 40 if COMPILED else 3
LEAST_EXPECTED = 8.0  # samples of a reply, below which a chi-square test means little


def grown(rule: Rule, playouts: int = PLAYOUTS, seed: int = 1) -> Compiled:
    behaviour = Behaviour(prove=0)
    compiled = Compiled(chess.Board(MIDDLEGAME), rule, behaviour, HASHED, seed, megabytes=40)
    compiled.run(playouts)
    return compiled


def depths(compiled: Compiled) -> dict[int, int]:
    """Plies below the root of every node."""
    cold = compiled.memory.cold["child"]
    found = {int(cold[edge]): len(line.split()) for line, edge in compiled.edges()}
    return found | {0: 0}


def shares(compiled: Compiled, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Visits of a node's replies when frozen, and since; int64 [replies]."""
    block = compiled.block(node)
    frozen = compiled.memory.cold["frozen"][block.start : block.stop].astype(np.int64)
    visits = compiled.memory.edges["visits"][block.start : block.stop].astype(np.int64)
    return frozen, visits - frozen


def busiest(compiled: Compiled) -> int:
    """The frozen node with the most visits."""
    memory = compiled.memory
    nodes = np.flatnonzero(memory.nodes["freezing"] == FROZEN)
    visits = memory.edges["visits"][memory.nodes["parent_edge"][nodes]]
    return int(nodes[np.argmax(visits)])


def probability(since: np.ndarray, weights: np.ndarray) -> float:
    """Chance of samples at least as uneven as these (chi-square); rare replies are pooled."""
    expected = since.sum() * weights / weights.sum()
    often = expected >= LEAST_EXPECTED
    assert often.sum() >= 3
    pooled = [np.append(x[often], x[~often].sum() + 1e-9) for x in (since, expected)]
    return float(stats.chisquare(pooled[0], pooled[1]).pvalue)


@pytest.mark.parametrize("inner", [Puct(), Sble()], ids=["puct", "sble"])
def test_off_it_is_the_rule_it_wraps(inner: Puct | Sble) -> None:
    bare, wrapped = grown(inner), grown(Contempt(inner))
    assert bare.memory.nodes.tobytes() == wrapped.memory.nodes.tobytes()
    visited = dict(bare.edges())
    assert visited == dict(wrapped.edges())
    places = [*visited.values()]
    for name in ("edges", "cold"):
        arrays = (getattr(tree.memory, name)[places] for tree in (bare, wrapped))
        assert len({array.tobytes() for array in arrays}) == 1


@pytest.mark.parametrize("parity", [1, 0])
def test_only_one_side_freezes_and_at_the_exact_count(parity: int) -> None:
    """Parity 1 freezes the opponent's replies, parity 0 (negative contempt) one's own."""
    compiled = grown(Contempt(limit=LIMIT, parity=parity))
    memory, at = compiled.memory, depths(compiled)
    frozen = np.flatnonzero(memory.nodes["freezing"])
    assert len(frozen) > 3 or not COMPILED
    for node in frozen.tolist():
        assert memory.nodes["freezing"][node] == FROZEN
        assert at[node] % 2 == parity
        assert at[node] > 0
        assert shares(compiled, node)[0].sum() == LIMIT
    for node, depth in at.items():
        below = int(memory.edges["visits"][memory.nodes["parent_edge"][node]]) - 1
        if depth % 2 == parity and depth and below > LIMIT:
            assert memory.nodes["freezing"][node] == FROZEN


@pytest.mark.skipif(not COMPILED, reason="takes many samples")
@pytest.mark.parametrize("temperature", [1.0, 2.5, 0.5])
def test_replies_are_sampled_as_they_were_frozen(temperature: float) -> None:
    compiled = grown(Contempt(limit=LIMIT, temperature=temperature))
    frozen, since = shares(compiled, busiest(compiled))
    assert since.sum() > 500
    assert since[frozen == 0].sum() <= 1  # the visit that found the limit reached still searched
    weights = frozen ** (1 / temperature)
    assert probability(since, weights) > 1e-3
    other = frozen ** (1.0 if temperature != 1 else 0.5)
    assert probability(since, other) < 1e-6


@pytest.mark.skipif(not COMPILED, reason="takes many samples")
def test_replies_unvisited_at_freezing_may_be_admitted() -> None:
    compiled = grown(Contempt(limit=LIMIT, admit=1))
    node = busiest(compiled)
    frozen, since = shares(compiled, node)
    block = compiled.block(node)
    priors = (compiled.memory.edges["prior"][block.start : block.stop] + 1.0) / 65536
    expected = since.sum() * np.where(frozen > 0, frozen, priors)
    expected /= np.where(frozen > 0, frozen, priors).sum()
    untried = frozen == 0
    assert since[untried].sum() > 0
    assert since[untried].sum() == pytest.approx(expected[untried].sum(), rel=0.5, abs=4)


@pytest.mark.parametrize("prefer", [1, 0])
def test_a_proven_reply_is_preferred_and_a_losing_one_avoided(prefer: int) -> None:
    rule = Contempt(limit=LIMIT, prefer_proven=prefer)
    compiled = grown(rule, PLAYOUTS // 4 if COMPILED else PLAYOUTS)
    if not COMPILED:
        return
    node = busiest(compiled)
    frozen, _ = shares(compiled, node)
    block = compiled.block(node)
    best, second = (block[place] for place in np.argsort(-frozen)[:2].tolist())

    def samples() -> tuple[int, int, int]:
        visits = compiled.memory.edges["visits"]
        before = visits.copy()
        compiled.run(PLAYOUTS // 4)
        change = visits.astype(np.int64) - before
        return int(change[best]), int(change[second]), int(change[block.start : block.stop].sum())

    set_proof(compiled.memory.record, best, -10, False)
    first, _, total = samples()
    assert total > 20
    assert (first == 0) == bool(prefer)
    set_proof(compiled.memory.record, second, 11, False)
    _, found, total = samples()
    assert total > 20
    assert (found == total) == bool(prefer)


def test_the_same_seed_grows_the_same_tree() -> None:
    first, second, other = (grown(Contempt(limit=LIMIT), seed=seed) for seed in (5, 5, 6))
    used = int(first.memory.record.edges_used)
    assert used == second.memory.record.edges_used
    assert first.memory.edges[:used].tobytes() == second.memory.edges[:used].tobytes()
    assert first.context.record.random_state == second.context.record.random_state
    if COMPILED:
        assert first.memory.edges[:used].tobytes() != other.memory.edges[:used].tobytes()

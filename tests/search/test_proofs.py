"""Proofs: distances that a solver confirms, and what a proof does to values, priors and samples."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import pytest

from kibitz.jit.compile import COMPILED
from kibitz.nets.evaluators.inline import Material
from kibitz.search.mcts.rules.parameters import Behaviour, Puct, Rule, Sble
from kibitz.search.mcts.tree.nodes import (
    COLD,
    EDGE,
    LOSS_PRIOR_DIVISOR,
    NODE,
    NONE,
    TERMINAL,
    TreeMemory,
    proof_from_children,
    set_proof,
)
from kibitz.search.proof import AT_LEAST_DRAW, AT_MOST_DRAW, DRAW, UNPROVED
from tests.search.compiled import Compiled

# Position and plies until mate: positive if the side to move mates, negative if it is mated.
MATES = {
    "6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1": 1,
    "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1": 1,
    "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1": 3,
    "7k/R7/8/8/8/8/1R6/6K1 b - - 0 1": -2,
    "k1K5/8/8/8/8/8/1Q6/8 b - - 0 1": 0,  # stalemate in all but name: a draw
}
RULES: dict[str, Rule] = {"puct": Puct(), "sble": Sble()}
PLAYOUTS = 40_000 if COMPILED else 60
RICH = "2r3k1/5ppp/8/8/8/8/1q3PPP/1R4K1 w - - 0 1"


def mates_within(board: chess.Board, plies: int) -> bool:
    """Whether the side to move forces mate in so many plies, by trying everything."""
    if plies <= 0:
        return False
    for move in board.legal_moves:
        board.push(move)
        mated = board.is_checkmate() or (plies > 2 and is_mated_within(board, plies - 1))
        board.pop()
        if mated:
            return True
    return False


def is_mated_within(board: chess.Board, plies: int) -> bool:
    """Whether the side to move is mated in so many plies whatever it does."""
    if board.is_checkmate():
        return True
    moves = list(board.legal_moves)
    if not moves or plies < 2:
        return False
    for move in moves:
        board.push(move)
        lost = mates_within(board, plies - 1)
        board.pop()
        if not lost:
            return False
    return True


def grown(fen: str, rule: Rule, behaviour: Behaviour, playouts: int = PLAYOUTS) -> Compiled:
    compiled = Compiled(chess.Board(fen), rule, behaviour, Material(), megabytes=30)
    compiled.run(playouts)
    return compiled


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("fen", [fen for fen, plies in MATES.items() if plies])
def test_known_mates_are_proved_at_their_distance(fen: str, rule: str) -> None:
    compiled = grown(fen, RULES[rule], Behaviour(descend_proven=1))
    plies = MATES[fen]
    proved = int(compiled.memory.cold["proof"][0])  # for the player who moved into the root
    assert proved == (-plies - 1 if plies > 0 else -plies + 1)


@pytest.mark.parametrize("fen", [*MATES, RICH])
def test_no_proof_is_too_good(fen: str) -> None:
    if not chess.Board(fen).legal_moves:
        return
    compiled, proofs = grown(fen, Puct(), Behaviour(), min(PLAYOUTS, 2_000)), 0
    for line, edge in compiled.edges():
        proof = int(compiled.memory.cold["proof"][edge])
        if proof in (0, DRAW) or abs(proof) > 3 or len(line.split()) > 3 or proofs == 100:
            continue
        board = chess.Board(fen)
        for move in line.split():
            board.push_uci(move)
        proofs += 1
        forced = is_mated_within if proof > 0 else mates_within
        assert forced(board, abs(proof) - 1 if proof > 0 else -proof - 1), (line, proof)
    assert proofs > 0 or not COMPILED


@pytest.mark.skipif(not COMPILED, reason="takes too many playouts")
@pytest.mark.parametrize("rule", ["puct", "sble"])
def test_proving_needs_fewer_playouts_than_not_proving(rule: str) -> None:
    """Playouts until the root is known to be winning; a proof shows at once, averages lag."""

    def needed(prove: int) -> int:
        board = chess.Board("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1")
        compiled, step = Compiled(board, RULES[rule], Behaviour(prove=prove), Material()), 20
        for playouts in range(step, 20_000, step):
            compiled.run(step)
            if compiled.memory.edges["value"][0] < -0.9:
                return playouts
        return 20_000

    assert needed(1) < min(0.7 * needed(0), 10_000)


def test_a_proved_move_is_worth_its_proof_at_once() -> None:
    compiled = grown(RICH, Puct(), Behaviour(), 300 if COMPILED else 40)
    visits = compiled.root_visits()
    edge = compiled.block(0)[visits.index(max(visits))]
    tree, edges = compiled.memory.record, compiled.memory.edges
    for proof, value in [(7, 1.0), (-4, -1.0), (DRAW, 0.0)]:
        assert set_proof(tree, edge, proof, False)
        assert edges["value"][edge] == value
        assert not set_proof(tree, edge, proof, False)
    before = int(edges["visits"][edge])
    compiled.run(200 if COMPILED else 40)
    assert edges["visits"][edge] > before
    assert edges["value"][edge] == 0.0


@pytest.mark.parametrize("clear_losses", [0, 1])
def test_a_first_loss_divides_the_prior_by_a_thousand(clear_losses: int) -> None:
    board = chess.Board("7k/8/5K2/8/8/8/8/6Q1 b - - 0 1")
    compiled = Compiled(board, Puct(), Behaviour(clear_losses=clear_losses), Material())
    before = compiled.memory.edges["prior"].copy()
    compiled.run(300)
    block = compiled.block(0)
    lost = [edge for edge in block if compiled.memory.cold["proof"][edge] < 0]
    assert lost
    divisor = LOSS_PRIOR_DIVISOR if clear_losses else 1
    assert LOSS_PRIOR_DIVISOR == 1000
    for edge in block:
        expected = int(before[edge]) // divisor if edge in lost else int(before[edge])
        assert compiled.memory.edges["prior"][edge] == expected
    shorter = int(compiled.memory.edges["prior"][lost[0]])
    set_proof(compiled.memory.record, lost[0], -200, True)  # a loss already: not divided again
    assert compiled.memory.edges["prior"][lost[0]] == shorter


@pytest.mark.parametrize(
    ("bound", "clamp"), [(AT_LEAST_DRAW, (0.0, 1.0)), (AT_MOST_DRAW, (-1.0, 0.0))]
)
def test_a_bound_clamps_what_is_backed_up(bound: int, clamp: tuple[float, float]) -> None:
    """The search goes on below a bound; its move is never worth more, or less, than that."""
    compiled = Compiled(chess.Board(), Puct(), Behaviour(), Material())
    compiled.run(300 if COMPILED else 40)
    memory, block = compiled.memory, compiled.block(0)
    edge = max(block, key=lambda place: int(memory.edges["visits"][place]))
    memory.edges["value"][edge] = -0.5 if bound == AT_LEAST_DRAW else 0.5
    assert set_proof(memory.record, edge, bound, True)
    assert memory.edges["value"][edge] == 0.0
    below, prior = int(memory.record.nodes_used), int(memory.edges["prior"][edge])
    for _ in range(200 if COMPILED else 20):
        compiled.run(1)
        assert clamp[0] <= memory.edges["value"][edge] <= clamp[1]
    assert memory.record.nodes_used > below
    assert memory.cold["proof"][edge] == bound
    assert not set_proof(memory.record, edge, bound, True)
    assert set_proof(memory.record, edge, -bound, True)  # the two bounds meet
    assert memory.cold["proof"][edge] == DRAW
    assert not set_proof(memory.record, edge, bound, True)
    assert memory.edges["prior"][edge] == prior  # a bound is no loss


@pytest.mark.parametrize(
    ("replies", "proof"),
    [
        ((0, 0), UNPROVED),
        ((DRAW, 0), AT_MOST_DRAW),  # the opponent may draw
        ((AT_LEAST_DRAW, 0), AT_MOST_DRAW),
        ((AT_MOST_DRAW, AT_MOST_DRAW), AT_LEAST_DRAW),  # the opponent cannot win
        ((AT_MOST_DRAW, -4), AT_LEAST_DRAW),
        ((AT_MOST_DRAW, DRAW), DRAW),
        ((AT_MOST_DRAW, 0), UNPROVED),
        ((AT_MOST_DRAW, 3), -4),
        ((AT_LEAST_DRAW, -4), AT_MOST_DRAW),
        ((DRAW, -4), DRAW),
        ((-2, -4), 5),
    ],
)
def test_what_replies_prove(
    handmade: Any, reply: Any, replies: tuple[int, int], proof: int
) -> None:
    tree = handmade("7k/8/8/8/8/8/8/K7 w - - 0 1", 9).plant("", [reply("a1a2", 5)])
    moves = zip(("h8h7", "h8g8"), replies, strict=True)
    tree.plant("a1a2", [reply(move, 1, 0.1, proof=known) for move, known in moves])
    node = int(tree.memory.cold["child"][tree.edges["a1a2"]])
    assert proof_from_children(tree.memory.record, node) == proof


def test_an_ancestor_samples_the_proof_and_not_the_leaf() -> None:
    """A visit that ends below a proved move counts as what is proved, from there up."""
    behaviour = Behaviour(descend_proven=1, prove=1)
    compiled = grown(RICH, Puct(), behaviour, 400 if COMPILED else 60)
    memory = compiled.memory
    block = compiled.block(0)
    edge = max(block, key=lambda place: int(memory.edges["visits"][place]))
    set_proof(memory.record, edge, 9, False)
    before, weight = float(memory.edges["value"][0]), int(weights_of(memory)[0])
    compiled.run(1)
    if memory.edges["visits"][edge]:
        after = before + (-1.0 - before) / (weight + 1)
        assert memory.edges["value"][0] == pytest.approx(after)


def test_a_first_drawn_sample_is_forgiven() -> None:
    """The parent and those above it get the visit, not the value; siblings get the root's."""
    fen = "8/8/8/4k3/3r4/8/3K4/8 w - - 0 1"  # a rook that White may take
    behaviour = Behaviour(draw_sibling=1, expand_at=1)
    compiled = Compiled(chess.Board(fen), Sble(), behaviour, Material())
    memory, seen = compiled.memory, 0
    for _ in range(2_000 if COMPILED else 60):
        nodes, visits = int(memory.record.nodes_used), int(memory.edges["visits"][0])
        root_value, weights = float(memory.edges["value"][0]), weights_of(memory)
        compiled.run(1)
        fresh = memory.record.nodes_used > nodes and memory.nodes["state"][nodes] == TERMINAL
        if not fresh or memory.nodes["raw"][nodes] != 0:
            continue
        parent = parent_of(memory, nodes)
        if parent == 0:
            assert np.isnan(memory.nodes["fpu"][0])
            continue
        seen += 1
        assert memory.edges["visits"][0] == visits + 1
        assert memory.edges["value"][0] == root_value
        assert weights_of(memory)[0] == weights[0]
        assert weights_of(memory)[nodes] == 1
        assert abs(memory.nodes["fpu"][parent]) <= 1
    assert seen > 0 or not COMPILED


def weights_of(memory: TreeMemory) -> np.ndarray:
    """Samples in the mean of every node, int64 [nodes]."""
    visits = memory.edges["visits"][memory.nodes["parent_edge"]].astype(np.int64)
    found: np.ndarray = visits - memory.nodes["excluded"].astype(np.int64)
    return found


def parent_of(memory: TreeMemory, node: int) -> int:
    """The node a node's move starts from."""
    above = int(memory.nodes["parent_edge"][node])
    for owner in range(memory.record.nodes_used):
        first, count = int(memory.nodes["first"][owner]), int(memory.nodes["count"][owner])
        if first != NONE and first <= above < first + count:
            return owner
    raise AssertionError("no parent")


@pytest.mark.parametrize("fen", [chess.STARTING_FEN, RICH])
def test_selective_backup_weighs_less_than_visits(fen: str) -> None:
    """Threshold 2 believes everything, the usual one does not; leaves are always believed."""
    wide = Sble(linear_rate=9.0, linear_delay=30.0)
    playouts = 2_000 if COMPILED else 60

    def excluded(threshold: float) -> int:
        rule = wide._replace(backup_threshold=threshold)
        compiled = grown(fen, rule, Behaviour(prove=0), playouts)
        used = compiled.memory.record.nodes_used
        above = compiled.memory.nodes["parent_edge"][:used]
        visits = compiled.memory.edges["visits"][above].astype(int)
        excluded = compiled.memory.nodes["excluded"][:used].astype(int)
        assert np.all(excluded < visits)
        return int(excluded.sum())

    assert excluded(2.0) == 0
    assert excluded(0.02) > 0 or not COMPILED


def test_an_edge_is_compact() -> None:
    """Selection reads 16 bytes an edge; all of a move that was never visited is 32 bytes.

    No record lies in two lines of the cache.
    """
    assert EDGE.itemsize == 16
    assert COLD.itemsize == 16
    assert NODE.itemsize == 32
    memory = TreeMemory(3.0)
    arrays = (memory.edges, memory.cold, memory.nodes, memory.moved, memory.shared)
    assert sum(array.nbytes for array in arrays) == memory.bytes
    assert 2.99 * 2**20 < memory.bytes <= 3.0 * 2**20

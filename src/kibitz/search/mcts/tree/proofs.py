"""How proofs are backed up through the tree; search/proof.py says what a proof is."""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.search.mcts.tree.nodes import (
    EXPANDED,
    HEADER_MOVE,
    cold_at,
    edge_at,
    edges_of,
    node_at,
)
from kibitz.search.proof import (
    AT_LEAST_DRAW,
    AT_MOST_DRAW,
    DRAW,
    UNPROVED,
    answer_to,
    bounded,
    is_settled,
    loses,
    rank_of,
    wins,
)

LOSS_PRIOR_DIVISOR = 1000


@kernel
def proof_from_children(tree: np.record, node: int) -> int:
    """What the replies prove about the move into `node`; UNPROVED if they prove nothing yet."""
    record = node_at(tree, node)
    if record.state != EXPANDED:
        return UNPROVED
    first, best = signed(record.first), UNPROVED
    edges = edges_of(tree, node)
    complete, may_win, may_draw = edges == signed(record.count), False, False
    for edge in range(first, first + edges):
        proof = signed(cold_at(tree, edge).proof)
        if not is_settled(proof):
            complete = False
            may_win = may_win or proof != AT_MOST_DRAW
            may_draw = may_draw or proof == AT_LEAST_DRAW
        elif best == UNPROVED or rank_of(proof) > rank_of(best):
            best = proof
    if wins(best) or (best != UNPROVED and complete):
        return answer_to(best)
    may_draw = may_draw or best == DRAW
    if edges == signed(record.count) and not may_win:
        return DRAW if may_draw else AT_LEAST_DRAW
    return AT_MOST_DRAW if may_draw else UNPROVED


@kernel
def set_proof(tree: np.record, edge: int, proof: int, clear_losses: bool) -> bool:
    """Record a proof or a bound that says more than the one before; returns whether it does.

    From then on the edge is worth what is proved, whatever its visits averaged before. Two bounds
    that meet are a draw.
    """
    before = signed(cold_at(tree, edge).proof)
    if before == proof or (is_settled(before) and not is_settled(proof)):
        return False
    if not is_settled(proof) and before != UNPROVED:
        proof = DRAW
    cold_at(tree, edge).proof = proof
    edge_at(tree, edge).value = bounded(proof, edge_at(tree, edge).value)
    if clear_losses and loses(proof) and not is_settled(before):
        edge_at(tree, edge).prior = edge_at(tree, edge).prior // LOSS_PRIOR_DIVISOR
    return True


@kernel
def climb(tree: np.record, edge: int, clear_losses: bool) -> None:
    """After `edge` got a proof, prove what follows from it, up to the root's own edge."""
    while edge != 0:
        parent = owner_of(tree, edge)
        above = signed(node_at(tree, parent).parent_edge)
        proof = proof_from_children(tree, parent)
        if proof == UNPROVED or not set_proof(tree, above, proof, clear_losses):
            return
        edge = above


@kernel
def owner_of(tree: np.record, edge: int) -> int:
    """The node an edge starts from, by walking back to its block's header."""
    while not is_header(tree, edge):
        edge -= 1
    return signed(cold_at(tree, edge).child)


@kernel
def is_header(tree: np.record, edge: int) -> bool:
    """Whether a slot is the header of a block (its move is HEADER_MOVE)."""
    return cold_at(tree, edge).move == HEADER_MOVE

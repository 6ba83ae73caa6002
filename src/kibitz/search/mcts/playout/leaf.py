"""Third verb, evaluate: what kind of leaf it is, and how the evaluator's value is adjusted."""

from __future__ import annotations

import math

import numpy as np

from kibitz.kernel.atomics import atomic_add
from kibitz.kernel.bits import popcount, signed
from kibitz.kernel.compile import kernel
from kibitz.position.outcome import (
    FIFTY_PLIES,
    has_legal_move,
    insufficient_material,
    search_repetition,
)
from kibitz.position.state import checkers, copy_position
from kibitz.search.mcts.tree.context import QUESTIONS, position_at, question_at
from kibitz.search.mcts.tree.nodes import LEAF, PATH_DRAW, TERMINAL, cold_at, edge_at, node_at
from kibitz.search.proof import DRAW, UNPROVED

MATED = 1  # proof of the move that mates: won in one ply

# ChessCoach's scale of non-pawn material, clamped before it is used; the start position has 16604.
KNIGHT_WEIGHT, BISHOP_WEIGHT, ROOK_WEIGHT, QUEEN_WEIGHT = 781, 825, 1276, 2538
ENDGAME_MATERIAL, FULL_MATERIAL = 3_915, 15_258
RULE50_DIVISOR = 151.0


@kernel
def classify(context: np.record, depth: int) -> tuple[int, int]:
    """(state, proof of the move into it) of a leaf.

    Draws by the 50-move rule and by repetition depend on the path and are never proofs.
    """
    position = position_at(context, depth)
    if not has_legal_move(position):
        return TERMINAL, MATED if checkers(position) else DRAW
    if insufficient_material(position):
        return TERMINAL, DRAW
    rule50 = signed(position.rule50)
    if rule50 >= FIFTY_PLIES:
        return PATH_DRAW, UNPROVED
    earlier = context.history + depth
    if rule50 >= 4 and search_repetition(context.keys, earlier, rule50, position.key, depth):
        return PATH_DRAW, UNPROVED
    return LEAF, UNPROVED


@kernel
def value_of_end(proof: int) -> tuple[float, float]:
    """Value and probability of a draw of a game that is over, lost if the move into it mates."""
    return (-1.0, 0.0) if proof == MATED else (0.0, 1.0)


@kernel
def non_pawn_material(position: np.record) -> int:
    """Both sides' pieces on ChessCoach's scale."""
    total = KNIGHT_WEIGHT * popcount(position.knights) + BISHOP_WEIGHT * popcount(position.bishops)
    return total + ROOK_WEIGHT * popcount(position.rooks) + QUEEN_WEIGHT * popcount(position.queens)


@kernel
def rule50_factor(material: int, rule50: int) -> float:
    """By how much a value shrinks towards a draw as the 50-move rule comes nearer."""
    clamped = min(max(material, ENDGAME_MATERIAL), FULL_MATERIAL)
    share = (FULL_MATERIAL - clamped) / (FULL_MATERIAL - ENDGAME_MATERIAL)
    return 1.0 - share * rule50 / RULE50_DIVISOR


@kernel
def adjusted(behaviour: np.record, position: np.record, value: float) -> float:
    """The evaluator's value after the 50-move scaling, if it is on."""
    if behaviour.rule50_scaling == 0.0:
        return value
    factor = rule50_factor(non_pawn_material(position), signed(position.rule50))
    return value * (1.0 - behaviour.rule50_scaling * (1.0 - factor))


@kernel
def forgive_drawn_sibling(tree: np.record, context: np.record, depth: int) -> None:
    """Keep a drawn first visit out of the means, and value its untried siblings as the root.

    A draw is the end of a game or a repetition; a value of 0 from the evaluator is not. One early
    draw would hide the other moves where untried ones start as losses. The first draw decides; the
    root's own moves never start as losses.
    """
    context.trust[depth] = 0
    parent = signed(cold_at(tree, context.path[depth - 1]).child)
    if depth == 1 or not math.isnan(node_at(tree, parent).fpu):
        return
    root_value = edge_at(tree, 0).value  # for the player who is not to move at the root
    node_at(tree, parent).fpu = root_value if (depth - 1) % 2 == 1 else -root_value


@kernel
def queue_probe(context: np.record, position: np.record, edge: int, depth: int) -> None:
    """Queue a position for the tablebases, if they may have it; Python probes them."""
    if depth < context.table_depth:
        return
    if popcount(position.own | position.their) > context.table_pieces:
        return
    if position.castling or context.asked - context.answered >= QUESTIONS:
        return
    place = context.asked % QUESTIONS
    copy_position(position, question_at(context, place))
    context.asking[place] = edge
    atomic_add(context, "asked", 1)

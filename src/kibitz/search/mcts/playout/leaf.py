"""Evaluate, the third step of a playout: what kind of leaf it is, and how its value is adjusted.

Values may be shared between transpositions. A position is often reached by several orders of the
same moves. Each has a node of its own, but a new one need not begin with the evaluator's value: it
begins with the average that the search has found for the position so far. One table of positions
takes a small share of the tree's memory, always keeps the last value, and forgets with the tree.
Values of positions near the fifty-move rule are not shared.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.jit.atomics import atomic_add
from kibitz.jit.bits import popcount, signed
from kibitz.jit.compile import kernel
from kibitz.position.outcome import (
    FIFTY_PLIES,
    has_legal_move,
    insufficient_material,
    search_repetition,
)
from kibitz.position.state import checkers, copy_position
from kibitz.search.mcts.tree.context import QUESTIONS, position_at, question_at
from kibitz.search.mcts.tree.nodes import (
    LEAF,
    PATH_DRAW,
    TERMINAL,
    cold_at,
    edge_at,
    known_at,
    node_at,
)
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


# --- values shared between transpositions ---------------------------------------------------------


LATEST = 60  # plies since a capture or pawn move from which on values depend on that number
ONE, DRAWN = 32_767, 65_535  # a value of 1, a probability of a draw of 1
CHECKED = np.uint64(0xFFFF_FFFF_0000_0000)  # bits of a key that an entry repeats


@kernel
def _check(tree: np.record, key: np.uint64) -> np.uint64:
    """The upper half of an entry; what was stored before the tree was cleared never fits."""
    return (key ^ (np.uint64(tree.age) * np.uint64(0x9E37_79B9_7F4A_7C15))) & CHECKED


@kernel
def _place(tree: np.record, key: np.uint64) -> int:
    return signed(key & np.uint64(tree.known_size - 1))


@kernel
def recall(tree: np.record, position: np.record) -> tuple[bool, float, float]:
    """(known, value for the side to move, probability of a draw)."""
    if signed(position.rule50) >= LATEST:
        return False, 0.0, 0.0
    entry = known_at(tree, _place(tree, position.key)).entry
    if entry & CHECKED != _check(tree, position.key):
        return False, 0.0, 0.0
    value, draw = signed(entry) >> 16 & 0xFFFF, signed(entry) & 0xFFFF
    return True, (value - ONE) / ONE, draw / DRAWN


@kernel
def remember(tree: np.record, context: np.record, depth: int) -> None:
    """Store the values of the positions along the path, all but the root's."""
    for ply in range(1, depth + 1):
        position, edge = position_at(context, ply), context.path[ply]
        node = node_at(tree, signed(cold_at(tree, edge).child))
        if signed(position.rule50) < LATEST and node.state != PATH_DRAW:
            value = math.floor(ONE - edge_at(tree, edge).value * ONE + 0.5)
            draw = math.floor(min(float(node.draw), 1.0) * DRAWN + 0.5)
            key = position.key
            shared = known_at(tree, _place(tree, key))
            shared.entry = _check(tree, key) | np.uint64(value << 16 | draw)

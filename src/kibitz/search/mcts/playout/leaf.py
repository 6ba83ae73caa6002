"""The end of a playout: what a leaf is worth, and backing it up."""

from __future__ import annotations

import math

import numpy as np

from kibitz.jit.atomics import atomic_add, swap_words
from kibitz.jit.bits import popcount, signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.position.outcome import (
    FIFTY_PLIES,
    has_legal_move,
    insufficient_material,
    search_repetition,
)
from kibitz.position.state import checkers, copy_position
from kibitz.search.mcts.tree.context import QUESTIONS, SUMS, position_at, question_at
from kibitz.search.mcts.tree.nodes import (
    ARRIVAL,
    LEAF,
    PATH_DRAW,
    TERMINAL,
    cold_at,
    edge_at,
    edge_words_at,
    node_at,
    shared_at,
)
from kibitz.search.proof import DRAW, UNPROVED, bounded, is_settled

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
    if position.castling or context.queued - context.answered >= QUESTIONS:
        return
    place = context.queued % QUESTIONS
    copy_position(position, question_at(context, place))
    context.asking[place] = edge
    atomic_add(context, "queued", 1)


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
    return signed(key & np.uint64(tree.shared_size - 1))


@kernel
def recall(tree: np.record, position: np.record) -> tuple[bool, float, float]:
    """(known, value for the side to move, probability of a draw)."""
    if signed(position.rule50) >= LATEST:
        return False, 0.0, 0.0
    entry = shared_at(tree, _place(tree, position.key)).entry
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
            shared = shared_at(tree, _place(tree, key))
            shared.entry = _check(tree, key) | np.uint64(value << 16 | draw)


# --- backing up -----------------------------------------------------------------------------------
#
# Back up, the fourth step of a playout: carry a value from the leaf back to the root.
#
# Threads that change the same place after every playout wait for each other, and so do those that
# only want to read it. So a thread sums up its visits of a busy move in its context and flushes the
# sums to the tree after some of them. The root's are accumulated from the start, a move's once it
# has `Behaviour.accumulate_from` visits.


LAG = 64  # a thread keeps no more than this part of a move's visits to itself,
TOGETHER = 32  # and no more visits than these


@kernel
def step_size(behaviour: np.record, weight: int) -> float:
    """1 / step of the moving average at its `weight`-th sample; a plain mean if build is 1."""
    return min(max(behaviour.build * weight, 1.0), behaviour.cap)


@kernel
def _arrive(
    tree: np.record, behaviour: np.record, edge: int, node: int, value: float, samples: int
) -> float:
    """Add a visit to an edge, a sample of its mean or not: 1 / step of the mean, 0 if not.

    With others in the tree, value and counts change in one operation, the only one they wait for.
    """
    record, words = node_at(tree, node), edge_words_at(tree, edge)
    if samples == 0:
        if behaviour.shared:
            atomic_add(node_at(tree, node), "excluded", 1)
            atomic_add(edge_words_at(tree, edge), "counts", ARRIVAL)
        else:
            record.excluded += 1
            edge_at(tree, edge).visits += 1
        return 0.0
    while True:
        before, counts = words.value, words.counts
        visits = signed(counts & np.uint64(0xFFFF_FFFF))
        divisor = step_size(behaviour, visits + 1 - signed(record.excluded))
        after = before + (value - before) / divisor
        if not behaviour.shared:
            words.value = after
            edge_at(tree, edge).visits = visits + 1
            return divisor
        if swap_words(words, before, counts, after, counts + ARRIVAL):
            return divisor


@kernel
def _blend(tree: np.record, edge: int, value: float, draw: float, divisor: float) -> None:
    """Blend a sample into the statistics of the node that an edge leads to."""
    record = node_at(tree, signed(cold_at(tree, edge).child))
    record.draw += (draw - record.draw) / divisor
    record.square += (value * value - record.square) / divisor


@called_kernel
def back_up(
    tree: np.record, context: np.record, behaviour: np.record, depth: int, value: float, draw: float
) -> None:
    """Add a visit to every edge of the path; `value` is for the player who made the last move.

    Values are sampled while the choices on the way may be believed (context.trust). A proved edge
    samples what is proved instead, and a bound limits what is sampled.
    """
    samples = 1
    for ply in range(depth, -1, -1):
        edge = context.path[ply]
        node = signed(cold_at(tree, edge).child)
        proof = signed(cold_at(tree, edge).proof)
        if proof != UNPROVED:
            value = bounded(proof, value)
            if is_settled(proof):
                draw = 1.0 if value == 0.0 else 0.0
        context.values[ply], context.draws[ply], context.divisors[ply] = value, draw, 0.0
        if context.accumulating[ply]:
            accumulate(tree, context, behaviour, edge, value, draw, samples)
        else:
            context.divisors[ply] = _arrive(tree, behaviour, edge, node, value, samples)
        samples = min(samples, signed(context.trust[ply]))
        value = -value
    # Other threads compete for these lines of memory, too; at least no atomic operation waits.
    for ply in range(depth, -1, -1):
        if context.divisors[ply] > 0.0:
            edge, divisor = context.path[ply], context.divisors[ply]
            _blend(tree, edge, context.values[ply], context.draws[ply], divisor)


@kernel
def cancel_pending(tree: np.record, context: np.record, depth: int) -> None:
    """Take back the pending visits along the path."""
    for ply in range(depth + 1):
        if not context.accumulating[ply]:
            atomic_add(edge_at(tree, context.path[ply]), "pending", -1)


@kernel
def is_accumulated(tree: np.record, behaviour: np.record, edge: int) -> bool:
    """Whether the visits of a move are accumulated: it has many of them."""
    return bool(edge_at(tree, edge).visits >= behaviour.accumulate_from)


@kernel
def accumulate(
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    edge: int,
    value: float,
    draw: float,
    samples: int,
) -> None:
    """Add a visit to the sums of a move, with 1 sample of its means or none."""
    place = 0 if edge == 0 else 1 + edge % (SUMS - 1)
    if context.sum_edges[place] != edge:
        _flush(tree, context, behaviour, place)
        context.sum_edges[place] = edge
    context.sum_visits[place] += 1
    context.sum_samples[place] += samples
    context.sum_values[place] += samples * value
    context.sum_draws[place] += samples * draw
    context.sum_squares[place] += samples * value * value
    visits = signed(context.sum_visits[place])
    if visits * LAG > signed(edge_at(tree, edge).visits) or visits == TOGETHER:
        _flush(tree, context, behaviour, place)


@kernel
def _flush(tree: np.record, context: np.record, behaviour: np.record, place: int) -> None:
    """Add the accumulated visits of one move to the tree."""
    visits, samples = signed(context.sum_visits[place]), signed(context.sum_samples[place])
    if visits == 0:
        return
    edge = signed(context.sum_edges[place])
    node = signed(cold_at(tree, edge).child)
    record, words = node_at(tree, node), edge_words_at(tree, edge)
    if visits > samples:
        atomic_add(node_at(tree, node), "excluded", visits - samples)
    counted = max(samples, 1)
    mean, share = context.sum_values[place] / counted, 0.0
    while True:
        before, counts = words.value, words.counts
        weight = signed(counts & np.uint64(0xFFFF_FFFF)) + visits - signed(record.excluded)
        share = min(1.0, samples / step_size(behaviour, weight))
        after = before + (mean - before) * share
        if swap_words(words, before, counts, after, counts + np.uint64(visits)):
            break
    record.draw += (context.sum_draws[place] / counted - record.draw) * share
    record.square += (context.sum_squares[place] / counted - record.square) * share
    context.sum_visits[place], context.sum_samples[place] = 0, 0
    context.sum_values[place] = 0.0
    context.sum_draws[place], context.sum_squares[place] = 0.0, 0.0


@kernel
def flush_all(tree: np.record, context: np.record, behaviour: np.record) -> None:
    """Add everything, before the tree is read or compacted."""
    for place in range(SUMS):
        _flush(tree, context, behaviour, place)

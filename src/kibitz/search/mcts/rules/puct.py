"""PUCT: value plus an exploration bonus that follows the priors, and first-play urgency.

Selection reads every visited move of every node on its way, which makes the search for the best of
them the longest loop of all. It takes eight moves at a time, and is written with lanes because the
compiler does not find a place of a maximum by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import inlined_kernel, kernel
from kibitz.jit.records import as_record
from kibitz.jit.vectors import (
    bits_as,
    choose,
    converted,
    every,
    largest,
    load_lanes,
    numbered,
    smaller,
    smallest,
    spread,
    sum_of,
)
from kibitz.search.mcts.rules.parameters import FPU_ABSOLUTE, FPU_LOSS, FPU_WIN, Puct, Scoring
from kibitz.search.mcts.tree.context import REMEMBERED
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    EDGE,
    TreeMemory,
    block_of,
    cold_at,
    edge_at,
    node_at,
    prior_of,
)
from kibitz.search.proof import TABLEBASE

LANES, LEAST = 8, 4  # moves at a time; fewer are taken by fours, and fewer than LEAST not at all
SIZE = EDGE.itemsize
AFTER_VALUE = 8  # bytes of an edge before its visits, pending and prior
CONTESTED = -1  # there are moves of unclear value: the caller must look closer


def best_by(lanes: int) -> Callable[[int, int, float], tuple[float, int, int, int]]:
    """Make `best(start, count, share)`.

    It returns the best score, its place, the fewest visits of a move, and the sum of all priors.
    """
    words_at_once = SIZE // 4 * lanes

    @inlined_kernel
    def best(start: int, count: int, share: float) -> tuple[float, int, int, int]:
        scores = spread(-np.inf, np.float64, lanes)
        places = spread(0, np.int64, lanes)
        fewest = spread(1, np.int32, lanes)
        priors = spread(0, np.int32, lanes)
        at, last = 0, count - lanes
        while True:
            pairs = load_lanes(start + SIZE * at, np.int32, words_at_once)
            values = every(bits_as(pairs, np.float64), 0, 2)
            visits, rest = every(pairs, 2, 4), every(pairs, 3, 4)
            tried = converted(visits + (rest & 0xFFFF) + 1, np.float64)
            prior = ((rest >> 16) & 0xFFFF) + 1
            edge_scores = values + share * converted(prior, np.float64) / tried
            fewest = smaller(fewest, visits)
            priors = priors + prior
            better = edge_scores > scores
            scores = choose(better, edge_scores, scores)
            places = choose(better, numbered(np.int64, lanes) + at, places)
            if at >= last:
                break
            at = min(at + lanes, last)  # the last few end with the last edge
        # The last block begins so much earlier than a whole one would: -count modulo lanes, by its
        # bits, because lanes is a power of two; and count >= lanes, so there is one block at least.
        twice = numbered(np.int32, lanes) < (-count & (lanes - 1))  # seen in the block before
        top = largest(scores)
        place = smallest(choose(scores == top, places, count))
        return top, place, smallest(fewest), sum_of(priors - choose(twice, prior, 0))

    return best


best_by_eights, best_by_fours = best_by(LANES), best_by(LEAST)


@inlined_kernel
def best_edge(
    edges: int, first: int, count: int, fresh: int, weight: float, level: float, drop: float
) -> int:
    """Return the place of the best of the edges.

    edges is the address of EDGE [...], first the first edge. `count` edges, at least LEAST, are to
    have visits; if `fresh` is 1, one more follows, without visits, whose value is
    level - drop * sqrt(sum of the priors of the others). CONTESTED if it is not so, or if there are
    visits on the way to the one more. A move's score is its value + weight * prior / (1 + visits +
    pending); of equals the first wins.
    """
    start = edges + SIZE * first
    share = weight * (1 / 65536)  # of one unit of a prior; exact
    if count >= LANES:
        top, place, fewest, tried = best_by_eights(start, count, share)
    else:
        top, place, fewest, tried = best_by_fours(start, count, share)
    if fewest == 0:
        return CONTESTED
    if fresh:
        rest = largest(load_lanes(start + SIZE * count + AFTER_VALUE, np.int64, 1))
        if rest & 0xFFFF_FFFF_FFFF:  # visits, or some pending
            return CONTESTED
        untried = level - drop * math.sqrt(signed(tried) / 65536.0)
        if untried + share * (((rest >> 48) & 0xFFFF) + 1) > top:
            return count
    return place


# --- the rule -------------------------------------------------------------------------------------


BLOCKED = -1  # no move can be chosen: all are being expanded by other threads


@kernel
def exploration_weight(exploration: np.record, visits: float) -> float:
    """c(N)."""
    if exploration.factor == 0.0:
        return float(exploration.init)
    grown = (visits + exploration.base_visits + exploration.offset) / exploration.base_visits
    return float(exploration.init + exploration.factor * math.log(grown))


@kernel
def _remembered_weight(
    rule: np.record, context: np.record, exploration: np.record, visits: float, depth: int
) -> float:
    """c(N) sqrt(N), which a prior is multiplied by; small N come often, and a logarithm is long."""
    is_small = depth > 0 and visits < REMEMBERED
    place = int(visits) if is_small else 0
    if is_small and context.weights[place] != 0.0:
        return float(context.weights[place])
    below = visits if rule.count_parent else max(visits - 1.0, 1.0)
    weight = exploration_weight(exploration, visits) * math.sqrt(below)
    if is_small:
        context.weights[place] = weight
    return weight


@kernel
def visits_of(parent: np.record) -> float:
    """Visits of a node, with the pending ones of other threads, without that of the caller."""
    return float(signed(parent.visits) + max(signed(parent.pending) - 1, 0))


@kernel
def tried_mass(tree: np.record, first: int, tried: int) -> float:
    """Prior probability of the moves with finished visits."""
    units = np.int32(0)
    for edge in range(first, first + tried):
        row = edge_at(tree, edge)
        visited = np.int32(row.visits > 0)
        units = np.int32(units + visited * (np.int32(row.prior) + np.int32(1)))
    return signed(units) / 65536.0


@kernel
def first_play_terms(
    first_play: np.record, tree: np.record, via: int, node: int
) -> tuple[float, float]:
    """Level and drop: a move not tried yet is worth level - drop * sqrt(tried_mass)."""
    override = float(node_at(tree, node).fpu)
    if not math.isnan(override):
        return override, 0.0
    if first_play.kind == FPU_LOSS:
        return -1.0, 0.0
    if first_play.kind == FPU_WIN:
        return 1.0, 0.0
    if first_play.kind == FPU_ABSOLUTE:
        return first_play.value, 0.0
    return -edge_at(tree, via).value, first_play.value


@kernel
def first_play_value(
    first_play: np.record, tree: np.record, via: int, node: int, first: int, tried: int
) -> float:
    """Value of a move not tried yet, for the player who would make it."""
    level, drop = first_play_terms(first_play, tree, via, node)
    return level - drop * math.sqrt(tried_mass(tree, first, tried))


@kernel
def mate_bonus(proof: int) -> float:
    """1 for a move that mates at once, 2^-n for a proved mate in n >= 2 moves, else 0."""
    if proof <= 0 or proof >= TABLEBASE:
        return 0.0
    moves = (proof + 1) // 2
    return 1.0 if moves == 1 else math.ldexp(1.0, -min(moves, 60))


@inlined_kernel
def _scale(rule: np.record, tree: np.record, node: int, visits: float) -> float:
    """Optional factors of c(N): growth with visits, spread of values, spread of priors."""
    scale = 1.0
    record = node_at(tree, node)
    if rule.log_visits > 0.0:
        scale *= 1.0 + rule.log_visits * math.log(1.0 + visits / rule.log_base)
    above = edge_at(tree, signed(record.parent_edge))
    if rule.variance > 0.0 and signed(above.visits) - signed(record.excluded) > 1:
        mean = above.value
        deviation = math.sqrt(max(0.0, float(record.square) - mean * mean))
        scale *= 1.0 - rule.variance + rule.variance * min(2.0, deviation / 0.4)
    if rule.gini > 0.0:
        scale *= 1.0 - rule.gini * _gini(tree, signed(record.first), signed(record.count))
    return scale


@kernel
def _gini(tree: np.record, first: int, count: int) -> float:
    """Sum of squared priors: 1 for a single candidate."""
    total = 0.0
    for edge in range(first, first + count):
        prior = prior_of(signed(edge_at(tree, edge).prior))
        total += prior * prior
    return total


@kernel
def candidates(rule: np.record, visits: float, tried: int, count: int) -> int:
    """How many moves are looked at: the tried ones and one more, fewer under widening."""
    if rule.widening > 0.0:
        count = min(count, max(1, int(rule.widening * math.sqrt(1.0 + visits))))
    return min(tried + 1, count)


@kernel
def select_puct(
    rule: np.record, tree: np.record, context: np.record, via: int, node: int, depth: int
) -> tuple[int, int]:
    """The edge with the highest Q + U."""
    record = node_at(tree, node)
    first, count, tried = signed(record.first), signed(record.count), signed(record.tried)
    parent = edge_at(tree, via)
    visits = visits_of(parent)
    if depth == 0:
        visits += context.sum_visits[0]
    exploration = rule.root_exploration if depth == 0 else rule.exploration
    first_play = rule.root_first_play if depth == 0 else rule.first_play
    weight = _remembered_weight(rule, context, exploration, visits, depth)
    if rule.log_visits + rule.variance + rule.gini > 0.0:
        weight *= _scale(rule, tree, node, visits)
    looked_at = candidates(rule, visits, tried, count)
    visited = min(looked_at, tried)
    if visited >= LEAST and rule.virtual_loss + rule.faster_mate == 0.0:
        level, drop = first_play_terms(first_play, tree, via, node)
        fresh = looked_at - visited
        place = best_edge(signed(tree.edges), first, visited, fresh, weight, level, drop)
        if place != CONTESTED and cold_at(tree, first + place).child != BUSY:
            return first + place, 1
    untried = first_play_value(first_play, tree, via, node, first, tried)
    return _best_one_by_one(rule, tree, first, first + looked_at, weight, untried), 1


@kernel
def _best_one_by_one(
    rule: np.record, tree: np.record, first: int, end: int, weight: float, untried: float
) -> int:
    """The best edge, found one by one: few edges, pending visits, or mates that count."""
    best, best_score = BLOCKED, -np.inf
    for edge in range(first, end):
        row = edge_at(tree, edge)
        done, pending = signed(row.visits), signed(row.pending)
        value = row.value if done > 0 else untried
        if pending > 0:
            if cold_at(tree, edge).child == BUSY:
                continue
            if rule.virtual_loss > 0.0:
                lost = rule.virtual_loss * pending
                value = ((value + 1.0) * max(1, done)) / (max(1, done) + lost) - 1.0
        score = value + weight * prior_of(signed(row.prior)) / (1.0 + done + pending)
        if rule.faster_mate > 0.0:
            bonus = mate_bonus(signed(cold_at(tree, edge).proof))
            score += rule.faster_mate * weight * bonus / (1.0 + done + pending)
        if score > best_score:
            best, best_score = edge, score
    return best


# --- for reports ----------------------------------------------------------------------------------


def _exploration(rule: Puct, edge: int, visits: float) -> float:
    below = visits if rule.count_parent else max(visits - 1.0, 1.0)
    exploration = as_record(rule.exploration if edge else rule.root_exploration)
    return float(exploration_weight(exploration, visits)) * math.sqrt(below)


def _untried(rule: Puct, memory: TreeMemory, edge: int, node: int) -> float:
    first_play = as_record(rule.first_play if edge else rule.root_first_play)
    first, tried = block_of(memory, node).start, int(memory.nodes[node]["tried"])
    return float(first_play_value(first_play, memory.record, edge, node, first, tried))


PUCT = Scoring(select_puct, _exploration, _untried)

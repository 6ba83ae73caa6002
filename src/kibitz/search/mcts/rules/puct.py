"""PUCT: value plus an exploration bonus that follows the priors."""

from __future__ import annotations

import math

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import inlined_kernel, kernel
from kibitz.search.mcts.rules.best_edge import CONTESTED, LEAST, best_edge
from kibitz.search.mcts.rules.parameters import FPU_ABSOLUTE, FPU_LOSS, FPU_WIN
from kibitz.search.mcts.tree.context import REMEMBERED
from kibitz.search.mcts.tree.nodes import BUSY, cold_at, edge_at, node_at, prior_of
from kibitz.search.proof import TABLEBASE

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
    known = depth > 0 and visits < REMEMBERED
    place = int(visits) if known else 0
    if known and context.weights[place] != 0.0:
        return float(context.weights[place])
    below = visits if rule.count_parent else max(visits - 1.0, 1.0)
    weight = exploration_weight(exploration, visits) * math.sqrt(below)
    if known:
        context.weights[place] = weight
    return weight


@kernel
def visits_of(parent: np.record) -> float:
    """Visits of a node, those of others on their way included, the one that is choosing not."""
    return float(signed(parent.visits) + max(signed(parent.pending) - 1, 0))


@kernel
def tried_mass(tree: np.record, first: int, opened: int) -> float:
    """Prior probability of the moves with finished visits."""
    units = np.int32(0)
    for edge in range(first, first + opened):
        here = edge_at(tree, edge)
        visited = np.int32(here.visits > 0)
        units = np.int32(units + visited * (np.int32(here.prior) + np.int32(1)))
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
    first_play: np.record, tree: np.record, via: int, node: int, first: int, opened: int
) -> float:
    """Value of a move not tried yet, for the player who would make it."""
    level, drop = first_play_terms(first_play, tree, via, node)
    return level - drop * math.sqrt(tried_mass(tree, first, opened))


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
def candidates(rule: np.record, visits: float, opened: int, count: int) -> int:
    """How many moves are looked at: the opened ones and one more, fewer under widening."""
    if rule.widening > 0.0:
        count = min(count, max(1, int(rule.widening * math.sqrt(1.0 + visits))))
    return min(opened + 1, count)


@kernel
def select_puct(
    rule: np.record, tree: np.record, context: np.record, via: int, node: int, depth: int
) -> tuple[int, int]:
    """The edge with the highest Q + U."""
    record = node_at(tree, node)
    first, count, opened = signed(record.first), signed(record.count), signed(record.opened)
    parent = edge_at(tree, via)
    visits = visits_of(parent)
    if depth == 0:
        visits += context.sum_visits[0]
    exploration = rule.root_exploration if depth == 0 else rule.exploration
    first_play = rule.root_first_play if depth == 0 else rule.first_play
    weight = _remembered_weight(rule, context, exploration, visits, depth)
    if rule.log_visits + rule.variance + rule.gini > 0.0:
        weight *= _scale(rule, tree, node, visits)
    looked_at = candidates(rule, visits, opened, count)
    visited = min(looked_at, opened)
    if visited >= LEAST and rule.virtual_loss + rule.faster_mate == 0.0:
        level, drop = first_play_terms(first_play, tree, via, node)
        fresh = looked_at - visited
        place = best_edge(signed(tree.edges), first, visited, fresh, weight, level, drop)
        if place != CONTESTED and cold_at(tree, first + place).child != BUSY:
            return first + place, 1
    untried = first_play_value(first_play, tree, via, node, first, opened)
    return _best_of_crowd(rule, tree, first, first + looked_at, weight, untried), 1


@kernel
def _best_of_crowd(
    rule: np.record, tree: np.record, first: int, end: int, weight: float, untried: float
) -> int:
    """The best edge, one after the other: few of them, visits on their way, or mates that count."""
    best, best_score = BLOCKED, -np.inf
    for edge in range(first, end):
        here = edge_at(tree, edge)
        done, pending = signed(here.visits), signed(here.pending)
        value = here.value if done > 0 else untried
        if pending > 0:
            if cold_at(tree, edge).child == BUSY:
                continue
            if rule.virtual_loss > 0.0:
                lost = rule.virtual_loss * pending
                value = ((value + 1.0) * max(1, done)) / (max(1, done) + lost) - 1.0
        score = value + weight * prior_of(signed(here.prior)) / (1.0 + done + pending)
        if rule.faster_mate > 0.0:
            bonus = mate_bonus(signed(cold_at(tree, edge).proof))
            score += rule.faster_mate * weight * bonus / (1.0 + done + pending)
        if score > best_score:
            best, best_score = edge, score
    return best

"""Gumbel search, meant for very few playouts.

At the root the best of m sampled moves is found by sequential halving; below it visits follow the
proportions of the completed-Q policy. The plan of the halving belongs to the tree (tree.ROOT), so
that all threads and batches of a search follow the same one, and pending visits count in it.

Formulas: Danihelka et al., "Policy improvement by planning with Gumbel" (2022), equations 8-14,
with values scaled to [0, 1].
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.search.mcts.rules.parameters import Gumbel, Scoring
from kibitz.search.mcts.rules.puct import BLOCKED
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    TreeMemory,
    cold_at,
    edge_at,
    node_at,
    prior_of,
    root_at,
)

LARGEST = np.iinfo(np.int64).max


@kernel
def mixed_value(tree: np.record, node: int) -> float:
    """Value of a node from its own evaluation and its visited moves, weighted by prior."""
    record = node_at(tree, node)
    first = signed(record.first)
    total, mass, weighted = 0, 0.0, 0.0
    for edge in range(first, first + signed(record.count)):
        visits = signed(edge_at(tree, edge).visits)
        if visits > 0:
            prior = prior_of(signed(edge_at(tree, edge).prior))
            total += visits
            mass += prior
            weighted += prior * edge_at(tree, edge).value
    if total == 0:
        return float(record.raw)
    return (float(record.raw) + total * weighted / mass) / (1.0 + total)


@kernel
def completed_logits(rule: np.record, tree: np.record, node: int, logits: np.ndarray) -> None:
    """Log prior plus sigma(completed Q) of every move; float64 [count]."""
    record = node_at(tree, node)
    first, count = signed(record.first), signed(record.count)
    most = 0
    for edge in range(first, first + count):
        most = max(most, signed(edge_at(tree, edge).visits))
    scale = (rule.visit_offset + most) * rule.value_scale
    mixed = mixed_value(tree, node)
    for index in range(count):
        row = edge_at(tree, first + index)
        value = row.value if row.visits > 0 else mixed
        logits[index] = math.log(prior_of(signed(row.prior))) + scale * 0.5 * (value + 1.0)


@kernel
def completed_policy(rule: np.record, tree: np.record, node: int, policy: np.ndarray) -> None:
    """The improved policy, softmax of `completed_logits`: a training target; float64 [count].

    Every node on the way of every playout needs it: priors are multiplied instead of their
    logarithms added, and all unvisited moves have the same exponential.
    """
    record = node_at(tree, node)
    first, count = signed(record.first), signed(record.count)
    mixed = mixed_value(tree, node)
    most, highest = 0, mixed
    for edge in range(first, first + count):
        row = edge_at(tree, edge)
        if row.visits > 0:
            most = max(most, signed(row.visits))
            highest = max(highest, row.value)
    steepness = 0.5 * (rule.visit_offset + most) * rule.value_scale
    untried = math.exp(steepness * (mixed - highest))
    total = 0.0
    for index in range(count):
        row = edge_at(tree, first + index)
        raised = math.exp(steepness * (row.value - highest)) if row.visits > 0 else untried
        policy[index] = prior_of(signed(row.prior)) * raised
        total += policy[index]
    for index in range(count):
        policy[index] /= total


@kernel
def round_at(root: np.record, total: int) -> int:
    """The round of sequential halving that a visit belongs to, `total` having been made before."""
    number = signed(root.rounds)
    while number > 0 and root.starts[number] > total:
        number -= 1
    return number


@kernel
def _least_tries(tree: np.record, root: np.record, first: int, count: int, survivors: int) -> int:
    """Visits of the last of the `survivors` most tried moves, pending ones included."""
    level, counted = LARGEST, 0
    while counted < survivors:
        below, alike = -1, 0
        for index in range(count):
            row = edge_at(tree, first + index)
            tries = signed(row.visits) + signed(row.pending)
            if root.gumbel[index] == -np.inf or tries >= level or tries < below:
                continue
            alike = alike + 1 if tries == below else 1
            below = tries
        if alike == 0:
            break
        level, counted = below, counted + alike
    return level


@kernel
def _select_root(
    tree: np.record, context: np.record, first: int, count: int, survivors: int
) -> int:
    """Of the moves that survive, those with the most visits, the one that is furthest behind.

    Where several are, the best by Gumbel + logit + sigma(Q): so halving needs no other memory.
    """
    root = root_at(tree, 0)
    least = _least_tries(tree, root, first, count, survivors)
    best, best_score = BLOCKED, -np.inf
    for index in range(count):
        row = edge_at(tree, first + index)
        if signed(row.visits) + signed(row.pending) != least:
            continue
        score = context.scores[index] + root.gumbel[index]
        if score > best_score and cold_at(tree, first + index).child != BUSY:
            best, best_score = first + index, score
    return best


@kernel
def select_gumbel(
    rule: np.record, tree: np.record, context: np.record, via: int, node: int, depth: int
) -> tuple[int, int]:
    """At the root by plan while it lasts, elsewhere the move furthest behind its share."""
    record, root = node_at(tree, node), root_at(tree, 0)
    first, count = signed(record.first), signed(record.count)
    done, total = 0, 0
    for edge in range(first, first + count):
        done += signed(edge_at(tree, edge).visits)
        total += signed(edge_at(tree, edge).visits) + signed(edge_at(tree, edge).pending)
    if depth == 0:
        number = round_at(root, total)
        if number > round_at(root, done):
            return BLOCKED, 0  # who survives is known when pending visits are backed up
        if number < root.rounds:
            completed_logits(rule, tree, node, context.scores)
            return _select_root(tree, context, first, count, signed(root.survivors[number])), 1
    completed_policy(rule, tree, node, context.scores)
    best, best_score = BLOCKED, -np.inf
    for index in range(count):
        if depth == 0 and root.gumbel[index] == -np.inf:
            continue
        row = edge_at(tree, first + index)
        tries = signed(row.visits) + signed(row.pending)
        score = context.scores[index] - tries / (1.0 + total)
        if score > best_score and cold_at(tree, first + index).child != BUSY:
            best, best_score = first + index, score
    return best, 1


# --- for reports ----------------------------------------------------------------------------------


def _exploration(rule: Gumbel, edge: int, visits: float) -> float:
    return 0.0  # it weighs no priors


def _untried(rule: Gumbel, memory: TreeMemory, edge: int, node: int) -> float:
    return float(mixed_value(memory.record, node))


GUMBEL = Scoring(select_gumbel, _exploration, _untried)

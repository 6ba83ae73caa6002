"""SBLE-PUCT, ChessCoach's rule: Selective Backup and Linear Exploration by Elimination.

Scores are in [0, 1] here, as its constants are. A move is chosen by the AlphaZero score plus a
linear term that only the top K moves get; K falls from 1024 to 2 over the move's budget. When the
choice lies clearly below the best AlphaZero score it explores, and its value is not backed up.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import as_record
from kibitz.search.mcts.rules.parameters import Sble, Scoring
from kibitz.search.mcts.rules.puct import BLOCKED, exploration_weight, mate_bonus, visits_of
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    NONE,
    WAITING,
    TreeMemory,
    cold_at,
    edge_at,
    node_at,
    prior_of,
)
from kibitz.search.proof import is_settled

SURVIVORS_MAX = 1024


@kernel
def survivors(exponent: float, used: float, root_visits: float, visits: float, count: int) -> int:
    """K: how many moves of a node may still get the linear term; `used` is the budget's share.

    An exponent of 0 switches elimination off.
    """
    if exponent == 0.0:
        return count
    power = max(1.0, exponent - math.floor(exponent * used))
    return min(count, int(min(float(SURVIVORS_MAX), math.floor(2.0**power * root_visits / visits))))


@kernel
def azero_score(
    rule: np.record, tree: np.record, edge: int, weight: float, untried: float
) -> float:
    """Q + E P + E m of one move, in [0, 1] and bonuses."""
    row, cold = edge_at(tree, edge), cold_at(tree, edge)
    done, pending = signed(row.visits), signed(row.pending)
    value = 0.5 * (row.value + 1.0) if done > 0 else untried
    proof = signed(cold.proof)
    if pending > 0 and not is_settled(proof):
        samples = 1.0
        if done > 0 and NONE < cold.child < WAITING:
            excluded = signed(node_at(tree, signed(cold.child)).excluded)
            samples = max(1.0, float(done - excluded))
        value = value * samples / (samples + rule.virtual_loss * pending)
    explore = weight / (1.0 + done + pending)
    return value + explore * (prior_of(signed(row.prior)) + rule.faster_mate * mate_bonus(proof))


@kernel
def linear_score(rule: np.record, tree: np.record, edge: int, visits: float) -> float:
    """L: grows with the parent's visits until the move has had its share."""
    row = edge_at(tree, edge)
    tries = signed(row.visits) + signed(row.pending)
    return visits / (rule.linear_rate * tries + rule.linear_delay)


@kernel
def untried_score(tree: np.record, node: int, depth: int) -> float:
    """What a move without visits is taken to be worth, in [0, 1]."""
    override = float(node_at(tree, node).fpu)
    if not math.isnan(override):
        return 0.5 * (override + 1.0)
    return 1.0 if depth == 0 else 0.0


@kernel
def _better_than(scores: np.ndarray, count: int, score: float) -> int:
    better = 0
    for index in range(count):
        better += scores[index] > score
    return better


@kernel
def select_sble(
    rule: np.record, tree: np.record, context: np.record, via: int, node: int, depth: int
) -> tuple[int, int]:
    """The edge with the highest score, and whether its AlphaZero score is close to the best."""
    record = node_at(tree, node)
    first = signed(record.first)
    looked_at = min(signed(record.tried) + 1, signed(record.count))
    visits = visits_of(edge_at(tree, via))
    exploration = rule.root_exploration if depth == 0 else rule.exploration
    weight = exploration_weight(exploration, visits) * math.sqrt(visits)
    untried = untried_score(tree, node, depth)
    best_azero = -np.inf
    for index in range(looked_at):
        context.scores[index] = azero_score(rule, tree, first + index, weight, untried)
        best_azero = max(best_azero, context.scores[index])
    root_visits = max(visits, context.root_visits)
    surviving = survivors(
        rule.elimination_exponent, context.budget_used, root_visits, visits, signed(record.count)
    )

    best, best_score, blocked_score = BLOCKED, -np.inf, -np.inf
    for index in range(looked_at):
        score = context.scores[index]
        if surviving >= looked_at or _better_than(context.scores, looked_at, score) < surviving:
            score += linear_score(rule, tree, first + index, visits)
        if cold_at(tree, first + index).child == BUSY:
            blocked_score = max(blocked_score, score)
        elif score > best_score:
            best, best_score = first + index, score
    if best == BLOCKED:
        return BLOCKED, 0
    close = best_azero - context.scores[best - first] <= rule.backup_threshold
    return best, 1 if close and best_score >= blocked_score else 0


# --- for reports ----------------------------------------------------------------------------------


def _exploration(rule: Sble, edge: int, visits: float) -> float:
    exploration = as_record(rule.exploration if edge else rule.root_exploration)
    return 2.0 * float(exploration_weight(exploration, visits)) * math.sqrt(visits)


def _untried(rule: Sble, memory: TreeMemory, edge: int, node: int) -> float:
    return 2.0 * float(untried_score(memory.record, node, 1 if edge else 0)) - 1.0


SBLE = Scoring(select_sble, _exploration, _untried)

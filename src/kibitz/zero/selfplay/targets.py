"""What a finished search teaches about its root: a value and a policy."""

from __future__ import annotations

import math

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import as_record, kernel_by_class
from kibitz.search.mcts.rules.gumbel import completed_policy
from kibitz.search.mcts.rules.parameters import Rule
from kibitz.search.mcts.rules.puct import exploration_weight
from kibitz.search.mcts.tree.nodes import (
    TreeMemory,
    block_of,
    cold_at,
    edge_at,
    edges_of,
    node_at,
    prior_of,
)
from kibitz.search.proof import UNPROVED, is_settled, proved_value, rank_of, wins

SHARES = 10_000  # of a policy that is not made of visits
NO_EDGE = 0  # edge 0 leads to the root

Visits = tuple[tuple[int, int], ...]  # moves, as 16-bit codes of the side to move, and counts


# --- the value ------------------------------------------------------------------------------------


@kernel
def searched_value(tree: np.record) -> tuple[float, float]:
    """Value and probability of a draw to learn: what is proved, or the average of the visits."""
    best, first = UNPROVED, signed(node_at(tree, 0).first)
    if is_settled(signed(cold_at(tree, 0).proof)):
        for edge in range(first, first + edges_of(tree, 0)):
            proof = signed(cold_at(tree, edge).proof)
            if is_settled(proof) and (best == UNPROVED or rank_of(proof) > rank_of(best)):
                best = proof
    if best == UNPROVED:
        return 0.0 - float(edge_at(tree, 0).value), float(node_at(tree, 0).draw)
    value = proved_value(best)
    return value, 1.0 if value == 0.0 else 0.0


# --- the policy -----------------------------------------------------------------------------------


@kernel
def sole_winner(tree: np.record) -> int:
    """The root's edge that is proved to win soonest, NO_EDGE if none is: the whole policy."""
    best, first = NO_EDGE, signed(node_at(tree, 0).first)
    for edge in range(first, first + edges_of(tree, 0)):
        proof = signed(cold_at(tree, edge).proof)
        if wins(proof) and (best == NO_EDGE or proof < cold_at(tree, best).proof):
            best = edge
    return best


@kernel
def _visits(rule: np.record, tree: np.record, scores: np.ndarray, counts: np.ndarray) -> None:
    first = signed(node_at(tree, 0).first)
    for index in range(signed(node_at(tree, 0).count)):
        counts[index] = edge_at(tree, first + index).visits


@kernel
def _completed(rule: np.record, tree: np.record, scores: np.ndarray, counts: np.ndarray) -> None:
    """The completed-Q policy in SHARES.

    It is the prior, raised where a move's value is above the others' and lowered where it is below;
    moves without a visit count as what the visited ones are worth on average. So it is better than
    the prior even after two playouts, when visits say nothing.
    """
    completed_policy(rule, tree, 0, scores)
    for index in range(signed(node_at(tree, 0).count)):
        counts[index] = int(SHARES * scores[index] + 0.5)


@kernel
def _pruned(rule: np.record, tree: np.record, scores: np.ndarray, counts: np.ndarray) -> None:
    """Visits without those that were only forced, as KataGo takes them out.

    As many of the playouts due to a move go as leave its score below that of the most visited move,
    and so does a move that is left with one.
    """
    _visits(rule, tree, scores, counts)
    if rule.prune == 0:
        return
    first, best = signed(node_at(tree, 0).first), 0
    moves = signed(node_at(tree, 0).count)
    for index in range(moves):
        if counts[index] > counts[best]:
            best = index
    visits = float(signed(edge_at(tree, 0).visits))
    below = visits if rule.inner.count_parent else max(visits - 1.0, 1.0)
    weight = exploration_weight(rule.inner.root_exploration, visits) * math.sqrt(below)
    top = edge_at(tree, first + best)
    highest = top.value + weight * prior_of(signed(top.prior)) / (1.0 + signed(top.visits))
    for index in range(moves):
        move, left = edge_at(tree, first + index), signed(counts[index])
        prior = prior_of(signed(move.prior))
        least = left - int(math.sqrt(rule.share * prior * visits))
        while index != best and left > max(least, 0):
            if move.value + weight * prior / left >= highest:
                break
            left -= 1
        counts[index] = 0 if left == 1 and counts[index] > 1 else left


# (rule, tree, scores, counts): how often each of the root's moves counts in the policy; float64 and
# an unsigned type, [moves]
counts_of = kernel_by_class({"Gumbel": _completed, "Forced": _pruned}, _visits)


@kernel
def root_counts(rule: np.record, tree: np.record, scores: np.ndarray, counts: np.ndarray) -> None:
    """Counts of the root's moves in the policy to learn.

    A move that is proved to win is the whole policy, the soonest win of several, as a search that
    has found it does not visit it again.
    """
    winner, first = sole_winner(tree), signed(node_at(tree, 0).first)
    counts_of(rule, tree, scores, counts)
    if winner != NO_EDGE:
        for index in range(signed(node_at(tree, 0).count)):
            counts[index] = SHARES if first + index == winner else 0


def policy_target(memory: TreeMemory, rule: Rule) -> Visits:
    """The policy to learn: visits or, of the Gumbel rule, the completed-Q policy."""
    block = block_of(memory)
    moves = memory.cold["move"][block].tolist()
    scores, counts = np.zeros(len(moves)), np.zeros(len(moves), dtype=np.uint32)
    if moves:
        root_counts(as_record(rule), memory.record, scores, counts)
    return tuple((move, n) for move, n in zip(moves, counts.tolist(), strict=True) if n)

"""Search-contempt: freezing the replies of a node, and sampling from what was frozen.

The counts are exact (one uint32 an edge), visits on their way count when freezing, and the random
generator is the context's own, so one thread with a seed repeats itself.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.atomics import atomic_load, atomic_store, compare_and_swap
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.search.mcts.rules.puct import BLOCKED
from kibitz.search.mcts.tree.context import random_unit
from kibitz.search.mcts.tree.nodes import BUSY, cold_at, edge_at, node_at, prior_of
from kibitz.search.proof import loses, wins

THAWED, FREEZING, FROZEN = 0, 1, 2  # NODE.freezing


@kernel
def replies_tried(tree: np.record, node: int) -> int:
    """Visits of all replies, those on their way included."""
    record = node_at(tree, node)
    first, total = signed(record.first), 0
    for edge in range(first, first + signed(record.opened)):
        total += signed(edge_at(tree, edge).visits) + signed(edge_at(tree, edge).pending)
    return total


@kernel
def freeze(tree: np.record, node: int) -> None:
    """Write down how often each reply has been tried so far; one thread does it, once."""
    if not compare_and_swap(node_at(tree, node), "freezing", THAWED, FREEZING):
        return
    record = node_at(tree, node)
    first = signed(record.first)
    for edge in range(first, first + signed(record.count)):
        tries = signed(edge_at(tree, edge).visits) + signed(edge_at(tree, edge).pending)
        cold_at(tree, edge).frozen = tries
    atomic_store(node_at(tree, node), "freezing", FROZEN)


@kernel
def is_frozen(rule: np.record, tree: np.record, node: int, depth: int) -> bool:
    """Whether the replies of a node are sampled from now on; freezes it at the limit."""
    if depth == 0 or depth % 2 != rule.parity % 2:
        return False
    if atomic_load(node_at(tree, node), "freezing") != FROZEN:
        tried = replies_tried(tree, node)
        if tried >= rule.limit:
            freeze(tree, node)
        return False  # the visit that finds the limit reached still searches (equation 5)
    return True


@kernel
def weight_of(rule: np.record, tree: np.record, edge: int) -> float:
    """Sampling weight of a reply."""
    frozen = float(signed(cold_at(tree, edge).frozen))
    if frozen == 0.0:
        return prior_of(signed(edge_at(tree, edge).prior)) if rule.admit else 0.0
    if rule.temperature == 1.0:
        return frozen
    return float(frozen ** (1.0 / rule.temperature))


@kernel
def sample_frozen(rule: np.record, tree: np.record, context: np.record, node: int) -> int:
    """A reply drawn from the frozen distribution; BLOCKED if it is one being expanded."""
    record = node_at(tree, node)
    first, end = signed(record.first), signed(record.first) + signed(record.count)
    total, open_total = 0.0, 0.0
    for edge in range(first, end):
        proof = signed(cold_at(tree, edge).proof)
        if rule.prefer_proven and wins(proof):
            return edge
        weight = weight_of(rule, tree, edge)
        total += weight
        if not loses(proof):
            open_total += weight
    skip_lost = rule.prefer_proven != 0 and open_total > 0.0
    left = random_unit(context) * (open_total if skip_lost else total)
    chosen = BLOCKED
    for edge in range(first, end):
        proof = signed(cold_at(tree, edge).proof)
        weight = weight_of(rule, tree, edge)
        if weight == 0.0 or (skip_lost and loses(proof)):
            continue
        chosen = edge
        left -= weight
        if left < 0.0:
            break
    if chosen == BLOCKED or cold_at(tree, chosen).child == BUSY:
        return BLOCKED
    return chosen

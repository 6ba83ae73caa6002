"""Select, the first step of a playout: choose the move to follow, by the kernel of its rule.

Every kernel returns the edge, or BLOCKED, and whether the choice may be believed (selective
backup). Unvisited moves stand behind the visited ones in order of prior, so only the first of
them is ever looked at.

Two rules wrap others: forced playouts, and search-contempt, which freezes the replies of a node and
samples from what was frozen. Its counts are exact (one uint32 an edge), pending visits count
when freezing, and the random generator is the context's own, so one thread with a seed repeats
itself.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.atomics import atomic_load, atomic_store, compare_and_swap
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import kernel_by_class
from kibitz.search.mcts.rules.parameters import RULES, scoring_of
from kibitz.search.mcts.rules.puct import BLOCKED
from kibitz.search.mcts.tree.context import random_unit
from kibitz.search.mcts.tree.nodes import BUSY, cold_at, edge_at, node_at, prior_of
from kibitz.search.proof import loses, wins

KERNELS = {entry.numbers.__name__: scoring_of(entry).select for entry in RULES.values()}
select = kernel_by_class(KERNELS)  # see Scoring


@kernel
def select_contempt(
    rule: np.record, tree: np.record, context: np.record, via: int, node: int, depth: int
) -> tuple[int, int]:
    """Search as the inner rule does, but sample the opponent's replies once they are frozen."""
    if is_frozen(rule, tree, node, depth):
        return sample_frozen(rule, tree, context, node), 1
    return select(rule.inner, tree, context, via, node, depth)


@kernel
def select_forced(
    rule: np.record, tree: np.record, context: np.record, via: int, node: int, depth: int
) -> tuple[int, int]:
    """At the root first what is due to a tried move (KataGo's forced playouts)."""
    if depth == 0:
        first, visits = signed(node_at(tree, node).first), float(signed(edge_at(tree, via).visits))
        for edge in range(first, first + signed(node_at(tree, node).tried)):
            row = edge_at(tree, edge)
            tries = signed(row.visits) + signed(row.pending)
            due = rule.share * prior_of(signed(row.prior)) * visits
            if row.visits > 0 and tries * tries < due and cold_at(tree, edge).proof == 0:
                return edge, 1
    return select(rule.inner, tree, context, via, node, depth)


KERNELS["Contempt"] = select_contempt
KERNELS["Forced"] = select_forced


# --- search-contempt ------------------------------------------------------------------------------


THAWED, FREEZING, FROZEN = 0, 1, 2  # NODE.freezing


@kernel
def replies_tried(tree: np.record, node: int) -> int:
    """Visits of all replies, pending ones included."""
    record = node_at(tree, node)
    first, total = signed(record.first), 0
    for edge in range(first, first + signed(record.tried)):
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

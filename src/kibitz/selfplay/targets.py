"""What a finished search teaches about its root: a value and a policy."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.records import as_record
from kibitz.search.mcts.rules.gumbel import completed_policy
from kibitz.search.mcts.rules.parameters import Gumbel, Rule
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.proof import DRAW, UNPROVED, proved_value
from kibitz.search.report import RootStatistics

SHARES = 10_000  # of a policy that is not made of visits

Visits = tuple[tuple[int, int], ...]  # moves, as 16-bit codes of the side to move, and counts


def value_target(root: RootStatistics) -> tuple[float, float]:
    """Value and probability of a draw to learn: what is proved, or the average of the visits."""
    if root.proof == UNPROVED:
        return root.value, root.draw
    value = float(proved_value(root.proof))
    return value, float(value == 0.0)


def policy_target(memory: TreeMemory, rule: Rule) -> Visits:
    """The policy to learn: the visits of the moves or, of the Gumbel rule, the completed-Q policy.

    The completed-Q policy is the prior, raised where a move's value is above the others' and
    lowered where it is below; moves without a visit count as what the visited ones are worth on
    average. So it is better than the prior even after two playouts, when visits say nothing.

    A move that is proved to win is the whole policy, the soonest win of several, as a search that
    has found it does not visit it again.
    """
    block = block_of(memory)
    codes, proofs = memory.cold["move"][block], memory.cold["proof"][block]
    won = np.flatnonzero((proofs > 0) & (proofs < DRAW))
    if len(won):
        return ((int(codes[won[proofs[won].argmin()]]), SHARES),)
    if isinstance(rule, Gumbel):
        policy = np.zeros(len(codes))
        completed_policy(as_record(rule), memory.record, 0, policy)
        counts = np.rint(SHARES * policy).astype(np.int64)
    else:
        counts = memory.edges["visits"][block]
    return tuple((code, n) for code, n in zip(codes.tolist(), counts.tolist(), strict=True) if n)

"""First verb: choose the move to follow from a node, by the kernel of the rule's class.

Every kernel returns the edge, or BLOCKED, and whether the choice may be believed (selective
backup). Unvisited moves stand behind the visited ones in order of prior, so only the first of
them is ever looked at.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.kernel.records import kernel_by_class
from kibitz.search.mcts.rules.contempt import is_frozen, sample_frozen
from kibitz.search.mcts.rules.gumbel import select_gumbel
from kibitz.search.mcts.rules.puct import select_puct
from kibitz.search.mcts.rules.sble import select_sble
from kibitz.search.mcts.tree.nodes import cold_at, edge_at, node_at, prior_of

KERNELS: dict[str, Callable[..., tuple[int, int]]] = {
    "Puct": select_puct,
    "Sble": select_sble,
    "Gumbel": select_gumbel,
}
# (rule, tree, context, via, node, depth) -> an edge of `node`, which edge `via` leads to, `depth`
# plies below the root, and whether the choice may be believed
select = kernel_by_class(KERNELS)


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
        for edge in range(first, first + signed(node_at(tree, node).opened)):
            here = edge_at(tree, edge)
            tries = signed(here.visits) + signed(here.pending)
            due = rule.share * prior_of(signed(here.prior)) * visits
            if here.visits > 0 and tries * tries < due and cold_at(tree, edge).proof == 0:
                return edge, 1
    return select(rule.inner, tree, context, via, node, depth)


KERNELS["Contempt"] = select_contempt
KERNELS["Forced"] = select_forced

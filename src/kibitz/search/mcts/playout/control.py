"""What all threads of a search share: the stop flag, the playouts left, the share that is used."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.compile import kernel
from kibitz.kernel.records import CACHE_LINE
from kibitz.search.mcts.tree.nodes import edge_at

CONTROL = np.dtype(
    [
        ("stop", np.int64),
        ("budget", np.int64),  # playouts of the whole search, 0 if it is not limited by them
        ("later", np.int64),  # of those, how many are not among the tickets yet
        ("time_used", np.float64),  # share of the move's time, 0 if there is no plan for it
        ("full", np.int64),  # the tree has no room: return, so that it can be compacted
        ("apart", np.uint8, CACHE_LINE),  # what all look at from what all change
        ("tickets", np.int64),  # playouts that may still be started
    ],
    align=True,
)


@kernel
def set_share(control: np.record, tree: np.record, context: np.record, left: int) -> None:
    """Set which share of the search is over, with `left` tickets to go.

    Of the playouts or of the time, whichever is larger; 0 if neither has a limit.
    """
    context.budget_used = control.time_used
    if control.budget > 0:
        done = control.budget - left - control.later
        context.budget_used = max(context.budget_used, done / control.budget)
    context.root_visits = edge_at(tree, 0).visits

"""Making room in a full tree: little-visited subtrees go, the moves keep their statistics."""

from __future__ import annotations

from kibitz.search.mcts.tree.compaction import compact
from kibitz.search.mcts.tree.nodes import TreeMemory

ROOM_WANTED = 600  # per mille that may stay in use


def make_room(memory: TreeMemory) -> None:
    """Give back subtrees, those of the least visited moves first, until there is room.

    Nobody may be in the tree and no visit pending.
    """
    least = 2
    while memory.permille > ROOM_WANTED:
        compact(memory.record, 0, least)
        least *= 2

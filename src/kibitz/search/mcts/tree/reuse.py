"""Keeping the part of the tree that the game has reached; giving back what is little visited."""

from __future__ import annotations

import numpy as np

from kibitz.position.board import Board
from kibitz.position.state import POSITION
from kibitz.search.mcts.tree.compaction import compact
from kibitz.search.mcts.tree.nodes import EXPANDED, NONE, TreeMemory, block_of, clear

ROOM_WANTED = 600  # per mille that may stay in use
# Without the bytes between fields and rows, which copies of records leave to chance.
FIELDS = np.dtype([(name, POSITION[name]) for name in POSITION.names or ()])


def _records(board: Board) -> bytes:
    return board.positions().astype(FIELDS).tobytes()


class Line:
    """The game a tree was grown for: where it began and what was played; empty at first."""

    def __init__(self) -> None:
        self.records = b""

    def extension(self, board: Board) -> int | None:
        """How many plies `board` goes on from the remembered line; None if it is another game."""
        records = _records(board)
        if not self.records or not records.startswith(self.records):
            return None
        return (len(records) - len(self.records)) // FIELDS.itemsize

    def remember(self, board: Board) -> None:
        """From now on the tree belongs to this game."""
        self.records = _records(board)

    def forget(self) -> None:
        """The tree belongs to no game."""
        self.records = b""


def keep_subtree(memory: TreeMemory, board: Board, plies: int) -> bool:
    """Re-root the tree at the end of the board's last `plies` moves; False: it was cleared."""
    node = _reached(memory, board, plies)
    if node is None:
        clear(memory.record)
        return False
    if plies:
        compact(memory.record, node, 0)
    return True


def _reached(memory: TreeMemory, board: Board, plies: int) -> int | None:
    """The node the moves lead to, if the tree has it."""
    node = 0
    for code in board.codes(since=len(board.moves) - plies):
        block = block_of(memory, node)
        found = np.flatnonzero(memory.cold["move"][block] == code)
        if len(found) == 0 or memory.cold["child"][block][found[0]] == NONE:
            return None
        node = int(memory.cold["child"][block][found[0]])
    return node if memory.nodes[node]["state"] == EXPANDED else None


def make_room(memory: TreeMemory) -> None:
    """Give back subtrees, those of the least visited moves first, until there is room.

    No thread may be in the tree and no visit pending.
    """
    least = 2
    while memory.permille > ROOM_WANTED:
        compact(memory.record, 0, least)
        least *= 2

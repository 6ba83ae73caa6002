"""Perft: counting the leaves of the tree of legal moves, the yardstick of a move generator."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.atomics import atomic_load
from kibitz.kernel.compile import kernel
from kibitz.position.moves import MAX_MOVES, count_legal, generate
from kibitz.position.play import play
from kibitz.position.state import POSITION

MAX_DEPTH = 32
STOPPED = -1
NEXT, END = MAX_MOVES, MAX_MOVES + 1  # columns beside the moves: which is next, how many


def new_stack() -> tuple[np.ndarray, np.ndarray]:
    """Working memory of one perft: a POSITION and a row of moves, NEXT and END for every ply."""
    positions = np.zeros(MAX_DEPTH + 1, dtype=POSITION).view(np.recarray)
    return positions, np.zeros((MAX_DEPTH + 1, MAX_MOVES + 2), dtype=np.uint16)


@kernel
def perft(positions: np.ndarray, moves: np.ndarray, depth: int, stop: np.ndarray) -> int:
    """Leaves `depth` plies below positions[0], the last ply counted in bulk.

    `stop` is uint8 [1]; another thread may set it, then the result is STOPPED. The walk keeps its
    own stack, as kernels do not recurse.
    """
    if depth == 0:
        return 1
    if depth == 1:
        return count_legal(positions[0])
    moves[0, NEXT] = 0
    moves[0, END] = generate(positions[0], moves[0])
    nodes, level, last = 0, 0, depth - 2
    while level >= 0:
        move = moves[level, NEXT]
        if move == moves[level, END]:
            level -= 1
            continue
        play(positions[level], positions[level + 1], moves[level, move])
        moves[level, NEXT] = move + 1
        if level == last:
            nodes += count_legal(positions[level + 1])
            continue
        level += 1
        moves[level, NEXT] = 0
        moves[level, END] = generate(positions[level], moves[level])
        if atomic_load(stop, 0):
            return STOPPED
    return nodes

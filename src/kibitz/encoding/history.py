"""The 109 planes of ChessCoach: eight positions of the game, castling rights and the clock.

    leaves -> **words** -> planes

ChessCoach shows every earlier position to the network as its own side to move saw it, so "own"
changes sides from one position to the next; AlphaZero's paper keeps the leaf's side for all eight.
Both are here. A game shorter than that is continued backwards with its earliest position, for
ChessCoach seen by either side in turn.
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.leaves import Leaves
from kibitz.encoding.words import everywhere, put_castling, put_pieces
from kibitz.kernel.compile import kernel
from kibitz.position.bits import signed
from kibitz.position.squares import FLIP

POSITIONS = 8
PLANES_EACH = 13
CASTLING_PLANE = POSITIONS * PLANES_EACH
CLOCK_PLANE = CASTLING_PLANE + 4
CLOCK_DIVISOR = 99.0


@kernel
def put_position(
    position: np.record, repetitions: int, side: int, words: np.ndarray, at: int
) -> None:
    """Write one position's 13 planes as `side` (0 White, 1 Black) sees it."""
    if signed(position.side) == side:
        put_pieces(position, position.own, position.their, 0, words, at)
    else:
        put_pieces(position, position.their, position.own, FLIP, words, at)
    words[at + 12] = everywhere(repetitions > 0)


@kernel
def history_words(leaves: Leaves, alternating: int, words: np.ndarray) -> None:
    """Fill words, uint64 [B, 109]; `alternating` 1 for ChessCoach's perspectives, 0 for steady."""
    for row in range(words.shape[0]):
        leaf = leaves.positions[row, 0]
        earliest = min(leaves.known[row], leaves.positions.shape[1]) - 1
        for back in range(POSITIONS):
            column = min(back, earliest)
            side = signed(leaf.side) ^ (back & alternating)
            at = (POSITIONS - 1 - back) * PLANES_EACH
            repetitions = signed(leaves.repetitions[row, column])
            put_position(leaves.positions[row, column], repetitions, side, words[row], at)
        put_castling(leaf, False, words[row], CASTLING_PLANE)
        words[row, CLOCK_PLANE] = np.uint64(leaf.rule50)

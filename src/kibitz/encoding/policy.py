"""Policy indices of legal moves: leaves -> **indices** -> the network's logits -> priors.

Squares of the index are in the view of the network's encoding (mirror.py). Castling is the king's
capture of its own rook in ChessCoach's order. In the others it is a move of two squares where the
king stands on e1 and the rook in the corner, and the capture of the rook everywhere else
(Chess960). Either way no other legal move has these squares: a king cannot go to its own rook's
square, nor two squares far.
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.leaves import Leaves
from kibitz.encoding.mirror import view_mask
from kibitz.encoding.policytable import CHESSCOACH, PAIRS, SECTIONS, policy_table
from kibitz.kernel.compile import kernel, static_table
from kibitz.position.bits import signed
from kibitz.position.moves import CASTLING, NO_MOVE, PROMOTION, kind_of

QUEEN_PROMOTION = PROMOTION + 3
SQUARES = PAIRS - 1  # the bits of a move that hold its two squares
E1, A1, H1 = 4, 0, 7
TO_C1 = E1 | 2 << 6
TO_G1 = E1 | 6 << 6

index_at = static_table("policy", policy_table())


@kernel
def castling_squares(move: int) -> int:
    """Two squares of the king where it is at home and so is the rook, else king and rook."""
    squares = move & SQUARES
    if squares == E1 | H1 << 6:
        return TO_G1
    if squares == E1 | A1 << 6:
        return TO_C1
    return squares


@kernel
def move_index(order: int, mask: int, move: int) -> int:
    """Policy index of a legal move in the view of `mask` (see view_mask)."""
    move = signed(move)
    kind = kind_of(move)
    squares = move & SQUARES
    section = 0
    if kind >= PROMOTION:
        section = kind - PROMOTION + 1 if kind < QUEEN_PROMOTION else 0
    elif kind == CASTLING and order != CHESSCOACH:
        squares = castling_squares(move)
    squares ^= mask | mask << 6
    return signed(index_at((order * SECTIONS + section) * PAIRS + squares))


@kernel
def put_policy_indices(order: int, view: int, leaves: Leaves, out: np.ndarray) -> None:
    """Fill out, int32 [M], as flat as leaves.moves."""
    for row in range(leaves.known.shape[0]):
        mask = view_mask(leaves.positions[row, 0], view)
        for at in range(leaves.offsets[row], leaves.offsets[row + 1]):
            out[at] = move_index(order, mask, leaves.moves[at])


@kernel
def move_of_index(order: int, mask: int, moves: np.ndarray, index: int) -> int:
    """The move among legal `moves` (uint16 [n]) that has the index, or NO_MOVE."""
    for at in range(moves.shape[0]):
        if move_index(order, mask, moves[at]) == index:
            return signed(moves[at])
    return NO_MOVE

"""Layouts of a single position: DLChess's 21 and 22 planes, Batch-First's 15.

leaves -> **words** -> planes
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.leaves import Leaves
from kibitz.encoding.mirror import WHITE_VIEW, seen, view_mask
from kibitz.encoding.words import everywhere, put_castling, put_pieces
from kibitz.kernel.compile import kernel
from kibitz.position.bits import bit, signed
from kibitz.position.squares import ALL, EMPTY, NO_SQUARE

REPETITION_PLANE = 12
BLACK_PLANE = 14
ONES_PLANE = 15
CASTLING_PLANE = 16
CLOCK_PLANE = 20
EN_PASSANT_PLANE = 21
OWN_CASTLING_ROOKS, THEIR_CASTLING_ROOKS = 7, 14


@kernel
def en_passant_board(position: np.record) -> np.uint64:
    """The square on which a pawn may be captured en passant, if any."""
    square = signed(position.en_passant)
    return EMPTY if square == NO_SQUARE else bit(square)


@kernel
def colour_words(leaves: Leaves, view: int, words: np.ndarray) -> None:
    """Fill DLChess's planes, words uint64 [B, 21 or 22], in WHITE_VIEW or ROTATED_VIEW."""
    for row in range(words.shape[0]):
        leaf = leaves.positions[row, 0]
        mask = view_mask(leaf, view)
        black = leaf.side == 1
        turned = view == WHITE_VIEW and black  # the first six planes are White's
        first, second = (leaf.their, leaf.own) if turned else (leaf.own, leaf.their)
        put_pieces(leaf, first, second, mask, words[row], 0)
        words[row, REPETITION_PLANE] = everywhere(leaves.repetitions[row, 0] >= 1)
        words[row, REPETITION_PLANE + 1] = everywhere(leaves.repetitions[row, 0] >= 2)
        words[row, BLACK_PLANE] = everywhere(black)
        words[row, ONES_PLANE] = ALL
        put_castling(leaf, turned, words[row], CASTLING_PLANE)
        words[row, CLOCK_PLANE] = np.uint64(leaf.rule50)
        if words.shape[1] > EN_PASSANT_PLANE:
            words[row, EN_PASSANT_PLANE] = seen(en_passant_board(leaf), mask)


@kernel
def onehot_words(leaves: Leaves, words: np.ndarray) -> None:
    """Fill Batch-First's planes, words uint64 [B, 15]: one bit per occupied square."""
    for row in range(words.shape[0]):
        leaf = leaves.positions[row, 0]
        words[row, 0] = en_passant_board(leaf)
        free_rooks = leaf.rooks & ~leaf.castling
        plane = 1
        for board in (
            leaf.kings,
            leaf.queens,
            free_rooks,
            leaf.bishops,
            leaf.knights,
            leaf.pawns,
        ):
            words[row, plane] = board & leaf.own
            words[row, plane + OWN_CASTLING_ROOKS] = board & leaf.their
            plane += 1
        words[row, OWN_CASTLING_ROOKS] = leaf.castling & leaf.own
        words[row, THEIR_CASTLING_ROOKS] = leaf.castling & leaf.their

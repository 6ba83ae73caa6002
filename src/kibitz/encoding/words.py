"""Planes as words: what all layouts have in common, and their expansion to numbers.

    leaves -> **words** -> planes

A layout first writes one uint64 per plane, bit i for square i (a1 0, h8 63). That is what is sent
to a GPU; on a CPU `expand` makes float32 planes of it. One plane may be a number instead of bits,
the clock, which is divided by a constant and spread over all squares.
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.mirror import seen
from kibitz.kernel.compile import kernel
from kibitz.position.squares import ALL, EMPTY, ONE, RANK_1, RANK_8

NO_CLOCK = -1


@kernel
def everywhere(condition: bool) -> np.uint64:
    """A plane of ones or of zeros."""
    return ALL if condition else EMPTY


@kernel
def put_pieces(
    position: np.record, first: np.uint64, second: np.uint64, mask: int, words: np.ndarray, at: int
) -> None:
    """Write pawns ... king of the first side, then of the second, to words[at : at + 12]."""
    plane = at
    for board in (
        position.pawns,
        position.knights,
        position.bishops,
        position.rooks,
        position.queens,
        position.kings,
    ):
        words[plane] = seen(board & first, mask)
        words[plane + 6] = seen(board & second, mask)
        plane += 1


@kernel
def castling_rook(position: np.record, theirs: bool, queen_side: bool) -> np.uint64:
    """The rook with which a side may still castle on one hand of its king, or no square."""
    side, rank = (position.their, RANK_8) if theirs else (position.own, RANK_1)
    king = position.kings & side
    beyond = ~np.uint64(king - ONE) & ~king  # squares after the king's
    rooks = position.castling & rank
    return rooks & ~beyond if queen_side else rooks & beyond


@kernel
def put_castling(position: np.record, theirs_first: bool, words: np.ndarray, at: int) -> None:
    """Write king-side and queen-side rights of one side, then of the other, as full planes."""
    for second in range(2):
        theirs = theirs_first != (second == 1)
        words[at + 2 * second] = everywhere(castling_rook(position, theirs, False) != EMPTY)
        words[at + 2 * second + 1] = everywhere(castling_rook(position, theirs, True) != EMPTY)


@kernel
def expand(words: np.ndarray, clock: int, divisor: float, out: np.ndarray) -> None:
    """Words uint64 [B, P] to planes float32 [B, P, 64]; `clock` is a plane or NO_CLOCK.

    Written without calls and branches inside the last loop, which becomes vector instructions: it
    runs about as fast as memory can be filled.
    """
    zero, one = np.float32(0), np.float32(1)
    for row in range(words.shape[0]):
        for plane in range(words.shape[1]):
            word = words[row, plane]
            if plane == clock:
                out[row, plane, :] = np.float32(np.float32(word) / np.float32(divisor))
                continue
            for square in range(64):
                out[row, plane, square] = one if word & (ONE << np.uint64(square)) else zero

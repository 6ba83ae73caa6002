"""Sparse features: position -> **indices of active features** -> sparse network.

One feature per piece: 64 * piece + square, plus 768 * (attacked + 2 * defended) where threats are
told apart. Pieces are 0-5 for the perspective's pawn ... king, 6-11 for the other side's; squares
are in the perspective's view, files mirrored if its king stands on files e to h. A piece is
attacked if its square is attacked by the other side, defended if by its own.
"""

from __future__ import annotations

import numpy as np

from kibitz.encoding.mirror import mirror_mask
from kibitz.jit import kernel
from kibitz.position.bits import lowest, signed, without_lowest
from kibitz.position.exchange import threat_maps
from kibitz.position.squares import EMPTY, FLIP, ONE

OWN, THEIR = 0, 1  # perspectives: of the side to move, of the other side
MAX_ACTIVE = 32
PLAIN_FEATURES = 768
THREAT_FEATURES = 4 * PLAIN_FEATURES


@kernel
def bit_at(board: np.uint64, square: int) -> int:
    """1 if the square is on the board, else 0."""
    return signed((board >> np.uint64(square)) & ONE)


@kernel
def put_features(
    position: np.record,
    by_own: np.uint64,
    by_their: np.uint64,
    perspective: int,
    out: np.ndarray,
) -> int:
    """Write the active features given what either side attacks; returns how many.

    One loop over all pieces, their type put together from three boards of its binary digits: a
    loop for each type would cost a mispredicted branch twelve times over.
    """
    ones = position.knights | position.rooks | position.kings
    twos = position.bishops | position.rooks
    fours = position.queens | position.kings
    attacked = (position.own & by_their) | (position.their & by_own)
    defended = (position.own & by_own) | (position.their & by_their)
    opposing = position.own if perspective else position.their
    mask = FLIP * perspective | mirror_mask(position, perspective)
    pieces = position.own | position.their
    count = 0
    while pieces:
        square = lowest(pieces)
        index = (square ^ mask) + 64 * bit_at(ones, square) + 128 * bit_at(twos, square)
        index += 256 * bit_at(fours, square) + 384 * bit_at(opposing, square)
        index += PLAIN_FEATURES * (bit_at(attacked, square) + 2 * bit_at(defended, square))
        out[count] = index
        count += 1
        pieces = without_lowest(pieces)
    return count


@kernel
def active_features(position: np.record, threats: bool, perspective: int, out: np.ndarray) -> int:
    """Write the active features to out (any integers, [MAX_ACTIVE]); returns how many."""
    if threats:
        by_own, by_their = threat_maps(position)
        return put_features(position, by_own, by_their, perspective, out)
    return put_features(position, EMPTY, EMPTY, perspective, out)


@kernel
def batch_features(
    positions: np.ndarray,
    threats: bool,
    indices: np.ndarray,
    offsets: np.ndarray,
) -> int:
    """Write the features of a batch one after the other; returns how many there are in all.

    positions POSITION [B]; indices integers [P, at least 32 * B], row 0 for the side to move and,
    if there is a row 1, that for the other side; offsets int64 [B + 1], common to both.
    """
    offsets[0] = 0
    for row in range(positions.shape[0]):
        position = positions[row]
        by_own, by_their = threat_maps(position) if threats else (EMPTY, EMPTY)
        at = offsets[row]
        count = 0
        for perspective in range(indices.shape[0]):
            place = indices[perspective, at : at + MAX_ACTIVE]
            count = put_features(position, by_own, by_their, perspective, place)
        offsets[row + 1] = at + count
    return signed(offsets[positions.shape[0]])

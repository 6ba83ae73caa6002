"""Sparse features of a position: the indices of those that are active.

One feature per piece: 64 * piece + square, plus 768 times its state. Pieces are 0-5 for the
perspective's pawn ... king, 6-11 for the other side's; squares are in the perspective's view, files
mirrored if its king stands on files e to h. A piece is attacked if its square is attacked by the
other side, defended if by its own. The state is

    sparse768    0
    threat3072   attacked + 2 * defended
    tactic3072   attacked + 2 * (defended, or where it is attacked: loose)

where loose pieces lose material to the best exchange on their square, whichever side is to move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import lowest, signed, without_lowest
from kibitz.jit.compile import kernel
from kibitz.nets.encodings.mirror import mirror_mask
from kibitz.position.attacks import EMPTY, FLIP, ONE
from kibitz.position.exchange import loose_pieces, threat_maps

OWN, THEIR = 0, 1  # perspectives: of the side to move, of the other side
MAX_ACTIVE = 32
PLAIN_FEATURES = 768
THREAT_FEATURES = 4 * PLAIN_FEATURES
PLAIN, THREATS, TACTICS = 0, 1, 2  # what else the features of a piece say
DETAILS = {"sparse768": PLAIN, "threat3072": THREATS, "tactic3072": TACTICS}


@kernel
def bit_at(board: np.uint64, square: int) -> int:
    """1 if the square is on the board, else 0."""
    return signed((board >> np.uint64(square)) & ONE)


class PieceStates(NamedTuple):
    """What is known of the pieces, as boards: two binary digits of their states, and attacks."""

    first: np.uint64
    second: np.uint64
    by_their: np.uint64  # squares attacked by the other side; empty for PLAIN


@kernel
def piece_states(position: np.record, detail: int) -> PieceStates:
    """The states of the pieces; of TACTICS, what has both digits is loose."""
    if detail == PLAIN:
        return PieceStates(EMPTY, EMPTY, EMPTY)
    by_own, by_their = threat_maps(position)
    attacked = (position.own & by_their) | (position.their & by_own)
    defended = (position.own & by_own) | (position.their & by_their)
    if detail == TACTICS:
        defended = loose_pieces(position, by_own, by_their) | (defended & ~attacked)
    return PieceStates(attacked, defended, by_their)


@kernel
def put_features(
    position: np.record, states: PieceStates, perspective: int, out: np.ndarray
) -> int:
    """Write the active features given the pieces' states; returns how many.

    One loop over all pieces, their type put together from three boards of its binary digits: a
    loop for each type would cost a mispredicted branch twelve times over.
    """
    ones = position.knights | position.rooks | position.kings
    twos = position.bishops | position.rooks
    fours = position.queens | position.kings
    opposing = position.own if perspective else position.their
    mask = FLIP * perspective | mirror_mask(position, perspective)
    pieces = position.own | position.their
    count = 0
    while pieces:
        square = lowest(pieces)
        index = (square ^ mask) + 64 * bit_at(ones, square) + 128 * bit_at(twos, square)
        index += 256 * bit_at(fours, square) + 384 * bit_at(opposing, square)
        index += PLAIN_FEATURES * (bit_at(states.first, square) + 2 * bit_at(states.second, square))
        out[count] = index
        count += 1
        pieces = without_lowest(pieces)
    return count


@kernel
def batch_features(
    positions: np.ndarray, detail: int, indices: np.ndarray, offsets: np.ndarray
) -> int:
    """Write the features of a batch one after the other; returns how many there are in all.

    positions POSITION [B]; indices integers [P, at least 32 * B], row 0 for the side to move and,
    if there is a row 1, that for the other side; offsets int64 [B + 1], common to both.
    """
    offsets[0] = 0
    for row in range(positions.shape[0]):
        position = positions[row]
        states = piece_states(position, detail)
        at = offsets[row]
        count = 0
        for perspective in range(indices.shape[0]):
            place = indices[perspective, at : at + MAX_ACTIVE]
            count = put_features(position, states, perspective, place)
        offsets[row + 1] = at + count
    return signed(offsets[positions.shape[0]])

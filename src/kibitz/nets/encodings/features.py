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

from kibitz.jit.bits import flip, lowest, signed, without_lowest
from kibitz.jit.compile import kernel
from kibitz.position.attacks import EMPTY, FLIP, ONE, mirror
from kibitz.position.exchange import loose_pieces, threat_maps
from kibitz.position.state import compute_key, copy_position, own_king

# --- views of a board -----------------------------------------------------------------------------
#
# Views of a board: mirrored left to right, turned to a colour, or with the colours exchanged.
#
# A view of a position is a mask by which its squares are XORed: 7 exchanges the files, 56 the
# ranks. Records are in the view of the side to move, so the mask of that view is 0.


MIRROR = 7  # square ^ MIRROR exchanges the a-file and the h-file
MIRROR_MOVE = MIRROR | MIRROR << 6

# Views a network may have of a position.
OWN_VIEW = 0  # the side to move's: for Black flipped vertically
WHITE_VIEW = 1  # always White's
ROTATED_VIEW = 2  # turned by 180 degrees for Black
KING_VIEW = 3  # the side to move's, mirrored so that its own king stands on files a to d


@kernel
def king_mask(king: int) -> int:
    """MIRROR if a king stands on files e to h, else 0."""
    return MIRROR * ((king >> 2) & 1)


@kernel
def mirror_mask(position: np.record, perspective: int) -> int:
    """Whether features are mirrored: MIRROR or 0; perspective 0 the side to move's, 1 the other's.

    Where it is on, policy indices are those of the mirrored moves (KING_VIEW does that).
    """
    side = position.their if perspective else position.own
    return king_mask(lowest(position.kings & side))


@kernel
def view_mask(position: np.record, view: int) -> int:
    """Mask from a record's squares to those of a view."""
    if view == WHITE_VIEW:
        return FLIP * signed(position.side)
    if view == ROTATED_VIEW:
        return MIRROR * signed(position.side)
    if view == KING_VIEW:
        return king_mask(own_king(position))
    return 0


@kernel
def seen(board: np.uint64, mask: int) -> np.uint64:
    """A board in the view of a mask."""
    if mask & FLIP:
        board = flip(board)
    if mask & MIRROR:
        board = mirror(board)
    return board


@kernel
def exchange_colours(source: np.record, target: np.record) -> None:
    """Write the position with White and Black exchanged and the board turned round.

    A record is in the view of the side to move, so only the name of that side changes.
    """
    copy_position(source, target)
    target.side = signed(source.side) ^ 1
    target.ply = signed(source.ply) ^ 1
    target.key = compute_key(target)


# --- features -------------------------------------------------------------------------------------


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

"""Views of a board: mirrored left to right, turned to a colour, or with the colours exchanged.

A view of a position is a mask by which its squares are XORed: 7 exchanges the files, 56 the ranks.
Records are in the view of the side to move, so the mask of that view is 0.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import flip, lowest, signed
from kibitz.jit.compile import kernel
from kibitz.position.attacks import FLIP, mirror
from kibitz.position.state import compute_key, copy_position, own_king

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

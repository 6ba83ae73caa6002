"""Planes and policy indices by the names that a network's card uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kibitz.core.errors import InputError, did_you_mean
from kibitz.nets.encodings.leaves import MOST_HISTORY, Leaves
from kibitz.nets.encodings.mirror import KING_VIEW, OWN_VIEW, ROTATED_VIEW, WHITE_VIEW
from kibitz.nets.encodings.planes import (
    CLOCK_PLANE,
    HISTORY_CLOCK,
    HISTORY_DIVISOR,
    NO_CLOCK,
    colour_words,
    expand,
    history_words,
    onehot_words,
)
from kibitz.nets.encodings.policy import (
    BATCHFIRST,
    CHESSCOACH,
    DLCHESS,
    TABLE1858,
    put_policy_indices,
)


class Layout(NamedTuple):
    """What an encoding of planes is made of."""

    planes: int
    history: int  # columns of Leaves.positions it looks at
    view: int  # of mirror.py, for moves, too
    clock: int  # the plane that is a number instead of bits, or NO_CLOCK
    divisor: float  # of the clock
    repetitions: int  # of a position, the most that the planes distinguish
    write: Callable[[Leaves, np.ndarray], None]  # fills words, uint64 [B, planes]


def _history(alternating: int) -> Layout:
    def write(leaves: Leaves, words: np.ndarray) -> None:
        history_words(leaves, alternating, words)

    return Layout(109, MOST_HISTORY, OWN_VIEW, HISTORY_CLOCK, HISTORY_DIVISOR, 1, write)


def _colours(planes: int, view: int, divisor: float) -> Layout:
    def write(leaves: Leaves, words: np.ndarray) -> None:
        colour_words(leaves, view, words)

    return Layout(planes, 1, view, CLOCK_PLANE, divisor, 2, write)


LAYOUTS = {
    "history109": _history(alternating=1),
    "steady109": _history(alternating=0),
    "colour21": _colours(21, WHITE_VIEW, 1.0),
    "colour22": _colours(22, WHITE_VIEW, 1.0),
    "oriented22": _colours(22, ROTATED_VIEW, 100.0),
    "onehot15": Layout(15, 1, OWN_VIEW, NO_CLOCK, 1.0, 0, onehot_words),
}


class Sight(NamedTuple):
    """What an encoding shows of a leaf besides its pieces, castling and en passant."""

    history: int = 1  # columns of Leaves.positions
    repetitions: int = 0  # the most that the planes distinguish
    clock: bool = False  # whether the plies without capture or pawn move are encoded
    colours: bool = False  # whether White to move looks other than Black with the board turned


# Sparse features have no planes; their policy follows the king's mirror.
VIEWS = {name: layout.view for name, layout in LAYOUTS.items()} | {
    "sparse768": KING_VIEW,
    "threat3072": KING_VIEW,
    "tactic3072": KING_VIEW,
}
ORDERS = {
    "chesscoach": CHESSCOACH,
    "dlchess": DLCHESS,
    "batchfirst": BATCHFIRST,
    "table1858": TABLE1858,
}


def layout_of(name: str) -> Layout:
    """Return the layout of that name; raises InputError for an unknown one."""
    if name not in LAYOUTS:
        raise InputError("unknown encoding", value=name, fix=did_you_mean(name, LAYOUTS))
    return LAYOUTS[name]


def sight_of(encoding: str) -> Sight:
    """What an encoding shows of a leaf: one position and no more if it has no planes."""
    if encoding not in LAYOUTS:
        return Sight()
    layout = LAYOUTS[encoding]
    coloured = layout.view in (WHITE_VIEW, ROTATED_VIEW)
    return Sight(layout.history, layout.repetitions, layout.clock != NO_CLOCK, coloured)


def encode_words(name: str, leaves: Leaves, words: np.ndarray) -> None:
    """Fill words, uint64 [B, planes]: bit i of a word is square i of its plane, a1 first.

    The word of the clock plane is the count itself, to be divided by the layout's divisor.
    """
    layout = layout_of(name)
    _check(words, (len(leaves.known), layout.planes), np.dtype(np.uint64))
    layout.write(leaves, words)


def encode(name: str, leaves: Leaves, out: np.ndarray) -> None:
    """Fill out, float32 [B, planes, 8, 8], rank 1 first and the a-file first in each rank."""
    layout = layout_of(name)
    batch = len(leaves.known)
    _check(out, (batch, layout.planes, 8, 8), np.dtype(np.float32))
    words = np.empty((batch, layout.planes), dtype=np.uint64)
    layout.write(leaves, words)
    expand(words, layout.clock, layout.divisor, out.reshape(batch, layout.planes, 64))


def policy_codes(order: str, encoding: str) -> tuple[int, int]:
    """Return the numbers of a policy order and of the view of an encoding, for kernels."""
    if order not in ORDERS:
        raise InputError("unknown policy order", value=order, fix=did_you_mean(order, ORDERS))
    if encoding not in VIEWS:
        raise InputError("unknown encoding", value=encoding, fix=did_you_mean(encoding, VIEWS))
    if order == "table1858" and VIEWS[encoding] == WHITE_VIEW:
        raise InputError(
            "table1858 knows no promotions down the board",
            value=encoding,
            fix="use an encoding seen from the side to move",
        )
    return ORDERS[order], VIEWS[encoding]


def policy_indices(order: str, encoding: str, leaves: Leaves, out: np.ndarray) -> None:
    """Fill out, int32 [M], with the policy index of every legal move, as flat as `leaves.moves`."""
    code, view = policy_codes(order, encoding)
    put_policy_indices(code, view, leaves, out)


def _check(array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
    """Refuse an array of another shape or type: kernels do not check where they write."""
    if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
        found = f"{array.dtype} {list(array.shape)}"
        raise InputError("wrong array", value=found, fix=f"expected {dtype} {list(shape)}")

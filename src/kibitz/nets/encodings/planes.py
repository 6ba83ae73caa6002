"""Planes of every layout: what the convolutional networks see of a leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kibitz.core.errors import InputError, did_you_mean
from kibitz.jit.bits import bit, signed
from kibitz.jit.compile import kernel
from kibitz.nets.card import LEELA_PLANES, LEELA_POLICY
from kibitz.nets.encodings.features import (
    KING_VIEW,
    OWN_VIEW,
    ROTATED_VIEW,
    WHITE_VIEW,
    seen,
    view_mask,
)
from kibitz.nets.encodings.leaves import MOST_HISTORY, Leaves
from kibitz.nets.encodings.policy import (
    BATCHFIRST,
    CHESSCOACH,
    DLCHESS,
    LEELA1858,
    TABLE1858,
    put_policy_indices,
)
from kibitz.position.attacks import ALL, EMPTY, FLIP, NO_SQUARE, ONE, RANK_1, RANK_8
from kibitz.position.packed import put_state, state_word
from kibitz.position.state import compute_key

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


# --- the 109 planes of ChessCoach -----------------------------------------------------------------

# ChessCoach shows every earlier position to the network as its own side to move saw it, so "own"
# changes sides from one position to the next; AlphaZero's paper keeps the leaf's side for all.
# A shorter game is continued backwards with its earliest position, for ChessCoach seen by either
# side in turn.

POSITIONS = 8
PLANES_EACH = 13
HISTORY_CASTLING = POSITIONS * PLANES_EACH
HISTORY_CLOCK = HISTORY_CASTLING + 4
HISTORY_DIVISOR = 99.0


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
        put_castling(leaf, False, words[row], HISTORY_CASTLING)
        words[row, HISTORY_CLOCK] = np.uint64(leaf.rule50)


# --- the 112 planes of Leela's networks -----------------------------------------------------------

# The leaf comes first, and all positions are as its own side sees them. Before the first one that
# is known there are no positions if that is the start of a game; else it stands for them, with the
# pawn that could be captured en passant taken back.

LEELA_CASTLING = POSITIONS * PLANES_EACH
LEELA_BLACK = LEELA_CASTLING + 4
LEELA_CLOCK = LEELA_CASTLING + 5
LEELA_ONES = LEELA_CASTLING + 7
LEELA_TOTAL = LEELA_CASTLING + 8
START_PAWNS, START_KNIGHTS = np.uint64(0x00FF00000000FF00), np.uint64(0x4200000000000042)
START_BISHOPS, START_QUEENS = np.uint64(0x2400000000000024), np.uint64(0x0800000000000008)
START_ROOKS = np.uint64(0x8100000000000081)


@kernel
def is_start(position: np.record) -> bool:
    """Whether a position is the start of ordinary chess."""
    return (
        position.pawns == START_PAWNS
        and position.knights == START_KNIGHTS
        and position.bishops == START_BISHOPS
        and position.queens == START_QUEENS
        and position.castling == START_ROOKS
        and position.side == 0
    )


@kernel
def take_back_double_step(position: np.record, words: np.ndarray, at: int, turned: bool) -> None:
    """Put the pawn that may be captured en passant back where it came from, in planes at `at`."""
    square = signed(position.en_passant)
    if square == NO_SQUARE:
        return
    origin, target = square + 8, square - 8  # of the side that is not to move, in its record
    mask = FLIP if turned else 0
    plane = at if turned else at + 6
    words[plane] = (words[plane] & ~bit(target ^ mask)) | bit(origin ^ mask)


@kernel
def leela_words(leaves: Leaves, words: np.ndarray) -> None:
    """Fill words, uint64 [B, 112]."""
    for row in range(words.shape[0]):
        leaf = leaves.positions[row, 0]
        earliest = min(leaves.known[row], leaves.positions.shape[1]) - 1
        side = signed(leaf.side)
        words[row, :] = EMPTY
        for back in range(POSITIONS):
            position = leaves.positions[row, min(back, earliest)]
            if back > earliest and is_start(position):
                break
            at = back * PLANES_EACH
            repetitions = signed(leaves.repetitions[row, min(back, earliest)])
            put_position(position, repetitions, side, words[row], at)
            if back > earliest:
                take_back_double_step(position, words[row], at, signed(position.side) != side)
        for hand in range(4):  # our queen's side, our king's, theirs
            rook = castling_rook(leaf, hand >= 2, hand % 2 == 0)
            words[row, LEELA_CASTLING + hand] = everywhere(rook != EMPTY)
        words[row, LEELA_BLACK] = everywhere(side == 1)
        words[row, LEELA_CLOCK] = np.uint64(leaf.rule50)
        words[row, LEELA_ONES] = ALL


# --- layouts of a single position: DLChess's 21 and 22 planes, Batch-First's 15 -------------------

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


# --- names of layouts -----------------------------------------------------------------------------
#
# Planes and policy indices by the names that a network's card uses.


class Layout(NamedTuple):
    """What an encoding of planes is made of."""

    planes: int
    history: int  # columns of Leaves.positions it looks at
    view: int  # of features.py, for moves, too
    clock: int  # the plane that is a number instead of bits, or NO_CLOCK
    divisor: float  # of the clock
    repetitions: int  # of a position, the most that the planes distinguish
    write: Callable[[Leaves, np.ndarray], None]  # fills words, uint64 [B, planes]
    coloured: bool = False  # whether a plane says which side is to move, whatever the view


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
    LEELA_PLANES: Layout(
        LEELA_TOTAL, MOST_HISTORY, OWN_VIEW, LEELA_CLOCK, 1.0, 1, leela_words, coloured=True
    ),
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
    LEELA_POLICY: LEELA1858,
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
    coloured = layout.coloured or layout.view in (WHITE_VIEW, ROTATED_VIEW)
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
    if order in ("table1858", LEELA_POLICY) and VIEWS[encoding] == WHITE_VIEW:
        raise InputError(
            f"{order} knows no promotions down the board",
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
        form = f"{array.dtype} {list(array.shape)}"
        raise InputError("wrong array", value=form, fix=f"expected {dtype} {list(shape)}")


# --- planes in words ------------------------------------------------------------------------------
#
# Positions as 18 words, for files and for GPUs.
#
# Twelve boards, then what else ChessCoach's 109 planes hold of a position. Everything is in the
# view of the side to move. On the GPU words 0-12 are planes bit by bit, words 13-16 full planes
# where they are not zero, the low 16 bits of word 17 the clock.
#
#     0-5    own pawns, knights, bishops, rooks, queens, king
#     6-11   theirs
#     12     repetition: all ones if the position occurred before in the game, else zero
#     13-16  the rook that may still castle: own king-side, queen-side, theirs the same
#     17     bits 0-15 clock, 16-31 ply, 32-39 en passant square (64 none),
#            40 side to move (1 Black), 48-55 earlier occurrences


PACKED_WORDS = 18
REPETITION_WORD, CASTLING_WORD, STATE_WORD = 12, 13, 17


@kernel
def pack(position: np.record, repetitions: int, packed: np.ndarray) -> None:
    """Write a position to words, uint64 [18]; at most 255 repetitions."""
    put_pieces(position, position.own, position.their, 0, packed, 0)
    packed[REPETITION_WORD] = everywhere(repetitions > 0)
    packed[CASTLING_WORD] = castling_rook(position, False, False)
    packed[CASTLING_WORD + 1] = castling_rook(position, False, True)
    packed[CASTLING_WORD + 2] = castling_rook(position, True, False)
    packed[CASTLING_WORD + 3] = castling_rook(position, True, True)
    packed[STATE_WORD] = state_word(position, repetitions)


@kernel
def unpack(packed: np.ndarray, position: np.record) -> int:
    """Write the position that words, uint64 [18], hold; returns its earlier occurrences."""
    position.pawns = packed[0] | packed[6]
    position.knights = packed[1] | packed[7]
    position.bishops = packed[2] | packed[8]
    position.rooks = packed[3] | packed[9]
    position.queens = packed[4] | packed[10]
    position.kings = packed[5] | packed[11]
    own, their, castling = EMPTY, EMPTY, EMPTY
    for plane in range(6):
        own |= packed[plane]
        their |= packed[plane + 6]
    for plane in range(CASTLING_WORD, STATE_WORD):
        castling |= packed[plane]
    position.own, position.their, position.castling = own, their, castling
    repetitions = put_state(packed[STATE_WORD], position)
    position.key = compute_key(position)
    return repetitions


@kernel
def pack_batch(positions: np.ndarray, repetitions: np.ndarray, packed: np.ndarray) -> None:
    """POSITION [B] and uint8 [B] to uint64 [B, 18]."""
    for row in range(positions.shape[0]):
        pack(positions[row], signed(repetitions[row]), packed[row])


@kernel
def unpack_batch(packed: np.ndarray, positions: np.ndarray, repetitions: np.ndarray) -> None:
    """uint64 [B, 18] to POSITION [B] and uint8 [B]."""
    for row in range(positions.shape[0]):
        repetitions[row] = unpack(packed[row], positions[row])

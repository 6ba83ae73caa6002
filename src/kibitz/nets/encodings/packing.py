"""Positions as 18 words, for files and for GPUs.

Twelve boards, then what else ChessCoach's 109 planes hold of a position. Everything is in the view
of the side to move. On the GPU words 0-12 are planes bit by bit, words 13-16 full planes where they
are not zero, the low 16 bits of word 17 the clock.

    0-5    own pawns, knights, bishops, rooks, queens, king
    6-11   theirs
    12     repetition: all ones if the position occurred before in the game, else zero
    13-16  the rook that may still castle: own king-side, queen-side, their king-side, queen-side
    17     bits 0-15 clock, 16-31 ply, 32-39 en passant square (64 none), 40 side to move (1 Black),
           48-55 earlier occurrences
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.encodings.planes import castling_rook, everywhere, put_pieces
from kibitz.position.attacks import EMPTY
from kibitz.position.packed import put_state, state_word
from kibitz.position.state import compute_key

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

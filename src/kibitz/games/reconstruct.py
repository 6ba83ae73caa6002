"""Kernels that find moves: those between positions, and those that written squares mean."""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.position.moves import (
    CASTLING,
    NO_MOVE,
    PROMOTION,
    destination_of,
    generate,
    kind_of,
    origin_of,
)
from kibitz.position.play import play
from kibitz.position.squares import FLIP


@kernel
def move_between(
    before: np.record, after: np.record, moves: np.ndarray, scratch: np.ndarray
) -> int:
    """The legal move that leads from one position to the other, or NO_MOVE.

    `moves` is uint16 [MAX_MOVES], `scratch` POSITION [1].
    """
    for index in range(generate(before, moves)):
        play(before, scratch[0], moves[index])
        if scratch[0].key == after.key and scratch[0].own == after.own:
            return signed(moves[index])
    return NO_MOVE


@kernel
def reconstruct(
    positions: np.ndarray,
    games: np.ndarray,
    moves: np.ndarray,
    scratch: np.ndarray,
    found: np.ndarray,
) -> None:
    """Write to found (uint16 [N]) the move from each position (POSITION [N]) to the next.

    NO_MOVE where no legal move leads there or the next is of another game (uint64 [N]).
    """
    last = positions.shape[0] - 1
    for row in range(last + 1):
        found[row] = NO_MOVE
        if row < last and games[row] == games[row + 1]:
            found[row] = move_between(positions[row], positions[row + 1], moves, scratch)


@kernel
def recognise(
    positions: np.ndarray, written: np.ndarray, moves: np.ndarray, found: np.ndarray
) -> None:
    """Write to found (uint16 [N]) the legal moves that squares and promotions mean, or NO_MOVE.

    `written` is uint16 [N]: origin, destination << 6 in White's view, promotion << 12 (0, or
    PROMOTION + piece); castling is king takes rook, or the king's two steps. 0 is no move.
    """
    for row in range(positions.shape[0]):
        found[row] = NO_MOVE
        if written[row] != 0:
            found[row] = _legal(positions[row], written[row], moves)


@kernel
def _legal(position: np.record, written: int, moves: np.ndarray) -> int:
    view = FLIP * signed(position.side)
    origin, destination = origin_of(written) ^ view, destination_of(written) ^ view
    castling = NO_MOVE
    for index in range(generate(position, moves)):
        move = signed(moves[index])
        if origin_of(move) != origin:
            continue
        kind = kind_of(move)
        promotion = kind if kind >= PROMOTION else 0
        if destination_of(move) == destination and promotion == kind_of(written):
            return move
        if (
            kind == CASTLING
            and origin == 4
            and abs(destination - origin) == 2
            and (destination > origin) == (destination_of(move) > origin)
        ):
            castling = move
    return castling


@kernel
def follow(positions: np.ndarray, written: np.ndarray, moves: np.ndarray, found: np.ndarray) -> int:
    """Play written moves (see `recognise`; uint16 [N]) from positions[0] on; POSITION [N + 1].

    Writes the moves as kernels see them to found (uint16 [N]) and the positions; returns how many
    moves could be played before one that is not legal.
    """
    for row in range(written.shape[0]):
        found[row] = _legal(positions[row], written[row], moves)
        if found[row] == NO_MOVE:
            return row
        play(positions[row], positions[row + 1], found[row])
    return len(written)

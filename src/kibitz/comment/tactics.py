"""How much material a side wins by force: a quiescent alpha-beta search that counts material only.

It proves what commentary claims about tactics, so it knows nothing of positional play. It runs on
a stack of its own, as kernels do not recurse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.jit.bits import bit, popcount
from kibitz.jit.compile import kernel
from kibitz.position.attacks import KNIGHT, PAWN, QUEEN
from kibitz.position.exchange import VALUES
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    PROMOTION,
    destination_of,
    generate,
    kind_of,
    origin_of,
)
from kibitz.position.play import play
from kibitz.position.state import checkers, piece_on

MOST_PLIES = 40  # of one line, captures included
MATE = 30_000  # less the plies to it
UNKNOWN = -99_999  # the budget was spent

FRAME = np.dtype(
    [
        ("alpha", np.int64),
        ("beta", np.int64),
        ("best", np.int64),
        ("best_move", np.int64),
        ("next", np.int64),  # move to be tried next
        ("end", np.int64),  # how many there are
        ("left", np.int64),  # plies to search in full; below 1 captures only
        ("killer", np.int64),  # the quiet move that refuted last at this ply
    ],
    align=True,
)


@kernel
def _difference(pieces: np.uint64, own: np.uint64, their: np.uint64) -> int:
    """How many more of some pieces the side to move has."""
    return popcount(pieces & own) - popcount(pieces & their)


@kernel
def material(position: np.record) -> int:
    """Material of the side to move less the other side's, in centipawns."""
    own, their = position.own, position.their
    total = VALUES[0] * (_difference(position.pawns, own, their))
    total += VALUES[1] * (_difference(position.knights, own, their))
    total += VALUES[2] * (_difference(position.bishops, own, their))
    total += VALUES[3] * (_difference(position.rooks, own, their))
    total += VALUES[4] * (_difference(position.queens, own, their))
    return total


@kernel
def _promise(position: np.record, move: int, killer: int) -> int:
    """How early a move is tried: captures of much by little, promotions, the killer, the rest."""
    kind = kind_of(move)
    promise = 50 if move == killer else 0
    if kind == CASTLING:
        return promise
    target = piece_on(position, destination_of(move))
    if kind == EN_PASSANT:
        target = PAWN
    if target >= 0:
        promise += 10 * VALUES[target] - piece_on(position, origin_of(move)) + 100
    if kind >= PROMOTION:
        promise += 8000 if kind - PROMOTION + KNIGHT == QUEEN else -10
    return promise


@kernel
def _is_loud(position: np.record, move: int) -> bool:
    """Whether a move captures or makes a queen."""
    kind = kind_of(move)
    if kind == CASTLING:
        return False
    if kind >= PROMOTION:
        return kind - PROMOTION + KNIGHT == QUEEN
    return kind == EN_PASSANT or (position.their & bit(destination_of(move))) != 0


@kernel
def _open(position: np.record, frame: np.record, moves: Any, ply: int) -> None:
    """List the moves to try at a position, the most promising first, and what it is worth as is."""
    count = generate(position, moves)
    in_check = checkers(position) != 0
    quiet = frame.left < 1 and not (in_check and frame.left > -4)
    frame.next, frame.end, frame.best_move = 0, 0, 0
    frame.best = -MATE + ply if in_check else -MATE
    if count == 0 or ply + 1 >= MOST_PLIES:
        frame.best = material(position) if count else (-MATE + ply if in_check else 0)
        return
    if quiet:
        frame.best = material(position)
        frame.alpha = max(frame.alpha, frame.best)
        if frame.best >= frame.beta:
            return
    for index in range(count):
        move = moves[index]
        if quiet and not _is_loud(position, move):
            continue
        promise = _promise(position, move, frame.killer)
        place = frame.end
        while place > 0 and _promise(position, moves[place - 1], frame.killer) < promise:
            moves[place] = moves[place - 1]
            place -= 1
        moves[place] = move
        frame.end += 1


@kernel
def force(
    positions: np.ndarray, frames: np.ndarray, moves: np.ndarray, only: int, budget: int
) -> int:
    """Material for the side to move at positions[0] when both sides play best, MATE less plies.

    frames[0] has alpha, beta and the plies to search; its best_move is the answer. `only` is the
    one first move that may be made, 0 for any. UNKNOWN if `budget` positions were not enough.
    """
    ply = 0
    nodes = 1
    _open(positions[0], frames[0], moves[0], 0)
    if only:
        moves[0, 0], frames[0].end = only, 1
    while True:
        frame = frames[ply]
        if frame.next < frame.end and frame.alpha < frame.beta:
            move = moves[ply, frame.next]
            frame.next += 1
            nodes += 1
            if nodes > budget:
                return UNKNOWN
            play(positions[ply], positions[ply + 1], move)
            below = frames[ply + 1]
            below.alpha, below.beta = -frame.beta, -frame.alpha
            below.left = frame.left - (0 if checkers(positions[ply + 1]) and frame.left > 0 else 1)
            ply += 1
            _open(positions[ply], frames[ply], moves[ply], ply)
            continue
        if ply == 0:
            return frame.best
        value = -frame.best
        ply -= 1
        above = frames[ply]
        if value > above.best:
            above.best, above.best_move = value, moves[ply, above.next - 1]
            above.alpha = max(above.alpha, value)
            if value >= above.beta and not _is_loud(positions[ply], above.best_move):
                above.killer = above.best_move

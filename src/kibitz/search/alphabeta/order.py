"""Which move is searched next: the table's, captures that win, killers, quiet moves, the rest.

Moves are generated at once and scored when the table's move did not suffice; each call finds the
best of those that are left. Captures that may lose material are settled by exchange when their turn
comes, and go to the end if they do.
"""

from __future__ import annotations

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.position.exchange import VALUES, exchange_value
from kibitz.position.moves import PROMOTION, generate, kind_of, origin_of
from kibitz.position.squares import QUEEN
from kibitz.position.state import piece_on
from kibitz.search.alphabeta.history import capture_at, captured_by, place_of, quiet_score

TABLE_MOVE = 1 << 28
GOOD = 1 << 20  # captures that do not lose material, as far as is known, are at least at this
BAD = -GOOD // 2  # and those that do are below this
KILLER = 1 << 19
UNDERPROMOTION = -(1 << 21)
TO_QUEEN = PROMOTION + 3
QUEEN_BONUS = 16 * 750
VICTIM_WORTH = 16  # times its value, a victim counts; its attacker once


@kernel
def list_moves(frame: np.record, position: np.record, table_move: int) -> int:
    """Write all legal moves to the frame, the table's first; returns how many."""
    count = generate(position, frame.moves)
    frame.first = 0
    if table_move != 0:
        for index in range(count):
            if frame.moves[index] == table_move:
                frame.moves[index] = frame.moves[0]
                frame.moves[0] = table_move
                frame.scores[0] = TABLE_MOVE
                frame.first = 1
    return count


@kernel
def capture_score(thread: np.record, position: np.record, move: int, captured: int) -> int:
    """Order of a capture or a promotion among others."""
    kind = kind_of(move)
    if kind >= PROMOTION and kind != TO_QUEEN:
        return UNDERPROMOTION
    score = GOOD - VALUES[piece_on(position, origin_of(move))]
    if captured >= 0:
        score += VICTIM_WORTH * VALUES[captured]
    if kind == TO_QUEEN:
        score += QUEEN_BONUS
    return score + signed(thread.captures[capture_at(position, move, captured)]) // 4


@kernel
def _score_moves(
    thread: np.record, frame: np.record, position: np.record, ply: int, first: int, count: int
) -> None:
    """Write the scores of all moves from `first` on."""
    for index in range(first, count):
        move = signed(frame.moves[index])
        captured = captured_by(position, move)
        if captured >= 0 or kind_of(move) >= PROMOTION:
            score = capture_score(thread, position, move, captured)
        elif move == frame.killers[0]:
            score = KILLER
        elif move == frame.killers[1]:
            score = KILLER - 1
        else:
            score = quiet_score(thread, position, ply, move, place_of(position, move))
        frame.scores[index] = score


@kernel
def may_lose(position: np.record, move: int) -> bool:
    """Whether a capture takes less than it puts at risk, so that the exchange must be looked at."""
    captured = captured_by(position, move)
    standing = piece_on(position, origin_of(move))
    if kind_of(move) == TO_QUEEN:
        standing = QUEEN
    return captured < 0 or VALUES[captured] < VALUES[standing]


@kernel
def bring_best(frame: np.record, index: int, count: int) -> int:
    """Exchange the move at `index` and the best of those from there on, which is returned."""
    best, score = index, frame.scores[index]
    for other in range(index + 1, count):
        if frame.scores[other] > score:
            best, score = other, frame.scores[other]
    move = frame.moves[best]
    frame.moves[best], frame.scores[best] = frame.moves[index], frame.scores[index]
    frame.moves[index], frame.scores[index] = move, score
    return signed(move)


@kernel
def next_move(
    thread: np.record, frame: np.record, position: np.record, ply: int, index: int, count: int
) -> int:
    """The move to search after `index` others; its score is frame.scores[index]."""
    if index < frame.first:
        return signed(frame.moves[index])
    if index == frame.first:
        _score_moves(thread, frame, position, ply, index, count)
    while True:
        move = bring_best(frame, index, count)
        if frame.scores[index] < GOOD or not may_lose(position, move):
            return move
        if exchange_value(position, move) >= 0:
            return move
        frame.scores[index] -= 2 * GOOD

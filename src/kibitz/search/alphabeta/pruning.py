"""What is not searched, or less deep: judged by the score without a move, by order and history.

All margins are centipawns. Every part can be switched off (thread.py has their names).
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel, static_table
from kibitz.position.exchange import exchange_value
from kibitz.position.moves import NO_MOVE
from kibitz.position.squares import EMPTY
from kibitz.search.alphabeta.static import evaluate
from kibitz.search.alphabeta.table import (
    AT_LEAST,
    AT_MOST,
    NO_BOUND,
    NOTHING,
    bound_in,
    score_in,
)
from kibitz.search.alphabeta.thread import (
    COUNTS,
    DECISIVE,
    EXCHANGES,
    FUTILITY,
    HISTORY,
    NULL_MOVE,
    REVERSE_FUTILITY,
    UNKNOWN,
    frame_at,
    has,
    position_at,
)

# Plies by which the move of a number is searched less deep, by depth * LIMIT + number.
LIMIT = 64
_REDUCTIONS = np.array(
    [
        int(0.4 + math.log(depth) * math.log(number) / 2.2) if depth and number else 0
        for depth in range(LIMIT)
        for number in range(LIMIT)
    ],
    np.int64,
)
_reduction_at = static_table("reductions", _REDUCTIONS)

FAR_ABOVE, FAR_ABOVE_DEPTH = 75, 7  # for each ply: so much above beta is enough
PASS_DEPTH, PASS_BELOW, PASS_STEP, PASS_MOST = 3, 20, 150, 3
COUNT_DEPTH = 8
FUTILE, FUTILE_PLY, FUTILE_DEPTH = 90, 80, 6
POOR_HISTORY, POOR_DEPTH = -3_500, 3
QUIET_LOSS, QUIET_LOSS_DEPTH = -25, 7  # times the square of the plies that are left
LOSS, LOSS_DEPTH = -100, 6  # for each ply
HISTORY_A_PLY, HISTORY_PLIES = 8_000, 2


# --- the position ---------------------------------------------------------------------------------


@kernel
def has_pieces(position: np.record) -> bool:
    """Whether the side to move has more than pawns, so that it can hardly be in zugzwang."""
    return position.own & ~(position.pawns | position.kings) != EMPTY


@kernel
def judge(
    thread: np.record,
    network: np.record,
    scratch: np.record,
    ply: int,
    checked: bool,
    known: np.uint64,
) -> int:
    """Evaluate the position into its frame; its score as far as the table allows it."""
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    if checked:
        frame.raw = frame.static = UNKNOWN
        return 0
    if frame.excluded == NO_MOVE:
        frame.static = evaluate(thread, network, scratch, position, frame, known)
    static = signed(frame.static)
    if known != NOTHING and frame.excluded == NO_MOVE:
        score, bound = score_in(known, ply), bound_in(known)
        higher = bound != NO_BOUND and bound != AT_MOST and score > static
        lower = bound != NO_BOUND and bound != AT_LEAST and score < static
        if (higher or lower) and abs(score) < DECISIVE:
            return score
    return static


@kernel
def is_far_above(thread: np.record, depth: int, improving: int, static: int, beta: int) -> bool:
    """Whether the score is so good without a move that a few plies will not change it."""
    if not has(thread, REVERSE_FUTILITY) or depth > FAR_ABOVE_DEPTH or static >= DECISIVE:
        return False
    return static - FAR_ABOVE * (depth - improving) >= beta


@kernel
def may_pass(thread: np.record, ply: int, depth: int, static: int, beta: int) -> bool:
    """Whether to see what the position is worth if the side to move passes."""
    if not has(thread, NULL_MOVE) or depth < PASS_DEPTH or frame_at(thread, ply - 1).passed:
        return False
    good = static >= beta and frame_at(thread, ply).static >= beta - PASS_BELOW
    return good and has_pieces(position_at(thread, ply))


@kernel
def passing_reduction(depth: int, above: int) -> int:
    """Plies by which the search after passing is less deep."""
    return 3 + depth // 4 + min(above // PASS_STEP, PASS_MOST)


# --- moves ----------------------------------------------------------------------------------------


@kernel
def reduction_by_number(depth: int, number: int) -> int:
    """Plies by which the move of a number is searched less deep, before all else is looked at."""
    return _reduction_at(min(depth, LIMIT - 1) * LIMIT + min(number, LIMIT - 1))


@kernel
def is_skipped(
    thread: np.record,
    ply: int,
    move: int,
    depth: int,
    number: int,
    alpha: int,
    static: int,
    improving: int,
    plain: bool,
    worth: int,
) -> bool:
    """Whether a late move is not worth a search.

    A `plain` one, quiet and no check, is judged by its number, the score and its history `worth`;
    others only by the material that they lose.
    """
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    if not plain:
        if depth > LOSS_DEPTH or not has(thread, EXCHANGES):
            return False
        return exchange_value(position, move) < LOSS * depth
    left = max(depth - 1 - reduction_by_number(depth, number), 0)
    calm = frame.static != UNKNOWN
    enough = (4 + depth * depth) // (2 - improving)
    if has(thread, COUNTS) and calm and depth <= COUNT_DEPTH and frame.quiets >= enough:
        return True
    reachable = static + FUTILE + FUTILE_PLY * left
    if has(thread, FUTILITY) and calm and left <= FUTILE_DEPTH and reachable <= alpha:
        return True
    if has(thread, HISTORY) and left <= POOR_DEPTH and worth < POOR_HISTORY * (left + 1):
        return True
    if left > QUIET_LOSS_DEPTH or not has(thread, EXCHANGES):
        return False
    return exchange_value(position, move) < QUIET_LOSS * (left + 1) * (left + 1)


@kernel
def reduction(
    frame: np.record,
    move: int,
    depth: int,
    number: int,
    improving: int,
    pv: bool,
    cut: int,
    checks: bool,
    worth: int,
) -> int:
    """Plies by which a late move is searched less deep at first; may be negative."""
    plies = reduction_by_number(depth, number)
    plies += -1 if pv else cut
    plies += 1 - improving
    if checks:
        plies -= 1
    if frame.static == UNKNOWN:
        plies -= 1
    if move == frame.killers[0] or move == frame.killers[1]:
        plies -= 1
    return plies - max(-HISTORY_PLIES, min(HISTORY_PLIES, worth // HISTORY_A_PLY))

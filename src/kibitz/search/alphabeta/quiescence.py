"""Quiescence search below the last ply: captures that may win something, and answers to checks."""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.position.attacks import EMPTY
from kibitz.position.exchange import VALUES, exchange_value
from kibitz.position.moves import NO_MOVE, PROMOTION, generate, generate_captures, kind_of
from kibitz.position.play import play
from kibitz.position.state import checkers
from kibitz.search.alphabeta.constants import DELTA_MARGIN
from kibitz.search.alphabeta.order import (
    QUEEN_PROMOTION,
    TT_MOVE,
    capture_score,
    captured_piece,
    continuation_index,
    needs_exchange,
    pick_best,
    quiet_score,
)
from kibitz.search.alphabeta.pruning import evaluate, tt_adjusted
from kibitz.search.alphabeta.table import (
    LOWER_BOUND,
    NO_ENTRY,
    UPPER_BOUND,
    bucket_index,
    causes_cutoff,
    entry_move,
    entry_score,
    prefetch,
    probe,
    store,
)
from kibitz.search.alphabeta.thread import (
    DECISIVE,
    INFINITE,
    MATE,
    MAX_PLY,
    NO_EVAL,
    QUIESCENCE,
    Context,
    enabled,
    frame_at,
    is_drawn,
    must_stop,
    position_at,
)


@kernel
def _generate(
    thread: np.record,
    frame: np.record,
    position: np.record,
    ply: int,
    in_check: bool,
    tt_move: int,
) -> int:
    """Write the moves to try and their scores to the frame; returns how many."""
    if in_check:
        count = generate(position, frame.moves[:])
    else:
        count = generate_captures(position, frame.moves[:])
    kept = 0
    for index in range(count):
        move = signed(frame.moves[index])
        captured, kind = captured_piece(position, move), kind_of(move)
        if kind >= PROMOTION and kind != QUEEN_PROMOTION and not in_check:
            continue
        if move == tt_move:
            score = TT_MOVE
        elif captured >= 0 or kind >= PROMOTION:
            score = capture_score(thread, position, move, captured)
        else:
            score = quiet_score(thread, position, ply, move, continuation_index(position, move))
        frame.moves[kept], frame.scores[kept] = move, score
        kept += 1
    return kept


@kernel
def _is_pruned(thread: np.record, position: np.record, move: int, delta: int, alpha: int) -> bool:
    """Whether a capture wins too little or loses material; not measured by themselves."""
    won = VALUES[max(captured_piece(position, move), 0)]
    # Delta pruning: even with the captured piece and a margin the score stays below alpha.
    if kind_of(move) < PROMOTION and delta + won <= alpha:
        return True
    # SEE pruning: the exchange on the square loses material.
    return needs_exchange(position, move) and exchange_value(position, move) < 0


@called_kernel
def quiesce(context: Context, ply: int, alpha: int, beta: int) -> int:
    """Score of the position at `ply`, where only captures and answers to checks are tried."""
    return _quiesce(context, ply, alpha, beta)  # a called kernel cannot call itself


@kernel
def _quiesce(context: Context, ply: int, alpha: int, beta: int) -> int:
    thread = context.thread
    if must_stop(context):
        return 0
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    thread.seldepth = max(thread.seldepth, ply)
    frame.pv_length = 0
    if is_drawn(thread, position, ply):
        return 0
    in_check = checkers(position) != EMPTY
    # Transposition table: any depth is enough here. Not measured by itself.
    entry = probe(thread, position.key)
    if beta - alpha == 1 and entry != NO_ENTRY and causes_cutoff(entry, ply, alpha, beta):
        return entry_score(entry, ply)
    best_score, frame.raw_eval = -INFINITE, NO_EVAL
    # Stand pat: nobody has to capture, so the evaluation is a lower bound, but not in check. The
    # table's score in its place: part of +34 +/- 25 Elo (500 games at 10 000 nodes).
    if not in_check or ply >= MAX_PLY or not enabled(thread, QUIESCENCE):
        best_score = tt_adjusted(evaluate(context, ply, entry), entry, ply)
        if best_score >= beta or ply >= MAX_PLY or not enabled(thread, QUIESCENCE):
            if entry == NO_ENTRY:
                store(thread, ply, NO_MOVE, best_score, 0, LOWER_BOUND)
            return best_score
        alpha = max(alpha, best_score)
    count = _generate(thread, frame, position, ply, in_check, entry_move(entry))
    if in_check and count == 0:
        return ply - MATE
    delta, best_move, child = best_score + DELTA_MARGIN, NO_MOVE, position_at(thread, ply + 1)
    for index in range(count):
        move = pick_best(frame, index, count)
        if not in_check:
            if _is_pruned(thread, position, move, delta, alpha):
                continue
        elif best_score > -DECISIVE and captured_piece(position, move) < 0:
            break  # an answer to the check was good enough; only quiet ones are left
        frame.continuation_index = continuation_index(position, move)
        play(position, child, move)
        prefetch(thread, bucket_index(thread, child.key))
        score = -_quiesce(context, ply + 1, -beta, -alpha)
        if thread.stopped:
            return 0
        if score > best_score:
            best_score = score
            if score > alpha:
                alpha, best_move = score, move
                if score >= beta:
                    break
    bound = LOWER_BOUND if best_score >= beta else UPPER_BOUND
    store(thread, ply, best_move, best_score, 0, bound)
    return best_score

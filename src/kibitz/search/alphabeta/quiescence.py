"""Quiescence search below the last ply: captures that may win something, and answers to checks."""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.position.exchange import VALUES, exchange_value
from kibitz.position.moves import NO_MOVE, PROMOTION, generate, generate_captures, kind_of
from kibitz.position.play import play
from kibitz.position.squares import EMPTY
from kibitz.position.state import checkers
from kibitz.search.alphabeta.order import (
    TABLE_MOVE,
    TO_QUEEN,
    bring_best,
    capture_score,
    captured_by,
    may_lose,
    place_of,
    quiet_score,
)
from kibitz.search.alphabeta.pruning import evaluate, nearer
from kibitz.search.alphabeta.table import (
    AT_LEAST,
    AT_MOST,
    NOTHING,
    move_in,
    place_in,
    prefetch,
    probe,
    score_in,
    settles,
    store,
)
from kibitz.search.alphabeta.thread import (
    DECISIVE,
    INFINITE,
    MATE,
    MOST_PLIES,
    QUIESCENCE,
    UNKNOWN,
    Context,
    frame_at,
    has,
    is_drawn,
    must_stop,
    position_at,
)

HOPE = 180  # centipawns beside the captured piece that a capture may be worth


@kernel
def _list(
    thread: np.record, frame: np.record, position: np.record, ply: int, checked: bool, table: int
) -> int:
    """Write the moves to try and their scores to the frame; returns how many."""
    if checked:
        count = generate(position, frame.moves[:])
    else:
        count = generate_captures(position, frame.moves[:])
    kept = 0
    for index in range(count):
        move = signed(frame.moves[index])
        captured, kind = captured_by(position, move), kind_of(move)
        if kind >= PROMOTION and kind != TO_QUEEN and not checked:
            continue
        if move == table:
            score = TABLE_MOVE
        elif captured >= 0 or kind >= PROMOTION:
            score = capture_score(thread, position, move, captured)
        else:
            score = quiet_score(thread, position, ply, move, place_of(position, move))
        frame.moves[kept], frame.scores[kept] = move, score
        kept += 1
    return kept


@kernel
def _is_hopeless(
    thread: np.record, position: np.record, move: int, reachable: int, alpha: int
) -> bool:
    """Whether a capture loses material, or wins too little."""
    won = VALUES[max(captured_by(position, move), 0)]
    if kind_of(move) < PROMOTION and reachable + won <= alpha:
        return True
    return may_lose(position, move) and exchange_value(position, move) < 0


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
    thread.deepest = max(thread.deepest, ply)
    frame.length = 0
    if is_drawn(thread, position, ply):
        return 0
    checked = checkers(position) != EMPTY
    known = probe(thread, position.key)
    if beta - alpha == 1 and known != NOTHING and settles(known, ply, alpha, beta):
        return score_in(known, ply)
    best, frame.raw = -INFINITE, UNKNOWN
    if not checked or ply >= MOST_PLIES or not has(thread, QUIESCENCE):
        best = nearer(evaluate(context, ply, known), known, ply)
        if best >= beta or ply >= MOST_PLIES or not has(thread, QUIESCENCE):
            if known == NOTHING:
                store(thread, ply, NO_MOVE, best, 0, AT_LEAST)
            return best
        alpha = max(alpha, best)
    count = _list(thread, frame, position, ply, checked, move_in(known))
    if checked and count == 0:
        return ply - MATE
    reachable, best_move, child = best + HOPE, NO_MOVE, position_at(thread, ply + 1)
    for index in range(count):
        move = bring_best(frame, index, count)
        if not checked:
            if _is_hopeless(thread, position, move, reachable, alpha):
                continue
        elif best > -DECISIVE and captured_by(position, move) < 0:
            break  # one answer to the check was good enough; only quiet ones are left
        frame.place = place_of(position, move)
        play(position, child, move)
        prefetch(thread, place_in(thread, child.key))
        score = -_quiesce(context, ply + 1, -beta, -alpha)
        if thread.stopped:
            return 0
        if score > best:
            best = score
            if score > alpha:
                alpha, best_move = score, move
                if score >= beta:
                    break
    bound = AT_LEAST if best >= beta else AT_MOST
    store(thread, ply, best_move, best, 0, bound)
    return best

"""The search of the root, which threads begin with.

Its moves are given, and each keeps its score, its principal variation and its nodes.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.position.attacks import EMPTY
from kibitz.position.moves import NO_MOVE
from kibitz.position.play import play
from kibitz.position.state import checkers
from kibitz.search.alphabeta.constants import REDUCTION_DEPTH
from kibitz.search.alphabeta.negamax import clear_frames, search
from kibitz.search.alphabeta.order import continuation_index, is_quiet
from kibitz.search.alphabeta.pruning import Candidate, evaluate_node, late_move_reduction
from kibitz.search.alphabeta.table import EXACT, LOWER_BOUND, UPPER_BOUND, probe, store
from kibitz.search.alphabeta.thread import (
    INFINITE,
    LATE_MOVE_REDUCTIONS,
    Context,
    enabled,
    frame_at,
    is_drawn,
    position_at,
    root_at,
)


@kernel
def keep_root_pv(thread: np.record, index: int, score: int) -> None:
    """Write down the score of a move of the root, and the variation that begins with it."""
    root, below = root_at(thread, index), frame_at(thread, 1)
    root.score, root.seldepth = score, thread.seldepth
    root.pv[0] = root.move
    for ply in range(below.pv_length):
        root.pv[ply + 1] = below.pv[ply]
    root.pv_length = below.pv_length + 1


@kernel
def search_root(context: Context, depth: int, alpha: int, beta: int, first: int) -> int:
    """Search the root's moves from `first` on, within a window; the best score.

    Only moves that are better than all before them get a score and a variation. A search that was
    stopped leaves what it has so far.
    """
    thread = context.thread
    position, child, frame = position_at(thread, 0), position_at(thread, 1), frame_at(thread, 0)
    in_check, first_alpha = checkers(position) != EMPTY, alpha
    best_score, best_move = -INFINITE, NO_MOVE
    thread.root_depth = depth
    is_drawn(thread, position, 0)  # notes its key
    evaluate_node(context, 0, in_check, probe(thread, position.key))
    clear_frames(thread, 0)
    frame.improving = 1
    for index in range(first, thread.root_count):
        root = root_at(thread, index)
        move, nodes = signed(root.move), thread.nodes
        frame.continuation_index = continuation_index(position, move)
        quiet = is_quiet(position, move)
        play(position, child, move)
        frame_at(thread, 1).pv_length = 0
        move_count, new_depth, score = index - first + 1, depth - 1, alpha + 1
        # Late move reductions, and principal variation search, as below the root (negamax.py).
        reducible = quiet and depth >= REDUCTION_DEPTH and move_count > 2
        if enabled(thread, LATE_MOVE_REDUCTIONS) and reducible:
            candidate = Candidate(move, move_count, True, checkers(child) != EMPTY, 0)
            reduction = late_move_reduction(frame, depth, True, 0, candidate)
            reduction = max(0, min(reduction, new_depth - 1))
            if reduction > 0:
                score = -search(context, 1, new_depth - reduction, -alpha - 1, -alpha, 1)
        if move_count > 1 and score > alpha:
            score = -search(context, 1, new_depth, -alpha - 1, -alpha, 1)
        if move_count == 1 or score > alpha:
            score = -search(context, 1, new_depth, -beta, -alpha, 0)
        root.nodes += thread.nodes - nodes
        if thread.stopped:
            return best_score
        root.upper_bound = score
        if move_count == 1 or score > alpha:
            keep_root_pv(thread, index, score)
        best_score = max(best_score, score)
        if score > alpha:
            alpha, best_move = score, move
            if score >= beta:
                break
    bound = (
        LOWER_BOUND if best_score >= beta else EXACT if best_score > first_alpha else UPPER_BOUND
    )
    if first == 0 and thread.root_complete:
        store(thread, 0, best_move, best_score, depth, bound)
    return best_score

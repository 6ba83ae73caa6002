"""The search of the root, which threads begin with.

Its moves are given, and each keeps its score, its line and its nodes.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.position.moves import NO_MOVE
from kibitz.position.play import play
from kibitz.position.squares import EMPTY
from kibitz.position.state import checkers
from kibitz.search.alphabeta.negamax import begin, search
from kibitz.search.alphabeta.order import is_quiet, place_of
from kibitz.search.alphabeta.pruning import Candidate, judge, reduction
from kibitz.search.alphabeta.table import AT_LEAST, AT_MOST, EXACT, probe, store
from kibitz.search.alphabeta.thread import (
    INFINITE,
    REDUCTIONS,
    Context,
    frame_at,
    has,
    is_drawn,
    position_at,
    root_at,
)


@kernel
def keep_line(thread: np.record, index: int, score: int) -> None:
    """Write down the score of a move of the root, and the line that begins with it."""
    root, below = root_at(thread, index), frame_at(thread, 1)
    root.score, root.deepest = score, thread.deepest
    root.line[0] = root.move
    for place in range(below.length):
        root.line[place + 1] = below.line[place]
    root.length = below.length + 1


@kernel
def search_root(context: Context, depth: int, alpha: int, beta: int, first: int) -> int:
    """Search the root's moves from `first` on, within a window; the best score.

    Only moves that are better than all before them get a score and a line. A search that was
    stopped leaves what it has found so far.
    """
    thread = context.thread
    position, child, frame = position_at(thread, 0), position_at(thread, 1), frame_at(thread, 0)
    checked, best, best_move, first_alpha = checkers(position) != EMPTY, -INFINITE, NO_MOVE, alpha
    thread.depth = depth
    is_drawn(thread, position, 0)  # notes its key
    judge(context, 0, checked, probe(thread, position.key))
    begin(thread, 0)
    frame.improving = 1
    for index in range(first, thread.root_count):
        root = root_at(thread, index)
        move, nodes = signed(root.move), thread.nodes
        frame.place, quiet = place_of(position, move), is_quiet(position, move)
        play(position, child, move)
        frame_at(thread, 1).length = 0
        number, deeper, score = index - first + 1, depth - 1, alpha + 1
        if has(thread, REDUCTIONS) and quiet and depth >= 2 and number > 2:
            candidate = Candidate(move, number, True, checkers(child) != EMPTY, 0)
            less = max(0, min(reduction(frame, depth, True, 0, candidate), deeper - 1))
            if less > 0:
                score = -search(context, 1, deeper - less, -alpha - 1, -alpha, 1)
        if number > 1 and score > alpha:
            score = -search(context, 1, deeper, -alpha - 1, -alpha, 1)
        if number == 1 or score > alpha:
            score = -search(context, 1, deeper, -beta, -alpha, 0)
        root.nodes += thread.nodes - nodes
        if thread.stopped:
            return best
        root.most = score
        if number == 1 or score > alpha:
            keep_line(thread, index, score)
        best = max(best, score)
        if score > alpha:
            alpha, best_move = score, move
            if score >= beta:
                break
    bound = AT_LEAST if best >= beta else EXACT if best > first_alpha else AT_MOST
    if first == 0 and thread.root_whole:
        store(thread, 0, best_move, best, depth, bound)
    return best

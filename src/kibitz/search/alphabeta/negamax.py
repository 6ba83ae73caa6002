"""The search itself: the score of a position, some plies deep, within a window.

`search` calls itself for every move. A position is first looked up and evaluated without a move; if
that does not settle it, its moves are searched in the order of `order.py`, late ones less deep.
Pieces of it that are used once stand above it.
"""

from __future__ import annotations

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import inlined_kernel, kernel
from kibitz.position.moves import NO_MOVE
from kibitz.position.play import play, play_null
from kibitz.position.squares import EMPTY
from kibitz.position.state import checkers
from kibitz.search.alphabeta.order import (
    is_quiet,
    learn,
    learn_correction,
    list_moves,
    next_move,
    note_tried,
    place_of,
    quiet_score,
)
from kibitz.search.alphabeta.pruning import (
    PASS_MOST,
    PASS_STEP,
    Candidate,
    has_pieces,
    is_far_above,
    is_skipped,
    judge,
    may_pass,
    reduction,
)
from kibitz.search.alphabeta.quiescence import quiesce
from kibitz.search.alphabeta.table import (
    AT_LEAST,
    AT_MOST,
    EXACT,
    NO_BOUND,
    NOTHING,
    ask_tables,
    bound_in,
    depth_in,
    move_in,
    place_in,
    prefetch,
    probe,
    score_in,
    settles,
    store,
)
from kibitz.search.alphabeta.thread import (
    CHECKS,
    DECISIVE,
    INFINITE,
    MATE,
    MOST_PLIES,
    NOWHERE,
    REDUCTIONS,
    SHALLOWER,
    SINGULAR,
    UNKNOWN,
    Context,
    frame_at,
    has,
    is_drawn,
    must_stop,
    position_at,
)

OLD_CLOCK = 90  # plies without progress from which on the table's scores are not believed
NO_SCORE = -INFINITE - 1
FAR_BELOW, MOST_DOUBLES = 18, 7  # all other moves by so much: two plies deeper; so often in a line


# --- without a move -------------------------------------------------------------------------------


@inlined_kernel
def _score_of_passing(
    context: Context, ply: int, depth: int, beta: int, static: int, cut: int
) -> int:
    """A score of at least beta if even passing keeps it, else NO_SCORE."""
    thread, score = context.thread, NO_SCORE
    if may_pass(thread, ply, depth, static, beta):
        frame, child = frame_at(thread, ply), position_at(thread, ply + 1)
        reduced = 3 + depth // 4 + min((static - beta) // PASS_STEP, PASS_MOST)
        play_null(position_at(thread, ply), child)
        child.rule50 = 0  # nothing from before is repeated
        frame.place, frame.passed = NOWHERE, 1
        found = -search(context, ply + 1, depth - reduced, -beta, -beta + 1, 1 - cut)
        frame.passed = 0
        if found >= beta:
            score = min(found, DECISIVE - 1)
    return score


@inlined_kernel
def _score_of_others(
    context: Context, ply: int, depth: int, beta: int, known: np.uint64, cut: int
) -> int:
    """See what all moves but the table's are worth, and write its extension to the frame.

    Returns a score of at least beta if several moves have it, else NO_SCORE.
    """
    thread, settled, extension = context.thread, NO_SCORE, 0
    frame, score, bound = frame_at(thread, ply), score_in(known, ply), bound_in(known)
    fit = bound != AT_MOST and bound != NO_BOUND and depth_in(known) >= depth - 3
    if fit and depth >= 7 and ply < 2 * thread.depth and abs(score) < DECISIVE:
        target = score - 2 * depth
        frame.excluded = move_in(known)
        others = search(context, ply, (depth - 1) // 2, target - 1, target, cut)
        frame.excluded = NO_MOVE
        if others < target:
            sure = others < target - FAR_BELOW and frame.doubles < MOST_DOUBLES
            extension = 1 + sure
        elif target >= beta:
            settled = target
        elif score >= beta:
            extension = -1
    frame.extension = extension
    frame.doubles += extension == 2
    return settled


# --- one move -------------------------------------------------------------------------------------


@inlined_kernel
def _score_of_move(
    context: Context, ply: int, depth: int, less: int, alpha: int, beta: int, number: int, cut: int
) -> int:
    """Search the move that has been played, with a zero window at first unless it is the first.

    `depth` is that of the position after it, `less` the plies it is searched less deep at first.
    """
    pv = beta - alpha > 1
    score = alpha + 1
    if less > 0:
        score = -search(context, ply + 1, depth - less, -alpha - 1, -alpha, cut | 1)
    if score > alpha and (not pv or number > 1):
        score = -search(context, ply + 1, depth, -alpha - 1, -alpha, 1 - cut)
    if pv and (number == 1 or score > alpha):
        score = -search(context, ply + 1, depth, -beta, -alpha, cut & 0)
    return score


@kernel
def take_line(thread: np.record, ply: int, move: int) -> None:
    """The best line from a ply on is a move and the best line after it."""
    frame, below = frame_at(thread, ply), frame_at(thread, ply + 1)
    frame.line[0] = move
    length = min(signed(below.length), MOST_PLIES - 1)
    for index in range(length):
        frame.line[index + 1] = below.line[index]
    frame.length = length + 1


@kernel
def remember(
    thread: np.record, ply: int, depth: int, move: int, best: int, alpha: int, beta: int
) -> None:
    """Write what the search found into the table, and what it says about the evaluator."""
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    bound = AT_LEAST if best >= beta else AT_MOST
    if beta - alpha > 1 and alpha < best < beta:
        bound = EXACT
    store(thread, ply, move, best, depth, bound)
    lacked = best - frame.static
    believed = (bound != AT_LEAST or lacked > 0) and (bound != AT_MOST or lacked < 0)
    calm = frame.static != UNKNOWN and (move == NO_MOVE or is_quiet(position, move))
    if calm and believed and abs(best) < DECISIVE:
        learn_correction(thread, position, lacked, depth)


# --- all moves ------------------------------------------------------------------------------------


@kernel
def begin(thread: np.record, ply: int) -> None:
    """Reset what was tried at this ply and what is known of the next one."""
    frame, below = frame_at(thread, ply), frame_at(thread, ply + 1)
    frame.tried_count = frame.quiets = 0
    below.killers[0] = below.killers[1] = NO_MOVE
    below.excluded = NO_MOVE


@kernel
def no_moves(position: np.record, frame: np.record, ply: int, alpha: int) -> int:
    """Score of a position in which there is no move, or none but the excluded one."""
    if frame.excluded != NO_MOVE:
        return alpha
    return ply - MATE if checkers(position) != EMPTY else 0


@inlined_kernel
def _search_moves(
    context: Context, ply: int, depth: int, alpha: int, beta: int, cut: int, static: int, known: int
) -> int:
    """Search the moves of the position, best first, until one refutes it.

    `known` is the table's move.
    """
    thread = context.thread
    position, child = position_at(thread, ply), position_at(thread, ply + 1)
    frame, pv, first_alpha = frame_at(thread, ply), beta - alpha > 1, alpha
    excluded, may_skip = signed(frame.excluded), has_pieces(position)
    count = list_moves(frame, position, known)
    best, best_move, searched = -INFINITE, NO_MOVE, 0
    begin(thread, ply)
    for index in range(count):
        move = next_move(thread, frame, position, ply, index, count)
        if move == excluded:
            continue
        searched += 1
        place, quiet = place_of(position, move), is_quiet(position, move)
        worth = quiet_score(thread, position, ply, move, place) if quiet else 0
        play(position, child, move)
        prefetch(thread, place_in(thread, child.key))
        candidate = Candidate(move, searched, quiet, checkers(child) != EMPTY, worth)
        late = quiet or frame.scores[index] < 0
        skippable = late and may_skip and best > -DECISIVE
        if skippable and is_skipped(thread, ply, depth, alpha, static, pv, candidate):
            continue
        frame.place = place
        frame.quiets += quiet
        deeper, less = depth - 1, 0
        if move == known:
            deeper += frame.extension
        if has(thread, REDUCTIONS) and late and depth >= 2 and searched > 1 + pv:
            less = max(0, min(reduction(frame, depth, pv, cut, candidate), deeper - 1))
        score = _score_of_move(context, ply, deeper, less, alpha, beta, searched, cut)
        if thread.stopped:
            return 0
        best = max(best, score)
        if score > alpha:
            alpha, best_move = score, move
            if pv:
                take_line(thread, ply, move)
            if score >= beta:
                learn(thread, position, frame, ply, move, depth)
                break
        if move != best_move:
            note_tried(frame, move)
    if searched == 0:
        return no_moves(position, frame, ply, alpha)
    if excluded == NO_MOVE:
        remember(thread, ply, depth, best_move, best, first_alpha, beta)
    return best


# --- the search -----------------------------------------------------------------------------------


@kernel
def search(context: Context, ply: int, depth: int, alpha: int, beta: int, cut: int) -> int:
    """Score of the position at `ply` for the side to move; outside the window it is a bound.

    `cut` is 1 where a refutation is expected. The window is beta - alpha = 1 off the main line.
    """
    thread = context.thread
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    checked = checkers(position) != EMPTY
    if checked and has(thread, CHECKS) and ply < 2 * thread.depth:
        depth += 1
    if depth <= 0 or ply >= MOST_PLIES:
        return quiesce(context, ply, alpha, beta)
    if must_stop(context):
        return 0
    frame.length, thread.deepest = 0, max(thread.deepest, ply)
    if is_drawn(thread, position, ply):
        return 0
    alpha, beta = max(alpha, ply - MATE), min(beta, MATE - ply - 1)
    if alpha >= beta:
        return alpha
    pv, excluded = beta - alpha > 1, signed(frame.excluded)
    known = probe(thread, position.key) if excluded == NO_MOVE else NOTHING
    trusted = known != NOTHING and depth_in(known) >= depth and position.rule50 < OLD_CLOCK
    if trusted and not pv and settles(known, ply, alpha, beta):
        return score_in(known, ply)
    ask_tables(thread, position, depth, known)
    static, table_move = judge(context, ply, checked, known), move_in(known)
    frame.improving = not checked and frame.static > frame_at(thread, ply - 2).static
    if has(thread, SHALLOWER) and table_move == NO_MOVE and depth >= 4 and excluded == NO_MOVE:
        depth -= 1
    if not (pv or checked) and excluded == NO_MOVE and abs(beta) < DECISIVE:
        if is_far_above(thread, ply, depth, static, beta):
            return (static + beta) // 2
        score = _score_of_passing(context, ply, depth, beta, static, cut)
        if thread.stopped or score != NO_SCORE:
            return score
    frame.extension, frame.doubles = 0, frame_at(thread, ply - 1).doubles
    if has(thread, SINGULAR) and known != NOTHING and table_move != NO_MOVE:
        score = _score_of_others(context, ply, depth, beta, known, cut)
        if thread.stopped or score != NO_SCORE:
            return score
    return _search_moves(context, ply, depth, alpha, beta, cut, static, table_move)

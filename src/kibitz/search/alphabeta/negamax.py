"""Alpha-beta as negamax: the search of a node and of its moves, and quiescence at its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import called_kernel, inlined_kernel, kernel
from kibitz.position.attacks import EMPTY
from kibitz.position.exchange import VALUES, exchange_at_least
from kibitz.position.moves import NO_MOVE, PROMOTION, generate, generate_captures, kind_of
from kibitz.position.play import gives_check, play, play_null
from kibitz.position.state import checkers
from kibitz.search.alphabeta.constants import EXTENSION_LIMIT, MOST_DOUBLE_EXTENSIONS, OLD_CLOCK
from kibitz.search.alphabeta.order import (
    QUEEN_PROMOTION,
    TT_MOVE,
    capture_score,
    captured_piece,
    continuation_index,
    generate_moves,
    is_quiet,
    next_move,
    note_attacks,
    note_tried,
    pick_best,
    quiet_score,
    reward_by_eval,
    update_correction_history,
    update_histories,
)
from kibitz.search.alphabeta.pruning import (
    Candidate,
    earlier_eval,
    evaluate,
    evaluate_node,
    has_pieces,
    is_pruned,
    late_move_reduction,
    null_move_allowed,
    reverse_futility,
    tt_adjusted,
)
from kibitz.search.alphabeta.table import (
    EXACT,
    LOWER_BOUND,
    NO_BOUND,
    NO_ENTRY,
    UPPER_BOUND,
    bucket_index,
    causes_cutoff,
    entry_bound,
    entry_depth,
    entry_move,
    entry_score,
    prefetch,
    probe,
    queue_tablebase_probe,
    store,
)
from kibitz.search.alphabeta.thread import (
    CHECK_EXTENSION,
    DECISIVE,
    IIR,
    INFINITE,
    LATE_MOVE_REDUCTIONS,
    MATE,
    MAX_PLY,
    NO_CONTINUATION,
    NO_EVAL,
    QUIESCENCE,
    SINGULAR_EXTENSION,
    Context,
    at_least,
    enabled,
    frame_at,
    is_drawn,
    may_repeat,
    must_stop,
    position_at,
)


@inlined_kernel
def make_move(thread: np.record, ply: int, move: int, piece_square: int) -> Any:
    """Play a move of the position at `ply`, and load the table's bucket; the position after it."""
    child = position_at(thread, ply + 1)
    frame = frame_at(thread, ply)
    frame.continuation_index, frame.move = piece_square, move
    play(position_at(thread, ply), child, move)
    prefetch(thread, bucket_index(thread, child.key))
    return child


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
        note_attacks(frame, position)
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
    return not exchange_at_least(position, move, 0)


@called_kernel
def quiesce(context: Context, ply: int, alpha: int, beta: int) -> int:
    """Score of the position at `ply`, where only captures and answers to checks are tried."""
    thread = context.thread
    if must_stop(context):
        return 0
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    thread.seldepth = max(thread.seldepth, ply)
    frame.pv_length = 0
    if is_drawn(thread, position, ply):
        return 0
    in_check = frame.in_check != 0
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
    delta, best_move = best_score + thread.delta_margin, NO_MOVE
    for index in range(count):
        move = pick_best(frame, index, count)
        if not in_check:
            if _is_pruned(thread, position, move, delta, alpha):
                continue
        elif best_score > -DECISIVE and captured_piece(position, move) < 0:
            break  # an answer to the check was good enough; only quiet ones are left
        child = make_move(thread, ply, move, continuation_index(position, move))
        frame_at(thread, ply + 1).in_check = checkers(child) != EMPTY
        score = -quiesce(context, ply + 1, -beta, -alpha)
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


# --- negamax --------------------------------------------------------------------------------------
#
# The search itself: the score of a position, some plies deep, within a window.
#
# `search` is one node, from top to bottom: what ends it at once, what is known of it, what a score
# without a move settles, then its moves. Pieces of it that are used once stand above it. Each step
# has the name that books give it, its idea, and what it gained: "not measured by itself" where only
# the whole was (alpha-beta against the tree search: +259 +/- 37 Elo, 234 games at 10+0.1).


NO_SCORE = -INFINITE - 1


# --- without a move -------------------------------------------------------------------------------


@inlined_kernel
def null_move_search(
    context: Context, ply: int, depth: int, beta: int, adjusted_eval: int, cut_node: int
) -> int:
    """A score of at least beta if the side to move keeps it even when it passes, else NO_SCORE."""
    thread, score = context.thread, NO_SCORE
    if null_move_allowed(thread, ply, depth, adjusted_eval, beta):
        frame, child = frame_at(thread, ply), position_at(thread, ply + 1)
        surplus = min((adjusted_eval - beta) // thread.null_move_eval_step, thread.null_move_most)
        reduced = thread.null_move_reduction + depth // thread.null_move_depth_step + surplus
        reduced += frame.improving
        play_null(position_at(thread, ply), child)
        child.rule50 = 0  # nothing from before is repeated
        frame_at(thread, ply + 1).in_check = 0
        frame.continuation_index, frame.null_move = NO_CONTINUATION, 1
        null_score = -search(context, ply + 1, depth - reduced, -beta, -beta + 1, 1 - cut_node)
        frame.null_move = 0
        if null_score >= beta:
            score = min(null_score, DECISIVE - 1)  # a mate after a passed move proves nothing
    return score


@inlined_kernel
def singular_extension(
    context: Context, ply: int, depth: int, beta: int, entry: np.uint64, cut_node: int
) -> int:
    """Search all moves but the table's, and write the extension of that one to the frame.

    Returns a score of at least beta if several moves have it (multi-cut), else NO_SCORE.
    """
    thread, settled, extension = context.thread, NO_SCORE, 0
    frame, tt_score, tt_bound = frame_at(thread, ply), entry_score(entry, ply), entry_bound(entry)
    least_depth = max(depth - thread.singular_entry_depth, 0)
    deep_enough = depth >= thread.singular_depth and entry_depth(entry) >= least_depth
    is_lower_bound = tt_bound != UPPER_BOUND and tt_bound != NO_BOUND
    short_line = ply < EXTENSION_LIMIT * thread.root_depth
    if is_lower_bound and deep_enough and short_line and abs(tt_score) < DECISIVE:
        singular_beta = tt_score - thread.singular_margin * depth
        frame.excluded = entry_move(entry)
        score = search(context, ply, (depth - 1) // 2, singular_beta - 1, singular_beta, cut_node)
        frame.excluded = NO_MOVE
        if score < singular_beta:
            far_below = score < singular_beta - thread.double_extension_margin
            extension = 1 + (far_below and frame.double_extensions < MOST_DOUBLE_EXTENSIONS)
        elif singular_beta >= beta:
            settled = singular_beta
        elif tt_score >= beta:
            extension = -1
    frame.extension = extension
    frame.double_extensions += extension == 2
    return settled


# --- one move -------------------------------------------------------------------------------------


@inlined_kernel
def principal_variation_search(
    context: Context,
    ply: int,
    new_depth: int,
    reduction: int,
    alpha: int,
    beta: int,
    move_count: int,
    cut_node: int,
    best_score: int,
) -> int:
    """Score of the move that has been played; a zero window first, unless it is the first move.

    `new_depth` is that of the position after it, `reduction` the plies less at first. A reduced
    move that comes out far above the best so far is searched a ply deeper, one hardly above it a
    ply less deep.
    """
    thread, is_pv, done = context.thread, beta - alpha > 1, False
    score = alpha + 1
    if reduction > 0:
        score = -search(context, ply + 1, new_depth - reduction, -alpha - 1, -alpha, cut_node | 1)
        if score > alpha:
            deeper = score > best_score + thread.deeper_margin + new_depth
            plies = deeper - (score < best_score + thread.shallower_margin)
            new_depth, done = new_depth + plies, reduction + plies == 0
    if score > alpha and not done and (not is_pv or move_count > 1):
        score = -search(context, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut_node)
    if is_pv and (move_count == 1 or score > alpha):
        score = -search(context, ply + 1, new_depth, -beta, -alpha, cut_node & 0)
    return score


@kernel
def update_pv(thread: np.record, ply: int, move: int) -> None:
    """The principal variation from a ply on is a move and the variation after it."""
    frame, below = frame_at(thread, ply), frame_at(thread, ply + 1)
    frame.pv[0] = move
    length = min(signed(below.pv_length), MAX_PLY - 1)
    for index in range(length):
        frame.pv[index + 1] = below.pv[index]
    frame.pv_length = length + 1


@kernel
def store_result(
    thread: np.record, ply: int, depth: int, move: int, best_score: int, alpha: int, beta: int
) -> None:
    """Write the score into the table, and how far the static evaluation was from it."""
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    bound = LOWER_BOUND if best_score >= beta else UPPER_BOUND
    if beta - alpha > 1 and alpha < best_score < beta:
        bound = EXACT
    store(thread, ply, move, best_score, depth, bound)
    error = best_score - frame.static_eval
    proved = (bound != LOWER_BOUND or error > 0) and (bound != UPPER_BOUND or error < 0)
    calm = frame.static_eval != NO_EVAL and (move == NO_MOVE or is_quiet(position, move))
    if calm and proved and abs(best_score) < DECISIVE:
        update_correction_history(thread, position, ply, error, depth)


# --- all moves ------------------------------------------------------------------------------------


@kernel
def clear_frames(thread: np.record, ply: int) -> None:
    """Reset what was tried at this ply, and the next one's killers and excluded move."""
    frame, below = frame_at(thread, ply), frame_at(thread, ply + 1)
    frame.tried_count = frame.quiet_count = 0
    below.killers[0] = below.killers[1] = NO_MOVE
    below.excluded = NO_MOVE


@kernel
def score_without_moves(frame: np.record, ply: int, alpha: int) -> int:
    """Mate, stalemate, or alpha where there is no move but the excluded one."""
    if frame.excluded != NO_MOVE:
        return alpha
    return ply - MATE if frame.in_check else 0


@inlined_kernel
def search_moves(
    context: Context,
    ply: int,
    depth: int,
    alpha: int,
    beta: int,
    cut_node: int,
    adjusted_eval: int,
    tt_move: int,
) -> int:
    """Search the moves of the position, best first, until one of them causes a cutoff."""
    thread = context.thread
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    is_pv, first_alpha = beta - alpha > 1, alpha
    excluded, may_prune = signed(frame.excluded), has_pieces(position)
    count = generate_moves(frame, position, tt_move)
    best_score, best_move, move_count = -INFINITE, NO_MOVE, 0
    clear_frames(thread, ply)
    for index in range(count):
        # Move ordering (order.py): the table's move, captures that win, killers, history.
        # Continuations 4 plies back: part of +34 +/- 25 Elo (500 games at 10 000 nodes).
        move = next_move(thread, frame, position, ply, index, count)
        if move == excluded:
            continue
        move_count += 1
        piece_square, quiet = continuation_index(position, move), is_quiet(position, move)
        history = quiet_score(thread, position, ply, move, piece_square) if quiet else 0
        checks = gives_check(position, move)
        candidate = Candidate(move, move_count, quiet, checks, history)
        late = quiet or frame.scores[index] < 0  # not the table's move, not a capture that wins
        # Late move, futility, history and SEE pruning (pruning.py): not measured by themselves.
        # For checks, too: -53 +/- 46 Elo (200 games at 1+0.01).
        prunable = late and may_prune and best_score > -DECISIVE
        if prunable and is_pruned(thread, ply, depth, alpha, adjusted_eval, is_pv, candidate):
            continue
        make_move(thread, ply, move, piece_square)
        frame_at(thread, ply + 1).in_check = checks
        frame.quiet_count += quiet
        new_depth, reduction = depth - 1, 0
        if move == tt_move:
            new_depth += frame.extension
        # Late move reductions: what comes late in a good order is rarely best. Not measured by
        # itself; larger ones: -9 +/- 43 Elo (200 games at 10 000 nodes).
        reducible = late and depth >= thread.reduction_depth and move_count > 1 + is_pv
        if enabled(thread, LATE_MOVE_REDUCTIONS) and reducible:
            reduction = late_move_reduction(thread, frame, depth, is_pv, cut_node, candidate)
            reduction = max(0, min(reduction, new_depth - 1))
        # Principal variation search: a zero window shows that a move is no better; if it is
        # better it is searched again. Not measured by itself.
        score = principal_variation_search(
            context, ply, new_depth, reduction, alpha, beta, move_count, cut_node, best_score
        )
        if thread.stopped:
            return 0
        best_score = max(best_score, score)
        if score > alpha:
            alpha, best_move = score, move
            if is_pv:
                update_pv(thread, ply, move)
            if score >= beta:
                # Killers and histories: what refuted here is tried early elsewhere. Not measured
                # by itself; histories after cutoffs by the table, too: +18 +/- 28 Elo (400 games).
                update_histories(thread, position, frame, ply, move, depth)
                break
        if move != best_move:
            note_tried(frame, move)
    if move_count == 0:
        return score_without_moves(frame, ply, alpha)
    if excluded == NO_MOVE:
        store_result(thread, ply, depth, best_move, best_score, first_alpha, beta)
    return best_score


# --- the search -----------------------------------------------------------------------------------


@called_kernel
def search(context: Context, ply: int, depth: int, alpha: int, beta: int, cut_node: int) -> int:
    """Score of the position at `ply` for the side to move; outside the window it is a bound.

    `cut_node` is 1 where a cutoff is expected. The window is beta - alpha = 1 off the main line.
    """
    thread = context.thread
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    in_check = frame.in_check != 0
    # Check extension: a check is answered before the depth ends. Not measured by itself.
    short = ply < EXTENSION_LIMIT * thread.root_depth and depth <= thread.check_extension_depth
    if in_check and enabled(thread, CHECK_EXTENSION) and short:
        depth += 1
    # Quiescence: no score in the middle of an exchange. Not measured by itself.
    if depth <= 0 or ply >= MAX_PLY:
        return quiesce(context, ply, alpha, beta)
    frame.pv_length, thread.seldepth = 0, max(thread.seldepth, ply)
    # Draws: one repetition inside the search is enough.
    if must_stop(context) or is_drawn(thread, position, ply):
        return 0
    # Repetition ahead: who can go back to an earlier position has a draw at least.
    least = 0 if alpha < 0 and may_repeat(thread, position, ply) else -INFINITE
    # Mate distance pruning: no mate from here is shorter than one already found.
    alpha, beta = max(alpha, least, ply - MATE), min(beta, MATE - ply - 1)
    if alpha >= beta:
        return alpha
    is_pv, excluded = beta - alpha > 1, signed(frame.excluded)
    # Transposition table: the same position by another order of moves. Not measured by itself.
    # Near the leaves a score above beta is believed at cut nodes only, one below it elsewhere.
    entry = probe(thread, position.key) if excluded == NO_MOVE else NO_ENTRY
    believed = entry != NO_ENTRY and entry_depth(entry) >= depth and position.rule50 < OLD_CLOCK
    if believed and not is_pv and depth <= thread.expected_depth:
        believed = (cut_node != 0) == (entry_score(entry, ply) >= beta)
    if believed and not is_pv and causes_cutoff(entry, ply, alpha, beta):
        return max(least, entry_score(entry, ply))
    queue_tablebase_probe(thread, position, depth, entry)
    # Static evaluation: the network's, corrected by what searches of such positions found.
    # Correction by pieces: part of +34 +/- 25 Elo (500 games at 10 000 nodes).
    adjusted_eval, tt_move = evaluate_node(context, ply, in_check, entry), entry_move(entry)
    if not in_check and excluded == NO_MOVE:
        reward_by_eval(thread, ply)
    frame.improving = not in_check and frame.static_eval > earlier_eval(thread, ply)
    # Internal iterative reduction: without a move to begin with, less deep. Not measured by itself.
    no_tt_move = tt_move == NO_MOVE and excluded == NO_MOVE
    if enabled(thread, IIR) and no_tt_move and depth >= thread.iir_depth:
        depth -= 1
    if not (is_pv or in_check) and excluded == NO_MOVE and abs(beta) < DECISIVE:
        # Reverse futility: so far above beta that few plies change nothing. Not measured by itself.
        if reverse_futility(thread, ply, depth, adjusted_eval, beta):
            return (adjusted_eval + beta) // 2
        # Null move: if even passing keeps beta, a move does. Not measured by itself; a ply less
        # deep: +12 +/- 39 Elo (200 games at 10 000 nodes), not kept.
        score = null_move_search(context, ply, depth, beta, adjusted_eval, cut_node)
        if thread.stopped or score != NO_SCORE:
            return score
    frame.extension, frame.double_extensions = 0, frame_at(thread, ply - 1).double_extensions
    # Singular extension: a move that all others are far below is searched deeper. Double
    # extensions: part of +34 +/- 25 Elo (500 games at 10 000 nodes).
    if enabled(thread, SINGULAR_EXTENSION) and entry != NO_ENTRY and tt_move != NO_MOVE:
        score = singular_extension(context, ply, depth, beta, entry, cut_node)
        if thread.stopped or score != NO_SCORE:
            return score
    # (ProbCut and razoring: +3 +/- 59 Elo in 100 games, not kept.)
    score = search_moves(context, ply, depth, alpha, beta, cut_node, adjusted_eval, tt_move)
    return at_least(thread, ply, least, score)

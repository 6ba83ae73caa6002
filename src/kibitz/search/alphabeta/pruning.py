"""Static evaluation of a position, and the pruning and reductions that follow from it.

The network's value becomes centipawns, corrected by what searches found it to lack. By this score,
by order and by history moves are pruned or searched less deep. Every part can be switched off
(thread.py has their names); constants.py has the margins and what is known of each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.evaluators.inline import value_of
from kibitz.position.attacks import EMPTY
from kibitz.position.exchange import exchange_at_least
from kibitz.position.moves import NO_MOVE
from kibitz.position.play import play
from kibitz.search.alphabeta.constants import (
    FADE_PLIES,
    MOST_CERTAIN,
    MOST_FADED_PLIES,
    ODDS_SCALE,
)
from kibitz.search.alphabeta.endings import known_score
from kibitz.search.alphabeta.order import correction
from kibitz.search.alphabeta.table import (
    BIAS,
    LOWER_BOUND,
    NO_BOUND,
    NO_ENTRY,
    UPPER_BOUND,
    WORD,
    entry_bound,
    entry_eval,
    entry_score,
)
from kibitz.search.alphabeta.thread import (
    CORRECTION_HISTORY,
    DECISIVE,
    EVAL_CACHE,
    FUTILITY,
    HISTORY_PRUNING,
    LATE_MOVE_PRUNING,
    LIMIT,
    NO_EVAL,
    NULL_MOVE,
    REVERSE_FUTILITY,
    SEE_PRUNING,
    Context,
    enabled,
    frame_at,
    position_at,
)

# --- the score ------------------------------------------------------------------------------------


def value_of_score(score: float) -> float:
    """The value in [-1, 1] of a score in centipawns."""
    return math.tanh(score / (2.0 * ODDS_SCALE))


@kernel
def centipawns_of(network: np.record, scratch: np.record, position: np.record) -> int:
    """The network's value for the side to move, as centipawns."""
    value, _draw = value_of(network, scratch, position)
    value = min(max(value, -MOST_CERTAIN), MOST_CERTAIN)
    return int(ODDS_SCALE * math.log((1.0 + value) / (1.0 - value)))


@kernel
def cached_eval(context: Context, position: np.record) -> int:
    """The evaluator's score, remembered where a cutoff left no entry in the table.

    A word has the upper 48 bits of the position's key, and the score. 1.07 times the nodes a
    second: an eighth to a quarter of what is evaluated was so before.
    """
    thread, key = context.thread, position.key
    place = signed(key & np.uint64(EVAL_CACHE - 1))
    cached = thread.eval_cache[place]
    if cached & ~WORD == key & ~WORD:
        return signed(cached & WORD) - BIAS
    raw_eval = known_score(position)
    if raw_eval == 0:
        raw_eval = centipawns_of(context.network, context.scratch, position)
    thread.eval_cache[place] = key & ~WORD | np.uint64(raw_eval + BIAS)
    return raw_eval


@kernel
def evaluate(context: Context, ply: int, entry: np.uint64) -> int:
    """Write the network's score to the frame, which the table may know; returns it corrected."""
    position, frame = position_at(context.thread, ply), frame_at(context.thread, ply)
    raw_eval = entry_eval(entry) if entry != NO_ENTRY else NO_EVAL
    if raw_eval == NO_EVAL:
        raw_eval = cached_eval(context, position)
    frame.raw_eval = raw_eval
    plies = min(signed(position.rule50), MOST_FADED_PLIES)
    faded = raw_eval * (FADE_PLIES - plies) // FADE_PLIES
    if enabled(context.thread, CORRECTION_HISTORY):
        return faded + correction(context.thread, position, ply)
    return faded


@kernel
def value_after(
    network: np.record, scratch: np.record, positions: np.ndarray, line: np.ndarray, length: int
) -> tuple[float, float]:
    """The network's value and probability of a draw at the end of a line from positions[0] on.

    `positions` has two places, which the line is played in.
    """
    for index in range(length):
        play(positions[index % 2], positions[1 - index % 2], signed(line[index]))
    return value_of(network, scratch, positions[length % 2])


@kernel
def tt_adjusted(static_eval: int, entry: np.uint64, ply: int) -> int:
    """The table's score if its bound says that the static one is wrong, else the static one."""
    if entry == NO_ENTRY:
        return static_eval
    tt_score, tt_bound = entry_score(entry, ply), entry_bound(entry)
    higher = tt_bound != NO_BOUND and tt_bound != UPPER_BOUND and tt_score > static_eval
    lower = tt_bound != NO_BOUND and tt_bound != LOWER_BOUND and tt_score < static_eval
    return tt_score if (higher or lower) and abs(tt_score) < DECISIVE else static_eval


@kernel
def evaluate_node(context: Context, ply: int, in_check: bool, entry: np.uint64) -> int:
    """Write the static evaluation to the frame; returns it as far as the table allows it."""
    frame = frame_at(context.thread, ply)
    if in_check:
        frame.raw_eval = frame.static_eval = NO_EVAL
        return 0
    if frame.excluded == NO_MOVE:
        frame.static_eval = evaluate(context, ply, entry)
    if frame.excluded != NO_MOVE:
        return signed(frame.static_eval)
    return tt_adjusted(signed(frame.static_eval), entry, ply)


@kernel
def earlier_eval(thread: np.record, ply: int) -> int:
    """The static evaluation two plies before, or where that was a check, four plies before."""
    two = signed(frame_at(thread, ply - 2).static_eval)
    return signed(frame_at(thread, ply - 4).static_eval) if two == NO_EVAL else two


# --- the position ---------------------------------------------------------------------------------


@kernel
def has_pieces(position: np.record) -> bool:
    """Whether the side to move has more than pawns, so that it can hardly be in zugzwang."""
    return position.own & ~(position.pawns | position.kings) != EMPTY


@kernel
def reverse_futility(
    thread: np.record, ply: int, depth: int, adjusted_eval: int, beta: int
) -> bool:
    """Whether the score is so far above beta that a few plies will not change it."""
    too_deep = depth > thread.reverse_futility_depth
    if not enabled(thread, REVERSE_FUTILITY) or too_deep or adjusted_eval >= DECISIVE:
        return False
    margin = thread.reverse_futility_margin * (depth - frame_at(thread, ply).improving)
    return adjusted_eval - margin >= beta


@kernel
def null_move_allowed(
    thread: np.record, ply: int, depth: int, adjusted_eval: int, beta: int
) -> bool:
    """Whether to try a null move: not twice in a row, not below beta, not with pawns alone."""
    if not enabled(thread, NULL_MOVE) or depth < thread.null_move_depth:
        return False
    if frame_at(thread, ply - 1).null_move:
        return False
    static_eval = frame_at(thread, ply).static_eval
    good = adjusted_eval >= beta and static_eval >= beta - thread.null_move_margin
    return good and has_pieces(position_at(thread, ply))


# --- moves ----------------------------------------------------------------------------------------


@kernel
def reduction_by_number(thread: np.record, depth: int, move_count: int) -> int:
    """Plies by which the move of a number is searched less deep, before all else is looked at."""
    return signed(thread.reductions[min(depth, LIMIT - 1) * LIMIT + min(move_count, LIMIT - 1)])


class Candidate(NamedTuple):
    """A move that may be pruned or searched less deep."""

    move: int
    move_count: int  # among those searched, from 1
    quiet: bool
    gives_check: bool
    history: int  # if it is quiet


@kernel
def is_pruned(
    thread: np.record,
    ply: int,
    depth: int,
    alpha: int,
    adjusted_eval: int,
    is_pv: bool,
    candidate: Candidate,
) -> bool:
    """Whether a late move is not worth a search.

    Captures and checks are pruned by the material that they lose alone. No step is measured by
    itself, but for late move pruning on the main line.
    """
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    if candidate.gives_check or not candidate.quiet:
        if depth > thread.see_capture_depth or not enabled(thread, SEE_PRUNING):
            return False
        return not exchange_at_least(position, candidate.move, -thread.see_capture_margin * depth)
    lmr_depth = max(depth - 1 - reduction_by_number(thread, depth, candidate.move_count), 0)
    calm = frame.static_eval != NO_EVAL
    # Late move pruning: enough quiet moves were searched. Not on the main line of several lines:
    # with an open window the reply that saves a piece would be missed. For one line it stays
    # there: without it, -8 +/- 27 Elo (316 games at 10 000 nodes).
    enough = (thread.late_move_base + depth * depth) // (2 - frame.improving)
    counted = enabled(thread, LATE_MOVE_PRUNING) and calm and not (is_pv and thread.lines > 1)
    if counted and depth <= thread.late_move_depth and frame.quiet_count >= enough:
        return True
    # Futility pruning: the evaluation is so low that a quiet move does not bring it to alpha.
    reachable = adjusted_eval + thread.futility_base + thread.futility_step * lmr_depth
    low = lmr_depth <= thread.futility_depth and reachable <= alpha
    if enabled(thread, FUTILITY) and calm and low:
        return True
    # History pruning: the move has failed elsewhere.
    lowest = -thread.history_pruning_margin * (lmr_depth + 1)
    shallow = lmr_depth <= thread.history_pruning_depth
    if enabled(thread, HISTORY_PRUNING) and shallow and candidate.history < lowest:
        return True
    # SEE pruning: the exchange on its square loses too much (static exchange evaluation).
    if lmr_depth > thread.see_quiet_depth or not enabled(thread, SEE_PRUNING):
        return False
    most_lost = -thread.see_quiet_margin * (lmr_depth + 1) * (lmr_depth + 1)
    return not exchange_at_least(position, candidate.move, most_lost)


@kernel
def late_move_reduction(
    thread: np.record,
    frame: np.record,
    depth: int,
    is_pv: bool,
    cut_node: int,
    candidate: Candidate,
) -> int:
    """Plies by which a late move is searched less deep at first."""
    plies = reduction_by_number(thread, depth, candidate.move_count)
    plies += -1 if is_pv else cut_node
    plies += 1 - frame.improving
    if candidate.gives_check:
        plies -= 1
    if frame.static_eval == NO_EVAL:
        plies -= 1
    if candidate.move == frame.killers[0] or candidate.move == frame.killers[1]:
        plies -= 1
    by_history = candidate.history // thread.reduction_history
    most = thread.most_history_plies
    return plies - max(-most, min(most, by_history))

"""Static evaluation of a position, and the pruning and reductions that follow from it.

The network's value becomes centipawns, corrected by what searches found it to lack. By this score,
by order and by history moves are left out or reduced. All margins are centipawns. Every part can be
switched off (thread.py has their names).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel, static_table
from kibitz.nets.evaluators.inline import value_of
from kibitz.position.exchange import exchange_value
from kibitz.position.moves import NO_MOVE
from kibitz.position.play import play
from kibitz.position.squares import EMPTY
from kibitz.search.alphabeta.order import correction_of
from kibitz.search.alphabeta.table import (
    AT_LEAST,
    AT_MOST,
    NO_BOUND,
    NOTHING,
    bound_in,
    evaluation_in,
    score_in,
)
from kibitz.search.alphabeta.thread import (
    CORRECTION,
    COUNTS,
    DECISIVE,
    EXCHANGES,
    FUTILITY,
    HISTORY,
    NULL_MOVE,
    REVERSE_FUTILITY,
    UNKNOWN,
    Context,
    frame_at,
    has,
    position_at,
)

# Centipawns for each unit of the logarithm of the odds; 180 was worth some 50 Elo less.
TO_ODDS = 220.0
NEAREST = 1.0 - 1e-9  # to certainty that a value comes: 4 700 centipawns
FADING, MOST_FADED = 220, 100  # plies without progress at which a score is worth nothing; counted

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


# --- the score ------------------------------------------------------------------------------------


def value_of_score(score: float) -> float:
    """The value in [-1, 1] of a score in centipawns."""
    return math.tanh(score / (2.0 * TO_ODDS))


@kernel
def centipawns_of(network: np.record, scratch: np.record, position: np.record) -> int:
    """The network's value for the side to move, as centipawns."""
    value, _draw = value_of(network, scratch, position)
    value = min(max(value, -NEAREST), NEAREST)
    return int(TO_ODDS * math.log((1.0 + value) / (1.0 - value)))


@kernel
def evaluate(context: Context, ply: int, known: np.uint64) -> int:
    """Write the raw score to the frame, which the table may know; returns it corrected."""
    position, frame = position_at(context.thread, ply), frame_at(context.thread, ply)
    raw = evaluation_in(known) if known != NOTHING else UNKNOWN
    if raw == UNKNOWN:
        raw = centipawns_of(context.network, context.scratch, position)
    frame.raw = raw
    faded = raw * (FADING - min(signed(position.rule50), MOST_FADED)) // FADING
    if has(context.thread, CORRECTION):
        return faded + correction_of(context.thread, position)
    return faded


@kernel
def value_after(
    network: np.record, scratch: np.record, positions: np.ndarray, line: np.ndarray, length: int
) -> tuple[float, float]:
    """The network's value and probability of a draw at the end of a line from positions[0] on.

    `positions` has two places, which the line is played in.
    """
    for index in range(length):
        play(positions[index % 2], positions[1 - index % 2], line[index])
    return value_of(network, scratch, positions[length % 2])


@kernel
def nearer(static: int, known: np.uint64, ply: int) -> int:
    """The table's score if its bound says that the static score is wrong, else the static score."""
    if known == NOTHING:
        return static
    score, bound = score_in(known, ply), bound_in(known)
    higher = bound != NO_BOUND and bound != AT_MOST and score > static
    lower = bound != NO_BOUND and bound != AT_LEAST and score < static
    return score if (higher or lower) and abs(score) < DECISIVE else static


@kernel
def judge(context: Context, ply: int, checked: bool, known: np.uint64) -> int:
    """Evaluate the position into its frame; its score as far as the table allows it."""
    frame = frame_at(context.thread, ply)
    if checked:
        frame.raw = frame.static = UNKNOWN
        return 0
    if frame.excluded == NO_MOVE:
        frame.static = evaluate(context, ply, known)
    if frame.excluded != NO_MOVE:
        return signed(frame.static)
    return nearer(signed(frame.static), known, ply)


# --- the position ---------------------------------------------------------------------------------


@kernel
def has_pieces(position: np.record) -> bool:
    """Whether the side to move has more than pawns, so that it can hardly be in zugzwang."""
    return position.own & ~(position.pawns | position.kings) != EMPTY


@kernel
def is_far_above(thread: np.record, ply: int, depth: int, static: int, beta: int) -> bool:
    """Whether the score is so good without a move that a few plies will not change it."""
    if not has(thread, REVERSE_FUTILITY) or depth > FAR_ABOVE_DEPTH or static >= DECISIVE:
        return False
    return static - FAR_ABOVE * (depth - frame_at(thread, ply).improving) >= beta


@kernel
def may_pass(thread: np.record, ply: int, depth: int, static: int, beta: int) -> bool:
    """Whether to see what the position is worth if the side to move passes."""
    if not has(thread, NULL_MOVE) or depth < PASS_DEPTH or frame_at(thread, ply - 1).passed:
        return False
    good = static >= beta and frame_at(thread, ply).static >= beta - PASS_BELOW
    return good and has_pieces(position_at(thread, ply))


# --- moves ----------------------------------------------------------------------------------------


@kernel
def reduction_by_number(depth: int, number: int) -> int:
    """Plies by which the move of a number is searched less deep, before all else is looked at."""
    return _reduction_at(min(depth, LIMIT - 1) * LIMIT + min(number, LIMIT - 1))


class Candidate(NamedTuple):
    """A move that may be left out or searched less deep."""

    move: int
    number: int  # among those searched, from 1
    quiet: bool
    checks: bool
    worth: int  # by its history, if it is quiet


@kernel
def is_skipped(
    thread: np.record,
    ply: int,
    depth: int,
    alpha: int,
    static: int,
    pv: bool,
    candidate: Candidate,
) -> bool:
    """Whether a late move is not worth a search.

    One that is quiet and no check is judged by its number, the score and its history; others only
    by the material that they lose. By its number none is left out on the main line where
    several lines are wanted: with an open window the reply that saves a piece would be missed.
    """
    position, frame = position_at(thread, ply), frame_at(thread, ply)
    if candidate.checks or not candidate.quiet:
        if depth > LOSS_DEPTH or not has(thread, EXCHANGES):
            return False
        return exchange_value(position, candidate.move) < LOSS * depth
    left = max(depth - 1 - reduction_by_number(depth, candidate.number), 0)
    calm = frame.static != UNKNOWN
    enough = (4 + depth * depth) // (2 - frame.improving)
    counted = has(thread, COUNTS) and calm and not (pv and thread.lines > 1)
    if counted and depth <= COUNT_DEPTH and frame.quiets >= enough:
        return True
    reachable = static + FUTILE + FUTILE_PLY * left
    if has(thread, FUTILITY) and calm and left <= FUTILE_DEPTH and reachable <= alpha:
        return True
    poor = POOR_HISTORY * (left + 1)
    if has(thread, HISTORY) and left <= POOR_DEPTH and candidate.worth < poor:
        return True
    if left > QUIET_LOSS_DEPTH or not has(thread, EXCHANGES):
        return False
    return exchange_value(position, candidate.move) < QUIET_LOSS * (left + 1) * (left + 1)


@kernel
def reduction(frame: np.record, depth: int, pv: bool, cut: int, candidate: Candidate) -> int:
    """Plies by which a late move is searched less deep at first."""
    plies = reduction_by_number(depth, candidate.number)
    plies += -1 if pv else cut
    plies += 1 - frame.improving
    if candidate.checks:
        plies -= 1
    if frame.static == UNKNOWN:
        plies -= 1
    if candidate.move == frame.killers[0] or candidate.move == frame.killers[1]:
        plies -= 1
    return plies - max(-HISTORY_PLIES, min(HISTORY_PLIES, candidate.worth // HISTORY_A_PLY))

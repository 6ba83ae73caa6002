"""The search of the root, which threads begin with, and its iterations.

Its moves are given, and each keeps its score, its principal variation and its nodes. `search_nodes`
is a whole search at a fixed number of nodes, for games that are played in compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.jit.helper import compile_beside, compile_own
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.attacks import EMPTY
from kibitz.position.moves import NO_MOVE, generate
from kibitz.position.state import checkers, new_positions
from kibitz.search.alphabeta.constants import (
    ASPIRATION_DEPTH,
    MATE_MARGIN_PLIES,
    WIDEST_WINDOW,
    Constants,
)
from kibitz.search.alphabeta.negamax import clear_frames, make_move, search
from kibitz.search.alphabeta.order import continuation_index, is_quiet, note_attacks, quiet_score
from kibitz.search.alphabeta.pruning import (
    Candidate,
    evaluate_node,
    late_move_reduction,
    value_after,
)
from kibitz.search.alphabeta.table import EXACT, GENERATIONS, LOWER_BOUND, UPPER_BOUND, probe, store
from kibitz.search.alphabeta.thread import (
    ALL_PARTS,
    DECISIVE,
    DEFAULTS,
    FRAMES_BEFORE,
    GRANT,
    INFINITE,
    LATE_MOVE_REDUCTIONS,
    MATE,
    MAX_PLY,
    NO_CONTINUATION,
    NO_EVAL,
    Context,
    ThreadMemory,
    enabled,
    frame_at,
    is_drawn,
    new_control,
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
    position = position_at(thread, 0)
    frame, below = frame_at(thread, 0), frame_at(thread, 1)
    in_check, first_alpha = checkers(position) != EMPTY, alpha
    frame.in_check = in_check
    best_score, best_move = -INFINITE, NO_MOVE
    thread.root_depth = depth
    is_drawn(thread, position, 0)  # notes its key
    evaluate_node(context, 0, in_check, probe(thread, position.key))
    clear_frames(thread, 0)
    note_attacks(frame, position)
    frame.improving = 1
    for index in range(first, thread.root_count):
        root = root_at(thread, index)
        move, nodes = signed(root.move), thread.nodes
        quiet = is_quiet(position, move)
        piece_square = continuation_index(position, move)
        history = quiet_score(thread, position, 0, move, piece_square) if quiet else 0
        child = make_move(thread, 0, move, piece_square)
        below.pv_length, below.in_check = 0, checkers(child) != EMPTY
        move_count, new_depth, score = index - first + 1, depth - 1, alpha + 1
        # Late move reductions, and principal variation search, as below the root (negamax.py).
        reducible = quiet and depth >= thread.reduction_depth and move_count > 2
        if enabled(thread, LATE_MOVE_REDUCTIONS) and reducible:
            candidate = Candidate(move, move_count, True, below.in_check != 0, history)
            reduction = late_move_reduction(thread, frame, depth, True, 0, candidate)
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


# --- iterations -----------------------------------------------------------------------------------


@kernel
def _copy_root(source: np.record, target: np.record) -> None:
    target.move, target.score = source.move, source.score
    target.previous_score, target.upper_bound = source.previous_score, source.upper_bound
    target.nodes, target.seldepth = source.nodes, source.seldepth
    target.pv_length = source.pv_length
    for ply in range(source.pv_length):
        target.pv[ply] = source.pv[ply]


@kernel
def _goes_before(move: np.record, other: np.record, stopped: int) -> bool:
    """By score; after a stop what is proved to lose stands behind the others, tried or not."""
    if stopped:
        lost, other_lost = move.upper_bound <= -DECISIVE, other.upper_bound <= -DECISIVE
        if lost != other_lost:
            return bool(other_lost)
    return bool(move.score > other.score)


@kernel
def _sort_roots(thread: np.record, first: int) -> None:
    """Put the moves from `first` on in order; moves that are level stay as they were."""
    count = signed(thread.root_count)
    room = root_at(thread, count)  # behind the last
    for index in range(first + 1, count):
        place = index
        while place > first and _goes_before(
            root_at(thread, index), root_at(thread, place - 1), signed(thread.stopped)
        ):
            place -= 1
        if place < index:
            _copy_root(root_at(thread, index), room)
            for shifted in range(index, place, -1):
                _copy_root(root_at(thread, shifted - 1), root_at(thread, shifted))
            _copy_root(room, root_at(thread, place))


@called_kernel
def aspiration_search(context: Context, depth: int, first: int) -> bool:
    """Search the moves from `first` on in a window around the last score, and sort them.

    A narrow window causes more cutoffs; a miss is repeated with a window twice as wide, less
    deep if the score was above. Not measured by itself. Returns whether it was not stopped.
    """
    thread = context.thread
    expected, reduced_depth = signed(root_at(thread, first).previous_score), depth
    window = thread.aspiration_window
    alpha, beta = -INFINITE, INFINITE
    if depth >= ASPIRATION_DEPTH and abs(expected) < DECISIVE:
        alpha, beta = expected - window, expected + window
    for index in range(first, thread.root_count):
        if root_at(thread, index).upper_bound > -DECISIVE:  # what is proved to lose stays so
            root_at(thread, index).upper_bound = INFINITE
    while True:
        for index in range(first, thread.root_count):
            root = root_at(thread, index)
            if first > 0 and root.score > -INFINITE:
                # A move's variation was written with its score: they stay together.
                root.previous_score = root.score
            root.score = -INFINITE
        score = search_root(context, reduced_depth, alpha, beta, first)
        _sort_roots(thread, first)
        if thread.stopped or alpha < score < beta:
            return thread.stopped == 0
        if score <= alpha:
            beta = (max(alpha, -INFINITE) + min(beta, INFINITE)) // 2
            alpha, reduced_depth = score - window, depth
        else:
            least = max(depth - thread.fail_high_reduction, 1)
            beta, reduced_depth = score + window, max(reduced_depth - 1, least)
        window *= 2
        if window > WIDEST_WINDOW:
            alpha, beta = -INFINITE, INFINITE


@kernel
def iterate(context: Context, depth: int, first: int) -> bool:
    """An iteration, called by Python; the search itself is compiled once for all its callers."""
    return aspiration_search(context, depth, first)


# --- a whole search in compiled code --------------------------------------------------------------


@kernel
def _set_root(thread: np.record) -> None:
    """Begin the search of the position at ply 0, whose earlier keys the thread has."""
    thread.nodes = thread.stopped = thread.seldepth = 0
    thread.probes_done = thread.probes_queued = 0
    thread.generation = (thread.generation + 1) % GENERATIONS
    thread.root_complete = thread.lines = 1
    for index in range(thread.quiet_history.shape[0]):
        thread.quiet_history[index] //= 2
    for ply in range(-FRAMES_BEFORE, MAX_PLY + 4):
        frame = frame_at(thread, ply)
        frame.continuation_index, frame.static_eval = NO_CONTINUATION, NO_EVAL
        frame.excluded, frame.double_extensions = NO_MOVE, 0
        frame.killers[0] = frame.killers[1] = NO_MOVE
    moves = frame_at(thread, 0).moves
    thread.root_count = generate(position_at(thread, 0), moves)
    for index in range(thread.root_count):
        root = root_at(thread, index)
        root.move, root.nodes, root.pv_length = moves[index], 0, 0
        root.score = root.previous_score = -INFINITE
        root.upper_bound = INFINITE


@kernel
def search_nodes(context: Context, nodes: int, most: int) -> tuple[int, int]:
    """Search the position at ply 0; the best move stands first among the roots.

    Its score, and the depth that was finished.
    No iteration begins after so many `nodes`; after `most` the last is given up. There must be a
    legal move, and `thread.history` keys of the positions before.
    """
    thread, control = context.thread, context.control
    _set_root(thread)
    thread.granted = min(GRANT, most)
    control.stop, control.budget = 0, most - thread.granted
    finished, score = 0, -INFINITE
    for depth in range(1, MAX_PLY):
        if not aspiration_search(context, depth, 0):
            break
        finished = depth
        for index in range(thread.root_count):
            root = root_at(thread, index)
            root.previous_score = root.score
        score = signed(root_at(thread, 0).score)
        mated = abs(score) > DECISIVE and depth >= 2 * (MATE - abs(score)) + MATE_MARGIN_PLIES
        if mated or thread.nodes >= nodes:
            break
    best = root_at(thread, 0)
    if best.score > -INFINITE:
        best.previous_score = best.score
    elif best.previous_score == -INFINITE:  # no better than the best of the iteration before
        best.previous_score, best.pv_length = score, 0
    return signed(best.previous_score), finished


# --- deepening ------------------------------------------------------------------------------------
#
# Iterative deepening on one search thread, each iteration in aspiration windows.
#
# Python stands between two iterations only; inside, kernels count nodes and look at the control.


DEEPEST = MAX_PLY - 1  # iterations


def scores_of(roots: np.ndarray) -> np.ndarray:
    """Scores of ROOT_MOVE [moves]; moves without one have that of the iteration before."""
    return np.where(roots["score"] > -INFINITE, roots["score"], roots["previous_score"])


class Worker:
    """One thread of the search: its memory, its scratch for the evaluator, and its depth."""

    def __init__(
        self,
        evaluator: InlineEvaluator,
        entries: np.ndarray,
        parts: int = ALL_PARTS,
        constants: Constants = DEFAULTS,
    ) -> None:
        self.memory = ThreadMemory(entries, parts, constants)
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        self._compile_in_two(self._context(new_control()))
        self.depth = 0  # of the last iteration that was finished, and
        self.finished = self.memory.roots[:0]  # the root's moves as it left them

    def _compile_in_two(self, context: Context) -> None:
        """Share out what is to be compiled between two processes."""
        line = self.memory.roots[0]["pv"][:0]
        last = context.network, context.scratch, new_positions(2), line, 0
        beside = [(search, (context, *[0] * 5)), (aspiration_search, (context, 0, 0))]
        compile_beside(beside, own=[(value_after, last), (iterate, (context, 0, 0))])

    def set_root(
        self, line: np.ndarray, codes: list[int], generation: int, *, complete: bool
    ) -> None:
        """Begin another search; see ThreadMemory.set_line."""
        self.memory.set_line(line, codes, complete=complete)
        self.memory.record.generation, self.depth = generation, 0
        self.finished = self.roots[:0]

    @property
    def nodes(self) -> int:
        """Positions searched."""
        return int(self.memory.record.nodes)

    @property
    def roots(self) -> np.ndarray:
        """The root's moves, best first, ROOT_MOVE [moves]."""
        return self.memory.roots[: int(self.memory.record.root_count)]

    def resume(self, granted: int = 0) -> None:
        """Be ready to go on after a stop, with so many nodes before the control is looked at."""
        record = self.memory.record
        record.stopped, record.granted = 0, record.nodes + granted

    def _context(self, control: Any) -> Context:
        record, network = self.memory.record, self._evaluator.record
        return Context(control, record, network, self._scratch.record)

    def search_nodes(self, line: np.ndarray, nodes: int) -> int:
        """Search the last of some positions, POSITION [plies + 1], by one call; the score."""
        compile_own()
        self.memory.set_keys(line)
        score, self.depth = search_nodes(self._context(new_control()), nodes, nodes)
        return int(score)

    def deepen(
        self, control: Any, depths: range, lines: int, go_on: Callable[[Worker], bool]
    ) -> None:
        """Search to one depth after the other until `go_on` says no, or the control stops it."""
        lines = self.memory.record.lines = min(lines, len(self.roots))
        context = self._context(control)
        for depth in depths:
            for first in range(lines):
                iterate(context, depth, first)
                if self.memory.record.stopped:
                    self._limit_unscored(first)
                    self._score_first_move()
                    self._sort_lines(lines)
                    return
            self.roots["previous_score"] = self.roots["score"]
            self._sort_lines(lines)
            self.depth, self.finished = depth, self.roots.copy()
            if not go_on(self):
                return

    def _limit_unscored(self, first: int) -> None:
        """Moves left without a score are no better at this depth than the lines finished before."""
        if first > 0:
            left = self.roots[first:]
            lowest = int(self.roots["score"][:first].min())
            limited = np.minimum(left["previous_score"], lowest)
            unscored = left["score"] == -INFINITE
            left["previous_score"] = np.where(unscored, limited, left["previous_score"])

    def _score_first_move(self) -> None:
        """A first move without a score is no better than the best one of the iteration before."""
        first = self.roots[0]
        if max(first["score"], first["previous_score"]) == -INFINITE and self.depth:
            first["previous_score"], first["pv_length"] = self.finished[0]["previous_score"], 0

    def _sort_lines(self, lines: int) -> None:
        """Put the lines of MultiPV in order: a later one may have come out better."""
        shown = self.roots[:lines]
        scores = scores_of(shown)
        scores[scores == -INFINITE] = -DECISIVE  # what was not searched goes before what loses
        shown[:] = shown[np.argsort(-scores, kind="stable")]

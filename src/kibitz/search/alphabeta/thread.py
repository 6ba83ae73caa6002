"""What one thread of an alpha-beta search works on: its line of positions, moves and histories.

A thread is one record; its line is made of frames, one a ply. The numbers of scores stand here,
too: centipawns of the side to move, beyond them wins by tablebase and mates, less their distance.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kibitz.jit.atomics import atomic_add, atomic_load
from kibitz.jit.bits import bit, signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import CACHE_LINE, address_of, aligned, one_record, record_at
from kibitz.position.attacks import EMPTY, between
from kibitz.position.moves import (
    MAX_MOVES,
    NORMAL,
    destination_of,
    encode_move,
    kind_of,
    origin_of,
)
from kibitz.position.outcome import (
    FIFTY_PLIES,
    has_legal_move,
    insufficient_material,
    search_repetition,
)
from kibitz.position.state import POSITION, RECORDS, checkers
from kibitz.search.alphabeta.constants import NAMES, Constants
from kibitz.search.alphabeta.endings import holds_the_corner

MAX_PLY = 127  # of a line, and of a search
MAX_HISTORY = 1024  # plies of the game whose keys repetitions are looked for in

# --- scores ---------------------------------------------------------------------------------------

INFINITE = 32_500
MATE = 32_000  # less the plies to it
TABLE_WIN = 30_000  # less the plies to the position that the tables know
DECISIVE = 29_000  # scores beyond this are mates and tablebases' wins or losses
NO_EVAL = -32_768  # of a position that was not evaluated

# --- parts that can be switched off, for measurements and for tests against a plain search --------

TABLE, QUIESCENCE, CHECK_EXTENSION, REVERSE_FUTILITY, NULL_MOVE = (1 << bit for bit in range(5))
LATE_MOVE_REDUCTIONS, LATE_MOVE_PRUNING, FUTILITY, HISTORY_PRUNING = (
    1 << bit for bit in range(5, 9)
)
SEE_PRUNING, SINGULAR_EXTENSION, IIR, CORRECTION_HISTORY = (1 << bit for bit in range(9, 13))
ALL_PARTS = (1 << 13) - 1

# --- histories ------------------------------------------------------------------------------------

PIECE_SQUARES = 6 * 64  # a piece and the square it goes to
NO_CONTINUATION = PIECE_SQUARES  # where no move led to a position: the root, a null move
FRAMES_BEFORE = 4  # frames before the root, so that each has one four plies before it
CORRECTION_SLOTS = 1 << 14  # of each of its tables,
CORRECTIONS = 5  # by pawns, by pieces of either side, by minor pieces, by the moves before
TRIED = 64  # moves of a position that are remembered as tried

HISTORIES = "quiet_history", "capture_history", "continuation_history", "correction_history"

# --- late move reductions -------------------------------------------------------------------------

LIMIT = 64  # of depths, and of numbers of moves


def reductions(base: int, divisor: int) -> np.ndarray:
    """Plies by which the move of a number is searched less deep, by depth * LIMIT + number."""
    plies = [
        int(base / 100 + math.log(depth) * math.log(number) / (divisor / 100))
        if depth and number
        else 0
        for depth in range(LIMIT)
        for number in range(LIMIT)
    ]
    return np.array(plies, np.int8)


# --- records --------------------------------------------------------------------------------------

FRAME = np.dtype(
    [
        ("moves", np.uint16, MAX_MOVES),
        ("scores", np.int32, MAX_MOVES),  # of the moves; the highest is searched first
        ("tried", np.uint16, TRIED),  # moves that were searched before the best one
        ("tried_count", np.int32),
        ("has_tt_move", np.int32),  # 1 if the table's move stands before all others
        ("killers", np.uint16, 2),  # quiet moves that refuted another move at this ply
        ("raw_eval", np.int32),  # the evaluator's score
        ("static_eval", np.int32),  # that score corrected; NO_EVAL in check
        ("in_check", np.int32),  # whether the side to move is in check
        # Piece and destination of the move that is searched, or NO_CONTINUATION.
        ("continuation_index", np.int32),
        ("move", np.int32),  # that move itself
        # Squares that the other side attacks: by pawns, and by minor pieces, and by rooks, by all.
        ("attacked", np.uint64, 4),
        ("null_move", np.int32),  # whether that move is a null move
        ("excluded", np.int32),  # a move left out by singular extension
        ("extension", np.int32),  # plies that the table's move is searched deeper
        ("double_extensions", np.int32),  # moves of the line that were searched two plies deeper
        ("quiet_count", np.int32),  # quiet moves searched so far
        ("improving", np.int32),  # whether the static evaluation is higher than two plies before
        ("pv_length", np.int32),
        ("pv", np.uint16, MAX_PLY + 1),  # the best moves from here on
    ],
    align=True,
)
ROOT_MOVE = np.dtype(
    [
        ("move", np.uint16),
        ("score", np.int32),  # by the iteration at work; -INFINITE: not better than another
        ("previous_score", np.int32),  # by the iteration before
        ("upper_bound", np.int32),  # its score is no higher, by this iteration or by a mate
        ("nodes", np.int64),
        ("seldepth", np.int32),
        ("pv_length", np.int32),
        ("pv", np.uint16, MAX_PLY + 1),
    ],
    align=True,
)
EVAL_CACHE = 1 << 14  # of the last positions that were evaluated
PROBES = 64  # positions that may wait for the tablebases
THREAD = np.dtype(
    [
        ("entries", np.int64),  # the table: address and buckets
        ("entries_size", np.int64),
        ("positions", np.int64),
        ("positions_size", np.int64),
        ("frames", np.int64),
        ("frames_size", np.int64),
        ("roots", np.int64),
        ("roots_size", np.int64),
        ("probes", np.int64),
        ("probes_size", np.int64),
        ("faults", np.int64),  # accesses out of bounds, counted in debug builds
        ("parts", np.int64),
        ("nodes", np.int64),  # positions searched
        ("granted", np.int64),  # nodes that may be searched before the next look at the control
        ("stopped", np.int64),
        ("generation", np.int64),  # of entries of the table; changes with every search
        ("root_depth", np.int64),  # of the iteration
        ("seldepth", np.int64),  # ply that was reached
        ("history", np.int64),  # positions of the game before the root
        ("root_count", np.int64),
        ("root_complete", np.int64),  # whether these are all legal moves
        ("lines", np.int64),  # of the root's moves that get a score
        ("probes_queued", np.int64),
        ("probes_done", np.int64),
        ("tablebase_pieces", np.int64),  # the most pieces that tablebases know; 0: none
        ("tablebase_depth", np.int64),  # the least depth at which they are asked
        *((name, np.int64) for name in NAMES),  # the numbers of constants.py
        ("reductions", np.int8, LIMIT * LIMIT),
        ("keys", np.uint64, MAX_HISTORY + MAX_PLY + 4),  # of the game, then of the line
        ("eval_cache", np.uint64, EVAL_CACHE),  # the evaluator's scores (pruning.py)
        ("quiet_history", np.int16, 4 * 2 * 64 * 64),
        ("capture_history", np.int16, PIECE_SQUARES * 6),
        ("continuation_history", np.int16, FRAMES_BEFORE * (PIECE_SQUARES + 1) * PIECE_SQUARES),
        ("correction_history", np.int16, CORRECTIONS * CORRECTION_SLOTS),
    ],
    align=True,
)
# What all threads of a search share.
CONTROL = np.dtype(
    [
        ("stop", np.int64),
        ("apart", np.uint8, CACHE_LINE),  # what all look at from what all change
        ("budget", np.int64),  # nodes that may still be searched
    ],
    align=True,
)
GRANT = 256  # nodes between two looks at the control
DEFAULTS = Constants()

position_at = record_at(POSITION, "positions")
root_at = record_at(ROOT_MOVE, "roots")
probe_at = record_at(POSITION, "probes")
_frame_at = record_at(FRAME, "frames")


class ThreadMemory:
    """Owner of a thread's arrays; `record` is what kernels get."""

    def __init__(
        self, entries: np.ndarray, parts: int = ALL_PARTS, constants: Constants = DEFAULTS
    ) -> None:
        self.positions = np.zeros(MAX_PLY + 4, RECORDS)
        self.frames = np.zeros(MAX_PLY + 4 + FRAMES_BEFORE, FRAME)
        self.roots = np.zeros(MAX_MOVES + 1, ROOT_MOVE)  # and room to sort them
        self.probes = np.zeros(PROBES, RECORDS)
        self._row = aligned((1,), THREAD)
        self.record: Any = self._row.view(np.recarray)[0]
        self.record.parts = parts
        for name in NAMES:
            self._row[name] = getattr(constants, name)
        base, divisor = constants.reduction_base, constants.reduction_divisor
        self._row["reductions"] = reductions(base, divisor)
        arrays = {"positions": self.positions, "frames": self.frames, "roots": self.roots}
        for name, array in (arrays | {"probes": self.probes, "entries": entries}).items():
            self._row[name] = address_of(array)
            self._row[f"{name}_size"] = len(array)

    def forget(self) -> None:
        """Begin a new game."""
        for name in (*HISTORIES, "eval_cache"):
            self._row[name] = 0

    def set_keys(self, line: np.ndarray) -> None:
        """Take over the last of a line of positions, and the keys of those before it."""
        earlier = line["key"][:-1][-MAX_HISTORY:]
        self.record.keys[: len(earlier)] = earlier
        self.record.history, self.positions[0] = len(earlier), line[-1]

    def set_line(self, line: np.ndarray, codes: list[int], *, complete: bool) -> None:
        """Take over a line of positions, POSITION [plies + 1], and search its last one.

        Of the root's moves only `codes` are searched; `complete` says whether these are all.
        """
        self.set_keys(line)
        record = self.record
        record.root_count = len(codes)
        record.nodes = record.granted = record.stopped = record.seldepth = 0
        record.probes_done, record.root_complete = record.probes_queued, int(complete)
        record.quiet_history[:] //= 2
        self.frames["continuation_index"] = NO_CONTINUATION
        self.frames["killers"], self.frames["excluded"] = 0, 0
        self.frames["static_eval"], self.frames["double_extensions"] = NO_EVAL, 0
        self.roots[: len(codes)] = np.zeros((), ROOT_MOVE)
        self.roots["move"][: len(codes)] = codes
        self.roots["score"] = self.roots["previous_score"] = -INFINITE


def new_control() -> Any:
    """A control for one search."""
    return one_record(CONTROL)


class Context(NamedTuple):
    """What kernels pass on: what threads share, what is the thread's own, evaluator and scratch."""

    control: np.record
    thread: np.record
    network: np.record
    scratch: np.record


@kernel
def frame_at(thread: np.record, ply: int) -> Any:
    """The frame of a ply; -BACK is the first."""
    return _frame_at(thread, ply + FRAMES_BEFORE)


@kernel
def enabled(thread: np.record, part: int) -> bool:
    """Whether a part of the search is switched on."""
    return (thread.parts & part) != 0


@kernel
def must_stop(context: Context) -> bool:
    """Count a node; True, and no node is counted, once the search is to end."""
    thread = context.thread
    if thread.nodes == thread.granted:
        _take_nodes(context)
    if thread.stopped:
        return True
    thread.nodes += 1
    return False


@kernel
def _take_nodes(context: Context) -> None:
    """Take more nodes from the budget, or stop."""
    control, thread = context.control, context.thread
    if atomic_load(control, "stop"):
        thread.stopped = 1
        return
    left = atomic_add(control, "budget", -GRANT)
    if left <= 0:
        thread.stopped = 1
        return
    thread.granted += min(left, GRANT)


@kernel
def is_drawn(thread: np.record, position: np.record, ply: int) -> bool:
    """Whether the game is drawn by repetition, the 50-move rule or the material; notes the key.

    Nothing before a null move can be repeated: it sets the position's clock to 0.
    """
    count, rule50, key = thread.history + ply, signed(position.rule50), position.key
    thread.keys[count] = key
    if insufficient_material(position) or holds_the_corner(position):
        return True
    if rule50 >= FIFTY_PLIES:
        return has_legal_move(position) or checkers(position) == EMPTY
    return rule50 >= 4 and search_repetition(thread.keys, count, rule50, key, ply)


@kernel
def may_repeat(thread: np.record, position: np.record, ply: int) -> bool:
    """Whether a move leads back to the position three plies before, so that a draw is sure.

    The other side has gone and come back; the side to move can take back its last move.
    """
    if ply <= 3 or position.rule50 < 3:
        return False  # the root itself has to come up once more
    came, own, went = (
        frame_at(thread, ply - 1),
        frame_at(thread, ply - 2),
        frame_at(thread, ply - 3),
    )
    for frame in (came, own, went):
        if frame.continuation_index == NO_CONTINUATION or kind_of(signed(frame.move)) != NORMAL:
            return False
    back, out, last = signed(came.move), signed(went.move), signed(own.move)
    if origin_of(back) != destination_of(out) or destination_of(back) != origin_of(out):
        return False
    home, occupied = origin_of(last), position.own | position.their
    way = between(home, destination_of(last)) | bit(home)
    return way & occupied == EMPTY


@kernel
def at_least(thread: np.record, ply: int, least: int, score: int) -> int:
    """A score, or a draw if `least` is one: the own last move is taken back then."""
    if score > least:
        return score
    frame, last = frame_at(thread, ply), signed(frame_at(thread, ply - 2).move)
    frame.pv[0] = encode_move(destination_of(last), origin_of(last), NORMAL)
    frame.pv_length = 1
    return least

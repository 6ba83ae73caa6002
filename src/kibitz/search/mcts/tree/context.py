"""What a search thread keeps for itself (its context), and what all of them share (control)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.jit.bits import INCREMENT, mixed
from kibitz.jit.compile import kernel
from kibitz.jit.records import CACHE_LINE, address_of, one_record, record_at
from kibitz.position.moves import MAX_MOVES
from kibitz.position.state import POSITION
from kibitz.search.mcts.tree.memory import make_room
from kibitz.search.mcts.tree.nodes import EXPANDED, TreeMemory, edge_at
from kibitz.search.proof import is_settled

MAX_DEPTH = 400  # plies below the root; deeper lines count as even
PAST = 160  # positions of the game before the root: all that repetitions can reach back to
LINE = PAST + MAX_DEPTH + 2  # positions of the game and of a path, the root at PAST
MAX_HISTORY = 1024  # plies of the game whose keys repetitions are looked for in
QUESTIONS = 64  # positions that may wait for a tablebase; more are not queued
REMEMBERED = 4096  # numbers of visits whose exploration weight is kept
SUMS = 257  # edges that a thread accumulates visits of at a time

CONTEXT = np.dtype(
    [
        ("positions", np.uint64),  # address of POSITION [positions_size]; 0 is the root
        ("positions_size", np.int64),
        ("history", np.int64),  # how many of `keys` are of the game before the root
        ("played", np.int64),  # plies of `path` whose positions and keys are still there
        ("deepest", np.int64),
        ("depth_sum", np.int64),
        ("playouts", np.int64),
        # Edges and nodes this thread has taken for itself, while the tree's layout is this one.
        ("layout", np.int64),
        ("edges_next", np.int64),
        ("edges_end", np.int64),
        ("nodes_next", np.int64),
        ("nodes_end", np.int64),
        ("collisions", np.int64),
        ("questions", np.uint64),  # address of POSITION [questions_size]: the queue for tablebases
        ("questions_size", np.int64),
        ("table_pieces", np.int64),  # positions with so few pieces are queued; 0: none
        ("table_depth", np.int64),  # plies from the root before positions are queued
        ("queued", np.int64),  # positions queued so far; the next one goes to queued % QUESTIONS
        ("answered", np.int64),
        ("faults", np.int64),
        ("random_state", np.uint64),  # state of the random generator
        ("budget_used", np.float64),  # share of the search that is over, see set_share, and
        ("root_visits", np.float64),  # visits of the root when it was last looked at
        ("keys", np.uint64, MAX_HISTORY + MAX_DEPTH + 2),  # game, then root, then path
        ("path", np.int64, MAX_DEPTH + 2),  # edge into each ply; path[0] = 0
        ("trust", np.uint8, MAX_DEPTH + 2),  # 1 if the choice of that edge may be believed
        ("accumulating", np.uint8, MAX_DEPTH + 2),  # 1 if its visits are accumulated
        # What the last playout backed up at each ply, and 1 / step of the means there.
        ("values", np.float64, MAX_DEPTH + 2),
        ("draws", np.float64, MAX_DEPTH + 2),
        ("divisors", np.float64, MAX_DEPTH + 2),
        # Sums of edges: visits, those that are samples, and sums over the samples. 0: the root's.
        ("sum_edges", np.int64, SUMS),
        ("sum_visits", np.int64, SUMS),
        ("sum_samples", np.int64, SUMS),
        ("sum_values", np.float64, SUMS),
        ("sum_draws", np.float64, SUMS),
        ("sum_squares", np.float64, SUMS),
        ("asking", np.int64, QUESTIONS),  # the edges that led to the positions in `questions`
        ("moves", np.uint16, MAX_MOVES),
        ("logits", np.float32, MAX_MOVES),
        ("scores", np.float64, MAX_MOVES),
        ("weights", np.float64, REMEMBERED),  # c(N) sqrt(N) below the root; 0: not needed yet
        ("sorting", np.int32, MAX_MOVES),  # what moves are sorted by, and
        ("ranks", np.int32, MAX_MOVES),
        ("order", np.uint32, MAX_MOVES),  # prior << 16 | move, best first
    ],
    align=True,
)
# What all threads of a search share.
CONTROL = np.dtype(
    [
        ("stop", np.int64),
        ("budget", np.int64),  # playouts of the whole search, 0 if it is not limited by them
        ("later", np.int64),  # of those, how many are not among the tickets yet
        ("time_used", np.float64),  # share of the move's time, 0 if there is no plan for it
        ("full", np.int64),  # the tree has no room: return, so that it can be compacted
        ("apart", np.uint8, CACHE_LINE),  # what all look at from what all change
        ("tickets", np.int64),  # playouts that may still be started
    ],
    align=True,
)
position_at = record_at(POSITION, "positions")
question_at = record_at(POSITION, "questions")


class ContextMemory:
    """Owner of a context's arrays; `record` is what kernels get."""

    def __init__(self, seed: int) -> None:
        self.record: Any = one_record(CONTEXT)
        self.move_line(np.zeros(LINE, dtype=POSITION))
        self.past = 0  # positions before the root that are known
        self.questions = np.zeros(QUESTIONS, dtype=POSITION)
        self.record.questions = address_of(self.questions)
        self.record.questions_size = QUESTIONS
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Begin with random numbers as a new context does."""
        self.record.random_state = seed & 0xFFFF_FFFF_FFFF_FFFF
        self.record.trust[:] = 1

    def move_line(self, line: np.ndarray) -> None:
        """Keep positions in this memory from now on, POSITION [LINE]."""
        self.line, self.positions = line, line[PAST:]  # [0] of these is the root
        self.record.positions = address_of(self.positions)
        self.record.positions_size = len(self.positions)

    def set_line(self, line: np.ndarray) -> None:
        """Take over a line of positions, POSITION [plies + 1]; the rule may be new."""
        self.forget_questions()
        self.record.weights[:] = 0.0
        self.record.budget_used = self.record.root_visits = 0.0
        earlier = line["key"][:-1][-MAX_HISTORY:]
        self.record.keys[: len(earlier)] = earlier
        self.record.history = len(earlier)
        self.past = min(PAST, len(line) - 1)
        self.line[PAST - self.past : PAST + 1] = line[-self.past - 1 :]

    def forget_questions(self) -> None:
        """Drop the queue for tablebases, as edges are about to change their places."""
        self.record.answered = self.record.queued

    def known_line(self) -> np.recarray:
        """The positions up to the root, as far as they are known."""
        return self.line[PAST - self.past : PAST + 1].view(np.recarray)


@kernel
def random_word(context: np.record) -> np.uint64:
    """Next 64 random bits (SplitMix64)."""
    word = mixed(context.random_state)
    context.random_state = np.uint64(context.random_state + INCREMENT)
    return word


@kernel
def random_unit(context: np.record) -> float:
    """Uniform in [0, 1)."""
    return float(random_word(context) >> np.uint64(11)) / 9007199254740992.0


@kernel
def set_share(control: np.record, tree: np.record, context: np.record, left: int) -> None:
    """Set which share of the search is over, with `left` tickets to go.

    Of the playouts or of the time, whichever is larger; 0 if neither has a limit.
    """
    context.budget_used = control.time_used
    if control.budget > 0:
        done = control.budget - left - control.later
        context.budget_used = max(context.budget_used, done / control.budget)
    context.root_visits = edge_at(tree, 0).visits


# --- tree search ----------------------------------------------------------------------------------
#
# One tree that is searched: its memory, its contexts, and how far its playouts are to go.


SEED_STEP = 7919  # between the seeds of two contexts
FIRST_PIECE = 64  # playouts of a run with a short time before the first check


@dataclass
class Pace:
    """When a run checks whether to stop, and how many threads or rows work at a small tree."""

    should_stop: Callable[[], bool]
    short: bool  # milliseconds count: small pieces on the calling thread, small batches
    frequent: bool  # a check whenever the playouts have grown by a part
    slow_start_nodes: int  # a tree with fewer visits is small: one thread, or few rows of a batch
    slow_start_rows: int
    alone: bool = False  # batches are evaluated on the calling thread, with no other to wait for
    piece: int = FIRST_PIECE  # playouts between two checks of a run with a short time


class TreeSearch:
    """A tree with the contexts of its search threads, and the record that they share.

    Fields of records are read by item here: games in step ask often, and attributes take five times
    as long.
    """

    def __init__(self, memory: TreeMemory, seed: int = 0, threads: int = 1) -> None:
        self.memory = memory
        self.contexts = [ContextMemory(0) for _ in range(threads)]
        self.reseed(seed)
        self.control: Any = one_record(CONTROL)
        self.beyond_proof = False  # whether a run goes on when the root is proved
        self._start = self._goal = 0  # playouts when the run began, and when it is done

    def reseed(self, seed: int) -> None:
        """Begin with random numbers as a new tree does, each context with its own."""
        for thread, context in enumerate(self.contexts):
            context.reseed(seed + SEED_STEP * thread)

    def set_root(self, line: np.ndarray) -> None:
        """Give every context the game so far; POSITION [plies + 1], the root last."""
        for context in self.contexts:
            context.set_line(line)

    def begin(self, playouts: int, by_playouts: bool) -> None:
        """Start a run of so many playouts; `by_playouts` says that they are the move's budget."""
        self._start, self._goal = self.playouts, self.playouts + playouts
        self.control["stop"] = self.control["full"] = 0
        self.control["time_used"] = 0.0
        self.control["budget"] = playouts if by_playouts else 0

    @property
    def playouts(self) -> int:
        """Playouts since the contexts were made."""
        return sum(int(context.record["playouts"]) for context in self.contexts)

    @property
    def done(self) -> int:
        """Playouts of this run."""
        return self.playouts - self._start

    @property
    def left(self) -> int:
        """Playouts of this run that are still to be started; none once it is stopped or proved."""
        proved = not self.beyond_proof and is_settled(int(self.memory.cold[0]["proof"]))
        if self.control["stop"] or proved:
            return 0
        return self._goal - self.playouts

    @property
    def visits(self) -> int:
        """Visits of the root."""
        return int(self.memory.edges[0]["visits"])

    @property
    def is_open(self) -> bool:
        """Whether the root has moves to search."""
        return bool(self.memory.nodes[0]["state"] == EXPANDED)

    def make_room(self) -> None:
        """Free subtrees that are little visited."""
        for context in self.contexts:
            context.forget_questions()
        make_room(self.memory)
        self.control.full = 0

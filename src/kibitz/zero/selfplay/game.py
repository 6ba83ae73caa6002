"""The memory of a game while it is played: positions, what was searched, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kibitz.data.shard import pack_starts
from kibitz.jit.records import address_of, one_record, record_at
from kibitz.position.board import Termination
from kibitz.position.moves import MAX_MOVES
from kibitz.position.outcome import ONGOING, THREEFOLD_REPETITION
from kibitz.position.state import POSITION, new_positions
from kibitz.search.mcts.playout.gather import BATCH
from kibitz.search.mcts.tree.context import CONTEXT, CONTROL, TreeSearch
from kibitz.search.mcts.tree.nodes import TREE, TreeMemory
from kibitz.zero.selfplay.config import SelfPlay

# How games end beside the codes of position/outcome.py.
RESIGNED, LEVEL, PLY_LIMIT, BY_TABLEBASE, UNBALANCED_START = range(
    THREEFOLD_REPETITION + 1, THREEFOLD_REPETITION + 6
)
ENDS = (
    "unknown",
    *(Termination(code).name.lower().replace("_", " ") for code in range(1, RESIGNED)),
    "resigned",
    "adjudicated: level",
    "ply limit",
    "adjudicated: tablebase",
)


def _arrays(*names: str) -> list[tuple[str, type]]:
    """Fields of a record with the addresses and the sizes of arrays."""
    return [field for name in names for field in ((name, np.uint64), (f"{name}_size", np.int64))]


PLY = np.dtype(
    [
        ("value", np.float32),  # as a shard has them
        ("draw", np.float32),
        ("root_value", np.float32),
        ("move", np.uint16),
        ("flags", np.uint8),
        ("visits_end", np.int64),  # where its visits end
    ],
    align=True,
)
ROOM = np.dtype([("moves", np.uint16, MAX_MOVES)])
VISIT = np.dtype([("count", np.uint32), ("move", np.uint16)], align=True)
GAME = np.dtype(
    [
        *_arrays("line", "plies", "visits"),  # of POSITION, from the start on, PLY and VISIT
        ("visits_used", np.int64),
        ("faults", np.int64),
        ("random_state", np.uint64),  # of choices that are not the search's
        ("random_share", np.float64),  # of moves that are not the search's
        ("ply", np.int64),  # plies played
        ("searching", np.int64),  # 1 between the beginning and the end of a move's search
        ("full", np.int64),  # 1: this search has all playouts, and teaches a policy
        ("known", np.int64),  # visits of the root before the search, and
        ("target", np.int64),  # when it ends
        ("playouts", np.int64),  # of all searches
        ("roots", np.int64, 2),  # ply of each tree's root; -1: none
        ("played_out", np.int64),  # 1: resignation is off
        ("given_up", np.int64),  # the first side that would have resigned, 1 or 2; 0: none
        ("lost", np.int64, 2),  # moves in a row after which each side would resign
        ("level", np.int64),  # plies in a row that were level
        ("end", np.int64),  # 0 while the game goes on
        ("result", np.int64),  # White's view
        ("due", np.int64),  # visits of the root at which the next KL check is due
        ("waits", np.int64),  # in step: whether it waits for an evaluation, see loop.py, and
        ("row", np.int64),  # for which row of the batch
        ("earlier", np.uint32, MAX_MOVES),  # visits of the root's moves at the last KL check
    ],
    align=True,
)
# What kernels need of a game and one of its trees: a row for each tree of each game in step.
# Each of the arrays has one row; that of the paths is a BATCH with the path to its leaf.
SEAT = np.dtype(
    [
        *_arrays("game", "tree", "context", "control", "paths"),
        ("past", np.int64),  # positions before the root that are known
        ("faults", np.int64),
    ],
    align=True,
)
line_at = record_at(POSITION, "line")
ply_at = record_at(PLY, "plies")
visit_at = record_at(VISIT, "visits")
game_at = record_at(GAME, "game")
tree_at = record_at(TREE, "tree")
context_at = record_at(CONTEXT, "context")
control_at = record_at(CONTROL, "control")
paths_at = record_at(BATCH, "paths")


class Terms(NamedTuple):
    """The numbers of SelfPlay that kernels need."""

    playouts: int
    fast_playouts: int
    full: float
    reuse: int
    trees: int
    noise: float
    noise_alpha: float
    noise_scaled: int
    temperature: float
    temperature_plies: int
    temperature_decay: int
    temperature_end: float
    visit_offset: float
    value_cutoff: float
    most_plies: int
    resign: float
    resign_plies: int
    draw: float
    draw_plies: int
    draw_from: int
    kl_gain: float
    kl_interval: int


def terms_of(settings: SelfPlay) -> Terms:
    """What kernels are told."""
    terms: dict[str, Any] = {name: getattr(settings, name) for name in Terms._fields}
    return Terms(**terms)


@dataclass(frozen=True)
class Finished:
    """A game that is over, as the arrays of a shard."""

    number: int
    start: np.ndarray  # POSITION [1]
    plies: np.ndarray  # PLY [N]
    visits: np.ndarray  # VISIT [V]
    result: int
    end: int
    playouts: int
    given_up: int
    played_out: bool


class Seat:
    """The place of one game: its memory, and its trees."""

    def __init__(self, settings: SelfPlay) -> None:
        most = settings.most_plies
        self.number = -1
        self.line, self.plies = new_positions(most + 2), np.zeros(most, dtype=PLY)
        self.visits = np.zeros(most * MAX_MOVES, dtype=VISIT)
        self.record: Any = one_record(GAME)
        for name in ("line", "plies", "visits"):
            array = getattr(self, name)
            self.record[name] = address_of(array)
            self.record[f"{name}_size"] = len(array)
        megabytes = settings.megabytes()
        trees = settings.trees if settings.kind == "mcts" else 0
        self.searches = [TreeSearch(TreeMemory(megabytes)) for _ in range(trees)]
        self.room: Any = one_record(ROOM)  # for moves

    @property
    def search(self) -> TreeSearch:
        """The tree of the side to move."""
        return self.searches[int(self.record["ply"]) % len(self.searches)]

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.record["end"] != ONGOING)

    def begin(self, number: int, start: np.ndarray, words: list[int], played_out: bool) -> None:
        """Begin a game at POSITION [1]; `words` are random ones for it and its trees."""
        self.number, record = number, self.record
        self.line[0] = start[0]
        for name in ("ply", "visits_used", "searching", "playouts", "given_up", "level", "end"):
            record[name] = 0
        record.waits = 0
        record.result, record.played_out = 0, int(played_out)
        record.lost[:], record.roots[:] = 0, -1
        record.random_state, record.random_share = words[0], 0.0
        for search, word in zip(self.searches, words[1:], strict=False):
            search.contexts[0].record.random_state = word

    def finished(self) -> Finished:
        """A copy of what was played."""
        record = self.record
        return Finished(
            self.number,
            self.line[:1].copy(),
            self.plies[: record.ply].copy(),
            self.visits[: record.visits_used].copy(),
            int(record.result),
            int(record.end),
            int(record.playouts),
            int(record.given_up),
            bool(record.played_out),
        )


def packed_starts(games: list[Finished]) -> np.ndarray:
    """The start positions as a shard has them."""
    positions = new_positions(len(games))
    for row, game in enumerate(games):
        positions[row] = game.start[0]
    return pack_starts(positions)

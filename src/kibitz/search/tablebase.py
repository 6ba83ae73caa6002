"""Endgame tables (Syzygy, through python-chess): ranks of the root's moves, outcomes of leaves.

Their folders are the option SyzygyPath of options.py. Nothing here makes a search fail: folders
that are missing and files that are damaged are listed in `problems`, and the search goes on
without.
"""

from __future__ import annotations

import os
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import chess
import chess.syzygy
import numpy as np

from kibitz.core.errors import shorten
from kibitz.core.options import EMPTY_TEXT
from kibitz.position.attacks import FLIP, NO_SQUARE
from kibitz.position.board import Board
from kibitz.position.notation import Move, relative
from kibitz.search.limits import Limits
from kibitz.search.options import Settings
from kibitz.search.proof import AT_LEAST_DRAW, AT_MOST_DRAW, DRAW, TABLEBASE, UNPROVED

CACHED_POSITIONS = 1 << 16

# ChessCoach's and Stockfish's scale of ranks.
CERTAIN = 1000  # won, or lost, within the 50-move rule whatever the clock says
DECISIVE = 900  # from here on a rank is a win or, negative, a loss; below it a draw
WDL_RANKS = {-2: -CERTAIN, -1: -899, 0: 0, 1: 899, 2: CERTAIN}
ZEROING_DTZ = {-2: -1, -1: -101, 0: 0, 1: 101, 2: 1}  # just before a move that resets the clock

MAGIC = {".rtbw": bytes.fromhex("71e8235d"), ".rtbz": bytes.fromhex("d7660ca5")}
SIZE_REMAINDER = 16  # whole blocks of 64 bytes and a checksum
DAMAGE = (OSError, IndexError, ValueError, AssertionError, RecursionError, struct.error)


class RootMove(NamedTuple):
    """What the tables say about a move of the root."""

    move: Move
    code: int  # 16 bits, in the view of the side to move
    rank: int  # higher is better; >= DECISIVE wins, <= -DECISIVE loses, else a draw
    dtz: int  # plies until a capture, pawn move or mate; negative if losing; 0 if unknown

    @property
    def proof(self) -> int:
        """What the rank proves about the move, see proof.py."""
        if abs(self.rank) < DECISIVE:
            return DRAW
        return TABLEBASE if self.rank > 0 else -TABLEBASE


def tables_of(settings: Settings) -> Tablebases:
    """The tables that an engine's options name."""
    return Tablebases(
        settings.syzygy_path, pieces=settings.syzygy_limit, rule50=settings.syzygy_rule50
    )


class Tablebases:
    """The tables found in a list of folders; without any it knows nothing and says so quickly."""

    def __init__(self, paths: str = "", *, pieces: int = 7, rule50: bool = True) -> None:
        self.problems: list[str] = []  # what is missing or damaged, one line each
        self.hits = 0  # positions answered, from the cache or a file
        self.rule50 = rule50  # whether wins that the 50-move rule spoils are draws
        self._tables = chess.syzygy.Tablebase()
        self._cache: OrderedDict[int, int | None] = OrderedDict()
        self._distances: dict[int, int | None] = {}  # of the roots' moves, for further searches
        sizes = [self._add_folder(Path(folder)) for folder in split_paths(paths)]
        self.pieces = min(pieces, max(sizes, default=0))  # most pieces, kings included

    def close(self) -> None:
        """Close the files of the tables."""
        self._tables.close()
        self._cache.clear()
        self._distances.clear()

    def _add_folder(self, folder: Path) -> int:
        """Add a folder's tables; returns the most pieces of one."""
        shown = shorten(repr(str(folder)))
        try:
            if not folder.is_dir():
                self.problems.append(f"SyzygyPath: no folder {shown}")
                return 0
            files = sorted(file for file in folder.iterdir() if file.suffix in MAGIC)
        except OSError as error:  # not ours to read, or a name that no system takes
            self.problems.append(f"SyzygyPath: {error.strerror}: {shown}")
            return 0
        if not files:
            self.problems.append(f"SyzygyPath: no tables (*.rtbw, *.rtbz) in {shown}")
        return max((self._add_file(file) for file in files), default=0)

    def _add_file(self, file: Path) -> int:
        damage = damage_of(file)
        if damage:
            self.problems.append(f"SyzygyPath: {file.name} {damage}; the file is not used")
            return 0
        if not self._tables.add_file(str(file)):
            return 0
        return len(file.stem) - 1

    # --- in the tree ----------------------------------------------------------------------------

    def proof(self, position: np.record) -> int:
        """What tables prove for the side to move, see proof.py; UNPROVED if nothing.

        A table's win may be too long for a 50-move clock that is running: then it is at least a
        draw. A draw stays one.
        """
        outcome = self.wdl(position)
        if not outcome:
            return UNPROVED if outcome is None else DRAW
        if position["rule50"] and self.rule50:
            return AT_LEAST_DRAW if outcome > 0 else AT_MOST_DRAW
        return TABLEBASE * outcome

    def wdl(self, position: np.record) -> int | None:
        """1, 0 or -1 for the side to move with a fresh 50-move clock; None if it is not known.

        Positions with castling rights are not. Wins and losses that the rule spoils are draws.
        """
        if position["castling"] or not self._has(position):
            return None
        key = int(position["key"])
        if key in self._cache:
            self._cache.move_to_end(key)
        else:
            self._cache[key] = self._outcome(chess_board(position))
            if len(self._cache) > CACHED_POSITIONS:
                self._cache.popitem(last=False)
        outcome = self._cache[key]
        self.hits += outcome is not None
        return outcome

    def _has(self, position: np.record) -> bool:
        return (int(position["own"]) | int(position["their"])).bit_count() <= self.pieces

    def _outcome(self, board: chess.Board) -> int | None:
        wdl = self._probe(self._tables.probe_wdl, board)
        if wdl is None:
            return None
        decisive = abs(wdl) == 2 or (wdl and not self.rule50)
        return (1 if wdl > 0 else -1) if decisive else 0

    def _probe(self, question: Callable[[chess.Board], int], board: chess.Board) -> int | None:
        """Ask python-chess; None if it has no table, or only a damaged one."""
        try:
            return question(board)
        except KeyError:
            return None
        except DAMAGE as error:
            problem = f"SyzygyPath: a table for {board.fen()} cannot be read: {error}"
            self.problems.append(problem)
            self.pieces = min(self.pieces, chess.popcount(board.occupied) - 1)
            return None

    # --- at the root ----------------------------------------------------------------------------

    def rank_root(self, board: Board) -> list[RootMove]:
        """Rank all legal moves by distance to zeroing, else by outcome; empty if not known."""
        position = board.position
        if position["castling"] or not self._has(position):
            return []
        for rank_after in (self._rank_by_distance, self._rank_by_outcome):
            ranked = [*self._ranked(board, rank_after)]
            if ranked and len(ranked) == len(board.legal_moves):
                self.hits += len(ranked)
                return ranked
        return []

    def _ranked(
        self, board: Board, rank_after: Callable[[Board, Board], tuple[int, int] | None]
    ) -> Iterator[RootMove]:
        """The moves that a way to rank them knows, which gets the boards before and after."""
        for move in board.legal_moves:
            after = board.copy()
            after.push(move)
            rank = rank_after(board, after)
            if rank is not None:
                yield RootMove(move, int(relative(board.position, move)), *rank)

    def _rank_by_distance(self, board: Board, after: Board) -> tuple[int, int] | None:
        dtz = self._distance_after(after)
        if dtz is None:
            return None
        rank = rank_of_distance(dtz, board.rule50, _has_repeated(board))
        if not self.rule50 and dtz:
            rank = max(rank, DECISIVE) if dtz > 0 else min(rank, -DECISIVE)
        return rank, dtz

    def _distance_after(self, after: Board) -> int | None:
        """Distance to zeroing for the side that has moved."""
        if after.is_check() and not after.legal_moves:  # mate
            return 1
        if after.rule50 >= 100 or after.repetitions() >= 3:
            return 0
        if after.rule50 == 0:
            wdl = self._probe(self._tables.probe_wdl, chess_board(after.position))
            return None if wdl is None else ZEROING_DTZ[-wdl]
        key = int(after.position["key"])
        if key not in self._distances:
            if len(self._distances) >= CACHED_POSITIONS:
                self._distances.clear()
            board = chess_board(after.position)
            self._distances[key] = self._probe(self._tables.probe_dtz, board)
        dtz = self._distances[key]
        if dtz is None:
            return None
        return -dtz + (1 if dtz < 0 else -1 if dtz > 0 else 0)

    def _rank_by_outcome(self, _: Board, after: Board) -> tuple[int, int] | None:
        wdl = self._probe(self._tables.probe_wdl, chess_board(after.position))
        if wdl is None:
            return None
        if not self.rule50 and wdl:
            return (-CERTAIN if wdl > 0 else CERTAIN), 0
        return WDL_RANKS[-wdl], 0


def rank_of_distance(dtz: int, clock: int, repeated: bool) -> int:
    """ChessCoach's rank of a move: what the 50-move rule, `clock` plies old, leaves of its outcome.

    After a repetition every win counts its distance, so that the game makes progress.
    """
    if dtz > 0:
        return CERTAIN if dtz + clock <= 99 and not repeated else CERTAIN - (dtz + clock)
    if dtz < 0:
        return -CERTAIN if -2 * dtz + clock < 100 else -CERTAIN + (-dtz + clock)
    return 0


def best_ranked(ranked: Iterable[RootMove], *, fastest: bool = True) -> list[RootMove]:
    """The moves of the best rank; with `fastest` only those that win soonest or lose latest."""
    rows = list(ranked)
    best = max((row.rank for row in rows), default=0)
    kept = [row for row in rows if row.rank == best]
    if fastest and abs(best) >= DECISIVE:
        # Won: the smallest distance. Lost: distances are negative and the longest is the smallest.
        shortest = min(row.dtz for row in kept)
        kept = [row for row in kept if row.dtz == shortest]
    return kept


def best_on_top(ranked: list[RootMove], *, fastest: bool) -> list[RootMove]:
    """All moves, where the best rank above others that win or lose as surely."""
    best = best_ranked(ranked, fastest=fastest)
    top = max((row.rank for row in ranked), default=0)
    more, less = (1, 0) if top > 0 else (0, -1)  # away from the ranks of draws
    return [
        row._replace(rank=top + (more if row in best else less))
        if row.rank == top and abs(top) >= DECISIVE
        else row
        for row in ranked
    ]


def allowed_moves(
    board: Board, limits: Limits, ranked: list[RootMove], *, fastest: bool
) -> tuple[frozenset[int] | None, list[RootMove]]:
    """Codes of the moves to search (None: all), and what tables say of the root's moves.

    Mates are looked for among all moves, and analysis shows all; else only the best are left.
    """
    if limits.searchmoves:
        moves = (board.parse(text) for text in limits.searchmoves)
        return frozenset(int(relative(board.position, move)) for move in moves), ranked
    if limits.mate is not None or limits.infinite:
        return None, best_on_top(ranked, fastest=fastest)
    if not ranked:
        return None, ranked
    return frozenset(row.code for row in best_ranked(ranked, fastest=fastest)), ranked


def _has_repeated(board: Board) -> bool:
    """Whether any position has occurred twice since the last capture or pawn move."""
    keys = [*board.keys().tolist(), board.key]
    return len(set(keys)) < len(keys)


# --- files and boards -----------------------------------------------------------------------------


def split_paths(paths: str) -> list[str]:
    """The folders of a UCI path list, separated by `;` on Windows and `:` elsewhere."""
    if paths.strip() in ("", EMPTY_TEXT):
        return []
    return [folder.strip() for folder in paths.split(os.pathsep) if folder.strip()]


def damage_of(file: Path) -> str:
    """What is wrong with a table as far as its size and first bytes tell; empty if nothing."""
    try:
        size = file.stat().st_size
        with file.open("rb") as content:
            start = content.read(4)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if start != MAGIC[file.suffix]:
        return "does not start like a Syzygy table"
    if size % 64 != SIZE_REMAINDER:
        return f"is cut off or too long ({size} bytes)"
    return ""


def chess_board(position: np.record) -> chess.Board:
    """The position for python-chess, without castling rights; ten times faster than through FEN."""
    pawns, knights, bishops, rooks, queens, kings, own, their, *_ = position.item()
    side, target = int(position["side"]), int(position["en_passant"])
    turn = chess.flip_vertical if side else int
    board = chess.Board(None)
    board.pawns, board.knights, board.bishops = turn(pawns), turn(knights), turn(bishops)
    board.rooks, board.queens, board.kings = turn(rooks), turn(queens), turn(kings)
    white, black = (their, own) if side else (own, their)
    board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK] = turn(white), turn(black)
    board.occupied = turn(own | their)
    board.turn = side == 0
    board.ep_square = None if target == NO_SQUARE else target ^ FLIP * side
    board.halfmove_clock = int(position["rule50"])
    return board


# --- time -----------------------------------------------------------------------------------------


class ProbeBudget:
    """Keeps probing, which is slow in Python, within a share of the time since it was made."""

    def __init__(
        self, share: float, now: Callable[[], float] = time.perf_counter, grace: float = 0.001
    ) -> None:
        self.share, self.spent = share, 0.0  # seconds
        self._now, self._grace, self._started = now, grace, now()

    def may_probe(self) -> bool:
        """Whether another probe fits in; never with a share of 0."""
        if self.share <= 0.0:
            return False
        return self.spent <= self.share * (self._now() - self._started) + self._grace

    def probe(self, tables: Tablebases, position: np.record) -> int:
        """Ask what tables prove of a position and note the time it took."""
        before = self._now()
        proof = tables.proof(position)
        self.spent += self._now() - before
        return proof

"""Proves what is said: tactics by a search of material alone, judgements by a deeper look."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TypeAlias

import chess
import numpy as np

from kibitz.comment.judge import Seen
from kibitz.comment.tactics import FRAME, MATE, MOST_PLIES, UNKNOWN, force, material
from kibitz.position.board import Board
from kibitz.position.exchange import taking_value
from kibitz.position.moves import MAX_MOVES
from kibitz.position.notation import absolute, relative
from kibitz.position.state import new_positions
from kibitz.search.tablebase import Tablebases

PLIES = 3  # searched in full before only captures are, checks not counted
BUDGET = 150_000  # positions of one proof
MOST_PIECES = 7  # in endgame tables
LONGEST_LINE = 9  # plies
ENOUGH, LOOKS = 6, 3  # plies of an expected line that tell what is won, and searches for them
LAST_LOOK = 5  # times as large as the least deeper look
SURE_MATE = MATE - MOST_PLIES


Key: TypeAlias = tuple[int | bool | None, ...]
Look: TypeAlias = Callable[[chess.Board, int], Seen]


def key_of(board: chess.Board) -> Key:
    """What makes a position for its tactics, cheaper than its FEN."""
    pieces = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    sides = (board.occupied_co[True], board.turn, board.castling_rights, board.ep_square)
    return (*pieces, *sides)


class Prover:
    """Answers what is won by force and what a deeper search sees.

    It keeps what it has proved, as the same is asked for several claims. Without a `look` nothing
    is looked at more deeply.
    """

    def __init__(
        self, plies: int = PLIES, budget: int = BUDGET, tables: str = "", look: Look | None = None
    ) -> None:
        self.plies, self.budget = plies, budget
        self._look = look
        self._lock = RLock()  # scenes of a game share one prover, and are spoken of side by side
        self._tables = Tablebases(tables)
        self._positions = new_positions(MOST_PLIES + 1)
        self._frames = np.zeros(MOST_PLIES + 1, np.dtype((np.record, FRAME)))
        self._moves = np.zeros((MOST_PLIES + 1, MAX_MOVES), np.uint16)
        self._known: dict[tuple[Key, chess.Move | None], tuple[int | None, chess.Move | None]] = {}
        self._records: dict[Key, np.record] = {}

    def gain(self, board: chess.Board, move: chess.Move | None = None) -> int | None:
        """Centipawns the side to move wins by force, with a move if it is given.

        A mate counts as more than SURE_MATE; None if the search did not come to an end.
        """
        return self._searched(board, move)[0]

    def outcome(self, board: chess.Board) -> int | None:
        """1, 0 or -1 for the side to move by the endgame tables; None if they do not know."""
        if board.castling_rights or board.occupied.bit_count() > MOST_PIECES:
            return None
        with self._lock:
            return self._tables.wdl(self._record(board))

    def best(self, board: chess.Board) -> chess.Move | None:
        """The move that wins most by force."""
        return self._searched(board, None)[1]

    def line(self, board: chess.Board, move: chess.Move) -> list[chess.Move]:
        """A move and what both sides do next, until neither wins anything more."""
        line, at = [move], board.copy(stack=False)
        at.push(move)
        while len(line) < LONGEST_LINE and self.gain(at):
            best = self.best(at)
            if best is None:
                break
            line.append(best)
            at.push(best)
        return line

    def deeper(self, board: chess.Board, times: int = 1) -> Seen | None:
        """What a deeper search, of so many times the least nodes, sees; None if there is none."""
        return None if self._look is None else self._look(board, times)

    def expected(self, board: chess.Board, times: int = 1) -> list[chess.Move] | None:
        """The moves that deeper searches expect, some plies at least; None if there are none.

        Where the line of one ends early, the next begins at its end.
        """
        line: list[chess.Move] = []
        at = board.copy(stack=False)
        for _ in range(LOOKS):
            seen = self.deeper(at, times)
            if seen is None:
                return None
            for move in seen.line:
                at.push(move)
            line += seen.line
            if len(line) >= ENOUGH or not seen.line:
                break
        return line

    def loss_on(self, board: chess.Board, square: int) -> int:
        """Centipawns that capturing on a square alone wins, pins not considered."""
        flip = 0 if board.turn else 56
        ours = board.color_at(square) != board.turn
        with self._lock:
            return int(taking_value(self._record(board), square ^ flip, ours))

    def _record(self, board: chess.Board) -> np.record:
        key = key_of(board)
        if key not in self._records:
            if len(self._records) > 500:
                self._records.clear()
            self._records[key] = Board(board.shredder_fen(en_passant="fen")).position.copy()
        return self._records[key]

    def _searched(
        self, board: chess.Board, move: chess.Move | None
    ) -> tuple[int | None, chess.Move | None]:
        asked = (key_of(board), move)
        with self._lock:
            if asked not in self._known:
                if len(self._known) > 2_000:
                    self._known.clear()
                self._known[asked] = self._search(board, move)
            return self._known[asked]

    def _search(
        self, board: chess.Board, move: chess.Move | None
    ) -> tuple[int | None, chess.Move | None]:
        self._positions[0] = self._record(board)
        root = self._positions[0]
        only = 0
        if move is not None:
            start = Board(board.shredder_fen(en_passant="fen"), chess960=True)
            only = int(relative(root, start.parse(move.uci())))
        frame = self._frames[0]
        frame["alpha"], frame["beta"] = -MATE, MATE
        frame["left"] = self.plies + (1 if only else 0)
        before = int(material(root))
        value = int(force(self._positions, self._frames, self._moves, only, self.budget))
        if value == UNKNOWN:
            return None, None
        best = int(self._frames[0]["best_move"])
        found = absolute(root, best).uci(board.chess960) if best else ""
        gained = value if abs(value) > SURE_MATE else value - before
        return gained, chess.Move.from_uci(found) if found else None

"""The shortest mate of a position, or that there is none so short: mates in 1, in 2 and so on.

A search proves that a mate takes at most so many plies. Here every move is tried, so that a mate
which is found is the shortest one, and no mate means that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from kibitz.kernel.records import one_record
from kibitz.position.board import Board
from kibitz.position.moves import MAX_MOVES
from kibitz.position.notation import Move, absolute, legal_codes
from kibitz.position.state import new_positions
from kibitz.search.mate import (
    END,
    MATE,
    MOST_PLIES,
    NEXT,
    OPEN,
    STATE,
    TABLE_SIZE,
    list_attacks,
    search_mate,
)

SLICE = 20_000  # positions between two checks whether to stop
MAX_HISTORY = 1024  # plies of the game whose keys repetitions are looked for in


class Mate(NamedTuple):
    """A mate that nothing shortens."""

    plies: int  # odd
    code: int  # the first move, 16 bits


class MateSearch:
    """Looks for mates of the board's position, where the moves `codes` (16 bits) may be made."""

    def __init__(self, board: Board, codes: Iterable[int]) -> None:
        self._positions = new_positions(MOST_PLIES + 2)
        self._moves = np.zeros((MOST_PLIES + 2, MAX_MOVES + 2), np.uint16)
        self._keys = np.zeros(MAX_HISTORY + MOST_PLIES + 2, np.uint64)
        self._table = np.zeros(TABLE_SIZE, np.uint64)
        self._state = one_record(STATE)
        self.mate: Mate | None = None
        self.excluded = 0  # plies within which there is no mate; even
        self._stand_at(board, codes)

    @property
    def nodes(self) -> int:
        """Positions made so far."""
        return int(self._state.nodes)

    def _stand_at(self, board: Board, codes: Iterable[int]) -> None:
        line = board.positions()
        earlier = line["key"][-MAX_HISTORY:]
        self._keys[:] = 0
        self._keys[: len(earlier)] = earlier
        self._positions[0] = line[-1]
        self._board, self._codes = board, frozenset(codes)
        self._state.history, self._state.limit = len(earlier) - 1, 0
        self.mate, self.excluded = None, 0

    def deepen(self, plies: int, budget: int, should_stop: Callable[[], bool]) -> bool:
        """Look for mates within 1, 3 and so on to `plies`; whether that question is answered.

        It ends when `budget` more positions have been made or `should_stop` says so, and goes on
        there when it is called again.
        """
        end = self.nodes + budget
        while self.mate is None and self.excluded < min(plies, MOST_PLIES):
            if self._state.limit <= self.excluded:
                self._begin(self.excluded + 1)
            verdict = self._go_on(end, should_stop)
            if verdict == OPEN:
                return False
            if verdict == MATE:
                code = int(self._moves[0, int(self._moves[0, NEXT]) - 1])
                self.mate = Mate(int(self._state.limit), code)
            else:
                self.excluded = int(self._state.limit) + 1
        return self.mate is not None or self.excluded >= plies

    def _begin(self, limit: int) -> None:
        """List the root's moves for a mate within `limit` plies."""
        state, moves = self._state, self._moves[0]
        state.limit, state.ply, state.verdict = limit, 0, OPEN
        list_attacks(state, self._positions[0], self._positions[1], moves)
        kept = [code for code in moves[: moves[END]].tolist() if code in self._codes]
        moves[: len(kept)], moves[END] = kept, len(kept)

    def _go_on(self, end: int, should_stop: Callable[[], bool]) -> int:
        """Search for a mate of the current length: MATE, NO_MATE, or OPEN if it was ended."""
        state, verdict = self._state, OPEN
        while verdict == OPEN and self.nodes < end and not should_stop():
            state.budget = min(end, self.nodes + SLICE)
            verdict = search_mate(state, self._positions, self._moves, self._keys, self._table)
        return int(verdict)

    def first_move(self, mate: Mate) -> Move:
        """The move that begins a mate of this position."""
        return absolute(self._board.position, mate.code)

    def line(self, budget: int, should_stop: Callable[[], bool]) -> tuple[Move, ...]:
        """The mate that was found, with the longest defence, as far as `budget` more positions go.

        The work on this root ends with it.
        """
        end, found, board = self.nodes + budget, self.mate, self._board.copy()
        moves: list[Move] = []
        while found is not None:
            moves.append(board.push(absolute(board.position, found.code)))
            found = self._longest_defence(board, found.plies - 2, end, should_stop)
            moves += board.moves[-1:] if found is not None else []
        return tuple(moves)

    def _longest_defence(
        self, board: Board, plies: int, end: int, should_stop: Callable[[], bool]
    ) -> Mate | None:
        """Push a reply after which nothing mates sooner than in `plies`; how it mates then."""
        for reply in board.legal_moves:
            board.push(reply)
            self._stand_at(board, legal_codes(board.position).tolist())
            if not self.deepen(plies, end - self.nodes, should_stop):
                break
            if self.mate is not None and self.mate.plies == plies:
                return self.mate
            board.pop()
        return None

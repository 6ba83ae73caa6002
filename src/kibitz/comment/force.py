"""What is won by force, by searches of material and mates; it depends on the position only."""

from __future__ import annotations

from functools import cache, lru_cache
from threading import RLock
from typing import TypeAlias

import chess
import numpy as np

from kibitz.comment.tactics import FRAME, MATE, MOST_PLIES, UNKNOWN, force, material
from kibitz.position.board import Board
from kibitz.position.exchange import taking_value
from kibitz.position.moves import MAX_MOVES
from kibitz.position.notation import absolute, legal_codes, relative
from kibitz.position.state import new_positions
from kibitz.search.mate import MateSearch

PLIES = 3  # searched in full before only captures are, checks not counted
BUDGET = 150_000  # positions of one proof
LONGEST_LINE = 9  # plies
SURE_MATE = MATE - 7
LEAST = 80  # centipawns that are called a gain
MOST_CHECKED = 1_500  # positions between checks of one search
DEPTHS = (2, 3, 4, 6)  # checks within which a perpetual one comes back to itself
MATE_BUDGET = 60_000  # positions
LONGEST_MATE = 5  # moves

Key: TypeAlias = tuple[int | bool | None, ...]


def gain(board: chess.Board, move: chess.Move | None = None) -> int | None:
    """Centipawns the side to move wins by force, with a move if it is given.

    A mate counts as more than SURE_MATE; None if the search did not come to an end.
    """
    return _memory().searched(board, move)[0]


def lost_next(board: chess.Board, white: bool) -> int:
    """Centipawns that a side loses where the other is to move; most where a search has no end."""
    lost = gain(board) if board.turn != white else 0
    return SURE_MATE if lost is None else lost


def best(board: chess.Board) -> chess.Move | None:
    """The move that wins most by force."""
    return _memory().searched(board, None)[1]


def line(board: chess.Board, move: chess.Move) -> list[chess.Move]:
    """A move and what both sides do next, until neither wins anything more."""
    moves, at = [move], board.copy(stack=False)
    at.push(move)
    while len(moves) < LONGEST_LINE and gain(at):
        winning = best(at)
        if winning is None:
            break
        moves.append(winning)
        at.push(winning)
    return moves


def loss_on(board: chess.Board, square: int) -> int:
    """Centipawns that capturing on a square alone wins, pins not considered."""
    flip = 0 if board.turn else 56
    ours = board.color_at(square) != board.turn
    memory = _memory()
    with memory.lock:
        return int(taking_value(memory.record(board), square ^ flip, ours))


def is_calm(board: chess.Board) -> bool:
    """Whether the side to move wins nothing at once, and is not in check."""
    won = gain(board)
    return not board.is_check() and won is not None and won < LEAST


# --- mates ----------------------------------------------------------------------------------------


@lru_cache(1000)
def _mate_in(fen: str, chess960: bool, longest: int) -> int | None:
    """The shortest mate of the side to move, in moves; None if there is none so short."""
    board = Board(fen, chess960=chess960)
    search = MateSearch(board, legal_codes(board.position).tolist())
    if not search.deepen(2 * longest - 1, MATE_BUDGET, lambda: False) or search.mate is None:
        return None
    return (search.mate.plies + 1) // 2


def shortest_mate(board: chess.Board, longest: int = LONGEST_MATE) -> int | None:
    """The shortest mate of the side to move, if the search for it comes to an end."""
    return _mate_in(board.shredder_fen(), board.chess960, longest)


def longest_defence(board: chess.Board, moves: int) -> int | None:
    """After how many moves the side to move is mated; None if it is not within some."""
    longest = 0
    for reply in board.legal_moves:
        mate = shortest_mate(_played(board, reply), moves)
        if mate is None:
            return None
        longest = max(longest, mate)
    return longest or None


def mates(board: chess.Board, move: chess.Move) -> bool:
    """Whether a move mates."""
    return _played(board, move).is_checkmate()


def mates_at_once(board: chess.Board) -> chess.Move | None:
    """A move that mates."""
    if shortest_mate(board, 1) is None:
        return None
    return next(
        (move for move in board.legal_moves if board.gives_check(move) and mates(board, move)),
        None,
    )


def mating_move(board: chess.Board, moves: int) -> chess.Move | None:
    """A move that mates within so many moves, this one counted; those that give check first."""
    if moves == 1:
        return mates_at_once(board)
    for move in sorted(board.legal_moves, key=board.gives_check, reverse=True):
        after = _played(board, move)
        if not after.is_game_over() and longest_defence(after, moves - 1) is not None:
            return move
    return None


# --- perpetual check ------------------------------------------------------------------------------


def checks_for_ever(board: chess.Board) -> bool:
    """Whether a side in check can be kept in check, or mated, whatever it replies.

    Sought are positions for each of which there is a check all replies to which lead to one of
    them; False also if a search of some positions finds none.
    """
    if not board.is_check() or board.is_checkmate():
        return False
    return any(_Perpetual().lasts(board, depth) for depth in DEPTHS)


class _Perpetual:
    """A search for a perpetual check."""

    def __init__(self) -> None:
        self._held: dict[Key, None] = {}  # positions of the set, in the order they came
        self._count = 0

    def lasts(self, checked: chess.Board, depth: int) -> bool:
        """Whether after every reply to a check there is another one, so many checks on."""
        replies = (_played(checked, reply) for reply in checked.legal_moves)
        return all(self._holds(board, depth) for board in replies)

    def _holds(self, board: chess.Board, depth: int) -> bool:
        key = key_of(board)
        if key in self._held:
            return True
        self._count += 1
        if not depth or self._count > MOST_CHECKED:
            return False
        self._held[key] = None
        before = len(self._held)
        for check in board.legal_moves:
            if board.gives_check(check):
                if self.lasts(_played(board, check), depth - 1):
                    return True
                while len(self._held) > before:  # what was held for it alone
                    self._held.popitem()
        del self._held[key]
        return False


def _played(board: chess.Board, move: chess.Move) -> chess.Board:
    after = board.copy(stack=False)
    after.push(move)
    return after


# --- the search of material -----------------------------------------------------------------------


def key_of(board: chess.Board) -> Key:
    """What makes a position for its tactics, cheaper than its FEN."""
    pieces = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    sides = (board.occupied_co[True], board.turn, board.castling_rights, board.ep_square)
    return (*pieces, *sides, board.chess960)


class _Memory:
    """The search's stack, and what it has proved, as the same is asked for several claims."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._positions = new_positions(MOST_PLIES + 1)
        self._frames = np.zeros(MOST_PLIES + 1, np.dtype((np.record, FRAME)))
        self._moves = np.zeros((MOST_PLIES + 1, MAX_MOVES), np.uint16)
        self._proved: dict[tuple[Key, chess.Move | None], tuple[int | None, chess.Move | None]] = {}
        self._records: dict[Key, np.record] = {}

    def record(self, board: chess.Board) -> np.record:
        """A position as the kernels have it."""
        key = key_of(board)
        if key not in self._records:
            if len(self._records) > 500:
                self._records.clear()
            self._records[key] = Board(board.shredder_fen(en_passant="fen")).position.copy()
        return self._records[key]

    def searched(
        self, board: chess.Board, move: chess.Move | None
    ) -> tuple[int | None, chess.Move | None]:
        """Centipawns won by force and the move that wins them."""
        key = (key_of(board), move)
        with self.lock:
            if key not in self._proved:
                if len(self._proved) > 20_000:
                    self._proved.clear()
                self._proved[key] = self._search(board, move)
            return self._proved[key]

    def _search(
        self, board: chess.Board, move: chess.Move | None
    ) -> tuple[int | None, chess.Move | None]:
        self._positions[0] = self.record(board)
        root = self._positions[0]
        only = 0
        if move is not None:
            start = Board(board.shredder_fen(en_passant="fen"), chess960=True)
            only = int(relative(root, start.parse(move.uci())))
        frame = self._frames[0]
        frame["alpha"], frame["beta"] = -MATE, MATE
        frame["left"] = PLIES + (1 if only else 0)
        before = int(material(root))
        value = int(force(self._positions, self._frames, self._moves, only, BUDGET))
        if value == UNKNOWN:
            return None, None
        code = int(self._frames[0]["best_move"])
        best = absolute(root, code).uci(board.chess960) if code else ""
        gained = value if abs(value) > SURE_MATE else value - before
        return gained, chess.Move.from_uci(best) if best else None


@cache
def _memory() -> _Memory:
    """The one of this process, made when it is first asked."""
    return _Memory()

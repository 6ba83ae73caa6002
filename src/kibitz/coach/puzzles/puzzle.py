"""A puzzle: a position, the moves that alone win, and what is known of them."""

from __future__ import annotations

import hashlib

import msgspec

from kibitz.position.board import Board


class Puzzle(msgspec.Struct, frozen=True, kw_only=True):
    """A position with its solution; moves are UCI, castling as the king takes the rook."""

    fen: str  # X-FEN; the solver is to move
    moves: tuple[str, ...]  # the solver's and the opponent's in turn, from and to the solver
    before: str = ""  # the position before the opponent's last move; empty if it is not known
    last: str = ""  # that move
    score: str = ""  # "cp 512" or "mate 3" for the solver
    rating: int = 0  # as Lichess rates puzzles, estimated
    nodes: int = 0  # that alpha-beta needs to find every move of the solver
    prior: float = 0.0  # of the first move, by the network's policy
    themes: tuple[str, ...] = ()
    game: str = ""  # where it was found: an address, or file and game
    opening: str = ""
    name: str = ""  # its id

    def board(self) -> Board:
        """The position to solve, after the opponent's move if that is known."""
        return Board(self.before, [self.last]) if self.last else Board(self.fen)

    def positions(self) -> list[Board]:
        """The positions in which the solver has to find a move."""
        board = self.board()
        found = [board.copy(history=False)]
        for at, move in enumerate(self.moves):
            board.push(move)
            if at % 2 and at + 1 < len(self.moves):
                found.append(board.copy(history=False))
        return found


def key_of(board: Board) -> str:
    """What makes a position, whoever has which colour."""
    seen = board if board.turn == "white" else board.copy(history=False).mirror()
    return " ".join(seen.fen(shredder=True).split()[:4])


def name_of(key: str) -> str:
    """A short name that is always the same for a position."""
    return hashlib.sha256(key.encode()).hexdigest()[:8]

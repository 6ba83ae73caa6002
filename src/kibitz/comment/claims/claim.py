"""A claim: a small record of what is said of a move, with the function that proves it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import chess

from kibitz.comment.facts import Scene, Unit, played


@dataclass(frozen=True)
class Claim(ABC):
    """Something that is said of a move."""

    @abstractmethod
    def proved(self, scene: Scene) -> bool:
        """Whether it is true."""

    def is_kept(self, scene: Scene) -> bool:  # noqa: ARG002
        """Whether longer looks bear it out, where it depends on a search."""
        return True


class Judged(Claim):
    """Something that a search says; a deeper one has to say it, too."""

    def is_kept(self, scene: Scene) -> bool:
        """Whether a deeper search says it, too."""
        return self.proved(scene.deeper)


class Weights(NamedTuple):
    """How much a claim matters to each level; below LEAST of select/rank.py it is not said."""

    beginner: float
    club: float
    expert: float
    once: bool = False  # said once a game, for each side
    reason: bool = True  # it says why a move is good
    drawback: bool = False  # it is bad for the side whose it is
    sharp: bool = False  # a feature that is said in a position full of tactics, too
    like: str = ""  # names of other claims that say the same; only one of them is said


def stands(board: chess.Board, *pieces: Unit) -> bool:
    """Whether pieces stand where they are said to."""
    return all(
        board.piece_at(piece.square) == chess.Piece(piece.kind, piece.white) for piece in pieces
    )


def is_between(square: int, first: int, second: int) -> bool:
    """Whether a square lies strictly between two others on a line."""
    return bool(chess.between(first, second) & chess.BB_SQUARES[square])


class Step(NamedTuple):
    """A move and how it is written, with its number."""

    move: chess.Move
    text: str


def step(board: chess.Board, move: chess.Move) -> Step:
    """A move of a position, numbered."""
    dots = "." if board.turn else "..."
    return Step(move, f"{board.fullmove_number}{dots}{board.san(move)}")


def passed(board: chess.Board) -> chess.Board | None:
    """The position if the side to move passed; None if it is in check, mated or stalemated."""
    if board.is_check() or not any(board.generate_legal_moves()):
        return None
    return played(board, chess.Move.null())

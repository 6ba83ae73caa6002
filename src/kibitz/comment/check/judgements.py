"""What is said of a position that a search has to judge: who is better, mates, what is won.

Only a clear contradiction is false: people say "winning" of a clear advantage.
"""

from __future__ import annotations

from dataclasses import dataclass

import chess

from kibitz.comment.check.statements import TITLES, Statement, Thing, View, turned
from kibitz.comment.facts import WORTH, balance, played
from kibitz.comment.force import gain
from kibitz.comment.judge import BETTER, WON, Seen

LEVEL = 0.05  # a value up to which a side that is called winning has nothing
CERTAIN = 0.85  # a value from which a game that is called a draw is decided


@dataclass(frozen=True)
class Standing(Statement):
    """A side is winning (2), better (1), equal (0), worse (-1) or lost (-2), by a search."""

    white: bool | None  # None: the position
    size: int

    def true_in(self, at: View) -> bool | None:
        """Only a clear contradiction is false."""
        if at.look is None:
            return None
        value = at.look(at.board).value * (1 if at.board.turn == (self.white is not False) else -1)
        if self.size == 0:
            return False if abs(value) >= CERTAIN else True if abs(value) < BETTER else None
        value = value if self.size > 0 else -value
        if abs(self.size) == 2:
            return True if value >= WON else False if value <= LEVEL else None
        return True if value >= BETTER / 2 else False if value <= -BETTER else None

    def shown(self, at: View) -> str:
        """The score and the line that shows it."""
        if at.look is None:
            return ""
        return f"the search says {told_score(at.board, at.look(at.board))}"


def told_score(board: chess.Board, seen: Seen) -> str:
    """A score in words of PGN, for White, and its line."""
    sign = 1 if board.turn else -1
    amount = seen.score.amount * sign
    score = f"#{amount}" if seen.score.kind == "mate" else f"{amount / 100:+.2f}"
    line = board.variation_san(seen.line[:8]) if seen.line else ""
    return f"{score}: {line}" if line else score


@dataclass(frozen=True)
class MateIn(Statement):
    """A side to move mates in so many moves; in None, sooner or later."""

    white: bool | None
    moves: int | None

    def true_in(self, at: View) -> bool | None:
        """By a search; that there is none, by a value that is far from won, or by all moves."""
        if self.white not in (None, at.board.turn) or at.look is None:
            return None
        if self.moves == 1:
            return any(played(at.board, move).is_checkmate() for move in at.board.legal_moves)
        seen = at.look(at.board)
        if seen.mate is not None and seen.mate > 0:
            return True if self.moves is None or seen.mate <= self.moves else None
        return False if seen.value < WON else None

    def shown(self, at: View) -> str:
        """The score and the line."""
        return (
            "no mate"
            if at.look is None
            else f"the search says {told_score(at.board, at.look(at.board))}"
        )


@dataclass(frozen=True)
class Wins(Statement):
    """A side wins something by force, or has just done so."""

    white: bool
    what: Thing
    base: int | None = None  # its balance where a variation began; None: no variation

    def true_in(self, at: View) -> bool | None:
        """By a search of material; it is false where nothing is won and the side is not better."""
        if at.look is None or self.what.kind is None:
            return None
        sign = 1 if at.board.turn == self.white else -1
        won = sign * (gain(at.board) or 0)
        won += 0 if self.base is None else 100 * (balance(at.board, self.white) - self.base)
        worth = 100 * WORTH[self.what.kind]
        least = worth - 100 * (self.what.kind != chess.PAWN)
        if self.base is None and not self.what.on(at.board):
            return False  # there is none; what was just taken is there before the move
        if won >= least:
            return True if won <= worth + 100 else None
        if any(at.board.is_attacked_by(self.white, square) for square in self.what.on(at.board)):
            return None
        return False if won <= 0 and sign * at.look(at.board).value <= 0 else None

    def shown(self, at: View) -> str:
        """What the search says instead."""
        return "nothing is won" + (
            f": {told_score(at.board, at.look(at.board))}" if at.look else ""
        )


@dataclass(frozen=True)
class ThreatensMate(Statement):
    """A side would mate by force if it were its turn."""

    white: bool

    def true_in(self, at: View) -> bool | None:
        """By a search of the position with its turn; far from won, there is no such threat."""
        there = turned(at.board, self.white)
        if there is None or at.look is None or not any(there.legal_moves):
            return None
        seen = at.look(there)
        if seen.mate is not None and seen.mate > 0:
            return True
        return False if seen.value < WON else None

    def shown(self, at: View) -> str:
        """What there is instead."""
        there = turned(at.board, self.white)
        if there is None or at.look is None:
            return "no mate"
        return (
            f"with {TITLES[self.white]} to move the search says {told_score(there, at.look(there))}"
        )

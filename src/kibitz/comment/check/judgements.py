"""What is said of a position that is counted: material, pawns, files, bishops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import chess

from kibitz.comment.check.statements import TITLES, Statement, Thing, View, turned
from kibitz.comment.claims.claim import MINOR
from kibitz.comment.facts import (
    WORTH,
    ahead,
    balance,
    captured_by,
    doubled_files,
    files_beside,
    has_bishop_pair,
    is_half_open,
    is_isolated,
    is_open,
    is_passed,
    phase,
    played,
)
from kibitz.comment.force import gain
from kibitz.comment.judge import BETTER, WON, Evaluation


@dataclass(frozen=True)
class Ahead(Statement):
    """A side has more: pawns, a piece, the exchange, "material"; of no side, that it is even."""

    white: bool | None
    what: str = "pawn"
    count: int = 1
    only: bool = False  # it says so

    def true_in(self, at: View) -> bool | None:
        """By the sum of the pieces; None between what is said and the contrary."""
        if self.white is None:
            return {0: True, 1: None}.get(abs(balance(at.board, True)), False)
        if self.what == "exchange":
            rooks = difference(at.board, self.white, (chess.ROOK,))
            minors = difference(at.board, self.white, MINOR)
            if rooks >= 1 and minors <= -1:
                return True
            queens = difference(at.board, self.white, (chess.QUEEN,))
            return False if rooks <= 0 and not queens else None
        surplus = balance(at.board, self.white)
        if self.what == "material":
            return surplus > 0
        kinds = MINOR if self.what == "piece" else (chess.PIECE_NAMES.index(self.what),)
        worth = WORTH[kinds[0]] * self.count
        more = difference(at.board, self.white, kinds)
        if surplus == worth:
            return True if more >= self.count else None  # as with a queen for rook and knight
        alone = more * WORTH[kinds[0]] == surplus  # nothing else is more or fewer
        if surplus <= 0 or (more < self.count and (alone or surplus < worth)):
            return False
        return False if self.only and more > self.count and alone else None

    def shown(self, at: View) -> str:
        """How much a side is ahead."""
        surplus = balance(at.board, True)
        if not surplus:
            return "material is even"
        return f"{TITLES[surplus > 0]} is ahead by {abs(surplus)}, counted in pawns"


def difference(board: chess.Board, white: bool, kinds: Sequence[int]) -> int:
    """How many more pieces of some kinds a side has."""
    return sum(
        len(board.pieces(kind, white)) - len(board.pieces(kind, not white)) for kind in kinds
    )


@dataclass(frozen=True)
class Counts(Statement):
    """A side has so many pieces of a kind."""

    white: bool
    kind: int
    count: int

    def true_in(self, at: View) -> bool | None:
        """They are counted; who has more has these, too."""
        count = len(at.board.pieces(self.kind, self.white))
        return False if count < self.count else True if count == self.count else None

    def shown(self, at: View) -> str:
        """How many there are."""
        count = len(at.board.pieces(self.kind, self.white))
        return f"{TITLES[self.white]} has {count} of the {chess.PIECE_NAMES[self.kind]}s"


OUTSIDE = 3  # files between an outside passed pawn and the nearest enemy pawn
AT_FIRST = {chess.PAWN: 8, chess.KNIGHT: 2, chess.BISHOP: 2, chess.ROOK: 2, chess.QUEEN: 1}


@dataclass(frozen=True)
class HasWon(Statement):
    """A side has won a piece of a kind at some time."""

    white: bool
    kind: int

    def true_in(self, at: View) -> bool | None:
        """False as long as all of them are there; what became of the others no board tells."""
        there = {kind: len(at.board.pieces(kind, not self.white)) for kind in AT_FIRST}
        if at.before is not None and at.move is None:  # by the moves of a line
            first = len(at.before.pieces(self.kind, not self.white))
            if there[self.kind] < first:
                return True
            return False if first >= AT_FIRST[self.kind] else None  # or one before them
        complete = there[self.kind] == AT_FIRST[self.kind]
        promoted = there[chess.PAWN] < AT_FIRST[chess.PAWN] and self.kind != chess.PAWN
        return False if complete and not promoted else None

    def shown(self, at: View) -> str:
        """That nothing is missing."""
        name, count = chess.PIECE_NAMES[self.kind], len(at.board.pieces(self.kind, not self.white))
        all_of = f"all {count} {name}s" if count > 1 else f"the {name}"
        return f"{TITLES[not self.white]} still has {all_of}"


@dataclass(frozen=True)
class PawnIs(Statement):
    """So many pawns are passed, isolated or doubled, and what else is said of them."""

    trait: Literal["passed", "isolated", "doubled"]
    pawn: Thing
    least: int = 1
    quality: str = ""  # protected, by another, connected, all, every; of others a lack is certain
    of: str = ""  # it is said of those that are so

    def true_in(self, at: View) -> bool | None:
        """By how many of those that it can be are; None where there are more."""
        pawns = self.pawn.on(at.board)
        pawns = [one for one in pawns if not self.of or self._has(at.board, one, self.of)]
        answers = [self._is(at.board, square) for square in pawns]
        sure = answers.count(True)
        if self.quality in ("all", "every") or self.of:
            some = None if sure and self.quality != "every" else False
            return True if answers and sure == len(answers) else some
        if sure >= self.least:
            return True if self.least in (1, sure) else None
        return None if sure + answers.count(None) >= self.least else False

    def _is(self, board: chess.Board, square: int) -> bool | None:
        has = self._has(board, square, self.trait)
        if not has or self.quality in ("", "all", "every"):
            return has
        white = bool(board.color_at(square))
        pawns = board.pieces(chess.PAWN, white)
        if self.quality in ("protected", "by another"):
            guards = board.attackers(white, square)
            others = None if guards and self.quality == "protected" else False
            return True if guards & pawns else others
        if self.quality == "connected":
            beside = (pawn for pawn in pawns if abs((pawn & 7) - (square & 7)) == 1)
            return any(self._has(board, pawn, self.trait) for pawn in beside)
        if self.quality == "outside":
            enemies = board.pieces(chess.PAWN, not white)
            far = min((abs((pawn & 7) - (square & 7)) for pawn in enemies), default=0)
            return True if far >= OUTSIDE else None
        return None

    @staticmethod
    def _has(board: chess.Board, square: int, trait: str) -> bool | None:
        """Whether a pawn is so; a passed one behind another of its side some call passed."""
        white = bool(board.color_at(square))
        if trait == "isolated":
            return is_isolated(board, square, white)
        if trait == "doubled":
            return square & 7 in doubled_files(board, white)
        if is_passed(board, square, white):
            return True
        wide = ahead(square, white, (*files_beside(square), square & 7))
        return False if wide & board.pieces_mask(chess.PAWN, not white) else None

    def shown(self, at: View) -> str:
        """Which ones are so, or that there is no such pawn."""
        pawns = self.pawn.on(at.board)
        has = [pawn for pawn in pawns if self._has(at.board, pawn, self.of or self.trait)]
        names = ", ".join(map(chess.square_name, has))
        if self.of:
            return f"{self.of}: {names}, not {self.trait}" if names else f"none is {self.of}"
        if names and self.quality in ("all", "every"):
            return f"{self.trait}: {names}"
        if names:
            missing = f", not {self.quality}" if self.quality and at.positive else ""
            return f"{self.trait}{missing}: {names}"
        if not pawns:
            return f"there is no {self.pawn}"
        if self.pawn.square is not None:
            return f"the {self.pawn} is not {self.trait}"
        return f"no {self.pawn} is {self.trait}"


@dataclass(frozen=True)
class FileIs(Statement):
    """A file is open or half-open."""

    file: int
    half: bool = False
    white: bool | None = None  # for which side it is half-open: that without a pawn on it

    def true_in(self, at: View) -> bool | None:
        """By its pawns; of a file with pawns of one side some say open, some half-open."""
        if self.white is not None and not is_open(at.board, self.file):
            return is_half_open(at.board, self.file, self.white)
        halves = [is_half_open(at.board, self.file, white) for white in (True, False)]
        if is_open(at.board, self.file):
            return None if self.half else True
        return (True if self.half else None) if any(halves) else False

    def shown(self, at: View) -> str:
        """Which pawns are on it."""
        pawns = chess.SquareSet(at.board.pawns & chess.BB_FILES[self.file])
        names = ", ".join(chess.square_name(pawn) for pawn in pawns)
        return (
            f"pawns on {names}" if names else f"no pawn on the {chess.FILE_NAMES[self.file]}-file"
        )


@dataclass(frozen=True)
class Bishops(Statement):
    """A side has the pair of bishops; of no side, that they are of opposite colours."""

    white: bool | None
    same: bool = False  # of the same colour instead

    def true_in(self, at: View) -> bool | None:
        """The squares of the bishops tell."""
        if self.white is not None:
            return has_bishop_pair(at.board, self.white)
        own, theirs = (list(at.board.pieces(chess.BISHOP, side)) for side in (True, False))
        if len(own) != 1 or len(theirs) != 1:
            return False if not own or not theirs else None
        shades = [
            bool(chess.BB_LIGHT_SQUARES & chess.BB_SQUARES[square]) for square in own + theirs
        ]
        return (shades[0] == shades[1]) == self.same

    def shown(self, at: View) -> str:
        """Where the bishops are."""
        names = [chess.square_name(square) for square in chess.scan_forward(at.board.bishops)]
        return f"bishops on {', '.join(names)}" if names else "there is no bishop"


# --- judgements -----------------------------------------------------------------------------------
#
# What is said of a position that a search has to judge: who is better, mates, what is won.
#
# Only a clear contradiction is false: people say "winning" of a clear advantage.


LEVEL = 0.12  # a value up to which a side that is called winning has next to nothing
LEVEL_ENDING = 0.05
WORSE = 0.15  # a value from which the side that is called better is the worse one
CERTAIN = 0.85  # a value from which a game that is called a draw is decided


@dataclass(frozen=True)
class Standing(Statement):
    """A side is winning (2), better (1), equal (0), worse (-1) or lost (-2), by a search."""

    white: bool | None  # None: the position
    size: int
    slight: bool = False  # slightly better; or level, and not a draw
    task: bool = False  # of a study, which is set because a search does not see it

    def true_in(self, at: View) -> bool | None:
        """Only a clear contradiction is false."""
        answer = self._seen(at)
        return None if self.task and answer is False else answer

    def _seen(self, at: View) -> bool | None:
        if at.look is None:
            return None
        value = at.look(at.board).value * (1 if at.board.turn == (self.white is not False) else -1)
        ending = phase(at.board) == "endgame"  # where a search is wrong more often
        if self.size == 0:
            decided = WON if self.slight and not ending else CERTAIN
            return False if abs(value) >= decided else True if abs(value) < BETTER else None
        value = value if self.size > 0 else -value
        if abs(self.size) == 2:
            level = LEVEL_ENDING if ending else LEVEL
            return True if value >= WON else False if value <= level else None
        if value <= -WORSE or (self.slight and value >= CERTAIN):
            return False
        least, most = (LEVEL / 3, WON) if self.slight else (BETTER / 2, 1.0)
        return True if least <= value <= most else None

    def shown(self, at: View) -> str:
        """The score and the line that shows it."""
        if at.look is None:
            return ""
        return f"the search says {score_text(at.board, at.look(at.board))}"


def score_text(board: chess.Board, evaluation: Evaluation) -> str:
    """A score in words of PGN, for White, and its line."""
    sign = 1 if board.turn else -1
    amount = evaluation.score.amount * sign
    score = f"#{amount}" if evaluation.score.kind == "mate" else f"{amount / 100:+.2f}"
    line = board.variation_san(evaluation.line[:8]) if evaluation.line else ""
    return f"{score}: {line}" if line else score


@dataclass(frozen=True)
class MateIn(Statement):
    """A side to move mates in so many moves; in None, sooner or later."""

    white: bool | None
    moves: int | None

    def true_in(self, at: View) -> bool | None:
        """By a search; that there is none, by a value that is far from won, or by all moves."""
        if at.look is None:
            return None
        if self.white not in (None, at.board.turn):
            return self._goes_on(at)
        if self.moves == 1:
            return any(played(at.board, move).is_checkmate() for move in at.board.legal_moves)
        evaluation = at.look(at.board)
        if evaluation.mate is not None and evaluation.mate > 0:
            return True if self.moves is None or evaluation.mate <= self.moves else None
        if self.white is None and evaluation.value <= -WON:
            return self._goes_on(at)
        return False if evaluation.value < WON else None

    def _goes_on(self, at: View) -> bool | None:
        """Whether the move that was made is the first of such a mate."""
        if at.look is None or at.move is None:
            return None
        if not any(at.board.legal_moves):
            return at.board.is_checkmate()
        evaluation = at.look(at.board)
        if evaluation.mate is not None and evaluation.mate < 0:
            return True if self.moves is None or 1 - evaluation.mate <= self.moves else None
        return False if evaluation.value > -WON else None

    def shown(self, at: View) -> str:
        """The score and the line."""
        return (
            "no mate"
            if at.look is None
            else f"the search says {score_text(at.board, at.look(at.board))}"
        )


@dataclass(frozen=True)
class Wins(Statement):
    """A side wins something by force, or has just done so."""

    white: bool
    what: Thing
    by_move: bool = False  # what the move that is spoken of captures counts

    def true_in(self, at: View) -> bool | None:
        """By a search of material; it is false where nothing is won and the side is not better."""
        if at.look is None or self.what.kind is None:
            return None
        sign = 1 if at.board.turn == self.white else -1
        won = sign * (gain(at.board) or 0)
        start = at.before if self.by_move and at.before is not None else at.board
        won += 100 * (balance(at.board, self.white) - balance(start, self.white))
        worth = 100 * WORTH[self.what.kind]
        least = worth - 100 * (self.what.kind != chess.PAWN)
        if not self.what.on(start):
            return False  # there is none; what was just taken is there before the move
        if won >= least:
            return True if won <= worth + 100 else None
        if won > 0 and self._is_taken(at):
            return True
        if won < 0 and sign * at.look(at.board).value <= 0:
            return False  # it costs more
        if any(at.board.is_attacked_by(self.white, square) for square in self.what.on(at.board)):
            return None
        return False if won <= 0 and sign * at.look(at.board).value <= 0 else None

    def _is_taken(self, at: View) -> bool:
        """Whether it is captured soon in the line that is expected, and the side is better then."""
        if at.look is None:
            return False
        evaluation, board = at.look(at.board), at.board.copy(stack=False)
        sign = 1 if at.board.turn == self.white else -1
        for move in evaluation.line[:3]:
            took = captured_by(board, move)
            if board.turn == self.white and took is not None and took.kind == self.what.kind:
                return sign * evaluation.value >= BETTER
            board.push(move)
        return False

    def shown(self, at: View) -> str:
        """What the search says instead."""
        return "nothing is won" + (
            f": {score_text(at.board, at.look(at.board))}" if at.look else ""
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
        evaluation = at.look(there)
        if evaluation.mate is not None and evaluation.mate > 0:
            return True
        return False if evaluation.value < WON else None

    def shown(self, at: View) -> str:
        """What there is instead."""
        there = turned(at.board, self.white)
        if there is None or at.look is None:
            return "no mate"
        return (
            f"with {TITLES[self.white]} to move the search says {score_text(there, at.look(there))}"
        )

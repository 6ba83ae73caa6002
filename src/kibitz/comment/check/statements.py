"""What can be said of a position: small records, each with the function that proves it.

A statement is true, false, or None where the board and the search do not decide it: people say
"attacks" of a rook behind a rook, and "winning" of a clear advantage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import chess

from kibitz.comment.claims.claim import passed
from kibitz.comment.facts import (
    SLIDERS,
    WORTH,
    captured_by,
    is_defended,
    played,
    ray_beyond,
    takers,
)
from kibitz.comment.force import gain, loss_on
from kibitz.comment.judge import Evaluation

Look: TypeAlias = Callable[[chess.Board], Evaluation]  # a search; None where nothing is searched


class View(NamedTuple):
    """A position, what searches it, and whether a statement or its opposite is spoken of."""

    board: chess.Board
    look: Look | None = None
    positive: bool = True
    before: chess.Board | None = None  # the position before the move, or where a line begins
    move: chess.Move | None = None  # that led from there to here


TITLES = {True: "White", False: "Black", None: "the side to move"}


def names_of(squares: chess.Bitboard) -> str:
    """The names of some squares."""
    return ", ".join(chess.square_name(square) for square in chess.scan_forward(squares))


@dataclass(frozen=True)
class Thing:
    """Pieces or a square that a text names; what is None is left open."""

    kind: int | None = None
    white: bool | None = None
    square: int | None = None
    file: int | None = None
    light: bool | None = None  # of a bishop: the colour of its squares

    def on(self, board: chess.Board) -> list[int]:
        """The squares of a board that it can be."""
        if self.kind is None and self.white is None and self.square is not None:
            return [self.square]
        return [square for square in chess.scan_forward(board.occupied) if self._is(board, square)]

    def _is(self, board: chess.Board, square: int) -> bool:
        return (
            self.kind in (None, board.piece_type_at(square))
            and self.white in (None, board.color_at(square))
            and self.square in (None, square)
            and self.file in (None, square & 7)
            and self.light in (None, bool(chess.BB_LIGHT_SQUARES & chess.BB_SQUARES[square]))
        )

    def __str__(self) -> str:
        side = "" if self.white is None else f"{TITLES[self.white].lower()} "
        if self.kind is None:
            pieces = f"{side}piece" if side else ""
            return chess.square_name(self.square) if self.square is not None else pieces
        where = "" if self.square is None else f" on {chess.square_name(self.square)}"
        file = "" if self.file is None else f"{chess.FILE_NAMES[self.file]}-"
        shade = "" if self.light is None else f"{'light' if self.light else 'dark'}-squared "
        return f"{side}{shade}{file}{chess.PIECE_NAMES[self.kind]}{where}"


@dataclass(frozen=True)
class Statement(ABC):
    """Something that is said of a position."""

    @abstractmethod
    def true_in(self, at: View) -> bool | None:
        """Whether it is true there."""

    @abstractmethod
    def shown(self, at: View) -> str:
        """What the position shows against it, or against its opposite."""


@dataclass(frozen=True)
class Stands(Statement):
    """A piece stands on a square."""

    piece: Thing

    def true_in(self, at: View) -> bool | None:
        """The board shows it."""
        return bool(self.piece.on(at.board))

    def shown(self, at: View) -> str:
        """What stands there."""
        assert self.piece.square is not None
        piece, name = at.board.piece_at(self.piece.square), chess.square_name(self.piece.square)
        if piece is None:
            return f"no {self.piece}: {name} is empty"
        if self.piece.light not in (None, bool(chess.BB_LIGHT_SQUARES & (1 << self.piece.square))):
            return f"{name} is a {'dark' if self.piece.light else 'light'} square"
        return f"a {TITLES[piece.color].lower()} {chess.PIECE_NAMES[piece.piece_type]} is on {name}"


@dataclass(frozen=True)
class Attacks(Statement):
    """A piece attacks all of some things, or guards them where they are its own."""

    by: Thing
    targets: tuple[Thing, ...]
    guards: bool = False
    aims: bool = False  # through other pieces, or with its next move
    supports: bool = False  # as an advance is supported, too
    moved: Thing | None = None  # the piece that has to do it, though another one may be meant

    def true_in(self, at: View) -> bool | None:
        """Whether the pieces do; by another one than that which has moved only newly, and None."""
        answer = self._do(at)
        if answer is not True or self.moved is None:
            return answer
        if replace(self, by=self.moved, moved=None).true_in(at):
            return True
        before, enemy = at.before, at.board.turn
        if before is None or not self.guards or not self._do(at._replace(board=before)):
            return None
        same = (  # fewer where it stands in a line
            before.attackers(enemy, square) == at.board.attackers(enemy, square)
            for square in (target.square for target in self.targets)
            if square is not None
        )
        known = all(target.square is not None for target in self.targets)
        return False if known and all(same) else None

    def _do(self, at: View) -> bool | None:
        """One of the pieces it can be reaches each target; None if others of its side are before.

        One of a thing that is not on the board is attacked by nothing, and no reader knows which.
        """
        answer: bool | None = True
        for target in self.targets:
            if self._is_own(at.board, target):
                return None
            reached = [
                self._reaches(at.board, start, end)
                for start in self.by.on(at.board)
                for end in target.on(at.board)
                if self._fits(at.board, target, start, end)
            ]
            if True not in reached and (self.supports or None in reached):
                answer = None
            elif True not in reached:
                return False
        return answer

    def _reaches(self, board: chess.Board, start: int, end: int) -> bool | None:
        """Whether a piece does; None where words as "eyes" and "targets" leave it open."""
        reaches = _reaches(board, start, end, through=self.aims)
        slides = board.piece_type_at(start) in SLIDERS
        return None if self.aims and not reaches and not slides else reaches

    def _is_own(self, board: chess.Board, target: Thing) -> bool:
        """Whether a bare square that is attacked holds a piece of the attackers."""
        if self.guards or target.kind is not None or target.square is None:
            return False
        owner = board.color_at(target.square)
        return owner is not None and {board.color_at(square) for square in self.by.on(board)} == {
            owner
        }

    def _fits(self, board: chess.Board, target: Thing, start: int, end: int) -> bool:
        """Whether it can be meant: things of the other side, own ones to guard, any square."""
        if target.kind is None and target.white is None:
            return start != end
        there, own = board.color_at(end), board.color_at(start)
        return start != end and own is not None and (there is None or (there == own) == self.guards)

    def shown(self, at: View) -> str:
        """Who does, or that nothing does."""
        verb = "aims at" if self.aims else "guards" if self.guards else "attacks"
        names = " and ".join(str(target) for target in self.targets)
        if not at.positive:
            return f"{self.by} {verb} {names}"
        return f"no {self.by} {verb} {names}" if str(self.by) else f"nothing {verb} {names}"


def _reaches(board: chess.Board, start: int, end: int, *, through: bool = False) -> bool | None:
    """Whether a piece attacks a square; None if only what attacks it as well is between.

    `through` all pieces: None whatever is between.
    """
    if end in board.attacks(start):
        return True
    if not slides_to(board, start, end):
        return False
    return None if through or stands_behind(board, start, end) else False


def stands_behind(board: chess.Board, start: int, end: int) -> bool:
    """Whether all between a slider and a square are pieces of its side that attack that, too."""
    between = chess.SquareSet(chess.between(start, end) & board.occupied)
    return all(
        board.color_at(square) == board.color_at(start)
        and (slides_to(board, square, end) or end in board.attacks(square))
        for square in between
    )


def slides_to(board: chess.Board, start: int, end: int) -> bool:
    """Whether a slider would reach a square if nothing were between."""
    if board.piece_type_at(start) not in SLIDERS:
        return False
    empty = chess.Board(None)
    empty.set_piece_at(start, board.piece_at(start))
    return end in empty.attacks(start)


@dataclass(frozen=True)
class Pinned(Statement):
    """A piece is pinned, to the king or to anything else that is behind it."""

    piece: Thing
    to: int | None = None  # what it is said to be pinned to

    def true_in(self, at: View) -> bool | None:
        """A pin to the king is one; one to something else is as its speaker sees it."""
        squares = self.piece.on(at.board)
        if self.to is not None and self.to != chess.KING:
            behind = {kind for square in squares for kind in _behind(at.board, square, first=True)}
            return self.to in behind
        if any(at.board.is_pinned(bool(at.board.color_at(square)), square) for square in squares):
            return True
        if self.to == chess.KING:
            return False
        if at.positive and any(_is_pinned_to_more(at.board, square) for square in squares):
            return True
        behind = {kind for square in squares for kind in _behind(at.board, square)}
        return None if behind - {chess.PAWN} else False

    def shown(self, at: View) -> str:
        """That there is no pin, or that there is."""
        king = "" if self.to is None else f" to the {chess.PIECE_NAMES[self.to]}"
        return f"the {self.piece} is {'not ' * at.positive}pinned{king}"


def _is_pinned_to_more(board: chess.Board, square: int) -> bool:
    """Whether what stands right behind a piece is worth more than it, and than what attacks it."""
    white = bool(board.color_at(square))
    for attacker in board.attackers(not white, square):
        behind = ray_beyond(board, attacker, square)
        if board.piece_type_at(attacker) in SLIDERS and behind is not None:
            worth = [WORTH[board.piece_type_at(at) or 0] for at in (square, attacker, behind)]
            if board.color_at(behind) == white and worth[2] > max(worth[:2]):
                return True
    return False


def _behind(board: chess.Board, square: int, *, first: bool = False) -> set[int]:
    """The kinds of pieces of its side that stand behind one that enemy sliders attack.

    `first`: only those with nothing between.
    """
    white = bool(board.color_at(square))
    sliders = [
        at for at in board.attackers(not white, square) if board.piece_type_at(at) in SLIDERS
    ]
    return {
        board.piece_type_at(behind) or 0
        for at in sliders
        for behind in chess.scan_forward(chess.ray(at, square) & board.occupied_co[white])
        if chess.between(at, behind) & chess.BB_SQUARES[square]
        and not (first and chess.between(square, behind) & board.occupied)
    }


@dataclass(frozen=True)
class Guarded(Statement):
    """A piece is guarded by one of its side."""

    piece: Thing

    def true_in(self, at: View) -> bool | None:
        """All that it can be are, or none is."""
        answers = {is_defended(at.board, square) for square in self.piece.on(at.board)}
        return answers.pop() if len(answers) == 1 else None

    def shown(self, at: View) -> str:
        """That nothing guards it, or what does."""
        (square, *_) = self.piece.on(at.board)
        guards = at.board.attackers(bool(at.board.color_at(square)), square)
        names = ", ".join(chess.square_name(guard) for guard in guards)
        return (
            f"nothing guards the {self.piece}" if at.positive else f"guarded from {names or 'afar'}"
        )


@dataclass(frozen=True)
class Hangs(Statement):
    """A piece can be taken for nothing, or for less than it is worth."""

    piece: Thing

    def true_in(self, at: View) -> bool | None:
        """By the captures on its square; None where it is attacked at all without a loss."""
        answers = {self._falls(at.board, square) for square in self.piece.on(at.board)}
        return answers.pop() if len(answers) == 1 else None

    def _falls(self, board: chess.Board, square: int) -> bool | None:
        """Whether the piece on a square does; a piece that is pinned to its king takes nothing."""
        pinned, free, more = _takers(board, square)
        if not free:
            return None if more else False
        if loss_on(board, square) <= 0:
            white = bool(board.color_at(square))
            guards = board.attackers(white, square)
            return False if any(not board.is_pinned(white, guard) for guard in guards) else None
        cheapest = min(WORTH[board.piece_type_at(taker) or chess.KING] for taker in free)
        worth = WORTH[board.piece_type_at(square) or chess.PAWN]
        # The exchange counts pinned takers; without them one capture has to be enough.
        sure = not pinned or not is_defended(board, square) or cheapest < worth
        return True if sure else None

    def shown(self, at: View) -> str:
        """That it is not attacked, or not by what can move, or that it falls."""
        if not at.positive:
            return f"the {self.piece} can be taken"
        pinned = any(_takers(at.board, square)[0] for square in self.piece.on(at.board))
        return f"{'only what is pinned' if pinned else 'nothing'} attacks the {self.piece}"


def _takers(board: chess.Board, square: int) -> tuple[list[int], list[int], bool]:
    """What attacks a piece, pinned and free, and whether anything is behind other pieces."""
    white, free = not board.color_at(square), takers(board, square)
    reaches = (
        _reaches(board, start, square, through=True) for start in Thing(white=white).on(board)
    )
    pinned = [taker for taker in board.attackers(white, square) if taker not in free]
    return pinned, free, None in reaches


@dataclass(frozen=True)
class Condition(Statement):
    """What the rules say of a side: in check, checkmated, stalemated."""

    name: Literal["check", "mate", "stalemate", "double check"]
    white: bool | None = None

    def true_in(self, at: View) -> bool | None:
        """The rules tell."""
        if self.white not in (None, at.board.turn):
            return False
        if self.name == "double check":
            return len(at.board.checkers()) == 2
        tests = {
            "check": at.board.is_check,
            "mate": at.board.is_checkmate,
            "stalemate": at.board.is_stalemate,
        }
        return tests[self.name]()

    def shown(self, at: View) -> str:
        """The same, or that it is not so."""
        escapes = [at.board.san(move) for move in at.board.legal_moves][:3]
        words = {"check": "in check", "mate": "checkmated", "stalemate": "stalemated"}
        word = words.get(self.name, "in double check")
        there = f": {', '.join(escapes)}" if escapes and self.name != "check" else ""
        side = TITLES[self.white if self.white is not None else at.board.turn]
        return f"{side} is not {word}{there}" if at.positive else f"{side} is {word}"


@dataclass(frozen=True)
class ToMove(Statement):
    """It is a side's turn."""

    white: bool

    def true_in(self, at: View) -> bool | None:
        """The position says so."""
        return at.board.turn == self.white

    def shown(self, at: View) -> str:
        """Whose turn it is."""
        return f"it is {TITLES[at.board.turn]}'s turn"


@dataclass(frozen=True)
class Takes(Statement):
    """A side captures something: with a capture that it has, were it its turn."""

    white: bool
    what: Thing

    def true_in(self, at: View) -> bool | None:
        """Whether it is the move that was made; that there is such a capture decides nothing."""
        if at.before is not None and at.move is not None and at.before.turn == self.white:
            took = captured_by(at.before, at.move)
            if took is not None and took.square in self.what.on(at.before):
                return True
        there = turned(at.board, self.white)
        if there is None:
            return None
        goals = {*self.what.on(at.board)}
        takes = any(
            move.to_square in goals or there.is_en_passant(move)
            for move in there.generate_legal_captures()
        )
        return None if takes else False

    def shown(self, at: View) -> str:
        """That there is no such capture."""
        return f"{TITLES[self.white]} cannot take the {self.what}: {at.board.fen()}"


@dataclass(frozen=True)
class Possible(Statement):
    """A side could make a move if it were its turn, and that move mates if it is said to."""

    san: str
    white: bool | None  # None: whose turn it is
    mates: bool = False
    threat: bool = False  # it is said to be one: to win something

    def true_in(self, at: View) -> bool | None:
        """The rules tell; None where its turn cannot come, as the other side is in check.

        A threat that does not mate is one where material is won; people see others, too.
        """
        there = turned(at.board, self.white)
        move = None if there is None else parsed(there, self.san)
        if there is None or is_ambiguous(there, self.san):
            return None
        if move is None or self.mates:
            return move is not None and played(there, move).is_checkmate()
        return True if not self.threat or (gain(there, move) or 0) > 0 else None

    def shown(self, at: View) -> str:
        """Why not."""
        there = turned(at.board, self.white)
        move = None if there is None else parsed(there, self.san)
        if there is None or move is None:
            return f"{self.san} is not legal for {TITLES[self.white]}"
        if not at.positive:
            return f"{self.san} is legal"
        after = played(there, move)
        escape = next((after.san(reply) for reply in after.legal_moves), "")
        return f"{self.san} is {'not mate' if escape else 'possible'}" + (
            f": {escape}" if escape and self.mates else ""
        )


def turned(board: chess.Board, white: bool | None) -> chess.Board | None:
    """A position with a side's turn; None if the other one is in check then, or has no move."""
    return board if white in (None, board.turn) else passed(board)


def parsed(board: chess.Board, san: str) -> chess.Move | None:
    """A move of a position by its notation, whatever marks it has; None if it is not legal."""
    try:
        return board.parse_san(san.replace("0", "O").rstrip("+#!?"))
    except ValueError:
        return None


def is_ambiguous(board: chess.Board, san: str) -> bool:
    """Whether a notation fits several moves of a position."""
    try:
        board.parse_san(san.replace("0", "O").rstrip("+#!?"))
    except chess.AmbiguousMoveError:
        return True
    except ValueError:
        return False
    return False


def line_from(board: chess.Board, moves: Sequence[str]) -> Iterator[chess.Board]:
    """The positions that moves lead to, up to the first that is not legal."""
    at = board
    for san in moves:
        move = parsed(at, san)
        if move is None:
            return
        at = played(at, move)
        yield at

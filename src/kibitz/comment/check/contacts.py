"""What is said of how pieces stand to each other: who attacks, guards and blocks.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import chess

from kibitz.comment.check.forms import IS, NOT, Form, form
from kibitz.comment.check.readers import (
    LAST,
    NUMBERS,
    SQUARE,
    SUBJECT,
    Hit,
    Made,
    against,
    doer,
    moved,
    piece,
    spoken,
    target,
    thing,
)
from kibitz.comment.check.statements import Statement, Thing, View, names_of, slides_to, turned
from kibitz.comment.facts import SLIDERS, is_trapped

# --- attackers and blockers -----------------------------------------------------------------------


@dataclass(frozen=True)
class Contact(Statement):
    """A piece is attacked, or guarded, by certain pieces, by no others, or by so many."""

    piece: Thing
    by: tuple[Thing, ...] = ()
    guards: bool = False
    only: bool = False
    count: int | None = None

    def true_in(self, at: View) -> bool | None:
        """One of the squares that it can be shows it; None if one leaves it open."""
        answers = {self._on(at.board, square) for square in self.piece.on(at.board)}
        return True if True in answers else None if None in answers else False

    def _on(self, board: chess.Board, square: int) -> bool | None:
        white = board.color_at(square)
        white = self.piece.white if white is None else white
        if white is None:
            return None
        side = white if self.guards else not white
        direct = [at for at in board.attackers(side, square) if at != square]
        behind = [at for at in Thing(white=side).on(board) if slides_to(board, at, square)]
        if self.count is not None:
            few = len({*direct, *behind}) < self.count
            return True if len(direct) == self.count else False if few else None
        for by in self.by:
            squares = {*by.on(board)}
            if not squares & {*direct}:
                return None if squares & {*behind} else False
            direct = [at for at in direct if at not in squares]
        if not self.only or not direct:
            return True
        return None if all(board.is_pinned(side, at) for at in direct) else False

    def shown(self, at: View) -> str:
        """What does attack or guard it."""
        verb, there = "guarded" if self.guards else "attacked", self.piece.on(at.board)
        if not there:
            return f"there is no {self.piece}"
        white = bool(at.board.color_at(there[0]))
        mask = at.board.attackers_mask(white if self.guards else not white, there[0])
        return f"the {self.piece} is {verb} from {names_of(mask)}" if mask else f"it is not {verb}"


def read_contact(hit: Hit) -> Made:
    """That a piece is attacked or guarded by others, or so many times."""
    named, groups = spoken(hit, "p"), hit.match.groupdict()
    if groups.get("p_bare"):
        named = Thing(square=chess.parse_square(groups["p_bare"]))
    if named is None or (named.kind is None and named.white is None):
        return
    guards = not groups["verb"].lower().startswith("att")
    count = {"once": 1, "twice": 2}.get((groups.get("times") or "").lower())
    count = NUMBERS.get((groups.get("pieces") or "").lower(), count)
    if count:
        yield Contact(named, guards=guards, count=count), not groups.get("no")
        return
    side = named.white if guards else against(named)
    items = _BY.finditer(groups.get("by") or "")
    by = [thing(item, "one", side, loose=True) for item in items]
    only = bool(groups.get("only") or groups.get("sole"))
    things = tuple(each for each in by if each is not None)
    if things:
        yield Contact(named, things, guards, only), not groups.get("no")


@dataclass(frozen=True)
class Blocks(Statement):
    """A piece stands in the way of another."""

    by: Thing
    piece: Thing

    def true_in(self, at: View) -> bool | None:
        """It is the first one on a line of a slider, or before a pawn; False if on no line."""
        answers = {
            self._blocks(at.board, start, end)
            for start in self.by.on(at.board)
            for end in self.piece.on(at.board)
            if start != end
        }
        return True if True in answers else None if None in answers else False

    @staticmethod
    def _blocks(board: chess.Board, start: int, end: int) -> bool | None:
        kind, white = board.piece_type_at(end), board.color_at(end)
        if kind == chess.PAWN:
            ahead = 8 if white else -8
            if start == end + ahead:
                return True
            return None if start & 7 == end & 7 else False
        if kind not in SLIDERS:
            return None
        return (
            True if start in board.attacks(end) else None if slides_to(board, end, start) else False
        )

    def shown(self, at: View) -> str:
        """That it stands in no way of it."""
        return f"the {self.by} is {'not ' * at.positive}in the way of the {self.piece}"


def read_blocks(hit: Hit) -> Made:
    """That a piece blocks another."""
    this = (hit.match.groupdict().get("by_it") or "").lower().startswith("this")
    by, named = moved(hit.context) if this else doer(hit), spoken(hit, "one")
    if by is not None and by.kind is not None and named is not None:
        yield Blocks(by, named), True


@dataclass(frozen=True)
class XRay(Statement):
    """A piece would reach something if nothing were between, and something is."""

    by: Thing
    target: Thing

    def true_in(self, at: View) -> bool | None:
        """False where they are on no line of it; None where it attacks it."""
        lines = [
            at.board.occupied & chess.between(start, end)
            for start in self.by.on(at.board)
            for end in self.target.on(at.board)
            if start != end and slides_to(at.board, start, end)
        ]
        return True if any(lines) else None if lines else False

    def shown(self, at: View) -> str:  # noqa: ARG002
        """That there is no such line."""
        return f"the {self.by} and the {self.target} are on no line of it"


def read_x_ray(hit: Hit) -> Made:
    """That a piece looks at something through another."""
    by = doer(hit)
    goal = None if by is None else thing(hit.match, "one", against(by))
    if by is not None and by.kind is not None and goal is not None:
        yield XRay(by, goal), True


@dataclass(frozen=True)
class Trapped(Statement):
    """A piece is attacked and cannot be saved."""

    piece: Thing

    def true_in(self, at: View) -> bool | None:
        """False where it has several squares that nothing attacks."""
        answers = {self._trapped(at.board, square) for square in self.piece.on(at.board)}
        return answers.pop() if len(answers) == 1 else None

    @staticmethod
    def _trapped(board: chess.Board, square: int) -> bool | None:
        white = bool(board.color_at(square))
        there = turned(board, white)
        if there is None or there.piece_type_at(square) in (chess.PAWN, chess.KING):
            return None
        if is_trapped(there, square):
            return True
        free = [
            move
            for move in there.generate_legal_moves(from_mask=chess.BB_SQUARES[square])
            if not there.is_attacked_by(not white, move.to_square)
        ]
        return False if len(free) >= 3 else None

    def shown(self, at: View) -> str:
        """That it can go somewhere."""
        return f"the {self.piece} {'has safe squares' if at.positive else 'is trapped'}"


def read_trapped(hit: Hit) -> Made:
    """That a piece is trapped."""
    named = spoken(hit, "p")
    if named is not None:
        yield Trapped(named), not hit.match["no"]


# --- forms ----------------------------------------------------------------------------------------


ONE = re.sub(r"\(\?P<\w+>", "(?:", piece("one"))  # of a list
_BY = re.compile(piece("one"), re.IGNORECASE)
TIMES = r"(?:\s+(?P<times>once|twice)|\s+by\s+(?P<pieces>two|three)\s+(?:\w+\s+)?pieces)"
BARE = rf"(?:{piece('p')}|(?P<p_bare>{SQUARE}))"
FORMS: tuple[Form, ...] = (
    form(
        rf"\b{BARE}{IS}{NOT}(?:(?P<only>only)\s+)?(?:currently\s+|being\s+|well\s+)?"
        r"(?P<verb>attacked|defended|protected|guarded|supported|covered)\s+"
        rf"(?:both\s+)?(?:(?P<sole>only)\s+)?by\s+(?P<by>{ONE}(?:(?:,\s+|,?\s+and\s+)(?:by\s+)?{ONE}{LAST}){{0,4}})",
        read_contact,
    ),
    form(
        rf"\b{BARE}{IS}{NOT}(?:only\s+)?(?P<verb>attacked|defended|protected|guarded){TIMES}",
        read_contact,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+|directly\s+)*(?:blocks|blocking|obstructs|blockades|stands\s+in\s+the\s+way\s+of)\s+{piece('one')}"
        rf"(?:\s+from\s+\w+ing\s+(?:on\s+)?{SQUARE})?",
        read_blocks,
    ),
    form(
        rf"\b{piece('one')}{IS}(?:currently\s+)?(?:blocked|obstructed)\s+by\s+{piece('by')}",
        read_blocks,
    ),
    form(rf"{SUBJECT}\s*(?:also\s+)?x-rays\s+{target('one')}", read_x_ray),
    form(rf"\b{piece('p')}{IS}{NOT}(?:completely\s+|totally\s+|now\s+)?trapped\b", read_trapped),
)

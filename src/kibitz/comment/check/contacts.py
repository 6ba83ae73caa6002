"""What is said of how pieces stand to each other: who attacks, takes, guards and blocks.

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
from kibitz.comment.check.statements import (
    Attacks,
    Guarded,
    Statement,
    Thing,
    View,
    names_of,
    slides_to,
    stands_behind,
    turned,
)
from kibitz.comment.facts import SLIDERS, is_trapped
from kibitz.comment.force import gain

# --- attackers and blockers -----------------------------------------------------------------------


@dataclass(frozen=True)
class Contact(Statement):
    """A piece is attacked, or guarded, by certain pieces, by no others, or by so many."""

    piece: Thing
    by: tuple[Thing, ...] = ()
    guards: bool = False
    only: bool = False  # no others do, or not more often than `count`
    count: int | None = None
    both: bool = False  # all of a kind do, as "both rooks"

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
            backing = [at for at in behind if stands_behind(board, at, square)]
            free = sum(not board.is_pinned(side, at) for at in direct)
            most = len({*direct, *backing})
            is_open = free <= self.count <= most and not (self.only and most > len(direct))
            return True if len(direct) == self.count else None if is_open else False
        for by in self.by:
            squares = {*by.on(board)}
            if not squares & {*direct} or (self.both and len(squares & {*direct}) < 2):
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
    count = NUMBERS.get((groups.get("pieces") or groups.get("number") or "").lower(), count)
    only = bool(groups.get("only") or groups.get("sole"))
    if count:
        yield Contact(named, guards=guards, only=only, count=count), not groups.get("no")
        return
    side = named.white if guards else against(named)
    items = _BY.finditer(groups.get("by") or "")
    by = [thing(item, "one", side, loose=True) for item in items]
    things = tuple(each for each in by if each is not None)
    if things:
        both = "both" in (groups.get("by") or "").lower()
        yield Contact(named, things, guards, only, both=both), not groups.get("no")


def read_untouched(hit: Hit) -> Made:
    """That nothing attacks a piece, or guards it."""
    named = spoken(hit, "p")
    if named is not None:
        groups = hit.match.groupdict()
        if (groups["verb"] or groups["verb_too"]).lower().startswith("att"):
            yield Attacks(Thing(white=against(named)), (named,)), False
        elif named.kind != chess.KING:
            yield Guarded(named), False


def read_does_not(hit: Hit) -> Made:
    """That a piece does not attack something, or guard it."""
    by, guards = doer(hit), not hit.match["verb"].lower().startswith(("att", "hit"))
    if by is None or by.kind is None:
        return
    target = thing(hit.match, "one", by.white if guards else against(by), loose=hit.context.text)
    if target is not None:
        yield Attacks(by, (target,), guards=guards), False


@dataclass(frozen=True)
class CanTake(Statement):
    """A piece or a side could capture something if it were its turn; as a threat, and win by it."""

    by: Thing
    what: Thing
    threat: bool = False

    def true_in(self, at: View) -> bool | None:
        """The rules tell; what is won, a search of material."""
        sides = [self.by.white] if self.by.white is not None else [True, False]
        answers = {self._takes(at.board, bool(side)) for side in sides}
        return True if True in answers else None if None in answers else False

    def _takes(self, board: chess.Board, side: bool) -> bool | None:
        there = turned(board, side)
        if there is None:
            return None
        starts, goals = {*self.by.on(there)}, {*self.what.on(there)}
        moves = [
            move
            for move in there.generate_legal_captures()
            if move.from_square in starts
            and (
                move.to_square in goals
                or (there.is_en_passant(move) and self.what.kind == chess.PAWN)
            )
        ]
        if not moves or not self.threat:
            return bool(moves)
        return True if any((gain(there, move) or 0) > 0 for move in moves) else None

    def shown(self, at: View) -> str:
        """That there is no such capture."""
        return f"{'no' if at.positive else 'a'} {self.by} can take the {self.what}"


def read_can_take(hit: Hit) -> Made:
    """That something can be captured, or that a side threatens to."""
    groups = hit.match.groupdict()
    if groups.get("by_kind") and not groups.get("by_who"):
        by = thing(hit.match, "by", loose=True)
    else:
        by = doer(hit) if groups.get("by_who") or groups.get("by_it") else None
    if by is not None and groups.get("by_kind") and groups.get("by_who"):
        by = thing(hit.match, "by", by.white, loose=True)
    if by is None:
        return
    name = "p" if groups.get("p_kind") else "one"
    what = spoken(hit, name, against(by))
    if what is not None and (what.kind != chess.KING):
        yield CanTake(by, what, threat=bool(groups.get("threat"))), True


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
TIMES = (
    r"(?:\s+(?P<sole>only\s+|just\s+)?(?:(?P<times>once|twice)|(?P<number>two|three|four|five)\s+times)"
    r"|\s+by\s+(?P<pieces>two|three|four)\s+(?:\w+\s+)?pieces)"
)
NOTHING = r"(?:nothing|nobody|no\s+one|no\s+(?:(?:white|black|other|enemy)\s+)?pieces?)"
BARE = rf"(?:{piece('p')}|(?P<p_bare>{SQUARE}))"
FORMS: tuple[Form, ...] = (
    form(
        rf"\b{BARE}{IS}{NOT}(?:(?P<only>only)\s+)?(?:currently\s+|being\s+|well\s+)?"
        r"(?P<verb>attacked|defended|protected|guarded|supported|covered)\s+"
        rf"(?:both\s+)?(?:(?P<sole>only)\s+)?by\s+(?P<by>{ONE}(?:(?:,\s+|,?\s+and\s+)(?:by\s+)?{ONE}{LAST}){{0,4}})",
        read_contact,
    ),
    form(
        rf"\b{BARE}{IS}{NOT}(?P<only>only\s+|just\s+)?(?P<verb>attacked|defended|protected|guarded){TIMES}",
        read_contact,
    ),
    form(
        rf"^(?:and\s+|but\s+)?{NOTHING}\s+(?:now\s+|else\s+)?(?P<verb>attack|defend|protect|guard|cover)s?\s+{piece('p')}(?=\s*[.,;!]|$)",
        read_untouched,
        sure=True,
    ),
    form(
        rf"^(?:and\s+|but\s+)?{piece('p')}{IS}(?:not\s+(?P<verb>attacked|defended|protected|guarded)\s+by\s+(?:anything|anyone|any\s+(?:other\s+)?pieces?)"
        r"|(?P<verb_too>attacked|defended|protected|guarded)\s+by\s+(?:nothing|nobody|no\s+pieces?))(?=\s*[.,;!]|$)",
        read_untouched,
        sure=True,
    ),
    form(
        rf"{SUBJECT}\s*(?:no\s+longer|does\s+not|doesn't|do\s+not)\s+(?:yet\s+|even\s+|actually\s+)?"
        rf"(?P<verb>attack|hit|defend|protect|guard|control|cover)s?\s+{target('one')}{LAST}",
        read_does_not,
    ),
    form(
        rf"{SUBJECT}\s*(?:is\s+)?(?:now\s+|also\s+|directly\s+)*(?:blocks|blocking|obstructs|blockades|stands\s+in\s+the\s+way\s+of)\s+{piece('one')}"
        rf"(?:\s+from\s+\w+ing\s+(?:on\s+)?{SQUARE})?",
        read_blocks,
    ),
    form(
        rf"(?:\bthe\s+(?:diagonal|line|path|way)\s+of\s+|\b){piece('one')}{IS}(?:currently\s+)?(?:blocked|obstructed)\s+by\s+{piece('by')}",
        read_blocks,
    ),
    form(rf"{SUBJECT}\s*(?:also\s+)?x-rays\s+{target('one')}", read_x_ray),
    form(rf"\b{piece('p')}{IS}{NOT}(?:completely\s+|totally\s+|now\s+)?trapped\b", read_trapped),
    form(
        rf"\b(?P<by_who>white|black)\s+can\s+(?:now\s+|also\s+|simply\s+|immediately\s+|safely\s+)?(?:capture|take)\s+"
        rf"(?:on\s+)?{target('one')}(?:\s+with\s+(?:check\s+with\s+)?{piece('by')})?",
        read_can_take,
    ),
    form(
        rf"\b{piece('by')}\s+can\s+(?:now\s+|also\s+|simply\s+|immediately\s+)?(?:capture|take)\s+(?:on\s+)?{target('one')}",
        read_can_take,
    ),
    form(
        rf"\b{piece('p')}\s+can\s+(?:now\s+|also\s+|simply\s+)?be\s+(?:captured|taken)\s+by\s+{piece('by')}",
        read_can_take,
    ),
    form(
        rf"(?:\b(?P<by_who>white|black)|^(?P<by_it>it|this(?:\s+move)?))\s+(?:is\s+)?(?:now\s+|also\s+)?"
        rf"(?P<threat>threaten(?:s|ing))\s+to\s+(?:capture|take)\s+(?:on\s+)?{target('one')}",
        read_can_take,
    ),
)

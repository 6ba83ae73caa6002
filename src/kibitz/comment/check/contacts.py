"""What is said of how pieces stand to each other: who attacks, guards and blocks, and lines.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import chess

from kibitz.comment.check.forms import FILE, IS, NOT, Form, form
from kibitz.comment.check.readers import (
    KIND,
    LAST,
    NUMBERS,
    SIDE,
    SQUARE,
    SUBJECT,
    Hit,
    Made,
    against,
    doer,
    kind_named,
    moved,
    piece,
    side_of,
    spoken,
    target,
    thing,
)
from kibitz.comment.check.statements import Statement, Thing, View, names_of, turned
from kibitz.comment.facts import SLIDERS, is_trapped


def _aligned(first: int, second: int) -> bool:
    return bool(chess.ray(first, second))


def _slides_to(board: chess.Board, start: int, end: int) -> bool:
    """Whether a slider would reach a square if nothing were between."""
    if board.piece_type_at(start) not in SLIDERS:
        return False
    empty = chess.Board(None)
    empty.set_piece_at(start, board.piece_at(start))
    return end in empty.attacks(start)


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
        behind = [at for at in Thing(white=side).on(board) if _slides_to(board, at, square)]
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
            True
            if start in board.attacks(end)
            else None
            if _slides_to(board, end, start)
            else False
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
            if start != end and _slides_to(at.board, start, end)
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


# --- lines ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnLine(Statement):
    """A piece is on one of some squares: a file, a diagonal, a rank, the edge."""

    piece: Thing
    squares: chess.Bitboard
    name: str

    def true_in(self, at: View) -> bool | None:
        """One of those that it can be is."""
        return any(self.squares & chess.BB_SQUARES[square] for square in self.piece.on(at.board))

    def shown(self, at: View) -> str:
        """Where it is."""
        there = names_of(sum(chess.BB_SQUARES[square] for square in self.piece.on(at.board)))
        return (
            f"the {self.piece} is on {there}, not on {self.name}" if there else f"no {self.piece}"
        )


def _diagonal(first: str, last: str) -> chess.Bitboard:
    start, end = chess.parse_square(first), chess.parse_square(last)
    both = chess.BB_SQUARES[start] | chess.BB_SQUARES[end]
    slope = abs((start & 7) - (end & 7)) == abs((start >> 3) - (end >> 3)) and start != end
    return chess.between(start, end) | both if slope else chess.BB_EMPTY


def read_on_line(hit: Hit) -> Made:
    """That a piece is on a file, a diagonal, its seventh rank or the edge."""
    named, groups = spoken(hit, "p"), hit.match.groupdict()
    if named is None:
        return
    if groups.get("file"):
        if "bishop" in groups["p_kind"].lower():
            return
        file = groups["file"]
        yield OnLine(named, chess.BB_FILES["abcdefgh".index(file)], f"the {file}-file"), True
    elif groups.get("from"):
        squares = _diagonal(groups["from"], groups["to"])
        if squares:
            yield OnLine(named, squares, f"the diagonal {groups['from']}-{groups['to']}"), True
    elif groups.get("seventh"):
        yield OnLine(named, chess.BB_RANK_7 | chess.BB_RANK_2, "the seventh rank"), True
    elif groups.get("fianchetto"):
        if named.kind == chess.BISHOP:
            corners = sum(chess.BB_SQUARES[at] for at in (chess.B2, chess.G2, chess.B7, chess.G7))
            yield OnLine(named, corners, "b2, g2, b7 or g7"), True
    elif groups.get("edge"):
        edge = chess.BB_RANK_1 | chess.BB_RANK_8 | chess.BB_FILE_A | chess.BB_FILE_H
        yield OnLine(named, edge, "the edge"), True


def read_puts(hit: Hit) -> Made:
    """That the piece that has moved is on a file now."""
    by, kind, file = moved(hit.context), hit.match["kind"], hit.match["file"]
    if by is not None:
        by = by if kind is None else replace(by, kind=kind_named(kind))
        yield OnLine(by, chess.BB_FILES["abcdefgh".index(file)], f"the {file}-file"), True


@dataclass(frozen=True)
class OpenDiagonal(Statement):
    """No pawn is on a diagonal."""

    squares: chess.Bitboard

    def true_in(self, at: View) -> bool | None:
        """False only where pawns of both sides are on it."""
        pawns = self.squares & at.board.pawns
        if not self.squares & at.board.occupied & ~at.board.bishops & ~at.board.queens:
            return True
        both = all(pawns & at.board.occupied_co[white] for white in (True, False))
        return False if both else None

    def shown(self, at: View) -> str:
        """Which pawns are on it."""
        return f"pawns on {names_of(self.squares & at.board.pawns)}"


def read_diagonal(hit: Hit) -> Made:
    """That a diagonal is open."""
    squares = _diagonal(hit.match["from"], hit.match["to"])
    if squares:
        yield OpenDiagonal(squares), not hit.match["no"]


@dataclass(frozen=True)
class Together(Statement):
    """Two pieces are on one line with nothing between: a battery, connected or doubled rooks."""

    one: Thing
    two: Thing
    doubled: bool = False  # on a file
    squares: chess.Bitboard = chess.BB_ALL

    def true_in(self, at: View) -> bool | None:
        """False where no two of them are on a line, or something is between."""
        answers = {
            self._are(at.board, *sorted((first, second)))
            for first in self.one.on(at.board)
            for second in self.two.on(at.board)
            if first != second and at.board.color_at(first) == at.board.color_at(second)
        }
        return True if True in answers else None if None in answers else False

    def _are(self, board: chess.Board, first: int, second: int) -> bool | None:
        both = chess.BB_SQUARES[first] | chess.BB_SQUARES[second]
        if not _aligned(first, second) or both & ~self.squares:
            return False
        reach = _slides_to(board, first, second) and _slides_to(board, second, first)
        if self.doubled and first & 7 != second & 7:
            return None if reach else False
        clear = not chess.between(first, second) & board.occupied
        return True if reach and clear else None if reach and self.doubled else False

    def shown(self, at: View) -> str:
        """Where they are."""
        squares = {*self.one.on(at.board), *self.two.on(at.board)}
        names = names_of(sum(chess.BB_SQUARES[square] for square in squares))
        return f"they are on {names}" if names else "there are none"


def read_rooks(hit: Hit) -> Made:
    """That a side's rooks are doubled or connected."""
    groups = hit.match.groupdict()
    rooks = Thing(chess.ROOK, side_of(groups.get("side")))
    if rooks.white is None:
        return
    file = groups.get("file")
    squares = chess.BB_FILES["abcdefgh".index(file)] if file else chess.BB_ALL
    doubled = groups["how"].lower() == "doubled"
    yield Together(rooks, rooks, doubled, squares), not groups.get("no")


def read_links(hit: Hit) -> Made:
    """That the side that has moved has its rooks connected."""
    rooks = Thing(chess.ROOK, hit.context.mover)
    if hit.context.mover is not None:
        yield Together(rooks, rooks), True


def read_battery(hit: Hit) -> Made:
    """That two pieces form a battery."""
    one, two = (thing(hit.match, name, loose=True) for name in ("one", "two"))
    if one is None or two is None:
        return
    white = one.white if two.white is None else two.white
    squares = chess.BB_ALL
    if hit.match["from"]:
        squares = _diagonal(hit.match["from"], hit.match["to"]) or chess.BB_ALL
    elif hit.match["file"]:
        squares = chess.BB_FILES["abcdefgh".index(hit.match["file"])]
    yield Together(replace(one, white=white), replace(two, white=white), squares=squares), True


# --- forms ----------------------------------------------------------------------------------------


ONE = re.sub(r"\(\?P<\w+>", "(?:", piece("one"))  # of a list
_BY = re.compile(piece("one"), re.IGNORECASE)
TIMES = r"(?:\s+(?P<times>once|twice)|\s+by\s+(?P<pieces>two|three)\s+(?:\w+\s+)?pieces)"
BARE = rf"(?:{piece('p')}|(?P<p_bare>{SQUARE}))"
DIAGONAL = rf"(?P<from>{SQUARE})\s?-\s?(?P<to>{SQUARE})(?:\s+|-)diagonal"
ON = (
    rf"(?:{IS}(?:well\s+)?(?:placed\s+|posted\s+|stationed\s+|active\s+)?(?:on|along)"
    r"|\s+(?:now\s+|also\s+)?(?:control|occup|dominate|use|command|eye|rake)(?:s|y|ies)?)"
)
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
    form(
        rf"^this(?:\s+move)?\s+(?:puts\s+the\s+(?P<kind>{KIND})\s+on|takes)\s+the\s+(?:(?:half|semi)[-\s])?open\s+{FILE}",
        read_puts,
        near=False,
    ),
    form(
        r"^this(?:\s+move)?\s+(?:connects|links)\s+the\s+rooks(?:\s+on\s+the\s+back\s+rank)?",
        read_links,
        near=False,
    ),
    form(rf"\b{piece('p')}{IS}{NOT}(?:completely\s+|totally\s+|now\s+)?trapped\b", read_trapped),
    form(
        rf"\b{piece('p')}{ON}\s+the\s+(?:only\s+)?(?:(?:(?:half|semi)[-\s])?open\s+)?{FILE}\b",
        read_on_line,
    ),
    form(rf"\b{piece('p')}{ON}\s+the\s+(?:long\s+|open\s+|important\s+)*{DIAGONAL}", read_on_line),
    form(rf"\b{piece('p')}{ON}\s+(?:the|its|his)\s+(?P<seventh>seventh|7th)\b", read_on_line),
    form(rf"\b{piece('p')}{IS}(?P<fianchetto>fianchettoed)\b", read_on_line),
    form(rf"\b{piece('p')}{IS}on\s+the\s+(?P<edge>rim|edge)\b", read_on_line),
    form(rf"\b{DIAGONAL}{IS}{NOT}(?:completely\s+|wide\s+)?open\b", read_diagonal),
    form(
        rf"\b{SIDE}(?:'s)?\s+(?:two\s+|both\s+)?rooks{IS}{NOT}(?P<how>doubled|connected)\b"
        rf"(?:\s+(?:on|along)\s+the\s+(?:half-|semi-)?(?:open\s+)?{FILE})?(?!\s+on)",
        read_rooks,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:already\s+)?(?P<how>doubled|connected)\s+(?:(?:the|his|her|its|their)\s+)?rooks"
        rf"(?:\s+(?:on|along)\s+the\s+(?:half-|semi-)?(?:open\s+)?{FILE})?(?!\s+on)",
        read_rooks,
    ),
    form(
        rf"\b{piece('one')}\s+and\s+{piece('two')}\s+(?:now\s+)?(?:form|create|make|build)\s+a\s+"
        rf"(?:strong\s+|powerful\s+|dangerous\s+)?battery"
        rf"(?:\s+(?:on|along)\s+the\s+(?:(?:long\s+)?{DIAGONAL}|(?:half-|semi-)?(?:open\s+)?{FILE}))?",
        read_battery,
    ),
)

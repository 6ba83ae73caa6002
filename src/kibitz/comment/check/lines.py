"""What is said of lines: pieces on files and diagonals, open files, rooks together, batteries.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import chess

from kibitz.comment.check.forms import FILE, IS, NOT, Form, form
from kibitz.comment.check.judgements import FileIs
from kibitz.comment.check.readers import (
    KIND,
    NUMBERS,
    SIDE,
    SQUARE,
    Hit,
    Made,
    kind_named,
    moved,
    piece,
    side_of,
    spoken,
    thing,
)
from kibitz.comment.check.statements import Statement, Thing, View, names_of, slides_to
from kibitz.comment.facts import is_half_open, is_open

# --- files ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenFiles(Statement):
    """There are so many files without pawns."""

    count: int
    exactly: bool = True

    def true_in(self, at: View) -> bool | None:
        """They are counted."""
        count = sum(is_open(at.board, file) for file in range(8))
        return count == self.count if self.exactly or count < self.count else True

    def shown(self, at: View) -> str:
        """Which are open."""
        names = [name for file, name in enumerate(chess.FILE_NAMES) if is_open(at.board, file)]
        return f"open: {', '.join(names)}" if names else "no file is open"


def read_open_files(hit: Hit) -> Made:
    """That there is no open file, or that there are so many."""
    words = hit.match["count"].lower().split()
    count = 0 if words[-1] == "no" else NUMBERS.get(words[-1])
    if count is not None:
        yield OpenFiles(count, exactly=words[-1] not in ("a", "an")), True


def read_only_file(hit: Hit) -> Made:
    """That one file is open, and no other."""
    file = "abcdefgh".index(hit.match["file"] or hit.match["second"])
    yield FileIs(file), True
    yield OpenFiles(1), True


@dataclass(frozen=True)
class Closed(Statement):
    """A file has pawns of both sides."""

    file: int

    def true_in(self, at: View) -> bool | None:
        """None where one side's pawns are on it."""
        if is_open(at.board, self.file):
            return False
        half = any(is_half_open(at.board, self.file, white) for white in (True, False))
        return None if half else True

    def shown(self, at: View) -> str:
        """Which pawns are on it."""
        return f"pawns on it: {names_of(at.board.pawns & chess.BB_FILES[self.file]) or 'none'}"


def read_closed(hit: Hit) -> Made:
    """That a file is closed."""
    yield Closed("abcdefgh".index(hit.match["file"])), not hit.match["no"]


@dataclass(frozen=True)
class OnOpenFile(Statement):
    """Pieces stand on files that are open, or half-open."""

    piece: Thing
    half: bool = False
    all: bool = False  # it is said of all that it can be

    def true_in(self, at: View) -> bool | None:
        """None of a half-open file that is called open, or the other way round."""
        answers = [self._is(at.board, square) for square in self.piece.on(at.board)]
        if not answers:
            return False
        if self.all:
            return False if False in answers else None if None in answers else True
        return True if True in answers else None if None in answers else False

    def _is(self, board: chess.Board, square: int) -> bool | None:
        file, white = square & 7, bool(board.color_at(square))
        if is_open(board, file):
            return None if self.half else True
        half = is_half_open(board, file, white)
        return (self.half or None) if half else False

    def shown(self, at: View) -> str:
        """Where they are."""
        names = names_of(sum(chess.BB_SQUARES[square] for square in self.piece.on(at.board)))
        return f"the {self.piece} is on {names}" if names else f"there is no {self.piece}"


def read_on_open_file(hit: Hit) -> Made:
    """That a piece, or both rooks of a side, stand on open files."""
    groups = hit.match.groupdict()
    side = side_of(groups.get("rooks")) if groups.get("both") else None
    half = bool(groups.get("half"))
    if groups.get("both"):
        if side is not None or hit.context.text:
            yield OnOpenFile(Thing(chess.ROOK, side), half, all=True), True
    elif (named := spoken(hit, "p")) is not None:
        yield OnOpenFile(named, half), True
        if groups.get("only"):
            yield OpenFiles(1), True


# --- pieces on lines ------------------------------------------------------------------------------


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
        if not chess.ray(first, second) or both & ~self.squares:
            return False
        reach = slides_to(board, first, second) and slides_to(board, second, first)
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


DIAGONAL = rf"(?P<from>{SQUARE})\s?-\s?(?P<to>{SQUARE})(?:\s+|-)diagonal"
ON = (
    rf"(?:{IS}(?:well\s+)?(?:placed\s+|posted\s+|stationed\s+|active\s+)?(?:on|along)"
    r"|\s+(?:now\s+|also\s+)?(?:control|occup|dominate|use|command|eye|rake)(?:s|y|ies)?)"
)
FORMS: tuple[Form, ...] = (
    form(
        r"\bthere(?:\s+is|\s+are|'s)\s+(?:currently\s+|now\s+)?(?P<count>(?:(?:only|exactly)\s+)?(?:no|an?|one|two|three|four|five))\s+"
        r"(?:fully\s+|completely\s+)?open\s+files?\b(?!\s+(?:for|next|near|on(?!\s+the\s+board)|against))",
        read_open_files,
    ),
    form(
        r"\b(?:the\s+position\s+has|has)\s+(?P<count>no)\s+open\s+files\b",
        read_open_files,
    ),
    form(rf"\b{FILE}{IS}{NOT}(?:completely\s+|fully\s+)?closed\b", read_closed),
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
    form(
        rf"\b{piece('p')}{ON}\s+the\s+(?:only\s+)?(?:(?:(?:half|semi)[-\s])?open\s+)?{FILE}\b",
        read_on_line,
    ),
    form(
        rf"\b(?:(?P<both>both)\s+(?:(?:of\s+)?(?P<rooks>white|black)(?:'s)?\s+)?rooks|{piece('p')}){ON}\s+(?:an?\s+|(?P<only>the\s+only)\s+)?"
        r"(?P<half>(?:half|semi)[-\s])?open\s+files?(?=\s*[.,;!]|\s+and\b|$)",
        read_on_open_file,
        sure=True,
    ),
    form(rf"\b{piece('p')}{ON}\s+the\s+(?:long\s+|open\s+|important\s+)*{DIAGONAL}", read_on_line),
    form(
        rf"\b{piece('p')}{ON}\s+(?:the|its|his)\s+(?P<seventh>seventh|7th)\b(?:\s+rank\b)?",
        read_on_line,
    ),
    form(
        rf"^(?:the\s+only\s+open\s+file\s+is\s+the\s+{FILE}"
        r"|the\s+(?P<second>(?-i:[a-h]))-?\s?file\s+is\s+the\s+only\s+open\s+file)(?=\s*[.,;!]|$)",
        read_only_file,
        sure=True,
    ),
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

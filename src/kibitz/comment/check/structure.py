"""What is said of development, and of pawns: backward ones, outposts, islands, wings.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import chess

from kibitz.comment.check.forms import IS, NOT, Form, form
from kibitz.comment.check.readers import (
    NUMBERS,
    SIDE,
    SQUARE,
    Hit,
    Made,
    kind_named,
    piece,
    side_of,
    spoken,
)
from kibitz.comment.check.statements import TITLES, Statement, Thing, View, names_of
from kibitz.comment.facts import is_outpost, is_passed

# --- development ----------------------------------------------------------------------------------


HOMES = {
    chess.KNIGHT: (chess.B1, chess.G1),
    chess.BISHOP: (chess.C1, chess.F1),
}


def _at_home(board: chess.Board, white: bool, kind: int) -> list[int]:
    homes = [square if white else chess.square_mirror(square) for square in HOMES[kind]]
    return [square for square in homes if board.piece_at(square) == chess.Piece(kind, white)]


@dataclass(frozen=True)
class Developed(Statement):
    """A side's knights, bishops or both have left their first squares."""

    white: bool
    kinds: tuple[int, ...]
    all: bool = True  # it says so

    def true_in(self, at: View) -> bool | None:
        """By those that are still there."""
        home = [square for kind in self.kinds for square in _at_home(at.board, self.white, kind)]
        if not home:
            return True
        return False if self.all else None

    def shown(self, at: View) -> str:
        """Which are there."""
        home = [square for kind in self.kinds for square in _at_home(at.board, self.white, kind)]
        names = ", ".join(map(chess.square_name, home))
        return f"{TITLES[self.white]} has pieces on {names}" if home else "none is at home"


def read_developed(hit: Hit) -> Made:
    """That a side, or both, has developed pieces."""
    side, groups = side_of(hit.match.groupdict().get("side")), hit.match.groupdict()
    what = groups["what"].lower()
    kinds = (kind_named(what),) if what[:-1] in ("knight", "bishop") else tuple(HOMES)
    every = bool(groups.get("all")) or what != "pieces"
    for white in (True, False) if side is None else (side,):
        if not groups.get("no"):
            yield Developed(white, kinds, every), True
        elif not groups.get("all"):
            yield Developed(white, kinds, all=False), False


@dataclass(frozen=True)
class Lead(Statement):
    """A side has more minor pieces developed."""

    white: bool

    def true_in(self, at: View) -> bool | None:
        """By those on their first squares; tempi and rooks leave a difference of one open."""
        home = {
            side: sum(len(_at_home(at.board, side, kind)) for kind in HOMES)
            for side in (True, False)
        }
        lead = home[not self.white] - home[self.white]
        return True if lead >= 2 else False if lead <= -2 else None

    def shown(self, at: View) -> str:
        """Which are there."""
        home = [
            chess.square_name(square)
            for side in (True, False)
            for kind in HOMES
            for square in _at_home(at.board, side, kind)
        ]
        return f"still at home: {', '.join(home)}"


def read_lead(hit: Hit) -> Made:
    """That a side is ahead in development."""
    side = side_of(hit.match["side"])
    if side is not None:
        yield Lead(side != ((hit.match["way"] or "").lower() == "behind")), True


@dataclass(frozen=True)
class Undeveloped(Statement):
    """A piece is on its first square."""

    piece: Thing

    def true_in(self, at: View) -> bool | None:
        """All that it can be are, or none is."""
        answers = {self._at_home(at.board, square) for square in self.piece.on(at.board)}
        return answers.pop() if len(answers) == 1 else None

    def _at_home(self, board: chess.Board, square: int) -> bool:
        white, kind = bool(board.color_at(square)), board.piece_type_at(square) or 0
        return square in _at_home(board, white, kind)

    def shown(self, at: View) -> str:
        """Where it is."""
        return f"it is on {names_of(sum(chess.BB_SQUARES[one] for one in self.piece.on(at.board)))}"


def read_undeveloped(hit: Hit) -> Made:
    """That a minor piece is developed, or not."""
    named = spoken(hit, "p")
    if named is not None and named.kind in HOMES:
        developed = hit.match["how"].lower() == "developed" and not (
            hit.match["no"] or "n't" in hit.match[0]
        )
        yield Undeveloped(named), not developed


# --- pawns ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Backward(Statement):
    """A pawn has fallen behind those beside it, and an enemy pawn stops it."""

    white: bool | None
    square: int

    def true_in(self, at: View) -> bool | None:
        """False where a pawn behind can guard it, or nothing keeps it from going on."""
        board, colour = at.board, at.board.color_at(self.square)
        if board.piece_type_at(self.square) != chess.PAWN or self.white not in (None, colour):
            return False
        white = bool(colour)
        if is_passed(board, self.square, white):
            return False
        step = 1 if white else -1
        beside = [
            ((pawn >> 3) - (self.square >> 3)) * step
            for pawn in board.pieces(chess.PAWN, white)
            if abs((pawn & 7) - (self.square & 7)) == 1
        ]
        stop = self.square + 8 * step
        enemies = board.pieces_mask(chess.PAWN, not white)
        stopped = bool(chess.BB_PAWN_ATTACKS[white][stop] & enemies)
        if any(rank < 0 for rank in beside):
            return False
        if any(rank == 0 for rank in beside):
            return None if stopped or enemies & chess.BB_SQUARES[stop] else False
        return True if stopped and beside else None

    def shown(self, at: View) -> str:
        """What stands there, or beside it."""
        name = chess.square_name(self.square)
        if at.board.piece_type_at(self.square) != chess.PAWN:
            return f"there is no such pawn on {name}"
        return f"the pawn on {name} is {'not ' * at.positive}backward"


def read_backward(hit: Hit) -> Made:
    """That a pawn is backward."""
    groups = hit.match.groupdict()
    square = next(groups[name] for name in ("at", "first") if groups.get(name))
    side = side_of(groups.get("side") or groups.get("whose"))
    yield Backward(side, chess.parse_square(square)), not groups.get("no")


@dataclass(frozen=True)
class Outpost(Statement):
    """A square, or the piece on it, can be attacked by no enemy pawn."""

    white: bool | None
    square: int

    def true_in(self, at: View) -> bool | None:
        """False only where an enemy pawn attacks it now."""
        colour = self._side(at.board)
        if colour is None:
            return None
        if is_outpost(at.board, self.square, colour):
            return True
        pawns = at.board.pieces_mask(chess.PAWN, not colour)
        return False if chess.BB_PAWN_ATTACKS[colour][self.square] & pawns else None

    def _side(self, board: chess.Board) -> bool | None:
        return board.color_at(self.square) if self.white is None else self.white

    def shown(self, at: View) -> str:
        """Which enemy pawns attack it."""
        pawns = at.board.attackers_mask(not self._side(at.board), self.square) & at.board.pawns
        return f"pawns that attack it: {names_of(pawns) or 'none'}"


def read_outpost(hit: Hit) -> Made:
    """That a square is an outpost."""
    side = side_of(hit.match.groupdict().get("side"))
    yield Outpost(side, chess.parse_square(hit.match["at"])), True


@dataclass(frozen=True)
class Islands(Statement):
    """A side's pawns are in so many groups."""

    white: bool
    count: int

    def true_in(self, at: View) -> bool | None:
        """They are counted."""
        return self._count(at.board) == self.count

    def _count(self, board: chess.Board) -> int:
        files = {pawn & 7 for pawn in board.pieces(chess.PAWN, self.white)}
        return sum(file - 1 not in files for file in files)

    def shown(self, at: View) -> str:
        """How many there are."""
        return f"{TITLES[self.white]} has {self._count(at.board)} pawn islands"


def read_islands(hit: Hit) -> Made:
    """That a side has so many pawn islands."""
    side, count = side_of(hit.match["side"]), NUMBERS.get(hit.match["count"].lower())
    if side is not None and count:
        yield Islands(side, count), True


@dataclass(frozen=True)
class OnWing(Statement):
    """A side has the majority of pawns on a wing, or so many of them."""

    white: bool
    wing: Literal["king", "queen"]
    count: int | None = None  # None: more than the other side
    theirs: int | None = None  # of the other side, where both are told

    def true_in(self, at: View) -> bool | None:
        """By three files and by four, as some count the centre's and some do not."""
        answers = set()
        for files in (3, 4):
            first = 0 if self.wing == "queen" else 8 - files
            mask = sum(chess.BB_FILES[first : first + files]) & at.board.pawns
            own = (mask & at.board.occupied_co[self.white]).bit_count()
            theirs = (mask & at.board.occupied_co[not self.white]).bit_count()
            told = self.theirs in (None, theirs)
            answers.add(own > theirs if self.count is None else own == self.count and told)
        if self.theirs is not None:
            return True in answers
        return answers.pop() if len(answers) == 1 else None

    def shown(self, at: View) -> str:
        """Where the pawns are."""
        return f"pawns on {names_of(at.board.pawns)}"


def read_on_wing(hit: Hit) -> Made:
    """That a side has a majority, or so many pawns, on a wing."""
    side, groups = side_of(hit.match["side"]), hit.match.groupdict()
    wing: Literal["king", "queen"] = (
        "king" if groups["wing"].lower().startswith("king") else "queen"
    )
    count, theirs = (NUMBERS.get((groups.get(name) or "").lower()) for name in ("count", "theirs"))
    if side is not None:
        yield OnWing(side, wing, count, theirs), True


@dataclass(frozen=True)
class Joined(Statement):
    """Two pawns stand on files that are next to each other."""

    one: int
    two: int
    chain: bool = False  # one guards the other

    def true_in(self, at: View) -> bool | None:
        """By their files; side by side or guarding one another is certain, further apart is not."""
        colours = {at.board.color_at(square) for square in (self.one, self.two)}
        if len(colours) == 2:
            return False
        if self.chain and abs((self.one >> 3) - (self.two >> 3)) != 1:
            return False
        if any(at.board.piece_type_at(square) != chess.PAWN for square in (self.one, self.two)):
            return False
        if abs((self.one & 7) - (self.two & 7)) != 1:
            return False
        return True if abs((self.one >> 3) - (self.two >> 3)) <= 1 else None

    def shown(self, at: View) -> str:
        """That they are not."""
        return f"pawns on {names_of(at.board.pawns)}"


def read_joined(hit: Hit) -> Made:
    """That two pawns are connected."""
    squares = [
        chess.parse_square(hit.match[name])
        for name in ("at", "two", "more")
        if hit.match.groupdict().get(name)
    ]
    for one, two in pairwise(squares):
        yield Joined(one, two, chain=bool(hit.match.groupdict().get("chain"))), True


@dataclass(frozen=True)
class JoinedFiles(Statement):
    """A side has pawns on two files, next to each other and guarding one another or abreast."""

    white: bool
    files: tuple[int, int]

    def true_in(self, at: View) -> bool | None:
        """By any two of them."""
        pawns = [
            [pawn for pawn in at.board.pieces(chess.PAWN, self.white) if pawn & 7 == file]
            for file in self.files
        ]
        if not all(pawns) or abs(self.files[0] - self.files[1]) != 1:
            return False
        near = any(abs((one >> 3) - (two >> 3)) <= 1 for one in pawns[0] for two in pawns[1])
        return True if near else None

    def shown(self, at: View) -> str:
        """Where the pawns are."""
        return f"pawns on {names_of(at.board.pieces_mask(chess.PAWN, self.white))}"


def read_joined_files(hit: Hit) -> Made:
    """That a side's pawns on two files are connected."""
    side = side_of(hit.match["side"])
    if side is not None:
        first, second = ("abcdefgh".index(hit.match[name]) for name in ("file", "second"))
        yield JoinedFiles(side, (first, second)), True


@dataclass(frozen=True)
class OnShade(Statement):
    """All pawns of a side stand on squares of one colour."""

    white: bool
    light: bool

    def true_in(self, at: View) -> bool | None:
        """The board shows it; where there are none, nothing is said."""
        pawns = at.board.pieces_mask(chess.PAWN, self.white)
        squares = chess.BB_LIGHT_SQUARES if self.light else chess.BB_DARK_SQUARES
        return not pawns & ~squares if pawns else None

    def shown(self, at: View) -> str:
        """Which are on the others."""
        squares = chess.BB_DARK_SQUARES if self.light else chess.BB_LIGHT_SQUARES
        return f"pawns on {names_of(at.board.pieces_mask(chess.PAWN, self.white) & squares)}"


def read_shade(hit: Hit) -> Made:
    """That all of a side's pawns are on light squares, or dark ones."""
    side = side_of(hit.match["side"])
    if side is not None:
        yield OnShade(side, hit.match["shade"].lower() == "light"), True


# --- forms ----------------------------------------------------------------------------------------


PIECES = r"(?P<what>knights|bishops|minor\s+pieces|pieces)"
BACKWARD = rf"backward\s+(?:(?:(?P<first>{SQUARE})[-\s])?pawn)"
FORMS: tuple[Form, ...] = (
    form(
        rf"\b{SIDE}\s+has\s+(?P<no>not\s+(?:yet\s+)?)?(?:already\s+|now\s+)?developed\s+(?:(?P<all>both|all)\s+)?"
        rf"(?:of\s+)?(?:(?:the|his|her|its|their)\s+)?{PIECES}",
        read_developed,
    ),
    form(
        r"^both\s+(?:sides|players)\s+have\s+(?:already\s+|now\s+)?(?P<no>not\s+)?developed\s+(?:(?P<all>both|all)\s+)?"
        rf"(?:of\s+)?(?:(?:the|their)\s+)?{PIECES}(?=\s*[.,;]|\s+and\b|$)",
        read_developed,
        sure=True,
    ),
    form(
        rf"\b{SIDE}(?:{IS}(?:well\s+|far\s+)?(?P<way>ahead|behind)\s+in|\s+has\s+(?:a|the)\s+(?:big\s+|clear\s+|slight\s+)?"
        r"(?:lead|advantage)\s+in)\s+development\b",
        read_lead,
    ),
    form(
        rf"\b{piece('p')}{IS}{NOT}(?:still\s+|yet\s+)?(?P<how>undeveloped|developed)\b",
        read_undeveloped,
    ),
    form(
        rf"\b{SIDE}(?:'s|\s+(?:now\s+|still\s+)?has\s+an?)\s+(?:weak\s+)?{BACKWARD}(?:\s+on\s+(?P<at>{SQUARE}))",
        read_backward,
    ),
    form(
        rf"\b(?:there\s+is\s+a|the)\s+(?:(?P<whose>white|black)\s+)?{BACKWARD}\s+on\s+(?P<at>{SQUARE})",
        read_backward,
    ),
    form(
        rf"\b(?:(?P<whose>white|black)(?:'s)?\s+)?(?:(?P<first>{SQUARE})[-\s]pawn|pawn\s+on\s+(?P<at>{SQUARE})){IS}{NOT}"
        r"(?:a\s+)?backward\b",
        read_backward,
    ),
    form(
        rf"\b(?:{SIDE}\s+has\s+)?an?\s+(?:\w+\s+)?outpost\s+(?:on|at)\s+(?P<at>{SQUARE})",
        read_outpost,
    ),
    form(rf"\b{SIDE}\s+has\s+(?P<count>one|two|three|four)\s+pawn\s+islands?\b", read_islands),
    form(
        rf"\b{piece('p')}\s+has(?:\s+(?P<no>not)|n't)\s+(?:yet\s+)?been\s+(?P<how>developed)\b(?:\s+yet\b)?",
        read_undeveloped,
    ),
    form(
        rf"\b{piece('p')}{IS}(?P<no>)(?:still\s+)?on\s+(?:its|his|her|the)\s+(?:(?P<how>original|starting|initial|home)\s+)square\b",
        read_undeveloped,
        sure=True,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:now\s+)?an?\s+(?P<count>\w+)\s?(?:-|\s)(?:to|against|on)(?:-|\s)\s?(?P<theirs>\w+)\s+(?:pawn\s+)?"
        r"majority\s+on\s+the\s+(?P<wing>king-?side|queen-?side)",
        read_on_wing,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:now\s+)?(?P<count>one|two|three|four)\s+pawns?\s+(?:against|to|versus)\s+(?P<theirs>one|two|three|four)"
        r"\s+on\s+the\s+(?P<wing>king-?side|queen-?side)",
        read_on_wing,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:now\s+)?(?:a|the)\s+(?P<wing>king-?side|queen-?side)\s+(?:pawn\s+)?majority\b",
        read_on_wing,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:now\s+)?(?:a|the)\s+(?:pawn\s+)?majority\s+on\s+the\s+(?P<wing>king-?side|queen-?side)",
        read_on_wing,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:only\s+)?(?P<count>one|two|three|four)\s+pawns?\s+on\s+the\s+(?P<wing>king-?side|queen-?side)",
        read_on_wing,
    ),
    form(
        rf"(?:\b(?:{SIDE}\s+has|there\s+is)\s+a\s+)?\bpawn\s+(?P<chain>chain)\s+(?:on|from)\s+(?P<at>{SQUARE})(?:\s*(?:,|-|and|to)\s*(?P<two>{SQUARE}))(?:\s*(?:,|-|and|to|,\s+and)\s*(?P<more>{SQUARE}))?(?![\w-])",
        read_joined,
    ),
    form(
        rf"\b{SIDE}'s\s+(?P<file>(?-i:[a-h]))-\s?(?:pawn\s+)?and\s+(?P<second>(?-i:[a-h]))-?\s?pawns?{IS}(?:connected|joined)\b",
        read_joined_files,
    ),
    form(
        rf"(?<!not\s)\ball\s+(?:of\s+)?{SIDE}'s\s+(?:\w+\s+)?pawns{IS}on\s+(?P<shade>light|dark)(?:-colou?red)?\s+squares",
        read_shade,
        sure=True,
    ),
    form(
        rf"\b(?:(?:the|white's|black's)\s+)?pawns\s+on\s+(?P<at>{SQUARE})\s+and\s+(?P<two>{SQUARE}){IS}(?:connected|joined)\b",
        read_joined,
    ),
)

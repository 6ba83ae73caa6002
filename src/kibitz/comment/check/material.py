"""What is said of material, of kinds of endings and of openings.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import chess

from kibitz.comment.check import judgements
from kibitz.comment.check.forms import IS, NOT, Form, form
from kibitz.comment.check.judgements import difference
from kibitz.comment.check.readers import KIND, NUMBERS, SIDE, Hit, Made, kind_named, side_of
from kibitz.comment.check.statements import TITLES, Statement, View, names_of
from kibitz.comment.claims.claim import MINOR
from kibitz.comment.openings import opening_of

# --- material -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Against(Statement):
    """A side has so many more of one kind for so many fewer of another."""

    white: bool
    more: tuple[str, int]
    fewer: tuple[str, int]
    only: bool = False  # it says so

    def true_in(self, at: View) -> bool | None:
        """False where it has less of the one, or no fewer of the other."""
        up = self._difference(at.board, self.more[0])
        down = -self._difference(at.board, self.fewer[0])
        if up == self.more[1] and down == self.fewer[1]:
            return True
        more = self.only and up > self.more[1]
        return False if up < self.more[1] or down <= 0 or more else None

    def _difference(self, board: chess.Board, what: str) -> int:
        if what == "exchange":  # a rook, for a minor piece
            what = "rook" if difference(board, self.white, MINOR) else "piece"
        return difference(board, self.white, MINOR if what == "piece" else (kind_named(what),))

    def shown(self, at: View) -> str:
        """What the differences are."""
        names = [self.more[0], self.fewer[0]]
        told = ", ".join(f"{name}s: {self._difference(at.board, name):+d}" for name in names)
        return f"{TITLES[self.white]} has {told}"


def read_against(hit: Hit) -> Made:
    """That a side is up or down something for something else."""
    side, groups = side_of(hit.match["side"]), hit.match.groupdict()
    counts = [NUMBERS.get(groups[name].lower()) for name in ("count", "count_of")]
    if side is None or not all(counts):
        return
    one, two = (
        (groups[name].lower().rstrip("s"), count or 1)
        for name, count in zip(("what", "what_of"), counts, strict=True)
    )
    behind = (groups.get("way") or "").lower() == "down"
    yield Against(side != behind, one, two, only=bool(groups.get("only"))), True


ITEM = rf"(?:an?|one|two|three|four|five|six|seven|eight)\s+(?:{KIND})s?"
THEIRS = rf"(?:(?:an?|the|one|two|three|four)\s+)?(?:(?:lone|single|sole)\s+)?(?:{KIND})s?"
_ITEM = re.compile(
    rf"(?:\b(?P<count>an?|the|one|two|three|four|five|six|seven|eight)\s+)?(?:(?:lone|single|sole)\s+)?"
    rf"\b(?P<kind>{KIND})s?",
    re.IGNORECASE,
)
NUMBERS_OF = NUMBERS | {"seven": 7, "eight": 8}


def read_list(hit: Hit) -> Made:
    """That a side, or each, has certain numbers of pieces."""
    side, groups = side_of(hit.match.groupdict().get("side")), hit.match.groupdict()
    for name in ("list", "theirs"):
        for item in _ITEM.finditer(groups.get(name) or ""):
            for white in (True, False) if side is None else (side == (name == "list"),):
                count = NUMBERS_OF[(item["count"] or "a").lower()]
                yield judgements.Counts(white, kind_named(item["kind"]), count), True
    if groups.get("pawns") and side is not None:
        count = NUMBERS_OF[groups["pawns"].lower()]
        yield judgements.Counts(not side, chess.PAWN, count), True


@dataclass(frozen=True)
class Queens(Statement):
    """The queens are on the board."""

    def true_in(self, at: View) -> bool | None:
        """None where one side has one."""
        queens = [len(at.board.pieces(chess.QUEEN, white)) for white in (True, False)]
        return True if all(queens) else None if any(queens) else False

    def shown(self, at: View) -> str:
        """Where they are."""
        return f"queens on {names_of(at.board.queens)}" if at.board.queens else "there is no queen"


def read_queens(hit: Hit) -> Made:
    """That the queens are on the board, or off it."""
    yield Queens(), not hit.match.groupdict().get("off")


@dataclass(frozen=True)
class OnlyKinds(Statement):
    """Besides the kings only pieces of some kinds are on the board, and of each there are some."""

    kinds: tuple[int, ...]

    def true_in(self, at: View) -> bool | None:
        """The board shows it."""
        there = {piece.piece_type for piece in at.board.piece_map().values()} - {chess.KING}
        return there == {*self.kinds}

    def shown(self, at: View) -> str:
        """What there is."""
        there = {piece.piece_type for piece in at.board.piece_map().values()} - {chess.KING}
        return f"there are {', '.join(f'{chess.PIECE_NAMES[kind]}s' for kind in sorted(there))}"


def read_only_kinds(hit: Hit) -> Made:
    """That only pieces of some kinds are left."""
    kinds = {kind_named(item["kind"]) for item in _ITEM.finditer(hit.match["list"])}
    if hit.match["minor"]:
        return
    yield OnlyKinds(tuple(sorted(kinds - {chess.KING}))), True


@dataclass(frozen=True)
class Lacks(Statement):
    """A side has nothing of a kind."""

    white: bool
    kind: int
    file: int | None = None

    def _mask(self, board: chess.Board) -> chess.Bitboard:
        files = chess.BB_ALL if self.file is None else chess.BB_FILES[self.file]
        return board.pieces_mask(self.kind, self.white) & files

    def true_in(self, at: View) -> bool | None:
        """The board shows it."""
        return not self._mask(at.board)

    def shown(self, at: View) -> str:
        """Where they are."""
        names = names_of(self._mask(at.board))
        kind = chess.PIECE_NAMES[self.kind]
        return f"{TITLES[self.white]} has a {kind} on {names}" if names else f"there is no {kind}"


def read_lacks(hit: Hit) -> Made:
    """That a side has no piece of a kind."""
    side, file = side_of(hit.match.groupdict().get("side")), hit.match["file"]
    if file is None or hit.match["kind"].lower() == "pawn":
        number = None if file is None else chess.FILE_NAMES.index(file)
        for white in (True, False) if side is None else (side,):
            yield Lacks(white, kind_named(hit.match["kind"]), number), True


@dataclass(frozen=True)
class Ending(Statement):
    """Besides kings and pawns only pieces of one kind, or none, are on the board."""

    kind: int | None

    def true_in(self, at: View) -> bool | None:
        """Both sides have some of the kind."""
        board = at.board
        pieces = board.occupied & ~board.kings & ~board.pawns
        if self.kind is None:
            return not pieces
        if pieces & ~sum(board.pieces_mask(self.kind, white) for white in (True, False)):
            return False
        return all(board.pieces(self.kind, white) for white in (True, False))

    def shown(self, at: View) -> str:
        """Which pieces there are."""
        pieces = at.board.occupied & ~at.board.kings & ~at.board.pawns
        return f"pieces on {names_of(pieces)}" if pieces else "there are only kings and pawns"


def read_ending(hit: Hit) -> Made:
    """That it is an ending of pawns, or of pieces of one kind."""
    kind = kind_named(hit.match["kind"])
    yield Ending(None if kind in (chess.PAWN, chess.KING) else kind), not hit.match["no"]


# --- openings -------------------------------------------------------------------------------------


# A pawn that has left its square where an opening is on the board, one of each group.
_OPENINGS = {
    "alekhine": ("e2",),
    "benoni": ("d2", "c7"),
    "bird": ("f2",),
    "caro-kann": ("e2", "c7"),
    "catalan": ("d2", "c2", "g2"),
    "dutch": ("f7",),
    "english opening": ("c2",),
    "evans gambit": ("e2", "e7", "b2"),
    "french": ("e2", "e7"),
    "grünfeld": ("d2", "g7", "d7"),
    "italian": ("e2", "e7"),
    "king's gambit": ("e2", "e7", "f2"),
    "king's indian defense": ("d2", "g7"),
    "london": ("d2",),
    "nimzo-indian": ("d2", "c2", "e7"),
    "petrov": ("e2", "e7"),
    "philidor": ("e2", "e7", "d7"),
    "pirc": ("e2", "d7", "g7"),
    "queen's gambit": ("d2", "c2", "d7"),
    "ruy lopez": ("e2", "e7"),
    "scandinavian": ("e2", "d7"),
    "scotch": ("e2", "e7", "d2"),
    "sicilian": ("e2", "c7"),
    "slav": ("d2", "c2", "d7", "c7"),
    "vienna": ("e2", "e7"),
}
_SAME = {"spanish": "ruy lopez", "russian": "petrov", "petroff": "petrov", "gruenfeld": "grünfeld"}
_SAME |= {
    "grunfeld": "grünfeld",
    "giuoco piano": "italian",
    "king's indian": "king's indian defense",
}


@dataclass(frozen=True)
class OpeningIs(Statement):
    """A position comes from an opening."""

    name: str

    def true_in(self, at: View) -> bool | None:
        """True where the list calls it so; false where a pawn of it has not moved yet."""
        known = opening_of(at.board)
        if known is not None and self.name in known.name.lower().replace("defence", "defense"):
            return True
        return False if self._unmoved(at.board) else None

    def _unmoved(self, board: chess.Board) -> list[str]:
        homes = _OPENINGS.get(self.name, ())
        return [
            name
            for name in homes
            if board.piece_at(chess.parse_square(name)) == chess.Piece(chess.PAWN, name[1] == "2")
        ]

    def shown(self, at: View) -> str:
        """The pawn that would have moved, or the name."""
        unmoved = self._unmoved(at.board)
        return f"the pawn on {unmoved[0]} has not moved" if unmoved else self.name


_NAMES = "|".join(sorted([*_OPENINGS, *_SAME], key=len, reverse=True))


def read_opening(hit: Hit) -> Made:
    """That a position is from an opening."""
    name = hit.match["name"].lower()
    yield OpeningIs(_SAME.get(name, name)), True


# --- forms ----------------------------------------------------------------------------------------


MORE = r"(?P<count>an?|one|two|three|four)"
UP = r"(?P<what>pawn|piece|knight|bishop|rook|queen)s?"
DOWN = (
    r"(?P<count_of>an?|the|one|two|three|four)\s+"
    r"(?P<what_of>pawn|piece|knight|bishop|rook|queen|exchange)s?"
)
FORMS: tuple[Form, ...] = (
    form(
        rf"\b{SIDE}{IS}(?P<way>up|down)\s+{MORE}\s+(?:full\s+|whole\s+)?{UP}\s+for\s+(?:only\s+|just\s+)?{DOWN}\b",
        read_against,
    ),
    form(
        rf"\b{SIDE}{IS}{MORE}\s+{UP}\s+(?P<way>up|down)\s+for\s+(?P<only>only\s+|just\s+)?{DOWN}\b",
        read_against,
    ),
    form(
        rf"\b{SIDE}\s+has\s+(?:now\s+|got\s+)?(?P<only>only\s+|just\s+)?{MORE}\s+{UP}\s+for\s+(?:only\s+|just\s+)?{DOWN}\b(?!\s+(?:on|at))",
        read_against,
    ),
    form(
        rf"(?:^|,\s+(?:and\s+|with\s+)?|\bbut\s+)(?:{SIDE}|(?:both|each)\s+(?:sides?|players?))\s+"
        rf"(?:still\s+|now\s+)?(?:has|have|having)\s+(?:only\s+)?(?P<list>{ITEM}(?:(?:,\s+|,?\s+and\s+){ITEM}){{0,5}})"
        rf"(?:\s+(?:against|versus)\s+(?P<theirs>{THEIRS}(?:(?:,\s+|,?\s+and\s+){THEIRS}){{0,3}}))?"
        r"(?=\s*[.,;]|\s+each\b|\s+left\b|\s+remaining\b|$)",
        read_list,
        sure=True,
    ),
    form(
        rf"^(?:{SIDE})\s+(?:still\s+|now\s+)?has\s+(?P<list>(?:two|three|four|five|six|seven|eight)\s+pawns)\s+(?:against|to|versus)\s+"
        r"(?P<pawns>one|two|three|four|five|six|seven|eight)(?=\s*[.,;]|$)",
        read_list,
        sure=True,
    ),
    form(
        r"^(?:there\s+are\s+)?only\s+(?:the\s+)?(?P<list>(?:kings|(?P<minor>minor\s+pieces)|(?:queen|rook|bishop|knight|pawn)s)(?:(?:,\s+|,?\s+and\s+)(?:queen|rook|bishop|knight|pawn)s){0,4})"
        r"\s+(?:are\s+|remain\b)?(?:left|on\s+the\s+board)?(?=\s*[.,;]|\s+(?:on\s+the\s+board|now)\b|$)",
        read_only_kinds,
        sure=True,
    ),
    form(
        r"\b(?:the\s+)?queens\s+(?:are\s+(?:still\s+on|(?P<off>off|no\s+longer\s+on))\s+the\s+board)",
        read_queens,
    ),
    form(
        r"\b(?:the\s+)?queens\s+(?P<off>(?:are|have\s+been)\s+(?:already\s+)?(?:exchanged|traded|swapped)(?:\s+off)?|are\s+off)"
        r"(?=\s*[.,;]|\s+and\b|$)",
        read_queens,
    ),
    form(
        rf"\b{SIDE}\s+(?:now\s+)?has\s+no\s+(?:more\s+)?(?:(?P<file>(?-i:[a-h]))-)?(?P<kind>pawn|knight|bishop|rook|queen)s?"
        r"(?:\s+(?:left|any\s+more|anymore))?(?=\s*[.,;]|\s+and\b|$)",
        read_lacks,
    ),
    form(
        r"^neither\s+side\s+has\s+(?:an?\s+|any\s+)?(?:(?P<file>(?-i:[a-h]))-)?(?P<kind>pawn|knight|bishop|rook|queen)s?"
        r"(?:\s+(?:left|any\s+more|anymore))?(?=\s*[.,;]|\s+and\b|$)",
        read_lacks,
        sure=True,
    ),
    form(
        rf"(?:\b(?:this|it|white|black|we|the\s+position)\s+)?\b(?:is|have|has)\s+{NOT}a\s+(?:(?:simple|pure|winning|drawn|theoretical|basic)\s+)*(?:king[-\s]and[-\s])?"
        r"(?P<kind>pawn|rook|queen|knight|bishop)(?:[-\s]and[-\s]pawns?)?\s+(?:endgame|ending)\b",
        read_ending,
    ),
    form(
        r"^(?:this|it|the\s+(?:position|opening))\s+(?:(?:position|opening|structure)\s+)?"
        r"(?:is|comes\s+from|arises\s+from|arose\s+from|stems\s+from|results\s+from)\s+"
        r"(?:an?\s+|the\s+)?(?:typical\s+|classical\s+|standard\s+|position\s+(?:from|in|of)\s+(?:an?\s+|the\s+)?)?"
        rf"(?P<name>{_NAMES})\b(?!\s*-)(?:\s+(?:game|opening|defen[cs]e)\b)?",
        read_opening,
        sure=True,
    ),
)

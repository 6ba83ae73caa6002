"""What is said of castling, and of kings that have not castled.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import chess

from kibitz.comment.check.forms import IS, NOT, Form, form
from kibitz.comment.check.readers import SIDE, Hit, Made, side_of
from kibitz.comment.check.statements import TITLES, Statement, View, turned

Wing: TypeAlias = Literal["king", "queen"]


def may_castle(board: chess.Board, white: bool, wing: Wing | None) -> bool:
    """Whether a side has the right to castle, on a wing or at all."""
    if wing is None:
        return board.has_castling_rights(white)
    short = wing == "king"
    has = board.has_kingside_castling_rights if short else board.has_queenside_castling_rights
    return has(white)


@dataclass(frozen=True)
class Castling(Statement):
    """A side may still castle, or has done so."""

    white: bool
    done: bool
    wing: Wing | None = None

    def true_in(self, at: View) -> bool | None:
        """By the rights; that it is done, by where the king stands."""
        rights, king = at.board.has_castling_rights(self.white), at.board.king(self.white)
        if not self.done:
            return may_castle(at.board, self.white, self.wing)
        home = 0 if self.white else 7
        if king is None or king >> 3 != home:
            return False if rights else None
        if rights or king & 7 in (3, 4):
            return False
        if self.wing is not None and (king & 7 > 4) != (self.wing == "king"):
            return False
        return True if king & 7 in (1, 2, 6) else None

    def shown(self, at: View) -> str:
        """What the rights and the king are."""
        rights = at.board.has_castling_rights(self.white)
        king = chess.square_name(at.board.king(self.white) or 0)
        can = "may castle" if rights else "may not castle any more"
        return f"{TITLES[self.white]} {can}, the king is on {king}"


@dataclass(frozen=True)
class CanCastle(Statement):
    """A side could castle if it were its turn."""

    white: bool
    wing: Wing | None = None
    at_once: bool = False  # it says so

    def true_in(self, at: View) -> bool | None:
        """None where it has the right and cannot at once: some mean the one, some the other."""
        if not may_castle(at.board, self.white, self.wing):
            return False
        there = turned(at.board, self.white)
        wings = {
            "king" if there.is_kingside_castling(move) else "queen"
            for move in ([] if there is None else there.generate_castling_moves())
            if there is not None
        }
        if wings if self.wing is None else self.wing in wings:
            return True
        return False if self.at_once and there is not None else None

    def shown(self, at: View) -> str:
        """That there is no right to, or that it is legal."""
        where = f" on the {self.wing}'s side" if self.wing else ""
        if at.positive and may_castle(at.board, self.white, self.wing):
            return f"{TITLES[self.white]} cannot castle{where} at once"
        can = "may not castle" if at.positive else "can castle"
        return f"{TITLES[self.white]} {can}{where}{' any more' * at.positive}"


@dataclass(frozen=True)
class InCentre(Statement):
    """A king has not left the centre, or is stuck there."""

    white: bool
    stuck: bool = False

    def true_in(self, at: View) -> bool | None:
        """By its file; None on those between, and where one that is stuck may yet castle."""
        king = at.board.king(self.white)
        if king is None:
            return None
        if self.stuck and may_castle(at.board, self.white, None):
            return False if CanCastle(self.white).true_in(at) else None
        return True if king & 7 in (3, 4) else False if king & 7 in (0, 1, 6, 7) else None

    def shown(self, at: View) -> str:
        """Where it is."""
        can = self.stuck and may_castle(at.board, self.white, None)
        where = chess.square_name(at.board.king(self.white) or 0)
        return f"the king is on {where}{' and may castle' if can else ''}"


def read_in_centre(hit: Hit) -> Made:
    """That a side's king is in the centre."""
    side = side_of(hit.match["side"])
    stuck = bool(hit.match["stuck"])
    for white in (True, False) if side is None else (side,):
        yield InCentre(white, stuck), not hit.match["no"]


# --- readers --------------------------------------------------------------------------------------


def read_castling(hit: Hit) -> Made:
    """That a side has castled, or may."""
    side = side_of(hit.match["side"])
    assert side is not None
    word = hit.match["word"].lower()
    yield Castling(side, done=word == "castled", wing=_wing(hit)), not hit.match["no"]


def _wing(hit: Hit) -> Wing | None:
    groups = hit.match.groupdict()
    return "king" if groups.get("short") else "queen" if groups.get("long") else None


def read_castling_now(hit: Hit) -> Made:
    """That a side can castle, or cannot."""
    side = side_of(hit.match["side"])
    assert side is not None
    at_once = bool(hit.match.groupdict().get("at_once"))
    yield CanCastle(side, _wing(hit), at_once), not hit.match["no"]


def read_castling_of_both(hit: Hit) -> Made:
    """That both sides have castled, or neither has."""
    for side in (True, False):
        yield Castling(side, done=True, wing=_wing(hit)), not hit.match["no"]


def read_castled_too(hit: Hit) -> Made:
    """That a side has done so, or not, behind words on the other side's castling."""
    side, before = side_of(hit.match["side"]), hit.match.string[: hit.match.start()]
    if side is not None and "castled" in before:
        yield Castling(side, done=True), not hit.match["no"]


def read_castling_both_ways(hit: Hit) -> Made:
    """That a side may castle on either side of the board."""
    side = side_of(hit.match["side"])
    wings: tuple[Wing, ...] = ("king", "queen")
    for wing in wings:
        if side is not None and hit.match["at_once"]:
            yield CanCastle(side, wing, at_once=True), True
        elif side is not None:
            yield Castling(side, done=False, wing=wing), True


# --- forms ----------------------------------------------------------------------------------------


WING = (
    r"(?:\s+(?:on\s+the\s+)?(?:(?P<short>king-?side|short)|(?P<long>queen-?side|long))(?![\w-]))?"
)
FORMS: tuple[Form, ...] = (
    form(
        rf"\b{SIDE}(?:'s\s+king)?\s+has(?P<no>\s+not|n't)?\s+(?:already\s+|yet\s+|safely\s+)?(?P<word>castled)\b{WING}",
        read_castling,
    ),
    form(
        r"^both\s+(?:sides|players|kings)\s+have(?P<no>\s+not)?\s+(?:already\s+|now\s+|safely\s+|yet\s+)?"
        rf"castled{WING}(?=\s*[.,;!]|\s+yet\b|\s+and\b|$)",
        read_castling_of_both,
        sure=True,
    ),
    form(
        r"^(?P<no>neither\s+(?:side|player|king)\s+has)\s+(?:yet\s+)?"
        rf"castled{WING}(?=\s*[.,;!]|\s+yet\b|\s+and\b|$)",
        read_castling_of_both,
        sure=True,
    ),
    form(
        rf"\b(?:while|whereas|but)\s+{SIDE}\s+has(?P<no>\s+not|n't)?(?:\s+(?:already\s+)?done\s+so)?(?:\s+yet)?(?=\s*[.!,;]|$)",
        read_castled_too,
    ),
    form(
        rf"^{SIDE}\s+can(?:\s+still)?\s+castle\s+(?:on|to)\s+(?:either\s+side|both\s+sides)"
        r"(?P<at_once>\s+(?:right\s+away|immediately|at\s+once|right\s+now))?(?=\s*[.!,]|$)",
        read_castling_both_ways,
        sure=True,
    ),
    form(
        rf"\b{SIDE}\s+(?:can\s+still|may\s+still|(?:still\s+)?has\s+the\s+(?:right|option)\s+to"
        r"|(?P<no>can\s+no\s+longer|has\s+(?:already\s+)?lost\s+(?:the|his|its|their|her)\s+(?:right|ability)\s+to))"
        rf"\s+(?P<word>castle)\b{WING}",
        read_castling,
    ),
    form(
        rf"\b{SIDE}(?:'s\s+king)?\s+can(?P<no>not|'t)?\s+(?P<now>castle)\b{WING}"
        rf"(?P<at_once>\s+(?:right\s+away|immediately|at\s+once|right\s+now))?(?!\s+(?:on|to|because|due|as|since|into|with))",
        read_castling_now,
    ),
    form(
        rf"(?:\b{SIDE}(?:'s)?\s+king|^both\s+kings){IS}{NOT}(?:still\s+)?(?P<stuck>stuck\s+|caught\s+)?in\s+the\s+cent(?:er|re)\b",
        read_in_centre,
    ),
)

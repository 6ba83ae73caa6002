"""What is said of kings and of endings: castling, shelter, opposition, races with passed pawns.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import chess

from kibitz.comment.check.forms import IS, NOT, Form, form
from kibitz.comment.check.readers import (
    NUMBERS,
    SIDE,
    SQUARE,
    Hit,
    Made,
    piece,
    side_of,
    spoken,
    thing,
)
from kibitz.comment.check.statements import TITLES, Statement, Thing, View, names_of, turned
from kibitz.comment.facts import ahead, files_beside, is_passed

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


@dataclass(frozen=True)
class HasLuft(Statement):
    """A king on its first rank has a square to go to on the next one."""

    white: bool

    def true_in(self, at: View) -> bool | None:
        """None of a king elsewhere, and where its squares are free and attacked."""
        king, home = at.board.king(self.white), 0 if self.white else 7
        if king is None or king >> 3 != home:
            return None
        ahead_of = chess.BB_KING_ATTACKS[king] & ~chess.BB_RANKS[home]
        free = chess.SquareSet(ahead_of & ~at.board.occupied_co[self.white])
        if not free:
            return False
        safe = any(not at.board.is_attacked_by(not self.white, square) for square in free)
        return True if safe else None

    def shown(self, at: View) -> str:
        """Where it stands."""
        where = chess.square_name(at.board.king(self.white) or 0)
        return f"the king on {where} {'has no square' if at.positive else 'has a square'} to go to"


def read_luft(hit: Hit) -> Made:
    """That a king has a way off the back rank, or none."""
    groups = hit.match.groupdict()
    side, no = side_of(groups.get("side")), bool(groups.get("no") or groups.get("neither"))
    for white in (True, False) if side is None else (side,):
        yield HasLuft(white), not no


@dataclass(frozen=True)
class Sheltered(Statement):
    """A pawn of its side stands before a king, on its file or one beside."""

    white: bool

    def true_in(self, at: View) -> bool | None:
        """None of pawns further up."""
        king = at.board.king(self.white)
        if king is None:
            return None
        pawns = at.board.pieces_mask(chess.PAWN, self.white)
        near = pawns & ahead(king, self.white, (*files_beside(king), king & 7))
        if chess.BB_KING_ATTACKS[king] & near:
            return True
        return None if near else False

    def shown(self, at: View) -> str:
        """Where the king is."""
        where = chess.square_name(at.board.king(self.white) or 0)
        return f"the king on {where} has {'no pawn' if at.positive else 'a pawn'} before it"


def read_sheltered(hit: Hit) -> Made:
    """That a king has no pawns before it."""
    side = side_of(hit.match["side"])
    if side is not None:
        yield Sheltered(side), False


# --- endings --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opposition(Statement):
    """A side has the opposition: the kings stand opposed, and the other side has to move."""

    white: bool

    def true_in(self, at: View) -> bool | None:
        """False where the kings are not opposed, or it is the side's own turn."""
        kings = [at.board.king(side) for side in (True, False)]
        if None in kings or not is_opposed(*(king or 0 for king in kings)):
            return False
        return at.board.turn != self.white

    def shown(self, at: View) -> str:
        """Where the kings are, and whose turn it is."""
        return f"kings on {names_of(at.board.kings)}, {TITLES[at.board.turn]} to move"


def is_opposed(one: int, two: int) -> bool:
    """Whether two kings stand in opposition: near, distant or diagonal."""
    across, along = abs((one & 7) - (two & 7)), abs((one >> 3) - (two >> 3))
    return across % 2 == along % 2 == 0 and (across == along or 0 in (across, along))


def read_opposition(hit: Hit) -> Made:
    """That a side has the opposition."""
    side = side_of(hit.match["side"])
    if side is not None:
        yield Opposition(side), True


@dataclass(frozen=True)
class InSquare(Statement):
    """A king catches a passed pawn that runs."""

    king: bool  # whose
    pawn: Thing

    def true_in(self, at: View) -> bool | None:
        """By counting, of a pawn that nothing stands before; else it is open."""
        king, answers = at.board.king(self.king), set[bool]()
        for pawn in self.pawn.on(at.board):
            white = bool(at.board.color_at(pawn))
            way = ahead(pawn, white, (pawn & 7,))
            if king is None or white == self.king or way & at.board.occupied:
                continue
            goal = chess.square(pawn & 7, 7 if white else 0)
            steps = min(chess.square_distance(pawn, goal), 5)
            answers.add(chess.square_distance(king, goal) <= steps + (at.board.turn == self.king))
        return answers.pop() if len(answers) == 1 else None

    def shown(self, at: View) -> str:
        """Where the king is."""
        where = chess.square_name(at.board.king(self.king) or 0)
        return f"the king is on {where}, {TITLES[at.board.turn]} to move"


def read_in_square(hit: Hit) -> Made:
    """That a king is in the square of a pawn, or outside it."""
    side, pawn = side_of(hit.match["side"]), thing(hit.match, "one", loose=True)
    if side is not None and pawn is not None and pawn.kind == chess.PAWN:
        inside = hit.match["where"].lower() in ("inside", "in", "within")
        pawn = replace(pawn, white=not side)
        yield InSquare(side, pawn), inside != bool(hit.match["no"])


@dataclass(frozen=True)
class BehindPassed(Statement):
    """A rook stands behind a passed pawn."""

    rook: Thing

    def true_in(self, at: View) -> bool | None:
        """Of any passed pawn; None where something is between."""
        board, answers = at.board, set[bool | None]()
        for pawn in chess.scan_forward(board.pawns):
            white = bool(board.color_at(pawn))
            if not is_passed(board, pawn, white):
                continue
            for rook in self.rook.on(board):
                behind = rook & 7 == pawn & 7 and ((rook < pawn) == white)
                clear = not chess.between(rook, pawn) & board.occupied
                answers.add((True if clear else None) if behind else False)
        return True if True in answers else None if None in answers else False if answers else None

    def shown(self, at: View) -> str:
        """Where it is."""
        names = names_of(sum(chess.BB_SQUARES[square] for square in self.rook.on(at.board)))
        return f"the {self.rook} is on {names}"


def read_behind(hit: Hit) -> Made:
    """That a rook is behind the passed pawn."""
    named = spoken(hit, "p")
    if named is not None and named.kind in (chess.ROOK, chess.QUEEN):
        yield BehindPassed(named), not hit.match["no"]


@dataclass(frozen=True)
class StepsAway(Statement):
    """A pawn has so many steps to go."""

    pawn: Thing
    steps: int

    def true_in(self, at: View) -> bool | None:
        """Of one of those that it can be."""
        return any(self._to_go(at.board, pawn) == self.steps for pawn in self.pawn.on(at.board))

    @staticmethod
    def _to_go(board: chess.Board, pawn: int) -> int:
        return 7 - (pawn >> 3) if board.color_at(pawn) else pawn >> 3

    def shown(self, at: View) -> str:
        """Where it is."""
        names = names_of(sum(chess.BB_SQUARES[pawn] for pawn in self.pawn.on(at.board)))
        return f"the {self.pawn} is on {names}" if names else f"there is no {self.pawn}"


def read_steps(hit: Hit) -> Made:
    """That a pawn is so many steps from its last rank."""
    named, count = spoken(hit, "p"), NUMBERS.get(hit.match["count"].lower())
    if named is not None and named.kind == chess.PAWN and count:
        yield StepsAway(named, count), True


# --- readers of castling --------------------------------------------------------------------------


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


@dataclass(frozen=True)
class CastledApart(Statement):
    """The kings have castled to different wings."""

    def true_in(self, at: View) -> bool | None:
        """By where they stand; None where that does not tell."""
        wings: tuple[tuple[Wing, Wing], ...] = (("king", "queen"), ("queen", "king"))
        answers = [
            (Castling(True, True, white).true_in(at), Castling(False, True, black).true_in(at))
            for white, black in wings
        ]
        if (True, True) in answers:
            return True
        return False if all(False in pair for pair in answers) else None

    def shown(self, at: View) -> str:
        """Where the kings are."""
        return f"kings on {names_of(at.board.kings)}"


def read_castled_apart(_: Hit) -> Made:
    """That the kings have castled on opposite sides."""
    yield CastledApart(), True


def read_right_of_both(hit: Hit) -> Made:
    """That both sides may still castle."""
    for side in (True, False):
        yield Castling(side, done=False, wing=_wing(hit)), True


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
    form(
        r"^(?:the|both)\s+(?:kings|sides|players)\s+(?:have|are)\s+castled\s+on\s+opposite\s+(?:sides|wings)(?=\s*[.,;!]|\s+and\b|$)",
        read_castled_apart,
        sure=True,
    ),
    form(
        rf"^both\s+(?:sides|players)\s+(?:can|may)\s+still\s+castle{WING}(?=\s*[.,;!]|\s+and\b|$)",
        read_right_of_both,
        sure=True,
    ),
    form(
        rf"^(?:{SIDE}(?:'s\s+king)?\s+has\s+(?P<no>no\s+)?|(?P<neither>neither\s+(?:king|side)\s+has\s+(?:any\s+)?))luft(?=\s*[.,;!]|\s+and\b|$)",
        read_luft,
        sure=True,
    ),
    form(
        rf"\b{SIDE}'s\s+king\s+has\s+no\s+pawns?\s+(?:in\s+front\s+of|before)\s+(?:it|him)\b",
        read_sheltered,
    ),
    form(rf"\b{SIDE}\s+has\s+(?:now\s+)?(?:the|taken\s+the)\s+opposition\b", read_opposition),
    form(
        rf"\b{SIDE}(?:'s)?\s+king{IS}{NOT}(?P<where>inside|in|within|outside(?:\s+of)?|out\s+of)\s+the\s+square\s+of\s+{piece('one')}",
        read_in_square,
    ),
    form(
        rf"\b{piece('p')}{IS}{NOT}(?:placed\s+|right\s+|well\s+placed\s+)?behind\s+(?:the|its|his|her|(?:white|black)'s)\s+(?:(?:white|black)\s+)?"
        rf"(?:(?-i:[a-h])-)?(?:passed\s+pawn|passer)\b(?:\s+on\s+{SQUARE})?",
        read_behind,
    ),
    form(
        rf"\b{piece('p')}{IS}(?:only\s+|just\s+)?(?P<count>a|one|two|three)\s+(?:steps?|squares?|moves?)\s+(?:away\s+)?from\s+"
        r"(?:promotion|promoting|queening|becoming\s+a\s+queen)\b",
        read_steps,
        sure=True,
    ),
)

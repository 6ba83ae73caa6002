"""What is said of moves: which is best, what one does, what can be taken.

patterns -> readers -> statements, as in `forms`, `readers` and `statements`.
"""

from __future__ import annotations

from dataclasses import dataclass

import chess

from kibitz.comment.check.forms import FILE, SAN, Form, form
from kibitz.comment.check.judgements import score_text
from kibitz.comment.check.readers import (
    KIND,
    NUMBERS,
    SIDE,
    Hit,
    Made,
    kind_named,
    side_of,
)
from kibitz.comment.check.statements import TITLES, Possible, Statement, View, parsed, turned
from kibitz.comment.facts import captured_by, is_half_open, is_open, played
from kibitz.comment.force import gain
from kibitz.comment.judge import BETTER

EQUAL = 0.02  # chances by which a move may be behind the best and be called the best
BEHIND = 0.15  # from which it is not
SMALL = 0.03  # up to which it is no mistake


@dataclass(frozen=True)
class Judged(Statement):
    """A move is the best, a good one, a mistake or a blunder, by a search.

    Without a notation it is the one that has been made.
    """

    word: str
    san: str = ""

    def true_in(self, at: View) -> bool | None:
        """By the chances that it costs; only what is clear is true or false."""
        start, move = self._move(at)
        if start is None or move is None or at.look is None:
            return None
        had, after = at.look(start), played(start, move)
        if had.line[:1] == (move,):
            return self.word in ("best", "good")
        value = (
            1.0
            if after.is_checkmate()
            else -at.look(after).value
            if any(after.legal_moves)
            else 0.0
        )
        loss = had.value - value
        if self.word == "best":
            return True if loss <= EQUAL else False if loss >= BEHIND else None
        if self.word == "good":
            return True if loss <= 2 * EQUAL else False if loss >= BETTER else None
        least = 0.3 if self.word == "blunder" else BEHIND
        return True if loss >= least else False if loss <= SMALL else None

    def _move(self, at: View) -> tuple[chess.Board | None, chess.Move | None]:
        if self.san:
            return at.board, parsed(at.board, self.san)
        return at.before, at.move

    def shown(self, at: View) -> str:
        """The best line, and the move's."""
        start, move = self._move(at)
        if start is None or move is None or at.look is None:
            return ""
        best = score_text(start, at.look(start))
        after = played(start, move)
        own = f", behind {start.san(move)} {score_text(after, at.look(after))}"
        return f"the search says {best}{own if any(after.legal_moves) else ''}"


_BAD = {"blunder": "blunder", "mistake": "mistake", "error": "mistake", "bad": "mistake"}
_BAD |= {"weak": "mistake", "terrible": "mistake", "losing": "mistake"}


def read_best(hit: Hit) -> Made:
    """That a move is the best, or should be made; it has to be legal, too."""
    side = side_of(hit.match.groupdict().get("side"))
    yield Possible(hit.match["san"].rstrip("#+!"), side), True
    yield Judged("best" if hit.match.groupdict().get("best") else "good", hit.match["san"]), True


def read_judged(hit: Hit) -> Made:
    """That a move is good or bad."""
    groups = hit.match.groupdict()
    word, san = (groups["how"] or groups["how_bad"]).lower(), groups.get("san") or ""
    if san:
        yield Possible(san.rstrip("#+!"), None), True
    elif hit.context.mover is None:
        return
    if not groups.get("no"):  # others may be as good
        yield Judged(_BAD.get(word, "best" if word == "best" else "good"), san), True


@dataclass(frozen=True)
class OnlyMove(Statement):
    """A move is the only legal one."""

    san: str

    def true_in(self, at: View) -> bool | None:
        """The rules tell."""
        move = parsed(at.board, self.san)
        return move is not None and at.board.legal_moves.count() == 1

    def shown(self, at: View) -> str:
        """What else is legal."""
        return f"legal: {', '.join(at.board.san(move) for move in at.board.legal_moves)}"


def read_only_move(hit: Hit) -> Made:
    """That a move is the only legal one."""
    yield OnlyMove(hit.match["san"]), True


@dataclass(frozen=True)
class OnlyMoves(Statement):
    """The side to move has so many legal moves."""

    count: int

    def true_in(self, at: View) -> bool | None:
        """They are counted."""
        return at.board.legal_moves.count() == self.count

    def shown(self, at: View) -> str:
        """Some of them."""
        names = [at.board.san(move) for move in at.board.legal_moves]
        return f"{len(names)} legal moves: {', '.join(names[:4])}"


def read_few_moves(hit: Hit) -> Made:
    """That there are so many legal moves."""
    count = NUMBERS.get(hit.match["count"].lower())
    if count:
        yield OnlyMoves(count), True


@dataclass(frozen=True)
class OnlyGood(Statement):
    """The move that has been made was the only one, or the only good one."""

    def true_in(self, at: View) -> bool | None:
        """By how far the second best is behind; in a lost position people mean other things."""
        if at.before is None or at.move is None or at.look is None:
            return None
        if at.before.legal_moves.count() == 1:
            return True
        had = at.look(at.before)
        if had.second is None or had.line[:1] != (at.move,):
            return None
        behind = had.value - had.second
        if behind >= BEHIND:
            return True
        return False if behind <= EQUAL and abs(had.value) < BETTER else None

    def shown(self, at: View) -> str:
        """What is as good."""
        if at.before is None or at.look is None:
            return ""
        had = at.look(at.before)
        other = had.other
        return f"as good: {score_text(at.before, other)}" if other else "it is"


def read_only(hit: Hit) -> Made:
    """That the move was the only one."""
    if hit.context.mover is not None:
        yield OnlyGood(), True


# --- what the move has done -----------------------------------------------------------------------


@dataclass(frozen=True)
class Captures(Statement):
    """The move that has been made captures a piece of a kind."""

    kind: int

    def true_in(self, at: View) -> bool | None:
        """The board shows it."""
        if at.before is None or at.move is None:
            return None
        took = captured_by(at.before, at.move)
        return took is not None and took.kind == self.kind

    def shown(self, at: View) -> str:
        """What it captures instead."""
        took = at.before and at.move and captured_by(at.before, at.move)
        return f"it captures a {chess.PIECE_NAMES[took.kind]}" if took else "it captures nothing"


def read_captures(hit: Hit) -> Made:
    """That the move captures a piece of a kind."""
    if hit.context.mover is not None:
        yield Captures(kind_named(hit.match["kind"])), True


@dataclass(frozen=True)
class Develops(Statement):
    """The move that has been made brings a minor piece from its first rank."""

    kind: int

    def true_in(self, at: View) -> bool | None:
        """None of a pawn's move, which makes way for a piece, and of castling."""
        if at.before is None or at.move is None or at.before.is_castling(at.move):
            return None
        kind = at.before.piece_type_at(at.move.from_square)
        if kind == chess.PAWN:
            return None
        home = 0 if at.before.turn else 7
        return kind == self.kind and at.move.from_square >> 3 == home

    def shown(self, at: View) -> str:
        """What moves."""
        if at.before is None or at.move is None:
            return ""
        kind = at.before.piece_type_at(at.move.from_square) or chess.PAWN
        return f"a {chess.PIECE_NAMES[kind]} goes from {chess.square_name(at.move.from_square)}"


def read_develops(hit: Hit) -> Made:
    """That the move develops a piece."""
    who = side_of(hit.match["who"])
    if hit.context.mover is not None and who in (None, hit.context.mover):
        yield Develops(kind_named(hit.match["kind"])), True


@dataclass(frozen=True)
class Opens(Statement):
    """The move that has been made takes a pawn off a file that is open, or half-open, now."""

    file: int

    def true_in(self, at: View) -> bool | None:
        """False where the pawns of the file are the same."""
        if at.before is None:
            return None
        mask = chess.BB_FILES[self.file]
        if at.before.pawns & mask == at.board.pawns & mask:
            return False
        half = any(is_half_open(at.board, self.file, white) for white in (True, False))
        fewer = (at.before.pawns & mask).bit_count() > (at.board.pawns & mask).bit_count()
        return True if fewer and (half or is_open(at.board, self.file)) else None

    def shown(self, at: View) -> str:
        """That its pawns are the same."""
        pawns = chess.SquareSet(at.board.pawns & chess.BB_FILES[self.file])
        names = ", ".join(map(chess.square_name, pawns)) or "none"
        return f"the pawns of the file are the same: {names}"


def read_opens(hit: Hit) -> Made:
    """That the move opens a file."""
    if hit.context.mover is not None:
        yield Opens("abcdefgh".index(hit.match["file"])), True


@dataclass(frozen=True)
class Promotes(Statement):
    """The move that has been made turns a pawn into a piece of a kind."""

    kind: int

    def true_in(self, at: View) -> bool | None:
        """The move says so; None of one without a pawn, as the next may be meant."""
        if at.move is None or at.move.promotion is None:
            return None
        return at.move.promotion == self.kind

    def shown(self, at: View) -> str:
        """What it becomes."""
        kind = chess.PAWN if at.move is None else at.move.promotion or chess.PAWN
        return f"it becomes a {chess.PIECE_NAMES[kind]}"


def read_promotes(hit: Hit) -> Made:
    """That the move promotes a pawn."""
    who = side_of(hit.match["who"])
    if hit.context.mover is not None and who in (None, hit.context.mover):
        yield Promotes(kind_named(hit.match["kind"])), True


@dataclass(frozen=True)
class Discovers(Statement):
    """The move that has been made lets another piece give check."""

    def true_in(self, at: View) -> bool | None:
        """Whether a piece that has not moved gives check."""
        if at.move is None:
            return None
        return any(square != at.move.to_square for square in at.board.checkers())

    def shown(self, at: View) -> str:
        """Who gives check."""
        names = ", ".join(map(chess.square_name, at.board.checkers()))
        return f"check from {names}" if names else "there is no check"


def read_discovers(hit: Hit) -> Made:
    """That the move gives a discovered check."""
    if hit.context.mover is not None:
        yield Discovers(), True


@dataclass(frozen=True)
class Prevents(Statement):
    """The move that has been made keeps the other side from another move."""

    san: str

    def true_in(self, at: View) -> bool | None:
        """The reply is not possible, or loses; false where nothing attacks its square."""
        move = parsed(at.board, self.san)
        before = None if at.before is None else turned(at.before, at.board.turn)
        if move is None:
            possible = before is not None and parsed(before, self.san) is not None
            return True if possible else None
        won = gain(at.board, move)
        if won is not None and won < 0:
            return True
        attacked = at.board.is_attacked_by(not at.board.turn, move.to_square)
        return None if attacked or won is None else False

    def shown(self, at: View) -> str:
        """That it is possible."""
        return f"{self.san} is legal for {TITLES[at.board.turn]}"


def read_prevents(hit: Hit) -> Made:
    """That the move keeps the other side from another."""
    if hit.context.mover is not None:
        yield Prevents(hit.match["san"].rstrip("#+!")), True


# --- forms ----------------------------------------------------------------------------------------


# "It" may be something else that was spoken of before; "this move" is the one that was made.
IT = r"^(?P<by_it>this(?:\s+move)?|the\s+move)\s+(?:also\s+|simply\s+|just\s+|immediately\s+)?"
VERY = (
    r"(?:(?:very|serious|huge|big|terrible|clear|simple|grave|an?|the|really|clearly|slight)\s+)*"
)
GOOD = r"good|strong|excellent|great|fine|correct|brilliant|best"
BAD = r"blunder|mistake|error|bad|weak|terrible"
END = r"(?=\s*[.!,;:]|\s+(?:because|as|since|here|for|in|that|which|and)\b|$)"
FORMS: tuple[Form, ...] = (
    form(
        r"\bhas\s+only\s+(?P<count>one|two|three)\s+(?:legal|possible)\s+moves?\b",
        read_few_moves,
        near=False,
    ),
    form(
        r"\b(?:the\s+)?(?P<best>best)\s+(?:move|continuation|option|choice|reply|response)\s+"
        rf"(?:(?:here|now)\s+)?(?:for\s+{SIDE}\s+)?(?:here\s+)?is\s+(?:to\s+play\s+|probably\s+)?(?:\d+\.+\s?)?{SAN}(?![\w-])",
        read_best,
        moves=True,
    ),
    form(
        rf"\b{SIDE}'s\s+(?P<best>best)\s+(?:move|continuation|option|choice|reply|response)\s+(?:here\s+)?"
        rf"is\s+(?:to\s+play\s+)?(?:\d+\.+\s?)?{SAN}(?![\w-])",
        read_best,
        moves=True,
    ),
    form(
        rf"(?:^|,\s+(?:and\s+|so\s+)?){SAN}\s+(?:is|was)\s+(?:clearly\s+|simply\s+|here\s+)?(?:the\s+|white's\s+|black's\s+)?"
        r"(?P<best>best|strongest)(?:\s+(?:move|continuation|option|choice|reply))?" + END,
        read_best,
        moves=True,
    ),
    form(
        rf"^{SIDE}\s+should\s+(?:now\s+|simply\s+)?play\s+(?:\d+\.+\s?)?{SAN}(?![\w-])",
        read_best,
        moves=True,
        sure=True,
    ),
    form(
        rf"^{SAN}\s+is\s+{VERY}(?:(?P<how>{GOOD})(?:\s+(?:move|reply|choice))?|(?P<how_bad>{BAD})(?:\s+move)?){END}",
        read_judged,
        moves=True,
    ),
    form(
        rf"^(?:(?:(?:it|this(?:\s+move)?)\s+)?is\s+(?P<no>not\s+)?)?{VERY}(?P<how>{GOOD})\s+move(?=\s*[.!])",
        read_judged,
        near=False,
    ),
    form(
        rf"^(?:(?:(?:it|this(?:\s+move)?)\s+)?is\s+(?P<no>not\s+)?|the\s+first\s+)?{VERY}"
        r"(?P<how>blunder|mistake|error)(?=\s*[.!,]|\s+(?:because|by\s+(?:white|black))\b)",
        read_judged,
        near=False,
    ),
    form(
        r"^(?:(?:it|this(?:\s+move)?)\s+is\s+)?(?:again\s+|clearly\s+)?(?:the\s+|white's\s+|black's\s+)"
        r"only\s+(?:good\s+)?move(?:\s+that\s+is\s+no\s+mistake)?(?:\s+here)?(?=\s*[.!:]|$)",
        read_only,
        near=False,
    ),
    form(
        rf"^{SAN}\s+is\s+(?:the\s+|white's\s+|black's\s+)?only\s+legal\s+move\b",
        read_only_move,
        moves=True,
    ),
    form(
        rf"{IT}(?:captures|takes)\s+(?:the|a|an|(?:white|black)'s)\s+(?:(?:white|black)\s+)?"
        rf"(?P<kind>{KIND})(?=\s*[.!,;]|\s+(?:on|and|with\s+check)\b|$)",
        read_captures,
        near=False,
    ),
    form(
        rf"(?:{IT}|^(?P<who>white|black)\s+)develops\s+(?:the|a|an|another|his|its|(?:white|black)'s)\s+(?:(?:white|black|king-?side|queen-?side)\s+)?"
        rf"(?:(?:light|dark)-squared\s+)?(?P<kind>knight|bishop)\b",
        read_develops,
        near=False,
    ),
    form(rf"(?:{IT}opens|^opening)\s+(?:up\s+)?the\s+{FILE}", read_opens, near=False),
    form(
        rf"(?:{IT}|^(?P<who>white|black)\s+)promotes\s+to\s+an?\s+(?P<kind>queen|rook|bishop|knight)\b",
        read_promotes,
        near=False,
    ),
    form(
        rf"(?:{IT}(?:is|gives)\s+|^)(?:a\s+)?discovered\s+check(?=\s*[.!,]|$)",
        read_discovers,
        near=False,
    ),
    form(
        rf"{IT}(?:prevents|stops)\s+(?:(?:white|black)(?:\s+from\s+playing|'s)?\s+)?{SAN}(?![\w-])",
        read_prevents,
        moves=True,
        near=False,
    ),
)

"""Claims about how good a move is, beside its cost: `!!`, `!`, `!?`, book, forced, miss.

And about traps of the opening that have a name.

Their definitions are those of docs/commentary.md; their symbols are in comment/judge.py.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from enum import StrEnum

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LAST_LOOK
from kibitz.comment.claims.claim import Claim, Weights, gone, is_plain, listed
from kibitz.comment.claims.lines.outlook import mark_of, next_best
from kibitz.comment.claims.sacrifices import Aim, confirmed_sacrifice
from kibitz.comment.facts import Scene, is_passed, played
from kibitz.comment.judge import (
    BAD,
    BETTER,
    DECIDED,
    LEAST_OF,
    SYMBOLS,
    WON,
    Label,
    is_only_move,
    label,
    standing,
    stands_clear,
)
from kibitz.comment.openings import is_book, trap_at

BOLD: tuple[Aim, ...] = ("mate", "interest", "castling", "king", "winning", "better", "mated")
FEW = 5  # legal moves of a side in check up to which the right one is obvious
NEAR = 5  # rank of a passed pawn, from 0, from which on it runs by itself
SAME = 0.02  # of winning chances by which a move may fall short of the best one and be as good
BELOW = {2: 0.42, 1: 0.06, 0: -0.32, -1: -0.68, -2: -1.0}  # clearly less than a standing
CLOSE = 0.1  # the same by which a chance is given back


class Grade(StrEnum):
    """What a move is, beside its cost; the value is how a comment spells it."""

    BRILLIANT = "brilliant"
    GREAT = "great"
    INTERESTING = "interesting"
    BOOK = "book"
    FORCED = "forced"
    MISS = "miss"

    @property
    def nag(self) -> int:
        """Its number in PGN; 0 for what has none."""
        return {"great": 1, "brilliant": 3, "interesting": 5}.get(self.value, 0)

    @property
    def mark(self) -> str:
        """The symbol that stands behind a move."""
        return SYMBOLS.get(self.nag, "")


@dataclass(frozen=True)
class Graded(Claim):
    """A move is brilliant, great or interesting, of the book, forced, or misses a chance."""

    grade: Grade

    def proved(self, scene: Scene) -> bool:
        """Its definition holds, and none that goes before."""
        return grade_of(scene) is self.grade


@dataclass(frozen=True)
class OnlyGood(Claim):
    """All other moves are mistakes, as OnlyMove says, and how the game stands with this one."""

    has: int | None = None  # see judge.standing; None: it is not said

    def proved(self, scene: Scene) -> bool:
        """Both looks say so, and it is well inside its standing, by what is seen after it, too."""
        if self.has is None or scene.had is None or scene.has is None:
            return self.has is None and _is_only(scene)
        values = (scene.had.value, -scene.has.value)
        stands = all(standing(value) == self.has for value in values)
        clear = stands and stands_clear(scene.had.value) and _is_only(scene)
        return clear and _rivals_stay(scene, BELOW[self.has])


def grade_of(scene: Scene) -> Grade | None:
    """What a move is, if there is a word for it."""
    if scene.before.legal_moves.count() == 1:
        return Grade.FORCED
    if mark_of(scene) is not Label.NONE:
        return Grade.MISS if _gives_back(scene) else None
    if is_book(scene.after) and not scene.after.is_checkmate():
        return Grade.BOOK
    return _praise(scene)


def _gives_back(scene: Scene) -> bool:
    """Whether the other side's last move was a mistake, and this one lets what it gave go."""
    if scene.was is None or scene.had is None or scene.has is None:
        return False
    gift = label(scene.was, scene.had) in BAD and label(scene.had, scene.has) in BAD
    return gift and -scene.has.value <= CLOSE - scene.was.value


def _praise(scene: Scene) -> Grade | None:
    """Brilliant, great or interesting; nothing that takes back, promotes, mates or is obvious."""
    if scene.had is None or scene.has is None or not scene.had.line:
        return None
    if scene.move.promotion or scene.takes_back or scene.after.is_checkmate():
        return None
    value, second = -scene.has.value, scene.had.second
    best = scene.had.line[0] == scene.move or value >= scene.had.value - SAME
    others_win = second is not None and second >= WON
    no_need = others_win or value < -BETTER or scene.before.is_check()
    gives = None if no_need else confirmed_sacrifice(scene)
    if gives is not None and any(kind > chess.PAWN for kind in gives.lost):
        if best and gives.aim in BOLD:
            return Grade.BRILLIANT
        return Grade.GREAT if _is_only(scene) else Grade.INTERESTING
    return Grade.GREAT if not _is_obvious(scene) and _is_only(scene) else None


def _is_only(scene: Scene) -> bool:
    """Whether all other moves are mistakes, to a deeper look, too."""
    if scene.had is None or not is_only_move(scene.had, scene.move):
        return False
    deeper = scene.searched_with(1, before=True).had
    if deeper is None or not is_only_move(deeper, scene.move):
        return False
    return _rivals_stay(scene, deeper.value - LEAST_OF[Label.MISTAKE])


def _rivals_stay(scene: Scene, most: float) -> bool:
    """Whether nothing sees more in the second best move; the longer a look, the later it is made.

    Looks before the move, and a long one after its rival.
    """
    looks = [scene.had, scene.searched_with(1, before=True).had]
    values = [look.second for look in looks if look is not None and look.second is not None]
    if any(value > most for value in values):
        return False
    other = next_best(scene)
    if other is not None and other.has is not None and -other.has.value > most:
        return False
    longest = scene.searched_with(LAST_LOOK, before=True).had
    if longest is None or not longest.line:
        return True
    rival = longest.second if longest.line[0] == scene.move else longest.value
    return rival is None or rival <= most


def _is_obvious(scene: Scene) -> bool:
    """Whether a move is what anybody looks at, or the game is decided.

    It takes what hangs, or as much as it may cost, saves what hangs, runs with a pawn or is one of
    few out of check.
    """
    before, move = scene.before, scene.move
    if before.is_check() and before.legal_moves.count() <= FEW:
        return True
    if scene.captured is not None and force.loss_on(before, scene.captured.square) >= force.LEAST:
        return True
    if scene.had is not None and not -WON < scene.had.value < DECIDED:
        return True
    if scene.captured is not None and scene.captured.worth >= scene.piece.worth:
        return True
    rank = scene.landed >> 3 if scene.mover else 7 - (scene.landed >> 3)
    passed = scene.piece.kind == chess.PAWN and is_passed(scene.after, scene.landed, scene.mover)
    if passed and rank >= NEAR and not scene.captured:
        return True
    mover = before.piece_type_at(move.from_square)
    return mover != chess.KING and force.loss_on(before, move.from_square) >= force.LEAST


# --- traps of the opening -------------------------------------------------------------------------


@dataclass(frozen=True)
class OfTrap(Claim):
    """A trap of the opening that has a name."""

    trap: str
    line: str = ""  # how the trap goes on
    won: tuple[int, ...] = ()  # kinds of pieces that it wins, where it does not mate
    lost: tuple[int, ...] = ()
    white: bool = True  # whose move it is

    @abstractmethod
    def proved(self, scene: Scene) -> bool:
        """The position after the move is one of the trap."""


class Springs(OfTrap):
    """A move springs a trap."""

    def proved(self, scene: Scene) -> bool:
        """The other side has walked into it."""
        return self in springs(scene)


class WalksInto(OfTrap):
    """A side walks into a trap."""

    def proved(self, scene: Scene) -> bool:
        """The other side can spring it next."""
        return self in springs(scene)


def springs(scene: Scene) -> list[Springs | WalksInto]:
    """The trap that a move springs or walks into, if it has a name."""
    trap = trap_at(scene.after)
    if trap is None:
        return []
    end = played(scene.after, *trap.line)
    many = len(trap.line) > 1  # a mate at once says all
    line = scene.after.variation_san(trap.line).replace(". ", ".") if many else ""
    hunter = scene.mover if trap.springs else not scene.mover
    start = chess.Board(trap.start)
    theirs, own = (gone(start, end, side) for side in (not hunter, hunter))
    won: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    if theirs is not None and own is not None and line and not end.is_checkmate():
        won, lost = listed(theirs - own), listed(own - theirs)
    if not is_plain(won, lost):
        won, lost = (), ()
    kind = Springs if trap.springs else WalksInto
    return [kind(trap.name, line, won, lost, scene.mover)]


WEIGHTS: dict[type[Claim], Weights] = {
    OnlyGood: Weights(0.4, 0.55, 0.55),
    Springs: Weights(0.98, 0.98, 0.98),
    WalksInto: Weights(0.98, 0.98, 0.98, drawback=True),
}

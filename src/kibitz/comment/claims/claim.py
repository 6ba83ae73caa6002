"""A claim: a small record of what is said of a move, with the function that proves it.

And what many of them count by: steps, and which pieces are lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LAST_LOOK, PLAYABLE
from kibitz.comment.facts import Scene, Unit, captured_by, played
from kibitz.comment.judge import standing


@dataclass(frozen=True)
class Claim(ABC):
    """Something that is said of a move."""

    @abstractmethod
    def proved(self, scene: Scene) -> bool:
        """Whether it is true."""

    def is_kept(self, scene: Scene) -> bool:  # noqa: ARG002
        """Whether longer looks bear it out, where it depends on a search."""
        return True


class Judged(Claim):
    """Something that a search says; a deeper one has to say it, too."""

    def is_kept(self, scene: Scene) -> bool:
        """Whether a deeper search says it, too."""
        return self.proved(scene.searched_with(1, before=True))


class Weights(NamedTuple):
    """How much a claim matters to each level; below LEAST of select/rank.py it is not said."""

    beginner: float
    club: float
    expert: float
    once: bool = False  # said once a game, for each side
    reason: bool = True  # it says why a move is good
    drawback: bool = False  # it is bad for the side whose it is
    sharp: bool = False  # a feature that is said in a position full of tactics, too
    like: str = ""  # names of other claims that say the same; only one of them is said


def is_forced(line: Scene, plies: int) -> bool:
    """Whether the other side has nothing as good as its answers in a line, by long looks."""
    moves = (line.move, *line.follow)
    return all(
        expected[:1] == [moves[ply]]
        for ply in range(1, plies, 2)
        for expected in line.analysis.lines(line.boards[ply], LAST_LOOK, PLAYABLE)
    )


def falls_along(boards: Sequence[chess.Board], moves: Sequence[chess.Move], square: int) -> bool:
    """Whether what stands on a square is captured by some moves, wherever it has gone by then."""
    for board, move in zip(boards, moves, strict=False):
        took = captured_by(board, move)
        if took is not None and took.square == square:
            return True
        square = move.to_square if move.from_square == square else square
    return False


def is_at_rest(scene: Scene, plies: int) -> bool:
    """Whether so far into a line the mover loses nothing next, and no exchange is under way."""
    board, then = scene.calm_boards[plies], scene.course[plies : plies + 2]
    lost = force.lost_next(board, scene.mover)
    takes = bool(then) and board.is_capture(then[0])
    goes_on = takes and len(then) > 1 and played(board, then[0]).is_capture(then[1])
    return lost < force.LEAST and not goes_on


def takes_for_good(scene: Scene, line: str) -> bool:
    """Whether nothing that the mover takes in a printed line is left to be taken back for it."""
    plies = len(line.split()) + 1 if line else 1
    for ply in range(2, min(plies, len(scene.course)), 2):
        board, move = scene.course_boards[ply], scene.course[ply]
        then, took = scene.course_boards[ply + 1], captured_by(board, move)
        answered = [each.to_square for each in scene.course[ply + 1 : ply + 2]]
        if took is None or took.kind == chess.PAWN or move.to_square in answered:
            continue
        if force.loss_on(then, move.to_square) >= CENTIPAWNS[chess.PAWN]:
            return False
    return True


def is_well_met(scene: Scene, line: str) -> bool:
    """Whether long looks find no answer in a printed line that gives much away."""
    for ply in range(1, len(line.split()) + 1, 2):
        boards = scene.course_boards[ply : ply + 2]
        looks = [scene.analysis.deeper(board, LAST_LOOK) for board in boards]
        values = [look.value for look in looks if look is not None]
        if len(values) == 2 and values[0] + values[1] > WEAK:
            return False
    return True


def ends_trade(scene: Scene, gain: int) -> bool:
    """Whether a move takes back in a trade that the mover began, and that had won as much then."""
    if not scene.takes_back or len(scene.before.move_stack) < 2:
        return False
    earlier = scene.before.copy(stack=2)
    earlier.pop()
    own = earlier.pop()
    won = force.gain(earlier, own)
    began = own.to_square == scene.landed and earlier.is_capture(own)
    return began and won is not None and won >= gain


def stands(board: chess.Board, *pieces: Unit) -> bool:
    """Whether pieces stand where they are said to."""
    return all(
        board.piece_at(piece.square) == chess.Piece(piece.kind, piece.white) for piece in pieces
    )


def is_between(square: int, first: int, second: int) -> bool:
    """Whether a square lies strictly between two others on a line."""
    return bool(chess.between(first, second) & chess.BB_SQUARES[square])


class Step(NamedTuple):
    """A move and how it is written, with its number."""

    move: chess.Move
    text: str


def step(board: chess.Board, move: chess.Move) -> Step:
    """A move of a position, numbered."""
    dots = "." if board.turn else "..."
    return Step(move, f"{board.fullmove_number}{dots}{board.san(move)}")


def passed(board: chess.Board) -> chess.Board | None:
    """The position if the side to move passed; None if it is in check, mated or stalemated."""
    if board.is_check() or not any(board.generate_legal_moves()):
        return None
    return played(board, chess.Move.null())


def emptied(board: chess.Board, square: int) -> chess.Board | None:
    """The position without a piece; None if the side to move could take the king then."""
    there = board.copy(stack=False)
    there.remove_piece_at(square)
    return None if there.was_into_check() else there


def taken_if_passed(board: chess.Board, take: chess.Move) -> tuple[Unit | None, int]:
    """What a move of the side that is not to move would take now, and the centipawns it wins."""
    idle = passed(board)
    if idle is None or take not in idle.legal_moves:
        return None, 0
    return captured_by(idle, take), force.gain(idle, take) or 0


def is_taken_on_arrival(board: chess.Board, comes: chess.Move, take: chess.Move) -> bool:
    """Whether what comes with a move could be taken with a gain, if the side to move passed."""
    idle = passed(board)
    if idle is None or comes not in idle.legal_moves:
        return False
    then = played(idle, comes)
    return take in then.legal_moves and (force.gain(then, take) or 0) >= force.LEAST


# --- what is lost ---------------------------------------------------------------------------------

Kinds: TypeAlias = tuple[int, ...]
WEAK = 0.1  # value that an answer in a line gives away, at least, which is a poor one
CENTIPAWNS = {1: 100, 2: 300, 3: 300, 4: 500, 5: 900}
MINOR = (chess.KNIGHT, chess.BISHOP)


def listed(kinds: Counter[int]) -> tuple[int, ...]:
    """Kinds of pieces, the most valuable first."""
    return tuple(sorted(kinds.elements(), reverse=True))


def net(theirs: Counter[int], own: Counter[int], taken: Unit | None) -> Counter[int]:
    """What one side has lost more than the other; of minor pieces the kind that is taken now."""
    left, kind = theirs - own, taken.kind if taken is not None else 0
    other = {chess.KNIGHT: chess.BISHOP, chess.BISHOP: chess.KNIGHT}.get(kind, 0)
    if theirs[kind] and not left[kind] and left[other]:
        left.update({kind: 1, other: -1})
    return +left


def worth_of(won: Kinds, lost: Kinds) -> int:
    """Centipawns that are gained where these pieces are won and lost."""
    return sum(CENTIPAWNS[kind] for kind in won) - sum(CENTIPAWNS[kind] for kind in lost)


def gone(before: chess.Board, after: chess.Board, white: bool) -> Counter[int] | None:
    """Kinds of pieces a side has lost; None if a pawn was promoted."""
    losses: Counter[int] = Counter()
    for kind in CENTIPAWNS:
        lost = len(before.pieces(kind, white)) - len(after.pieces(kind, white))
        if lost < 0:
            return None
        losses[kind] = lost
    return +losses


def as_minor(kind: int) -> int:
    """A kind of piece, bishops counted as knights."""
    return chess.KNIGHT if kind == chess.BISHOP else kind


def is_plain(won: Sequence[int], lost: Sequence[int]) -> bool:
    """Whether few enough pieces were won and lost to name them all in a sentence.

    At most two are won for two.
    """
    return len(won) <= 2 >= len(lost)


def lost_like(lost: Counter[int], kind: int) -> int:
    """How many of a kind are lost, bishops counted as knights."""
    return sum(count for each, count in lost.items() if as_minor(each) == kind)


def without_trade(won: Kinds, lost: Kinds) -> tuple[Kinds, Kinds]:
    """What both sides lose, but for knights that were traded for bishops."""
    minors = [[kind for kind in kinds if kind in MINOR] for kinds in (won, lost)]
    traded = min(map(len, minors))
    mine, theirs = (
        Counter(kinds) - Counter(minor[:traded])
        for kinds, minor in zip((won, lost), minors, strict=True)
    )
    return listed(mine), listed(theirs)


def mates_on(board: chess.Board, square: int) -> bool:
    """Whether a side that has just moved threatens to mate by a capture on a square."""
    there = passed(board)
    moves = () if there is None else there.generate_legal_captures(to_mask=1 << square)
    return there is not None and any(played(there, move).is_checkmate() for move in moves)


def stands_as(scene: Scene, value: float) -> bool:
    """Whether a long look after a move sees the game as won, better or level as a value says."""
    look = scene.analysis.deeper(scene.after, LAST_LOOK)
    return look is not None and standing(-look.value) == standing(value)

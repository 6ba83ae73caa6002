"""Claims about tactics: small records, each with the function that proves it of a move.

A claim is about the move of a `Scene`. What a claim says of the pieces is proved on the board; that
it wins something is proved apart, by a search (`Prover`), before it is spoken of as a gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import chess

from kibitz.comment import force
from kibitz.comment.claims.claim import Claim, Step, Weights, is_between, mates_on, passed, stands
from kibitz.comment.claims.cover import not_retaken
from kibitz.comment.facts import (
    SLIDERS,
    Scene,
    Unit,
    balance,
    captured_by,
    is_defended,
    is_trapped,
    is_unsafe,
    pinner_of,
    unit,
)
from kibitz.comment.judge import LEAST_OF, Label


@dataclass(frozen=True)
class Fork(Claim):
    """One piece attacks several pieces that are worth more than it or not defended."""

    by: Unit
    targets: tuple[Unit, ...]

    def proved(self, scene: Scene) -> bool:
        """The board after the move shows it."""
        board = scene.after
        return (
            len(self.targets) > 1
            and stands(board, self.by, *self.targets)
            and self.by == scene.piece
            and (not is_unsafe(board, self.by.square) or bool(not_retaken(scene)))
            and all(is_worth_attacking(board, self.by, target) for target in self.targets)
        )


def is_worth_attacking(board: chess.Board, by: Unit, target: Unit) -> bool:
    """Whether a piece attacks another one that it would win something by taking."""
    if target.square not in board.attacks(by.square) or target.kind == chess.PAWN:
        return False
    if target.white == by.white:
        return False
    hits_back = by.square in board.attacks(target.square)
    return target.worth > by.worth or not (hits_back or is_defended(board, target.square))


@dataclass(frozen=True)
class Pins(Claim):
    """The move pins a piece to its king, or attacks through it something worth more."""

    piece: Unit
    to: Unit
    by: Unit

    def proved(self, scene: Scene) -> bool:
        """There was no pin before the move and there is one after it, not along the same line."""
        board, before = scene.after, scene.before
        if self.to.kind == chess.KING and stands(before, self.piece):
            same = before.is_pinned(self.piece.white, self.piece.square)
            if same and self.by.square in before.pin(self.piece.white, self.piece.square):
                return False
        came_from = scene.move.from_square if self.by == scene.piece else self.by.square
        was_pinned = (
            stands(before, self.piece, self.to)
            and self.piece.square in before.attacks(came_from)
            and is_between(self.piece.square, came_from, self.to.square)
            and chess.between(self.piece.square, self.to.square) & before.occupied == 0
        )
        return (
            stands(board, self.piece, self.to, self.by)
            and self.piece.white == self.to.white != self.by.white
            and not was_pinned
            and self.to.worth > self.piece.worth
            and self.piece.kind != self.by.kind  # which offers a trade
            and is_between(self.piece.square, self.by.square, self.to.square)
            and self.piece.square in board.attacks(self.by.square)
            and chess.between(self.piece.square, self.to.square) & board.occupied == 0
            and self.by.kind in SLIDERS
            and (self.to.kind == chess.KING or self.to.worth > self.by.worth)
        )


@dataclass(frozen=True)
class UsesPin(Claim):
    """A pinned piece cannot take something, or cannot leave where it is lost."""

    piece: Unit
    to: Unit
    by: Unit
    spared: Unit | None  # what the pinned piece attacks in vain; None: it cannot leave

    def proved(self, scene: Scene) -> bool:
        """The pin holds after the move."""
        board = scene.after
        if not stands(board, self.piece, self.to, self.by):
            return False
        if self.to.kind != chess.KING or pinner_of(board, self.piece.square) != self.by.square:
            return False
        if self.spared is None:
            return is_lost_in_pin(board, self.piece, self.by)
        return stands(board, self.spared) and is_spared(board, self.piece, self.spared)


def is_lost_in_pin(board: chess.Board, pinned: Unit, by: Unit) -> bool:
    """Whether a pinned piece is worth more than the pinning one, or not defended."""
    hits_back = by.square in board.attacks(pinned.square)
    return pinned.worth > by.worth or not (hits_back or is_defended(board, pinned.square))


def is_spared(board: chess.Board, pinned: Unit, target: Unit) -> bool:
    """Whether a pin keeps a piece from taking something that it would win."""
    return (
        target.square in board.attacks(pinned.square)
        and target.square not in board.pin(pinned.white, pinned.square)
        and (target.worth > pinned.worth or not is_defended(board, target.square))
    )


@dataclass(frozen=True)
class Skewers(Claim):
    """A slider attacks a piece that has to move, with one behind it that is then lost."""

    by: Unit
    front: Unit
    behind: Unit

    def proved(self, scene: Scene) -> bool:
        """The line, and that the piece behind is worth taking once the front has left."""
        board = scene.after
        if not stands(board, self.by, self.front, self.behind) or self.by.kind not in SLIDERS:
            return False
        without = board.copy(stack=False)
        without.remove_piece_at(self.front.square)
        worth_taking = self.behind.worth > self.by.worth or not is_defended(
            without, self.behind.square
        )
        return (
            worth_taking
            and self.front.white == self.behind.white != self.by.white
            and self.front.square in board.attacks(self.by.square)
            and self.behind.square in without.attacks(self.by.square)
            and is_between(self.front.square, self.by.square, self.behind.square)
            and self.front.worth > self.by.worth
            and self.front.worth >= self.behind.worth
        )


@dataclass(frozen=True)
class Discovers(Claim):
    """A move opens the line of a slider behind it to a target."""

    by: Unit
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """The slider attacks the target after the move, not before, and has not moved itself."""
        board = scene.after
        return (
            stands(board, self.by, self.target)
            and self.by.white != self.target.white
            and stands(scene.before, self.by)
            and self.by.square != scene.landed
            and is_between(scene.move.from_square, self.by.square, self.target.square)
            and self.target.square in board.attacks(self.by.square)
        )


@dataclass(frozen=True)
class DoubleCheck(Claim):
    """Two pieces give check at once."""

    first: Unit
    second: Unit

    def proved(self, scene: Scene) -> bool:
        """Both are checkers, and they are two."""
        checkers = scene.after.checkers()
        two = {self.first.square, self.second.square} == set(checkers) and len(checkers) == 2
        return two and stands(scene.after, self.first, self.second)


def _has_to_be(scene: Scene) -> bool:
    """Whether the reply is better than all others, by what was seen after the move."""
    seen = scene.has
    apart = LEAST_OF[Label.INACCURACY]
    return seen is None or seen.second is None or seen.value - seen.second >= apart


@dataclass(frozen=True)
class Deflects(Claim):
    """The reply takes a guard away from what it guards."""

    guard: Unit
    square: int  # that it guarded
    target: Unit | None  # what stands there; None where a pawn is to be promoted
    was_taken: bool  # the guard has captured on the way, so it was overloaded

    def proved(self, scene: Scene) -> bool:
        """The guard attacks the square before the reply and not after it, and the mover goes there.

        What stood there is of the guard's side.
        """
        if len(scene.boards) < 4 or scene.reply is None or scene.next is None:
            return False
        before, after = scene.boards[1], scene.boards[2]
        target = captured_by(after, scene.next)
        if not self.was_taken and not _has_to_be(scene):
            return False
        return (
            stands(before, self.guard)
            and scene.next.to_square == self.square
            and self.target == target
            and (target is None or target.white == self.guard.white)
            and self.was_taken == (scene.reply.to_square == scene.landed)
            and scene.reply.from_square == self.guard.square
            and self.square in before.attacks(self.guard.square)
            and self.square not in after.attacks(scene.reply.to_square)
        )


@dataclass(frozen=True)
class Attracts(Claim):
    """The reply draws a piece to a square where the next move hits it."""

    piece: Unit  # where it stood
    square: int
    then: Step  # the next move

    def proved(self, scene: Scene) -> bool:
        """The piece captures there, and is hit by the next move; if mated, not all replies are."""
        if len(scene.boards) < 4 or scene.reply is None or scene.next != self.then.move:
            return False
        board, replies = scene.boards[3], scene.after.legal_moves.count()
        if board.is_checkmate() and replies > 1 and force.longest_defence(scene.after, 1):
            return False
        return (
            stands(scene.after, self.piece)
            and scene.reply.from_square == self.piece.square
            and scene.reply.to_square == self.square == scene.landed
            and self.square in board.attacks(self.then.move.to_square)
        )


@dataclass(frozen=True)
class RemovesGuard(Claim):
    """A capture takes the guard of something else."""

    guard: Unit
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """The captured piece guarded the target, and nothing else does, nor did."""
        before, after = scene.before, scene.boards[min(2, len(scene.boards) - 1)]
        return (
            scene.captured == self.guard
            and self.guard.white == self.target.white
            and stands(before, self.guard, self.target)
            and not is_defended(scene.after, self.target.square)
            and self.target.square in before.attacks(self.guard.square)
            and stands(after, self.target)
            and not is_defended(after, self.target.square)
        )


@dataclass(frozen=True)
class Interferes(Claim):
    """A move cuts the line between a slider and what it guards."""

    slider: Unit
    square: int  # where the line is cut
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """The slider guarded the target before, something has come between, and nothing guards it.

        It comes there with the move, or with the reply to a check. Where the move threatens to mate
        it may be guarded; what has come may not be taken then.
        """
        before, mates = scene.before, mates_on(scene.after, self.target.square)
        after = scene.after if mates else scene.boards[min(2, len(scene.boards) - 1)]
        return (
            (self.square == scene.landed or scene.after.is_check())
            and stands(before, self.slider, self.target)
            and self.slider.white == self.target.white
            and before.piece_at(self.square) is None
            and after.piece_at(self.square) is not None
            and self.target.square in before.attacks(self.slider.square)
            and is_between(self.square, self.slider.square, self.target.square)
            and stands(scene.after, self.slider)
            and stands(after, self.target)
            and (
                force.loss_on(after, self.square) < force.LEAST
                if mates
                else not is_defended(after, self.target.square)
            )
        )


@dataclass(frozen=True)
class Intermezzo(Claim):
    """A move is made before a recapture that can wait."""

    square: int  # of the recapture

    def proved(self, scene: Scene) -> bool:
        """The last move captured there, it could have been taken back, and still is."""
        return (
            scene.taken_on == self.square != scene.move.to_square
            and scene.next is not None
            and scene.next.to_square == self.square
            and scene.next in scene.before.legal_moves
        )


@dataclass(frozen=True)
class XRay(Claim):
    """A slider acts on a square through an enemy piece that stands between."""

    by: Unit
    through: Unit
    square: int

    def proved(self, scene: Scene) -> bool:
        """The three lie on a line, with nothing else between."""
        before = scene.before
        line = chess.between(self.by.square, self.square) & before.occupied
        return (
            stands(before, self.by, self.through)
            and self.by.white != self.through.white
            and line == chess.BB_SQUARES[self.through.square]
        )


@dataclass(frozen=True)
class Clears(Claim):
    """A move gives up a square or a line for another piece."""

    piece: Unit  # that uses it next
    square: int  # that was cleared

    def proved(self, scene: Scene) -> bool:
        """The next move of a slider goes to or across the square that was left."""
        if scene.next is None or scene.move.from_square != self.square:
            return False
        start, end = scene.next.from_square, scene.next.to_square
        return (
            stands(scene.boards[2], self.piece)
            and start == self.piece.square
            and (end == self.square or is_between(self.square, start, end))
        )


@dataclass(frozen=True)
class Traps(Claim):
    """A piece is attacked and has no safe square."""

    piece: Unit

    def proved(self, scene: Scene) -> bool:
        """Every legal move of the piece loses it, and it was not so before; not out of a check."""
        if not stands(scene.after, self.piece) or not is_trapped(scene.after, self.piece.square):
            return False
        earlier = passed(scene.before)
        return earlier is not None and not is_trapped(earlier, self.piece.square)


@dataclass(frozen=True)
class TakesLoose(Claim):
    """A capture of a piece that nothing guards."""

    piece: Unit

    def proved(self, scene: Scene) -> bool:
        """It is captured and was not defended; what has just taken there is only taken back."""
        loose = scene.captured == self.piece and not scene.takes_back
        return loose and not is_defended(scene.before, self.piece.square)


@dataclass(frozen=True)
class Sacrifices(Claim):
    """Material is given up and does not come back at once."""

    piece: Unit  # that is given, where it stands after the move
    pawns: int  # what it costs

    def proved(self, scene: Scene) -> bool:
        """The balance after the mover's next move is still worse by as much."""
        if len(scene.boards) < 4:
            return False
        lost = balance(scene.before, scene.mover) - balance(scene.boards[3], scene.mover)
        return stands(scene.after, self.piece) and lost == self.pawns >= 2


def mate_pattern(board: chess.Board) -> str:
    """The pattern of a checkmate that has a name here: smothered, double check or back rank."""
    king = board.king(board.turn)
    assert king is not None
    around = chess.SquareSet(chess.BB_KING_ATTACKS[king])
    own = board.occupied_co[board.turn]
    checkers = [unit(board, square) for square in board.checkers()]
    if all(square in chess.SquareSet(own) for square in around) and any(
        checker.kind == chess.KNIGHT for checker in checkers
    ):
        return "smothered"
    if len(checkers) == 2:
        return "double check"
    home, step = (0, 1) if board.turn else (7, -1)
    if king >> 3 != home or not any(
        checker.square >> 3 == home and checker.kind in (chess.ROOK, chess.QUEEN)
        for checker in checkers
    ):
        return ""
    front = [square for square in around if square >> 3 == home + step]
    blocked = all(
        chess.BB_SQUARES[square] & own and not board.attackers(not board.turn, square)
        for square in front
    )
    return "back rank" if blocked else ""


@dataclass(frozen=True)
class Mates(Claim):
    """Checkmate, with the pattern that it shows."""

    pattern: str  # "back rank", "smothered", "double check" or empty
    piece: Unit | None = None  # that mates, of no pattern, alone and close to the king
    guard: Unit | None = None  # the only one that keeps the king from taking it

    def proved(self, scene: Scene) -> bool:
        """The board is checkmate and of that pattern."""
        board = scene.after
        if not board.is_checkmate() or self.pattern != mate_pattern(board):
            return False
        if self.piece is None or self.guard is None:
            return self.piece is self.guard
        guards = board.attackers_mask(scene.mover, self.piece.square)
        near = chess.BB_KING_ATTACKS[self.piece.square] & board.pieces_mask(
            chess.KING, not scene.mover
        )
        return (
            stands(board, self.piece, self.guard)
            and bool(near)
            and board.checkers_mask() == chess.BB_SQUARES[self.piece.square]
            and guards == chess.BB_SQUARES[self.guard.square]
        )


@dataclass(frozen=True)
class Promotes(Claim):
    """A pawn is promoted."""

    kind: int

    def proved(self, scene: Scene) -> bool:
        """The move says so, and the new piece is not taken at once."""
        stays = scene.reply is None or scene.reply.to_square != scene.landed
        return scene.move.promotion == self.kind and stays


@dataclass(frozen=True)
class EnPassant(Claim):
    """A pawn is taken in passing."""

    def proved(self, scene: Scene) -> bool:
        """The move says so."""
        return scene.before.is_en_passant(scene.move)


WEIGHTS: dict[type[Claim], Weights] = {
    Mates: Weights(0.9, 0.8, 0.6),
    Fork: Weights(0.9, 0.85, 0.6),
    Skewers: Weights(0.9, 0.85, 0.7),
    Traps: Weights(0.9, 0.9, 0.8),
    Discovers: Weights(0.85, 0.85, 0.7),
    DoubleCheck: Weights(0.8, 0.75, 0.5),
    Deflects: Weights(0.75, 0.85, 0.8),
    Attracts: Weights(0.7, 0.85, 0.8),
    RemovesGuard: Weights(0.8, 0.85, 0.7),
    Interferes: Weights(0.7, 0.9, 0.9),
    Intermezzo: Weights(0.6, 0.85, 0.85),
    XRay: Weights(0.5, 0.7, 0.7),
    Clears: Weights(0.4, 0.6, 0.7),
    Pins: Weights(0.7, 0.5, 0.3),
    UsesPin: Weights(0.7, 0.65, 0.45),
    TakesLoose: Weights(0.86, 0.81, 0.35),
    Promotes: Weights(0.55, 0.52, 0.43),
}

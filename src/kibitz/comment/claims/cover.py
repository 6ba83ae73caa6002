"""Claims about what a bad move takes from its own side: a guard, or cover from an enemy piece.

They say why something falls in the refutation, at once or a move or two later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import chess

from kibitz.comment import force
from kibitz.comment.claims.claim import Claim, is_between, stands
from kibitz.comment.facts import Scene, Unit, balance, captured_by, unit

SOON = 4  # plies after the reply within which something falls


class Fall(NamedTuple):
    """Something that is lost in the refutation of a move."""

    plies: int  # after the reply
    by: Unit  # what takes it
    target: Unit


@dataclass(frozen=True)
class Unblocks(Claim):
    """A piece that has moved stood between an enemy piece and what that takes."""

    by: Unit
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It alone shut the line, along which the refutation takes what stood there."""
        between = chess.between(self.by.square, self.target.square) & scene.before.occupied
        alone = between == chess.BB_SQUARES[scene.move.from_square]
        takes = any((self.by, self.target) == fall[1:] for fall in falls(scene))
        return alone and takes and stands(scene.before, self.by)


@dataclass(frozen=True)
class Shuts(Claim):
    """A piece has moved between another of its side and what that guarded."""

    piece: Unit
    guard: Unit
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It guarded it along this line, and the refutation takes it now."""
        between = is_between(scene.landed, self.guard.square, self.target.square)
        guarded = self.target.square in scene.before.attacks(self.guard.square)
        takes = any(self.target == fall.target for fall in falls(scene))
        moved = self.piece == scene.piece and stands(scene.after, self.guard)
        return moved and between and guarded and takes


@dataclass(frozen=True)
class Unguards(Claim):
    """A piece that has moved guards something no more that falls."""

    guard: Unit  # where it stands now
    target: Unit

    def proved(self, scene: Scene) -> bool:
        """It guarded it before, and does not now."""
        square = self.target.square
        guarded = square in scene.before.attacks(scene.move.from_square)
        guards = square in scene.after.attacks(scene.landed)
        takes = any(self.target == fall.target for fall in falls(scene))
        return self.guard == scene.piece and guarded and not guards and takes


def falls(scene: Scene) -> list[Fall]:
    """What the refutation takes that stood there before the move, and that is lost by it."""
    if "falls" not in scene.memo:
        scene.memo["falls"] = [*_falls(scene)] if scene.reply else []
    found: list[Fall] = scene.memo["falls"]
    return found


def _falls(scene: Scene) -> Iterator[Fall]:
    answer = scene.other
    moves = (answer.move, *answer.follow)
    for plies in range(0, min(SOON + 1, len(moves)), 2):
        board, move = answer.boards[plies], moves[plies]
        target, by = captured_by(board, move), unit(board, move.from_square)
        if target is None or not stands(scene.before, target) or target == scene.piece:
            continue
        kept = moves[plies + 1 : plies + 2] and moves[plies + 1].to_square != target.square
        ends_lower = balance(answer.boards[-1], scene.mover) < balance(scene.before, scene.mover)
        lost = target.worth > by.worth or force.loss_on(board, target.square) >= force.LEAST
        if lost or (kept and ends_lower and target.kind > chess.PAWN):
            yield Fall(plies, by, target)


def uncovered(scene: Scene) -> list[Unblocks | Shuts | Unguards]:
    """What the move has taken guard or cover from, of what falls in its refutation, proved."""
    claims: list[Unblocks | Shuts | Unguards] = []
    for fall in falls(scene):
        claims += (Unblocks(fall.by, fall.target), Unguards(scene.piece, fall.target))
        guards = scene.before.attackers(scene.mover, fall.target.square)
        guards.discard(scene.move.from_square)
        claims += (Shuts(scene.piece, unit(scene.before, square), fall.target) for square in guards)
    return [claim for claim in claims if claim.proved(scene)]

"""Whether a motif wins something: a fork, a skewer or a trap is one only where it does."""

from __future__ import annotations

import chess

from kibitz.comment import force
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim
from kibitz.comment.claims.merits import LEAST_THREAT, gain_of, is_borne_out
from kibitz.comment.facts import Scene, Unit, balance, captured_by
from kibitz.comment.force import SURE_MATE

PAYS = 2  # pawns' worth that is left of a gain, after which a motif has paid
# What is said only where a search shows that it wins something.
MUST_PAY = (
    *(tactic.Fork, tactic.Skewers, tactic.Traps, tactic.Discovers, tactic.Deflects),
    *(tactic.Attracts, tactic.RemovesGuard, tactic.Interferes, tactic.Intermezzo, tactic.Clears),
    *(tactic.TakesLoose, tactic.XRay),
)
SWAPS = (tactic.Fork, tactic.Skewers, tactic.Deflects)  # what is said where it only regains, too


def pays(scene: Scene, whole: bool = False) -> bool:
    """Whether a move wins material by force, or mates; what wins a queen may cost a knight.

    It may be what was given to make the move possible, but for a recapture, and unless the
    exchange as a `whole` is asked for.
    """
    gain = force.gain(scene.before, scene.move)
    mates = scene.has is not None and scene.has.mate is not None and scene.has.mate < 0
    if mates or (gain is not None and gain > SURE_MATE):
        return True
    if gain_of(scene) >= merit.LEAST and is_borne_out(scene, PAYS):
        return True
    return not whole and gain is not None and gain >= LEAST_THREAT and _wins_back(scene)


def _wins_back(scene: Scene) -> bool:
    """Whether the line keeps what a move that is no recapture wins from here."""
    if scene.takes_back:
        return False
    if len(scene.follow) < merit.LONG_ENOUGH:
        return scene.has is None
    least = balance(scene.before, scene.mover) + PAYS
    return all(balance(board, scene.mover) >= least for board in scene.boards[-2:])


def pays_off(claim: Claim, scene: Scene) -> bool:
    """Whether the move of a motif wins something, or the motif is carried out in the line."""
    whole = isinstance(claim, tactic.TakesLoose)
    if ("pays", whole) not in scene.memo:
        scene.memo["pays", whole] = pays(scene, whole)
    return bool(scene.memo["pays", whole]) or _is_carried_out(claim, scene)


def _is_carried_out(claim: Claim, scene: Scene) -> bool:
    """Whether the next move takes what a motif is about, and the line keeps what it is worth.

    The search of material need not see it where checks that take nothing lie on the way.
    """
    if not falls_next(claim, scene):
        return False
    longer = scene if len(scene.follow) > merit.LONG_ENOUGH else merit.expected_again(scene)
    if longer is None or longer.next != scene.next:
        return False
    end, least = longer.boards[-1], balance(scene.before, scene.mover) + PAYS
    hangs = force.gain(end) if end.turn != scene.mover else 0
    kept = all(balance(board, scene.mover) >= least for board in longer.boards[-2:])
    return kept and hangs is not None and hangs < merit.LEAST


def falls_next(claim: Claim, scene: Scene) -> bool:
    """Whether the next move takes what a motif is about, and the motif takes nothing back."""
    if (scene.has or scene.had) is None or scene.next is None or scene.takes_back:
        return False
    took = captured_by(scene.boards[2], scene.next)
    return took is not None and took.square in _targets(claim)


def swaps(claim: Claim, scene: Scene) -> bool:
    """Whether a piece that was hit or left by its guard falls, and all in all nothing is lost."""
    if not isinstance(claim, SWAPS) or not falls_next(claim, scene) or scene.next is None:
        return False
    had, took = balance(scene.before, scene.mover), captured_by(scene.boards[2], scene.next)
    kept = all(balance(board, scene.mover) >= had for board in scene.boards[4:])
    return kept and took is not None and took.kind > chess.PAWN


def _targets(claim: Claim) -> set[int]:
    """The squares of what a motif wins."""
    match claim:
        case tactic.Fork(targets=targets):
            return {target.square for target in targets}
        case tactic.Skewers(behind=target) | tactic.Traps(piece=target) | tactic.Pins(target):
            return {target.square}
        case tactic.Deflects(target=Unit() as target):
            return {target.square}
        case (
            tactic.Discovers(target=target)
            | tactic.RemovesGuard(target=target)
            | tactic.Interferes(target=target)
        ):
            return {target.square}
    return set()

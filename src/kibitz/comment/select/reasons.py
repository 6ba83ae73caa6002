"""What a move that was not made is good for: the refutation of a bad one, or the better move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, TypeGuard

import chess

from kibitz.comment import force
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import CENTIPAWNS, Claim, Kinds, worth_of
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.merits import LEAST_THREAT, threatened
from kibitz.comment.facts import Scene, balance, played
from kibitz.comment.select.rank import (
    FEATURE_WEIGHTS,
    Level,
    Memory,
    faces,
    is_confirmed,
    proved_of,
    ranked,
    worth_saying,
)


def reasons(scene: Scene, level: Level, most: int, more: Sequence[Claim] = ()) -> list[Claim]:
    """What a move that was not made is good for; `more` is what it leads to."""
    if scene.after.is_checkmate():
        return [
            claim for claim in worth_saying(scene, Memory(), level, 1) if is_a_reason(claim, scene)
        ]
    for soft in (False, True):
        claims = ranked(scene, [*proved_of(scene), *more], Memory(), level, soft, most + 1)
        if chosen := [claim for claim in claims if is_a_reason(claim, scene)][:most]:
            return [as_sure(claim, scene) for claim in chosen]
    return plain_threats(scene)[:most]


def is_a_reason(claim: Claim, scene: Scene) -> bool:
    """Whether a claim says why a move is good."""
    match claim:
        case changed.IsolatedPawn(pawn):
            return pawn.white != scene.mover
        case changed.DoubledPawns(white) | changed.OpensKing(white):
            return white != scene.mover
        case changed.BishopPair(white):
            return white == scene.mover
        case merit.OnlyMove() | changed.LosesCastling() | changed.OppositeCastling():
            return False
        case changed.QueensLeave() | changed.PawnEnding() | changed.OppositeBishops():
            return False
        case Feature(white=white):
            weights = FEATURE_WEIGHTS[claim.name]
            return white != scene.mover if weights.drawback else weights.reason
    return True


Gain: TypeAlias = outcomes.ComesOut | aftermath.PicksUp


def is_gain(claim: Claim) -> TypeGuard[Gain]:
    """Whether a claim is of what a later move of a line wins, and not only wins back."""
    match claim:
        case outcomes.ComesOut(back=False, line=line) | aftermath.PicksUp(line=line):
            return bool(line)
    return False


def gain_of(claim: Gain) -> int:
    """Centipawns that a gain is worth, at least where it is not named."""
    if isinstance(claim, aftermath.PicksUp):
        return worth_of((claim.target.kind,), claim.lost)
    pawns = outcomes.LEAST_UNNAMED * CENTIPAWNS[chess.PAWN]
    return worth_of(claim.won, claim.lost) if claim.won else pawns


def as_sure(claim: Claim, scene: Scene) -> Claim:
    """A gain of a line that the search of material does not prove, of the main line alone.

    Of more than two pawns it has to prove all but one and a half.
    """
    if not is_gain(claim):
        return claim
    forced, worth = force.gain(scene.before, scene.move), gain_of(claim)
    slack = outcomes.SPARE if worth <= 2 * CENTIPAWNS[chess.PAWN] else 2 * force.LEAST
    sure = forced is not None and forced >= worth - slack
    return claim if sure else replace(claim, main=True)


def plain_threats(scene: Scene) -> list[Claim]:
    """Threats to a piece that is heeded at once, which is little to say and more than nothing."""
    threats = (claim for claim in proved_of(scene) if isinstance(claim, merit.Threatens))
    return [
        claim
        for claim in threats
        if claim.target is not None
        and claim.step.move.from_square == scene.landed
        and scene.captured is None
        and (scene.reply is None or scene.reply.to_square != scene.landed)
        and not faces(claim.target, claim.step, scene)
        and threatened(claim, scene) >= LEAST_THREAT
        and is_confirmed(claim, scene)
    ]


def wins_by(scene: Scene) -> list[outlook.Meets]:
    """The answer to the refutation, where it wins something as it does not where it refutes."""
    there = force.gain(scene.other.after)
    if there is None or there >= force.LEAST:
        return []

    def wins(claim: outlook.Meets) -> bool:
        better = scene.instead.after
        then = played(better, claim.reply.move)
        gain = force.gain(then, claim.answer.move)
        up = balance(then, scene.mover) - balance(better, scene.mover)  # what the reply takes
        return gain is not None and gain + 100 * up >= force.LEAST

    return [*filter(wins, outlook.meets(scene))]


def most_won(claims: Sequence[Claim]) -> Kinds:
    """The most that one of some claims says is won surely, with nothing given for it."""

    def won(claim: Claim) -> Kinds:
        match claim:
            case merit.Wins(kinds, ()) | outcomes.ComesOut(kinds, (), back=False, main=False):
                return kinds
            case aftermath.PicksUp(taken, (), main=False) | tactic.TakesLoose(taken):
                return (taken.kind,)
        return ()

    return max(map(won, claims), key=lambda kinds: worth_of(kinds, ()), default=())

"""What is to be said of a bad move: its cause, what was better, what it means for the game."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import chess

from kibitz.comment.analysis import LAST_LOOK
from kibitz.comment.claims import aftermath, outcomes, outlook
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, is_forced, step
from kibitz.comment.claims.cover import Covers, let_through, not_retaken, retaking_fails, uncovered
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.outlook import mark_of
from kibitz.comment.claims.sacrifices import GivesUp
from kibitz.comment.facts import Scene, Unit, phase
from kibitz.comment.judge import Label
from kibitz.comment.select.contrast import (
    CHASES,
    DEFENDS,
    FAINT,
    FORCING,
    GAINS,
    HITS,
    SAVES,
    SLIGHT,
    SOLID,
    any_solid,
    are_explained,
    breaks,
    brief,
    comes_too,
    consequences,
    costs_much,
    ends_apart,
    explains,
    falls_too,
    is_ahead_soon,
    is_by_product,
    is_chaff,
    is_declined,
    is_hard,
    is_loud,
    is_missed,
    is_of_a_pawn,
    is_shared,
    is_strong,
    is_the_cost,
    is_there_too,
    is_too_small,
    is_weighty,
    leaves,
    moves_of,
    parries,
    pays,
    same_reply,
    taken,
    telling,
    too_little,
    wins_by,
)
from kibitz.comment.select.rank import (
    Level,
    gain_of,
    is_confirmed,
    is_gain,
    is_lasting,
    is_unnamed,
    kind_of,
    plain_threats,
    proved_of,
    reasons,
)

# The criticism, and of what it says what is of the better move, and of the refutation.
Criticism: TypeAlias = tuple[tuple[Claim, ...], tuple[Claim, ...], tuple[Claim, ...]]


def intends(scene: Scene, level: Level) -> list[Claim]:
    """What a move threatens to do next, where that wins something.

    What the piece that moved attacks is said in short.
    """
    idea = outlook.next_idea(scene)
    if idea is None:
        return []
    gains = [*consequences(idea)]
    why = [claim for claim in reasons(idea, level, 2, gains) if pays(claim)]
    if idea.captured is not None and idea.move.from_square == scene.landed:
        hits = [claim for claim in proved_of(scene) if kind_of(claim) in HITS]
        why = [claim for claim in why if isinstance(claim, tactic.Fork)] if hits else why
        if hits and not why:
            return [claim for claim in hits if kind_of(claim) == "chases"][:1]
    intends = outlook.Intends(step(idea.before, idea.move), tuple(why[:1]))
    return [intends] if why and intends.proved(scene) else []


def criticised(scene: Scene, level: Level, keen: bool) -> Criticism:
    """Of a bad move: the cause, what it means for the game, and what was better."""
    reply, better = _two_sides(scene, level)
    causes = fault.faults(scene, tuple(reply))
    if any(map(is_hard, reply)) and any(map(_is_bare, causes[:1])):
        causes.sort(key=_is_bare)  # that it was threatened before says less than what it does
    causes = [_how_taken(scene, cause) for cause in causes]
    lines = fault.missed(scene, tuple(better))
    if (
        not keen
        and mark_of(scene) is Label.INACCURACY
        and not any(is_hard(claim) for claim in (*reply, *better, *causes[:1]))
        and not any(isinstance(line, fault.MissesMate) and line.moves == 1 for line in lines)
    ):
        return (), (), ()
    causes, lines = _told(scene, causes, lines, level, (reply, better))
    solid, opens = any_solid(better), _opened(scene, causes)
    early = not any_solid((*reply, *better))
    if early and fault.EarlyQueen().proved(scene):
        causes = [fault.EarlyQueen()]
    explained = any(explains(cause) for cause in causes[:1])
    takes = any(isinstance(claim, aftermath.Takes) for claim in better)
    if explained and not (solid or takes) and mark_of(scene) is Label.INACCURACY:
        # Too little to be named as better without something that is won or kept by it.
        lines = [line for line in lines if not isinstance(line, fault.Better)]
    elif solid and not opens and any(explains(line) for line in lines):
        causes = [cause for cause in causes if is_weighty(cause)]  # what was missed says it all
    mates = any(isinstance(claim, outcomes.MatesLater) for claim in better)
    if mates or any(isinstance(line, fault.MissesMate) for line in lines):
        decide = fault.AllowsMate, fault.Stalemates  # nothing else counts
        causes = [cause for cause in causes if isinstance(cause, decide)]
    stale = any(isinstance(cause, fault.Stalemates) for cause in causes)
    turn = None if stale else fault.turn_of(scene)
    opens = _opened(scene, causes)
    if not opens and is_chaff(causes, lines):
        causes = []
    criticism = (*opens, *causes[:1], *([turn] if turn else []), *lines)
    return criticism, tuple(better), tuple(reply)


def _told(
    scene: Scene,
    causes: list[Claim],
    lines: list[Claim],
    level: Level,
    sides: tuple[Sequence[Claim], Sequence[Claim]],
) -> tuple[list[Claim], list[Claim]]:
    """Causes and alternatives with more to say, where what is known explains little."""
    reply, better = sides
    solid, opens = any_solid(better), _opened(scene, causes)
    unsaid = not solid and any(map(_is_bare, causes[:1]))
    weak = not solid and all(kind_of(claim) in HITS for claim in reply or better)
    explained = not (unsaid or weak) and (bool(opens) or are_explained(causes, lines))
    if not explained:
        found = _intended(scene, causes, lines, level)
        if found is None and mark_of(scene) is not Label.INACCURACY:
            found = _further(scene, causes, lines, level)
        causes, lines = found or (causes, lines)
    elif not solid and all(map(is_by_product, reply or better)):
        causes, lines = _tangible(scene, causes, lines, level)
    told = any(explains(cause) and not _is_bare(cause) for cause in causes[:1])
    if not (solid or opens or told) and mark_of(scene) is not Label.INACCURACY:
        causes, lines = _plain(scene, causes, lines, level)
    return causes, _met(scene, causes, lines)


def _opened(scene: Scene, causes: Sequence[Claim]) -> list[Claim]:
    """What a move took guard or cover from, if that is lost by it, beside its refutation."""
    if not any(isinstance(cause, fault.Allows) for cause in causes[:1]):
        return []
    found: list[Claim] = [claim for claim in uncovered(scene) if not falls_too(claim.target, scene)]
    allows = causes[0]
    if not found and isinstance(allows, fault.Allows) and not any_solid(allows.why):
        found = [claim for claim in let_through(scene) if not comes_too(claim, scene)]
    return found[:1]


def _how_taken(scene: Scene, cause: Claim) -> Claim:
    """Of something that can be taken though it is guarded, why nothing takes back."""
    if not isinstance(cause, fault.EnPrise) or not (why := not_retaken(scene.other)):
        return cause
    takes = aftermath.Takes(cause.piece)
    return fault.Allows(cause.reply, (takes, *why)) if takes.proved(scene.other) else cause


def _two_sides(scene: Scene, level: Level) -> tuple[list[Claim], list[Claim]]:
    """What there is to be said of the refutation of a bad move, and of the better move."""
    most = 1 if level == "beginner" else 2
    reply, better = _refutation(scene, level, most), list[Claim]()
    if scene.had is not None and scene.had.line and scene.had.line[0] != scene.move:
        better = _merits_of_better(scene, reply, level, most)
    if phase(scene.before) != "endgame":  # where pawns do not decide
        reply, better = telling(reply, scene), telling(better, scene)
    if any_solid(better) and all(map(leaves, reply)):
        reply = []  # what is more says it all
    if level == "beginner":
        return reply, better
    theirs = [*moves_of(scene.instead.other)] if better and scene.instead.reply else []
    reply = with_threat(reply, scene.other, theirs) if reply else reply
    return reply, with_threat(better, scene.instead, []) if better else better


def _is_bare(cause: Claim) -> bool:
    """Whether a cause says that the reply was a threat already, and not of what."""
    return isinstance(cause, fault.Overlooks) and all(map(is_unnamed, cause.why))


def _intended(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> tuple[list[Claim], list[Claim]] | None:
    """What the refutation threatens to do next, or the better move, as nothing else explains."""
    best = next((line for line in lines if isinstance(line, fault.Better)), None)
    if causes and isinstance(causes[0], ANSWERS):
        why = tuple(intends(scene.other, level))
        theirs = [] if best is None else same_reply(scene)
        theirs += [] if best is None or not scene.instead.reply else [scene.instead.other]
        allows = fault.Allows(causes[0].reply, why)
        if why and not is_there_too(why[0], theirs) and allows.proved(scene):
            return [allows, *causes[1:]], lines
    if best is not None and all(kind_of(claim) in HITS for claim in best.why):
        better = fault.Better(best.step, tuple(intends(scene.instead, level)))
        shared = any(claim.proved(scene) for claim in better.why)
        if better.why and not shared and better.proved(scene):
            return causes, [better]
    return None


def _further(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> tuple[list[Claim], list[Claim]]:
    """What a later move of the refutation, or of the better line, does, as nothing else explains.

    What the other line has as well is no reason.
    """
    best = next((line for line in lines if isinstance(line, fault.Better)), None)
    if causes and isinstance(causes[0], ANSWERS):
        other = scene.instead.other if best is not None and scene.instead.reply else None
        plies, why = _later(scene.other, other, level)
        allows = fault.Allows(causes[0].reply, why, plies)
        if why and allows.proved(scene):
            return [allows, *causes[1:]], lines
    if best is not None and not best.why:
        plies, why = _later(scene.instead, scene, level)
        better = fault.Better(best.step, why, plies)
        if why and better.proved(scene):
            return causes, [better]
    return causes, lines


def _plain(
    scene: Scene,
    causes: list[Claim],
    lines: list[Claim],
    level: Level,
    kind: type[Claim] = Claim,
) -> tuple[list[Claim], list[Claim]]:
    """Cause or alternative by what stands on the board, where nothing else explains."""
    for claim in _on_the_board(scene, causes, lines, level):
        if isinstance(claim, kind) and claim.proved(scene):
            better = isinstance(claim, fault.Better)
            return (causes, [claim]) if better else ([claim, *causes[1:]], lines)
    return causes, lines


def _met(scene: Scene, causes: Sequence[Claim], lines: list[Claim]) -> list[Claim]:
    """How the better move meets the refutation, where nothing else is said of it."""
    plain = mark_of(scene) is Label.INACCURACY or not isinstance(next(iter(causes), None), ANSWERS)
    match lines:
        case [fault.Better(why=()) as best] if not plain:
            met = (claim for claim in outlook.meets(scene) if is_loud(claim, scene))
            return [fault.Better(best.step, (*met,))]
    return lines


def _tangible(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> tuple[list[Claim], list[Claim]]:
    """What a move threatens or takes before what stays of it, where a reason is of that alone."""
    if mark_of(scene) is Label.INACCURACY:
        return causes, lines
    if found := _intended(scene, causes, lines, level):
        return _plain(scene, *found, level, fault.Better)
    cause, line = causes[:1], lines[:1]
    if cause and isinstance(cause[0], ANSWERS) and (why := cause[0].why):
        allows = fault.Allows(cause[0].reply, (*taken(scene.other, scene), *why)[:2])
        if all(map(is_by_product, why)) and allows.proved(scene):
            causes = [allows, *causes[1:]]
    if line and isinstance(line[0], fault.Better) and (why := line[0].why) and not line[0].plies:
        better = fault.Better(line[0].step, (*taken(scene.instead, scene), *why)[:2])
        if all(map(is_by_product, why)) and better.proved(scene):
            lines = [better, *lines[1:]]
    return _plain(scene, causes, lines, level, fault.Better)


def _on_the_board(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> Iterator[Claim]:
    """What the refutation or the better move takes, or attacks; a piece that goes back.

    The better move has to be one of which nothing is said yet, but for what is taken at once.
    """
    best = next((line for line in lines if isinstance(line, fault.Better)), None)
    answer = causes[0] if causes and isinstance(causes[0], ANSWERS) else None
    theirs = [*moves_of(scene.instead.other)] if best and scene.instead.reply else []
    if answer and (why := taken(scene.other, scene)):
        yield fault.Allows(answer.reply, (*why, *_besides(scene.other, theirs)))
    if answer and (kept := retaking_fails(scene.other)) and not falls_too(kept[0].target, scene):
        yield fault.Allows(answer.reply, (*kept,))
    if best is None or best.why:
        return
    if why := taken(scene.instead, scene):
        yield fault.Better(best.step, (*why, *_besides(scene.instead, [])))
    if kept := retaking_fails(scene.instead):
        yield fault.Better(best.step, (*kept,))
    if answer and (later := scene.other.ahead(2)) and (why := taken(later, scene)):
        yield fault.Allows(answer.reply, why, 2)
    yield from fault.went_back(scene)
    for plies in (0, 2):
        if answer and (line := scene.other.ahead(plies)) and (why := _hits(line, level, theirs)):
            if plies and (is_of_a_pawn(why[0]) or not is_forced(scene.other, plies)):
                continue  # which explains too little for so late
            yield fault.Allows(answer.reply, why, plies)
    if (why := _hits(scene.instead, level, [])) and not is_shared(why[0], scene):
        yield fault.Better(best.step, why)
    later = scene.instead.ahead(2)
    if later and is_forced(scene.instead, 2):
        why = taken(later, scene) or _hits(later, level, [])
        if why and not is_shared(why[0], scene):
            yield fault.Better(best.step, why, 2)


def _hits(scene: Scene, level: Level, others: Sequence[Scene]) -> tuple[Claim, ...]:
    """What a move attacks, and others do not."""
    found = [claim for claim in reasons(scene, level, 3) if kind_of(claim) in ATTACKS]
    found = found or plain_threats(scene)
    return tuple(claim for claim in found if not is_there_too(claim, others))[:1]


def hit_next(line: Scene, others: Sequence[Scene]) -> list[Claim]:
    """What a piece that has taken something threatens to take next, and not in other lines."""
    threats: list[Claim] = [
        claim
        for claim in proved_of(line)
        if isinstance(claim, merit.Threatens)
        and claim.target is not None
        and claim.step.move.from_square == line.landed
        and claim.target.kind != chess.PAWN
        and not is_there_too(claim, others)
        and merit.threatened(claim, line) >= merit.LEAST_THREAT
        and is_confirmed(claim, line)
    ]
    return threats[:1]


def with_threat(claims: list[Claim], line: Scene, others: Sequence[Scene]) -> list[Claim]:
    """A single reason that is what a move takes at once, and what it threatens besides."""
    if len(claims) != 1 or line.captured is None or vars(claims[0]).get("line"):
        return claims
    takes = isinstance(claims[0], (*GAINS, aftermath.PicksUp, aftermath.Takes))
    return [*claims, *_besides(line, others)] if takes else claims


def _besides(line: Scene, others: Sequence[Scene]) -> Sequence[Claim]:
    """What a piece that has taken something is after next, or why nothing takes back."""
    return hit_next(line, others) or not_retaken(line)


def _covers(reply: Sequence[Claim], scene: Scene) -> Sequence[Claim]:
    """What the refutation is after and the better move guards, as the one made does not."""
    values = [value for claim in reply for value in vars(claim).values()]
    several = [each for value in values if isinstance(value, tuple) for each in value]
    targets = [value for value in (*values, *several) if isinstance(value, Unit)]
    return [
        claim
        for claim in map(Covers, targets)
        if claim.target.kind != chess.KING
        and scene.instead.captured is None
        and claim.proved(scene.instead)
        and not claim.proved(scene)
        and scene.instead.move.from_square != claim.target.square
    ][:1]


def _later(line: Scene, other: Scene | None, level: Level) -> tuple[int, tuple[Claim, ...]]:
    """The first later move of a line for which there is a reason, and that; none of another's."""
    theirs = [] if other is None else [*moves_of(other)]
    for number, scene in enumerate(moves_of(line)):
        for claim in reasons(scene, level, 3) if number else ():
            slight = kind_of(claim) in (*SLIGHT, *FAINT, *HITS, "bare_king", "UsesPin")
            if slight and not breaks(claim):
                continue
            new = not any(claim.proved(move) for move in theirs)
            plan = is_lasting(claim) and not (is_strong(claim) or breaks(claim))
            new = new and not (plan and phase(scene.before) != "endgame")
            apart = other is None or not isinstance(claim, GAINS) or ends_apart(line, other)
            plain = breaks(claim) or kind_of(claim) == "attacks_two"
            sure = plain or is_forced(line, 2 * number)
            if new and apart and sure:
                return 2 * number, (claim,)
    return 0, ()


def _refutation(scene: Scene, level: Level, most: int) -> list[Claim]:
    """What the reply to a bad move achieves that it would not after the better one."""
    if not scene.reply or not fault.answer_holds(scene):
        return []
    more = [claim for claim in consequences(scene.other) if is_the_cost(claim, scene)]
    claims = reasons(scene.other, level, most + 1, more)
    other = scene.had is not None and scene.had.line[:1] not in ((), (scene.move,))
    if other and not all(isinstance(claim, SOLID) for claim in claims):
        theirs = [*moves_of(scene.instead.other)] if scene.instead.reply else []
        theirs += same_reply(scene)
        same = CHASES if scene.instead.reply == scene.reply else ()
        claims = [
            claim
            for claim in claims
            if isinstance(claim, SOLID)
            or not (kind_of(claim) in same or is_there_too(claim, theirs))
        ]
    left_out = {*DEFENDS, *too_little(scene)}
    claims = [claim for claim in claims if not (is_declined(claim) or kind_of(claim) in left_out)]
    chosen = brief([claim for claim in claims if not is_too_small(claim, scene)][:most])
    if any_solid(chosen) and not all(map(is_unnamed, chosen)):
        return chosen
    return _and_main(chosen, [c for c in more if not is_too_small(c, scene)], scene.other, most)


def _and_main(chosen: list[Claim], more: Sequence[Claim], line: Scene, most: int) -> list[Claim]:
    """Reasons, and what is won in the main line, though other answers may lose less."""
    won = _in_main_line(more, line)
    targets = {getattr(claim, "target", None) for claim in won}
    how = [
        claim
        for claim in chosen
        if not (isinstance(claim, UNTOLD) or is_unnamed(claim) or vars(claim).get("line"))
        and not (isinstance(claim, Feature) and targets & {*claim.pieces})
    ]
    return [*how[: most - len(won)], *won] if won else chosen


def _in_main_line(claims: Sequence[Claim], line: Scene) -> Sequence[Claim]:
    """The largest gain in a line that is not sure, said of its main line alone, if it is named.

    Of equal ones it is that which says where.
    """
    gains = [claim for claim in claims if is_gain(claim)]
    unsure = [
        replace(claim, main=True)
        for claim in gains
        if not (is_unnamed(claim) or is_confirmed(claim, line))
    ]
    unsure.sort(key=lambda claim: (gain_of(claim), isinstance(claim, aftermath.PicksUp)))
    return unsure[-1:]


def _merits_of_better(scene: Scene, reply: Sequence[Claim], level: Level, most: int) -> list[Claim]:
    """Why another move was better."""
    instead = scene.instead
    more = [claim for claim in consequences(instead) if is_missed(claim, scene)]
    left_out = too_little(scene) - {*SAVES}
    if not scene.takes_back and is_ahead_soon(instead, scene):
        left_out -= {"TakesBack"}  # which the move made has left undone
    claims = [
        claim
        for claim in reasons(instead, level, most, more)
        if not (is_shared(claim, scene) or is_declined(claim) or is_too_small(claim, scene))
        and kind_of(claim) not in left_out
    ]
    better, avoids = brief(claims), fault.AvoidsLoss()
    if scene.reply:
        prevents = fault.Prevents(step(scene.after, scene.reply))
        parried = any(parries(claim, prevents.reply) for claim in better)
        if not parried and prevents.proved(instead):
            mates = scene.other.after.is_checkmate()
            better = ([prevents, *better] if mates else [*better, prevents])[:most]
        elif not (parried or any_solid(better)) and (guards := _covers(reply, scene)):
            better = [*guards, *(claim for claim in better if kind_of(claim) not in DEFENDS)][:most]
        elif not (parried or any_solid(better)):
            better = [*better, *(claim for claim in outlook.meets(scene) if wins_by(claim, scene))]
            better = better[-most:]
    if not any_solid(better) or all(map(is_unnamed, better)):
        better = _and_main(better, more, instead, most)
    taking = (*GAINS, outcomes.ComesOut, aftermath.PicksUp)
    gains = [claim for claim in reply if isinstance(claim, taking)]
    if not better and gains and costs_much(scene) and avoids.proved(instead):
        saves = avoids.proved(instead.searched_with(LAST_LOOK)) and ends_apart(instead, scene)
        better = [avoids] if saves else []
    return better


ATTACKS = (*FORCING, "strikes")
UNTOLD = (GivesUp, fault.Prevents, outlook.Meets)  # beside what is won in a line, which shows it
ANSWERS = (fault.Allows, fault.Overlooks)

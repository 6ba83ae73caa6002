"""What is to be said of a bad move: its cause, what was better, what it means for the game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import chess

from kibitz.comment.analysis import LAST_LOOK
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims.claim import CENTIPAWNS, Claim, step, takes_for_good
from kibitz.comment.claims.cover import Covers, hampered, let_through, not_retaken, uncovered
from kibitz.comment.claims.endings import WrongBishop
from kibitz.comment.claims.features import Feature, Finder
from kibitz.comment.claims.grades import Springs, WalksInto, springs
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.lines.outlook import Draws, mark_of
from kibitz.comment.claims.plain import BETTERING, REFUTING
from kibitz.comment.claims.sacrifices import GivesUp
from kibitz.comment.facts import Scene, Unit, phase
from kibitz.comment.judge import Label
from kibitz.comment.select.contrast import (
    PIECE,
    as_good,
    as_good_reply,
    comes_too,
    consequences,
    ends_apart,
    falls_anyway,
    falls_too,
    is_ahead_soon,
    is_guard_of_nothing,
    is_incidental,
    is_missed,
    is_shared,
    is_spent,
    is_the_cost,
    is_there_too,
    is_too_small,
    moves_of,
    same_reply,
    takes_later,
    was_threatened,
)
from kibitz.comment.select.further import (
    how_it_wins,
    intended,
    later_in_line,
    met,
    on_the_board,
    tangible,
    with_threat,
)
from kibitz.comment.select.kinds import (
    CHASES,
    DEFENDS,
    FAINT,
    FORCING,
    GAINS,
    HITS,
    PLACES,
    SAVES,
    SLIGHT,
    SOLID,
    any_solid,
    are_explained,
    brief,
    costs_much,
    explains,
    is_by_product,
    is_declined,
    is_hard,
    is_hit,
    is_strong,
    leaves,
    parries,
)
from kibitz.comment.select.rank import Level, is_confirmed, is_unnamed, kind_of
from kibitz.comment.select.reasons import gain_of, is_gain, reasons, wins_by

# The criticism, and of what it says what is of the better move, and of the refutation.
Criticism: TypeAlias = tuple[tuple[Claim, ...], tuple[Claim, ...], tuple[Claim, ...]]


def criticised(scene: Scene, level: Level, keen: bool) -> Criticism:
    """Of a bad move: the cause, what it means for the game, and what was better."""
    walks = [claim for claim in springs(scene) if isinstance(claim, WalksInto)]
    reply, better = _two_sides(scene, level)
    reply = [claim for claim in reply if not (walks and isinstance(claim, Springs))]
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
        return tuple(walks), (), ()
    causes, lines = _told(scene, causes, lines, level, (reply, better))
    solid, opens = any_solid(better), _opened(scene, causes, better)
    early = not any_solid((*reply, *better))
    if early and fault.EarlyQueen().proved(scene):
        causes = [fault.EarlyQueen()]
    explained = any(explains(cause) for cause in causes[:1])
    takes = any(isinstance(claim, aftermath.Takes) for claim in better)
    if explained and not (solid or takes) and mark_of(scene) is Label.INACCURACY:
        # Too little to be named as better without something that is won or kept by it.
        lines = [line for line in lines if not isinstance(line, fault.Better)]
    elif solid and not opens and any(explains(line) for line in lines):
        causes = [cause for cause in causes if _is_weighty(cause)]  # what was missed says it all
    mates = any(isinstance(claim, outcomes.MatesLater) for claim in better)
    if mates or any(isinstance(line, fault.MissesMate) for line in lines):
        decide = fault.AllowsMate, fault.Stalemates  # nothing else counts, but a draw
        causes = [c for c in causes if isinstance(c, decide) or _draws(c)]
    stale = any(isinstance(cause, fault.Stalemates) for cause in causes)
    turn = None if stale else fault.turn_of(scene)
    opens = _opened(scene, causes, better) or _hampered(scene, causes, lines)
    small = mark_of(scene) is Label.INACCURACY and bool(lines)
    idle = _is_line(causes) and (small or is_there_anyway(scene, lines))
    if not opens and (_is_chaff(causes, lines) or idle):
        causes = []
    if any(claim.line for claim in walks):
        causes = []  # how the trap is sprung says what they would
    causes, lines = _plainly(scene, causes, lines, keen)
    criticism = (*walks, *opens, *causes[:1], *([turn] if turn else []), *lines)
    return criticism, tuple(better), tuple(reply)


def _draws(cause: Claim) -> bool:
    """Whether a cause is that the reply saves a lost game."""
    why = cause.why if isinstance(cause, fault.Allows) else ()
    return any(isinstance(claim, Draws) or kind_of(claim) == "stalemate_trick" for claim in why)


def _told(
    scene: Scene,
    causes: list[Claim],
    lines: list[Claim],
    level: Level,
    sides: tuple[Sequence[Claim], Sequence[Claim]],
) -> tuple[list[Claim], list[Claim]]:
    """Causes and alternatives with more to say, where what is known explains little."""
    reply, better = sides
    solid, opens = any_solid(better), _opened(scene, causes, better)
    unsaid = not solid and any(map(_is_bare, causes[:1]))
    weak = not solid and all(kind_of(claim) in HITS for claim in reply or better)
    explained = not (unsaid or weak) and (bool(opens) or are_explained(causes, lines))
    if not explained:
        found = intended(scene, causes, lines, level)
        if found is None and mark_of(scene) is not Label.INACCURACY:
            found = later_in_line(scene, causes, lines, level)
        causes, lines = found or (causes, lines)
    elif not solid and all(map(is_by_product, reply or better)):
        causes, lines = tangible(scene, causes, lines, level)
    causes = [*(_named(cause, scene, level) for cause in causes[:1]), *causes[1:]]
    lines = [_named(line, scene, level) for line in lines]
    told = any(explains(cause) and not _is_bare(cause) for cause in causes[:1])
    if not (solid or opens) and mark_of(scene) is not Label.INACCURACY:
        kind = fault.Better if told else Claim
        causes, lines = on_the_board(scene, causes, lines, level, kind)
    return causes, met(scene, causes, [_its_own(line, scene) for line in lines])


def _named(claim: Claim, scene: Scene, level: Level) -> Claim:
    """A refutation or better move with the motif that wins, if only "wins material" was known."""
    if not isinstance(claim, (fault.Allows, fault.Better)) or not claim.why:
        return claim
    if not all(map(is_unnamed, claim.why)):
        return claim
    line = scene.other if isinstance(claim, fault.Allows) else scene.instead
    plies, how = how_it_wins(line, level)
    return replace(claim, why=how, plies=plies) if how else claim


def _its_own(line: Claim, scene: Scene) -> Claim:
    """A better move without what another as good one does not do."""
    if not isinstance(line, fault.Better) or not line.why:
        return line
    why = tuple(claim for claim in line.why if not is_incidental(claim, scene, as_good))
    return line if why == line.why else fault.Better(line.step, why, line.plies if why else 0)


def _opened(scene: Scene, causes: Sequence[Claim], better: Sequence[Claim]) -> list[Claim]:
    """What a move took guard or cover from, if that is lost by it, beside its refutation."""
    if not any(isinstance(cause, fault.Allows) for cause in causes[:1]):
        return []
    if scene.reply is not None and scene.reply.to_square == scene.landed:
        return []  # where it is taken it guards nothing anyway
    allows = causes[0]
    found: list[Claim] = [
        claim
        for claim in uncovered(scene)
        if not (falls_too(claim.target, scene) or wins_more(allows, claim.target))
    ]
    if scene.other.piece.kind == chess.KING and any_solid(better):
        return found[:1]  # what was missed says more than where the king may go
    if not found and isinstance(allows, fault.Allows) and not any_solid(allows.why):
        found = [claim for claim in let_through(scene) if not comes_too(claim, scene)]
    return found[:1]


def _hampered(scene: Scene, causes: Sequence[Claim], lines: Sequence[Claim]) -> list[Claim]:
    """What a move does to its own pieces, where no line says why it is bad."""
    bare = mark_of(scene) is not Label.INACCURACY and _is_line(causes)
    return [*hampered(scene)[:1]] if bare and not any(map(explains, lines)) else []


def wins_more(cause: Claim, target: Unit) -> bool:
    """Whether the refutation wins a piece, where the target is a pawn."""
    why = cause.why if isinstance(cause, fault.Allows) else ()
    pieces = (claim for claim in why if is_gain(claim) and gain_of(claim) > CENTIPAWNS[chess.PAWN])
    return target.kind == chess.PAWN and any(pieces)


def _plainly(
    scene: Scene, causes: list[Claim], lines: list[Claim], keen: bool
) -> tuple[list[Claim], list[Claim]]:
    """What a refutation and a better move plainly do, where neither has a reason."""
    wrong = [claim for claim in [WrongBishop(scene.mover)] if claim.proved(scene)]
    if wrong:
        return [*wrong, *causes], lines
    quiet = [cause for cause in causes[:1] if _wins_quietly(cause)]
    slight = mark_of(scene) is Label.INACCURACY and not keen
    if slight or (are_explained(causes, lines) and not quiet):
        return causes, lines
    told = []
    for claim in (*causes, *lines):
        if isinstance(claim, fault.Allows) and (claim in quiet or not claim.why):
            answers = [scene.instead.other, *same_reply(scene)] if scene.instead.reply else []
            why = _does(REFUTING, scene.other, answers if lines else [])
            claim = replace(claim, why=(*claim.why, *why))
        elif isinstance(claim, fault.Better) and not (quiet or claim.why):
            claim = replace(claim, why=_does(BETTERING, scene.instead, [scene]))
        told.append(claim)
    return told[: len(causes)], told[len(causes) :]


def _wins_quietly(cause: Claim) -> bool:
    """Whether a cause says of the refutation that it wins as a quiet move, and not how."""
    return isinstance(cause, fault.Allows) and [*map(kind_of, cause.why)] == ["quiet_killer"]


def _does(finders: Sequence[Finder], line: Scene, others: Sequence[Scene]) -> tuple[Claim, ...]:
    """The first thing that a move plainly does, and others do not."""
    for find in finders:
        shared = [found.pieces[:1] for other in others for found in find(other)]
        for found in find(line):
            if found.pieces[:1] not in shared:
                return (found,)
    return ()


def _is_chaff(causes: Sequence[Claim], lines: Sequence[Claim]) -> bool:
    """Whether a cause is a bare line, and the better move has a reason of its own."""
    best = next((line for line in lines if isinstance(line, fault.Better)), None)
    of_reply = (fault.Prevents, outlook.Meets, fault.AvoidsLoss)
    return (
        _is_line(causes)
        and best is not None
        and any(not (isinstance(why, of_reply) or is_hit(why)) for why in best.why)
    )


def _is_line(causes: Sequence[Claim]) -> bool:
    """Whether the cause is a line of which nothing is said."""
    return any(isinstance(cause, fault.Allows) and not cause.why for cause in causes[:1])


def is_there_anyway(scene: Scene, lines: Sequence[Claim]) -> bool:
    """Whether the refutation is what answers the better move, too."""
    return any(isinstance(line, fault.Better) for line in lines) and (
        scene.instead.reply is not None and scene.instead.reply == scene.reply
    )


def _is_weighty(cause: Claim) -> bool:
    """Whether a cause is more than what the refutation does besides."""
    if not isinstance(cause, fault.Allows):
        return True
    return _draws(cause) or any(isinstance(claim, SOLID) or is_hard(claim) for claim in cause.why)


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


def telling(claims: Sequence[Claim], scene: Scene) -> list[Claim]:
    """The claims that explain a bad move: a plan only where nothing more tangible does."""
    hard = [claim for claim in claims if is_hard(claim) or kind_of(claim) in FORCING]
    if hard or mark_of(scene) is Label.INACCURACY:
        return hard
    if mark_of(scene) is Label.BLUNDER:
        # An outpost far up may be the point if it costs no piece, a pawn far up in any case.
        plans = {"Outpost": not costs_much(scene, PIECE), "PassedPawnAdvances": True}
        return [
            claim
            for claim in claims
            if kind_of(claim) not in plans or (plans[kind_of(claim)] and is_strong(claim))
        ]
    return list(claims)


def too_little(scene: Scene) -> set[str]:
    """Kinds of claims that are not what a move is bad for, as it costs much more."""
    if not costs_much(scene):
        return set()
    kinds = {*FAINT, *PLACES, "bare_king"}
    if phase(scene.before) == "endgame":  # where a piece without a move may decide
        pieces = scene.before.occupied ^ scene.before.pawns ^ scene.before.kings
        return kinds - {"dominates"} | ({"king_to_centre"} if pieces else set())
    return kinds | {*SLIGHT}


def _is_bare(cause: Claim) -> bool:
    """Whether a cause says that the reply was a threat already, and not of what."""
    return isinstance(cause, fault.Overlooks) and all(map(is_unnamed, cause.why))


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
        and claim.target.square not in scene.before.attacks(scene.instead.move.from_square)
    ][:1]


def _refutation(scene: Scene, level: Level, most: int) -> list[Claim]:
    """What the reply to a bad move achieves that it would not after the better one."""
    if not scene.reply or not outlook.answer_holds(scene):
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
            if not (falls_anyway(claim, scene) or was_threatened(claim, scene))
            if not is_incidental(claim, scene, as_good_reply)
            if isinstance(claim, SOLID)
            or not (kind_of(claim) in same or is_there_too(claim, theirs))
        ]
    left_out = {*DEFENDS, *too_little(scene)}
    much = costs_much(scene)
    claims = [
        claim
        for claim in claims
        if not (is_declined(claim) or kind_of(claim) in left_out)
        and not (much and is_spent(claim, scene.other))
    ]
    chosen = brief([claim for claim in claims if not is_too_small(claim, scene)][:most])
    if any_solid(chosen) and not all(map(is_unnamed, chosen)):
        return chosen
    return _and_main(chosen, [c for c in more if not is_too_small(c, scene)], scene.other, most)


def _and_main(chosen: list[Claim], more: Sequence[Claim], line: Scene, most: int) -> list[Claim]:
    """Reasons, and what is won in the main line, though other answers may lose less."""
    if any(isinstance(claim, GivesUp) and claim.aim == "mate" for claim in chosen):
        return chosen  # beside which nothing counts
    if any(kind_of(claim) == "greek_gift" for claim in chosen):
        return chosen
    offers = [c for c in chosen if isinstance(c, GivesUp) and c.aim == "mated"]
    if offers:  # which says why what has taken something cannot be taken
        return [*(claim for claim in more if isinstance(claim, aftermath.Takes)), *offers][:most]
    won = _in_main_line(more, line)
    targets = {getattr(claim, "target", None) for claim in won}
    how = [
        claim
        for claim in chosen
        if not (isinstance(claim, UNTOLD) or is_unnamed(claim) or vars(claim).get("line"))
        and not (isinstance(claim, Feature) and targets & {*claim.pieces})
        and not (isinstance(claim, aftermath.Takes) and _is_of(won, claim.target))
    ]
    return [*how[: most - len(won)], *won] if won else chosen


def _is_of(gains: Sequence[Claim], target: Unit) -> bool:
    """Whether gains are no more than a piece that is taken at once."""
    return any(getattr(claim, "won", None) == (target.kind,) for claim in gains)


def _in_main_line(claims: Sequence[Claim], line: Scene) -> Sequence[Claim]:
    """The largest gain in a line that is not sure, said of its main line alone, if it is named.

    A long look has to have it in its own line. Of equal ones it is that which says where.
    """
    gains = [claim for claim in claims if is_gain(claim)]
    unsure = [
        replace(claim, main=True)
        for claim in gains
        if not (is_unnamed(claim) or is_confirmed(claim, line))
    ]
    unsure = [
        claim
        for claim in unsure
        if is_confirmed(claim, line) and takes_for_good(line, vars(claim).get("line") or "")
    ]
    unsure.sort(key=lambda claim: (gain_of(claim), isinstance(claim, aftermath.PicksUp)))
    return unsure[-1:]


def _merits_of_better(scene: Scene, reply: Sequence[Claim], level: Level, most: int) -> list[Claim]:
    """Why another move was better."""
    instead = scene.instead
    more = [claim for claim in consequences(instead) if is_missed(claim, scene)]
    left_out = too_little(scene) - {*SAVES}
    if not scene.takes_back and is_ahead_soon(instead, scene) and not takes_later(scene):
        left_out -= {"TakesBack"}  # which the move made has left undone
    claims = [
        claim
        for claim in reasons(instead, level, most, more)
        if not (is_shared(claim, scene) or is_declined(claim) or is_too_small(claim, scene))
        and kind_of(claim) not in left_out
        and not (
            costs_much(scene) and (is_spent(claim, instead) or is_guard_of_nothing(claim, scene))
        )
        and not is_incidental(claim, scene, as_good)
    ]
    better, avoids = brief(claims), fault.AvoidsLoss()
    if scene.reply:
        prevents = fault.Prevents(step(scene.after, scene.reply))
        parried = any(parries(claim, prevents.reply) for claim in better)
        mates = scene.other.after.is_checkmate()
        # To rule out a move says something only where it is known what that move does.
        known = bool(reply) or mates or scene.other.captured is not None
        known = known and scene.other.captured != scene.piece  # which need not have gone there
        if not parried and known and prevents.proved(instead):
            better = ([prevents, *better] if mates else [*better, prevents])[:most]
        elif not (parried or any_solid(better)) and (guards := _covers(reply, scene)):
            better = [*guards, *(claim for claim in better if kind_of(claim) not in DEFENDS)][:most]
        elif not (parried or any_solid(better)):
            better = [*better, *wins_by(scene)][-most:]
    if not any_solid(better) or all(map(is_unnamed, better)):
        better = _and_main(better, more, instead, most)
    taking = (*GAINS, outcomes.ComesOut, aftermath.PicksUp)
    gains = [claim for claim in reply if isinstance(claim, taking)]
    if not better and gains and costs_much(scene) and avoids.proved(instead):
        saves = avoids.proved(instead.searched_with(LAST_LOOK)) and ends_apart(instead, scene)
        better = [avoids] if saves else []
    return better


UNTOLD = (GivesUp, fault.Prevents, outlook.Meets)  # beside what is won in a line, which shows it

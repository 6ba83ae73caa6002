"""What else is to be said of a bad move, where its refutation and the better move explain little.

What they threaten to do next, what a later move of their lines does, what stands on the board.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import chess

from kibitz.comment.analysis import AS_GOOD, LAST_LOOK
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, falls_along, is_forced, step
from kibitz.comment.claims.cover import not_retaken, retaking_fails
from kibitz.comment.claims.features import imbalance
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.lines.outlook import is_forcing, mark_of
from kibitz.comment.claims.motifs import MUST_PAY
from kibitz.comment.claims.structure import attacks_loose
from kibitz.comment.facts import Scene, Unit, balance, phase, unit
from kibitz.comment.judge import Label
from kibitz.comment.select.contrast import (
    PIECE,
    consequences,
    ends_apart,
    falls_too,
    is_missed,
    is_new_trade,
    is_shared,
    is_spent,
    is_the_cost,
    is_there_too,
    moves_of,
    same_reply,
    taken,
    takes_later,
    was_threatened,
)
from kibitz.comment.select.kinds import (
    FAINT,
    FORCING,
    GAINS,
    HITS,
    SLIGHT,
    breaks,
    costs_much,
    is_by_product,
    is_hard,
    is_hit,
    is_of_a_pawn,
    is_of_one_pawn,
    is_strong,
    pays,
    threatens_little,
)
from kibitz.comment.select.rank import (
    Level,
    is_confirmed,
    is_lasting,
    kind_of,
    proved_of,
    threatens_mate,
)
from kibitz.comment.select.reasons import plain_threats, reasons

ATTACKS = (*FORCING, "strikes")
FALLS = 4  # plies after an attack in which a piece is lost
ANSWERS = (fault.Allows, fault.Overlooks)
# What the second move of a line may do as a reason, though its first answer is not forced.
AT_HAND = ("attacks_two", "ThreatensMate", "escorts", "Seventh", "Undermines", "Pins")


def intends(scene: Scene, level: Level) -> list[Claim]:
    """What a move threatens to do next, where that wins something.

    What the piece that moved attacks is said in short.
    """
    idea = outlook.next_idea(scene)
    if idea is None:
        return []
    gains = [*consequences(idea)]
    found = reasons(idea, level, 2, gains)
    why = [*filter(pays, found)] or [*filter(threatens_mate, found)]
    why = [claim for claim in why if not (is_of_one_pawn(claim) and vars(claim).get("main"))]
    why = [claim for claim in why if not threatens_little(claim, scene.value or 0.0)]
    if idea.captured is not None and idea.captured.kind != chess.PAWN:
        loose = tactic.TakesLoose(idea.captured)  # which is enough, whatever is hit besides
        why = [loose] if loose.proved(idea) else why
    if idea.captured is not None and idea.move.from_square == scene.landed:
        hits = [*filter(is_hit, proved_of(scene))]
        why = [claim for claim in why if isinstance(claim, tactic.Fork)] if hits else why
        if hits and not why:
            return [claim for claim in hits if kind_of(claim) == "chases"][:1]
    target = getattr(why[0], "target", None) if why else None
    other = idea.move.from_square != scene.landed
    if other and target is not None and target.square in scene.after.attacks(scene.landed):
        return []  # which it may take at once
    intends = outlook.Intends(step(idea.before, idea.move), tuple(why[:1]))
    return [intends] if why and intends.proved(scene) else []


def intended(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> tuple[list[Claim], list[Claim]] | None:
    """What the refutation threatens to do next, or the better move, as nothing else explains."""
    best = next((line for line in lines if isinstance(line, fault.Better)), None)
    found = False
    if causes and isinstance(causes[0], ANSWERS):
        why = tuple(intends(scene.other, level))
        theirs = [] if best is None else same_reply(scene)
        theirs += [] if best is None or not scene.instead.reply else [scene.instead.other]
        allows = fault.Allows(causes[0].reply, why)
        idle = bool(why) and (is_there_too(why[0], theirs) or is_spent(why[0], scene.other))
        idle = idle or (bool(why) and was_threatened(why[0], scene))
        if why and not idle and allows.proved(scene):
            causes, found = [allows, *causes[1:]], True
            if not all(map(is_hit, why)):
                return causes, lines
    took = scene.instead.captured if best is not None else None
    plain = took is None or took.kind == chess.PAWN  # else what it takes says more
    if best is not None and plain and all(map(is_hit, best.why)):
        better = fault.Better(best.step, tuple(intends(scene.instead, level)))
        shared = any(
            claim.proved(scene) or is_shared(claim, scene) or is_spent(claim, scene.instead)
            for claim in better.why
        )
        if better.why and not shared and better.proved(scene):
            return causes, [better]
    return (causes, lines) if found else None


def later_in_line(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> tuple[list[Claim], list[Claim]]:
    """What a later move of the refutation, or of the better line, does, as nothing else explains.

    What the other line has as well is no reason.
    """
    best = next((line for line in lines if isinstance(line, fault.Better)), None)
    if causes and isinstance(causes[0], ANSWERS):
        other = scene.instead.other if best is not None and scene.instead.reply else None
        hits = bool(causes[0].why) and all(map(is_hit, causes[0].why))
        plies, why = _later(scene.other, other, level, hits)
        plies, why = (plies, why) if why else (2, _after_check(scene, other, level))
        allows = fault.Allows(causes[0].reply, why, plies)
        if why and allows.proved(scene):
            return [allows, *causes[1:]], lines
    if best is not None and not best.why:
        plies, why = _later(scene.instead, scene, level)
        better = fault.Better(best.step, why, plies)
        if why and better.proved(scene):
            return causes, [better]
    return causes, lines


def _later(
    line: Scene, other: Scene | None, level: Level, hits: bool = False
) -> tuple[int, tuple[Claim, ...]]:
    """The first later move of a line for which there is a reason, and that; none of another's.

    The answers before it have to be forced, unless all that is known of the first is what it hits.
    """
    theirs = [] if other is None else [*moves_of(other)]
    there = () if other is None else other.course[::2]
    for number, scene in enumerate(moves_of(line)):
        for claim in reasons(scene, level, 3) if number else ():
            slight = kind_of(claim) in (*SLIGHT, *FAINT, *HITS, "bare_king", "UsesPin")
            strikes = breaks(claim) and (number == 1 or _is_quiet(line, 2 * number))
            if (slight and not strikes) or is_spent(claim, scene):
                continue
            new = not any(claim.proved(move) for move in theirs)
            new = new and not (strikes and scene.move in there)
            plan = is_lasting(claim) and not (is_strong(claim) or strikes)
            new = new and not (plan and phase(scene.before) != "endgame")
            apart = other is None or not isinstance(claim, GAINS) or ends_apart(line, other)
            motif = isinstance(claim, MUST_PAY) and _is_best(line.other)
            plain = strikes or (number == 1 and (motif or kind_of(claim) in AT_HAND))
            plain = plain or (hits and is_hard(claim))
            sure = plain or is_forced(line, 2 * number)
            if new and apart and sure and _is_best(scene):
                return 2 * number, (claim,)
    return 0, ()


def _after_check(scene: Scene, other: Scene | None, level: Level) -> tuple[Claim, ...]:
    """What a quiet move threatens that follows when the answer has given check."""
    line = scene.other.ahead(2) if scene.after.gives_check(scene.other.move) else None
    if line is None or line.captured is not None or line.after.is_check():
        return ()
    theirs = [] if other is None else [*moves_of(other)]
    return tuple(
        claim
        for claim in intends(line, level)
        if not (is_hit(claim) or is_there_too(claim, theirs) or was_threatened(claim, scene))
        and (_is_best(line) or _is_as_good(line))
    )


def how_it_wins(line: Scene, level: Level) -> tuple[int, tuple[Claim, ...]]:
    """The motif by which a later move of a line wins, and the plies until then."""
    for number, scene in enumerate(moves_of(line)):
        for claim in reasons(scene, level, 3) if number else ():
            if isinstance(claim, MUST_PAY) and _is_best(scene):
                return 2 * number, (claim,)
    return 0, ()


def _is_best(scene: Scene) -> bool:
    """Whether a long look, too, expects the move of a line."""
    expected = scene.analysis.expected(scene.before, LAST_LOOK)
    return expected is None or expected[:1] == [scene.move]


def _is_as_good(scene: Scene) -> bool:
    """Whether long looks find the move of a line as good as the one that they expect."""
    boards = scene.before, scene.after
    looks = [scene.analysis.deeper(board, LAST_LOOK) for board in boards]
    return sum(look.value for look in looks if look is not None) <= AS_GOOD


def _is_quiet(line: Scene, plies: int) -> bool:
    """Whether nothing is taken in the first moves of a line."""
    moves = zip(line.course_boards[:plies], line.course[:plies], strict=True)
    return not any(board.is_capture(move) for board, move in moves)


def on_the_board(
    scene: Scene,
    causes: list[Claim],
    lines: list[Claim],
    level: Level,
    kind: type[Claim] = Claim,
) -> tuple[list[Claim], list[Claim]]:
    """Cause or alternative by what stands on the board, where nothing else explains."""
    for claim in _found_on_the_board(scene, causes, lines, level):
        if isinstance(claim, kind) and claim.proved(scene):
            better = isinstance(claim, fault.Better)
            return (causes, [claim]) if better else ([claim, *causes[1:]], lines)
    return causes, lines


def met(scene: Scene, causes: Sequence[Claim], lines: list[Claim]) -> list[Claim]:
    """How the better move meets the refutation, or takes back, where nothing else is said of it."""
    plain = mark_of(scene) is Label.INACCURACY or not all(
        isinstance(cause, ANSWERS) for cause in causes[:1]
    )
    match lines:
        case [fault.Better(why=()) as best] if not plain:
            hits = bool(causes) and any(_hits_there_too(why, scene) for why in _why(causes[0]))
            met = (claim for claim in outlook.meets(scene) if hits or _is_loud(claim, scene))
            return [fault.Better(best.step, (*met,) or _back(scene))]
    return lines


def _why(cause: Claim) -> tuple[Claim, ...]:
    """What is said of a refutation."""
    return cause.why if isinstance(cause, ANSWERS) else ()


def _hits_there_too(claim: Claim, scene: Scene) -> bool:
    """Whether the refutation attacks the same, or runs on, after the better move as well.

    So that it counts how that is answered.
    """
    runs = isinstance(claim, changed.PassedPawnAdvances)
    return (runs or kind_of(claim) in ATTACKS or is_hit(claim)) and is_there_too(
        claim, same_reply(scene)
    )


def _back(scene: Scene) -> tuple[Claim, ...]:
    """That the better move takes a piece back, as the one made does not."""
    if scene.instead.captured is None:
        return ()
    later = takes_later(scene) and mark_of(scene) is not Label.BLUNDER
    if scene.takes_back or later or is_new_trade(scene):
        return ()
    claims = consequences(scene.instead)
    return tuple(claim for claim in claims if isinstance(claim, outcomes.TakesBack))[:1]


def _is_loud(claim: outlook.Meets, scene: Scene) -> bool:
    """Whether the refutation takes something, checks or threatens mate, or is taken itself."""
    reply, answer = claim.reply.move, claim.answer.move
    loud = is_forcing(scene.instead.after, reply) or scene.after.gives_check(reply)
    return loud or bool(claim.mate) or answer.to_square == reply.to_square


def tangible(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> tuple[list[Claim], list[Claim]]:
    """What a move threatens or takes before what stays of it, where a reason is of that alone."""
    if mark_of(scene) is Label.INACCURACY:
        return causes, lines
    if found := intended(scene, causes, lines, level):
        return on_the_board(scene, *found, level, fault.Better)
    cause, line = causes[:1], lines[:1]
    if cause and isinstance(cause[0], ANSWERS) and (why := cause[0].why):
        allows = fault.Allows(cause[0].reply, (*taken(scene.other, scene), *why)[:2])
        if all(map(is_by_product, why)) and allows.proved(scene):
            causes = [allows, *causes[1:]]
    if line and isinstance(line[0], fault.Better) and (why := line[0].why) and not line[0].plies:
        better = fault.Better(line[0].step, (*taken(scene.instead, scene), *why)[:2])
        if all(map(is_by_product, why)) and better.proved(scene):
            lines = [better, *lines[1:]]
    return on_the_board(scene, causes, lines, level, fault.Better)


def _found_on_the_board(
    scene: Scene, causes: list[Claim], lines: list[Claim], level: Level
) -> Iterator[Claim]:
    """What the refutation or the better move takes, attacks or leaves; a piece that goes back.

    Of the better move nothing may be said yet, but for what is taken at once.
    """
    best = next((line for line in lines if isinstance(line, fault.Better)), None)
    answer = causes[0] if causes and isinstance(causes[0], ANSWERS) else None
    theirs = [*moves_of(scene.instead.other)] if best and scene.instead.reply else []
    theirs += same_reply(scene) if best and scene.reply else []
    if answer and (why := taken(scene.other, scene)):
        yield fault.Allows(answer.reply, (*why, *_besides(scene.other, theirs)))
    if answer and best and (why := _square_taken(scene)):
        yield fault.Allows(answer.reply, why)
    if answer and (kept := retaking_fails(scene.other)) and not falls_too(kept[0].target, scene):
        yield fault.Allows(answer.reply, (*kept,))
    if best is None or best.why:
        return
    if why := taken(scene.instead, scene):
        yield fault.Better(best.step, (*why, *_besides(scene.instead, [])))
    if kept := retaking_fails(scene.instead):
        yield fault.Better(best.step, (*kept,))
    later = scene.other.ahead(2) if answer else None
    if answer and later and not later.takes_back and (why := taken(later, scene)):
        yield fault.Allows(answer.reply, why, 2)
    if mark_of(scene) is not Label.BLUNDER:
        yield from fault.went_back(scene)
    for plies in (0, 2):
        if answer and (line := scene.other.ahead(plies)) and (why := _hits(line, level, theirs)):
            if plies and (is_of_a_pawn(why[0]) or not is_forced(scene.other, plies)):
                continue  # which explains too little for so late
            yield fault.Allows(answer.reply, why, plies)
    if (why := _hits(scene.instead, level, [])) and not is_shared(why[0], scene):
        yield fault.Better(best.step, why)
    later = scene.instead.ahead(2)
    if later and (why := taken(later, scene) or _hits(later, level, [])):
        slight = is_of_a_pawn(why[0]) or is_shared(why[0], scene)
        if not slight and is_forced(scene.instead, 2):
            yield fault.Better(best.step, why, 2)
    yield from _later_on_the_board(scene, best, answer, level, theirs)


def _later_on_the_board(
    scene: Scene,
    best: fault.Better,
    answer: fault.Allows | fault.Overlooks | None,
    level: Level,
    theirs: Sequence[Scene],
) -> Iterator[Claim]:
    """What trades leave, and attacks that may be met, but for what stands in `theirs` as well."""
    if mark_of(scene) is not Label.BLUNDER:  # which they do not explain
        if answer and (why := tuple(c for c in _left(scene.other) if is_the_cost(c, scene))):
            yield fault.Allows(answer.reply, why[:1])
        left = (*_left(scene.instead), *_without_queens(scene.instead))
        if why := tuple(claim for claim in left if is_missed(claim, scene)):
            yield fault.Better(best.step, why[:1])
    if answer and (why := _hits(scene.other, level, theirs, met=True)):
        yield fault.Allows(answer.reply, why)
    if answer and (why := _falls_later(scene.other)):
        yield fault.Allows(answer.reply, why)
    yield from _unlike(scene, answer)
    hit = hit_next(scene.other, theirs) if answer and scene.other.captured else []
    if answer and hit and not is_spent(hit[0], scene.other):
        yield fault.Allows(answer.reply, (*hit,))
    if (why := _hits(scene.instead, level, [], met=True)) and not is_shared(why[0], scene):
        yield fault.Better(best.step, why)
    if answer and outlook.meets(scene):
        hits = (claim for claim in reasons(scene.other, level, 3) if _hits_there_too(claim, scene))
        yield from (fault.Allows(answer.reply, (why,)) for why in hits)
    yield from _pawns(scene, best, answer)


def _pawns(
    scene: Scene, best: fault.Better, answer: fault.Allows | fault.Overlooks | None
) -> Iterator[Claim]:
    """A pawn that is won or let go, as nothing says what the rest is that the move costs."""
    for line in (scene.other, scene.instead) if answer else (scene.instead,):
        fits = is_missed if line is scene.instead else is_the_cost
        why = taken(line, scene, small=True) or tuple(
            claim
            for claim in consequences(line)
            if is_of_one_pawn(claim) and fits(claim, scene) and is_confirmed(claim, line)
        )
        better = line is scene.instead
        if why and better and not is_shared(why[0], scene):  # by the move made as well
            yield fault.Better(best.step, why[:1])
        elif why and answer and not better:
            yield fault.Allows(answer.reply, why[:1])


def _unlike(scene: Scene, answer: fault.Allows | fault.Overlooks | None) -> Iterator[Claim]:
    """The unlike pieces that an exchange leaves which the move has begun."""
    if answer is None or scene.captured is None or costs_much(scene, PIECE):
        return
    for plies in (0, 2):
        line = scene.other.ahead(plies)
        if line is None or line.move.to_square != scene.landed:
            return
        if why := tuple(imbalance(line)):
            yield fault.Allows(answer.reply, why, plies)


def _square_taken(scene: Scene) -> tuple[Claim, ...]:
    """That the refutation takes from a piece the square to which it should have gone."""
    move, board = scene.instead.move, scene.after
    if mark_of(scene) is Label.BLUNDER or scene.other.captured is not None:
        return ()  # which a square does not explain, or what is taken does
    if board.piece_at(move.from_square) != scene.before.piece_at(move.from_square):
        return ()
    takes = changed.TakesSquare(unit(scene.before, move.from_square), move.to_square)
    return (takes,) if takes.proved(scene.other) else ()


def _left(line: Scene) -> list[Claim]:
    """Doubled pawns of the other side, or both bishops, that a trade leaves, by long looks, too."""
    left = [*aftermath.doubled(line), *aftermath.bishops_got(line)]
    return [claim for claim in left if is_confirmed(claim, line)]


def _without_queens(line: Scene) -> list[outcomes.TradesQueens]:
    """That a move takes the queens off, where there is a reason to."""
    trades = (claim for claim in outcomes.without_queens(line) if claim.why)
    return [claim for claim in trades if is_confirmed(claim, line)]


def _falls_later(line: Scene) -> tuple[Claim, ...]:
    """An attack on a piece that is lost in the line, wherever it has gone by then.

    A pawn counts if it is the one that has just moved.
    """
    boards, moves = line.course_boards[1 : FALLS + 2], line.course[1 : FALLS + 1]
    gains = balance(boards[-1], line.mover) > balance(line.before, line.mover)
    return tuple(
        claim
        for claim in attacks_loose(line)
        if gains
        and (claim.pieces[0].kind > chess.PAWN or _has_just_moved(claim.pieces[0], line))
        and falls_along(boards, moves, claim.pieces[0].square)
    )[:1]


def _has_just_moved(piece: Unit, line: Scene) -> bool:
    """Whether a piece is the one that the last move has moved."""
    return line.last is not None and line.last.to_square == piece.square


def _hits(
    scene: Scene, level: Level, others: Sequence[Scene], met: bool = False
) -> tuple[Claim, ...]:
    """What a move attacks, and others do not, though it may be guarded; or what is `met`, too."""
    kinds = ("attacks_two", "outnumbers") if met else ATTACKS
    found = [claim for claim in reasons(scene, level, 3) if kind_of(claim) in kinds]
    found = found or ([] if met else plain_threats(scene))
    new = (claim for claim in found if not is_there_too(claim, others))
    return tuple(claim for claim in new if met or not is_spent(claim, scene))[:1]


def hit_next(line: Scene, others: Sequence[Scene]) -> list[Claim]:
    """What a piece that has moved threatens to take next, and not in other lines."""
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
    """A single reason that is what a move takes or hits, and why it is not taken, or a threat."""
    if len(claims) != 1 or line.captured is None or vars(claims[0]).get("line"):
        return claims
    if isinstance(claims[0], (*GAINS, aftermath.PicksUp, aftermath.Takes)):
        return [*claims, *_besides(line, others)]
    return [*claims, *not_retaken(line)] if is_hit(claims[0]) else claims


def _besides(line: Scene, others: Sequence[Scene]) -> Sequence[Claim]:
    """Why nothing takes back what has taken something, or what it is after next."""
    pins = (claim for claim in proved_of(line) if isinstance(claim, tactic.UsesPin))
    safe = [claim for claim in pins if claim.spared == line.piece]
    return not_retaken(line) or safe[:1] or hit_next(line, others)

"""What is to be said of a move: its faults, or of a good one what `rank` puts first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import chess

from kibitz.comment import force
from kibitz.comment.analysis import LONGEST_LOOK
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import grades
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, stands, step
from kibitz.comment.claims.cover import not_retaken, retaking_fails
from kibitz.comment.claims.features import Feature, keeps_from
from kibitz.comment.claims.ideas import forestalled
from kibitz.comment.claims.lines import outcomes, outlook
from kibitz.comment.claims.lines.outlook import mark_of
from kibitz.comment.claims.lines.point import WinsBy
from kibitz.comment.claims.motifs import MUST_PAY, motifs
from kibitz.comment.claims.plain import PLAIN_FINDERS, PRAISED
from kibitz.comment.claims.tempo import triangles
from kibitz.comment.facts import Scene, captured_by
from kibitz.comment.judge import DECIDED, Label, standing
from kibitz.comment.openings import opening_of
from kibitz.comment.select.contrast import consequences, is_there_too
from kibitz.comment.select.criticism import criticised
from kibitz.comment.select.further import hit_next, how_it_wins, intends
from kibitz.comment.select.kinds import BESIDES, GAINS, SOLID
from kibitz.comment.select.rank import (
    ALONE,
    Level,
    Memory,
    is_confirmed,
    kind_of,
    proved_of,
    threatens_mate,
    weight_of,
    worth_saying,
)
from kibitz.comment.select.reasons import is_a_reason, plain_threats, reasons


class Selection(NamedTuple):
    """What is worth saying of a move, the most important first."""

    claims: tuple[Claim, ...] = ()
    better: tuple[Claim, ...] = ()  # about the move that was better, or why
    reply: tuple[Claim, ...] = ()  # and about the refutation


class Tone(IntEnum):
    """How readily a move is spoken of."""

    SPARING = 0  # not where all is decided or forced, nor one slight thing soon after another
    PLAIN = 1  # wherever there is something to say
    KEEN = 2  # where a reader asks why: what is slight is said, too
    ASKED = 3  # of this move alone: what it leads to in the expected line is said, too


def select(scene: Scene, memory: Memory, level: Level, tone: Tone = Tone.PLAIN) -> Selection:
    """What is to be said of a move, in a tone."""
    if mark_of(scene) is not Label.NONE:
        return Selection(*criticised(scene, level, tone >= Tone.KEEN))
    if mates := _is_mated(scene):
        expected = scene.had is not None and scene.had.mate is not None  # so it was before the move
        return Selection() if expected and tone is Tone.SPARING else Selection(mates)
    grade, sparing = grades.grade_of(scene), tone is Tone.SPARING
    if sparing and grade in QUIET:
        return Selection(tuple(grades.springs(scene)))
    praised = grade is not None and bool(grade.mark)
    chosen = worth_saying(scene, memory, level, 2, _keeps(scene) if praised else ())
    if praised and all(kind_of(claim) in EMPTY for claim in chosen):
        chosen = _next_fails(scene, level) or _filled(scene, memory, level, chosen)
    if tone >= Tone.KEEN and not chosen:
        chosen = _next_fails(scene, level) or intends(scene, level) or [*forestalled(scene)]
    if tone >= Tone.KEEN and not chosen:
        # Though it was said of another move, but for what happens once in a game; or it is slight.
        chosen = worth_saying(scene, Memory(once=memory.once), level, 1)
        chosen = chosen or worth_saying(scene, memory, level, 1, _beats_next(scene), soft=True)
    if not praised and _is_beside(scene, chosen):
        chosen = (plain_threats(scene)[:1] or chosen) if tone >= Tone.KEEN else []
    if tone is Tone.ASKED and all(kind_of(claim) in EMPTY for claim in chosen):
        chosen = [*reasons(scene, level, 1, [*consequences(scene)]), *chosen][:2]
    if sprung := [c for c in chosen if isinstance(c, grades.Springs) and c.line]:
        chosen = [*[c for c in chosen if isinstance(c, MUST_PAY)][:1], *sprung]  # how, and the trap
    chosen = _with_point(scene, chosen, level)
    heaviest = max((weight_of(claim, level) for claim in chosen), default=0.0)
    slight = len(chosen) == 1 and scene.before.ply() - memory.spoke_at < REST
    dull = LOUD if _is_dull(scene) else ALONE[level] if slight else 0.0
    if tone is Tone.ASKED:
        alone = [*map(type, chosen)] == [merit.Wins]
        how = (not_retaken(scene) or retaking_fails(scene)) if alone else []
        named = _opening(scene) if len(chosen) == 1 and not how else []
        return Selection((*chosen, *how, *named) or tuple(_expected(scene)))
    return Selection() if sparing and not praised and heaviest < dull else Selection(tuple(chosen))


def _with_point(scene: Scene, chosen: list[Claim], level: Level) -> list[Claim]:
    """A gain, and the later move that brings it, where nothing says how it is won."""
    bare = [claim for claim in chosen if kind_of(claim) in BARE]
    if not bare or any(kind_of(claim) not in (*BARE, *EMPTY) for claim in chosen):
        return chosen
    if scene.captured is not None and isinstance(bare[0], merit.Wins):
        return chosen  # which is what it takes
    if isinstance(bare[0], merit.MateIn):
        plies, how = _mate_shown(scene, bare[0].moves)
    else:
        plies, how = how_it_wins(scene, level)
    how = tuple(claim for claim in how if not isinstance(claim, tactic.TakesLoose))
    point = WinsBy(how, scene.told(plies + 1))
    if how and point.proved(scene):
        return [bare[0], point]
    if not isinstance(bare[0], merit.Wins):
        return chosen
    threats = [*filter(threatens_mate, proved_of(scene))][:1]
    return [*(claim for claim in threats if is_confirmed(claim, scene)), *chosen][:2]


def _mate_shown(scene: Scene, moves: int) -> tuple[int, tuple[Claim, ...]]:
    """The pattern of a mate that comes soon, and the plies until then."""
    last = scene.ahead(2 * moves) if moves <= SHOWN_MATE else None
    mates = [] if last is None else [c for c in motifs(last) if isinstance(c, tactic.Mates)]
    return 2 * moves, tuple(claim for claim in mates if claim.pattern or claim.guard)[:1]


def _expected(scene: Scene) -> list[Claim]:
    """What little there is to say of a move: its opening, what it offers, how it should go on."""
    ahead = outlook.outlooks(scene)
    plain: list[Claim] = [*_opening(scene), *triangles(scene), *outcomes.offers(scene)]
    kept: list[Claim] = [*keeps_from(scene)]
    if plain or kept:
        return [*plain, *kept[:1]]
    goes_on = [claim for claim in ahead if isinstance(claim, outlook.Continues)]
    comes_out = [claim for claim in ahead if isinstance(claim, outlook.Develops)]
    does = [claim for find in PLAIN_FINDERS for claim in find(scene)]
    if told := comes_out or does:
        return [told[0], *goes_on]
    look = scene.analysis.deeper(scene.after, LONGEST_LOOK)
    leaves = [] if look is None else [outlook.Leaves(standing(-look.value))]
    return [*(claim for claim in leaves if claim.proved(scene)), *goes_on]


def _opening(scene: Scene) -> list[Claim]:
    """The name of the opening that a move enters."""
    opening = opening_of(scene.after)
    names = [] if opening is None else [outlook.Names(opening.name)]
    return [claim for claim in names if claim.proved(scene)]


def _is_beside(scene: Scene, chosen: Sequence[Claim]) -> bool:
    """Whether nothing is to be said of a move but what it does besides: its point is plain.

    It takes a piece, gives check, answers one, or hits a piece that has to move.
    """
    if not all(kind_of(claim) in BESIDES for claim in chosen):
        return False
    took = scene.captured is not None and scene.captured.kind > chess.PAWN
    if took or scene.before.is_check() or scene.after.is_check():
        return True
    chases = any(kind_of(claim) == "chases" for claim in proved_of(scene))
    return chases or bool(hit_next(scene, []))


def _filled(scene: Scene, memory: Memory, level: Level, praise: list[Claim]) -> list[Claim]:
    """Praise that does not say what for, after something slight that does."""
    slight = [
        claim
        for claim in worth_saying(scene, memory, level, 3, soft=True)
        if is_a_reason(claim, scene) and kind_of(claim) not in EMPTY
    ]
    slight = intends(scene, level) or slight or plain_threats(scene)
    slight = slight or [each for find in PRAISED for each in find(scene)]
    return [*slight[:1], *praise[: 2 - len(slight[:1])]]


def _is_mated(scene: Scene) -> tuple[Claim, ...]:
    """That the other side mates, of a move that is no mistake as the game was lost anyway."""
    if scene.has is None or scene.has.mate is None or scene.has.mate <= 0:
        return ()
    if scene.before.legal_moves.count() == 1:
        return ()  # it allows nothing that another one would not
    return tuple(claim for claim in fault.faults(scene, ()) if isinstance(claim, fault.AllowsMate))[
        :1
    ]


def _is_dull(scene: Scene) -> bool:
    """Whether a move takes back, or the game is decided before it and after it."""
    had, has = scene.had, scene.has
    decided = had is not None and has is not None and min(abs(had.value), abs(has.value)) >= DECIDED
    return scene.takes_back or decided


def _next_fails(scene: Scene, level: Level) -> list[Claim]:
    """Why the next best move is not as good, where its answer wins something."""
    other = None if scene.takes_back or _is_close(scene) else outlook.next_best(scene)
    if other is None or not other.reply or not outlook.is_much_worse(scene, other):
        return []
    gains, taken = [*consequences(other.other)], captured_by(other.after, other.reply)
    hangs = taken is not None and stands(scene.before, taken)
    hangs = hangs and force.loss_on(scene.before, other.reply.to_square) >= force.LEAST
    why = _mating(other)
    if hangs and not why:
        return []  # it is plain that it has to be saved
    why = why or [
        claim for claim in reasons(other.other, level, 1, gains) if isinstance(claim, SOLID)
    ]
    steps = (step(scene.before, other.move), step(other.after, other.reply))
    fails = outlook.NextFails(*steps, tuple(why))
    return (
        [fails] if why and fails.proved(scene) and not answer_works_too(scene, other, why) else []
    )


def _is_close(scene: Scene) -> bool:
    """Whether the next best move has been seen as nearly as good."""
    had = scene.had
    return had is None or had.other is None or had.value - had.other.value < outlook.MUCH_WORSE


def _mating(scene: Scene) -> list[Claim]:
    """The mate in some moves that the reply to a move leads to."""
    mate = scene.has.mate if scene.has is not None else None
    if mate is None or not 1 < mate <= force.LONGEST_MATE:
        return []
    return [claim for claim in [merit.MateIn(mate - 1)] if claim.proved(scene.other)]


def _beats_next(scene: Scene) -> list[Claim]:
    """How the game would stand after the next best move, where that is much worse."""
    if scene.captured is not None or _is_close(scene):
        return []  # what is taken is plain to see
    other = outlook.next_best(scene)
    if other is None or other.has is None:
        return []
    then = standing(-other.has.value)
    beats = outlook.BeatsNext(step(scene.before, other.move), then)
    return [beats] if then <= 0 and beats.proved(scene) else []


def _keeps(scene: Scene) -> list[Claim]:
    """What the only good move keeps."""
    if scene.had is None:
        return []
    has = standing(scene.had.value)
    kept = [grades.OnlyGood(has)] if has in KEPT else []
    only: list[Claim] = [claim for claim in (*kept, grades.OnlyGood()) if claim.proved(scene)]
    return only[:1]


def answer_works_too(scene: Scene, other: Scene, why: Sequence[Claim]) -> bool:
    """Whether the answer to the next best move does the same after the one that was made."""
    if other.reply is None or other.reply not in scene.after.legal_moves:
        return False
    same = Scene(scene.after, other.reply, (), scene.analysis, scene.move)
    return is_there_too(why[0], [same])


def remember(memory: Memory, scene: Scene, chosen: Selection) -> None:
    """Keep in mind what was said of a move, and of the reply to it."""
    _remember(memory, scene, chosen.claims)
    memory.spoke_at = scene.before.ply() if chosen.claims else memory.spoke_at
    if chosen.reply:
        _remember(memory, scene.other, list(said_of_reply(chosen)))
    causes = (claim for claim in chosen.claims if hasattr(claim, "reply"))
    memory.replies |= {claim.reply for claim in causes}


def said_of_reply(chosen: Selection) -> Iterator[Claim]:
    """The claims about the refutation that are printed; others may be said when it is played."""
    for cause in chosen.claims:
        match cause:
            case fault.Allows(why=why) | fault.Overlooks(why=why):
                yield from why
            case fault.EnPrise() | fault.Abandons():  # which name what is taken
                yield from (claim for claim in chosen.reply if isinstance(claim, GAINS))


def _remember(memory: Memory, scene: Scene, claims: Sequence[Claim]) -> None:
    for claim in claims:
        memory.said.add(claim)
        memory.kinds[kind_of(claim)] += 1
        if isinstance(claim, Feature):
            memory.once.add(f"{claim.name}.{claim.white}")
        if isinstance(claim, (*GAINS, tactic.Fork, outcomes.ComesOut)):
            memory.won_at[scene.mover] = scene.before.ply()


BARE = ("Wins", "Nets", "ComesOut", "quiet_killer", "MateIn")  # a gain that does not say how
EMPTY = ("OnlyGood", "OnlyMove", "quiet_only")  # praise that does not say what for
QUIET = (grades.Grade.BOOK, grades.Grade.FORCED)  # there is nothing to choose, or all is known
KEPT = (2, 1, 0)  # standings that a good move keeps
SHOWN_MATE = 3  # a mate in so many moves or fewer is shown with its pattern
REST = 2  # plies after a comment within which a slight thing alone is not worth another
LOUD = 0.75  # weight from which a claim is said where all is decided or forced

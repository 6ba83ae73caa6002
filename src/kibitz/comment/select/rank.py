"""Puts the proved claims about a move in the order in which they matter to a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import chess

from kibitz.comment import force
from kibitz.comment.claims import cover, grades
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, Step, Weights, emptied
from kibitz.comment.claims.endings import ENDING_FINDERS, underpromotes
from kibitz.comment.claims.features import ASKED_FINDERS, FINDERS, Feature
from kibitz.comment.claims.ideas import (
    IDEA_FINDERS,
    IDEAS,
    Fails,
    Poisons,
    fails,
    poisons,
    rescues,
)
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.lines.point import WinsBy
from kibitz.comment.claims.merits import LEAST_THREAT, merits, threatened
from kibitz.comment.claims.motifs import MUST_PAY, falls_next, motifs, pays_off, swaps
from kibitz.comment.claims.plain import PLAIN_FINDERS
from kibitz.comment.claims.positional import changes
from kibitz.comment.claims.sacrifices import GIVEN, GIVING_FINDERS, GivesUp, confirmed_sacrifice
from kibitz.comment.claims.structure import PAWN_FINDERS, PIECE_FINDERS
from kibitz.comment.claims.tempo import TEMPO_FINDERS
from kibitz.comment.facts import WORTH, Scene, Unit, balance, is_unsafe, phase
from kibitz.comment.force import loss_on

Level: TypeAlias = Literal["beginner", "club", "expert"]
LEVELS: tuple[Level, ...] = ("beginner", "club", "expert")

# How much each claim matters; what is in no table is not said.
WEIGHTS: dict[type[Claim], Weights] = {
    **tactic.WEIGHTS,
    **merit.WEIGHTS,
    **changed.WEIGHTS,
    **outcomes.WEIGHTS,
    **aftermath.WEIGHTS,
    **cover.WEIGHTS,
    **grades.WEIGHTS,
    **GIVEN,
    **IDEAS,
    outlook.BeatsNext: Weights(0.3, 0.3, 0.3),  # of most moves
    outlook.NextFails: Weights(0.55, 0.55, 0.55),
    outlook.Intends: Weights(0.5, 0.5, 0.5),
    WinsBy: Weights(0.5, 0.5, 0.5),
}
FEATURES = {
    **FINDERS,
    **PAWN_FINDERS,
    **PIECE_FINDERS,
    **ENDING_FINDERS,
    **TEMPO_FINDERS,
    **IDEA_FINDERS,
    **GIVING_FINDERS,
}
FEATURE_WEIGHTS = {  # by names
    find.__name__: weights for find, weights in (FEATURES | ASKED_FINDERS | PLAIN_FINDERS).items()
}
LEAST = {"beginner": 0.38, "club": 0.4, "expert": 0.42}
SECOND = 0.2  # the same for what is said besides
SOFT = 0.25  # the same of a refutation, or of the better move, that nothing else explains
# Weight from which a claim is worth a comment of its own in a game.
ALONE = {"beginner": 0.5, "club": 0.5, "expert": 0.55}
HOPELESS = 0.9  # value for the other side from which a threat matters no more
HEAVY = 0.7  # weight of what is said beside a mate, if it is no motif
GAP = 0.1  # between the best and the second best move, where there are tactics
FADING = 0.94  # a kind of claim matters less every time it has been made
FILES = ("TakesFile", "opens_file")
WHY_ONLY = ("outnumbers",)  # reasons that are too common to be said of every move
WINS_APART = 6  # plies between two claims that material is won by the same side
MATES = (merit.MateIn, outcomes.MatesLater, merit.ThreatensMate)
HOW_MATED = (tactic.Mates, tactic.UsesPin, tactic.Promotes)
# Of these the first that holds is said, not the others.
OF_ONE_KIND: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "Deflects Attracts Clears",
        "OnlyGood OnlyMove quiet_only",
        "OnlyGood OnlyMove GivesUp Mates MateIn MatesLater",
        "MateIn MatesLater Mates Draws Wins Nets ComesOut Runs OpensUp Uncastles Castles "
        "TradesQueens LeavesPassed Invades GainsTime DrivesOut",
        "HitsAgain chases Threatens GainsTime",
        "Undermines strikes Threatens",
        "AvoidsLoss ComesOut",
        "GivesUp Wins Nets Threatens MateIn TakesLoose OnlyMove chases",
        "GivesUp Threatens MateIn OnlyMove UsesPin chases",
        "TakesLoose Wins Nets ComesOut PicksUp Takes",
        "Queens Promotes Runs PassedPawnAdvances",
        "TakesBack PicksUp TakesLoose Wins Nets Takes",
        "Mates MateIn Wins OnlyMove Threatens battery",
        "Fork Threatens chases",
        "Traps Threatens chases",
        "RemovesGuard TakesLoose",
        "Discovers DoubleCheck",
        "UsesPin Pins",
        "PawnEnding QueensLeave trades_ahead imbalance",
        "OppositeBishops trades_ahead",
        "Wins Nets Threatens chases",
        "Fails GivesUp Poisons",
        "GivesUp PicksUp Takes",
        "ThreatensMate Threatens Wins Nets MateIn MatesLater quiet_killer chases",
        "Seventh TakesFile doubled_rooks",
        "Seventh Invades",
        "PassedPawn PassedPawnAdvances connected_passed LeavesPassed Runs",
        "Promotes underpromotes Runs Wins Nets",
        "opens_file OpensKing TakesFile strikes",
        "backward IsolatedPawn",
        "strikes escape_square",
        "heads_for chases",
        "Parries chases guards steps_away unpins",
        "Skewers Pins HitsAgain chases",
        "steps_away Threatens attacks_loose",
        "attacks_loose Threatens chases Traps",
        "gains_space Outpost strikes backs_up",
        "centralises Outpost heads_for Settles",
        "BishopPair GetsBishops",
        "DoubledPawns Doubles",
        "battery closes_in doubled_rooks",
    )
) + tuple(
    frozenset((name, other))
    for name, weights in FEATURE_WEIGHTS.items()
    for other in weights.like.split()
)


@dataclass
class Memory:
    """What has been said in a game, so that nothing is said twice."""

    said: set[Claim] = field(default_factory=set)
    once: set[str] = field(default_factory=set)  # features that are said once for each side
    kinds: Counter[str] = field(default_factory=Counter)
    won_at: dict[bool, int] = field(default_factory=dict)  # ply of the last gain of each side
    replies: set[Step] = field(default_factory=set)  # refutations that were spoken of
    spoke_at: int = -100  # ply of the last move that was spoken of


def kind_of(claim: Claim) -> str:
    """The name of what a claim is."""
    return claim.name if isinstance(claim, Feature) else type(claim).__name__


def ranked(
    scene: Scene,
    claims: Iterable[Claim],
    memory: Memory,
    level: Level,
    soft: bool = False,
    most: int | None = None,
) -> list[Claim]:
    """The claims worth saying, the most important first, without those that say the same.

    At most `most`; `soft` lets slight ones pass, too, and plans in a position full of tactics.
    Claims are confirmed, which takes searches, only where that can change the answer.
    """
    least, claims = SOFT if soft else LEAST[level], [_surely(claim, scene) for claim in claims]
    if any(map(_is_named, claims)):
        claims = [claim for claim in claims if not _is_vague(claim, scene)]
    if any(isinstance(claim, aftermath.PicksUp) for claim in claims):
        claims = [claim for claim in claims if claim != merit.Wins((chess.PAWN,), ())]
    picks = [claim for claim in claims if isinstance(claim, aftermath.PicksUp)]
    if any(map(is_unnamed, claims)) and any(is_confirmed(claim, scene) for claim in picks):
        claims = [claim for claim in claims if not is_unnamed(claim)]
    if any(isinstance(claim, outlook.Draws) and is_confirmed(claim, scene) for claim in claims):
        claims = [c for c in claims if not (isinstance(c, GivesUp) and c.aim == "level")]
    claims = _mate_or_gain(_as_it_comes(_without_what_is_taken(claims), scene), scene)
    telling = [claim for claim in claims if not (_is_vague(claim, scene) or _is_quiet(claim))]
    named = filter(_names_gain, claims) if len(telling) < len(claims) else ()
    if any(is_confirmed(claim, scene) for claim in named):
        claims = telling
    weighed = sorted(
        ((_weight(claim, memory, level), number, claim) for number, claim in enumerate(claims)),
        key=lambda entry: (-entry[0], entry[1]),
    )
    chosen: list[Claim] = []
    drops = any(map(_drops_others, claims))
    for weight, _, claim in weighed:
        if len(chosen) == most and not drops:
            break
        if weight < (SECOND if chosen else least):
            continue
        if _was_said(claim, memory) or _is_covered(claim, chosen):
            continue
        if isinstance(claim, MUST_PAY) and not (pays_off(claim, scene) or falls_next(claim, scene)):
            continue
        if _is_too_soon(claim, scene, memory) or not _is_to_the_point(claim, scene, level, soft):
            continue
        if is_confirmed(claim, scene):
            chosen.append(claim)
    if any(map(_drops_others, chosen)):
        heavy = {claim for claim in chosen if weight_of(claim, level) >= HEAVY}
        how = {claim for claim in chosen if _is_how(claim)}
        return sorted(heavy | how, key=chosen.index)[:most]
    return chosen[:most]


def _drops_others(claim: Claim) -> bool:
    """Whether beside a claim only what is heavy or says how is said: a mate, or a quiet win."""
    return isinstance(claim, MATES) or _is_quiet(claim)


def _is_how(claim: Claim) -> bool:
    """Whether a claim says how a mate, or a win by a quiet move, comes about."""
    if isinstance(claim, tactic.Pins):
        kind = claim.piece.kind
        return kind == chess.QUEEN or (claim.to.kind == chess.KING and kind != chess.PAWN)
    return isinstance(claim, MUST_PAY) or kind_of(claim) == "bare_king"


def _surely(claim: Claim, scene: Scene) -> Claim:
    """What is taken at once and won by force says so."""
    if not isinstance(claim, aftermath.PicksUp) or claim.line or claim.lost:
        return claim
    wins = merit.Wins((claim.target.kind,), ())
    sure = wins.proved(scene) and is_confirmed(wins, scene)
    return replace(claim, sure=True) if sure else claim


def _is_named(claim: Claim) -> bool:
    """Whether a claim is of a piece that falls."""
    picks = isinstance(claim, aftermath.PicksUp) and claim.target.worth > 1
    return picks or isinstance(claim, tactic.Traps)


def _names_gain(claim: Claim) -> bool:
    """Whether a claim is of a gain in the line, and says of what."""
    return isinstance(claim, outcomes.ComesOut) and bool(claim.won) and not claim.back


def _is_quiet(claim: Claim) -> bool:
    return kind_of(claim) == "quiet_killer"


def _is_vague(claim: Claim, scene: Scene) -> bool:
    """Whether a gain is not named, or counted from a loss on: what falls says more."""
    if isinstance(claim, merit.Wins):
        had, has = (balance(board, scene.mover) for board in (scene.start, scene.before))
        return is_unnamed(claim) or had > has
    return is_unnamed(claim) or (isinstance(claim, outcomes.ComesOut) and claim.back)


def _without_what_is_taken(claims: Sequence[Claim]) -> list[Claim]:
    """The claims without gains of the line that are only what the move itself takes."""
    picks = (claim for claim in claims if isinstance(claim, aftermath.PicksUp))
    taken = {(claim.target.kind,) for claim in picks if not claim.line}
    return [
        claim
        for claim in claims
        if not isinstance(claim, outcomes.ComesOut) or claim.line or claim.won not in taken
    ]


def _as_it_comes(claims: Sequence[Claim], scene: Scene) -> Sequence[Claim]:
    """The claims without a forced gain where the line that is expected wins other pieces.

    Nor with that line where what the move takes at once is all that it wins.
    """
    comes = next((claim for claim in claims if _names_gain(claim)), None)
    if not isinstance(comes, outcomes.ComesOut):
        return claims
    end = comes.won, comes.lost
    left = [
        claim
        for claim in claims
        if not (isinstance(claim, merit.Wins) and claim.won and (claim.won, claim.lost) != end)
    ]
    if comes.line and scene.captured and scene.reply and scene.reply.to_square == scene.landed:
        # Retaken, so that the line has to be shown.
        left = [c for c in left if not (isinstance(c, merit.Wins) and c.won and not c.lost)]
    picks = (claim for claim in left if isinstance(claim, aftermath.PicksUp))
    if any(end == ((claim.target.kind,), ()) and not claim.line for claim in picks):  # at once
        left = [claim for claim in left if claim != comes]
    return left if len(left) < len(claims) and is_confirmed(comes, scene) else claims


def _mate_or_gain(claims: Sequence[Claim], scene: Scene) -> Sequence[Claim]:
    """The claims without pawns that are won where mate is threatened, or without that threat."""
    if not any(isinstance(claim, merit.ThreatensMate) for claim in claims):
        return claims
    gains = [claim for claim in claims if isinstance(claim, (merit.Wins, merit.Nets))]
    large = any(claim.won[:1] > (chess.PAWN,) and is_confirmed(claim, scene) for claim in gains)
    if large:
        return [claim for claim in claims if not isinstance(claim, merit.ThreatensMate)]
    return [claim for claim in claims if claim not in gains]


def is_unnamed(claim: Claim) -> bool:
    """Whether a claim is of a gain, and does not say of what."""
    return isinstance(claim, (merit.Wins, outcomes.ComesOut)) and not claim.won


def threatens_mate(claim: Claim) -> bool:
    """Whether a claim is of a threat to mate at once."""
    return isinstance(claim, merit.Threatens) and claim.target is None


def is_confirmed(claim: Claim, scene: Scene) -> bool:
    """Whether deeper searches agree, of a claim that depends on them; of a motif that it pays."""
    if claim not in scene.memo:
        motif = isinstance(claim, MUST_PAY)
        paid = motif and (pays_off(claim, scene.deeper) or swaps(claim, scene))
        scene.memo[claim] = paid if motif else claim.is_kept(scene)
    return bool(scene.memo[claim])


def _weight(claim: Claim, memory: Memory, level: Level) -> float:
    if isinstance(claim, GivesUp):
        return weight_of(claim, level)  # however many there are
    return weight_of(claim, level) * FADING ** memory.kinds[kind_of(claim)]


def weight_of(claim: Claim, level: Level) -> float:
    """How much a claim matters to a reader who has not been told it before."""
    if isinstance(claim, (merit.Parries, merit.Threatens)) and claim.target is None:
        return HEAVY  # a mate
    weights = FEATURE_WEIGHTS[claim.name] if isinstance(claim, Feature) else WEIGHTS[type(claim)]
    return weights[:3][LEVELS.index(level)]


def is_sharp(scene: Scene) -> bool:
    """Whether a position is full of tactics, so that what is lasting matters little."""
    had, gain = scene.had, force.gain(scene.after)
    only = had is not None and had.second is not None and had.value - had.second >= GAP
    return only or scene.after.is_check() or gain is None or gain >= force.LEAST


def _was_said(claim: Claim, memory: Memory) -> bool:
    """Whether a claim, or a threat by the same move, was spoken of before."""
    if isinstance(claim, (merit.Threatens, merit.Parries, Poisons, Fails, outlook.NextFails)):
        same = (earlier for earlier in memory.said if isinstance(earlier, type(claim)))
        return any(earlier.step.move == claim.step.move for earlier in same)
    if isinstance(claim, Feature) and FEATURE_WEIGHTS[claim.name].once:
        return f"{claim.name}.{claim.white}" in memory.once
    if isinstance(claim, grades.OnlyGood):
        return False  # praise is not given without a word
    return claim in memory.said


def _is_covered(claim: Claim, chosen: Sequence[Claim]) -> bool:
    kinds = {kind_of(claim) for claim in chosen}
    name = kind_of(claim)
    if threatens_mate(claim):
        kinds -= {"quiet_killer"}  # which does not say that it is mate that is threatened
    return name in kinds or any(name in group and kinds & group for group in OF_ONE_KIND)


def _is_too_soon(claim: Claim, scene: Scene, memory: Memory) -> bool:
    """Whether a gain is the one that was spoken of a few moves ago."""
    if not isinstance(claim, (merit.Wins, merit.Nets, tactic.TakesLoose)):
        return False
    return scene.before.ply() - memory.won_at.get(scene.mover, -100) < WINS_APART


def _is_to_the_point(claim: Claim, scene: Scene, level: Level, soft: bool = False) -> bool:
    """Whether a claim that is true is about this move."""
    if is_lasting(claim) and phase(scene.after) != "endgame":
        if isinstance(claim, changed.PassedPawn) and not changed.is_advanced(claim.pawn):
            return False
        if not (soft or _is_urgent(claim, scene)) and is_sharp(scene):
            return False
    if kind_of(claim) in FILES:
        return _is_of_a_file(claim, scene)
    if isinstance(claim, merit.ThreatensMate) and scene.reply is not None:
        return scene.reply.to_square != scene.landed  # what threatens is not simply taken
    if isinstance(claim, (merit.MateIn, outcomes.MatesLater)) and scene.had is not None:
        return not 0 < (scene.had.mate or 0) <= claim.moves  # it was nearer
    if isinstance(claim, tactic.Mates):
        return soft or bool(claim.pattern or claim.guard)
    if isinstance(claim, merit.OnlyMove):
        obvious = scene.captured is not None and not claim.hard
        return not obvious and (scene.last is None or scene.last.to_square != scene.landed)
    if isinstance(claim, tactic.Intermezzo) and scene.captured is not None:
        waits = scene.before.piece_type_at(claim.square) or chess.PAWN
        less = scene.captured.worth < WORTH[scene.last_took or chess.KING]
        return less or scene.captured.worth <= WORTH[waits]  # else it takes more
    if isinstance(claim, tactic.RemovesGuard):
        return claim.target.kind != chess.PAWN
    if isinstance(claim, tactic.UsesPin):
        return _uses_it(claim, scene)
    if isinstance(claim, tactic.Pins):
        is_safe = not is_unsafe(scene.after, claim.by.square)
        held = claim.to.kind == chess.KING or soft or pays_off(claim, scene)
        return is_safe and held and claim.piece.kind != chess.PAWN
    if isinstance(claim, merit.Threatens):
        if scene.has is not None and scene.has.value >= HOPELESS:
            return False
        if level != "beginner" and claim.target and threatened(claim, scene) < LEAST_THREAT:
            return False
        direct = claim.step.move.from_square == scene.landed and claim.target is not None
        exposed = scene.after.is_attacked_by(not scene.mover, scene.landed)
        plain = direct and level != "beginner" and _is_heeded(scene, claim.target)
        plain = plain or (claim.target is not None and faces(claim.target, claim.step, scene))
        return not plain and not (exposed and scene.captured)
    if isinstance(claim, merit.Parries):
        runs = claim.target is not None and claim.target.square == scene.move.from_square
        return not (scene.captured or runs)
    return True


def _uses_it(claim: tactic.UsesPin, scene: Scene) -> bool:
    """Whether a move hits a pinned piece and wins by it, or is safe because of the pin."""
    if claim.spared is None:
        hits = claim.piece.square in scene.after.attacks(scene.landed)
        return hits and merit.gain_of(scene) >= LEAST_THREAT
    without = emptied(scene.after, claim.piece.square)
    lost = without is not None and loss_on(without, scene.landed)
    return claim.spared == scene.piece and not lost


def _is_of_a_file(claim: Claim, scene: Scene) -> bool:
    """Whether an open file is the point of a move: it takes nothing and was not held before."""
    takes = scene.captured is not None and scene.captured.kind > chess.PAWN
    if takes or scene.after.is_check():
        return False
    if not isinstance(claim, changed.TakesFile):
        return True
    own = scene.before.pieces_mask(chess.ROOK, scene.mover)
    return not (scene.captured or own & chess.BB_FILES[claim.rook.square & 7])


def faces(target: Unit, takes: Step, scene: Scene) -> bool:
    """Whether a piece of the same kind as the one that would take it may take that as well."""
    board, by = scene.after, takes.move.from_square
    return target.kind == board.piece_type_at(by) and by in board.attacks(target.square)


def is_lasting(claim: Claim) -> bool:
    """Whether a claim is of what stays, as structure does, and not of what happens at once."""
    quiet = isinstance(claim, Feature) and not FEATURE_WEIGHTS[claim.name].sharp
    return quiet or type(claim).__module__ == changed.__name__


def _is_heeded(scene: Scene, target: Unit | None) -> bool:
    """Whether the reply saves a piece that is plainly attacked, or takes what attacks it."""
    reply = scene.reply
    leaves = reply is not None and target is not None and reply.from_square == target.square
    return reply is None or leaves or reply.to_square == scene.landed


def _is_urgent(claim: Claim, scene: Scene) -> bool:
    """Whether something lasting matters at once: a pawn near its goal, or a king laid bare."""
    bares = isinstance(claim, changed.OpensKing) and claim.white != scene.mover
    return bares or isinstance(claim, (changed.LosesCastling, changed.PassedPawnAdvances))


def worth_saying(
    scene: Scene,
    memory: Memory,
    level: Level,
    most: int,
    more: Sequence[Claim] = (),
    soft: bool = False,
) -> list[Claim]:
    """What there is to say of a good move, `more` being proved; of one that mates, how it does."""
    if scene.after.is_checkmate():
        how = [claim for claim in motifs(scene) if isinstance(claim, HOW_MATED)]
        if why := [*underpromotes(scene)]:
            return [*why]
        told = ranked(scene, [*grades.springs(scene), *how], memory, level, soft, min(2, most))
        plain = [claim for claim in how if isinstance(claim, tactic.Mates)]
        unsaid = bool(told) and not any(isinstance(c, (tactic.Mates, grades.Springs)) for c in told)
        return [*plain[:1], *told][:2] if unsaid else told
    proved = [claim for claim in proved_of(scene) if soft or kind_of(claim) not in WHY_ONLY]
    return ranked(scene, [*proved, *asides(scene), *more], memory, level, soft, most)


def asides(scene: Scene) -> list[Claim]:
    """What is said of a move that was made, and not of one that was not, proved."""
    return [*fails(scene), *poisons(scene), *rescues(scene)]


def proved_of(scene: Scene) -> list[Claim]:
    """All that is proved of a move and may be said of it."""
    if "proved" not in scene.memo:
        gives = confirmed_sacrifice(scene)
        claims: list[Claim] = [gives] if gives else []
        claims += [*grades.springs(scene), *motifs(scene), *merits(scene), *changes(scene)]
        claims += cover.undermined(scene)
        claims += [feature for find in FEATURES for feature in find(scene)]
        scene.memo["proved"] = [
            claim for claim in claims if type(claim) in WEIGHTS or isinstance(claim, Feature)
        ]
    proved: list[Claim] = scene.memo["proved"]
    return proved

"""What sort of reason a claim is: material or mate, a hit that may be met, what stays."""

from __future__ import annotations

from collections.abc import Sequence

import chess

from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import CENTIPAWNS, Claim, Step
from kibitz.comment.claims.endings import FAR_UP
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.motifs import MUST_PAY
from kibitz.comment.claims.sacrifices import GivesUp
from kibitz.comment.facts import Scene, Unit
from kibitz.comment.judge import BETTER, LEAST_OF, Label
from kibitz.comment.select.rank import is_lasting, kind_of, threatens_mate

GAINS = (merit.Wins, merit.Nets, tactic.TakesLoose)
CHASES = ("chases", "HitsAgain", "GainsTime", "Threatens")
FORCING = (
    "chases",
    "attacks_loose",
    "attacks_two",
    "outnumbers",
    "presses",
    "connected_passed",
    "Undermines",
)  # what asks for an answer at once
HOW = ("attacks_two", "presses", "UsesPin")  # by which something is won
HARD = (
    *(GivesUp, fault.EnPrise, fault.Abandons, fault.AllowsMate),
    *(fault.Overlooks, fault.AvoidsLoss, fault.Prevents, fault.Stalemates),
    *(fault.CastlesInto, aftermath.PicksUp, aftermath.Takes, aftermath.Queens),
)
HARD_FEATURES = ("simplifies", "quiet_killer", "greek_gift", "keeps_opposition", "diverts")
DEFENDS = ("Parries", "guards", "steps_away", "unpins", "escape_square", "offers_trade")
SLIGHT = (  # too little to be the point of a line
    *(*DEFENDS, "TakesFile", "opens_file", "strikes", "centralises", "backs_up"),
    *("gains_space", "king_to_centre", "OpensKing", "TakesBack", "doubled_rooks", "battery"),
    *("Castles", "TradesQueens", "Clears"),
    *("PassedPawn", "connected_passed", "LeavesPassed"),
)
SAVES = ("Parries", "guards", "unpins", "steps_away")  # of which the better move may consist
FAINT = (  # the same in all phases
    *("backward", "IsolatedPawn", "DoubledPawns", "hanging_pawns"),
    *("TakesFile", "opens_file", "GainsTime", "offers_trade", "weak_squares", "dominates"),
    "makes_way",
)
PLACES = (  # nor what costs much
    *("Settles", "GetsBishops", "BishopPair", "Doubles", "closes_in", "minority_attack"),
)
BESIDES = (  # matters little where a move takes, checks or hits something besides
    *("guards", "steps_away", "escape_square", "battery", "backs_up", "makes_way", "gains_space"),
    *("connected_rooks", "TakesFile", "opens_file", "opens_centre", "OpensKing", "LosesCastling"),
)
HITS = (*CHASES, "attacks_loose", "outnumbers")  # what may have an answer
SOLID = (
    *(*GAINS, merit.MateIn, fault.AvoidsLoss),
    *(outcomes.MatesLater, outlook.Draws, outcomes.ComesOut),
    *(aftermath.PicksUp, aftermath.Queens),
)
PAYING = (*SOLID, *MUST_PAY, GivesUp)  # what a threat has to do to be one
ONE_PAWN = (merit.Wins((chess.PAWN,), ()), merit.Nets((chess.PAWN,), ()))
MATES = (merit.MateIn, outcomes.MatesLater)
SEVENTH = 6  # the rank, from 0, from which a pawn has one square left to go


def leaves(claim: Claim) -> bool:
    """Whether a claim is of what a line leaves, and not of what it gains."""
    gains = isinstance(claim, (aftermath.PicksUp, aftermath.Takes, aftermath.Queens))
    return type(claim) in aftermath.WEIGHTS and not gains


def parries(claim: Claim, reply: Step) -> bool:
    """Whether a claim is that just this reply is no threat any more."""
    return isinstance(claim, merit.Parries) and claim.step.move == reply.move


def is_declined(claim: Claim) -> bool:
    """Whether it is of an offer that is best declined, which says nothing of what comes then."""
    return isinstance(claim, GivesUp) and claim.aim in ("offer", "offered")


def is_of_one_pawn(claim: Claim) -> bool:
    """Whether a claim is that a pawn is won."""
    if isinstance(claim, (merit.Wins, merit.Nets, outcomes.ComesOut)):
        return claim.won == (chess.PAWN,)
    taken = claim.target if isinstance(claim, (aftermath.PicksUp, aftermath.Takes)) else None
    return taken is not None and taken.kind == chess.PAWN


def is_of_a_pawn(claim: Claim) -> bool:
    """Whether a claim is that a pawn is attacked."""
    if not isinstance(claim, Feature) or claim.name not in ("attacks_loose", "outnumbers"):
        return False
    return claim.pieces[0].kind == chess.PAWN


def breaks(claim: Claim) -> bool:
    """Whether a pawn attacks one in the centre."""
    pieces = claim.pieces if isinstance(claim, Feature) and claim.name == "strikes" else ()
    return any(chess.BB_SQUARES[pawn.square] & chess.BB_CENTER for pawn in pieces)


def is_strong(claim: Claim) -> bool:
    """Whether a plan matters among pieces, too: a rook on the seventh rank, an outpost far up.

    Or a passed pawn that has one square left to go.
    """
    match claim:
        case changed.Outpost(piece):
            return _rank(piece) >= FAR_UP
        case changed.PassedPawnAdvances(pawn):
            return _rank(pawn) >= SEVENTH
    return isinstance(claim, changed.Seventh)


def _rank(piece: Unit) -> int:
    """The rank of a piece from its own side, from 0."""
    return piece.square >> 3 if piece.white else 7 - (piece.square >> 3)


def is_hit(claim: Claim) -> bool:
    """Whether a claim is of an attack that may have an answer, and not of a mate."""
    return kind_of(claim) in HITS and not threatens_mate(claim)


def pays(claim: Claim) -> bool:
    """Whether a move that does this gains something; not by a pawn whose guard it lures away."""
    target = claim.target if isinstance(claim, tactic.Deflects) else None
    small = target is not None and target.kind == chess.PAWN
    return isinstance(claim, PAYING) and not (small or is_declined(claim))


def threatens_little(claim: Claim, value: float) -> bool:
    """Whether to do this is no threat: to drive a king, or to draw where one is not worse."""
    drives = isinstance(claim, GivesUp) and claim.aim == "king"
    return drives or (isinstance(claim, outlook.Draws) and value > -BETTER)


def is_by_product(claim: Claim) -> bool:
    """Whether a reason is of what stays, which matters less than what is taken."""
    return is_lasting(claim) or leaves(claim) or kind_of(claim) == "opens_centre"


def is_hard(claim: Claim) -> bool:
    """Whether a claim is about material or mate, so that even a small mistake is worth words."""
    hard = type(claim).__module__ in (tactic.__name__, merit.__name__, outcomes.__name__)
    return hard or isinstance(claim, HARD) or kind_of(claim) in HARD_FEATURES


def explains(claim: Claim) -> bool:
    """Whether a fault says more than a line and its score, or than what meets it."""
    if not isinstance(claim, (fault.Allows, fault.Better)):
        return True
    return any(not isinstance(why, outlook.Meets) for why in claim.why)


def costs_much(scene: Scene, least: float = LEAST_OF[Label.MISTAKE]) -> bool:
    """Whether a move costs as much as a mistake, whatever its mark."""
    if scene.had is None or scene.has is None:
        return False
    return scene.had.value + scene.has.value >= least


def costs_a_piece(scene: Scene) -> bool:
    """Whether a move costs what a piece is worth in centipawns, as in a game long decided."""
    if scene.had is None or scene.has is None or scene.had.mate or scene.has.mate:
        return False
    return scene.had.score.amount + scene.has.score.amount >= CENTIPAWNS[chess.KNIGHT]


def any_solid(claims: Sequence[Claim]) -> bool:
    """Whether there is material or a mate among some claims."""
    return any(isinstance(claim, SOLID) for claim in claims)


def are_explained(causes: Sequence[Claim], lines: Sequence[Claim]) -> bool:
    """Whether what is to be said of a bad move says more than lines and scores."""
    return any(map(explains, (*causes[:1], *lines)))


def brief(claims: list[Claim]) -> list[Claim]:
    """Some reasons, of those with a line the first at most; a mate is enough.

    Beside a line only what is done on the board at once is said.
    """
    if mates := [claim for claim in claims if isinstance(claim, MATES)]:
        return [*mates[:1]]
    if gift := [claim for claim in claims if kind_of(claim) == "greek_gift"]:
        return gift
    plain = [claim for claim in claims if not vars(claim).get("line")]
    lined = [claim for claim in claims if claim not in plain]
    how = [claim for claim in plain if isinstance(claim, MUST_PAY) or kind_of(claim) in HOW]
    if lined and how:
        both = kind_of(how[0]) != "attacks_two" or not is_of_one_pawn(lined[0])
        return [how[0], lined[0]] if both else [how[0]]
    return plain if claims[:1] == plain[:1] else claims[:1]

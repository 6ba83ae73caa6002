"""What stands in the braces of a language's texts for a claim, and which texts are a claim's."""

from __future__ import annotations

from dataclasses import fields

import chess

from kibitz.comment import force
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import grades
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import CENTIPAWNS, Claim, Step
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.lines import aftermath, outcomes, outlook
from kibitz.comment.claims.sacrifices import GivesUp
from kibitz.comment.facts import WORTH, Scene, Unit, is_defended, played
from kibitz.comment.select.rank import kind_of, threatens_mate
from kibitz.comment.words.english import ENGLISH
from kibitz.comment.words.language import Language

COUNTED = (
    "underpromotes",
    "quiet_killer",
    "weak_squares",
    "reaches_ending",
    "simplifies",
    "trades_cover",
    "mutual_zugzwang",
    "meets_check",
    "castles",
    "trades_evenly",
    "shuns_trade",
    "goes_on",
    "advances",
)
LOST = 200  # centipawns from which on a piece is lost and not only exchanged


def claim_slots(claim: Claim, scene: Scene, language: Language = ENGLISH) -> dict[str, str]:
    """What stands in the braces of the texts for a claim."""
    slots = {"mover": language.sides[scene.mover], "other": language.sides[not scene.mover]}
    for field in fields(claim):
        slots |= _spelled(field.name, getattr(claim, field.name), language)
    if isinstance(claim, merit.Threatens):
        taker = scene.after.piece_type_at(claim.step.move.from_square)
        slots["taker"] = language.pieces[taker or chess.PAWN]
    if isinstance(claim, outlook.Meets):
        comes = scene.after.piece_type_at(claim.reply.move.from_square)
        slots["kind"] = language.pieces[comes or chess.PAWN]
    if isinstance(claim, outlook.Scored):
        slots["score"] = language.score(claim.centipawns)
    if isinstance(claim, (outcomes.TakesBack, outcomes.Runs, aftermath.LeavesPassed)):
        piece = claim.piece if isinstance(claim, outcomes.TakesBack) else claim.pawn
        slots |= _spelled("piece", piece, language)
    if isinstance(claim, outlook.NoEscape):
        squares = ([*map(chess.square_name, group)] for group in (claim.blocked, claim.covered))
        slots["why"] = language.no_escape(*squares)
    if isinstance(claim, GivesUp):
        kind, square = claim.piece.kind, claim.piece.square
        slots["gift"] = language.gift(claim.lost, claim.won)
        if (claim.lost, claim.won) == ((kind,), ()) and square != scene.landed:
            slots["gift"] = language.unit(kind, chess.square_name(square))  # not what has moved
    return slots | (_spelled_feature(claim, language) if isinstance(claim, Feature) else {})


OVER = 2_000  # centipawns from which a score says no more than that the game is won


def scores(scene: Scene) -> tuple[int, int] | tuple[()]:
    """Centipawns for White by the best move and by the one made.

    Nothing where a mate is near or a game is over but for the moves, nor where a repetition may be
    all that there is to a level score.
    """
    if scene.had is None or scene.has is None or scene.had.mate or scene.has.mate:
        return ()
    amounts = scene.had.score.amount, scene.has.score.amount
    if not scene.has.score.amount or max(map(abs, amounts)) >= OVER:
        return ()
    sign = 1 if scene.mover else -1
    return sign * amounts[0], -sign * amounts[1]


def claim_key(claim: Claim, scene: Scene) -> str:
    """The name of the texts for a claim: its class, and what makes a difference in words."""
    name = kind_of(claim)
    match claim:
        case tactic.Fork() if len(claim.targets) > 2:
            name += ".many"
        case tactic.Pins() | tactic.Discovers() | tactic.UsesPin():
            name += _line_key(claim)
        case tactic.Deflects():
            form = ".overloaded" if claim.was_taken and claim.target else ""
            name += form if claim.target else ".square"
        case tactic.Mates(pattern=pattern) if pattern or claim.guard:
            name += f".{pattern or 'guarded'}"
        case GivesUp() | grades.Springs() | grades.WalksInto():
            name += _idea_key(claim)
        case merit.MateIn(moves=1):
            name += ".1"
        case merit.Wins((4,), (2,) | (3,)) | merit.Nets((4,), (2,) | (3,)):
            name += ".exchange"
        case merit.Wins(won=()):
            name += ".some"
        case merit.Verdict(result):
            name += f".{result}"
        case changed.PawnEnding(drawn=True):
            name += ".drawn"
        case merit.Wins() | merit.Nets() if claim.lost:
            name += ".for"
        case merit.Threatens(target=None) | merit.Parries(target=None):
            name += ".mate"
        case merit.Threatens(target=Unit() as target):
            name += _why_threatened(scene, claim.step, target)
        case merit.OnlyMove(hard=True):
            name += ".hard"
        case outlook.Intends() | outlook.Meets():
            name += _next_key(claim, scene)
        case outlook.BeatsNext():
            name += f".{claim.then}"
        case fault.Keeps(int(has)) | outlook.Leaves(int(has)) | grades.OnlyGood(int(has)):
            name += f".{has}"
        case outlook.Marked():
            name += f".{int(claim.mark)}"
        case changed.TakesFile() | changed.OpensKing() | changed.Seventh() | tactic.TakesLoose():
            name += _change_key(claim, scene)
        case Feature() if claim.name in COUNTED:
            name += f".{''.join(map(str, claim.counts))}"
    led_to = type(claim) in outcomes.WEIGHTS or type(claim) in aftermath.WEIGHTS
    return _outcome_key(claim) if led_to else name


def _idea_key(claim: GivesUp | grades.Springs | grades.WalksInto) -> str:
    """What is added to the key of a sacrifice or a trap."""
    match claim:
        case GivesUp(aim=aim) if aim:
            shown = claim.line or (claim.later and claim.moves > 1)  # how it goes on
            form = f".{claim.pattern or 'line'}" if shown else ""
            return f".{aim}" + ("1" if claim.moves == 1 else "") + form
        case grades.Springs(won=won) | grades.WalksInto(won=won) if claim.line:
            return (".for" if claim.lost else ".wins") if won else ".line"
    return ""


def _line_key(claim: tactic.Pins | tactic.Discovers | tactic.UsesPin) -> str:
    """What is added to the key of an uncovered check, or of a pinned piece that is hit."""
    if isinstance(claim, tactic.Pins):
        return ".king" if claim.to.kind == chess.KING else ""
    if isinstance(claim, tactic.UsesPin):
        return ".hit" if claim.spared is None else ""
    return ".check" if claim.target.kind == chess.KING else ""


def _change_key(claim: Claim, scene: Scene) -> str:
    """What is added to the key of a change on a file or by the king, or of what is taken."""
    match claim:
        case tactic.TakesLoose(piece) if piece.worth > scene.piece.worth:
            return ".dear"  # which a guard would not have saved
        case changed.TakesFile(open=False):
            return ".half"
        case changed.OpensKing(white=white) if white != scene.mover:
            return ".taken"
        case changed.Seventh() if not scene.mover:
            return ".black"
    return ""


def _next_key(claim: outlook.Intends | outlook.Meets, scene: Scene) -> str:
    """What is added to the key of what comes next: a mate is threatened, a piece is taken off."""
    if isinstance(claim, outlook.Intends):
        return ".mate" if any(map(threatens_mate, claim.why)) else ""
    return ".mate" if claim.mate else ".off" if _takes_what_comes(claim, scene) else ""


def _takes_what_comes(claim: outlook.Meets, scene: Scene) -> bool:
    """Whether the reply takes nothing, and the answer wins the piece that has come."""
    reply = claim.reply.move
    if reply.to_square != claim.answer.move.to_square or scene.after.is_capture(reply):
        return False
    then = played(scene.after, reply)
    lost = CENTIPAWNS.get(then.piece_type_at(reply.to_square) or chess.KING, 0)
    return 0 < min(lost, LOST) <= force.loss_on(then, reply.to_square)


def _outcome_key(claim: Claim) -> str:
    """The same of what a move leads to, which has a line or none."""
    name = kind_of(claim)
    match claim:
        case outcomes.ComesOut(won, lost):
            exchange = (won, lost) in (((4,), (2,)), ((4,), (3,)))
            name += ".back" if claim.back else ".main" if claim.main else ""
            name += ".exchange" if exchange else ".for" if lost else "" if won else ".some"
        case aftermath.PicksUp() if claim.lost or claim.main:
            name += (".main" if claim.main else "") + (".for" if claim.lost else "")
        case aftermath.PicksUp(sure=True):
            name += ".sure"
        case outlook.Draws(how):
            name += f".{how}"
        case outcomes.TradesQueens(why=why) if why:
            name += f".{why}"
    return f"{name}.line" if vars(claim).get("line") else name


def _why_threatened(scene: Scene, step: Step, target: Unit) -> str:
    """What makes a threat one: nothing guards the target, or it is worth more than the taker.

    A piece that has just moved and attacks what is worth more has a key of its own (".hits").
    """
    board = scene.after
    taker = board.piece_type_at(step.move.from_square)
    more = ".hits" if step.move.from_square == scene.landed else ".more"
    if target.kind == chess.QUEEN != taker:
        return more
    passed = played(board, chess.Move.null(), step.move)
    if taker is not None and WORTH[taker] < target.worth:
        return more
    guarded = is_defended(board, target.square) or passed.attackers(passed.turn, target.square)
    return "" if guarded else ".loose"


# --- words --------------------------------------------------------------------------------------


def _spelled(name: str, value: object, language: Language) -> dict[str, str]:
    """A field of a claim in words."""
    if isinstance(value, Unit):
        square = chess.square_name(value.square)
        short = {"kind": language.pieces[value.kind], "at": square, "square": square}
        short |= {"side": language.sides[value.white], "file": square[0]}
        return {name: language.unit(value.kind, square), **short}
    if isinstance(value, Step):
        return {name: language.notation(value.text), "at": chess.square_name(value.move.to_square)}
    if isinstance(value, bool):
        return {"side": language.sides[value]} if name == "white" else {}
    if isinstance(value, int):
        if name in ("square", "file"):
            return {name: chess.square_name(value)[: 2 if name == "square" else 1]}
        return {name: str(value)}
    if isinstance(value, tuple) and value and isinstance(value[0], Unit):
        units = [language.unit(piece.kind, chess.square_name(piece.square)) for piece in value]
        return {name: language.joined(units)}
    if isinstance(value, str):
        named = name in ("opening", "trap")
        return {name: language.opening(value) if named else language.notation(value)}
    if isinstance(value, tuple) and name in ("won", "lost"):
        return {name: language.haul(value)}
    return {}


def _spelled_feature(feature: Feature, language: Language) -> dict[str, str]:
    """What a feature is about, in words."""
    slots = _spelled("piece", feature.pieces[0], language) if feature.pieces else {}
    last = _spelled("piece", feature.pieces[-1], language) if feature.pieces else {}
    slots |= {"own": last.get("kind", ""), "by": last.get("piece", "")}
    slots["squares"] = language.joined(
        [chess.square_name(piece.square) for piece in feature.pieces]
    )
    if feature.square is not None:
        slots |= {
            "square": chess.square_name(feature.square),
            "file": "abcdefgh"[feature.square & 7],
        }
    if feature.name == "imbalance":
        middle = feature.counts.index(0)
        slots["has"] = language.haul(feature.counts[:middle])
        slots["against"] = language.haul(feature.counts[middle + 1 :])
    elif feature.name in ("trades_ahead", "offers_trade", "expects_trade"):
        slots["kinds"] = language.plural(feature.counts[0])
    elif feature.name in ("trades_evenly", "shuns_trade"):
        slots["kinds"] = language.plural(feature.pieces[0].kind)
    else:
        slots |= {
            f"count{number}": language.number(count) for number, count in enumerate(feature.counts)
        }
    return {**slots, "side": language.sides[feature.white]}


def worth(scores: tuple[int, int] | tuple[()], language: Language = ENGLISH) -> dict[str, str]:
    """The scores of two moves in pawns."""
    return dict(zip(("had", "has"), map(language.score, scores), strict=True)) if scores else {}

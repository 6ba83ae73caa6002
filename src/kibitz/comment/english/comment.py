"""Says the proved claims that matter most to a reader, each once in a game, in varied sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import chess

from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import grades, outcomes, outlook
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims import tactical as tactic
from kibitz.comment.claims.claim import Claim, Step, step
from kibitz.comment.claims.faults import answer_line
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.outlook import mark_of
from kibitz.comment.claims.sacrifices import GivesUp
from kibitz.comment.english import english as language
from kibitz.comment.facts import WORTH, Scene, Unit, is_defended, played
from kibitz.comment.judge import standing
from kibitz.comment.select import FEATURE_WEIGHTS, MUST_PAY, Level, Memory, kind_of
from kibitz.comment.selection import Selection, remember, select


class Comment(NamedTuple):
    """What is said of a move, and the claims that are said."""

    text: str = ""
    claims: tuple[Claim, ...] = ()
    better: tuple[Claim, ...] = ()  # of them, those about the move that was better
    reply: tuple[Claim, ...] = ()  # and those about the refutation


# --- speaking -------------------------------------------------------------------------------------


class Speaker:
    """Makes comments on the moves of one game."""

    def __init__(self, level: Level = "club") -> None:
        self.level, self.memory = level, Memory()
        self._used: Counter[str] = Counter()  # texts of the table
        self.sparing = False  # silent where there is one slight thing to say

    def comment(self, scene: Scene) -> Comment:
        """What is to be said of a move; empty where there is nothing."""
        chosen = select(scene, self.memory, self.level, self.sparing)
        text = (
            self._criticised(scene, chosen) if mark_of(scene) else self.told(scene, chosen.claims)
        )
        remember(self.memory, scene, chosen)
        return Comment(text, *chosen)

    def told(self, scene: Scene, claims: Sequence[Claim]) -> str:
        """What is said of a move: two short claims share a sentence, longer ones have their own."""
        move = step(scene.before, scene.move).text
        texts: list[str] = []
        for claim in claims:
            text = self.predicate(claim, scene, unlike=texts[-1] if texts else "")
            against = bool(texts) and _speaks_against(claim, scene) != _speaks_against(
                claims[0], scene
            )
            if not texts:
                texts.append(text)
            elif isinstance(claim, GAINS) and isinstance(claims[0], MUST_PAY) and ":" not in text:
                texts[0] = language.SO.format(texts[0], text)
            elif not ENDS_A_SENTENCE.search(texts[0]):
                texts[0] = (language.BUT if against else language.BOTH).format(texts[0], text)
            else:
                more = language.PLAYED_BUT if against else language.PLAYED_MORE
                texts.append(self._varied("played more", more).format(text))
        if texts:
            texts[0] = self._varied("played", language.PLAYED).format(texts[0], move=move)
        return " ".join(texts)

    def _criticised(self, scene: Scene, chosen: Selection) -> str:
        """The cause, what was better, and what it means for the game."""
        told = any(isinstance(one, fault.Better) and not one.why for one in chosen.claims)
        texts = [self._fault(scene, claim, told) for claim in chosen.claims]
        return " ".join(_capital(one) for one in texts)

    def told_alone(self, scene: Scene, claim: Claim) -> str:
        """A claim as a comment of its own."""
        if type(claim).__module__ == fault.__name__:
            return _capital(self._fault(scene, claim, told=False))
        return self.told(scene, [claim])

    def _fault(self, scene: Scene, claim: Claim, told: bool) -> str:
        """A sentence about a cause or an alternative; the scores may be told by another."""
        if isinstance(claim, fault.Turns):
            name = f"{claim.had}.{claim.has}"
            text = self._varied(name, language.TURNS[name])
            return text.format(**claim_slots(claim, scene))
        name, why = type(claim).__name__, ""
        slots = claim_slots(claim, scene)
        if isinstance(claim, fault.Allows):
            slots["line"] = answer_line(scene)
        match claim:
            case fault.Overlooks():
                why = self._which(scene.other, claim.why[:1])
            case fault.Allows():
                why = self._which(scene.other, claim.why)
                if not (why or told) and (values := scores(scene)):
                    name, slots = "Allows.worth", slots | language.worth(*values)
            case fault.Better():
                why = self._which(scene.instead, claim.why) or self._kept(scene)
                if claim.step in self.memory.replies:
                    name, why = "Better.chance", ""
                elif not why and (values := scores(scene)):
                    name, slots = "Better.worth", slots | language.worth(*values)
            case fault.AllowsMate(moves=1) | fault.MissesMate(moves=1):
                name += ".1"
        if why:
            name, slots["why"] = f"{name}.why", why
        forms = language.FAULTS[name]
        for twice in (":", "which"):  # one is enough for a sentence
            if twice in why:
                forms = tuple(one for one in forms if twice not in one) or forms
        return self._varied(name, forms).format(**slots)

    def _which(self, scene: Scene, claims: Sequence[Claim]) -> str:
        return language.joined([self.predicate(claim, scene) for claim in claims])

    def _kept(self, scene: Scene) -> str:
        """What the best move keeps, as a predicate, where that is more than what is left."""
        if scene.had is None or scene.has is None:
            return ""
        keeps = fault.Keeps(standing(scene.had.value))
        key = f"Keeps.{keeps.has}"
        more = keeps.has > standing(-scene.has.value)
        if not more or key not in language.PREDICATES or not keeps.proved(scene):
            return ""
        return self.predicate(keeps, scene)

    def predicate(self, claim: Claim, scene: Scene, unlike: str = "") -> str:
        """A claim as a predicate: "forks the king and the rook on a8"; not the verb of another."""
        key = claim_key(claim, scene)
        name = kind_of(claim)
        table = language.BEGINNER if self.level == "beginner" else language.PREDICATES
        texts = table.get(key) or table.get(name) or language.PREDICATES.get(key)
        texts = texts or language.PREDICATES[name]
        texts = tuple(one for one in texts if one.split()[0] != unlike.partition(" ")[0]) or texts
        return self._varied(key, texts).format(**claim_slots(claim, scene))

    def _varied(self, key: str, texts: Sequence[str]) -> str:
        """The text of a table that was used least in this game."""
        start = (self._used.total() + len(key)) % len(texts)
        order = [*texts[start:], *texts[:start]]
        text = min(order, key=lambda one: self._used[one])
        self._used[text] += 1
        return text


ENDS_A_SENTENCE = re.compile("[:,]| and ")  # a predicate in which another could not go on


def _speaks_against(claim: Claim, scene: Scene) -> bool:
    """Whether a claim names a drawback for the side that moved."""
    match claim:
        case changed.LosesCastling():
            return True
        case changed.IsolatedPawn():
            return claim.pawn.white == scene.mover
        case changed.DoubledPawns() | changed.OpensKing():
            return claim.white == scene.mover
        case changed.BishopPair():
            return claim.white != scene.mover
        case Feature():
            return FEATURE_WEIGHTS[claim.name].drawback and claim.white == scene.mover
    return False


def claim_slots(claim: Claim, scene: Scene) -> dict[str, str]:
    """What stands in the braces of the texts for a claim."""
    slots = {"mover": language.SIDES[scene.mover], "other": language.SIDES[not scene.mover]}
    for one in fields(claim):
        slots |= _spelled(one.name, getattr(claim, one.name))
    if isinstance(claim, merit.Threatens):
        taker = scene.after.piece_type_at(claim.step.move.from_square)
        slots["taker"] = language.PIECES[taker or chess.PAWN]
    if isinstance(claim, outlook.Scored):
        slots["score"] = language.score(claim.centipawns)
    if isinstance(claim, (outcomes.TakesBack, outcomes.Runs)):
        slots |= _spelled(
            "piece", claim.piece if isinstance(claim, outcomes.TakesBack) else claim.pawn
        )
    if isinstance(claim, outlook.NoEscape):
        squares = ([*map(chess.square_name, one)] for one in (claim.blocked, claim.covered))
        slots["why"] = language.no_escape(*squares)
    if isinstance(claim, GivesUp):
        slots["gift"] = language.gift(claim.lost, claim.won)
    return slots | (_spelled_feature(claim) if isinstance(claim, Feature) else {})


GAINS = (merit.Wins, merit.Nets)


def scores(scene: Scene) -> tuple[int, int] | tuple[()]:
    """Centipawns for White by the best move and by the one made.

    Nothing where a mate is near, nor where a repetition may be all that there is to a level score.
    """
    if scene.had is None or scene.has is None or scene.had.mate or scene.has.mate:
        return ()
    if not scene.has.score.amount:
        return ()
    sign = 1 if scene.mover else -1
    return sign * scene.had.score.amount, -sign * scene.has.score.amount


def claim_key(claim: Claim, scene: Scene) -> str:
    """The name of the texts for a claim: its class, and what makes a difference in words."""
    name = kind_of(claim)
    match claim:
        case tactic.Fork() if len(claim.targets) > 2:
            name += ".many"
        case tactic.Pins() if claim.to.kind == chess.KING:
            name += ".king"
        case tactic.Discovers() if claim.target.kind == chess.KING:
            name += ".check"
        case tactic.Deflects():
            form = ".overloaded" if claim.was_taken and claim.target else ""
            name += form if claim.target else ".square"
        case tactic.Mates() if claim.pattern:
            name += f".{claim.pattern}"
        case tactic.Mates() if claim.guard:
            name += ".guarded"
        case GivesUp(aim=aim) if aim:
            name += f".{aim}1" if claim.moves == 1 else f".{aim}"
        case merit.MateIn(moves=1):
            name += ".1"
        case merit.Wins((4,), (2,) | (3,)):
            name += ".exchange"
        case merit.Wins(won=()):
            name += ".some"
        case merit.Verdict(result):
            name += f".{result}"
        case merit.Nets((4,), (2,) | (3,)):
            name += ".exchange"
        case merit.Wins() | merit.Nets() if claim.lost:
            name += ".for"
        case merit.Threatens(target=None) | merit.Parries(target=None):
            name += ".mate"
        case merit.Threatens(target=Unit() as target):
            name += _why_threatened(scene.after, claim.step, target)
        case merit.OnlyMove(hard=True):
            name += ".hard"
        case fault.Keeps() | outlook.Leaves() | grades.OnlyGood():
            name += f".{claim.has}"
        case outlook.Marked():
            name += f".{int(claim.mark)}"
        case changed.TakesFile(open=False):
            name += ".half"
        case changed.Seventh() if not scene.mover:
            name += ".black"
    return _outcome_key(claim) if type(claim) in outcomes.WEIGHTS else name


def _outcome_key(claim: Claim) -> str:
    """The same of what a move leads to, which has a line or none."""
    name = kind_of(claim)
    match claim:
        case outcomes.ComesOut(won, lost):
            exchange = (won, lost) in (((4,), (2,)), ((4,), (3,)))
            name += ".exchange" if exchange else ".for" if lost else "" if won else ".some"
        case outcomes.Draws(how):
            name += f".{how}"
    return f"{name}.line" if vars(claim).get("line") else name


def _why_threatened(board: chess.Board, step: Step, target: Unit) -> str:
    """What makes a threat one: nothing guards the target, or it is worth more than the taker."""
    taker = board.piece_type_at(step.move.from_square)
    if target.kind == chess.QUEEN != taker:
        return ".more"
    taken = played(board, chess.Move.null(), step.move)
    if not is_defended(board, target.square) and not taken.attackers(taken.turn, target.square):
        return ".loose"
    return ".more" if taker is not None and WORTH[taker] < target.worth else ""


def _spelled(name: str, value: object) -> dict[str, str]:
    """A field of a claim in words."""
    if isinstance(value, Unit):
        square = chess.square_name(value.square)
        short = {"kind": language.PIECES[value.kind], "at": square, "square": square}
        short |= {"side": language.SIDES[value.white], "file": square[0]}
        return {name: language.unit(value.kind, square), **short}
    if isinstance(value, Step):
        return {name: value.text, "at": chess.square_name(value.move.to_square)}
    if isinstance(value, bool):
        return {"side": language.SIDES[value]} if name == "white" else {}
    if isinstance(value, int):
        if name in ("square", "file"):
            return {name: chess.square_name(value)[: 2 if name == "square" else 1]}
        return {name: str(value)}
    if isinstance(value, tuple) and value and isinstance(value[0], Unit):
        units = [language.unit(one.kind, chess.square_name(one.square)) for one in value]
        return {name: language.joined(units)}
    if isinstance(value, str):
        return {name: value}
    if isinstance(value, tuple) and name in ("won", "lost"):
        return {name: language.haul(value)}
    return {}


def _spelled_feature(feature: Feature) -> dict[str, str]:
    """What a feature is about, in words."""
    slots = _spelled("piece", feature.pieces[0]) if feature.pieces else {}
    slots["own"] = _spelled("piece", feature.pieces[-1])["kind"] if feature.pieces else ""
    slots["by"] = _spelled("piece", feature.pieces[-1])["piece"] if feature.pieces else ""
    slots["squares"] = language.joined([chess.square_name(one.square) for one in feature.pieces])
    if feature.square is not None:
        slots |= {
            "square": chess.square_name(feature.square),
            "file": "abcdefgh"[feature.square & 7],
        }
    if feature.name == "imbalance":
        middle = feature.counts.index(0)
        slots["has"] = language.haul(feature.counts[:middle])
        slots["against"] = language.haul(feature.counts[middle + 1 :])
    elif feature.name in ("trades_ahead", "offers_trade"):
        slots["kinds"] = f"{language.PIECES[feature.counts[0]]}s"
    else:
        slots |= {
            f"count{number}": language.count(one) for number, one in enumerate(feature.counts)
        }
    return {**slots, "side": language.SIDES[feature.white]}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

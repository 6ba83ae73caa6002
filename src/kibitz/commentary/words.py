"""Says the proved claims that matter most to a reader, each once in a game, in varied sentences.

claims -> ranked, filled into a language's table -> **a comment**
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple, TypeAlias

import chess

from kibitz.commentary import english as language
from kibitz.commentary import faults as fault
from kibitz.commentary import merits as merit
from kibitz.commentary import positional as changed
from kibitz.commentary import tactical as tactic
from kibitz.commentary.claims import Claim, Step, step
from kibitz.commentary.facts import Scene, Unit, is_unsafe
from kibitz.commentary.faults import faults, missed
from kibitz.commentary.judge import Label, label, standing
from kibitz.commentary.merits import gain_of, merits
from kibitz.commentary.motifs import motifs
from kibitz.commentary.positional import changes
from kibitz.commentary.prover import SURE_MATE

Level: TypeAlias = Literal["beginner", "club", "expert"]
LEVELS: tuple[Level, ...] = ("beginner", "club", "expert")

# How much a claim matters to a beginner, a club player, an expert. Below LEAST it is not said.
WEIGHTS: dict[type[Claim], tuple[float, float, float]] = {
    tactic.Mates: (0.9, 0.8, 0.6),
    merit.MateIn: (0.95, 0.95, 0.9),
    tactic.Fork: (0.9, 0.85, 0.6),
    tactic.Skewers: (0.9, 0.85, 0.7),
    tactic.Traps: (0.9, 0.9, 0.8),
    tactic.Discovers: (0.85, 0.85, 0.7),
    tactic.DoubleCheck: (0.8, 0.75, 0.5),
    tactic.Deflects: (0.75, 0.85, 0.8),
    tactic.Attracts: (0.7, 0.85, 0.8),
    tactic.RemovesGuard: (0.8, 0.85, 0.7),
    tactic.Interferes: (0.7, 0.9, 0.9),
    tactic.Intermezzo: (0.6, 0.85, 0.85),
    tactic.Clears: (0.4, 0.6, 0.7),
    tactic.Pins: (0.7, 0.5, 0.3),
    tactic.UsesPin: (0.7, 0.65, 0.45),
    tactic.TakesLoose: (0.8, 0.6, 0.35),
    tactic.Sacrifices: (0.7, 0.8, 0.85),
    merit.Wins: (0.85, 0.8, 0.6),
    merit.Threatens: (0.75, 0.6, 0.4),
    merit.Parries: (0.65, 0.5, 0.4),
    merit.OnlyMove: (0.3, 0.7, 0.85),
    changed.PassedPawn: (0.5, 0.55, 0.5),
    changed.PassedPawnAdvances: (0.5, 0.45, 0.35),
    changed.IsolatedPawn: (0.3, 0.45, 0.45),
    changed.DoubledPawns: (0.4, 0.45, 0.4),
    changed.TakesFile: (0.4, 0.4, 0.3),
    changed.Seventh: (0.5, 0.45, 0.35),
    changed.Outpost: (0.45, 0.5, 0.45),
    changed.BishopPair: (0.3, 0.45, 0.5),
    changed.LosesCastling: (0.6, 0.55, 0.45),
    changed.OppositeCastling: (0.45, 0.5, 0.45),
    changed.QueensLeave: (0.3, 0.35, 0.3),
    changed.PawnEnding: (0.5, 0.5, 0.45),
    changed.OppositeBishops: (0.35, 0.5, 0.5),
    changed.OpensKing: (0.45, 0.5, 0.45),
}
LEAST = {"beginner": 0.38, "club": 0.4, "expert": 0.42}
FADING = 0.94  # a kind of claim matters less every time it has been made
WINS_APART = 6  # plies between two claims that material is won by the same side
# What is said only where a search shows that it wins something.
MUST_PAY = (
    *(tactic.Fork, tactic.Skewers, tactic.Traps, tactic.Discovers, tactic.Deflects),
    *(tactic.Attracts, tactic.RemovesGuard, tactic.Interferes, tactic.Intermezzo, tactic.Clears),
    *(tactic.TakesLoose, tactic.Sacrifices),
)
# Of these the first that holds is said, not the others.
OF_ONE_KIND: tuple[tuple[type[Claim], ...], ...] = (
    (tactic.Deflects, tactic.Attracts, tactic.Sacrifices, tactic.Clears),
    (tactic.TakesLoose, merit.Wins),
    (tactic.Mates, merit.MateIn, merit.Wins, merit.OnlyMove, merit.Threatens),
    (tactic.Fork, merit.Threatens),
    (tactic.Traps, merit.Threatens),
    (tactic.Discovers, tactic.DoubleCheck),
    (changed.PawnEnding, changed.QueensLeave),
    (merit.Wins, merit.Threatens),
    (changed.Seventh, changed.TakesFile),
)


@dataclass
class Memory:
    """What has been said in a game, so that nothing is said twice."""

    used: Counter[str] = field(default_factory=Counter)  # texts of the table
    said: set[Claim] = field(default_factory=set)
    kinds: Counter[type[Claim]] = field(default_factory=Counter)
    won_at: dict[bool, int] = field(default_factory=dict)  # ply of the last gain of each side


class Comment(NamedTuple):
    """What is said of a move, and the claims that are said."""

    text: str = ""
    claims: tuple[Claim, ...] = ()
    better: tuple[Claim, ...] = ()  # of them, those about the move that was better
    reply: tuple[Claim, ...] = ()  # and those about the refutation


# --- choosing -------------------------------------------------------------------------------------


def pays(scene: Scene) -> bool:
    """Whether a move wins material by force, or mates."""
    gain = scene.prover.gain(scene.before, scene.move)
    mates = scene.has is not None and scene.has.mate is not None and scene.has.mate < 0
    return mates or gain_of(scene) >= merit.LEAST or (gain is not None and gain > SURE_MATE)


def ranked(scene: Scene, claims: Iterable[Claim], memory: Memory, level: Level) -> list[Claim]:
    """The claims worth saying, the most important first, without those that say the same."""
    weighed = sorted(
        ((_weight(claim, memory, level), number, claim) for number, claim in enumerate(claims)),
        key=lambda one: (-one[0], one[1]),
    )
    chosen: list[Claim] = []
    paying: bool | None = None
    for weight, _, claim in weighed:
        if weight < LEAST[level] or claim in memory.said or _is_covered(claim, chosen):
            continue
        if isinstance(claim, MUST_PAY):
            paying = pays(scene) if paying is None else paying
            if not paying:
                continue
        if _is_too_soon(claim, scene, memory) or not _is_to_the_point(claim, scene, level):
            continue
        chosen.append(claim)
    return chosen


def _weight(claim: Claim, memory: Memory, level: Level) -> float:
    return WEIGHTS[type(claim)][LEVELS.index(level)] * FADING ** memory.kinds[type(claim)]


def _is_covered(claim: Claim, chosen: Sequence[Claim]) -> bool:
    kinds = {type(one) for one in chosen}
    return type(claim) in kinds or any(
        type(claim) in group and kinds & set(group) for group in OF_ONE_KIND
    )


def _is_too_soon(claim: Claim, scene: Scene, memory: Memory) -> bool:
    """Whether a gain is the one that was spoken of a few moves ago."""
    if not isinstance(claim, (merit.Wins, tactic.TakesLoose)):
        return False
    return scene.before.ply() - memory.won_at.get(scene.mover, -100) < WINS_APART


def _is_to_the_point(claim: Claim, scene: Scene, level: Level) -> bool:
    """Whether a claim that is true is about this move."""
    if isinstance(claim, tactic.Mates):
        return bool(claim.pattern)
    if isinstance(claim, tactic.RemovesGuard):
        return claim.target.kind != chess.PAWN
    if isinstance(claim, tactic.UsesPin):
        return claim.spared == scene.piece
    if isinstance(claim, tactic.Pins):
        is_safe = not is_unsafe(scene.after, claim.by.square)
        return is_safe and claim.to.kind == chess.KING and claim.piece.kind != chess.PAWN
    if isinstance(claim, merit.Threatens):
        direct = claim.step.move.from_square == scene.landed and claim.target is not None
        exposed = scene.after.is_attacked_by(not scene.mover, scene.landed)
        return not (direct and level != "beginner") and not (exposed and scene.taken)
    if isinstance(claim, merit.Parries):
        runs = claim.target is not None and claim.target.square == scene.move.from_square
        return not (scene.taken or runs)
    return True


def worth_saying(scene: Scene, memory: Memory, level: Level, most: int) -> list[Claim]:
    """What there is to say of a good move."""
    found = [*motifs(scene), *merits(scene), *changes(scene)]
    spoken = [claim for claim in found if type(claim) in WEIGHTS]
    return ranked(scene, spoken, memory, level)[:most]


# --- speaking -------------------------------------------------------------------------------------


class Speaker:
    """Makes comments on the moves of one game."""

    def __init__(self, level: Level = "club") -> None:
        self.level, self.memory = level, Memory()

    def comment(self, scene: Scene) -> Comment:
        """What is to be said of a move; empty where there is nothing."""
        if self._label(scene) is not Label.NONE:
            return self._criticised(scene)
        chosen = worth_saying(scene, self.memory, self.level, 2)
        text = self.told(scene, chosen)
        self._remember(scene, chosen)
        return Comment(text, tuple(chosen))

    def _label(self, scene: Scene) -> Label:
        if scene.had is None or scene.has is None:
            return Label.NONE
        return label(scene.had, scene.has)

    def _remember(self, scene: Scene, claims: Sequence[Claim]) -> None:
        for claim in claims:
            self.memory.said.add(claim)
            self.memory.kinds[type(claim)] += 1
            if isinstance(claim, (merit.Wins, tactic.TakesLoose, tactic.Fork)):
                self.memory.won_at[scene.mover] = scene.before.ply()

    def told(self, scene: Scene, claims: Sequence[Claim]) -> str:
        """A sentence for each claim about a move."""
        texts = []
        move = step(scene.before, scene.move).text
        for number, claim in enumerate(claims):
            frames = language.PLAYED if number == 0 else language.PLAYED_MORE
            frame = self._varied("played more" if number else "played", frames)
            texts.append(frame.format(self.predicate(claim, scene), move=move))
        return " ".join(texts)

    def _criticised(self, scene: Scene) -> Comment:
        """The cause, what was better, and what it means for the game."""
        most = 1 if self.level == "beginner" else 2
        reply = self._reasons(scene.other, most) if scene.reply else []
        better: list[Claim] = []
        if scene.had is not None and scene.had.line and scene.had.line[0] != scene.move:
            better = self._reasons(scene.instead(), most)
        if self._label(scene) is Label.INACCURACY and not (reply or better):
            return Comment()
        causes = faults(scene, tuple(reply))
        lines = missed(scene, tuple(better))
        turn = self._turn(scene)
        said: list[Claim] = [*causes[:1], *([turn] if turn else []), *lines]
        texts = [self._fault(scene, claim) for claim in said]
        self._remember(scene, said)
        if scene.reply:
            self._remember(scene.other, reply)
        text = " ".join(_capital(one) for one in texts)
        return Comment(text, tuple(said), tuple(better), tuple(reply))

    def _reasons(self, scene: Scene, most: int) -> list[Claim]:
        """What a move that was not made is good for."""
        claims = worth_saying(scene, Memory(), self.level, most + 1)
        return [one for one in claims if not isinstance(one, merit.OnlyMove)][:most]

    def _turn(self, scene: Scene) -> Claim | None:
        """How a mistake changes the standing, if it does so by much."""
        if scene.had is None or scene.has is None or scene.has.mate is not None:
            return None
        turn = fault.Turns(standing(scene.had.value), standing(-scene.has.value))
        known = f"Turns.{turn.had}.{turn.has}" in language.PREDICATES
        big = self._label(scene) is not Label.INACCURACY
        return turn if known and big and turn.proved(scene) else None

    def _fault(self, scene: Scene, claim: Claim) -> str:
        """A sentence about a cause or an alternative."""
        if isinstance(claim, fault.Turns):
            return language.PLAYED[0].format(self.predicate(claim, scene))
        name, why = type(claim).__name__, ""
        slots = self._slots(claim, scene)
        match claim:
            case fault.Overlooks():
                why = self._which(scene.other, self._reasons(scene.other, 1))
            case fault.Allows():
                why = self._which(scene.other, claim.why)
            case fault.Better():
                why = self._which(scene.instead(), claim.why) or self._kept(scene)
            case fault.AllowsMate(moves=1) | fault.MissesMate(moves=1):
                name += ".1"
        if why:
            name, slots["why"] = f"{name}.why", why
        return self._varied(name, language.FAULTS[name]).format(**slots)

    def _which(self, scene: Scene, claims: Sequence[Claim]) -> str:
        return language.joined([self.predicate(claim, scene) for claim in claims])

    def _kept(self, scene: Scene) -> str:
        """What the best move keeps, as a predicate, where that is more than what is left."""
        if scene.had is None or scene.has is None:
            return ""
        keeps = fault.Keeps(standing(scene.had.value))
        key = f"Keeps.{keeps.has}"
        if keeps.has <= standing(-scene.has.value) or key not in language.PREDICATES:
            return ""
        return self.predicate(keeps, scene)

    def predicate(self, claim: Claim, scene: Scene) -> str:
        """A claim as a predicate: "forks the king and the rook on a8"."""
        key = _key(claim, scene)
        name = type(claim).__name__
        table = language.BEGINNER if self.level == "beginner" else language.PREDICATES
        texts = table.get(key) or table.get(name) or language.PREDICATES.get(key)
        texts = texts or language.PREDICATES[name]
        return self._varied(key, texts).format(**self._slots(claim, scene))

    def _varied(self, key: str, texts: Sequence[str]) -> str:
        """The text of a table that was used least in this game."""
        start = (self.memory.used.total() + len(key)) % len(texts)
        order = [*texts[start:], *texts[:start]]
        text = min(order, key=lambda one: self.memory.used[one])
        self.memory.used[text] += 1
        return text

    def _slots(self, claim: Claim, scene: Scene) -> dict[str, str]:
        """What stands in the braces of a text."""
        slots = {
            "mover": language.SIDES[scene.mover],
            "other": language.SIDES[not scene.mover],
        }
        for one in fields(claim):
            slots |= _spelled(one.name, getattr(claim, one.name))
        return slots


def _key(claim: Claim, scene: Scene) -> str:
    """The name of the texts for a claim: its class, and what makes a difference in words."""
    name = type(claim).__name__
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
        case merit.MateIn(moves=1):
            name += ".1"
        case merit.Wins((4,), (2,) | (3,)):
            name += ".exchange"
        case merit.Wins() if not claim.won:
            name += ".some"
        case merit.Wins() if claim.lost:
            name += ".for"
        case merit.Threatens(target=None) | merit.Parries(target=None):
            name += ".mate"
        case merit.OnlyMove(hard=True):
            name += ".hard"
        case fault.Turns():
            name += f".{claim.had}.{claim.has}"
        case fault.Keeps():
            name += f".{claim.has}"
        case changed.TakesFile(open=False):
            name += ".half"
        case changed.Seventh() if not scene.mover:
            name += ".black"
    return name


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
    if isinstance(value, tuple) and name in ("won", "lost"):
        return {name: language.haul(value)}
    return {}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

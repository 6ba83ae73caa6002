"""Says the proved claims that matter most to a reader, each once in a game, in varied sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kibitz.comment.claims import cover
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims import merits as merit
from kibitz.comment.claims import positional as changed
from kibitz.comment.claims.claim import Claim, step
from kibitz.comment.claims.features import Feature
from kibitz.comment.claims.grades import WalksInto
from kibitz.comment.claims.lines.outlook import (
    Intends,
    NextFails,
    answer_line,
    line_to,
    mark_of,
    next_best,
    next_idea,
)
from kibitz.comment.claims.lines.point import WinsBy
from kibitz.comment.claims.motifs import MUST_PAY
from kibitz.comment.facts import Scene
from kibitz.comment.judge import standing
from kibitz.comment.select.rank import FEATURE_WEIGHTS, Level, Memory, kind_of
from kibitz.comment.select.selection import Selection, Tone, remember, select
from kibitz.comment.words.english import ENGLISH
from kibitz.comment.words.language import Forms, Language
from kibitz.comment.words.slots import claim_key, claim_slots, scores, worth


class Comment(NamedTuple):
    """What is said of a move, and the claims that are said."""

    text: str = ""
    claims: tuple[Claim, ...] = ()
    better: tuple[Claim, ...] = ()  # of them, those about the move that was better
    reply: tuple[Claim, ...] = ()  # and those about the refutation


GAINS = (merit.Wins, merit.Nets)


class Speaker:
    """Makes comments on the moves of one game."""

    def __init__(self, level: Level = "club", language: Language = ENGLISH) -> None:
        self.level, self.language, self.memory = level, language, Memory()
        self._used: Counter[str] = Counter()  # texts of the table
        self.tone = Tone.PLAIN

    def comment(self, scene: Scene) -> Comment:
        """What is to be said of a move; empty where there is nothing."""
        chosen = select(scene, self.memory, self.level, self.tone)
        sayable = (claim for claim in chosen.claims if self._says(claim, scene))
        chosen = chosen._replace(claims=tuple(sayable))
        faulty = mark_of(scene) or any(
            isinstance(claim, fault.AllowsMate) for claim in chosen.claims
        )
        text = self._criticised(scene, chosen) if faulty else self.text_of(scene, chosen.claims)
        remember(self.memory, scene, chosen)
        return Comment(text, *chosen)

    def _says(self, claim: Claim, scene: Scene) -> bool:
        """Whether the language has a sentence for a claim, and a name for its opening or trap."""
        name = getattr(claim, "opening", "") or getattr(claim, "trap", "")
        if name and not self.language.opening(name):
            return False
        if isinstance(claim, fault.Turns):
            return f"{claim.had}.{claim.has}" in self.language.turns
        return type(claim).__name__ in self.language.faults or bool(self._forms(claim, scene))

    def text_of(self, scene: Scene, claims: Sequence[Claim]) -> str:
        """What is said of a move: two short claims share a sentence, longer ones have their own."""
        language, texts = self.language, list[str]()
        move = language.notation(step(scene.before, scene.move).text)
        for claim in (claim for claim in claims if self._says(claim, scene)):
            if isinstance(claim, WinsBy):
                texts.append(self._fault(scene, claim, scored=False))
                continue
            text = self.predicate(claim, scene, unlike=texts[-1] if texts else "")
            verb, _, rest = text.partition(" ")
            against = bool(texts) and _speaks_against(claim, scene) != _speaks_against(
                claims[0], scene
            )
            if not texts:
                texts.append(text)
            elif isinstance(claim, GAINS) and isinstance(claims[0], MUST_PAY) and ":" not in text:
                texts[0] = language.so.format(texts[0], text, verb=verb, rest=rest)
            elif not language.ends.search(texts[0]):
                form = language.but if against else language.both
                texts[0] = form.format(texts[0], text, verb=verb, rest=rest)
            else:
                more = language.played_but if against else language.played_more
                form = self._varied("played more", more)
                texts.append(form.format(text, verb=verb, rest=rest))
        if texts:
            texts[0] = self._varied("played", language.played).format(texts[0], move=move)
        return " ".join(texts)

    def _criticised(self, scene: Scene, chosen: Selection) -> str:
        """The cause, what was better, and what it means for the game."""
        scored = any(isinstance(claim, fault.Better) and not claim.why for claim in chosen.claims)
        texts = [self._fault(scene, claim, scored) for claim in chosen.claims]
        return " ".join(_capital(text) for text in texts)

    def sentence_of(self, scene: Scene, claim: Claim) -> str:
        """A claim as a comment of its own; empty where the language has no sentence for it."""
        if not self._says(claim, scene):
            return ""
        module, name = type(claim).__module__, type(claim).__name__
        own = module in (fault.__name__, cover.__name__) or not self._forms(claim, scene)
        if own and (name in self.language.faults or isinstance(claim, fault.Turns)):
            return _capital(self._fault(scene, claim, scored=False))
        return self.text_of(scene, [claim])

    def _fault(self, scene: Scene, claim: Claim, scored: bool) -> str:
        """A sentence about a cause or an alternative; the scores may be told by another."""
        language, slots = self.language, claim_slots(claim, scene, self.language)
        if isinstance(claim, fault.Turns):
            name = f"{claim.had}.{claim.has}"
            return self._varied(name, language.turns[name]).format(**slots)
        name, why = type(claim).__name__, ""
        if isinstance(claim, (fault.Allows, fault.LosesEnding, fault.GivesTooMuch)):
            slots["line"] = language.notation(answer_line(scene))
        match claim:
            case fault.Overlooks() | fault.Abandons():
                why = self._which(scene.other, claim.why)
            case fault.Allows() | fault.Better() if claim.plies:
                name += ".later"
                first = scene.other if isinstance(claim, fault.Allows) else scene.instead
                slots["line"] = language.notation(line_to(first, claim.plies))
                why = self._which(first.ahead(claim.plies) or first, claim.why)
            case WinsBy():
                why = self._which(scene.ahead(claim.plies) or scene, claim.why)
            case fault.Allows():
                why = self._which(scene.other, claim.why)
                if not (why or scored) and (values := scores(scene)):
                    name, slots = "Allows.worth", slots | worth(values, language)
            case fault.Better():
                why = self._which(scene.instead, claim.why)
                if claim.step in self.memory.replies:
                    name = "Better.chance"  # the reason is told again, in short
                else:
                    why = why or self._kept(scene)
                if not why and name == "Better" and (values := scores(scene)):
                    name, slots = "Better.worth", slots | worth(values, language)
            case _:
                name += _added(claim, scene)
        if why:
            slots["why"] = why
            name += "" if name.endswith(".later") else ".why"
        name = name if name in language.faults else name.partition(".")[0]
        forms = language.faults[name]
        for twice in language.once:  # one is enough for a sentence
            if twice in why:
                forms = tuple(form for form in forms if twice not in form) or forms
        return self._varied(name, forms).format(**slots)

    def _which(self, scene: Scene, claims: Sequence[Claim]) -> str:
        texts = [self.predicate(claim, scene) for claim in claims if self._says(claim, scene)]
        texts.sort(key=lambda text: ":" in text)  # what follows a colon ends the sentence
        return self.language.joined(texts)

    def _kept(self, scene: Scene) -> str:
        """What the best move keeps, as a predicate, where that is more than what is left."""
        if scene.had is None or scene.has is None:
            return ""
        keeps = fault.Keeps(standing(scene.had.value))
        more = keeps.has > standing(-scene.has.value)
        if not more or not self._forms(keeps, scene) or not keeps.proved(scene):
            return ""
        return self.predicate(keeps, scene)

    def _forms(self, claim: Claim, scene: Scene) -> Forms:
        """The texts of a claim as a predicate; none where the language has none."""
        key, name, language = claim_key(claim, scene), kind_of(claim), self.language
        table = language.beginner if self.level == "beginner" else language.predicates
        for texts, wanted in ((table, key), (table, name), (language.predicates, key)):
            if wanted in texts:
                return texts[wanted]
        return language.predicates.get(name, ())

    def predicate(self, claim: Claim, scene: Scene, unlike: str = "") -> str:
        """A claim as a predicate: "forks the king and the rook on a8"; not the verb of another."""
        texts, verb = self._forms(claim, scene), unlike.partition(" ")[0]
        texts = tuple(text for text in texts if text.split()[0] != verb) or texts
        slots = claim_slots(claim, scene, self.language)
        if isinstance(claim, NextFails):
            other = next_best(scene)
            slots["why"] = "" if other is None else self._which(other.other, claim.why)
        if isinstance(claim, Intends):
            idea = next_idea(scene)
            slots["why"] = "" if idea is None else self._which(idea, claim.why)
        return self._varied(claim_key(claim, scene), texts).format(**slots)

    def _varied(self, key: str, texts: Sequence[str]) -> str:
        """The text of a table that was used least in this game."""
        start = (self._used.total() + len(key)) % len(texts)
        order = [*texts[start:], *texts[:start]]
        text = min(order, key=lambda text: self._used[text])
        self._used[text] += 1
        return text


def _added(claim: Claim, scene: Scene) -> str:
    """What is added to the name of a fault whose texts depend on more than its reason."""
    match claim:
        case fault.LosesEnding(worse=True):
            return ".worse"
        case fault.GoesBack() if claim.line:
            return ".line"
        case fault.AllowsMate(moves=1) | fault.MissesMate(moves=1):
            return ".1"
        case WalksInto():
            return claim_key(claim, scene).removeprefix(kind_of(claim))
    return ""


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


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

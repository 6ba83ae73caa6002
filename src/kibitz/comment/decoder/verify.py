"""Reads a text back into statements, and proves each of them of the move it is about.

A sentence is understood as a whole or not at all: a word too many refuses it. What may be said of
a claim are the texts of the language's table and those of `ALSO` with its pieces, squares and moves
in the braces; a piece may be named without its square, a move without its number. Every statement
has to be one of the claims of a comment, and that claim has to be proved once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import chess

from kibitz.comment.check.readers import KIND, NAMED, kind_named
from kibitz.comment.check.statements import Stands, Thing, View
from kibitz.comment.check.text import MOVE, sentences
from kibitz.comment.claims import faults as fault
from kibitz.comment.claims.claim import Claim, step
from kibitz.comment.claims.lines import outlook
from kibitz.comment.decoder.spelling import proofs, scene_of_why
from kibitz.comment.facts import Scene
from kibitz.comment.select.rank import kind_of
from kibitz.comment.words.english import ENGLISH
from kibitz.comment.words.slots import claim_key, claim_slots, scores, worth
from kibitz.comment.words.speaker import Comment

# More ways to say what is in the language's table. A name with a star stands for all keys that
# begin so; those of `SEEN` are no claims but what the board shows of the move itself.
SEEN = ("Captures", "Checks", "Castles")
ALSO: dict[str, tuple[str, ...]] = {
    "Captures": ("takes {piece}", "captures {piece}"),
    "Checks": ("gives check", "is check"),
    "Castles": ("castles",),
    "Fork*": (
        *("is a fork of {targets}", "attacks {targets} at the same time"),
        *("makes a double attack on {targets}", "attacks {targets}", "forks {targets}"),
    ),
    "Pins*": ("pins {piece}", "pins down {piece}"),
    "Skewers*": ("is a skewer of {front} and {behind}",),
    "Traps*": ("catches {piece}", "shuts {piece} in"),
    "Wins*": ("wins material", "gains material"),
    "MateIn*": ("forces mate", "mates by force", "leads to mate"),
    "Threatens": ("threatens {target}",),
    "PassedPawn": ("makes a passed pawn", "makes a passed pawn on {square}"),
    "TakesFile": ("occupies the open {file}-file", "seizes the open {file}-file"),
    "TakesFile.half": ("occupies the half-open {file}-file",),
    "LosesCastling": ("loses the right to castle",),
}
SUBJECTS = re.compile(
    r"(?P<again>It also|And it|But it|At the same time it|It)|(?P<this>This(?: move)?)"
    r"|(?P<side>White|Black)|The (?P<kind>king|queen|rook|bishop|knight|pawn)"
    rf"(?: on (?P<square>[a-h][1-8]))?|(?P<move>{MOVE})"
)
JOINED = re.compile(r", and so |, and also |, and |, but |, | and also | and |; ")
SLOT = re.compile(r"\{(\w+)\}")


class Statement(NamedTuple):
    """What a text says: the key of the language's table, and the words."""

    key: str
    words: str


@dataclass(frozen=True)
class Verdict:
    """What became of a text: the statements that were proved, and why it may not be shown."""

    statements: tuple[Statement, ...]
    refused: str = ""

    @property
    def holds(self) -> bool:
        """Whether something is stated and all of it is proved."""
        return bool(self.statements) and not self.refused


class _RefusedError(Exception):
    """Ends the reading of a text; its message says why."""


def verified(text: str, scene: Scene, comment: Comment) -> Verdict:
    """Whether everything that a text says is one of the proved claims of a comment on a move."""
    statements: list[Statement] = []
    about_move = True
    try:
        for start, end in sentences(text):
            sentence = text[start:end].removesuffix(".")
            proved, about_move = _sentence(sentence, scene, comment, about_move)
            statements += proved
        if not text.rstrip().endswith("."):
            raise _RefusedError("it does not end with a full stop")
    except _RefusedError as error:
        return Verdict(tuple(statements), str(error))
    return Verdict(tuple(statements))


def _sentence(
    sentence: str, scene: Scene, comment: Comment, about_move: bool
) -> tuple[list[Statement], bool]:
    """The statements of a sentence, all proved, and whether the next may go on about the move."""
    claims = proofs(scene, comment)
    for claim, _, why in claims:
        read = _fault(sentence, claim, scene, why)
        if read is not None:
            return read, False
    subject = SUBJECTS.match(sentence)
    if subject is not None and sentence[subject.end() : subject.end() + 1] == " ":
        if not _subject_fits(subject, scene, about_move):
            raise _RefusedError(f"not about this move: {subject.group()}")
        read = _predicates(sentence[subject.end() + 1 :], scene, [claim for claim, _, _ in claims])
        if read is not None:
            return read, about_move
    raise _RefusedError(_missing(sentence, scene) or _unproved(sentence))


def _fault(
    sentence: str, claim: Claim, scene: Scene, why: Sequence[Claim]
) -> list[Statement] | None:
    """What a sentence says of a bad move, if that is a claim; `why` is what may be said besides."""
    lowered = re.sub("^The ", "the ", sentence)
    for key, pattern in _fault_patterns(claim, scene):
        match = pattern.fullmatch(sentence) or pattern.fullmatch(lowered)
        if match is None or not claim.proved(scene):
            continue
        reasons = match.groupdict().get("why")
        if reasons is None:
            return [Statement(key, sentence)]
        read = _predicates(reasons, scene_of_why(claim, scene), why)
        if read is not None:
            return [Statement(key, sentence), *read]
    return None


def _fault_patterns(claim: Claim, scene: Scene) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The sentences in which a claim about a bad move can be made."""
    slots = claim_slots(claim, scene)
    if isinstance(claim, fault.Turns):
        keys, table = [f"{claim.had}.{claim.has}"], ENGLISH.turns
    else:
        name, table = kind_of(claim), ENGLISH.faults
        keys = [f"{name}.1"] if getattr(claim, "moves", 0) == 1 else [name]
        keys += [f"{name}{form}" for form in (".why", ".chance", ".chance.why")]
        values = scores(scene) if isinstance(claim, (fault.Allows, fault.Better)) else ()
        if values:
            keys, slots = [*keys, f"{name}.worth"], slots | worth(values)
        if isinstance(claim, (fault.Allows, fault.Better)) and claim.plies:
            first = scene.other if isinstance(claim, fault.Allows) else scene.instead
            keys, slots["line"] = [f"{name}.later"], outlook.line_to(first, claim.plies)
        elif isinstance(claim, (fault.Allows, fault.GivesTooMuch)):
            slots["line"] = outlook.answer_line(scene)
    for key in keys:
        for text in table.get(key, ()):
            text = text[:1].upper() + text[1:]
            yield key, _filled(text.removesuffix("."), slots | {"why": ""})


def _subject_fits(subject: re.Match[str], scene: Scene, about_move: bool) -> bool:
    """Whether a sentence is about the move that was made."""
    named = subject.groupdict()
    if named["again"]:
        return about_move
    if named["side"]:
        return named["side"] == ENGLISH.sides[scene.mover]
    if named["kind"]:
        kinds = {scene.piece.kind, scene.before.piece_type_at(scene.move.from_square)}
        square = chess.square_name(scene.landed)
        return chess.PIECE_NAMES.index(named["kind"]) in kinds and named["square"] in (None, square)
    text = step(scene.before, scene.move).text
    return named["move"] in (None, text, text.rpartition(".")[2])


def _predicates(text: str, scene: Scene, claims: Sequence[Claim]) -> list[Statement] | None:
    """The statements of predicates, joined by commas or "and"; None if one is no proved claim."""
    for claim, key, pattern in _patterns(scene, claims):
        for end in [len(text)] + [joint.start() for joint in JOINED.finditer(text)]:
            if not pattern.fullmatch(text, 0, end):
                continue
            if claim is not None and not claim.proved(scene):
                continue
            statement = Statement(key, text[:end])
            if end == len(text):
                return [statement]
            joint = JOINED.match(text, end)
            assert joint is not None
            rest = _predicates(text[joint.end() :], scene, claims)
            if rest is not None:
                return [statement, *rest]
    return None


def _patterns(
    scene: Scene, claims: Sequence[Claim]
) -> Iterator[tuple[Claim | None, str, re.Pattern[str]]]:
    """All ways to state some claims, and what the board shows of the move."""
    for claim in claims:
        own, name = claim_key(claim, scene), kind_of(claim)
        for key, texts in (*ENGLISH.predicates.items(), *ENGLISH.beginner.items(), *ALSO.items()):
            star = key.endswith("*") and own.startswith(key[:-1])
            if key in SEEN or not (key == own or star or (key == name and _is_plain(own))):
                continue
            for text in texts:
                pattern = _pattern(text, claim_slots(claim, scene))
                if pattern is not None:
                    yield claim, key, pattern
    if scene.captured is not None:
        piece = ENGLISH.unit(scene.captured.kind, chess.square_name(scene.captured.square))
        yield from ((None, SEEN[0], _filled(text, {"piece": piece})) for text in ALSO[SEEN[0]])
    shown = (scene.after.is_check(), scene.before.is_castling(scene.move))
    for key, is_so in zip(SEEN[1:], shown, strict=True):
        yield from ((None, key, _filled(text, {})) for text in ALSO[key] if is_so)


def _is_plain(key: str) -> bool:
    """Whether the table has no texts for a key, so that those of its kind stand for it."""
    return key not in ENGLISH.predicates


def _pattern(text: str, slots: dict[str, str]) -> re.Pattern[str] | None:
    """A text with a claim's words in its braces; None where the claim has none for them."""
    return _filled(text, slots) if set(SLOT.findall(text)) <= set(slots) else None


def _filled(text: str, slots: dict[str, str]) -> re.Pattern[str]:
    """A text as a pattern: squares of pieces and numbers of moves may be left out."""
    pattern = "".join(
        ("(?P<why>.+)" if part == "why" else _loosely(slots.get(part, "\0")))
        if number % 2
        else re.escape(part)
        for number, part in enumerate(SLOT.split(text))
    )
    return re.compile(pattern)


def _loosely(words: str) -> str:
    """Words of a claim as a pattern."""
    if re.fullmatch(MOVE, words) and "." in words:
        number, _, san = words.rpartition(".")
        return rf"(?:{re.escape(number)}\.)?{re.escape(san)}"
    return re.sub(rf"({KIND})\\ on\\ ([a-h][1-8])", r"\1(?: on \2)?", re.escape(words))


# --- why a sentence is refused --------------------------------------------------------------------


def _missing(sentence: str, scene: Scene) -> str:
    """The first piece a sentence names that is on its square neither now nor in what follows."""
    boards = [*scene.boards, *(scene.instead.boards if scene.had and scene.had.line else ())]
    for name, square in NAMED.findall(sentence):
        stands = Stands(Thing(kind_named(name), square=chess.parse_square(square)))
        if not any(stands.true_in(View(board)) for board in boards):
            return f"no {name} on {square}"
    return ""


def _unproved(sentence: str) -> str:
    """The first claim that a sentence seems to make, whatever it is about."""
    for key, form in _general():
        if form.search(sentence):
            return f"not proved: {key}"
    return f"not understood: {sentence[:60]}"


@cache
def _general() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Every text with anything in its braces, the longest first."""
    turns = {f"Turns.{key}": texts for key, texts in ENGLISH.turns.items()}
    tables = (ALSO, ENGLISH.predicates, ENGLISH.beginner, ENGLISH.faults, turns)
    texts = [(key, text) for table in tables for key, forms in table.items() for text in forms]
    texts.sort(key=lambda entry: -len(SLOT.sub("", entry[1])))
    forms = []
    for key, text in texts:
        parts = [re.escape(part) for part in SLOT.split(text.removesuffix("."))[::2]]
        forms.append((key, re.compile(r"\b" + ".+".join(parts))))
    return tuple(forms)

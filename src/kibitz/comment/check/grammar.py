"""Reads a sentence into statements: what is understood for certain, and nothing else.

A sentence that is conditional, past or a question says nothing certain of the position, nor does
one in which other moves come first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kibitz.comment.check.forms import FORMS
from kibitz.comment.check.readers import Context, Hit
from kibitz.comment.check.statements import Statement
from kibitz.comment.check.text import ELSEWHERE, PLAYED

# Words that make a sentence a guess, a wish, a rule, a story or a question.
HEDGES = re.compile(
    r"\b(?:if|would|could|should|might|may|maybe|perhaps|probably|unless|suppos\w+|imagin\w+|assum\w+|"
    r"were|was|had|did|didn't|hop(?:e[ds]?|ing)|wish\w*|instead|otherwise|whether|almost|nearly|"
    r"seem\w*|appear\w*|looks?|looked|potential\w*|possibl\w+|usual\w*|often|normal\w*|general\w*|"
    r"typical\w*|sometimes|always|ever|never|example|e\.g|such as|like|idea|plan\w*|hardly|"
    r"went|played|came|took|thought|felt|think|believe|guess|want\w*|tried|supposed|theor\w+|rule|"
    r"when(?:ever)?|once|until|till|before|unlike|compare\w*|imagined|anyone|someone|both players|"
    r"principle|known as|called|neither|nor|either|any|some|many|most|every|each|rather|too|enough|"
    r"nothing|nobody|game|games|puzzle|study|variation|variations|line|lines|main|pretend\w*|"
    r"has to|have to|merely|"
    r"previous\w*|earlier|original\w*|start(?:ed|ing)?|diagram)\b|\?|\bas in\b",
    re.IGNORECASE,
)
# Before a statement: it is of another time, or of somebody's intention.
BEFORE = re.compile(
    r"\b(?:after|then|will|shall|won't|try(?:ing)?|tries|allow\w*|lets?|prevent\w*|"
    r"avoid\w*|so that|"
    r"in order|intend\w*|aim\w*|threat\w*|need\w*|going to|next|soon|later|eventually|without|"
    r"because of|in case|can|can't|cannot|must|to|for|forc\w+|prepar\w+|stops?|stopping|"
    r"instead of|make[s]?|making|gives?|giving|leav\w+|follow\w*|lead\w*|about|renews?|"
    r"the threat|along with|with|because|by|from|since|due|despite|as|than|not|no longer|"
    r"isn't|aren't|hasn't|doesn't|don't|or|only)\s+(?:[\w'-]+\s+){0,4}$",
    re.IGNORECASE,
)
# Behind a statement: it holds after something else.
BEHIND = re.compile(
    r"^\W{0,2}\s*(?:after|if|when|once|in case|unless|next move|soon|later|"
    r"until|then|in \w+ moves?|"
    r"again|or|by force|is gone|has been|to the defen[cs]e|again|with a|from|via|file|square|twice|"
    r"already)\b|^['-]\w",
    re.IGNORECASE,
)
# Where a clause begins that does not bear on what was said before it.
CLAUSE = re.compile(r"[;:]|,\s+(?:but|so|and|which|although|though|while|since)\b|\s-\s")


class Claimed(NamedTuple):
    """A statement, or its opposite, and where it is in the sentence."""

    statement: Statement
    positive: bool
    start: int
    end: int
    near: bool = True  # a position before or after may be meant


class Reading(NamedTuple):
    """What a sentence says, and whether it leads away from the position of its comment."""

    claims: tuple[Claimed, ...] = ()
    away: bool = False


def read(sentence: str, context: Context) -> Reading:
    """The statements of a sentence about the position that its comment belongs to."""
    moves = [match for match in PLAYED.finditer(sentence) if not _is(match[0], context.san)]
    elsewhere = bool(ELSEWHERE.search(sentence))
    away = elsewhere or len(moves) > 1 or any(move[0][0].isdigit() for move in moves)
    if elsewhere or sentence.rstrip("\"')").endswith(("?", ":", "...")):
        return Reading((), away or bool(moves))
    claims = []
    for form in FORMS:
        if moves and not form.moves:
            continue
        for match in form.pattern.finditer(sentence):
            if _is_hedged(sentence, match) or (form.moves and len(moves) > 1):
                continue
            near = form.near and not _is_of_the_move(match, context)
            claims += [
                Claimed(statement, positive, *match.span(), near)
                for statement, positive in form.read(Hit(match, context))
            ]
    return Reading(tuple(claims), away or (bool(moves) and not claims))


def _is_of_the_move(match: re.Match[str], context: Context) -> bool:
    """Whether a statement is about the move that was made, and no other."""
    doer = (match.groupdict().get("by_it") or "").lower()
    return context.mover is not None and doer.startswith(("it", "this"))


def _is_hedged(sentence: str, match: re.Match[str]) -> bool:
    """Whether the words around a statement make it one about another time."""
    start, clause = match.start(), CLAUSE.search(sentence, match.end())
    if HEDGES.search(sentence, 0, clause.start() if clause else len(sentence)):
        return True
    before = sentence[max(0, start - 60) : start]
    before = before if before.endswith(" ") or not before else before + " "
    return bool(BEFORE.search(before) or BEHIND.search(sentence[match.end() : match.end() + 30]))


def _is(text: str, san: str) -> bool:
    """Whether a move in a text is a certain one, whatever number and marks it has."""
    return bool(san) and re.sub(r"^[\d.\s]+|[+#!?]+$", "", text) == san.rstrip("+#")


_AFTER = re.compile(
    r"^(?:and\s+)?after\s+(?P<moves>.+?)\s*,?\s+(?=(?:white|black|the|it)\b)", re.IGNORECASE
)


def variation(sentence: str) -> tuple[list[str], str]:
    """The moves after which a sentence says something, and the rest of it; none if it has none."""
    match = _AFTER.match(sentence[:300])
    if match is None:
        return [], sentence
    words = re.sub(r"\d{1,3}\s?\.{1,3}|\.{3}|,|\band\b|[!?]", " ", match["moves"]).split()
    return words, sentence[match.end() :]

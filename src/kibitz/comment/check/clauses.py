"""Accounts for every word of a sentence: what its statements leave is read as more clauses.

"The queen attacks b5, and the rook on h8, and is pinned" has one statement that a form reads; the
rest is joined to the words before it: "The queen attacks" + "the rook on h8", "The queen" +
"is pinned". What cannot be read so either, and is no filler, was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kibitz.comment.check.grammar import BEHIND, HEDGES
from kibitz.comment.check.readers import KIND, SQUARE, piece
from kibitz.comment.check.text import PLAYED

MOST_PIECES = 6  # of a list; a longer one is not read
SHOWN = 60  # characters of what was not understood
# What says nothing about the position.
_FILLER = re.compile(
    r"\b(?:of\s+course|as\s+well|a\s+(?:little|bit)|at\s+(?:once|the\s+same\s+time|the\s+moment)|right\s+(?:now|away)"
    r"|for\s+now|on\s+the\s+board|in\s+(?:this|the|the\s+(?:current|given))\s+position|in\s+this\s+(?:ending|endgame)|in\s+fact|on\s+the\s+other\s+hand|it\s+is\s+clear\s+that|(?:un)?fortunately|even|with\s+(?:best|correct)\s+play|this(?:\s+move)?\s+means\s+that|note\s+that|we\s+see\s+that"
    r"|as\s+(?:you|we)\s+can\s+see|(?:you|we)\s+can\s+see\s+that|here|now|simply|also|too|still|already|currently|again"
    r"|just|very|quite|really|clearly|obviously|certainly|definitely|indeed|actually|immediately|both|yet"
    r"|the|an?|and|but|while|whereas|though|although|however|moreover|furthermore|additionally|meanwhile|well)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"^[\s,;:.!-]*(?:(?:and|but|yet|while|whereas|although|though|plus|as\s+well\s+as)\b[\s,]*)*"
    r"(?:(?:also|now|simply|even|still|again|both|here)\b[\s,]*)*",
    re.IGNORECASE,
)
# Where a list, or a sentence, has its next part.
_NEXT = re.compile(r"\s*[,;]\s*(?:and\s+|but\s+)?|\s+(?:and|but|while|whereas)\s+|\s+-\s+")
# What a piece is called by the way; of that nothing is proved.
_OPINION = re.compile(
    r"\b(?:strong|weak|powerful|bad|good|poor|active|passive|important|lone|free|last|dangerous"
    r"|nice|beautiful|mighty|valuable|fianchettoed)"
    rf"(?=\s+(?:(?:passed|isolated|doubled|backward)\s+)?(?:{SQUARE}[-\s])?(?:{KIND}|passer)s?\b)",
    re.IGNORECASE,
)
# These say why: of that nothing is proved, but what they begin with has to be so.
_WHY = re.compile(r"^(?:because|since|as|so(?:\s+that)?|thus|therefore)\b\s*,?\s*", re.IGNORECASE)
_WHICH = re.compile(r"^(?:which|who|that)\s+(?:(?:now|also|still|itself|in\s+turn)\s+)?", re.I)
_NOTHING = re.compile(
    r"\bwhich\s+(?:nothing|nobody|no\s+one|no\s+pieces?)\s+(?:guard|defend|protect)s?\b",
    re.IGNORECASE,
)
# What begins with a subject of its own.
_OWN = re.compile(
    rf"^(?:the|its?|this|there|both|neither|each|his|her|their|an?|material|{SQUARE}"
    r"|white(?:'s)?|black(?:'s)?)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    rf"^(?:and\s+)?(?:{piece('one')}(?:\s+and\s+{piece('two')})?|white|black|both\s+sides"
    rf"|this(?:\s+move)?|it|the\s+(?-i:[a-h])-file|{PLAYED.pattern}[!?]{{0,2}})(?![\w'-])",
    re.IGNORECASE,
)
_TARGET = re.compile(
    rf"{piece('one')}|\b{SQUARE}(?![\w-])|\bthe\s+(?-i:[a-h])-file\b", re.IGNORECASE
)
# Words that lead up to a thing, as its verb or preposition.
_LEADS_TO = re.compile(r"[\w'](?<!\band)(?<!\bbut)\s+(?:the|an?)?\s*$", re.IGNORECASE)
_IS = re.compile(r".*?\b(?:is|are|has|have)\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not?|only|never|cannot|nothing|neither)\b|n't\b", re.IGNORECASE)
_BY = re.compile(r".*(?=\sby\s)", re.IGNORECASE)

Understand = Callable[[str], bool]
Span = tuple[int, int]


def rest(text: str, spans: Sequence[Span], understand: Understand) -> list[str]:
    """What of a text neither stands in some spans nor can be understood behind them.

    >>> rest("The bishop is pinned and wins.", [(0, 20)], lambda said: False)
    ['and wins']
    """
    unknown = list[str]()
    for start, end in _gaps(len(text), spans):
        before = max((span for span in spans if span[1] == start), default=None)
        clause = text[before[0] : start] if before else ""
        if before and _SUBJECT.fullmatch(clause) and _LEADS_TO.search(text[: before[0]]):
            clause = ""  # the object of what was not understood is no subject
        unknown += _joined(text[start:end], clause, understand)
    opinions = _OPINION.finditer(text)
    return unknown + [
        match[0] for match in opinions if any(a <= match.start() < b for a, b in spans)
    ]


def _gaps(length: int, spans: Sequence[Span]) -> Iterator[Span]:
    at = 0
    for start, end in sorted(spans):
        if start > at:
            yield at, start
        at = max(at, end)
    if at < length:
        yield at, length


def _joined(gap: str, clause: str, understand: Understand) -> Iterator[str]:
    """The parts of a gap that are not understood; the longest that can be are tried first.

    Behind one that is not, and in a guess, nothing is certain.
    """
    gap = _NOTHING.sub("which is unguarded", gap)
    if _is_empty(gap):
        return
    ends = [match.start() for match in _NEXT.finditer(gap) if match.start()] + [len(gap)]
    if not clause or len(ends) > MOST_PIECES or HEDGES.search(gap):
        yield _plain(gap)
        return
    at = 0
    while ends:
        found = ((end, _read(gap, at, end, clause, understand)) for end in reversed(ends))
        end, said = next(((end, said) for end, said in found if said is not None), (0, None))
        if said is None:
            yield from _open(gap[at:], understand)
            return
        clause, at = said or clause, end
        ends = [one for one in ends if one > end]


def _read(gap: str, at: int, end: int, clause: str, understand: Understand) -> str | None:
    """The sentence that a part of a gap makes; an empty one if it says nothing."""
    if _is_empty(gap[at:end]):
        return ""
    if BEHIND.search(gap[end : end + 30]):
        return None
    return _understood(gap[at:end], clause, understand)


def _is_empty(phrase: str) -> bool:
    return re.search(r"\w", _FILLER.sub("", phrase)) is None


def _plain(phrase: str) -> str:
    said = " ".join(phrase.split()).strip(" ,;:.!-")
    return said if len(said) <= SHOWN else f"{said[: SHOWN - 3]}..."


def _understood(phrase: str, clause: str, understand: Understand) -> str | None:
    """The sentence that a phrase makes with the words before it; None if it makes none."""
    words = phrase[_match_end(_JOINED, phrase) :].strip(" ,;:.!-")
    opposed = re.match(r"[\s,;-]*(?:but|while|whereas)\b", phrase, re.IGNORECASE) is not None
    tried = (said for said in _sentences(words, clause, opposed) if understand(f"{said}."))
    return next(tried, None)


def _open(phrase: str, understand: Understand) -> Iterator[str]:
    """A phrase that was not understood; of one that says why, whether what it says is so."""
    words = phrase[_match_end(_JOINED, phrase) :].strip(" ,;:.!-")
    why = _WHY.match(words)
    is_so = why is not None and understand(f"{words[why.end() :]}.")
    yield _plain(why[0] if why is not None and is_so else phrase)


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def _sentences(words: str, clause: str, opposed: bool) -> Iterator[str]:
    """What a phrase may say behind a clause, the likeliest first.

    What "not" and "only" bear on is certain in a phrase that is `opposed` to them alone.
    """
    which = _WHICH.match(words)
    if which is not None:
        names = [match[0] for match in _TARGET.finditer(clause)]
        if names and len(names[-1]) > len("e4"):
            yield f"{names[-1]} {words[which.end() :]}"
        return
    if _OWN.match(words):
        yield words
    subject = _SUBJECT.match(clause)
    first = subject.end() if subject else 0
    if subject is not None:
        yield f"{subject[0]} {'gives check' if words.lower() == 'with check' else words}"
    if _NOT.search(clause, first) and not opposed:
        return
    pattern = _BY if words.lower().startswith("by ") else _IS
    until = pattern.match(clause, first)
    if until is not None:
        yield f"{clause[: until.end()]} {words}"
    starts = [match.start() for match in _TARGET.finditer(clause, first)]
    for start in dict.fromkeys((*starts[-1:], *starts[:1])):
        yield f"{clause[:start].rstrip()} {words}"

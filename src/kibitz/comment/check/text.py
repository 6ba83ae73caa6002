"""Splits a text into passages and sentences, and names what moves look like.

A list, a heading and bold letters are signs of their writer, not of chess: they are taken off. All
patterns here are without nested repetition, so that reading takes time in step with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOVE = r"(?:\d+\.(?:\.\.)?)?(?:O-O(?:-O)?|[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?)[+#]?"
_ENDS = re.compile(r"(?<![.!?])[.!?]++[\"')\]]*+(?=\s|$)")
_SHORT = {"e.g", "i.e", "eg", "ie", "vs", "etc", "cf", "mr", "dr", "st", "no", "op", "fig", "viz"}
# What may follow the number of a move, and a pawn's move that a sentence may begin with.
_NUMBERED = re.compile(rf"\s*(?:(?!\d){MOVE}(?![\w-])|[a-z.]|[KQ]?(?:Kt|[KQRBPN])[-x\s]|0-0|--)")
_PAWN = re.compile(r"\s*(?:[a-h]x)?[a-h][1-8](?:=[QRBN])?[+#]?(?![\w-])")
_MARKED = re.compile(rf"(?:{MOVE}|[0O]-[0O](?:-[0O])?)$")
# A move that is plainly one: a piece, a capture, a promotion, castling, or a number before it.
PLAYED = re.compile(
    r"(?<![\w-])(?:\d{1,3}\s?\.{1,3}\s?)?(?:\.\.\.\s?)?(?:"
    r"[KQRBN][a-h]?[1-8]?x?[a-h][1-8][+#]?"
    r"|[a-h]x[a-h][1-8](?:=?[QRBN])?[+#]?|[a-h][18]=[QRBN][+#]?"
    r"|[O0]-[O0](?:-[O0])?[+#]?)(?![\w-])"
    r"|(?<![\w-])\d{1,3}\s?\.{1,3}\s?[a-h][1-8][+#]?(?![\w-])"
)
# Moves in other notations: P-K4, KtxP, e2-e4, Ng1-f3, c6c5; and a pawn's move with dots or a mark.
ELSEWHERE = re.compile(
    r"(?<![\w-])(?:[KQ]?(?:Kt|[KQRBPN]))(?:\s?[-x]\s?|\s?takes\s?)(?:[KQ]{0,2}(?:Kt|[KQRBPN])\d?|\d)"
    r"|(?<![\w-])[KQRBN]?[a-h][1-8]\s?[-x]?\s?[a-h][1-8](?![\w-])(?!\s+diagonal)"
    r"|\.\.\s?[a-h][1-8](?![\w-])|(?<![\w-])[a-h][1-8](?:\s?[!?]{1,2}|[+#])(?![\w-])"
)
# The same without what can be read in a text on a position: a pawn's move with dots or a mark.
OLD = re.compile(
    r"(?<![\w-])(?:[KQ]?(?:Kt|[KQRBPN]))(?:\s?[-x]\s?|\s?takes\s?)(?:[KQ]{0,2}(?:Kt|[KQRBPN])\d?|\d)"
    r"|(?<![\w-])[KQRBN]?[a-h][1-8][-x]?[a-h][1-8](?![\w-])(?!\s+diagonal)"
)


_GERMAN = re.compile(
    r"\b(?:der|die|das|den|dem|des|ein|eine[nmr]?|ist|sind|hat|und|auf|mit|nicht|kann|droht|steht|zu|im"
    r"|greift|deckt|Läufer|Springer|Dame|Turm|Türme|Bauern?|König|Weiß|Schwarz)\b"
)


def is_german(text: str) -> bool:
    """Whether several words of a text are German ones.

    >>> is_german("Der Springer auf f6 ist gefesselt."), is_german("The pawns on f6 die.")
    (True, False)
    """
    return len({word.lower() for word in _GERMAN.findall(text)}) > 1


class Span(NamedTuple):
    """Where a sentence stands in its text."""

    start: int
    end: int


def sentences(text: str) -> Iterator[Span]:
    """Where the sentences of a text are; a move's number and a short form end none.

    >>> text = "After 12. Qh5 it is mate in 2. White wins! e4 was better."
    >>> [text[span.start : span.end] for span in sentences(text)]
    ['After 12. Qh5 it is mate in 2.', 'White wins!', 'e4 was better.']
    """
    start = 0
    for end in _ENDS.finditer(text):
        if _goes_on(text, start, end):
            continue
        yield from _trimmed(text, start, end.end())
        start = end.end()
    yield from _trimmed(text, start, len(text))


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether a sentence goes on behind what could be its end."""
    first = max(start, end.start() - 12)
    words = text[first : end.start()].split()
    word = words[-1].lower().lstrip("(\"'") if words else ""
    sign = end[0].rstrip("\"')]")
    if text[end.end() : end.end() + 8].lstrip()[:1].islower():
        in_line = "." in sign[1:] if sign[:1] == "." else bool(words and _MARKED.search(words[-1]))
        if in_line or not _PAWN.match(text, end.end()):
            return True
    if set(sign) != {"."}:
        return False
    if word.isdigit():
        listed = first == start if len(words) == 1 else words[-2].endswith(":")
        return listed or _NUMBERED.match(text, end.end()) is not None
    return word in _SHORT or (len(word) == 1 and word.isalpha())


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    if piece.strip():
        yield Span(start, start + len(piece.strip()))


# --- passages -------------------------------------------------------------------------------------


_COMMANDS = re.compile(r"\[%[^\[\]]*\]")
_EMPHASIS = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|`|</?(?:b|i|em|strong|u)>|(?<!\w)__|__(?!\w)")
_LETTERS = str.maketrans(
    dict(zip("♔♕♖♗♘♚♛♜♝♞\u2019\u2018“”\u2013", "KQRBNKQRBN''\"\"-", strict=True))
    | {"—": " - ", "♙": "", "♟": ""}
)
# A heading, a quotation, or an entry of a list; a number before a move is none.
_MARKER = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+|\d{1,2}[.)]\s+(?=\*|[A-Z][a-z]{2}))")


class Passage(NamedTuple):
    """A paragraph, a heading or an entry of a list, in plain letters."""

    text: str
    listed: bool = False


def passages(text: str) -> Iterator[Passage]:
    r"""The paragraphs, headings and list entries of a text.

    >>> [part.text for part in passages("## Ideas\n- **Qxf7#** is\n  mate.\n1. The ♘ on f3 ...")]
    ['Ideas', 'Qxf7# is mate.', 'The N on f3 ...']
    """
    lines, listed = list[str](), False
    for line in _COMMANDS.sub(" ", text).splitlines():
        marker = _MARKER.match(line)
        if (marker or not line.strip()) and lines:
            yield Passage(_plain(lines), listed)
            lines = []
        if line.strip():
            listed = bool(marker) or (listed and bool(lines))
            lines.append(line[marker.end() :] if marker else line)
        if marker and marker[0].lstrip().startswith("#"):
            yield Passage(_plain(lines))
            lines = []
    if lines:
        yield Passage(_plain(lines), listed)


def _plain(lines: list[str]) -> str:
    return " ".join(_EMPHASIS.sub("", " ".join(lines)).translate(_LETTERS).split())

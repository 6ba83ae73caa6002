"""Splits what somebody wrote into sentences, and names what moves, pieces and squares look like.

All patterns here are without nested repetition, so that reading takes time in step with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import chess

MOVE = r"(?:\d+\.(?:\.\.)?)?(?:O-O(?:-O)?|[KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](?:=[QRBN])?)[+#]?"
KIND = "king|queen|rook|bishop|knight|pawn"
NAMED = re.compile(rf"\b({KIND}) on ([a-h][1-8])")

_ENDS = re.compile(r"(?<![.!?])[.!?]++[\"')\]]*+(?=\s|$)")
_SHORT = {"e.g", "i.e", "eg", "ie", "vs", "etc", "cf", "mr", "dr", "st", "no", "op", "fig", "viz"}
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
    r"|(?<![\w-])[KQRBN]?[a-h][1-8]\s?[-x]?\s?[a-h][1-8](?![\w-])"
    r"|\.\.\s?[a-h][1-8](?![\w-])|(?<![\w-])[a-h][1-8](?:\s?[!?]{1,2}|[+#])(?![\w-])"
)


class Span(NamedTuple):
    """Where a sentence stands in its text."""

    start: int
    end: int


def sentences(text: str) -> Iterator[Span]:
    """Where the sentences of a text are; a full stop after a number or a short form ends none.

    >>> text = "After 12. Qh5 it is over. White wins!"
    >>> [text[span.start : span.end] for span in sentences(text)]
    ['After 12. Qh5 it is over.', 'White wins!']
    """
    start = 0
    for end in _ENDS.finditer(text):
        if _goes_on(text, max(start, end.start() - 12), end):
            continue
        yield from _trimmed(text, start, end.end())
        start = end.end()
    yield from _trimmed(text, start, len(text))


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether a sentence goes on behind what could be its end."""
    if text[end.end() : end.end() + 8].lstrip()[:1].islower():
        return True
    if set(end[0].rstrip("\"')]")) != {"."}:
        return False
    words = text[start : end.start()].split()
    word = words[-1].lower().lstrip("(\"'") if words else ""
    return word.isdigit() or word in _SHORT or (len(word) == 1 and word.isalpha())


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    if piece.strip():
        yield Span(start, start + len(piece.strip()))


def side_of(word: str | None) -> bool | None:
    """True for White, False for Black, None for neither."""
    return {"white": True, "black": False}.get((word or "").lower().removesuffix("'s"))


def kind_named(word: str) -> int:
    """The kind of piece that a word names.

    >>> kind_named("Rooks")
    4
    """
    return chess.PIECE_NAMES.index(word.lower().removesuffix("s"))

"""The record of a language's words, grammar and sentences; `english/` and `german/` fill it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Forms: TypeAlias = tuple[str, ...]  # ways of saying the same, one after the other in a game
Table: TypeAlias = Mapping[str, Forms]


class Language(NamedTuple):
    """The words, the grammar and the sentences of a language.

    Words are put into the braces of a text by `str.format`. A language that inflects returns
    texts with a `__format__` of their own, and asks for a form behind a colon: {piece:den}. What
    a table has no text for is not said.
    """

    name: str
    tag: str  # of BCP 47, for pages
    # --- words
    pieces: Mapping[int, str]  # kinds as in chess.PAWN
    sides: Mapping[bool, str]
    plural: Callable[[int], str]  # of a kind of piece
    unit: Callable[[int, str], str]  # a piece on its square
    joined: Callable[[Sequence[str]], str]  # a list: a, b and c
    haul: Callable[[Sequence[int]], str]  # pieces that are won: a rook and two pawns
    gift: Callable[[Sequence[int], Sequence[int]], str]  # what is given, and for what
    number: Callable[[int], str]  # a small number in words
    score: Callable[[int], str]  # centipawns as pawns
    no_escape: Callable[[Sequence[str], Sequence[str]], str]  # squares that are blocked, attacked
    notation: Callable[[str], str]  # moves in English letters as the language writes them
    opening: Callable[[str], str]  # an opening's English name in this language
    # --- sentences about a move
    predicates: Table  # by the keys of `claim_key`
    beginner: Table  # the same in simpler words, where there are any
    faults: Table
    turns: Table
    once: Forms  # what only one of a sentence and the reason in it may have
    ends: re.Pattern[str]  # what a predicate has if another could not go on in its sentence
    # {0} is a predicate; in the last three, {1} is another. {verb} is the first word of the last
    # of them, {rest} the others.
    played: Forms
    played_more: Forms
    played_but: Forms
    both: str
    but: str
    so: str
    # --- beside the comments on moves
    named: str  # an opening's name
    theory: Forms
    rules: Mapping[str, str]  # how a game ends by the rules
    ordinals: Mapping[int, str]
    nothing: str  # where there is nothing to say
    mates: str
    clearly_better: str  # of a mistake without a reason
    # --- a game's story
    story: Table
    labels: Mapping[int, tuple[str, str]]  # bad moves, one and several
    page: Mapping[str, str]  # of a report
    # --- the coach
    motifs: Mapping[str, tuple[str, str]]  # by Lichess's names: a word, and a hint
    coach: Mapping[str, str]

"""English: its words, its grammar and its sentences.

Here stand how a game ends, openings that are left, and words that join; sentences of moves are in
moves.py, of what lines lead to in lines.py, of bad moves in mistakes.py, of a game's story in
story.py, of the report and the page in page.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kibitz.comment.words.english.coach import COACH, MOTIFS
from kibitz.comment.words.english.lines import LINES
from kibitz.comment.words.english.mistakes import FAULTS, TURNS
from kibitz.comment.words.english.moves import BEGINNER, PREDICATES
from kibitz.comment.words.english.page import PAGE
from kibitz.comment.words.english.story import LABELS, STORY
from kibitz.comment.words.language import Language

PIECES = {1: "pawn", 2: "knight", 3: "bishop", 4: "rook", 5: "queen", 6: "king"}
NUMBERS = ("no", "a", "two", "three", "four", "five", "six", "seven", "eight")
AND = " and "


def joined(texts: Sequence[str]) -> str:
    """A list in words: a, b and c; a clause before the last is ended by a comma."""
    if len(texts) < 2:
        return "".join(texts)
    comma = "," if any("," in text for text in texts[:-1]) else ""
    return ", ".join(texts[:-1]) + comma + AND + texts[-1]


def unit(kind: int, square: str) -> str:
    """A piece on its square."""
    return "the king" if kind == 6 else f"the {PIECES[kind]} on {square}"


def haul(kinds: Sequence[int]) -> str:
    """Pieces that are won: a rook and two pawns."""
    counted = [(kind, list(kinds).count(kind)) for kind in sorted(set(kinds), reverse=True)]
    return joined(
        [f"{NUMBERS[count]} {PIECES[kind]}{'s' if count > 1 else ''}" for kind, count in counted]
    )


def gift(lost: Sequence[int], won: Sequence[int]) -> str:
    """Material that is given: a knight for two pawns."""
    if tuple(lost) == (4,) and tuple(won) in ((2,), (3,)):
        return "the exchange"
    gift = "the queen" if tuple(lost) == (5,) else haul(lost)
    return f"{gift} for {haul(won)}" if won else gift


def score(centipawns: int) -> str:
    """A score in pawns."""
    return f"{centipawns / 100:+.2f}".replace("-", "\u2212") if centipawns else "0.00"


def no_escape(blocked: Sequence[str], covered: Sequence[str]) -> str:
    """Why a king has no square to go to."""
    shut = f"its own men stand on {joined(blocked)}" if blocked else ""
    verb = "are" if len(covered) > 1 else "is"
    return ", and ".join([part for part in (shut, f"{joined(covered)} {verb} attacked") if part])


def number(count: int) -> str:
    """A small number in words."""
    words = ("none", "one", *NUMBERS[2:])
    return words[count] if count < len(words) else str(count)


def plural(kind: int) -> str:
    """Pieces of a kind."""
    return f"{PIECES[kind]}s"


def same(text: str) -> str:
    """What is English already: moves, names of openings."""
    return text


ENGLISH = Language(
    name="English",
    tag="en",
    pieces=PIECES,
    sides={True: "White", False: "Black"},
    plural=plural,
    unit=unit,
    joined=joined,
    haul=haul,
    gift=gift,
    number=number,
    score=score,
    no_escape=no_escape,
    notation=same,
    opening=same,
    predicates={**PREDICATES, **LINES},
    beginner=BEGINNER,
    faults=FAULTS,
    turns=TURNS,
    once=(":", "which"),
    ends=re.compile("[:,]| and "),
    played=("This {0}.", "{move} {0}."),
    played_more=("It also {0}.", "At the same time it {0}."),
    played_but=("But it {0}.",),
    both="{0} and {1}",
    but="{0}, but {1}",
    so="{0}, and so {1}",
    named="{name} ({eco}).",
    theory=(
        "{move} leaves the openings that have a name.",
        "With {move} the game leaves the lines that have a name.",
        "No named opening has the position after {move}.",
        "{move} is a step away from the named openings.",
        "With {move} the named openings end.",
        "{move} goes beyond the lines that have a name.",
    ),
    rules={
        "stalemate": "Stalemate: {side} to move has no legal move and is not in check.",
        "material": "A draw: neither side has the material to mate.",
        "repetition": "The position occurs for the {count} time: a draw, if one side claims it.",
        "fifty": "Fifty moves have gone by without a capture or a pawn move.",
    },
    ordinals={3: "third", 4: "fourth", 5: "fifth"},
    nothing="Nothing stands out about this move.",
    mates="{move} is checkmate.",
    clearly_better="There is something clearly better.",
    story=STORY,
    labels=LABELS,
    page=PAGE,
    motifs=MOTIFS,
    coach=COACH,
)

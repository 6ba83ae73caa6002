"""German: its words, its grammar and its sentences.

Here stand how a game ends, openings that are left, and words that join; sentences of moves are in
moves.py, of what lines lead to in lines.py, of bad moves in mistakes.py, for beginners in
beginner.py, of a game's story in story.py, of the report and the page in page.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kibitz.comment.words.german.beginner import BEGINNER
from kibitz.comment.words.german.coach import COACH, MOTIFS
from kibitz.comment.words.german.grammar import (
    NOUNS,
    NUMBERS,
    gift,
    haul,
    joined,
    noun,
    plural,
    side,
    unit,
)
from kibitz.comment.words.german.lines import LINES
from kibitz.comment.words.german.mistakes import FAULTS, TURNS
from kibitz.comment.words.german.moves import PREDICATES
from kibitz.comment.words.german.openings import opening
from kibitz.comment.words.german.page import PAGE
from kibitz.comment.words.german.story import LABELS, STORY
from kibitz.comment.words.language import Language

LETTERS = str.maketrans("NBRQ", "SLTD")
PIECE = re.compile(r"(?<![\w-])[NBRQ](?=[a-h1-8x])|(?<==)[NBRQ]\b")


def notation(text: str) -> str:
    """Moves with the letters K, D, T, L and S, and castling with zeros."""
    text = PIECE.sub(lambda letter: letter[0].translate(LETTERS), text)
    return text.replace("O-O-O", "0-0-0").replace("O-O", "0-0")


def number(count: int) -> str:
    """A small number in words, of a woman's noun."""
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def score(centipawns: int) -> str:
    """A score in pawns."""
    text = f"{centipawns / 100:+.2f}" if centipawns else "0.00"
    return text.replace("-", "\u2212").replace(".", ",")


def no_escape(blocked: Sequence[str], covered: Sequence[str]) -> str:
    """Why a king has no square to go to."""
    shut = f"Auf {joined(blocked)} stehen eigene Steine" if blocked else ""
    verb = "sind" if len(covered) > 1 else "ist"
    open_to = f"{joined(covered)} {verb} angegriffen"
    return f"{shut}, und {open_to}" if shut else f"Angegriffen {verb} {joined(covered)}"


GERMAN = Language(
    name="Deutsch",
    tag="de",
    pieces={kind: noun(kind) for kind in NOUNS},
    sides={white: side(white) for white in (True, False)},
    plural=plural,
    unit=unit,
    joined=joined,
    haul=haul,
    gift=gift,
    number=number,
    score=score,
    no_escape=no_escape,
    notation=notation,
    opening=opening,
    predicates={**PREDICATES, **LINES},
    beginner=BEGINNER,
    faults=FAULTS,
    turns=TURNS,
    once=(":",),
    ends=re.compile("[:,]| und "),
    played=("Das {0}.", "{move} {0}."),
    played_more=("Außerdem {verb} dies {rest}.", "Zugleich {verb} dies {rest}."),
    played_but=("Allerdings {verb} dies {rest}.",),
    both="{0} und {1}",
    but="{0}, {verb} aber {rest}",
    so="{0}; das {1}",
    named="{name} ({eco}).",
    theory=(
        "{move} verlässt die Eröffnungen, die einen Namen haben.",
        "Mit {move} verlässt die Partie die benannten Varianten.",
        "Die Stellung nach {move} gehört zu keiner benannten Eröffnung.",
        "{move} weicht von den benannten Eröffnungen ab.",
        "Mit {move} enden die benannten Eröffnungen.",
        "{move} geht über die benannten Varianten hinaus.",
    ),
    rules={
        "stalemate": "Patt: {side} ist am Zug, hat keinen legalen Zug und steht nicht im Schach.",
        "material": "Remis: Keine Seite hat genug Material zum Mattsetzen.",
        "repetition": "Die Stellung entsteht zum {count} Mal: remis, wenn es eine Seite verlangt.",
        "fifty": "50 Züge sind ohne Schlag- und Bauernzug vergangen.",
    },
    ordinals={3: "dritten", 4: "vierten", 5: "fünften"},
    nothing="An diesem Zug fällt nichts Besonderes auf.",
    mates="{move} ist Schachmatt.",
    clearly_better="Es gibt etwas deutlich Besseres.",
    story=STORY,
    labels=LABELS,
    page=PAGE,
    motifs=MOTIFS,
    coach=COACH,
)

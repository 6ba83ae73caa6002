"""Claims as the decoder reads them: short texts, the same however many ways of saying them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kibitz.comment.claims import faults as fault
from kibitz.comment.claims.claim import Claim, step
from kibitz.comment.claims.lines.outlook import mark_of
from kibitz.comment.facts import Scene
from kibitz.comment.judge import MARKS, standing
from kibitz.comment.select.rank import kind_of
from kibitz.comment.words.english import ENGLISH
from kibitz.comment.words.slots import claim_key, claim_slots, scores, worth
from kibitz.comment.words.speaker import Comment

SIDES = ("mover", "other")  # which the head of the text has


def spelled(scene: Scene, comment: Comment) -> str:
    """What is said in a comment: the side, the move and its mark, then claim by claim.

    White 14.Nf5: Fork targets=the king and the rook on a8; Wins won=a rook
    """
    side = "White" if scene.mover else "Black"
    head = f"{side} {step(scene.before, scene.move).text}{MARKS[mark_of(scene)]}"
    return f"{head}: " + "; ".join(_one(*proof) for proof in proofs(scene, comment))


def proofs(scene: Scene, comment: Comment) -> list[tuple[Claim, Scene, tuple[Claim, ...]]]:
    """The claims of a comment, each with its scene and, for faults, the claims that say why."""
    proved: list[tuple[Claim, Scene, tuple[Claim, ...]]] = []
    for claim in comment.claims:
        why: tuple[Claim, ...] = ()
        if isinstance(claim, (fault.Allows, fault.Better)) and claim.plies:
            why = claim.why
        elif isinstance(claim, (fault.Allows, fault.Overlooks)):
            why = comment.reply
        elif isinstance(claim, fault.Better):
            why = comment.better or keeps(scene)
        proved.append((claim, scene, why))
    return proved


def keeps(scene: Scene) -> tuple[Claim, ...]:
    """What the best move keeps, where that is more than what is left."""
    if scene.had is None or scene.has is None:
        return ()
    has = standing(scene.had.value)
    return (fault.Keeps(has),) if has > standing(-scene.has.value) and has >= -1 else ()


def scene_of_why(claim: Claim, scene: Scene) -> Scene:
    """The scene that the reasons of a fault are about."""
    first = scene.instead if isinstance(claim, fault.Better) else scene.other
    plies = claim.plies if isinstance(claim, (fault.Allows, fault.Better)) else 0
    return first.ahead(plies) or first


def _one(claim: Claim, scene: Scene, why: Sequence[Claim]) -> str:
    text = _bare(claim, scene)
    if why:
        about = scene_of_why(claim, scene)
        text += " (" + ", ".join(_bare(reason, about) for reason in why) + ")"
    return text


def _bare(claim: Claim, scene: Scene) -> str:
    """The name of a claim, and what the language's texts for it need to be told."""
    if isinstance(claim, fault.Turns):
        return f"Turns {claim.had} {claim.has}"
    key, slots = claim_key(claim, scene), claim_slots(claim, scene)
    tables = (ENGLISH.predicates, ENGLISH.faults)
    texts = [
        text for table in tables for name in (key, kind_of(claim)) for text in table.get(name, ())
    ]
    names = dict.fromkeys(name for text in texts for name in re.findall(r"\{(\w+)\}", text))
    parts = [f"{name}={slots[name]}" for name in names if slots.get(name) and name not in SIDES]
    if isinstance(claim, (fault.Allows, fault.Better)) and not claim.why:
        parts += [f"{name}={value}" for name, value in worth(scores(scene)).items()]
    return " ".join([key, *parts])

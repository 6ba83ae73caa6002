"""The coach in English: motifs by Lichess's names, each as a word and as a hint, and sentences."""

from __future__ import annotations

MOTIFS: dict[str, tuple[str, str]] = {  # what a position has several of is hinted at in this order
    "mate": ("mate", "There is a forced mate."),
    "fork": ("fork", "One move attacks two things at once."),
    "pin": ("pin", "A piece is pinned."),
    "discoveredAttack": ("discovered attack", "One piece can step out of another's line."),
    "doubleCheck": ("double check", "Two checks at once."),
    "promotion": ("promotion", "A pawn can promote."),
    "skewer": ("skewer", "Two pieces stand behind each other."),
    "deflection": ("deflection", "A defender can be drawn away."),
    "attraction": ("decoy", "A piece can be drawn to a bad square."),
    "capturingDefender": ("removing the guard", "A defender can be taken."),
    "interference": ("interference", "A line of defence can be cut."),
    "intermezzo": ("in-between move", "Something else comes first."),
    "xRayAttack": ("X-ray attack", "Look through a piece."),
    "clearance": ("clearance", "A square or a line has to be cleared."),
    "trappedPiece": ("trapped piece", "A piece has nowhere to go."),
    "hangingPiece": ("hanging piece", "Something stands unprotected."),
    "sacrifice": ("sacrifice", "Something has to be given up."),
    "enPassant": ("en passant", "A pawn can be taken in passing."),
}
COACH: dict[str, str] = {
    "defend": "See what your opponent is about to do.",
    "piece": "A {piece} moves.",
    "square": "It is the {piece} on {square}.",
    "right": "{move} is right.",
    "wrong": "{move} is not good enough.",
    "best": "Best is {line} ({score}).",
    "mate": "forced mate",
    "mate1": "mate in 1",
    "line": "Expected is {line}.",
    "others": "Also good: {moves}.",
    "own": "You played {move}.",
    "opponent": "Your opponent played {move}.",
}

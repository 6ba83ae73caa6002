"""Scores and chances for people: values in [-1, 1] as centipawns, mates, wins, draws and losses.

Centipawns can be written in three ways. `WDL_mu`, the default, is the common scale, on which +1.00
means a 50 % chance to win, as in Stockfish since 15.1. The others are tangents: lc0's, and the one
of 2019 of ChessCoach and DLChess. In one position all three grow with the value and heed nothing
else: a better move never has a lower score. Between positions the common scale heeds the material
on the board. Wins, draws and losses are those of the common scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from kibitz.search.proof import DRAW, TABLEBASE

PERMILLE = 1000
# Centipawns for each unit of the logarithm of the odds: near 0, where the network is more modest
# than Stockfish, and far from it; the logarithm half-way. The fit to Stockfish: docs/uci.md.
NEAR_SLOPE, FAR_SLOPE, HALF_WAY = 400.0, 280.0, 0.65
# Below so many centipawns less than half is shown of a score, as little material wins less: so
# many with bare kings, none from so much material on; and in endings with bishops of opposite
# colours alone.
DRAWISH, ENOUGH_MATERIAL, OPPOSITE_BISHOPS = 180.0, 50, 200.0
# The score of a 50 % chance to win, and the spread of results around it.
EVEN_CHANCE, SPREAD = 100.0, 50.0
NEARLY_SURE = 1.0 - 1e-9  # 6 000 centipawns
WORTH = {"pawns": 1, "knights": 3, "bishops": 3, "rooks": 5, "queens": 9}
DARK_SQUARES = 0xAA55AA55AA55AA55
# A win by tablebase, less the plies to the next capture, pawn move or mate; Stockfish's number.
TABLE_CENTIPAWNS = 20_000

TANGENT_CENTIPAWNS, TANGENT_ANGLE = 45.0, 1.56728071628
TANGENT_2019_CENTIPAWNS, TANGENT_2019_ANGLE = 111.714640912, 1.5620688421


class Wdl(NamedTuple):
    """Wins, draws and losses of the side to move, per mille; they add up to 1000."""

    wins: int
    draws: int
    losses: int


class Score(NamedTuple):
    """`cp` centipawns for the side to move, or `mate` in moves, negative when it is mated."""

    kind: Literal["cp", "mate"]
    amount: int

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}"


def chances(value: float, draw: float) -> tuple[float, float]:
    """Probabilities to win and to lose of a value in [-1, 1] and a probability of a draw.

    >>> chances(0.25, 0.5)
    (0.375, 0.125)
    """
    value = min(1.0, max(-1.0, value))
    draw = min(1.0 - abs(value), max(0.0, draw))
    return (1.0 - draw + value) / 2.0, (1.0 - draw - value) / 2.0


def wdl_of(value: float, draw: float) -> Wdl:
    """Per mille of wins, draws, losses.

    >>> wdl_of(0.25, 0.5)
    Wdl(wins=375, draws=500, losses=125)
    """
    win, loss = chances(value, draw)
    wins = round(PERMILLE * win)
    losses = min(round(PERMILLE * loss), PERMILLE - wins)
    return Wdl(wins, PERMILLE - wins - losses, losses)


# --- centipawns -----------------------------------------------------------------------------------


def centipawns_common(value: float, drawish: float = 0.0) -> float:
    """On the common scale, with what is `drawish` in the position.

    It grows with the value: the slopes lie between NEAR_SLOPE and FAR_SLOPE less an eighth of their
    difference, and x^3 / (x^2 + d^2) grows with x.

    >>> [round(centipawns_common(value)) for value in (0.13, 0.5, 0.99)]
    [100, 342, 1492]
    >>> round(centipawns_common(0.13, drawish=180.0))
    24
    """
    value = min(NEARLY_SURE, max(-NEARLY_SURE, value))
    odds = 2.0 * math.atanh(value)  # their logarithm
    nearness = 1.0 / (1.0 + (odds / HALF_WAY) ** 2)
    score = odds * (FAR_SLOPE + (NEAR_SLOPE - FAR_SLOPE) * nearness)
    if not score:
        return 0.0
    lost = drawish / score
    return score / (1.0 + lost * lost)


def drawish_below(position: np.record) -> float:
    """Centipawns below which less than half of a score is shown in a position, 0 for none."""
    if has_opposite_bishops(position):
        return OPPOSITE_BISHOPS
    lacking = max(0, ENOUGH_MATERIAL - material(position))
    return DRAWISH * lacking / ENOUGH_MATERIAL


def material(position: np.record) -> int:
    """Of both sides: 1 for a pawn, 3 for a knight or bishop, 5 for a rook, 9 for a queen."""
    return sum(worth * int(position[kind]).bit_count() for kind, worth in WORTH.items())


def has_opposite_bishops(position: np.record) -> bool:
    """Whether each side has one bishop, the two on squares of different colours, and pawns only."""
    if int(position.knights | position.rooks | position.queens):
        return False
    bishops = int(position.bishops)
    one_each = all(
        (bishops & int(side)).bit_count() == 1 for side in (position.own, position.their)
    )
    return one_each and (bishops & DARK_SQUARES).bit_count() == 1


def common_wdl(score: Score, draw: bool = False) -> Wdl:
    """Wins, draws and losses that a score on the common scale stands for; `draw`: it is proved.

    >>> common_wdl(Score("cp", 100)), common_wdl(Score("mate", -2))
    (Wdl(wins=500, draws=482, losses=18), Wdl(wins=0, draws=0, losses=1000))
    """
    if draw:
        return Wdl(0, PERMILLE, 0)
    if score.kind == "mate":
        return Wdl(PERMILLE, 0, 0) if score.amount > 0 else Wdl(0, 0, PERMILLE)
    wins, losses = (
        round(PERMILLE / (1.0 + math.exp(min(700.0, (EVEN_CHANCE - amount) / SPREAD))))
        for amount in (score.amount, -score.amount)
    )
    return Wdl(wins, PERMILLE - wins - losses, losses)


def centipawns_tangent(value: float) -> float:
    """lc0: 45 tan(1.56728 value)."""
    return TANGENT_CENTIPAWNS * math.tan(TANGENT_ANGLE * min(1.0, max(-1.0, value)))


def centipawns_2019(value: float) -> float:
    """ChessCoach and DLChess: 111.7 tan(1.562 value); 12800 for a win."""
    return TANGENT_2019_CENTIPAWNS * math.tan(TANGENT_2019_ANGLE * min(1.0, max(-1.0, value)))


def value_of_2019(centipawns: float) -> float:
    """The value in [-1, 1] that `centipawns_2019` turns into those centipawns."""
    return math.atan(centipawns / TANGENT_2019_CENTIPAWNS) / TANGENT_2019_ANGLE


COMMON = "WDL_mu"
CENTIPAWNS: dict[str, Callable[[float], float]] = {
    COMMON: centipawns_common,
    "centipawn": centipawns_tangent,
    "centipawn_2019": centipawns_2019,
}


def centipawns(score_type: str, value: float) -> int:
    """Whole centipawns of a value for the side to move, by the name of ScoreType."""
    return round(CENTIPAWNS[score_type](value))


# --- scores of proofs -----------------------------------------------------------------------------


def mate_moves(proof: int) -> int | None:
    """Moves until mate, negative for the one who is mated; None if the proof is not of a mate.

    `proof` is that of a move (see proof.py), so mating with it is mate in 1.
    """
    if proof in (0, DRAW) or abs(proof) >= TABLEBASE:
        return None
    return (proof + 1) // 2 if proof > 0 else -(-proof // 2)


def score_of(
    score_type: str, value: float, proof: int, distance: int = 0, position: np.record | None = None
) -> Score:
    """Centipawns, or the mate if one is proved; `distance` in plies is that of a tablebase's win.

    `position` is the root's, whose material counts on the common scale.

    >>> str(score_of("WDL_mu", 1.0, TABLEBASE, distance=19))
    'cp 19981'
    """
    mate = mate_moves(proof)
    if mate is not None:
        return Score("mate", mate)
    if abs(proof) == TABLEBASE:
        amount = TABLE_CENTIPAWNS - abs(distance)
        return Score("cp", amount if proof > 0 else -amount)
    if score_type == COMMON and position is not None:
        return Score("cp", round(centipawns_common(value, drawish_below(position))))
    return Score("cp", centipawns(score_type, value))

"""From values to what people read: per mille of wins, draws and losses, centipawns, mates.

    value and probability of a draw, for the side to move -> **Score, Wdl**

Three ways to write centipawns. `WDL_mu`, the default, is the place where a logistic model with the
same win and loss probabilities has its middle: +1.00 means a 50 % chance to win, as in Stockfish
and lc0. The others are tangents of the value alone: lc0's, and the one of 2019 which ChessCoach and
DLChess use.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from kibitz.search.mcts.tree.proof import DRAW, TABLEBASE

PERMILLE = 1000
# The logistic model is not asked about probabilities below this; the tangent takes over.
RAREST = 0.0005
# Its scale has an upper bound, or values without draws would make centipawns without bound.
WIDEST_SCALE = 5.0
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


def centipawns_wdl(value: float, draw: float) -> float:
    """100 (ln(1/L - 1) - ln(1/W - 1)) / (ln(1/L - 1) + ln(1/W - 1)), a tangent near certainty.

    >>> round(centipawns_wdl(0.5, 0.5))  # wins half of the games, draws the rest
    100
    """
    win, loss = chances(value, draw)
    towards_loss, towards_win = _log_odds_against(loss), _log_odds_against(win)
    both = max(towards_loss + towards_win, 2.0 / WIDEST_SCALE)
    middle = 100.0 * (towards_loss - towards_win) / both
    tangent = centipawns_tangent(value)
    return middle if abs(middle) > abs(tangent) else tangent


def _log_odds_against(probability: float) -> float:
    probability = min(1.0 - RAREST, max(RAREST, probability))
    return math.log(1.0 / probability - 1.0)


def centipawns_tangent(value: float) -> float:
    """lc0: 45 tan(1.56728 value)."""
    return TANGENT_CENTIPAWNS * math.tan(TANGENT_ANGLE * min(1.0, max(-1.0, value)))


def centipawns_2019(value: float) -> float:
    """ChessCoach and DLChess: 111.7 tan(1.562 value); 12800 for a win."""
    return TANGENT_2019_CENTIPAWNS * math.tan(TANGENT_2019_ANGLE * min(1.0, max(-1.0, value)))


def value_of_2019(centipawns: float) -> float:
    """The value in [-1, 1] that `centipawns_2019` turns into those centipawns."""
    return math.atan(centipawns / TANGENT_2019_CENTIPAWNS) / TANGENT_2019_ANGLE


def centipawns(score_type: str, value: float, draw: float) -> int:
    """Whole centipawns of a value for the side to move, by the name of ScoreType."""
    if score_type == "WDL_mu":
        return round(centipawns_wdl(value, draw))
    tangents = {"centipawn": centipawns_tangent, "centipawn_2019": centipawns_2019}
    return round(tangents[score_type](value))


# --- scores ---------------------------------------------------------------------------------------


def mate_moves(proof: int) -> int | None:
    """Moves until mate, negative for the one who is mated; None if the proof is not of a mate.

    `proof` is that of a move (see proof.py), so mating with it is mate in 1.
    """
    if proof in (0, DRAW) or abs(proof) >= TABLEBASE:
        return None
    return (proof + 1) // 2 if proof > 0 else -(-proof // 2)


def score_of(score_type: str, value: float, draw: float, proof: int, distance: int = 0) -> Score:
    """Centipawns, or the mate if one is proved; `distance` in plies is that of a tablebase's win.

    >>> str(score_of("WDL_mu", 1.0, 0.0, TABLEBASE, distance=19))
    'cp 19981'
    """
    mate = mate_moves(proof)
    if mate is not None:
        return Score("mate", mate)
    if abs(proof) == TABLEBASE:
        amount = TABLE_CENTIPAWNS - abs(distance)
        return Score("cp", amount if proof > 0 else -amount)
    return Score("cp", centipawns(score_type, value, draw))

"""What is proved about a move, as one number; all kinds of search and the tablebases speak so.

A proof is an int16, for the player who moves: +n wins by force, mate at the latest n plies from the
position before the move (odd), -n loses likewise (even); tablebase results win or lose without a
distance; draws are exact. A bound says that a move does not lose, or does not win: tablebases know
no more while the 50-move clock runs, and a sure draw among the replies proves it.
"""

from __future__ import annotations

from kibitz.jit.compile import kernel

UNPROVED = 0
TABLEBASE = 10_000  # +-TABLEBASE: won or lost by tablebase, distance unknown
DRAW = 20_000
AT_LEAST_DRAW, AT_MOST_DRAW = 20_001, -20_001  # bounds: the search below goes on


@kernel
def is_settled(proof: int) -> bool:
    """Whether the outcome is known exactly, not only a bound of it."""
    return proof != UNPROVED and abs(proof) <= DRAW


@kernel
def wins(proof: int) -> bool:
    """Whether the player who moves wins by force."""
    return 0 < proof < DRAW


@kernel
def loses(proof: int) -> bool:
    """Whether the player who moves loses by force."""
    return -DRAW < proof < 0


@kernel
def bounded(proof: int, value: float) -> float:
    """A value in [-1, 1] as far as a proof or a bound allows it."""
    if proof == AT_LEAST_DRAW:
        return max(value, 0.0)
    if proof == AT_MOST_DRAW:
        return min(value, 0.0)
    return value if proof == UNPROVED else proved_value(proof)


@kernel
def proved_value(proof: int) -> float:
    """1, 0 or -1 for the player who moves."""
    if proof == DRAW:
        return 0.0
    return 1.0 if proof > 0 else -1.0


@kernel
def rank_of(proof: int) -> int:
    """Order of settled proofs, best first for the player who moves."""
    if proof == DRAW:
        return 0
    if proof > 0:
        return 30_000 - proof  # sooner is better
    return -30_000 - proof  # later is better


@kernel
def answer_to(proof: int) -> int:
    """The proof of a move whose best reply has `proof`."""
    if proof == DRAW:
        return DRAW
    if abs(proof) == TABLEBASE or abs(proof) == AT_LEAST_DRAW:
        return -proof
    return -(proof + 1) if proof > 0 else -proof + 1

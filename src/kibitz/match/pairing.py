"""Who plays whom, from which opening, with which colour.

    players, openings -> **schedule of games** -> runner.py

Every opening is played twice by the same two, with colours exchanged; games 2n and 2n + 1 are such
a pair. Numbers do not depend on how many rounds follow, so that a match can be made longer later.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple


class Pairing(NamedTuple):
    """One game; players by their place in the match, the opening by its place in the list."""

    number: int
    white: int
    black: int
    opening: int


def meetings(players: int, *, gauntlet: bool = False) -> list[tuple[int, int]]:
    """Who meets whom in every round: everybody everybody, or the first one all others."""
    if gauntlet:
        return [(0, other) for other in range(1, players)]
    return list(combinations(range(players), 2))


def schedule(players: int, rounds: int, *, gauntlet: bool = False) -> Iterator[Pairing]:
    """All games, round by round; everybody plays the same opening in a round, with both colours."""
    number = 0
    for opening in range(rounds):
        for first, second in meetings(players, gauntlet=gauntlet):
            yield Pairing(number, first, second, opening)
            yield Pairing(number + 1, second, first, opening)
            number += 2


def seed_of(match_seed: int, pairing: Pairing, player: int) -> int:
    """The seed for a player's dice in a game: the same whenever and wherever it is played."""
    return (match_seed * 1_000_003 + pairing.number * 16 + player) % 2**63

"""Playing weaker on purpose: an Elo figure as a number of nodes and a temperature.

    UCI_Elo, Skill Level -> **Strength** -> limits and settings of a search

The mapping is monotone and not calibrated: 100 points more are always stronger, but no match has
yet said what any of the figures is worth against people or other programs.
"""

from __future__ import annotations

from typing import NamedTuple

WEAKEST, STRONGEST = 500, 3000  # of UCI_Elo
NODES_DOUBLE_EVERY = 150.0  # points: 4 nodes up to 800, some 100 000 at 3000
COLDEST = 2500  # points from which on the best move is always chosen
HOTTEST_TEMPERATURE = 1.5  # at 500 points
FULL_SKILL = 20


class Strength(NamedTuple):
    """What makes a player weaker."""

    nodes: int  # the most visits of the root
    temperature: float  # of the final choice by visits


def strength_of(elo: int) -> Strength:
    """Nodes and temperature for an Elo figure.

    >>> strength_of(500), strength_of(2500)
    (Strength(nodes=4, temperature=1.5), Strength(nodes=10321, temperature=0.0))
    """
    nodes = max(4, round(2.0 ** ((elo - WEAKEST) / NODES_DOUBLE_EVERY)))  # 4: moves to choose from
    share = max(0.0, (COLDEST - elo) / (COLDEST - WEAKEST))
    return Strength(nodes, HOTTEST_TEMPERATURE * share)


def elo_of_skill(level: int) -> int | None:
    """The Elo figure of a Skill Level from 0 to 20, evenly spread; None for 20, which is no limit.

    >>> elo_of_skill(0), elo_of_skill(10), elo_of_skill(20)
    (500, 1815, None)
    """
    if level >= FULL_SKILL:
        return None
    return WEAKEST + (STRONGEST - WEAKEST) * level // (FULL_SKILL - 1)

"""Levels: what an Elo figure or a skill stands for, the same in UCI, page, bot and terminal."""

from __future__ import annotations

from bisect import bisect
from typing import NamedTuple

WEAKEST, STRONGEST = 500, 3000  # of UCI_Elo
FULL_SKILL = 20

# --- as people play -------------------------------------------------------------------------------
# The moves of people of the rating, drawn by chance. Networks that predict people do not calculate,
# so a search of some nodes warns of moves that lose at once, the more the higher the rating: of few
# nodes it has not looked at every move yet. With 2 000 to 8 000, which look at all of them, the
# steps of 200 points were uneven: 315, 202, 58, 58 Elo where they are 232, 215, 232, 120.


class HumanLevel(NamedTuple):
    """How people of a rating are played."""

    rating: int
    nodes: int  # of the search that warns
    caution: float  # a move that loses 1 of the value's 2 is less likely by e to this power
    temperature: float  # of people's moves; below 1 the usual ones are chosen more often


HUMAN_RUNGS = (HumanLevel(1100, 200, 0.0, 0.9), HumanLevel(1900, 3_000, 8.0, 0.7))


def human_level_of(elo: int) -> HumanLevel | None:
    """The level of an Elo figure, between the rungs in proportion; None where there is none.

    >>> human_level_of(1500), human_level_of(2000)
    (HumanLevel(rating=1500, nodes=775, caution=4.0, temperature=0.8), None)
    """
    low, high = HUMAN_RUNGS
    if not low.rating <= elo <= high.rating:
        return None
    share = (elo - low.rating) / (high.rating - low.rating)
    return HumanLevel(
        elo,
        round(low.nodes ** (1.0 - share) * high.nodes**share),
        low.caution + share * (high.caution - low.caution),
        low.temperature + share * (high.temperature - low.temperature),
    )


# --- by chance ------------------------------------------------------------------------------------
# Up to 1850 points only chance grows: how evenly the root's visits are shared out, and how evenly
# moves are drawn by them. Fewer nodes alone are no ladder: of a handful of visits the policy gets
# nearly all, and 4 nodes play like 10. The log has the matches.


class Handicap(NamedTuple):
    """What makes a player weaker on purpose."""

    nodes: int  # the most visits of the root
    temperature: float  # of the final choice, by visits or by scores
    policy_temperature: float  # of the root's priors


RUNGS: tuple[tuple[int, Handicap], ...] = (
    (WEAKEST, Handicap(100, 12.0, 8.0)),
    (750, Handicap(100, 5.0, 4.0)),
    (900, Handicap(100, 3.0, 3.0)),
    (1115, Handicap(100, 2.0, 2.0)),
    (1350, Handicap(100, 1.3, 1.4)),
    (1600, Handicap(100, 0.8, 1.4)),
    (1850, Handicap(100, 0.4, 1.4)),
    (2050, Handicap(200, 0.25, 1.4)),
    (2250, Handicap(500, 0.15, 1.4)),
    (2450, Handicap(1_500, 0.1, 1.4)),
    (2700, Handicap(5_000, 0.0, 1.4)),
    (STRONGEST, Handicap(20_000, 0.0, 1.4)),
)


def handicap_of(elo: int) -> Handicap:
    """What an Elo figure stands for, between two rungs in proportion; nodes by their logarithm.

    >>> handicap_of(1350), handicap_of(2575).nodes
    (Handicap(nodes=100, temperature=1.3, policy_temperature=1.4), 2739)
    """
    place = max(1, bisect([points for points, _ in RUNGS], elo - 1))
    (low, weaker), (high, stronger) = RUNGS[place - 1], RUNGS[place]
    share = (elo - low) / (high - low)

    def between(weaker_value: float, stronger_value: float) -> float:
        return weaker_value + share * (stronger_value - weaker_value)

    return Handicap(
        round(weaker.nodes ** (1.0 - share) * stronger.nodes**share),
        between(weaker.temperature, stronger.temperature),
        between(weaker.policy_temperature, stronger.policy_temperature),
    )


def elo_of_skill(level: int) -> int | None:
    """The Elo figure of a Skill Level from 0 to 20, evenly spread; None for 20, which is no limit.

    >>> elo_of_skill(0), elo_of_skill(10), elo_of_skill(20)
    (500, 1815, None)
    """
    if level >= FULL_SKILL:
        return None
    return WEAKEST + (STRONGEST - WEAKEST) * level // (FULL_SKILL - 1)

"""Levels: what an Elo figure or a skill stands for, the same in UCI, page, bot and terminal.

Weak ones draw moves from what people of a rating play: the networks of Maia, between two ratings in
proportion. Each of them was trained to predict the moves of players of one rating; `kibitz human`
shows them.
"""

from __future__ import annotations

import math
import random
import re
from bisect import bisect
from typing import TYPE_CHECKING, NamedTuple

from kibitz.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from kibitz.nets.encodings.leaves import Leaves
    from kibitz.nets.evaluators.batched import BatchedEvaluator
    from kibitz.position.board import Board
    from kibitz.position.notation import Move
    from kibitz.search.report import Report, Result

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


# --- people ---------------------------------------------------------------------------------------

MAIA = "maia-"  # names of the networks begin so, and end with a rating
LEAST_SHARE = 1e-9  # of a move that no person plays
_RATING = re.compile(r"[1-9]\d{2,3}")

Shares = dict["Move", float]


def people_networks() -> dict[int, Path]:
    """The networks of people by their ratings, shipped ones and those that were fetched."""
    from kibitz.nets.discover import leela_networks

    named = {name.removeprefix(MAIA): file for name, file in leela_networks(MAIA).items()}
    return {int(text): file for text, file in sorted(named.items()) if _RATING.fullmatch(text)}


def blend(rating: int, ratings: list[int]) -> dict[int, float]:
    """How much the network of each rating counts: the two neighbours, or the nearest at an end.

    >>> blend(1400, [1100, 1500, 1900]), blend(2500, [1100, 1500, 1900])
    ({1100: 0.25, 1500: 0.75}, {1900: 1.0})
    """
    if not ratings:
        fix = "install Kibitz again, or: kibitz data fetch maia"
        raise InputError("no network of what people play", value=f"{MAIA}*.pb.gz", fix=fix)
    below = max((network for network in ratings if network <= rating), default=min(ratings))
    above = min((network for network in ratings if network >= rating), default=max(ratings))
    if below >= above:
        return {below: 1.0}
    share = (rating - below) / (above - below)
    return {below: 1.0 - share, above: share}


def against_people(network: str, rating: int) -> dict[str, str]:
    """Engine options, by their names in Python, that play for the mistakes of people of a rating.

    `network` judges; its opponent moves as the nearest network of people does: expectimax.
    """
    from kibitz.nets.discover import PAIR, halves, resolve

    networks = people_networks()
    nearest = max(blend(rating, [*networks]).items(), key=lambda one: one[1])[0]
    value = (halves(network) or (resolve(network),))[0]
    weights = f"{value}{PAIR}{networks[nearest]}"
    if halves(weights) is None:
        fix = "take a network file, or kibitz-256x256"
        raise InputError("it cannot play for mistakes with this evaluator", value=value, fix=fix)
    return {"weights": weights, "search": "mcts", "search_rule": "expectimax"}


def policy_of(network: BatchedEvaluator, leaves: Leaves) -> np.ndarray:
    """The probability of every move by a network, float64 as leaves.moves, with a move a leaf."""
    import numpy as np

    from kibitz.nets.evaluators.batched import evaluated

    starts, counts = leaves.offsets[:-1], np.diff(leaves.offsets)
    logits = evaluated(network, leaves).logits.astype(np.float64)
    powers = np.exp(logits - np.repeat(np.maximum.reduceat(logits, starts), counts))
    shares: np.ndarray = powers / np.repeat(np.add.reduceat(powers, starts), counts)
    return shares


class People:
    """Says how likely people's moves are; networks are loaded when they are first asked."""

    def __init__(self) -> None:
        self._networks: dict[int, BatchedEvaluator] = {}
        self._files = people_networks()

    @property
    def ratings(self) -> list[int]:
        """The ratings that have a network of their own."""
        return sorted(self._files)

    def ready(self, rating: int) -> dict[int, float]:
        """Load the networks of a rating, and what they compute with; how much each counts."""
        from kibitz.nets.encodings.leaves import leaves_of
        from kibitz.nets.load import load_batched
        from kibitz.position.board import Board

        weights = blend(rating, self.ratings)
        for network in weights.keys() - self._networks.keys():
            loaded = load_batched(self._files[network])
            # Kernels may have to be compiled: now, not when a clock runs.
            policy_of(loaded, leaves_of([Board().positions()]))
            self._networks[network] = loaded
        return weights

    def likely(self, leaves: Leaves, rating: int) -> np.ndarray:
        """The probability of every move, float64 as leaves.moves; every leaf has a move."""
        parts = [
            weight * policy_of(self._networks[network], leaves)
            for network, weight in self.ready(rating).items()
        ]
        total: np.ndarray = sum(parts[1:], parts[0])
        return total

    def shares(self, board: Board, rating: int) -> Shares:
        """The probability of each legal move, most likely first; {} if the game is over."""
        from kibitz.nets.encodings.leaves import leaves_of
        from kibitz.position.notation import absolute

        leaves = leaves_of([board.positions()])
        if not len(leaves.moves):
            return {}
        likely = self.likely(leaves, rating).tolist()
        moves = [absolute(board.position, int(code)) for code in leaves.moves]
        return dict(sorted(zip(moves, likely, strict=True), key=lambda pair: -pair[1]))


def blunder_filtered_policy(report: Report, shares: Shares, level: HumanLevel) -> Shares:
    """The probability that a level plays each move: people's, less what the search warns of.

    What people play, sharpened by the temperature, times exp(-caution * loss): the loss is what the
    shallow search sees between a move and the best one, in [0, 2].
    """
    rows = [row for row in report.moves if row.move in shares]
    if not rows:
        return {}
    best = max(row.value for row in rows)
    odds = [
        math.log(max(shares[row.move], LEAST_SHARE)) / level.temperature
        - level.caution * (best - row.value)
        for row in rows
    ]
    powers = [math.exp(odd - max(odds)) for odd in odds]
    return {row.move: power / sum(powers) for row, power in zip(rows, powers, strict=True)}


def humanly(result: Result, shares: Shares, level: HumanLevel, draw: random.Random) -> Result:
    """The search's result with a move drawn as people of the level choose."""
    odds = blunder_filtered_policy(result.report, shares, level)
    if result.move is None or not odds:
        return result
    (move,) = draw.choices([*odds], [*odds.values()])
    return result if move == result.move else result._replace(move=move, ponder=None)

"""What people of a rating play: the networks of Maia, between two ratings in proportion.

Each of them was trained to predict the moves of players of one rating. Levels of play draw moves
from them (levels.py), and `kibitz human` shows them.
"""

from __future__ import annotations

import math
import random
import re
from typing import TYPE_CHECKING

from kibitz.core.errors import InputError
from kibitz.engine.levels import HumanLevel

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from kibitz.nets.encodings.leaves import Leaves
    from kibitz.nets.evaluators.batched import BatchedEvaluator
    from kibitz.position.board import Board
    from kibitz.position.notation import Move
    from kibitz.search.report import Report, Result

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
        """Load the networks of a rating; returns how much each counts."""
        from kibitz.nets.load import load_batched

        weights = blend(rating, self.ratings)
        for network in weights.keys() - self._networks.keys():
            self._networks[network] = load_batched(self._files[network])
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

"""The permutation that takes no memory."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.data.batches.order import key_of, order


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 16, 17, 1000, 65_537])
def test_every_number_comes_once(size: int) -> None:
    assert sorted(order(size, key_of(1), 0, size)) == list(range(size))


def test_parts_are_parts_of_the_whole() -> None:
    whole = order(1000, key_of(5, 2), 0, 1000)
    pieces = [order(1000, key_of(5, 2), first, first + 64) for first in range(0, 1000, 64)]
    assert np.array_equal(np.concatenate(pieces), whole)


def test_seeds_and_epochs_give_other_orders() -> None:
    orders = [order(500, key_of(*key), 0, 500) for key in ((0, 0), (0, 1), (1, 0), (1, 1))]
    for index, one in enumerate(orders):
        for other in orders[:index]:
            assert (one == other).mean() < 0.05
    assert np.array_equal(orders[3], order(500, key_of(1, 1), 0, 500))


def test_places_are_as_even_as_chance() -> None:
    """Where number 3 of 64 comes to stand, over 6400 keys: chi-squared of 63 degrees of freedom."""
    places = [int(np.flatnonzero(order(64, key_of(7, k), 0, 64) == 3)[0]) for k in range(6400)]
    counts = np.bincount(places, minlength=64)
    assert ((counts - 100) ** 2 / 100).sum() < 103  # one in a thousand would be above


def test_neighbours_are_torn_apart() -> None:
    shuffled = order(10_000, key_of(3), 0, 10_000)
    correlation = np.corrcoef(shuffled[:-1], shuffled[1:])[0, 1]
    assert abs(correlation) < 0.04
    assert (np.abs(np.diff(shuffled)) == 1).mean() < 0.002

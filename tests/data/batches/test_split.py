"""Which games are held out."""

from __future__ import annotations

import numpy as np

from kibitz.data.batches.order import held_out
from kibitz.data.shard import Shard
from tests.data.batches.makers import random_shard


def test_about_the_share_that_was_asked_for() -> None:
    shard = random_shard(2000, 6)
    assert not held_out(shard, 0.0).any()
    for share in (0.05, 0.3):
        expected, spread = 2000 * share, (2000 * share * (1 - share)) ** 0.5
        assert abs(held_out(shard, share).sum() - expected) < 4 * spread
    # Whoever is held out stays so when more are.
    assert (held_out(shard, 0.3) >= held_out(shard, 0.05)).all()


def test_a_game_is_the_same_game_anywhere(shard: Shard) -> None:
    """Numbers, sources, seeds, values and neighbours say nothing about which game it is."""
    held = held_out(shard, 0.5)
    game = 11
    first, last = shard.offsets[game], shard.offsets[game + 1]
    alone = shard._replace(
        starts=shard.starts[game : game + 1],
        offsets=np.array([0, last - first]),
        moves=shard.moves[first:last],
        seeds=np.array([99], dtype=np.uint64),
    )
    assert held_out(alone, 0.5)[0] == held[game]


def test_other_moves_or_another_start_make_another_game(shard: Shard) -> None:
    several = [shard._replace(moves=shard.moves ^ np.uint16(k)) for k in range(1, 30)]
    starts = [shard._replace(starts=shard.starts ^ np.uint64(k)) for k in range(1, 30)]
    for versions in (several, starts):
        shares = np.mean([held_out(version, 0.5) for version in versions], axis=0)
        assert ((shares > 0.05) & (shares < 0.95)).all()

"""A shard of random games, shared by the tests of this room."""

from __future__ import annotations

import pytest

from kibitz.data.shard import Shard
from tests.data.batches.makers import STARTS, random_shard


@pytest.fixture(scope="session")
def shard() -> Shard:
    """Forty games from ordinary, Chess960 and set-up positions, short ones and repetitions."""
    return random_shard(40, 40, seed=3, starts=STARTS)

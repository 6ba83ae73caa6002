"""What evaluator tests share: the ends of random games."""

from __future__ import annotations

import pytest

from kibitz.nets.encodings.leaves import Leaves, random_leaves


@pytest.fixture(scope="session")
def leaves() -> Leaves:
    """300 leaves with their games."""
    return random_leaves(300, seed=5)

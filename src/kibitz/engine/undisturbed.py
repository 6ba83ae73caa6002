"""Keeping Python's own housekeeping out of games that are played by the clock.

engine -> **undisturbed** -> uci, match

Two things cost a move milliseconds that no search can give back. The garbage collector looks at
all that numba and its compiler have made, a tenth of a second each time, though none of it is ever
garbage: `settle` takes it out of the collector's sight. And a thread that comes back from a kernel
waits for Python's lock until the one that holds it has had its 5 ms.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOCK_SECONDS = 0.0005  # after which a waiting thread gets the lock


def settle() -> None:
    """Count all that there is now as here to stay; for programs, after they have loaded."""
    gc.freeze()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Settle, and let threads take turns quickly, for the time of the block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, LOCK_SECONDS))
    settle()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)

"""What all threads of a search share: the stop flag, the playouts left, whether memory is full."""

from __future__ import annotations

import numpy as np

from kibitz.records import CACHE_LINE

CONTROL = np.dtype(
    [
        ("stop", np.int64),
        ("budget", np.int64),  # playouts of the whole search, 0 if it is not limited by them
        ("full", np.int64),  # the tree has no room: return, so that it can be compacted
        ("apart", np.uint8, CACHE_LINE),  # what all look at from what all change
        ("tickets", np.int64),  # playouts that may still be started
    ],
    align=True,
)

"""Compiled loops under the sparse network's training: gather and scatter.

B positions, N active features in all, M legal moves in all. Flat arrays come with offsets
(B + 1,) int64: position b owns entries offsets[b] to offsets[b + 1]. Each kernel works on the
positions, or where it scatters on the columns, from `first` to `last`, so that threads share
nothing they write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.jit.compile import kernel, sum_kernel
from kibitz.jit.vectors import (
    address_in,
    choose,
    larger,
    load_lanes,
    smaller,
    square_root,
    store_lanes,
)

Array = NDArray[Any]


# --- the wide layers ------------------------------------------------------------------------------

# A table of rows is cut into tiles of so many columns, the widest that divides them: a tile of 3072
# rows has 0.75 MB and stays in a core's cache while all positions of a batch go by.
TILES = (64, 16, 8, 1)


class Tiles(NamedTuple):
    """The kernels of a feature layer for tiles of W columns; P views of a position."""

    columns: int
    activate: Callable[..., None]
    scatter: Callable[..., None]


def activation_of(columns: int) -> Callable[..., None]:
    """Make the kernel that goes forward, for tiles of so many columns."""

    @kernel
    def activate(
        indices: Array, offsets: Array, tiles: Array, bias: Array, out: Array, first: int, last: int
    ) -> None:
        """Write screlu(bias + sum of rows) to out (B, P * H).

        indices (P, N) int32, tiles (T, F, W), bias (H,).
        """
        width = columns * tiles.shape[0]
        for tile in range(tiles.shape[0]):
            table, start = address_in(tiles[tile]), 4 * columns * tile
            begin = load_lanes(address_in(bias) + start, np.float32, columns)
            for b in range(first, last):
                for view in range(indices.shape[0]):
                    sums = begin
                    for at in range(offsets[b], offsets[b + 1]):
                        row = table + 4 * columns * indices[view, at]
                        sums += load_lanes(row, np.float32, columns)
                    # In this order a NaN stays what it is.
                    clipped = smaller(1.0, larger(0.0, sums))
                    place = 4 * width * (indices.shape[0] * b + view) + start
                    store_lanes(address_in(out) + place, clipped * clipped)

    return activate


def scatter_of(columns: int) -> Callable[..., None]:
    """Make the kernel that goes backward, for tiles of so many columns."""

    @kernel
    def scatter(
        indices: Array, offsets: Array, activations: Array, gradient: Array,
        tiles: Array, bias: Array, first: int, last: int,
    ) -> None:  # fmt: skip
        """Add the gradients of tiles `first` to `last` and of their bias (H,).

        activations (B, P * H) as `activate` left them, gradient (B, P * H) of them.
        """
        width = columns * tiles.shape[0]
        for tile in range(first, last):
            table, start = address_in(tiles[tile]), 4 * columns * tile
            total = load_lanes(address_in(bias) + start, np.float32, columns)
            for b in range(offsets.shape[0] - 1):
                for view in range(indices.shape[0]):
                    place = 4 * width * (indices.shape[0] * b + view) + start
                    squared = load_lanes(address_in(activations) + place, np.float32, columns)
                    given = load_lanes(address_in(gradient) + place, np.float32, columns)
                    pull = given * (square_root(squared) * 2.0)
                    pull = choose(squared < 1.0, pull, 0.0)
                    total += pull
                    for at in range(offsets[b], offsets[b + 1]):
                        row = table + 4 * columns * indices[view, at]
                        store_lanes(row, load_lanes(row, np.float32, columns) + pull)
            store_lanes(address_in(bias) + start, total)

    return scatter


_TILES = [Tiles(columns, activation_of(columns), scatter_of(columns)) for columns in TILES]


def tiles_for(width: int) -> Tiles:
    """Return the kernels for layers of that width."""
    return next(tiles for tiles in _TILES if width % tiles.columns == 0)


@kernel
def join_tiles(own: Array, shared: Array, tiles: Array, first: int, last: int) -> None:
    """Write rows `first` to `last` of own (F, H) into tiles (T, F, W).

    Row f of shared (S, H), counted round and round, is added; S may be 0.
    """
    columns, common = tiles.shape[2], shared.shape[0]
    for f in range(first, last):
        for tile in range(tiles.shape[0]):
            target, source = tiles[tile, f], own[f, columns * tile : columns * (tile + 1)]
            for c in range(target.shape[0]):
                target[c] = source[c]
            if common:
                added = shared[f % common, columns * tile : columns * (tile + 1)]
                for c in range(target.shape[0]):
                    target[c] += added[c]


@kernel
def split_tiles(tiles: Array, own: Array, shared: Array, first: int, last: int) -> None:
    """Write the gradients (F, H) and (S, H) that tiles of gradients stand for.

    Works on the rows whose number modulo S, or F where S is 0, is from `first` to `last`; shared is
    zero before.
    """
    columns, common = tiles.shape[2], shared.shape[0]
    step = common if common else own.shape[0]
    for begin in range(first, last):
        for f in range(begin, own.shape[0], step):
            for tile in range(tiles.shape[0]):
                source, target = tiles[tile, f], own[f, columns * tile : columns * (tile + 1)]
                for c in range(source.shape[0]):
                    target[c] = source[c]
                if common:
                    total = shared[begin, columns * tile : columns * (tile + 1)]
                    for c in range(source.shape[0]):
                        total[c] += source[c]


@kernel
def clip_rows(own: Array, shared: Array, limit: float, first: int, last: int) -> None:
    """Keep sums of own (F, H) and shared (S, H) within the limit, rows `first` to `last` of own."""
    most = np.float32(limit)
    for f in range(first, last):
        row, common = own[f], shared[f % shared.shape[0]]
        for c in range(row.shape[0]):
            total = row[c] + common[c]
            row[c] += min(max(total, -most), most) - total


# --- activations and moves ------------------------------------------------------------------------


@kernel
def square_clipped(x: Array, out: Array, first: int, last: int) -> None:
    """Square what is clipped to 0..1: out = clip(x, 0, 1) ** 2, (B, H) float32; NaN stays NaN."""
    zero, one = np.float32(0), np.float32(1)
    for b in range(first, last):
        for h in range(x.shape[1]):
            clipped = zero if x[b, h] < zero else x[b, h]
            clipped = one if clipped > one else clipped
            out[b, h] = clipped * clipped


@kernel
def pull_clipped(x: Array, gradient: Array, out: Array, first: int, last: int) -> None:
    """Its gradient: out = gradient * 2 * x between 0 and 1, else 0; (B, H) float32 all three."""
    zero, one = np.float32(0), np.float32(1)
    for b in range(first, last):
        for h in range(x.shape[1]):
            slope = zero if (x[b, h] < zero) | (x[b, h] > one) else x[b, h] + x[b, h]
            out[b, h] = gradient[b, h] * slope


@sum_kernel
def dot_moves(
    hidden: Array,
    weight: Array,
    bias: Array,
    moves: Array,
    offsets: Array,
    out: Array,
    first: int,
    last: int,
) -> None:
    """out[i] = hidden[b] . weight[m] + bias[m], m = moves[i]: moves (M,) int32, hidden (B, D)."""
    for b in range(first, last):
        for at in range(offsets[b], offsets[b + 1]):
            m = moves[at]
            total = np.float32(0)
            for d in range(hidden.shape[1]):
                total += hidden[b, d] * weight[m, d]
            out[at] = total + bias[m]


@kernel
def pull_moves(
    gradient: Array, weight: Array, moves: Array, offsets: Array, out: Array, first: int, last: int
) -> None:
    """out[b] = sum of gradient[i] * weight[m]: gradient (M,), out (B, D) float32, zero before."""
    for b in range(first, last):
        row = out[b]
        at, end = offsets[b], offsets[b + 1]
        while at + 4 <= end:
            w0, w1 = weight[moves[at]], weight[moves[at + 1]]
            w2, w3 = weight[moves[at + 2]], weight[moves[at + 3]]
            g0, g1, g2, g3 = gradient[at], gradient[at + 1], gradient[at + 2], gradient[at + 3]
            for d in range(weight.shape[1]):
                row[d] += (g0 * w0[d] + g1 * w1[d]) + (g2 * w2[d] + g3 * w3[d])
            at += 4
        while at < end:
            w0, g0 = weight[moves[at]], gradient[at]
            for d in range(weight.shape[1]):
                row[d] += g0 * w0[d]
            at += 1


@kernel
def scatter(
    entries: Array, offsets: Array, factors: Array, source: Array, out: Array, first: int, last: int
) -> None:
    """out[e] += factors[i] * source[b] for every entry e = entries[i] of every position b.

    entries (N,) int32 rows of out, factors (N,) float32, source (B, W) and out (R, W) float32; only
    columns `first` to `last` of out are written.
    """
    # One-dimensional slices, because a loop over columns that might start below 0 is not turned
    # into vectors; with them it is four times as fast.
    for b in range(offsets.shape[0] - 1):
        given = source[b, first:last]
        for at in range(offsets[b], offsets[b + 1]):
            row, factor = out[entries[at], first:last], factors[at]
            for d in range(row.shape[0]):
                row[d] += factor * given[d]

"""Rows of samples made into what a network is trained on.

Everything here is NumPy and kernels: unpack the positions and their history, generate the legal
moves, and write features or planes, policy indices and targets beside them.
"""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from kibitz.data.batches.sample import Samples, has_value
from kibitz.data.shard import UNKNOWN_RESULT
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.nets.card import FEATURES, NetworkCard
from kibitz.nets.encodings.features import DETAILS, MAX_ACTIVE, TACTICS, batch_features
from kibitz.nets.encodings.leaves import Leaves, new_leaves
from kibitz.nets.encodings.move_features import batch_move_features
from kibitz.nets.encodings.planes import encode_words, layout_of, policy_codes
from kibitz.nets.encodings.policy import put_policy_indices
from kibitz.position.moves import generate
from kibitz.position.packed import unpack_position

OWN_ROW_ONLY, BOTH_ROWS = 1, 2
ALL_MOVES = 1 << 16  # numbers a move can be

Array = TypeVar("Array")


class Recipe(NamedTuple):
    """What a batch is made for."""

    encoding: str
    policy_order: str
    perspectives: int  # rows of sparse features; 0 for planes
    history: int  # positions a row looks at, itself included
    result_share: float  # of the game's result in the value target; the rest is the search's
    policy_share: float = 1.0  # of what teaches a value: so much comes with its moves, too


class Batch(NamedTuple, Generic[Array]):
    """B positions with N features, M legal moves; NumPy arrays here, tensors after the loader."""

    # Planes: (words uint64 [B, P],), after the loader (planes float32 [B, P, 8, 8],).
    # Sparse: (features int32 [P, N], offsets int64 [B + 1]); with tactics then features of
    # moves, int32 [2, M].
    inputs: tuple[Array, ...]
    moves: Array  # int32 [M]: policy indices of all legal moves, of the rows that come with moves
    move_offsets: Array  # int64 [B + 1]
    policy: Array  # float32 [M]: target probabilities
    policy_weight: Array  # float32 [B]: 1, or 0 without a policy target
    wdl: Array  # float32 [B, 3]: searched value and result, mixed
    value: Array  # float32 [B]: win - loss of that
    search_value: Array  # float32 [B]: of the search alone
    search_weight: Array  # float32 [B]: 1, or 0 where the search's value is unknown
    value_weight: Array  # float32 [B]: 1, or 0 where value and result are unknown
    plies_left: Array  # float32 [B]: until the game ended, this one included
    plies_left_weight: Array  # float32 [B]: 1, or 0 where the end is unknown
    teacher: Batch[Array] | None = None  # the same positions as another network sees them


def recipe(card: NetworkCard, result_share: float, policy_share: float = 1.0) -> Recipe:
    """Return what a network of that card is fed with."""
    sparse = card.encoding in FEATURES
    rows = (BOTH_ROWS if "-both" in card.size else OWN_ROW_ONLY) if sparse else 0
    history = 1 if sparse else layout_of(card.encoding).history
    return Recipe(card.encoding, card.policy_order, rows, history, result_share, policy_share)


def make(samples: Samples, rows: np.ndarray, how: Recipe) -> Batch[np.ndarray]:
    """Return the batch of rows, int64 [B], of the samples."""
    rows, with_moves = _policy_first(samples, rows, how.policy_share)
    leaves = leaves_at(samples, rows, how.history, with_moves)
    count = int(leaves.offsets[-1])
    moves = np.empty(count, dtype=np.int32)
    put_policy_indices(*policy_codes(how.policy_order, how.encoding), leaves, moves)
    policy = np.zeros(count, dtype=np.float32)
    _put_policy(samples, rows, leaves, np.empty(ALL_MOVES, dtype=np.int32), policy)
    has_policy = samples.target_offsets[rows + 1] > samples.target_offsets[rows]
    has_policy[with_moves:] = False
    searched = samples.values[rows]
    draw, balance = _mixed_values(samples, rows, how.result_share)
    value_known = has_value(samples, rows)
    wdl = np.stack(((1 - draw + balance) / 2, draw, (1 - draw - balance) / 2), axis=1)
    return Batch(
        inputs=_inputs(leaves, how),
        moves=moves,
        move_offsets=leaves.offsets,
        policy=policy,
        policy_weight=has_policy.astype(np.float32),
        wdl=wdl.astype(np.float32),
        value=balance.astype(np.float32),
        search_value=np.nan_to_num(searched),
        search_weight=(value_known & ~np.isnan(searched)).astype(np.float32),
        value_weight=value_known.astype(np.float32),
        plies_left=samples.until_end[rows].astype(np.float32) + 1,
        plies_left_weight=(samples.results[rows] != UNKNOWN_RESULT).astype(np.float32),
    )


def _policy_first(samples: Samples, rows: np.ndarray, share: float) -> tuple[np.ndarray, int]:
    """Return the rows, those without a value first, and how many of them come with moves.

    What teaches no value comes with its moves, and the share of all else.
    """
    if share == 1:
        return rows, len(rows)
    valued = has_value(samples, rows)
    count = int(valued.sum())
    return rows[np.argsort(valued, kind="stable")], len(rows) - count + math.ceil(share * count)


def _mixed_values(
    samples: Samples, rows: np.ndarray, result_share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return draw and win - loss (float64 [B]).

    A search without a probability of a draw counts as half of what is possible.
    """
    result = samples.results[rows].astype(np.float64)
    searched, drawn = (array[rows].astype(np.float64) for array in (samples.values, samples.draws))
    has_search, has_result = ~np.isnan(searched), result != UNKNOWN_RESULT
    searched, result = np.where(has_search, searched, 0.0), np.where(has_result, result, 0.0)
    share = np.where(has_search, np.where(has_result, result_share, 0.0), 1.0)
    possible = 1 - np.abs(searched)
    drawn = np.where(np.isnan(drawn), possible / 2, np.clip(drawn, 0.0, possible))
    draw = (1 - share) * drawn + share * (result == 0)
    return draw, (1 - share) * searched + share * result


def leaves_at(
    samples: Samples, rows: np.ndarray, history: int, with_moves: int | None = None
) -> Leaves:
    """Return the rows as leaves with their history; `moves` has room to spare at its end.

    Only the first rows, `with_moves` of them, get their legal moves; by default all.
    """
    leaves = new_leaves(len(rows), history)
    _put_leaves(samples, rows, leaves, len(rows) if with_moves is None else with_moves)
    return leaves


def _inputs(leaves: Leaves, how: Recipe) -> tuple[np.ndarray, ...]:
    size = len(leaves.known)
    if not how.perspectives:
        bitplanes = np.empty((size, layout_of(how.encoding).planes), dtype=np.uint64)
        encode_words(how.encoding, leaves, bitplanes)
        return (bitplanes,)
    indices = np.empty((how.perspectives, MAX_ACTIVE * size), dtype=np.int32)
    offsets = np.empty(size + 1, dtype=np.int64)
    detail = DETAILS[how.encoding]
    total = batch_features(leaves.positions[:, 0], detail, indices, offsets)
    features = np.ascontiguousarray(indices[:, :total])
    return (
        (features, offsets, batch_move_features(leaves))
        if detail == TACTICS
        else (features, offsets)
    )


@kernel
def _put_leaves(samples: Samples, rows: np.ndarray, leaves: Leaves, with_moves: int) -> None:
    for at in range(rows.shape[0]):
        row = rows[at]
        count = min(leaves.positions.shape[1], signed(samples.since_start[row]) + 1)
        for back in range(count):
            position = leaves.positions[at, back]
            leaves.repetitions[at, back] = unpack_position(samples.positions[row - back], position)
        leaves.known[at] = count
        start = leaves.offsets[at]
        moves = generate(leaves.positions[at, 0], leaves.moves[start:]) if at < with_moves else 0
        leaves.offsets[at + 1] = start + moves


@kernel
def _put_policy(
    samples: Samples, rows: np.ndarray, leaves: Leaves, places: np.ndarray, policy: np.ndarray
) -> None:
    """Put each target beside its legal move; places int32 [65 536] is room to look moves up in."""
    for at in range(rows.shape[0]):
        first, last = samples.target_offsets[rows[at]], samples.target_offsets[rows[at] + 1]
        if last == first or leaves.offsets[at + 1] == leaves.offsets[at]:
            continue
        for place in range(leaves.offsets[at], leaves.offsets[at + 1]):
            places[leaves.moves[place]] = place
        for entry in range(first, last):
            policy[places[samples.target_moves[entry]]] = samples.target_weights[entry]

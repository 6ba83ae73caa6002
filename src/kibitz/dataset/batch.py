"""Rows of samples made into what a network is trained on; samples -> **batch** -> loader.

Everything here is NumPy and kernels: unpack the positions and their history, generate the legal
moves, and write features or planes, policy indices and targets beside them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.dataset.sample import Samples
from kibitz.encoding.features import DETAILS, MAX_ACTIVE, TACTICS, batch_features
from kibitz.encoding.layouts import encode_words, layout_of, policy_codes
from kibitz.encoding.leaves import Leaves, new_leaves
from kibitz.encoding.move_features import batch_move_features
from kibitz.encoding.policy import put_policy_indices
from kibitz.games.shard import UNKNOWN_RESULT
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.network.card import FEATURES, NetworkCard
from kibitz.position.compact import unpack_compact
from kibitz.position.moves import generate

OWN_ROW_ONLY, BOTH_ROWS = 1, 2
ALL_MOVES = 1 << 16  # numbers a move can be


class Recipe(NamedTuple):
    """What a batch is made for."""

    encoding: str
    policy_order: str
    perspectives: int  # rows of sparse features; 0 for planes
    history: int  # positions a row looks at, itself included
    result_share: float  # of the game's result in the value target; the rest is the search's


class Batch(NamedTuple):
    """B positions with N features, M legal moves; as NumPy here, as torch after the loader."""

    # Planes: (words uint64 [B, P],), after the loader (planes float32 [B, P, 8, 8],).
    # Sparse: (features int32 [P, N], offsets int64 [B + 1]); with tactics then features of
    # moves, int32 [2, M].
    inputs: tuple[np.ndarray, ...]
    moves: np.ndarray  # int32 [M]: policy indices of all legal moves
    move_offsets: np.ndarray  # int64 [B + 1]
    policy: np.ndarray  # float32 [M]: target probabilities
    policy_weight: np.ndarray  # float32 [B]: 1, or 0 without a policy target
    wdl: np.ndarray  # float32 [B, 3]: searched value and result, mixed
    value: np.ndarray  # float32 [B]: win - loss of that
    search_value: np.ndarray  # float32 [B]: of the search alone
    search_weight: np.ndarray  # float32 [B]: 1, or 0 where the search's value is unknown
    value_weight: np.ndarray  # float32 [B]: 1, or 0 where value and result are unknown
    plies_left: np.ndarray  # float32 [B]: until the game ended, this one included
    plies_left_weight: np.ndarray  # float32 [B]: 1, or 0 where nobody knows how it ended


def recipe(card: NetworkCard, result_share: float) -> Recipe:
    """Return what a network of that card is fed with."""
    sparse = card.encoding in FEATURES
    rows = (BOTH_ROWS if "-both" in card.size else OWN_ROW_ONLY) if sparse else 0
    history = 1 if sparse else layout_of(card.encoding).history
    return Recipe(card.encoding, card.policy_order, rows, history, result_share)


def make(samples: Samples, rows: np.ndarray, how: Recipe) -> Batch:
    """Return the batch of rows, int64 [B], of the samples."""
    leaves = leaves_at(samples, rows, how.history)
    count = int(leaves.offsets[-1])
    moves = np.empty(count, dtype=np.int32)
    put_policy_indices(*policy_codes(how.policy_order, how.encoding), leaves, moves)
    policy = np.zeros(count, dtype=np.float32)
    size = len(rows)
    policy_weight, search_value, search_weight, value, value_weight = np.empty(
        (5, size), dtype=np.float32
    )
    wdl = np.empty((size, 3), dtype=np.float32)
    places = np.empty(ALL_MOVES, dtype=np.int32)
    _put_policy(samples, rows, leaves.moves, leaves.offsets, places, policy, policy_weight)
    _put_values(samples, rows, how.result_share, wdl, value, value_weight)
    _put_search(samples, rows, search_value, search_weight)
    return Batch(
        inputs=_inputs(leaves, how),
        moves=moves,
        move_offsets=leaves.offsets,
        policy=policy,
        policy_weight=policy_weight,
        wdl=wdl,
        value=value,
        search_value=search_value,
        search_weight=search_weight,
        value_weight=value_weight,
        plies_left=samples.until_end[rows].astype(np.float32) + 1,
        plies_left_weight=(samples.results[rows] != UNKNOWN_RESULT).astype(np.float32),
    )


def leaves_at(samples: Samples, rows: np.ndarray, history: int) -> Leaves:
    """Return the rows as leaves with their history; `moves` has room to spare at its end."""
    leaves = new_leaves(len(rows), history)
    _put_leaves(samples, rows, leaves)
    return leaves


def _inputs(leaves: Leaves, how: Recipe) -> tuple[np.ndarray, ...]:
    size = len(leaves.known)
    if not how.perspectives:
        words = np.empty((size, layout_of(how.encoding).planes), dtype=np.uint64)
        encode_words(how.encoding, leaves, words)
        return (words,)
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
def _put_leaves(samples: Samples, rows: np.ndarray, leaves: Leaves) -> None:
    for at in range(rows.shape[0]):
        row = rows[at]
        count = min(leaves.positions.shape[1], signed(samples.since_start[row]) + 1)
        for back in range(count):
            position = leaves.positions[at, back]
            leaves.repetitions[at, back] = unpack_compact(samples.positions[row - back], position)
        leaves.known[at] = count
        start = leaves.offsets[at]
        leaves.offsets[at + 1] = start + generate(leaves.positions[at, 0], leaves.moves[start:])


@kernel
def _put_policy(
    samples: Samples,
    rows: np.ndarray,
    moves: np.ndarray,
    offsets: np.ndarray,
    places: np.ndarray,
    policy: np.ndarray,
    weight: np.ndarray,
) -> None:
    """Put each target beside its legal move; places int32 [65 536] is room to look moves up in."""
    for at in range(rows.shape[0]):
        first, last = samples.target_offsets[rows[at]], samples.target_offsets[rows[at] + 1]
        weight[at] = np.float32(1 if last > first else 0)
        if last == first:
            continue
        for place in range(offsets[at], offsets[at + 1]):
            places[moves[place]] = place
        for entry in range(first, last):
            policy[places[samples.target_moves[entry]]] = samples.target_weights[entry]


@kernel
def searched_draw(value: float, draw: float) -> float:
    """Probability of a draw that goes with a value; an unknown one is half of what is possible."""
    possible = 1 - abs(value)
    return possible / 2 if np.isnan(draw) else min(max(draw, 0.0), possible)


@kernel
def _put_values(
    samples: Samples,
    rows: np.ndarray,
    result_share: float,
    wdl: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
) -> None:
    for at in range(rows.shape[0]):
        row = rows[at]
        result = signed(samples.results[row])
        searched, share = 0.0, 1.0
        if not np.isnan(samples.values[row]):
            searched = np.float64(samples.values[row])
            share = 0.0 if result == UNKNOWN_RESULT else result_share
        known = not (share == 1.0 and result == UNKNOWN_RESULT)
        draw = (1 - share) * searched_draw(searched, np.float64(samples.draws[row]))
        balance = (1 - share) * searched
        if share > 0.0 and known:
            draw += share * (result == 0)
            balance += share * result
        if not known:
            draw, balance = 1.0, 0.0
        wdl[at, 0] = np.float32((1 - draw + balance) / 2)
        wdl[at, 1] = np.float32(draw)
        wdl[at, 2] = np.float32((1 - draw - balance) / 2)
        value[at] = np.float32(balance)
        weight[at] = np.float32(1 if known else 0)


@kernel
def _put_search(samples: Samples, rows: np.ndarray, value: np.ndarray, weight: np.ndarray) -> None:
    for at in range(rows.shape[0]):
        searched = samples.values[rows[at]]
        known = not np.isnan(searched)
        value[at] = searched if known else np.float32(0)
        weight[at] = np.float32(1 if known else 0)

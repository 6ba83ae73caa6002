"""The sparse network as an inline evaluator: features, layers, tails.

One set of kernels for the float network and for its integer form, whose arithmetic is defined step
by step in `models/make`. Sums are built from scratch for every position:
two leaves that a search visits one after the other differ in about as many features, attackers and
defenders told apart, as either has (research/log has the figures).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import signed
from kibitz.jit.compile import called_kernel, kernel
from kibitz.jit.records import value_at
from kibitz.jit.vectors import address_in
from kibitz.nets.encodings import MOVE_FEATURES
from kibitz.nets.encodings.features import (
    KING_VIEW,
    MAX_ACTIVE,
    TACTICS,
    PieceStates,
    piece_states,
    put_features,
    view_mask,
)
from kibitz.nets.encodings.move_features import put_move_features
from kibitz.nets.encodings.policy import TABLE1858, TABLE_POLICY, move_index
from kibitz.nets.evaluators.layers import (
    MOVES_TOGETHER,
    float32_layer,
    float32_move_dots,
    float32_tail_dots,
    int8_layer,
    int8_move_dots,
    int16_layer,
    int16_move_dots,
    int16_tail_dots,
    next_layer,
    scaled,
)
from kibitz.position.moves import MAX_MOVES

FLOAT32, INT16, INT8 = 0, 1, 2  # precision: float32, int16, int16 with an int8 policy
TAIL, SECOND_TAIL, WDL = 16, 32, 3

# Where `numbers` keeps what is applied one by one, for each tail; after the last tail moves follow
# in pairs of scale and bias.
SCALE_AT, BIAS_AT = 0, TAIL
BIAS2_AT = BIAS_AT + TAIL
BIAS3_AT = BIAS2_AT + SECOND_TAIL
MOVES_AT = BIAS3_AT + TAIL

number_at = value_at(np.float32, "numbers")


class Sparse(NamedTuple):
    """A network: addresses of arrays that start on multiples of 64 bytes, and sizes.

    F features, H value and D policy columns, each filled up to a multiple of 64, P perspectives, K
    moves; the types are those of the precision.
    """

    precision: int
    detail: int  # what is known of pieces: PLAIN, THREATS or, with features of moves, TACTICS
    perspectives: int
    direct: int  # whether the first tail layer gives win, draw and loss
    buckets: int  # T tails, each for as many numbers of pieces
    value_columns: int
    policy_columns: int
    value_features: int  # int16 or float32 [F, H]
    value_bias: int  # [H]
    policy_features: int  # int16 or float32 [F, D]
    policy_bias: int  # [D]
    tail1: int  # int16 or float32 [T, 16, P * H]
    tail2: int  # float32 [T, 16, 32], inputs first
    tail3: int  # float32 [T, 32, 16], inputs first, of which 3 columns are used
    move_weight: int  # int8, int16 or float32 [K, D]
    numbers: int  # float32, as above
    numbers_size: int
    faults: int = 0  # counted in debug builds


MOST_ROWS = 3  # of the policy for one move: where it goes, its two features
# The last group of dot products may be incomplete.
ROOM = MOST_ROWS * MAX_MOVES + 4 * MOVES_TOGETHER

# Everything a thread writes; arrays are in bytes multiples of 64.
SCRATCH = np.dtype(
    [
        ("SparseScratch", np.int64, 8),
        ("boards", np.uint64, 8),  # of the position whose features are here
        ("features", np.int32, (2, MAX_ACTIVE)),
        ("rows", np.int32, ROOM),
        ("sums", np.int32, ROOM),
        ("products", np.float32, ROOM),
        ("inputs", np.float32, SECOND_TAIL),
        ("states", np.uint64, 8),  # of its pieces; 3 are used
        ("exchanges", np.int32, MAX_MOVES),  # features of the moves, then the places of their rows
        ("threats", np.int32, MAX_MOVES),
        ("places", np.int16, -(-MOVE_FEATURES // 32) * 32),  # where a kind's row was placed last
        ("first_rows", np.int32, SECOND_TAIL),  # 0, 1, 2, ...
        ("count", np.int64),  # of features
        ("hidden", np.int64),  # address of the activations of a layer
    ]
)


@kernel
def is_known(scratch: np.record, position: np.record) -> bool:
    """Whether the features in the scratch are those of the position."""
    boards = scratch.boards
    return (
        boards[0] == position.own
        and boards[1] == position.their
        and boards[2] == position.pawns
        and boards[3] == position.knights
        and boards[4] == position.bishops
        and boards[5] == position.rooks
        and boards[6] == position.queens
        and boards[7] == position.kings
    )


@kernel
def find_features(network: np.record, scratch: np.record, position: np.record) -> None:
    """Write the active features to the scratch unless they are there."""
    if is_known(scratch, position):
        return
    boards = scratch.boards
    boards[0], boards[1] = position.own, position.their
    boards[2], boards[3] = position.pawns, position.knights
    boards[4], boards[5] = position.bishops, position.rooks
    boards[6], boards[7] = position.queens, position.kings
    states = piece_states(position, network.detail)
    scratch.states[0], scratch.states[1] = states.first, states.second
    scratch.states[2] = states.by_their
    for perspective in range(network.perspectives):
        place = scratch.features[perspective]
        scratch.count = put_features(position, states, perspective, place)


@kernel
def value_layer(network: np.record, scratch: np.record) -> None:
    """Write the activations of the value layer, one perspective after the other."""
    columns = network.value_columns
    for perspective in range(network.perspectives):
        rows = address_in(scratch.features[perspective])
        table, bias, count = network.value_features, network.value_bias, scratch.count
        if network.precision == FLOAT32:
            out = scratch.hidden + 4 * columns * perspective
            float32_layer(table, bias, rows, count, columns, out)
        else:
            out = scratch.hidden + 2 * columns * perspective
            int16_layer(table, bias, rows, count, columns, out)


@kernel
def first_tail(network: np.record, scratch: np.record, outputs: int, bucket: int) -> None:
    """Write x of the first tail layer to products[:outputs]."""
    columns = network.perspectives * network.value_columns
    rows, products = address_in(scratch.first_rows), address_in(scratch.products)
    if network.precision == FLOAT32:
        weights = network.tail1 + 4 * TAIL * columns * bucket
        float32_tail_dots(weights, scratch.hidden, columns, rows, outputs, products)
        for index in range(outputs):
            scratch.products[index] += number_at(network, MOVES_AT * bucket + BIAS_AT + index)
        return
    sums, weights = address_in(scratch.sums), network.tail1 + 2 * TAIL * columns * bucket
    int16_tail_dots(weights, scratch.hidden, columns, rows, outputs, sums)
    numbers = network.numbers + 4 * MOVES_AT * bucket
    scaled(sums, numbers + 4 * SCALE_AT, numbers + 4 * BIAS_AT, products)


@called_kernel
def put_wdl_logits(network: np.record, scratch: np.record, position: np.record) -> None:
    """Write the logits of win, draw and loss to products[:3]."""
    find_features(network, scratch, position)
    value_layer(network, scratch)
    bucket = (signed(scratch.count) - 1) * signed(network.buckets) // MAX_ACTIVE
    if network.direct:
        first_tail(network, scratch, WDL, bucket)
        return
    first_tail(network, scratch, TAIL, bucket)
    products, inputs = address_in(scratch.products), address_in(scratch.inputs)
    numbers, weights = network.numbers + 4 * MOVES_AT * bucket, 4 * TAIL * SECOND_TAIL * bucket
    tail2, tail3 = network.tail2 + weights, network.tail3 + weights
    next_layer(tail2, numbers + 4 * BIAS2_AT, products, TAIL, SECOND_TAIL, inputs)
    next_layer(tail3, numbers + 4 * BIAS3_AT, inputs, SECOND_TAIL, TAIL, products)


@called_kernel
def sparse_value(
    network: np.record, scratch: np.record, position: np.record
) -> tuple[np.float32, np.float32]:
    """Value for the side to move and probability of a draw."""
    put_wdl_logits(network, scratch, position)
    win, draw = float(scratch.products[0]), float(scratch.products[1])
    loss = float(scratch.products[2])
    top = max(win, max(draw, loss))
    win, draw, loss = math.exp(win - top), math.exp(draw - top), math.exp(loss - top)
    total = win + draw + loss
    return np.float32((win - loss) / total), np.float32(draw / total)


@kernel
def policy_layer(network: np.record, scratch: np.record) -> None:
    """Write the activations of the policy layer, from the side to move's perspective."""
    table, bias, columns = network.policy_features, network.policy_bias, network.policy_columns
    rows, count, out = address_in(scratch.features), scratch.count, scratch.hidden
    if network.precision == INT8:
        int8_layer(table, bias, rows, count, columns, out)
    elif network.precision == INT16:
        int16_layer(table, bias, rows, count, columns, out)
    else:
        float32_layer(table, bias, rows, count, columns, out)


@kernel
def move_products(network: np.record, scratch: np.record, count: int) -> None:
    """Write the dot products of the moves in `rows` to products[:count]."""
    weights, hidden, columns = network.move_weight, scratch.hidden, network.policy_columns
    if network.precision == FLOAT32:
        float32_move_dots(
            weights, hidden, columns, address_in(scratch.rows), count, address_in(scratch.products)
        )
        return
    if network.precision == INT8:
        int8_move_dots(
            weights, hidden, columns, address_in(scratch.rows), count, address_in(scratch.sums)
        )
    else:
        int16_move_dots(
            weights, hidden, columns, address_in(scratch.rows), count, address_in(scratch.sums)
        )
    for index in range(count):
        scratch.products[index] = np.float32(scratch.sums[index])


@kernel
def place_rows(scratch: np.record, features: np.ndarray, count: int, total: int) -> int:
    """Append the rows of `count` features, each once, and write their places over them.

    Many moves of a position are of one kind. Where a kind was placed is believed only if its row is
    there, so that nothing has to be cleared. No branch depends on it: it could not be foreseen.
    """
    rows, places = scratch.rows, scratch.places
    for index in range(count):
        feature = signed(features[index])
        row, place = feature + TABLE_POLICY, signed(places[feature])
        new = signed((place >= total) | (rows[place] != row))
        place += new * (total - place)
        rows[place], places[feature], features[index] = row, place, place
        total += new
    return total


@called_kernel
def put_rows(
    network: np.record, scratch: np.record, position: np.record, moves: np.ndarray, count: int
) -> int:
    """Write the rows of the moves, then, with tactics, of their features; returns how many."""
    mask = view_mask(position, KING_VIEW)
    rows = scratch.rows
    for index in range(count):
        rows[index] = move_index(TABLE1858, mask, moves[index])
    total = count
    if network.detail == TACTICS:
        states = PieceStates(scratch.states[0], scratch.states[1], scratch.states[2])
        put_move_features(position, states, moves, count, scratch.exchanges, scratch.threats)
        total = place_rows(scratch, scratch.exchanges, count, total)
        total = place_rows(scratch, scratch.threats, count, total)
    for index in range(total, total + MOVES_TOGETHER):
        rows[index] = 0
    return total


@called_kernel
def sparse_logits(
    network: np.record,
    scratch: np.record,
    position: np.record,
    moves: np.ndarray,
    count: int,
    logits: np.ndarray,
) -> None:
    """Write a logit per legal move, uint16 [count] to float32 [count]."""
    find_features(network, scratch, position)
    policy_layer(network, scratch)
    total = put_rows(network, scratch, position, moves, count)
    move_products(network, scratch, total)
    products = scratch.products
    for index in range(total):
        place = MOVES_AT * signed(network.buckets) + 2 * scratch.rows[index]
        scaled = products[index] * number_at(network, place)
        products[index] = scaled + number_at(network, place + 1)
    for index in range(count):
        logits[index] = products[index]
    if network.detail == TACTICS:
        exchanges, threats = scratch.exchanges, scratch.threats
        for index in range(count):
            logits[index] += products[exchanges[index]]
            logits[index] += products[threats[index]]

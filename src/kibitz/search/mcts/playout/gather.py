"""Collecting a batch of leaves for a batched evaluator, and backing it up when it is evaluated.

Between the two, every visit is pending along its path, so that the next batch is gathered around
it. Games that are over, proofs and drawn paths never reach the evaluator: they are backed up at
once. Several trees can fill one batch, row after row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.jit.atomics import atomic_store
from kibitz.jit.bits import signed
from kibitz.jit.compile import kernel
from kibitz.jit.records import address_of, one_record, record_at
from kibitz.nets.encodings.leaves import Leaves, put_leaf
from kibitz.search.mcts.playout.expand import expand
from kibitz.search.mcts.playout.leaf import (
    adjusted,
    cancel_pending,
    classify,
    queue_probe,
    recall,
    value_of_end,
)
from kibitz.search.mcts.playout.playout import (
    COLLISION,
    DONE,
    NEW_LEAF,
    NO_ROOM,
    TICKETS,
    PlayoutRecords,
    count_playout,
    finish_leaf,
    follow,
    revisit,
    start_path,
)
from kibitz.search.mcts.tree.context import MAX_DEPTH, PAST, position_at, set_share
from kibitz.search.mcts.tree.memory import FULL, new_node
from kibitz.search.mcts.tree.nodes import EXPANDED, LEAF, NONE, WAITING, cold_at
from kibitz.search.proof import UNPROVED

STEP = np.dtype([("edge", np.int64), ("trust", np.int64)])
ROW = np.dtype([("depth", np.int64)])
BATCH = np.dtype(
    [
        ("steps", np.uint64),  # address of STEP [steps_size]: STRIDE for each row
        ("steps_size", np.int64),
        ("rows", np.uint64),  # address of ROW [rows_size]
        ("rows_size", np.int64),
        ("capacity", np.int64),  # leaves; as many paths again may end at leaves that wait already
        ("first", np.int64),  # row of the leaves where this tree's rows begin
        ("filled", np.int64),  # of its rows
        ("collided", np.int64),  # paths that ended at such leaves; pending until the batch is in
        ("faults", np.int64),
    ],
    align=True,
)
STRIDE = MAX_DEPTH + 2
step_at = record_at(STEP, "steps")
row_at = record_at(ROW, "rows")


class BatchMemory:
    """Owner of the paths of one tree's leaves in a batch; `record` is what kernels get."""

    def __init__(self, rows: int) -> None:
        self.steps = np.zeros(2 * rows * STRIDE, dtype=STEP)
        self.rows = np.zeros(2 * rows, dtype=ROW)
        self.record: Any = one_record(BATCH)
        self.record.capacity = rows
        for name in ("steps", "rows"):
            array = getattr(self, name)
            self.record[name] = address_of(array)
            self.record[f"{name}_size"] = len(array)


@kernel
def _keep_path(batch: np.record, row: int, context: np.record, depth: int) -> None:
    row_at(batch, row).depth = depth
    for ply in range(depth + 1):
        step_at(batch, row * STRIDE + ply).edge = context.path[ply]
        step_at(batch, row * STRIDE + ply).trust = context.trust[ply]


@kernel
def _restore_path(batch: np.record, row: int, context: np.record) -> int:
    depth = row_at(batch, row).depth
    context.played = 0
    for ply in range(depth + 1):
        context.path[ply] = step_at(batch, row * STRIDE + ply).edge
        context.trust[ply] = step_at(batch, row * STRIDE + ply).trust
    return signed(depth)


@kernel
def gather(
    rule: np.record,
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    line: np.ndarray,
    past: int,
    batch: np.record,
    leaves: Leaves,
    rows: int,
    playouts: int,
    control: np.record,
) -> int:
    """Fill up to `rows` rows of the leaves, from batch.first on; the outcome.

    At most `playouts` are started, those that end at once included; `control` knows how many may
    follow later. It stops early at NO_ROOM and at a COLLISION, when as many paths as the batch has
    rows have ended at leaves that wait already. `line` is the context's, POSITION
    [PAST + MAX_DEPTH + 2]; `past` of it are known before the root.
    """
    records, started, batch.filled = PlayoutRecords(tree, context, behaviour), 0, 0
    known_line = line[PAST - past :]
    context.played = 0
    while batch.filled < rows and started < playouts:
        if started % TICKETS == 0:
            set_share(control, tree, context, playouts - started)
        start_path(records)
        outcome, depth = follow(rule, records, 0)
        shared_plies = depth
        if outcome == NEW_LEAF:
            outcome = _claim(records, known_line, past, batch, leaves, depth)
            shared_plies = depth - int(outcome == NEW_LEAF)  # a leaf that waits has no value yet
        elif outcome == DONE:
            revisit(records, depth)
        if outcome == COLLISION and batch.collided < batch.capacity:
            _keep_path(batch, batch.capacity + batch.collided, context, depth)
            batch.collided += 1
            context.collisions += 1
            continue  # what is pending along this path makes the next path go elsewhere
        if outcome != NEW_LEAF and outcome != DONE:
            cancel_pending(tree, context, depth)
            return outcome
        count_playout(records, depth, shared_plies)
        started += 1
    return DONE


@kernel
def _claim(
    records: PlayoutRecords,
    line: np.ndarray,
    past: int,
    batch: np.record,
    leaves: Leaves,
    depth: int,
) -> int:
    """Reserve a new leaf: NEW_LEAF if it waits in a row, DONE if it is over and backed up."""
    tree, context, behaviour = records.tree, records.context, records.behaviour
    edge = context.path[depth]
    state, proof = classify(context, depth)
    if state != LEAF:
        node = new_node(tree, context, behaviour, edge)
        if node == FULL:
            return NO_ROOM
        value, draw = value_of_end(proof)
        finish_leaf(records, depth, node, state, proof, value, draw)
        return DONE
    put_leaf(leaves, batch.first + batch.filled, line, past + depth)
    if context.table_pieces > 0:
        queue_probe(context, position_at(context, depth), edge, depth)
    atomic_store(cold_at(tree, edge), "child", WAITING)
    _keep_path(batch, batch.filled, context, depth)
    batch.filled += 1
    return NEW_LEAF


@kernel
def back_up_batch(
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    batch: np.record,
    leaves: Leaves,
    wdl: np.ndarray,
    logits: np.ndarray,
) -> bool:
    """Expand and back up a tree's rows; False if it is full, the other rows then cancelled.

    wdl is float32 [B, 3], logits float32 aligned with leaves.moves.
    """
    records = PlayoutRecords(tree, context, behaviour)
    _cancel_collisions(tree, context, batch)
    for place in range(batch.filled):
        row, depth = batch.first + place, _restore_path(batch, place, context)
        start, count = leaves.offsets[row], leaves.offsets[row + 1] - leaves.offsets[row]
        for index in range(count):
            context.moves[index] = leaves.moves[start + index]
            context.logits[index] = logits[start + index]
        node = new_node(tree, context, behaviour, context.path[depth])
        temperature = behaviour.policy_temperature
        if node == FULL or not expand(tree, context, behaviour, node, count, temperature):
            # a lone node goes with the next compaction
            cancel(tree, context, batch, place)
            return False
        is_shared, value, draw, position = False, 0.0, 0.0, leaves.positions[row, 0]
        if behaviour.share_values:
            is_shared, value, draw = recall(tree, position)
        if not is_shared:
            value = adjusted(behaviour, position, float(wdl[row, 0] - wdl[row, 2]))
            draw = float(wdl[row, 1])
        finish_leaf(records, depth, node, EXPANDED, UNPROVED, value, draw)
    batch.filled = 0
    return True


@kernel
def _cancel_collisions(tree: np.record, context: np.record, batch: np.record) -> None:
    """Take back the visits that ended at leaves that waited already."""
    for number in range(batch.collided):
        depth = _restore_path(batch, batch.capacity + number, context)
        cancel_pending(tree, context, depth)
    batch.collided = 0


@kernel
def cancel(tree: np.record, context: np.record, batch: np.record, start: int) -> None:
    """Take back a tree's rows from `start` on, which will not be backed up."""
    _cancel_collisions(tree, context, batch)
    for place in range(start, batch.filled):
        depth = _restore_path(batch, place, context)
        atomic_store(cold_at(tree, context.path[depth]), "child", NONE)
        cancel_pending(tree, context, depth)
        context.playouts -= 1
    batch.filled = 0

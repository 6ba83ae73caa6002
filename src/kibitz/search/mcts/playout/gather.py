"""Collecting a batch of leaves for a batched evaluator, and backing it up when it is evaluated.

    select -> **gather** -> Leaves -> evaluator -> **back_up_batch** -> expand, back up

Between the two, every visit is pending along its path, so that the next batch is gathered around
it. Games that are over, proofs and drawn paths never reach the evaluator: they are backed up at
once. Several trees can fill one batch, row after row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.encoding.leaves import Leaves, put_leaf
from kibitz.kernel.atomics import atomic_store
from kibitz.kernel.bits import signed
from kibitz.kernel.compile import kernel
from kibitz.kernel.records import address_of, one_record, record_at
from kibitz.search.mcts.playout.backup import back_up, cancel_pending
from kibitz.search.mcts.playout.expand import expand
from kibitz.search.mcts.playout.leaf import (
    MATED,
    adjusted,
    classify,
    forgive_drawn_sibling,
    queue_probe,
)
from kibitz.search.mcts.playout.playout import (
    COLLISION,
    DONE,
    NEW_LEAF,
    NO_ROOM,
    TICKETS,
    follow,
    revisit,
    start_path,
)
from kibitz.search.mcts.tree.allocation import FULL, new_node
from kibitz.search.mcts.tree.context import MAX_DEPTH, PAST, position_at, set_share
from kibitz.search.mcts.tree.nodes import LEAF, NONE, WAITING, cold_at, edge_at, node_at
from kibitz.search.mcts.tree.proofs import climb, set_proof
from kibitz.search.mcts.tree.sharing import recall, remember
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
        ("collided", np.int64),  # of those, how many have; they stay pending until the batch is in
        ("faults", np.int64),
    ],
    align=True,
)
STRIDE = MAX_DEPTH + 2
step_at = record_at(STEP, "steps")
row_at = record_at(ROW, "rows")


class BatchMemory:
    """Owner of the paths of one batch of leaves; `record` is what kernels get."""

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
def _finish(
    tree: np.record, context: np.record, behaviour: np.record, depth: int, state: int, proof: int
) -> int:
    """Back up a new leaf that needs no evaluator."""
    edge = context.path[depth]
    node = new_node(tree, context, behaviour, edge)
    if node == FULL:
        atomic_store(cold_at(tree, edge), "child", NONE)
        return NO_ROOM
    value, draw = (-1.0, 0.0) if proof == MATED else (0.0, 1.0)
    node_at(tree, node).raw = value
    node_at(tree, node).state = state
    atomic_store(cold_at(tree, edge), "child", node)
    if behaviour.prove and proof != UNPROVED:
        set_proof(tree, edge, proof, behaviour.clear_losses != 0)
        climb(tree, edge, behaviour.clear_losses != 0)
    if behaviour.draw_sibling and value == 0.0 and edge_at(tree, edge).visits == 0:
        forgive_drawn_sibling(tree, context, depth)
    back_up(tree, context, behaviour, depth, -value, draw)
    return DONE


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
    row: int,
    end: int,
    playouts: int,
    control: np.record,
) -> tuple[int, int, int]:
    """Fill rows [row, end) with leaves: (next free row, playouts started, outcome).

    At most `playouts` are started, those that end at once included; `control` knows how many may
    follow later. It stops early at NO_ROOM and at a COLLISION, when as many paths as the batch has
    rows have ended at leaves that wait already. `line` is the context's, POSITION
    [PAST + MAX_DEPTH + 2]; `past` of it are known before the root.
    """
    started = 0
    context.played = 0
    while row < end and started < playouts:
        if started % TICKETS == 0:
            set_share(control, tree, context, playouts - started)
        start_path(tree, context, behaviour)
        outcome, depth = follow(rule, tree, context, behaviour, 0)
        if outcome == NEW_LEAF:
            outcome = _claim(tree, context, behaviour, line, past, batch, leaves, row, depth)
            row += outcome == NEW_LEAF
        elif outcome == DONE:
            revisit(tree, context, behaviour, depth)
        if outcome == COLLISION and batch.collided < batch.capacity:
            _keep_path(batch, batch.capacity + batch.collided, context, depth)
            batch.collided += 1
            context.collisions += 1
            continue  # what is pending along this path makes the next path go elsewhere
        if outcome != NEW_LEAF and outcome != DONE:
            cancel_pending(tree, context, depth)
            return row, started, outcome
        if behaviour.share_values:  # all nodes on the way but the new one, which has no value yet
            remember(tree, context, depth - int(outcome == NEW_LEAF))
        started += 1
        context.playouts += 1
        context.depth_sum += depth
        context.deepest = max(context.deepest, depth)
    return row, started, DONE


@kernel
def _claim(
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    line: np.ndarray,
    past: int,
    batch: np.record,
    leaves: Leaves,
    row: int,
    depth: int,
) -> int:
    """Reserve a new leaf: NEW_LEAF if it waits in `row`, DONE if it is over and backed up."""
    state, proof = classify(context, depth)
    if state != LEAF:
        return _finish(tree, context, behaviour, depth, state, proof)
    put_leaf(leaves, row, line[PAST - past :], past + depth)
    if context.table_pieces > 0:
        queue_probe(context, position_at(context, depth), context.path[depth], depth)
    atomic_store(cold_at(tree, context.path[depth]), "child", WAITING)
    _keep_path(batch, row, context, depth)
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
    row: int,
    end: int,
) -> int:
    """Expand and back up rows [row, end) with the evaluator's answers; the first row not done.

    wdl is float32 [B, 3], logits float32 aligned with leaves.moves.
    """
    while row < end:
        depth = _restore_path(batch, row, context)
        edge = context.path[depth]
        start, count = leaves.offsets[row], leaves.offsets[row + 1] - leaves.offsets[row]
        value, draw = 0.0, 0.0
        node = new_node(tree, context, behaviour, edge)
        if node == FULL:
            return row
        for index in range(count):
            context.moves[index] = leaves.moves[start + index]
            context.logits[index] = logits[start + index]
        if not expand(tree, context, behaviour, node, count, behaviour.policy_temperature):
            return row  # the lone node goes with the next compaction
        known, position = False, leaves.positions[row, 0]
        if behaviour.share_values:
            known, value, draw = recall(tree, position)
        if not known:
            value = adjusted(behaviour, position, float(wdl[row, 0] - wdl[row, 2]))
            draw = float(wdl[row, 1])
        node_at(tree, node).raw = value
        atomic_store(cold_at(tree, edge), "child", node)
        back_up(tree, context, behaviour, depth, -value, draw)
        row += 1
    return row


@kernel
def cancel_collisions(tree: np.record, context: np.record, batch: np.record) -> None:
    """Take back the visits that ended at leaves of a batch, now that it is in."""
    for number in range(batch.collided):
        cancel_pending(tree, context, _restore_path(batch, batch.capacity + number, context))
    batch.collided = 0


@kernel
def cancel(tree: np.record, context: np.record, batch: np.record, row: int, end: int) -> None:
    """Take back rows [row, end) that will not be backed up."""
    while row < end:
        depth = _restore_path(batch, row, context)
        atomic_store(cold_at(tree, context.path[depth]), "child", NONE)
        cancel_pending(tree, context, depth)
        row += 1

"""One playout after another, everything compiled: select, expand, evaluate, back up.

This is the loop for inline evaluators, for one thread or several on one tree. The batched loop in
`gather.py` takes the same steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.jit.atomics import atomic_add, atomic_load, atomic_store, compare_and_swap
from kibitz.jit.bits import signed
from kibitz.jit.compile import inlined_kernel, kernel
from kibitz.nets.evaluators.inline import logits_of, value_of
from kibitz.position.moves import generate
from kibitz.position.play import play
from kibitz.search.mcts.playout.expand import expand, mark_tried
from kibitz.search.mcts.playout.leaf import (
    adjusted,
    back_up,
    cancel_pending,
    classify,
    flush_all,
    forgive_drawn_sibling,
    is_accumulated,
    queue_probe,
    recall,
    remember,
    value_of_end,
)
from kibitz.search.mcts.rules.puct import BLOCKED
from kibitz.search.mcts.rules.select import select
from kibitz.search.mcts.tree.context import MAX_DEPTH, position_at, set_share
from kibitz.search.mcts.tree.memory import FULL, new_node, next_edge
from kibitz.search.mcts.tree.nodes import (
    BATCHES,
    BUSY,
    EXPANDED,
    EXPANDING,
    LEAF,
    NONE,
    TERMINAL,
    THREADS,
    WAITING,
    cold_at,
    edge_at,
    node_at,
    prefetch_below,
    prefetch_block,
    prefetch_edge_to_write,
    prefetch_node_to_write,
    propagate_proof,
    set_proof,
)
from kibitz.search.proof import UNPROVED, is_settled

# What a descent of the tree, or a whole playout, came to.
DONE, COLLISION, NO_ROOM, NEW_LEAF, UNOPENED = range(5)

TICKETS = 32  # playouts that a thread takes on at a time, after a look at what share is used


class PlayoutRecords(NamedTuple):
    """What kernels of a playout pass on."""

    tree: np.record
    context: np.record
    behaviour: np.record


@inlined_kernel
def step(records: PlayoutRecords, depth: int, edge: int) -> None:
    """Follow `edge` from ply `depth`: play its move and put it on the path."""
    tree, context, behaviour = records.tree, records.context, records.behaviour
    context.accumulating[depth + 1] = behaviour.shared == THREADS and is_accumulated(
        tree, behaviour, edge
    )
    counted = behaviour.shared and not context.accumulating[depth + 1]
    if counted and behaviour.shared == THREADS:
        prefetch_edge_to_write(tree, edge)
    prefetch_below(tree, edge)
    if depth >= context.played or context.path[depth + 1] != edge:
        context.keys[context.history + depth] = position_at(context, depth).key
        play(position_at(context, depth), position_at(context, depth + 1), cold_at(tree, edge).move)
        context.path[depth + 1] = edge
        context.played = depth + 1
    if counted:
        atomic_add(edge_at(tree, edge), "pending", 1)


@inlined_kernel
def give_moves(
    records: PlayoutRecords, evaluator: np.record, scratch: np.record, depth: int, node: int
) -> bool:
    """Expand `node` with the `context.moves` of its position; False if the tree is full."""
    tree, context, behaviour = records.tree, records.context, records.behaviour
    position = position_at(context, depth)
    count = generate(position, context.moves[:])
    logits_of(evaluator, scratch, position, context.moves[:], count, context.logits)
    done = expand(tree, context, behaviour, node, count, behaviour.policy_temperature)
    prefetch_block(tree, next_edge(tree, context, behaviour))
    return done


@inlined_kernel
def open_node(
    records: PlayoutRecords, evaluator: np.record, scratch: np.record, depth: int, node: int
) -> int:
    """Expand a node on its second visit."""
    tree = records.tree
    if records.behaviour.shared != THREADS:
        node_at(tree, node).state = EXPANDING
    elif not compare_and_swap(node_at(tree, node), "state", LEAF, EXPANDING):
        return COLLISION
    if give_moves(records, evaluator, scratch, depth, node):
        return DONE
    atomic_store(node_at(tree, node), "state", LEAF)
    return NO_ROOM


@inlined_kernel
def follow(rule: np.record, records: PlayoutRecords, depth: int) -> tuple[int, int]:
    """Walk down from ply `depth` of the path as far as there are moves: (what is there, depth).

    NEW_LEAF: a move without a node. UNOPENED: a node without moves. DONE: a game that is over, a
    proof, or too deep a line. COLLISION: another thread or batch is at work here.
    """
    tree, context, behaviour = records.tree, records.context, records.behaviour
    edge = context.path[depth]
    while depth < MAX_DEPTH:
        node = signed(cold_at(tree, edge).child)
        state = signed(atomic_load(node_at(tree, node), "state"))
        if state != EXPANDED:
            return (UNOPENED if state == LEAF else COLLISION if state == EXPANDING else DONE), depth
        proved = depth > 0 and is_settled(signed(cold_at(tree, edge).proof))
        if proved and not behaviour.descend_proven:
            return DONE, depth
        chosen, trust = select(rule, tree, context, edge, node, depth)
        if chosen == BLOCKED:
            return COLLISION, depth
        mark_tried(tree, behaviour, node, chosen)
        step(records, depth, chosen)
        depth, edge = depth + 1, chosen
        context.trust[depth] = trust
        child = signed(atomic_load(cold_at(tree, edge), "child"))
        if child == NONE:
            return NEW_LEAF, depth
        if child >= WAITING:
            return COLLISION, depth
    return DONE, depth


@inlined_kernel
def start_path(records: PlayoutRecords) -> None:
    """Begin a path at the root."""
    context, behaviour = records.context, records.behaviour
    context.path[0] = 0
    context.accumulating[0] = behaviour.shared == THREADS
    if behaviour.shared == BATCHES:
        atomic_add(edge_at(records.tree, 0), "pending", 1)


@inlined_kernel
def descend(
    rule: np.record, records: PlayoutRecords, evaluator: np.record, scratch: np.record
) -> tuple[int, int]:
    """Walk down to a new leaf or an end, opening nodes on the way."""
    start_path(records)
    depth = 0
    while True:
        outcome, depth = follow(rule, records, depth)
        if outcome != UNOPENED:
            return outcome, depth
        node = signed(cold_at(records.tree, records.context.path[depth]).child)
        state = open_node(records, evaluator, scratch, depth, node)
        if state != DONE:
            return state, depth


@kernel
def claim(tree: np.record, behaviour: np.record, edge: int) -> bool:
    """Claim a move without a node for this thread; False if another one was faster."""
    if behaviour.shared == THREADS:
        return bool(compare_and_swap(cold_at(tree, edge), "child", NONE, BUSY))
    cold_at(tree, edge).child = BUSY
    return True


@kernel
def prefetch_path_to_write(tree: np.record, context: np.record, depth: int) -> None:
    """Prefetch what a visit will change while the leaf is evaluated."""
    for ply in range(1, depth):
        if not context.accumulating[ply]:
            prefetch_edge_to_write(tree, context.path[ply])
            prefetch_node_to_write(tree, signed(cold_at(tree, context.path[ply]).child))


@inlined_kernel
def visit_leaf(
    records: PlayoutRecords, evaluator: np.record, scratch: np.record, depth: int
) -> int:
    """First visit of a move: evaluate the position it leads to, make its node, back up."""
    tree, context, behaviour = records.tree, records.context, records.behaviour
    edge = context.path[depth]
    if not claim(tree, behaviour, edge):
        return COLLISION
    if behaviour.shared == THREADS:
        prefetch_path_to_write(tree, context, depth)
    node = new_node(tree, context, behaviour, edge)
    if node == FULL:
        atomic_store(cold_at(tree, edge), "child", NONE)
        return NO_ROOM
    position = position_at(context, depth)
    state, proof = classify(context, depth)
    value, draw = value_of_end(proof)
    if state == LEAF:
        is_shared = False
        if behaviour.share_values:
            is_shared, value, draw = recall(tree, position)
        if not is_shared:
            value, draw = value_of(evaluator, scratch, position)
            value = adjusted(behaviour, position, value)
        if context.table_pieces > 0:
            queue_probe(context, position, edge, depth)
        if behaviour.expand_at == 1:
            give_moves(records, evaluator, scratch, depth, node)
            state = signed(node_at(tree, node).state)
    finish_leaf(records, depth, node, state, proof, value, float(draw))
    return DONE


@inlined_kernel
def finish_leaf(
    records: PlayoutRecords,
    depth: int,
    node: int,
    state: int,
    proof: int,
    value: float,
    draw: float,
) -> None:
    """Give a new node its value, for the side to move, join it to its edge, and back it up."""
    tree, context, behaviour = records.tree, records.context, records.behaviour
    edge, record = context.path[depth], node_at(tree, node)
    fresh = edge_at(tree, edge).visits == 0  # not if its subtree was freed
    record.raw = value
    record.draw = draw
    record.square = value * value
    record.state = state
    atomic_store(cold_at(tree, edge), "child", node)
    if behaviour.prove and proof != UNPROVED:
        set_proof(tree, edge, proof, behaviour.clear_losses != 0)
        propagate_proof(tree, edge, behaviour.clear_losses != 0)
    if behaviour.draw_sibling and fresh and state >= TERMINAL and value == 0.0:
        forgive_drawn_sibling(tree, context, depth)
    back_up(tree, context, behaviour, depth, -value, draw)


@inlined_kernel
def count_playout(records: PlayoutRecords, depth: int, shared_plies: int) -> None:
    """Count a playout, and share the values of its first `shared_plies` with transpositions."""
    context = records.context
    context.playouts += 1
    context.depth_sum += depth
    context.deepest = max(context.deepest, depth)
    if records.behaviour.share_values:
        remember(records.tree, context, shared_plies)


@inlined_kernel
def revisit(records: PlayoutRecords, depth: int) -> int:
    """Back up once more what a finished move is worth: game over, proved, drawn by the path."""
    tree, context = records.tree, records.context
    node = signed(cold_at(tree, context.path[depth]).child)
    value = np.float64(node_at(tree, node).raw)  # the type that back_up is compiled for
    back_up(tree, context, records.behaviour, depth, -value, 1.0 if value == 0.0 else 0.0)
    return DONE


@inlined_kernel
def playout(
    rule: np.record, records: PlayoutRecords, evaluator: np.record, scratch: np.record
) -> int:
    """One more visit of the root: DONE, or COLLISION or NO_ROOM and nothing has changed."""
    outcome, depth = descend(rule, records, evaluator, scratch)
    if outcome == NEW_LEAF:
        outcome = visit_leaf(records, evaluator, scratch, depth)
    elif outcome == DONE:
        outcome = revisit(records, depth)
    if outcome == DONE:
        count_playout(records, depth, depth)
        return DONE
    records.context.collisions += 1
    if records.behaviour.shared:
        cancel_pending(records.tree, records.context, depth)
    return outcome


@kernel
def playouts(
    rule: np.record,
    tree: np.record,
    context: np.record,
    behaviour: np.record,
    evaluator: np.record,
    scratch: np.record,
    control: np.record,
) -> int:
    """Play out until the tickets are used up, the tree is full, or control.stop is set.

    A root that is settled sets it: more visits of what is proved would teach nothing, unless they
    descend below proofs for a shorter mate.
    A thread takes some tickets at a time, so that threads do not compete for the counter at every
    playout.
    """
    records, mine = PlayoutRecords(tree, context, behaviour), 0
    context.played = 0
    while not atomic_load(control, "stop") and not atomic_load(control, "full"):
        if mine == 0:
            left = signed(atomic_add(control, "tickets", -TICKETS))
            mine = min(max(left, 0), TICKETS)
            atomic_add(control, "tickets", TICKETS - mine)
            if mine == 0:
                break
            if is_settled(signed(cold_at(tree, 0).proof)) and not behaviour.descend_proven:
                atomic_store(control, "stop", 1)
                break
            set_share(control, tree, context, left)
        outcome = playout(rule, records, evaluator, scratch)
        if outcome == DONE:
            mine -= 1
        elif outcome == NO_ROOM:
            atomic_store(control, "full", 1)
    if behaviour.shared == THREADS:
        flush_all(tree, context, behaviour)
    atomic_add(control, "tickets", mine)
    return NO_ROOM if control.full else DONE

"""One step over a batch of nodes, between two calls of the evaluator.

`select`, `expand` and `put_values` evaluate positions, `list_moves` and `open_nodes` score moves;
`put_back` returns nodes that have moves left to the bins.

Each node taken gets a child by its best move. Children without plies left are evaluated, the others
get their moves scored; a child whose move the table knows tries that one first, and the others are
listed when it is taken. Where the plies end, captures that lose nothing and answers to checks go
on; the side to move may be content with its evaluation, unless it is in check.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.jit.bits import bit, signed
from kibitz.jit.compile import kernel
from kibitz.nets.encodings.leaves import Leaves, put_leaf
from kibitz.position.attacks import EMPTY
from kibitz.position.exchange import exchange_value
from kibitz.position.moves import (
    CASTLING,
    EN_PASSANT,
    NO_MOVE,
    PROMOTION,
    destination_of,
    generate,
    kind_of,
)
from kibitz.position.outcome import (
    FIFTY_PLIES,
    has_legal_move,
    insufficient_material,
    search_repetition,
)
from kibitz.position.play import play
from kibitz.position.state import checkers, copy_position
from kibitz.search.bestfirst.nodes import (
    MATE,
    NONE,
    PRESSING,
    UNIT,
    USED,
    add_move,
    best_move_left,
    chunk_at,
    entry_at,
    is_dead,
    new_child,
    new_node,
    node_at,
    position_at,
    release,
    take_move,
)
from kibitz.search.bestfirst.table import (
    UNKNOWN,
    answered,
    find,
    finish,
    is_cut,
    push,
    remember,
    remember_static,
)


class Batch(NamedTuple):
    """Nodes of one step; rows beyond the counts are undefined."""

    taken: np.ndarray  # int32 [K]: nodes that get a child
    children: np.ndarray  # int32 [K]: that child, NONE if it was not worth making
    leaves: np.ndarray  # int32 [K]: nodes to be evaluated
    inner: np.ndarray  # int32 [2 K]: nodes whose moves are to be scored
    counts: np.ndarray  # int64 [3]: how many are taken, to be evaluated, to be scored


TAKEN, LEAVES, INNER = range(3)  # places in the counts
TO_QUEEN = PROMOTION + 3


@kernel
def start_pass(
    nodes: np.record,
    root: np.record,
    codes: np.ndarray,
    scores: np.ndarray,
    depth: int,
    separator: int,
) -> None:
    """Put the root into a clear list, with its moves, uint16 [n], and their scores, float32 [n]."""
    place = new_node(nodes, NONE, separator, depth, 0)
    copy_position(root, position_at(nodes, place))
    for index in range(codes.shape[0]):
        add_move(nodes, place, codes[index], scores[index])
    node_at(nodes, place).children_left = codes.shape[0]
    push(nodes, place, PRESSING)


@kernel
def expand(nodes: np.record, batch: Batch, line: np.ndarray, leaves: Leaves) -> None:
    """Make the children; those to be evaluated are written to `leaves`.

    `line` is POSITION [past + MOST_PLIES], the game and, at nodes.past, the root.
    """
    batch.counts[LEAVES] = batch.counts[INNER] = 0
    for row in range(batch.counts[TAKEN]):
        parent = signed(batch.taken[row])
        batch.children[row] = NONE
        if is_dead(nodes, parent):
            continue
        move = take_move(nodes, parent)
        child = new_child(nodes, parent, move)
        batch.children[row] = child
        play(position_at(nodes, parent), position_at(nodes, child), move)
        if node_at(nodes, parent).staged:
            node_at(nodes, parent).staged = 0
            _ask(batch, INNER, batch.inner, parent)
        _evaluate_or_queue(nodes, batch, child)
    for row in range(batch.counts[LEAVES]):
        _put(nodes, signed(batch.leaves[row]), line, leaves, row)


@kernel
def _ask(batch: Batch, kind: int, rows: np.ndarray, place: int) -> None:
    rows[batch.counts[kind]] = place
    batch.counts[kind] += 1


@kernel
def _evaluate_or_queue(nodes: np.record, batch: Batch, place: int) -> None:
    """Finish a new node if its value is known, or say what it needs."""
    node, position = node_at(nodes, place), position_at(nodes, place)
    if not has_legal_move(position):
        finish(nodes, place, node.ply - MATE if checkers(position) else 0)
        return
    if is_draw(nodes, place):
        finish(nodes, place, 0)
        return
    entry = find(nodes, position.key)
    # A reply may repeat the game, which the table does not know: the root's moves are looked into.
    if node.ply > 1 and entry != NONE and answered(nodes, place, entry):
        nodes.cut += 1
        finish(nodes, place, node.best)
    elif node.depth > 0:
        if entry == NONE or not _stage(nodes, place, signed(entry_at(nodes, entry).move)):
            _ask(batch, INNER, batch.inner, place)
    elif checkers(position) and -node.depth < nodes.quiet_plies:
        open_captures(nodes, place)
    elif entry != NONE and entry_at(nodes, entry).static != UNKNOWN:
        stand_pat(nodes, place, entry_at(nodes, entry).static)
    else:
        _ask(batch, LEAVES, batch.leaves, place)


@kernel
def is_draw(nodes: np.record, place: int) -> bool:
    """Whether the game is drawn at a node that is not mate: 100 plies, material, repetition."""
    node, position = node_at(nodes, place), position_at(nodes, place)
    rule50, ply = signed(position.rule50), signed(node.ply)
    if rule50 >= FIFTY_PLIES or insufficient_material(position):
        return True
    if rule50 < 4:
        return False
    at = signed(node.parent)
    for back in range(1, min(ply, rule50 + 1)):
        nodes.keys[nodes.past + ply - back] = position_at(nodes, at).key
        at = signed(node_at(nodes, at).parent)
    return search_repetition(nodes.keys, nodes.past + ply, rule50, position.key, ply)


@kernel
def _stage(nodes: np.record, place: int, move: int) -> bool:
    """Let a node try the table's move before its other moves are listed, if it is legal."""
    if move == NO_MOVE:
        return False
    count = generate(position_at(nodes, place), nodes.moves)
    for index in range(count):
        if nodes.moves[index] == move:
            node = node_at(nodes, place)
            add_move(nodes, place, move, PRESSING)
            node.children_left, node.staged = count, count > 1
            push(nodes, place, PRESSING)
            return True
    return False


@kernel
def _put(nodes: np.record, place: int, line: np.ndarray, leaves: Leaves, row: int) -> None:
    """Write a node with the positions before it to a row of the leaves."""
    ply, at = signed(node_at(nodes, place).ply), place
    for back in range(ply):
        copy_position(position_at(nodes, at), line[nodes.past + ply - back])
        at = signed(node_at(nodes, at).parent)
    put_leaf(leaves, row, line, nodes.past + ply)


@kernel
def list_moves(nodes: np.record, batch: Batch, line: np.ndarray, leaves: Leaves) -> None:
    """Write the nodes whose moves are to be scored to `leaves`."""
    for row in range(batch.counts[INNER]):
        _put(nodes, signed(batch.inner[row]), line, leaves, row)


@kernel
def put_values(nodes: np.record, batch: Batch, wdl: np.ndarray) -> None:
    """Give the leaves their evaluations: float32 [B, 3], probabilities of win, draw and loss."""
    for row in range(batch.counts[LEAVES]):
        place = signed(batch.leaves[row])
        points = UNIT * (float(wdl[row, 0]) - float(wdl[row, 2])) - nodes.shift
        static = math.floor(max(-UNIT, min(UNIT, points)) + 0.5)
        remember_static(nodes, place, static)
        if not is_dead(nodes, place):
            stand_pat(nodes, place, static)


@kernel
def open_nodes(nodes: np.record, batch: Batch, leaves: Leaves, logits: np.ndarray) -> None:
    """List the moves that were scored; the score is the logarithm of the probability."""
    for row in range(batch.counts[INNER]):
        place = signed(batch.inner[row])
        if is_dead(nodes, place):
            continue
        start, end = leaves.offsets[row], leaves.offsets[row + 1]
        highest, total = logits[start], 0.0
        for index in range(start, end):
            highest = max(highest, logits[index])
        for index in range(start, end):
            total += math.exp(logits[index] - highest)
        total = math.log(total) + highest
        node = node_at(nodes, place)
        staged = node.listed > 0  # the table's move is on its way already
        tried = signed(chunk_at(nodes, node.chunk).moves[0]) if staged else NO_MOVE
        for index in range(start, end):
            if leaves.moves[index] != tried:
                add_move(nodes, place, leaves.moves[index], float(logits[index]) - total)
        if not staged:
            node.children_left = end - start
            push(nodes, place, best_move_left(nodes, place)[2])


@kernel
def put_back(nodes: np.record, batch: Batch) -> None:
    """Put what has moves left into the bins, and drop the references of the batch."""
    for row in range(batch.counts[TAKEN]):
        place = signed(batch.taken[row])
        if batch.children[row] != NONE:
            release(nodes, signed(batch.children[row]))
        score = best_move_left(nodes, place)[2]
        if score > USED and not is_dead(nodes, place):
            push(nodes, place, PRESSING if node_at(nodes, place).depth <= 0 else score)
        release(nodes, place)


# --- where the plies end --------------------------------------------------------------------------


@kernel
def stand_pat(nodes: np.record, place: int, static: int) -> None:
    """Give a node without plies left its evaluation, and try captures if they may do better."""
    node = node_at(nodes, place)
    if -node.depth >= nodes.quiet_plies:
        finish(nodes, place, static)
        remember(nodes, place)
        return
    node.best = max(node.best, static)
    if is_cut(node):
        finish(nodes, place, node.best)
        remember(nodes, place)
    else:
        open_captures(nodes, place)


@kernel
def open_captures(nodes: np.record, place: int) -> None:
    """List the captures, or in check all moves; a node without any is finished."""
    node, position = node_at(nodes, place), position_at(nodes, place)
    in_check = checkers(position) != EMPTY
    count = generate(position, nodes.moves)
    for index in range(count):
        move = signed(nodes.moves[index])
        if in_check or _is_forcing(position, move):
            gain = exchange_value(position, move)
            if in_check or gain >= 0:
                add_move(nodes, place, move, float(gain))
    if node.listed == 0:
        finish(nodes, place, node.best)
        remember(nodes, place)
        return
    node.children_left = node.listed
    push(nodes, place, PRESSING)


@kernel
def _is_forcing(position: np.record, move: int) -> bool:
    """Whether a move captures, or makes a queen."""
    kind = kind_of(move)
    if kind == CASTLING:
        return False
    if kind in (EN_PASSANT, TO_QUEEN):
        return True
    return kind < PROMOTION and (position.their & bit(destination_of(move))) != EMPTY

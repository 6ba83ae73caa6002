"""What the tree knows, read in Python: a row for each move of a node, and the root.

Reading is safe while the search runs: a row may then be a visit older than the next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from kibitz.position.moves import FLIP_MOVE, NO_MOVE
from kibitz.position.notation import Move
from kibitz.search.clock import Standing
from kibitz.search.mcts.rules.parameters import Rule, entry_of, innermost, scoring_of
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    EDGE,
    NONE,
    PATH_DRAW,
    TERMINAL,
    WAITING,
    TreeMemory,
    block_of,
)
from kibitz.search.proof import (
    DRAW,
    TABLEBASE,
    UNPROVED,
    answer_to,
    is_settled,
    proved_value,
    rank_of,
)
from kibitz.search.report import MoveStatistics, RootStatistics
from kibitz.search.tablebase import RootMove

Outcomes = Mapping[int, RootMove]  # what tablebases say of moves, by their 16-bit codes


def view_of(position: np.record) -> int:
    """What turns a 16-bit code of the side to move into White's view, by exclusive or."""
    return FLIP_MOVE if position["side"] else 0


def has_node(children: np.ndarray) -> np.ndarray:
    """Which of the children of edges are nodes, and not still to be made; bool [edges]."""
    return (children != NONE) & (children != BUSY) & (children != WAITING)


def node_below(memory: TreeMemory, edge: int) -> int | None:
    """The node a move leads to, if the tree has it."""
    child = int(memory.cold["child"][edge])
    return None if child in (NONE, BUSY, WAITING) and edge != 0 else child


def packed_moves_of(memory: TreeMemory, node: int) -> list[tuple[int, int]]:
    """The moves of an expanded node that are no edges yet: (code, 16-bit prior), in order."""
    record, block = memory.nodes[node], block_of(memory, node)
    count, made = int(record["count"]), block.stop - block.start
    end = (block.start + count) * (EDGE.itemsize // 4)
    packed = memory.edges.view(np.uint32)[end - count + made : end].tolist()
    return [(packed_move & 0xFFFF, packed_move >> 16) for packed_move in packed]


# --- rows of moves --------------------------------------------------------------------------------


class _Node(NamedTuple):
    """What all rows of a node share."""

    view: int  # see `view_of`
    weight: float  # by what prior / (1 + visits) is multiplied
    untried: float  # value of moves without visits
    draw: float


class _Edge(NamedTuple):
    """What the tree holds about a move."""

    place: int
    code: int
    prior: int  # 16 bits
    visits: int = 0
    pending: int = 0
    value: float = 0.0
    proof: int = UNPROVED
    has_node: bool = False  # the rest is of the node below
    draw: float = 0.0
    raw: float = 0.0
    square: float = 0.0


def moves_below(
    memory: TreeMemory,
    position: np.record,
    rule: Rule,
    above: int = 0,
    outcomes: Outcomes | None = None,
) -> list[MoveStatistics]:
    """A row for each move of the node below an edge (0: the root), in the order of the tree.

    `position` is that of the node, `outcomes` what tablebases say of its moves.
    """
    node = node_below(memory, above)
    block = slice(0, 0) if node is None else block_of(memory, node)
    if node is None or block.start == block.stop:
        return []
    shared = _Node(
        view_of(position),
        exploration_below(memory, rule, above),
        untried_value(memory, rule, above, node),
        float(memory.nodes[node]["draw"]),
    )
    packed = enumerate(packed_moves_of(memory, node), start=block.stop)
    edges = [*_edges(memory, block), *(_Edge(place, *packed_move) for place, packed_move in packed)]
    by_code = outcomes or {}
    return [_row(shared, edge, by_code.get(edge.code)) for edge in edges]


def _edges(memory: TreeMemory, block: slice) -> list[_Edge]:
    """The edges of a block, read column by column: reading records is slow in Python."""
    edges, cold = memory.edges[block], memory.cold[block]
    there = has_node(cold["child"])
    below = memory.nodes[np.where(there, cold["child"], 0)]
    columns = [cold["move"], *(edges[name] for name in ("prior", "visits", "pending", "value"))]
    columns += [cold["proof"], there, *(below[name] for name in ("draw", "raw", "square"))]
    rows: Any = zip(*(column.tolist() for column in columns), strict=True)
    return [_Edge(place, *row) for place, row in enumerate(rows, start=block.start)]


def _row(node: _Node, edge: _Edge, table: RootMove | None) -> MoveStatistics:
    prior, value = (edge.prior + 1) / 65536, edge.value if edge.visits else node.untried
    draw, deviation = node.draw, 0.0
    if edge.has_node:
        draw, deviation = edge.draw, math.sqrt(max(0.0, edge.square - value * value))
    # A bound is in the value. Asking a kernel takes long, and most moves are not proved.
    proof = edge.proof if edge.proof and is_settled(edge.proof) else UNPROVED
    if proof == UNPROVED and table is not None:
        proof = table.proof
    if proof != UNPROVED:
        value, draw, deviation = float(proved_value(proof)), float(proof == DRAW), 0.0
    return MoveStatistics(
        move=Move(edge.code ^ node.view),
        code=edge.code,
        edge=edge.place,
        visits=edge.visits,
        pending=edge.pending,
        prior=prior,
        value=value,
        draw=draw,
        deviation=deviation,
        bonus=node.weight * prior / (1 + edge.visits + edge.pending),
        raw=0.0 - edge.raw if edge.has_node else None,  # unlike a minus sign, never -0.0
        proof=proof,
        table=table,
    )


# --- the root -------------------------------------------------------------------------------------


def root_statistics(memory: TreeMemory) -> RootStatistics:
    """What the tree knows about the root."""
    above, root = memory.edges[0], memory.nodes[0]
    block = block_of(memory)
    tried = memory.edges["visits"][block] > 0
    priors = (memory.edges["prior"][block].astype(float) + 1) / 65536
    proofs = [proof for proof in memory.cold["proof"][block].tolist() if is_settled(proof)]
    decided = is_settled(int(memory.cold[0]["proof"]))
    return RootStatistics(
        visits=int(above["visits"]),
        pending=int(above["pending"]),
        value=0.0 - float(above["value"]),
        draw=float(root["draw"]),
        raw=float(root["raw"]),
        proof=max(proofs, key=rank_of, default=UNPROVED) if decided else UNPROVED,
        tried_mass=float(priors[tried].sum()),
    )


def standing(memory: TreeMemory) -> Standing:
    """How the root stands, for the timer."""
    block = block_of(memory)
    visits = memory.edges["visits"][block]
    most = sorted([*visits.tolist(), 0, 0], reverse=True)
    move, value = NO_MOVE, 0.0
    if len(visits):
        best = block.start + int(visits.argmax())
        move, value = int(memory.cold["move"][best]), float(memory.edges["value"][best])
    proof, all_visits = best_proof(memory), int(memory.edges["visits"][0])
    return Standing(len(visits), most[0], most[1], proof, all_visits, move, value)


def best_proof(memory: TreeMemory) -> int:
    """The best of what is proved about the root's moves, else what tablebases say of the root."""
    proofs = memory.cold["proof"][block_of(memory)].tolist()
    root_proof = int(memory.cold["proof"][0])
    table = int(answer_to(root_proof)) if abs(root_proof) == TABLEBASE else UNPROVED
    return max(filter(is_settled, proofs), key=rank_of, default=table)


def root_is_settled(memory: TreeMemory) -> bool:
    """Whether more playouts can teach nothing: the root is proved, or all its moves end the game.

    A draw by repetition or by the 50-move rule ends the game and is no proof.
    """
    if is_settled(int(memory.cold["proof"][0])):
        return True
    block = block_of(memory)
    if block.start == block.stop or not memory.edges["visits"][block].all():
        return False
    children, proofs = memory.cold["child"][block], memory.cold["proof"][block]
    there = has_node(children)
    states = memory.nodes["state"][np.where(there, children, 0)]
    over = there & ((states == PATH_DRAW) | (states == TERMINAL))
    return bool((over | (proofs != UNPROVED) & (np.abs(proofs) <= DRAW)).all())


# --- what the rule adds ---------------------------------------------------------------------------


def exploration_below(memory: TreeMemory, rule: Rule, edge: int = 0) -> float:
    """By what a move's prior / (1 + visits) is multiplied, for values in [-1, 1]; 0: the root."""
    above, scoring = memory.edges[edge], scoring_of(entry_of(rule))
    visits = float(above["visits"]) + float(above["pending"])
    return scoring.exploration(innermost(rule), edge, visits)


def untried_value(memory: TreeMemory, rule: Rule, edge: int = 0, node: int = 0) -> float:
    """What the rule takes an unvisited move to be worth, at the node below an edge."""
    return scoring_of(entry_of(rule)).untried(innermost(rule), memory, edge, node)


# --- order ----------------------------------------------------------------------------------------


def grade_of(proof: int) -> tuple[int, int]:
    """How good a proof is: won, open or drawn, lost; then sooner wins and later losses first."""
    if proof in (UNPROVED, DRAW) or not is_settled(proof):  # calling a kernel takes long
        return 0, 0
    return (1 if proof > 0 else -1), int(rank_of(proof))


def rank_of_move(row: MoveStatistics) -> int:
    """A move's rank by tablebases, above all of them if it mates, 0 if they do not know it."""
    if 0 < row.proof < TABLEBASE:
        return TABLEBASE
    return 0 if row.table is None else row.table.rank


def in_order(rows: Iterable[MoveStatistics]) -> list[MoveStatistics]:
    """Best first: by tablebase rank, proof, visits, value, prior."""

    def quality(row: MoveStatistics) -> tuple[int, int, int, int, float, float]:
        return (rank_of_move(row), *grade_of(row.proof), row.visits, row.value, row.prior)

    return sorted(rows, key=quality, reverse=True)


def best_edge(memory: TreeMemory, node: int) -> int | None:
    """The best visited move of a node: by proof, visits, value; None if none was visited."""
    block = block_of(memory, node)
    visits = memory.edges["visits"][block].copy()  # the search goes on
    if not visits.any():
        return None
    values, proofs = memory.edges["value"][block], memory.cold["proof"][block]
    tried = np.flatnonzero(visits)
    if not proofs[tried].any():
        tried = np.flatnonzero(visits == visits.max())
    best = max(tried, key=lambda i: (*grade_of(int(proofs[i])), int(visits[i]), float(values[i])))
    return block.start + int(best)


def best_move(memory: TreeMemory) -> int | None:
    """The code of the root's best visited move, in the view of its player; None without visits."""
    edge = best_edge(memory, 0)
    return None if edge is None else int(memory.cold["move"][edge])

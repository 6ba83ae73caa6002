"""What the tree knows about each move of a node, as rows in Python.

    tree arrays -> **MoveStatistics** -> choose.py, report.py, verbose.py

Reading is safe while the search runs: a row may then be a visit older than the next one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kibitz.kernel.records import as_record
from kibitz.position.moves import FLIP_MOVE
from kibitz.position.notation import Move
from kibitz.position.outcome import has_legal_move
from kibitz.position.state import checkers
from kibitz.search.mcts.rules.gumbel import mixed_value
from kibitz.search.mcts.rules.parameters import Gumbel, Puct, Rule, Sble, innermost
from kibitz.search.mcts.rules.puct import exploration_weight, first_play_value
from kibitz.search.mcts.tree.nodes import (
    BUSY,
    EDGE,
    NONE,
    WAITING,
    TreeMemory,
    block_of,
)
from kibitz.search.proof import DRAW, TABLEBASE, UNPROVED, is_settled, proved_value, rank_of, wins
from kibitz.search.report import (
    Line,
    MoveStatistics,
    Report,
    RootStatistics,
    Score,
    Totals,
    Wdl,
    score_of,
    wdl_of,
)
from kibitz.search.tablebase import RootMove

LONGEST_LINE = 100  # plies of a principal variation

Outcomes = Mapping[int, RootMove]  # what tablebases say of moves, by their 16-bit codes


def view_of(position: np.record) -> int:
    """What turns a 16-bit code of the side to move into White's view, by exclusive or."""
    return FLIP_MOVE if position["side"] else 0


def node_below(memory: TreeMemory, edge: int) -> int | None:
    """The node a move leads to, if the tree has it."""
    child = int(memory.cold["child"][edge])
    return None if child in (NONE, BUSY, WAITING) and edge != 0 else child


def words_of(memory: TreeMemory, node: int) -> list[tuple[int, int]]:
    """The moves of an expanded node that are no edges yet: (code, 16-bit prior), in order."""
    record, block = memory.nodes[node], block_of(memory, node)
    count, made = int(record["count"]), block.stop - block.start
    end = (block.start + count) * (EDGE.itemsize // 4)
    words = memory.edges.view(np.uint32)[end - count + made : end].tolist()
    return [(word & 0xFFFF, word >> 16) for word in words]


# --- the rows -------------------------------------------------------------------------------------


def root_moves(memory: TreeMemory, position: np.record, rule: Rule) -> list[MoveStatistics]:
    """A row for each move of the root, in the order of the tree."""
    return moves_below(memory, position, rule, 0)


def moves_below(
    memory: TreeMemory, position: np.record, rule: Rule, above: int
) -> list[MoveStatistics]:
    """A row for each move of the node below an edge (0: the root), where `position` is."""
    node = node_below(memory, above)
    block = slice(0, 0) if node is None else block_of(memory, node)
    if node is None or block.start == block.stop:
        return []
    weight = exploration_below(memory, rule, above)
    untried = untried_value(memory, rule, above, node)
    node_draw, view = float(memory.nodes[node]["draw"]), view_of(position)
    rows: Any = zip(*_columns(memory, block), strict=True)
    edges = [_row(view, weight, untried, node_draw, *row) for row in rows]
    return edges + [
        _row(view, weight, untried, node_draw, edge, 0, 0, prior, 0.0, code, UNPROVED)
        for edge, (code, prior) in enumerate(words_of(memory, node), start=block.stop)
    ]


def _columns(memory: TreeMemory, block: slice) -> tuple[list[Any], ...]:
    """What the tree holds about a block of edges, each a list: reading records is slow in Python.

    Edges, visits, pending, priors, values, codes, proofs; whether there is a node below, and its
    draw, value and square.
    """
    edges, cold = memory.edges[block], memory.cold[block]
    children = cold["child"]
    there = (children != NONE) & (children != BUSY) & (children != WAITING)
    below = memory.nodes[np.where(there, children, 0)]
    columns = [edges[name] for name in ("visits", "pending", "prior", "value")]
    columns += [cold["move"], cold["proof"], there]
    columns += [below[name] for name in ("draw", "raw", "square")]
    return list(range(block.start, block.stop)), *(column.tolist() for column in columns)


def _row(
    view: int,
    weight: float,
    untried: float,
    node_draw: float,
    edge: int,
    visits: int,
    pending: int,
    prior16: int,
    mean: float,
    code: int,
    proof: int,
    there: bool = False,
    draw_below: float = 0.0,
    raw_below: float = 0.0,
    square: float = 0.0,
) -> MoveStatistics:
    prior, value = (prior16 + 1) / 65536, mean if visits else untried
    draw, deviation, raw = node_draw, 0.0, None
    if there:
        draw, raw = draw_below, 0.0 - raw_below
        deviation = math.sqrt(max(0.0, square - value * value))
    if not is_settled(proof):
        proof = UNPROVED  # a bound is in the value
    else:
        value, draw, deviation = float(proved_value(proof)), float(proof == DRAW), 0.0
    bonus, move = weight * prior / (1 + visits + pending), Move(code ^ view)
    return MoveStatistics(
        move, code, edge, visits, pending, prior, value, draw, deviation, bonus, raw, proof
    )


def settled(rows: list[MoveStatistics], outcomes: Outcomes | None) -> list[MoveStatistics]:
    """The rows, where tablebases know more than the tree with what they prove."""
    return [
        _proved(row, outcomes[row.code].proof)
        if outcomes and row.proof == UNPROVED and row.code in outcomes
        else row
        for row in rows
    ]


def _proved(row: MoveStatistics, proof: int) -> MoveStatistics:
    value, draw = float(proved_value(proof)), float(proof == DRAW)
    return row._replace(value=value, draw=draw, deviation=0.0, proof=proof)


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
        value=0.0 - float(above["value"]),  # unlike a minus sign, never -0.0
        draw=float(root["draw"]),
        raw=float(root["raw"]),
        proof=max(proofs, key=rank_of, default=UNPROVED) if decided else UNPROVED,
        tried_mass=float(priors[tried].sum()),
    )


# --- what the rule thinks -------------------------------------------------------------------------


def exploration_below(memory: TreeMemory, rule: Rule, edge: int = 0) -> float:
    """By what a move's prior / (1 + visits) is multiplied, for values in [-1, 1]; 0: the root."""
    inner, above = innermost(rule), memory.edges[edge]
    visits = float(above["visits"]) + float(above["pending"])
    if isinstance(inner, Puct):
        below = visits if inner.count_parent else max(visits - 1.0, 1.0)
        exploration = as_record(inner.exploration if edge else inner.root_exploration)
        return float(exploration_weight(exploration, visits)) * math.sqrt(below)
    if isinstance(inner, Sble):  # scores in [0, 1]
        exploration = as_record(inner.exploration)
        return 2.0 * float(exploration_weight(exploration, visits)) * math.sqrt(visits)
    return 0.0


def untried_value(memory: TreeMemory, rule: Rule, edge: int = 0, node: int = 0) -> float:
    """What the rule takes an unvisited move to be worth, at the node below an edge."""
    inner, block = innermost(rule), block_of(memory, node)
    if isinstance(inner, Gumbel):
        return float(mixed_value(memory.record, node))
    if isinstance(inner, Sble):
        return -1.0 if edge else 1.0
    first_play = as_record(inner.first_play if edge else inner.root_first_play)
    opened = int(memory.nodes[node]["opened"])
    return float(first_play_value(first_play, memory.record, edge, node, block.start, opened))


# --- order ----------------------------------------------------------------------------------------


def standing(proof: int) -> tuple[int, int]:
    """How good a proof is: won, open or drawn, lost; then sooner wins and later losses first."""
    if proof == DRAW or not is_settled(proof):
        return 0, 0
    return (1 if proof > 0 else -1), int(rank_of(proof))


def rank_of_move(row: MoveStatistics, outcomes: Outcomes | None) -> int:
    """A move's rank by tablebases, above all of them if it mates, 0 if they do not know it."""
    if 0 < row.proof < TABLEBASE:
        return TABLEBASE
    return outcomes[row.code].rank if outcomes and row.code in outcomes else 0


def in_order(rows: list[MoveStatistics], outcomes: Outcomes | None = None) -> list[MoveStatistics]:
    """Best first: by tablebase rank, proof, visits, value, prior."""

    def quality(row: MoveStatistics) -> tuple[int, int, int, int, float, float]:
        return (rank_of_move(row, outcomes), *standing(row.proof), row.visits, row.value, row.prior)

    return sorted(rows, key=quality, reverse=True)


def best_edge(memory: TreeMemory, node: int) -> int | None:
    """The best visited move of a node: by proof, visits, value; None if none was visited."""
    block = block_of(memory, node)
    visits = memory.edges["visits"][block]
    if not visits.any():
        return None
    values, proofs = memory.edges["value"][block], memory.cold["proof"][block]
    tried = np.flatnonzero(visits)
    best = max(tried, key=lambda i: (*standing(int(proofs[i])), int(visits[i]), float(values[i])))
    return block.start + int(best)


# --- reports --------------------------------------------------------------------------------------


def make_report(
    memory: TreeMemory,
    position: np.record,
    rule: Rule,
    totals: Totals,
    *,
    multipv: int = 1,
    score_type: str = "WDL_mu",
    outcomes: Outcomes | None = None,
    mating: tuple[Move, ...] = (),
) -> Report:
    """Report on a search of `position`.

    `outcomes` are what tablebases say of the root's moves, `mating` is a mate that the tree may not
    show.
    """
    rows = in_order(settled(root_moves(memory, position, rule), outcomes), outcomes)
    root = root_statistics(memory)
    if outcomes and rows:
        root = root._replace(value=rows[0].value, draw=rows[0].draw, proof=rows[0].proof)
    return Report(
        depth=totals.depth,
        seldepth=totals.seldepth,
        nodes=totals.nodes,
        milliseconds=round(totals.milliseconds),
        nps=round(1000 * totals.nodes / max(1.0, totals.milliseconds)),
        hashfull=memory.permille,
        tbhits=totals.tbhits,
        lines=_lines(memory, position, rows, root, multipv, score_type, outcomes or {}, mating),
        moves=tuple(rows),
        root=root,
        mean_depth=totals.mean_depth,
        no_mate=totals.no_mate,
    )


def _lines(
    memory: TreeMemory,
    position: np.record,
    rows: list[MoveStatistics],
    root: RootStatistics,
    multipv: int,
    score_type: str,
    outcomes: Outcomes,
    mating: tuple[Move, ...],
) -> tuple[Line, ...]:
    judged = [row for row in rows if row.visits or wins(row.proof) or row.code in outcomes]
    found: list[Line] = []
    if not judged or judged[0] != rows[0]:  # no visit yet, or all visited moves are proved lost
        found.append(_line_without_visits(position, rows, root, score_type))
    view = view_of(position)
    for row in judged[: max(1, multipv) - len(found)]:
        distance = outcomes[row.code].dtz if row.code in outcomes else 0
        score = score_of(score_type, row.value, row.draw, row.proof, distance)
        mates = mating[:1] == (row.move,)
        line = mating if mates else principal_variation(memory, row.edge, view)
        found.append(Line(len(found) + 1, score, wdl_of(row.value, row.draw), row.value, line))
    return tuple(found)


def _line_without_visits(
    position: np.record, rows: list[MoveStatistics], root: RootStatistics, score_type: str
) -> Line:
    """The end of the game, or the root's own evaluation and its likeliest move."""
    if not has_legal_move(position):
        if checkers(position):
            return Line(1, Score("mate", 0), Wdl(0, 0, 1000), -1.0, ())
        return Line(1, Score("cp", 0), Wdl(0, 1000, 0), 0.0, ())
    score = score_of(score_type, root.value, root.draw, UNPROVED)
    moves = tuple(row.move for row in rows[:1])
    return Line(1, score, wdl_of(root.value, root.draw), root.value, moves)


def principal_variation(memory: TreeMemory, edge: int, view: int) -> tuple[Move, ...]:
    """The line from a move of the root on, always by the best visited move.

    `view` is that of the side to move at the root, see `view_of`.
    """
    moves: list[Move] = []
    following: int | None = edge
    while following is not None and len(moves) < LONGEST_LINE:
        moves.append(Move(int(memory.cold["move"][following]) ^ view))
        view ^= FLIP_MOVE
        node = node_below(memory, following)
        following = None if node is None else best_edge(memory, node)
    return tuple(moves)

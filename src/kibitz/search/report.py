"""What a search has found so far: scores, principal variations, counts.

    tree arrays -> statistics -> **Report** -> uci, web, commentary, terminal

All values are for the side to move at the root; moves are in White's view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kibitz.position.moves import FLIP_MOVE
from kibitz.position.notation import Move
from kibitz.position.outcome import has_legal_move
from kibitz.position.state import checkers
from kibitz.search.mcts.rules.parameters import Rule
from kibitz.search.mcts.statistics import (
    MoveStatistics,
    Outcomes,
    RootStatistics,
    best_edge,
    in_order,
    node_below,
    root_moves,
    root_statistics,
    settled,
    view_of,
)
from kibitz.search.mcts.tree.nodes import TreeMemory
from kibitz.search.mcts.tree.proof import UNPROVED, wins
from kibitz.search.scores import Score, Wdl, score_of, wdl_of

LONGEST_LINE = 100  # plies of a principal variation


class Totals(NamedTuple):
    """What the search has counted."""

    nodes: int = 0  # playouts of this search
    milliseconds: float = 0.0
    depth: int = 0  # see limits.depth_of
    seldepth: int = 0  # plies of the longest playout
    tbhits: int = 0
    mean_depth: float = 0.0  # plies of an average playout
    no_mate: int = 0  # moves within which there is none, if that was the question


class Line(NamedTuple):
    """A move of the root and what the search expects after it."""

    number: int  # 1 for the best
    score: Score
    wdl: Wdl
    value: float
    moves: tuple[Move, ...]  # empty if the game is over


@dataclass(frozen=True)
class Report:
    """How a search stands."""

    depth: int
    seldepth: int
    nodes: int
    milliseconds: int
    nps: int
    hashfull: int  # per mille
    tbhits: int
    lines: tuple[Line, ...]  # best first, never empty
    moves: tuple[MoveStatistics, ...]  # all moves of the root, best first
    root: RootStatistics
    mean_depth: float = 0.0  # plies of an average playout
    no_mate: int = 0  # moves within which there is no mate, if that was the question

    @property
    def best(self) -> Line:
        """The first line."""
        return self.lines[0]


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
        moves.append(Move(int(memory.links["move"][following]) ^ view))
        view ^= FLIP_MOVE
        node = node_below(memory, following)
        following = None if node is None else best_edge(memory, node)
    return tuple(moves)

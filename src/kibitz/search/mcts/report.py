"""Making a report of the tree: lines with their scores and principal variations."""

from __future__ import annotations

import numpy as np

from kibitz.position.moves import FLIP_MOVE
from kibitz.position.notation import Move
from kibitz.position.outcome import has_legal_move
from kibitz.position.state import checkers
from kibitz.search.mcts.rules.parameters import Rule
from kibitz.search.mcts.statistics import (
    Outcomes,
    best_edge,
    in_order,
    moves_below,
    node_below,
    root_statistics,
    view_of,
)
from kibitz.search.mcts.tree.nodes import TreeMemory
from kibitz.search.params import Settings
from kibitz.search.proof import UNPROVED, wins
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

LONGEST_LINE = 100  # plies of a principal variation


def make_report(
    memory: TreeMemory,
    position: np.record,
    rule: Rule,
    settings: Settings,
    totals: Totals,
    outcomes: Outcomes | None = None,
    mating: tuple[Move, ...] = (),
) -> Report:
    """Report on a search of `position`.

    `outcomes` are what tablebases say of the root's moves, `mating` is a mate that the tree may not
    show.
    """
    rows, root = in_order(moves_below(memory, position, rule, 0, outcomes)), root_statistics(memory)
    if outcomes and rows:
        root = root._replace(value=rows[0].value, draw=rows[0].draw, proof=rows[0].proof)
    lines = _lines(memory, position, rows, settings, mating)
    if not lines or lines[0].moves[:1] != (rows[0].move,):
        # No move has a visit yet, or all that have are proved lost.
        first = _line_without_visits(position, rows, root, settings.score_type)
        lines = [first, *lines[: settings.multipv - 1]]
    return Report(
        **vars(totals),
        hashfull=memory.permille,
        lines=tuple(line._replace(number=number) for number, line in enumerate(lines, start=1)),
        moves=tuple(rows),
        root=root,
    )


def _lines(
    memory: TreeMemory,
    position: np.record,
    rows: list[MoveStatistics],
    settings: Settings,
    mating: tuple[Move, ...],
) -> list[Line]:
    """The lines of the best moves of which anything is known."""
    known = [row for row in rows if row.visits or wins(row.proof) or row.table is not None]
    lines = []
    for row in known[: settings.multipv]:
        distance = 0 if row.table is None else row.table.dtz
        score = score_of(settings.score_type, row.value, row.draw, row.proof, distance)
        mates = mating[:1] == (row.move,)
        moves = mating if mates else principal_variation(memory, row.edge, position)
        lines.append(Line(0, score, wdl_of(row.value, row.draw), row.value, moves))
    return lines


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


def principal_variation(memory: TreeMemory, edge: int, position: np.record) -> tuple[Move, ...]:
    """The line from a move of the root's `position` on, always by the best visited move."""
    moves: list[Move] = []
    following: int | None = edge
    view = view_of(position)
    while following is not None and len(moves) < LONGEST_LINE:
        moves.append(Move(int(memory.cold["move"][following]) ^ view))
        view ^= FLIP_MOVE
        node = node_below(memory, following)
        following = None if node is None else best_edge(memory, node)
    return tuple(moves)

"""What a search answers: a report of its tree, and the move that is played.

A report has lines with their scores and principal variations. Of the moves, what is proved goes
first: tablebase rank, then shortest mates; moves proved lost come last. Among the rest it is most
visits or the highest lower bound, minimax in endgames, or a random choice that one of three
schedules asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from kibitz.position.moves import FLIP_MOVE
from kibitz.position.notation import Move
from kibitz.search.mcts.playout.leaf import non_pawn_material
from kibitz.search.mcts.rules.parameters import HALF_TO_FULL, Rule
from kibitz.search.mcts.statistics import (
    Outcomes,
    best_edge,
    grade_of,
    in_order,
    moves_below,
    node_below,
    rank_of_move,
    root_statistics,
    view_of,
)
from kibitz.search.mcts.tree.nodes import TreeMemory, block_of
from kibitz.search.options import Settings
from kibitz.search.proof import UNPROVED, is_settled, proved_value, wins
from kibitz.search.report import (
    Line,
    MoveStatistics,
    Report,
    Totals,
    line_of,
    mate_moves,
    numbered,
    shown,
)

LONGEST_LINE = 100  # plies of a principal variation

Mates: TypeAlias = dict[Move, tuple[Move, ...]]  # lines that end in mate, by their first moves


def make_report(
    memory: TreeMemory,
    position: np.record,
    rule: Rule,
    settings: Settings,
    totals: Totals,
    outcomes: Outcomes | None = None,
    mates: Mates | None = None,
) -> Report:
    """Report on a search of `position`.

    `outcomes` are what tablebases say of the root's moves, `mates` are mates that the tree may not
    show.
    """
    rows, root = in_order(moves_below(memory, position, rule, 0, outcomes)), root_statistics(memory)
    if outcomes and rows:
        root = root._replace(value=rows[0].value, draw=rows[0].draw, proof=rows[0].proof)
    lines = _lines(memory, position, rows, settings, mates or {})
    if not lines or lines[0].moves[:1] != (rows[0].move,):
        # No move has a visit yet, or all that have are proved lost.
        moves = tuple(row.move for row in rows[:1])
        first = shown(root.value, UNPROVED, root.draw == 1.0, moves, settings, position)
        lines = [first, *lines[: settings.multipv - 1]]
    return Report(**vars(totals), lines=numbered(lines), moves=tuple(rows), root=root)


def _lines(
    memory: TreeMemory,
    position: np.record,
    rows: list[MoveStatistics],
    settings: Settings,
    mates: Mates,
) -> list[Line]:
    """The lines of the best moves of which anything is known."""
    searched = [row for row in rows if row.visits or wins(row.proof) or row.table is not None]
    lines = []
    for row in searched[: settings.multipv]:
        moves = mates.get(row.move) or principal_variation(memory, row.edge, position)
        if mate_moves(row.proof) is not None:
            moves = moves[: abs(row.proof)]  # the tree's line may be longer than what is proved
        lines.append(line_of(row, moves, settings, position))
    return lines


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


# --- the move that is played ----------------------------------------------------------------------


Rows = list[MoveStatistics]

DEEPEST = 64  # plies; forced lines could otherwise go deeper than Python recurses


def choose_move(
    memory: TreeMemory,
    position: np.record,
    settings: Settings,
    generator: np.random.Generator,
    rows: Rows,
) -> MoveStatistics | None:
    """The move to play in the root's `position`, of `rows` in order; None if there is none.

    Moves below the best rank by tablebases are never played.
    """
    if not rows:
        return None
    candidates = peers(rows)
    if not any(row.visits for row in candidates):
        return max(candidates, key=lambda row: row.prior)
    ply, material = int(position["ply"]), int(non_pawn_material(position))
    return _drawn(candidates, settings, ply, generator) or _best(
        memory, candidates, settings, material
    )


def peers(rows: Rows) -> Rows:
    """The moves as certain to win, or as uncertain, as the first of `rows`, which are in order."""

    def certainty(row: MoveStatistics) -> tuple[int, tuple[int, int]]:
        return rank_of_move(row), grade_of(row.proof)

    first = certainty(rows[0])
    return [row for row in rows if certainty(row) == first]


def _drawn(
    candidates: Rows, settings: Settings, ply: int, generator: np.random.Generator
) -> MoveStatistics | None:
    """A move drawn at random, if a schedule asks for one at this ply."""
    if ply < settings.sampling_plies:
        return sample(candidates, temperature_weights(candidates, 1.0), generator)
    temperature = temperature_at(settings, ply)
    if temperature > 0.0:
        weights = temperature_weights(
            candidates, temperature, settings.temp_visit_offset, settings.temp_value_cutoff
        )
        return sample(candidates, weights, generator)
    if ply < settings.diversity_plies and settings.diversity_temperature > 0.0:
        delta = HALF_TO_FULL * settings.diversity_delta
        near = [row for row in candidates if row.value >= candidates[0].value - delta]
        return sample(near, diversity_weights(near, settings.diversity_temperature), generator)
    return None


def _best(
    memory: TreeMemory, candidates: Rows, settings: Settings, material: int
) -> MoveStatistics:
    """The best move without chance; `candidates` are in order."""
    if settings.minimax and material <= settings.minimax_material:
        best = minimax_move(memory, candidates, settings)
        if best is not None:
            return best
    if settings.move_choice == "lcb":
        return highest_bound(candidates, settings.lcb_deviations, settings.lcb_visits)
    return candidates[0]


def highest_bound(candidates: Rows, deviations: float, least_share: float) -> MoveStatistics:
    """The highest value less `deviations` standard errors, among moves with visits enough."""
    least = max(1.0, least_share * candidates[0].visits)

    def bound(row: MoveStatistics) -> float:
        return row.value - deviations * row.deviation / math.sqrt(row.visits)

    return max((row for row in candidates if row.visits >= least), key=bound)


# --- endgame minimax ----------------------------------------------------------------------------
# In an endgame an average over many half-good replies hides the one that matters: where there are
# visits enough, a move is worth what its best considered reply leaves it.


def minimax_move(
    memory: TreeMemory, candidates: list[MoveStatistics], settings: Settings
) -> MoveStatistics | None:
    """The candidate of the highest minimax value; None if the root has too few visits."""
    root_visits = int(memory.edges["visits"][0])
    if root_visits < settings.minimax_visits:
        return None
    enough = [row for row in candidates if row.visits >= settings.minimax_ignore * root_visits]
    if not enough:
        return None
    return max(enough, key=lambda row: minimax_value(memory, row.edge, settings))


def minimax_value(memory: TreeMemory, edge: int, settings: Settings, plies: int = DEEPEST) -> float:
    """Value in [-1, 1] for the player who makes the move, by the best of the considered replies."""
    proof = int(memory.cold["proof"][edge])
    if is_settled(proof):
        return float(proved_value(proof))
    average, visits = float(memory.edges["value"][edge]), int(memory.edges["visits"][edge])
    node = node_below(memory, edge)
    if visits < settings.minimax_visits or node is None or not plies:
        return average
    replies = _considered(memory, node, settings.minimax_ignore * visits)
    if not replies:
        return average
    return -max(minimax_value(memory, reply, settings, plies - 1) for reply in replies)


def _considered(memory: TreeMemory, node: int, least_visits: float) -> list[int]:
    """Replies with enough visits whose proofs are no worse than the best of them."""
    block = block_of(memory, node)
    visits = memory.edges["visits"][block]
    enough = block.start + np.flatnonzero((visits >= least_visits) & (visits > 0))
    grades = {int(edge): grade_of(int(memory.cold["proof"][edge])) for edge in enough}
    best = max(grades.values(), default=(0, 0))
    return [edge for edge, grade in grades.items() if grade == best]


# --- random choices -------------------------------------------------------------------------------


def temperature_at(settings: Settings, ply: int) -> float:
    """lc0's schedule: constant, then falling to 0, then constant again; moves count from 0."""
    moves, temperature = ply // 2, settings.temperature
    if settings.temp_cutoff_move and moves + 1 >= settings.temp_cutoff_move:
        return settings.temp_endgame
    if not temperature or not settings.temp_decay_moves:
        return temperature
    left = settings.temp_decay_delay_moves + settings.temp_decay_moves - moves
    share = min(1.0, max(0.0, left / settings.temp_decay_moves))
    return max(temperature * share, settings.temp_endgame)


def temperature_weights(
    rows: Sequence[MoveStatistics],
    temperature: float,
    visit_offset: float = 0.0,
    value_cutoff: float = 100.0,
) -> np.ndarray:
    """((N + offset) / most)^(1 / temperature); float64 [rows].

    0 for moves whose chance to win is `value_cutoff` % below that of the most visited one.
    """
    visits = np.array([row.visits for row in rows], dtype=float) + visit_offset
    values = np.array([row.value for row in rows])
    most = visits.max()
    if most <= 0.0:
        return np.zeros(len(rows))
    weights = (np.maximum(0.0, visits) / most) ** (1.0 / temperature)
    lowest = values[int(visits.argmax())] - HALF_TO_FULL * value_cutoff / 100.0
    return np.where(values < lowest, 0.0, weights)


def sample(
    rows: Sequence[MoveStatistics], weights: np.ndarray, generator: np.random.Generator
) -> MoveStatistics | None:
    """One of the rows in proportion to weights, None if all of them are 0."""
    total = weights.sum()
    if total <= 0.0:
        return None
    return rows[int(generator.choice(len(rows), p=weights / total))]


def diversity_weights(rows: Rows, temperature: float) -> np.ndarray:
    """ChessCoach's (max(1, N) / N of the best)^(1 / temperature); float64 [rows], best first."""
    visits = np.maximum(1.0, np.array([row.visits for row in rows], dtype=float))
    return (visits / visits[0]) ** (1.0 / temperature)

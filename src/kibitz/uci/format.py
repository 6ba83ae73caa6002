"""What the engine says, as lines of the protocol; lc0's lines of statistics, too.

Scores are for the side to move, as the protocol wants them; times are milliseconds.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kibitz.nets.encodings.policy import (
    PAIRS,
    QUEEN_PROMOTION,
    SECTIONS,
    SQUARES,
    TABLE1858,
    policy_table,
)
from kibitz.position.board import Board, Termination
from kibitz.position.moves import PROMOTION
from kibitz.position.notation import Move
from kibitz.search.proof import UNPROVED
from kibitz.search.report import Line, MoveStatistics, Report, RootStatistics

if TYPE_CHECKING:
    from kibitz.nets.evaluators.cache import CacheUse


def info_lines(report: Report, *, chess960: bool = False, wdl: bool = False) -> list[str]:
    """What the search says of its work, then a line for each of the best moves, the best first."""
    notes = [f"info string {note}" for note in report.notes]
    return notes + [info_line(report, line, chess960, wdl) for line in report.lines]


def info_line(report: Report, line: Line, chess960: bool, wdl: bool) -> str:
    """Depth to principal variation, in the usual order."""
    chances = " wdl {} {} {}".format(*line.wdl) if wdl else ""
    depth = max(1, report.depth)
    text = (
        f"info depth {depth} seldepth {max(depth, report.seldepth)} time {report.milliseconds}"
        f" nodes {report.nodes} score {line.score}{chances} hashfull {report.hashfull}"
        f" nps {report.nps} tbhits {report.tbhits} multipv {line.number}"
    )
    return f"{text} pv {moves_text(line.moves, chess960)}" if line.moves else text


def moves_text(moves: Iterable[Move], chess960: bool) -> str:
    """Moves in UCI, castling as the option UCI_Chess960 says."""
    return " ".join(move_text(move, chess960) for move in moves)


def move_text(move: Move, chess960: bool) -> str:
    """A move in UCI."""
    return move.uci(True if chess960 else None)


def best_line(move: Move | None, ponder: Move | None, chess960: bool) -> str:
    """The answer to `go`."""
    if move is None:
        return "bestmove (none)"
    expected = "" if ponder is None else f" ponder {move_text(ponder, chess960)}"
    return f"bestmove {move_text(move, chess960)}{expected}"


def over_line(board: Board) -> str | None:
    """What is said of a game that is over; None if it is not."""
    end = board.outcome()
    if end is None:
        return None
    mated = end.termination is Termination.CHECKMATE
    return f"info depth 0 score {'mate' if mated else 'cp'} 0"


def cache_text(use: CacheUse) -> str:
    """How the prediction cache was used, since the game began."""
    return (
        f"cache hits {use.hits} misses {use.misses} evictions {use.evictions}"
        f" hashfull {use.hashfull}"
    )


# --- lc0's lines about the moves of the root, which some GUIs read and draw -----------------------
# Visits N, pending ones, prior P, win less loss WL, draws D, value Q, exploration U, their sum S,
# the evaluator's own value V, and (T) where the outcome is certain.


def verbose_lines(report: Report, chess960: bool | None = None) -> list[str]:
    """A line for each move, the best one last, then one for the root; without `info string`."""
    rows = sorted(report.moves, key=lambda row: (row.visits, row.score))
    return [_move_line(row, chess960) for row in rows] + [_root_line(report.root, len(rows))]


def _move_line(row: MoveStatistics, chess960: bool | None) -> str:
    label, index = row.move.uci(chess960), f"{policy_index(row.code):<4}"
    head = _head(f"{label:<5}", index, row.visits, row.pending, row.prior)
    visited = row.visits > 0 and row.scored
    middle = _values(row.value, row.draw) if visited else _no_values(row.value)
    tail = f"(U: {row.bonus:6.5f}) (S: {row.score:8.5f}) "
    return head + middle + tail + _raw(row.raw, row.proof)


def _root_line(root: RootStatistics, moves: int) -> str:
    head = _head("node ", f"{moves:>4}", root.visits, root.pending, root.tried_mass)
    return head + _values(root.value, root.draw) + _raw(root.raw, root.proof)


def _head(label: str, index: str, visits: int, pending: int, prior: float) -> str:
    decimals = 1 if prior >= 0.99995 else 2
    share = f"{100 * prior:5.{decimals}f}"
    return f"{label} ({index}) N: {visits:7} (+{pending:2}) (P: {share}%) "


def _values(value: float, draw: float) -> str:
    # No network of ours says how many moves are left (M).
    return f"(WL: {value:8.5f}) (D: {draw:5.3f}) (M: {0.0:4.1f}) (Q: {value:8.5f}) "


def _no_values(untried: float) -> str:
    return f"(WL:  -.-----) (D: -.---) (M:  -.-) (Q: {untried:8.5f}) "


def _raw(raw: float | None, proof: int) -> str:
    value = "(V:  -.----) " if raw is None else f"(V: {raw:7.4f}) "
    return value + ("(T) " if proof != UNPROVED else "")


# --- the number lc0 gives to a move ---------------------------------------------------------------


def policy_index(code: int) -> int:
    """Index of a move (16 bits, in the mover's view) among lc0's 1858 policy outputs.

    >>> policy_index(12 | 28 << 6)  # e2e4
    322
    """
    table = _table1858()
    squares, kind = code & SQUARES, code >> 12
    if kind <= PROMOTION:  # a knight is what lc0 promotes to without saying so
        return int(table[0, squares])
    return int(table[1, squares]) + QUEEN_PROMOTION - kind  # queen, rook, bishop


@functools.cache
def _table1858() -> np.ndarray:
    """Indices by section, see nets/encodings/policy.py, and from | to << 6."""
    table: np.ndarray = policy_table().reshape(-1, SECTIONS, PAIRS)[TABLE1858]
    return table

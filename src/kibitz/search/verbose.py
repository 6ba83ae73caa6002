"""Statistics of the root's moves as the lines lc0 prints, which some GUIs read and draw.

MoveStatistics -> **text** -> `info string ...`

The columns: visits N, those on their way, prior P, win less loss WL, draws D, value Q, exploration
U, their sum S, the evaluator's own value V, and (T) where the outcome is certain.
"""

from __future__ import annotations

import functools

from kibitz.position.moves import PROMOTION
from kibitz.search.mcts.statistics import MoveStatistics, RootStatistics
from kibitz.search.mcts.tree.proof import UNPROVED
from kibitz.search.report import Report


def verbose_lines(report: Report, chess960: bool | None = None) -> list[str]:
    """A line for each move, the best one last, then one for the root; without `info string`."""
    rows = sorted(report.moves, key=lambda row: (row.visits, row.score))
    return [_move_line(row, chess960) for row in rows] + [_root_line(report.root, len(rows))]


def _move_line(row: MoveStatistics, chess960: bool | None) -> str:
    label, index = row.move.uci(chess960), f"{policy_index(row.code):<4}"
    head = _head(f"{label:<5}", index, row.visits, row.pending, row.prior)
    known = row.visits > 0
    middle = _values(row.value, row.draw) if known else _no_values(row.value)
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
    squares, kind = code & 0xFFF, code >> 12
    if kind <= PROMOTION:  # a knight is what lc0 promotes to without saying so
        return _indices()[squares, ""]
    return _indices()[squares, "nbrq"[kind - PROMOTION]]


@functools.cache
def _indices() -> dict[tuple[int, str], int]:
    """(from | to << 6, promotion) to index: steps by square, then promotions to q, r, b."""
    pairs = [(origin, target) for origin in range(64) for target in range(64)]
    steps = [pair for pair in pairs if _is_step(*pair)]
    keys = [(origin | target << 6, "") for origin, target in steps]
    for origin, target in steps:
        if origin >> 3 == 6 and target >> 3 == 7 and abs((origin & 7) - (target & 7)) <= 1:
            keys += [(origin | target << 6, piece) for piece in "qrb"]
    return {key: index for index, key in enumerate(keys)}


def _is_step(origin: int, target: int) -> bool:
    """Whether a queen or a knight on an empty board goes there."""
    files, ranks = abs((origin & 7) - (target & 7)), abs((origin >> 3) - (target >> 3))
    if not files and not ranks:
        return False
    return not files or not ranks or files == ranks or {files, ranks} == {1, 2}

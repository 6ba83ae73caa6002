"""Reports of a best-first search: values become scores and proofs, the table's moves lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kibitz.position.board import Board
from kibitz.position.notation import Move, absolute, legal_codes
from kibitz.search.bestfirst.nodes import DECISIVE, MATE, NONE, UNIT
from kibitz.search.bestfirst.table import find
from kibitz.search.bestfirst.worker import Worker
from kibitz.search.params import Settings
from kibitz.search.proof import DRAW, TABLEBASE, UNPROVED
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

LONGEST_LINE = 60  # plies


class Best(NamedTuple):
    """A move of the root and its value in points."""

    code: int
    value: int


def proof_of(value: int) -> int:
    """What a value proves, see proof.py."""
    if abs(value) <= DECISIVE:
        return UNPROVED
    return MATE - value if value > 0 else -(MATE + value)


def unit_value(value: int) -> float:
    """Points as a value in [-1, 1]."""
    return max(-1.0, min(1.0, value / UNIT))


class Reporter:
    """Makes the reports of one search."""

    def __init__(
        self, board: Board, settings: Settings, worker: Worker, outcomes: Mapping[int, RootMove]
    ) -> None:
        self._board, self._settings, self._worker = board, settings, worker
        self._outcomes = outcomes

    def report(self, best: list[Best], totals: Totals, mating: tuple[Move, ...] = ()) -> Report:
        """A report; `best` are the moves whose values are known, best first."""
        rows = self._rows(best)
        shown = best[: self._settings.multipv] or [Best(row.code, 0) for row in rows[:1]]
        lines = [self._line(number, one, rows) for number, one in enumerate(shown, start=1)]
        if mating:
            plies = 2 * ((len(mating) + 1) // 2) - 1
            score = score_of(self._settings.score_type, 1.0, 0.0, plies)
            lines[0] = Line(1, score, Wdl(1000, 0, 0), 1.0, mating)
        if not lines:
            lines = [self._end()]
        top = rows[0] if rows else None
        value, draw, proof = (top.value, top.draw, top.proof) if top else (0.0, 0.0, UNPROVED)
        root = RootStatistics(totals.nodes, 0, value, draw, self._worker.raw, proof, 0.0)
        return Report(
            **vars(totals),
            hashfull=self._worker.memory.permille,
            lines=tuple(lines),
            moves=tuple(rows),
            root=root,
        )

    def _rows(self, best: list[Best]) -> list[MoveStatistics]:
        """All moves of the root: those with values first, then those with most nodes."""
        worker, position = self._worker, self._board.position
        values = {one.code: one.value for one in best}
        order = [*values]
        codes = worker.codes.tolist()
        nodes = dict(zip(codes, worker.record.root_nodes[: len(codes)].tolist(), strict=True))
        bounds = dict(zip(codes, worker.record.root_values[: len(codes)].tolist(), strict=True))
        priors = dict(zip(codes, worker.priors.tolist(), strict=True))
        order += sorted((code for code in codes if code not in values), key=lambda c: -nodes[c])
        rows = []
        for edge, code in enumerate(order):
            table, points = self._outcomes.get(code), values.get(code, bounds[code])
            proof = proof_of(points) if code in values else UNPROVED
            if proof == UNPROVED and table is not None:
                proof = table.proof
            value = (
                unit_value(points) if proof in (UNPROVED, DRAW) else (1.0 if proof > 0 else -1.0)
            )
            value = 0.0 if proof == DRAW else value
            draw = self._draw(value, proof)
            rows.append(
                MoveStatistics(
                    absolute(position, code),
                    code,
                    edge,
                    nodes[code],
                    0,
                    priors[code],
                    value,
                    draw,
                    0.0,
                    0.0,
                    None,
                    proof,
                    table,
                )
            )
        return rows

    def _draw(self, value: float, proof: int) -> float:
        """Probability of a draw: what the root's evaluation leaves of it."""
        if proof != UNPROVED:
            return 1.0 if proof == DRAW else 0.0
        return min(self._worker.draw, 1.0 - abs(value))

    def _line(self, number: int, one: Best, rows: list[MoveStatistics]) -> Line:
        row = next(row for row in rows if row.code == one.code)
        distance = row.table.dtz if row.table is not None and abs(row.proof) == TABLEBASE else 0
        score = score_of(self._settings.score_type, row.value, row.draw, row.proof, distance)
        moves = self.line_from(one.code, abs(row.proof) if proof_of(one.value) else LONGEST_LINE)
        return Line(number, score, wdl_of(row.value, row.draw), row.value, moves)

    def line_from(self, code: int, longest: int) -> tuple[Move, ...]:
        """A move and what the table has after it, until a position occurs again."""
        board, seen = self._board.copy(), set[int]()
        moves = [board.push(absolute(board.position, code))]
        while len(moves) < min(longest, LONGEST_LINE) and board.key not in seen:
            seen.add(board.key)
            at = int(find(self._worker.record, board.position.key))
            entry = self._worker.memory.entries[at] if at != NONE else None
            if entry is None or int(entry["move"]) not in legal_codes(board.position).tolist():
                break
            moves.append(board.push(absolute(board.position, int(entry["move"]))))
        return tuple(moves)

    def _end(self) -> Line:
        """The game is over."""
        if self._board.is_check() and not self._board.legal_moves:
            return Line(1, Score("mate", 0), Wdl(0, 0, 1000), -1.0, ())
        return Line(1, Score("cp", 0), Wdl(0, 1000, 0), 0.0, ())

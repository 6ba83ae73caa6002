"""Reports of an alpha-beta search: scores become values, chances and proofs; moves become lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kibitz.evaluator.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.position.moves import FLIP_MOVE
from kibitz.position.notation import Move
from kibitz.position.outcome import has_legal_move
from kibitz.position.state import RECORDS, checkers
from kibitz.search.alphabeta.static import value_after, value_of_score
from kibitz.search.alphabeta.thread import DECISIVE, INFINITE, MATE, TABLE_WIN
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


class Known(NamedTuple):
    """What a search knows of a move of the root."""

    code: int
    score: int  # centipawns and beyond, see thread.py
    nodes: int
    line: tuple[int, ...]  # codes, the move itself first


def proof_of(score: int) -> int:
    """What a score proves, see proof.py; -INFINITE, of moves without a score, proves nothing."""
    if abs(score) < DECISIVE or abs(score) == INFINITE:
        return UNPROVED
    if abs(score) <= TABLE_WIN:
        return TABLEBASE if score > 0 else -TABLEBASE
    return MATE - score if score > 0 else -(MATE + score)


def known_of(roots: np.ndarray) -> list[Known]:
    """What ROOT_MOVE [moves] say; moves without a score of their own keep their last one."""
    scores = np.where(roots["score"] > -INFINITE, roots["score"], roots["known"])
    return [
        Known(
            int(row["move"]),
            int(score),
            int(row["nodes"]),
            tuple(row["line"][: row["length"]].tolist()) or (int(row["move"]),),
        )
        for row, score in zip(roots, scores, strict=True)
    ]


class Reporter:
    """Makes the reports of one search."""

    def __init__(
        self,
        board: Board,
        settings: Settings,
        evaluator: InlineEvaluator,
        outcomes: Mapping[int, RootMove],
    ) -> None:
        self._board, self._settings, self._outcomes = board, settings, outcomes
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        self._view = FLIP_MOVE if int(board.position["side"]) else 0
        self._positions = np.zeros(2, RECORDS)

    def report(
        self,
        known: Sequence[Known],
        totals: Totals,
        hashfull: int,
        mating: tuple[Move, ...] = (),
    ) -> Report:
        """A report; `mating` is a mate that was found beside the search, `known` the best first."""
        rows = [self._row(index, one) for index, one in enumerate(known)]
        shown = [one for one in known if one.score > -INFINITE or one.code in self._outcomes]
        shown = shown[: self._settings.multipv] or list(known[:1])
        lines = [self._line(number, one, rows) for number, one in enumerate(shown, start=1)]
        if mating:
            plies = 2 * ((len(mating) + 1) // 2) - 1
            score = score_of(self._settings.score_type, 1.0, 0.0, plies)
            lines[0] = Line(1, score, Wdl(1000, 0, 0), 1.0, mating)
        if not lines:
            lines = [self._end()]
        best = rows[0] if rows else None
        value, draw, proof = (best.value, best.draw, best.proof) if best else (0.0, 0.0, UNPROVED)
        root = RootStatistics(totals.nodes, 0, value, draw, value, proof, 0.0)
        return Report(
            **vars(totals), hashfull=hashfull, lines=tuple(lines), moves=tuple(rows), root=root
        )

    def _row(self, index: int, one: Known) -> MoveStatistics:
        table, proof = self._outcomes.get(one.code), proof_of(one.score)
        if proof == UNPROVED and table is not None:
            proof = table.proof
        value, draw = self._value(one, proof)
        move = Move(one.code ^ self._view)
        return MoveStatistics(
            move, one.code, index, one.nodes, 0, 0.0, value, draw, 0.0, 0.0, None, proof, table
        )

    def _value(self, one: Known, proof: int) -> tuple[float, float]:
        """Value and probability of a draw, which the network sees at the end of the line.

        A move without a score has what the network says of the root.
        """
        if proof == DRAW:
            return 0.0, 1.0
        if proof != UNPROVED:
            return (1.0 if proof > 0 else -1.0), 0.0
        self._positions[0] = self._board.position
        network, scratch = self._evaluator.record, self._scratch.record
        scored = one.score > -INFINITE
        line = np.array(one.line if scored else (), np.uint16)
        value, draw = value_after(network, scratch, self._positions, line, len(line))
        return (value_of_score(one.score) if scored else float(value)), float(draw)

    def _line(self, number: int, one: Known, rows: Sequence[MoveStatistics]) -> Line:
        row = next(row for row in rows if row.code == one.code)
        distance = 0
        if abs(row.proof) == TABLEBASE:
            distance = row.table.dtz if row.table else TABLE_WIN - abs(one.score)
        score = score_of(self._settings.score_type, row.value, row.draw, row.proof, distance)
        return Line(number, score, wdl_of(row.value, row.draw), row.value, self.moves_of(one))

    def moves_of(self, one: Known) -> tuple[Move, ...]:
        """The line that begins with a move of the root."""
        views = (self._view, self._view ^ FLIP_MOVE)
        return tuple(Move(code ^ views[ply % 2]) for ply, code in enumerate(one.line))

    def _end(self) -> Line:
        """The game is over."""
        position: Any = self._board.position
        if not has_legal_move(position) and checkers(position):
            return Line(1, Score("mate", 0), Wdl(0, 0, 1000), -1.0, ())
        return Line(1, Score("cp", 0), Wdl(0, 1000, 0), 0.0, ())

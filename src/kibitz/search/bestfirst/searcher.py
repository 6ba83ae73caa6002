"""BestFirst: the search of an engine that plays by Batch-First, one position after another.

Deeper and deeper it bisects the value of the root by zero-window passes, as MTD(f) does, and
between two batches it reports and asks the timer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.load import Evaluator, as_batched
from kibitz.position.notation import Move, absolute, legal_codes
from kibitz.search.bestfirst.nodes import DECISIVE, INFINITE, MATE, NONE, UNIT
from kibitz.search.bestfirst.table import find
from kibitz.search.bestfirst.worker import Worker, is_for, read_calibration, rough_calibration
from kibitz.search.clock import Standing
from kibitz.search.options import Settings
from kibitz.search.proof import UNPROVED
from kibitz.search.report import Report, SearchedMove, drawn, report_of
from kibitz.search.searcher import BaseSearcher

DEEPEST = 60
LONGEST_LINE = 60  # plies
DRAWN_AMONG = 4  # the best moves are given values where one is drawn by value
WARMTH = 0.45  # of the logarithm of the odds cost a factor of e at a temperature of 1
NEAREST, LEAST_PRIOR = 1.0 - 1e-9, 1e-9
STEP = 500  # points, 0.05 of a win: how far a bound is passed while the other one is unknown


class Best(NamedTuple):
    """A move of the root and its value in points."""

    code: int
    value: int
    line: tuple[Move, ...] = ()  # as the table had it when the value was found


def proof_of(value: int) -> int:
    """What a value proves, see proof.py."""
    if abs(value) <= DECISIVE:
        return UNPROVED
    return MATE - value if value > 0 else -(MATE + value)


def unit_value(value: int) -> float:
    """Points as a value in [-1, 1]."""
    return max(-1.0, min(1.0, value / UNIT))


# --- from zero-window passes to a value -----------------------------------------------------------


def next_bound(lower: int, upper: int, guess: int) -> int:
    """The bound that the next pass asks about: whether the value is at least so high."""
    if lower > -INFINITE and upper < INFINITE:
        return max((lower + upper + 1) // 2, lower + 1)
    if lower > -INFINITE:
        return lower + STEP
    return upper - STEP if upper < INFINITE else guess


def bisect(run: Callable[[int], int | None], guess: int) -> int | None:
    """The value that passes agree on; None if one of them was ended.

    `run(bound)` returns at least the value if that is below the bound, else at most the value.

    >>> bisect(lambda bound: 12, 0)
    12
    """
    lower, upper = -INFINITE, INFINITE
    while lower < upper:
        bound = min(INFINITE - 1, max(1 - INFINITE, next_bound(lower, upper, guess)))
        reached = run(bound)
        if reached is None:
            return None
        if reached < bound:
            upper = reached
        else:
            lower = reached
    return lower


class BestFirst(BaseSearcher):
    """Batch-First with any evaluator; inline ones are asked in batches, too."""

    fixed = ("bestfirst_batch", "bestfirst_quiet", "bestfirst_ordering", "bestfirst_file", "seed")

    def __init__(self, evaluator: Evaluator, settings: Settings | None = None) -> None:
        super().__init__(settings or Settings())
        self.batched = not isinstance(evaluator, InlineEvaluator)
        many, chosen = as_batched(evaluator), self.settings
        file = chosen.bestfirst_file
        calibration = read_calibration(file) if file else rough_calibration(many)
        fits = is_for(calibration, many)
        warning = f"BestFirstFile: {file} was made for {calibration.network}, not for {many.name}"
        self._unfit = [] if fits else [warning]
        self.worker = Worker(
            many,
            calibration,
            chosen.hash,
            chosen.bestfirst_batch,
            quiet_plies=chosen.bestfirst_quiet,
            ordered=chosen.bestfirst_ordering,
            asynchronous=self.batched or chosen.threads > 1,
        )
        self._writing = threading.Thread(target=self.worker.memory.write_all)
        self._writing.start()
        self._best: list[Best] = []  # of the last iteration, best first
        self._depth = 0  # of that iteration
        self._generator = np.random.default_rng(chosen.seed)

    @property
    def problems(self) -> list[str]:
        """What is wrong with files that the settings name, one line each."""
        return [*self._unfit, *super().problems]

    def ready(self) -> None:
        """Wait until the memory is there."""
        self._writing.join()

    def end(self) -> None:
        """End the threads."""
        self.ready()
        self.worker.close()

    def forget(self) -> None:
        """Forget the table."""
        self.ready()
        self.worker.memory.clear_table()

    # --- one search -----------------------------------------------------------------------------

    def prepare(self) -> None:
        """Evaluate the root and score its moves."""
        self.ready()
        self.worker.set_root(self.task.board.positions(), self.task.allowed)
        self._best, self._depth = [], 0

    def run(self) -> None:
        """Deepen until a limit is reached, or nothing is left to learn."""
        limits = self.task.limits
        deepest = min(limits.depth or DEEPEST, DEEPEST)
        if limits.mate is not None:
            self.look_for_mate(limits.mate)
            if self.task.mating:
                return
            deepest = 1  # there is none; a move is wanted all the same
        while self._depth < deepest and self._deepen(self._depth + 1):
            self._depth += 1
            self.tell(changed=True)
            if self.proof != UNPROVED and self._depth >= abs(self.proof) - 1:
                return  # no shorter mate is left
            if self.is_over():
                return

    def _deepen(self, depth: int) -> bool:
        """Find the values of the best moves with so many plies; whether it came to an end."""
        done: list[Best] = []
        lines = self.settings.multipv
        if self.settings.temperature > 0.0:
            lines = max(lines, DRAWN_AMONG)
        lines = min(lines, len(self.worker.codes))
        while len(done) < lines:
            before = self._best[len(done)] if len(done) < len(self._best) else None
            best, whole = self._value(depth, [line.code for line in done], before)
            if best is not None:
                done.append(best)
            if not whole:
                self._best = self._with_those_before(done)
                return False
        self._best = sorted(done, key=lambda line: -line.value)
        return True

    def _with_those_before(self, done: list[Best]) -> list[Best]:
        """What an iteration that was cut has found, and after it the lines of the one before.

        Their values are of fewer plies, and count as no higher than what was found with more.
        """
        if not done:
            return self._best
        codes, most = {line.code for line in done}, min(line.value for line in done)
        rest = [line for line in self._best if line.code not in codes]
        later = [line._replace(value=min(line.value, most)) for line in rest]
        return [*sorted(done, key=lambda line: -line.value), *later]

    def _value(
        self, depth: int, without: list[int], before: Best | None
    ) -> tuple[Best | None, bool]:
        """The best move but for some, by bisection from its value in the last iteration.

        And whether that came to an end: else the move is what a pass found, if one found another.
        """
        worker = self.worker
        places = [at for at, code in enumerate(worker.codes.tolist()) if code not in without]
        first = None if before is None else before.code
        places.sort(key=lambda at: (int(worker.codes[at]) != first, -worker.scores[at]))
        guess = round(UNIT * worker.raw) if before is None else before.value
        reached = Best(int(worker.codes[places[0]]), guess)

        def run(bound: int) -> int | None:
            nonlocal reached
            most = self.task.most_nodes
            value = worker.zero_window(bound, depth, places, self.is_over, most)
            if value is not None and value >= bound:
                reached = Best(worker.best_code, value)
                at = worker.codes.tolist().index(reached.code)
                places.remove(at)
                places.insert(0, at)
            return value

        value = bisect(run, guess)
        if value is not None:
            return self._with_line(reached.code, value), True
        other = not without and reached.code != first
        return (self._with_line(*reached[:2]) if other else None), False

    def _with_line(self, code: int, value: int) -> Best:
        """A move with its value and what the table has after it, up to the mate if it is one."""
        return Best(code, value, self._line(code, abs(proof_of(value)) or LONGEST_LINE))

    def is_late(self) -> bool:
        """Whether the time is up, by the best move so far."""
        best = self._best[0] if self._best else Best(int(self.worker.codes[0]), 0)
        moves, value = len(self.worker.codes), unit_value(best.value)
        standing = Standing(moves, 0, 0, self.proof, 0, best.code, value)
        return self.task.timer.is_over(standing)

    def choose(self, report: Report) -> tuple[Move, ...]:
        """The best line, or with a temperature one drawn by value, by prior if nothing has one."""
        temperature = self.settings.temperature
        if temperature == 0.0 or report.root.proof != UNPROVED:
            return report.best.moves
        if self._depth:
            codes = [best.code for best in self._best]
            values = np.array([unit_value(best.value) for best in self._best])
            merits = 2.0 * np.arctanh(np.clip(values, -NEAREST, NEAREST)) / WARMTH
        else:
            codes = self.worker.codes.tolist()
            merits = np.log(np.maximum(self.worker.priors, LEAST_PRIOR))
        code = codes[drawn(merits, temperature, self._generator)]
        line = self._line(code, LONGEST_LINE)
        return report.best.moves if line[0] == report.best.moves[0] else line

    # --- reports --------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Nodes made."""
        return int(self.worker.record.created)

    @property
    def proof(self) -> int:
        """What the best value proves."""
        return proof_of(self._best[0].value) if self._best else UNPROVED

    def report(self) -> Report:
        """Moves with values first, then those with most nodes."""
        task, worker, count = self.task, self.worker, len(self.worker.codes)
        columns = worker.record.root_nodes[:count], worker.record.root_values[:count]
        lists = (worker.codes.tolist(), *(column.tolist() for column in columns))
        rows = {row[0]: row[1:] for row in zip(*lists, worker.priors.tolist(), strict=True)}
        order = [best.code for best in self._best]
        rest = [code for code in rows if code not in order]
        order += sorted(rest, key=lambda code: -rows[code][0])
        totals = replace(
            self.totals(),
            depth=self._depth,
            seldepth=int(worker.record.deepest),
            hashfull=worker.memory.permille,
            notes=(worker.note,) if task.finished and worker.passes else (),
        )
        searched = [self._searched_move(code, rank, *rows[code]) for rank, code in enumerate(order)]
        mating, raw = task.mating, worker.raw
        return report_of(task.board, searched, self.settings, task.outcomes, totals, mating, raw)

    def _searched_move(
        self, code: int, rank: int, nodes: int, bound: int, prior: float
    ) -> SearchedMove:
        """What is known of a move, its line of the iteration that found its value."""
        scored = rank < len(self._best)
        best = self._best[rank] if scored else Best(code, bound, self._line(code, 1))
        value, proof = unit_value(best.value), proof_of(best.value) if scored else UNPROVED
        return SearchedMove(
            code=code,
            nodes=nodes,
            value=value,
            draw=min(self.worker.draw, 1.0 - abs(value)),  # what the root's evaluation leaves
            proof=proof,
            line=best.line,
            scored=scored,
            prior=prior,
        )

    def _line(self, code: int, longest: int) -> tuple[Move, ...]:
        """A move and what the table has after it, until a position occurs again."""
        board, seen = self.task.board.copy(), set[int]()
        moves = [board.push(absolute(board.position, code))]
        while len(moves) < min(longest, LONGEST_LINE) and board.key not in seen:
            seen.add(board.key)
            if board.outcome(claim=True) is not None:
                break
            at = int(find(self.worker.record, board.position.key))
            entry = self.worker.memory.entries[at] if at != NONE else None
            if entry is None or int(entry["move"]) not in legal_codes(board.position).tolist():
                break
            moves.append(board.push(absolute(board.position, int(entry["move"]))))
        return tuple(moves)

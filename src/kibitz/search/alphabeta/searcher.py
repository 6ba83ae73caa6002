"""AlphaBeta: the search of an engine that plays by alpha-beta, one position after another.

It lets one worker or several deepen, and meanwhile, on the calling thread, reports, asks the timer
and answers the workers' questions to the tablebases.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np

from kibitz.jit.helper import compile_own
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.position.moves import FLIP_MOVE, MAX_MOVES
from kibitz.position.notation import Move
from kibitz.position.state import RECORDS
from kibitz.search.alphabeta.constants import MATE_MARGIN_PLIES, NAMES, TEMPERATURE_SCALE
from kibitz.search.alphabeta.pruning import value_after, value_of_score
from kibitz.search.alphabeta.root import DEEPEST, Worker, scores_of
from kibitz.search.alphabeta.table import GENERATIONS, answer_probes, new_table, permille
from kibitz.search.alphabeta.thread import (
    ALL_PARTS,
    DECISIVE,
    GRANT,
    INFINITE,
    MATE,
    TABLE_WIN,
    new_control,
)
from kibitz.search.clock import Standing
from kibitz.search.options import Settings
from kibitz.search.proof import TABLEBASE, UNPROVED
from kibitz.search.report import Report, SearchedMove, Totals, drawn, report_of
from kibitz.search.searcher import BaseSearcher

LEAST_DOUBT = 10.0  # % of the usual time that any move gets
LEAST_PAUSE, MOST_PAUSE = 2.0, 10.0  # ms between two looks at the clock
PAUSE_SHARE = 0.05  # of the time so far


def proof_of(score: int) -> int:
    """What a score proves, see proof.py; -INFINITE, of moves without a score, proves nothing."""
    if abs(score) < DECISIVE or abs(score) == INFINITE:
        return UNPROVED
    if abs(score) <= TABLE_WIN:
        return TABLEBASE if score > 0 else -TABLEBASE
    return MATE - score if score > 0 else -(MATE + score)


class AlphaBeta(BaseSearcher):
    """Alpha-beta with an inline evaluator; `parts` leaves some of it out, for tests."""

    fixed = ("seed", *NAMES)

    def __init__(
        self, evaluator: InlineEvaluator, settings: Settings | None = None, parts: int = ALL_PARTS
    ) -> None:
        super().__init__(settings or Settings())
        threads = self.settings.threads
        self.entries = new_table(self.settings.hash)
        self.workers = [
            Worker(evaluator, self.entries, parts, self.settings) for _ in range(threads)
        ]
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        self._positions = np.zeros(2, RECORDS)  # in which lines are played to their ends
        self._pool = ThreadPoolExecutor(threads, "alphabeta")
        # The system hands memory out when it is first written: not while the first search waits.
        self._written = self._pool.submit(self._write_all)
        self._control, self._generation = new_control(), 0
        self._news = threading.Event()  # an iteration has ended,
        self._untold = False  # and has not been reported
        self._generator = np.random.default_rng(self.settings.seed)

    def _write_all(self) -> None:
        self.entries.view(np.uint64).fill(0)
        for worker in self.workers:
            worker.memory.forget()

    def ready(self) -> None:
        """Wait until the memory is there."""
        self._written.result()

    def end(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True)

    def interrupt(self) -> None:
        """Make the workers return."""
        self._control.stop = 1

    def forget(self) -> None:
        """Forget the table and what the workers have learned."""
        self._written.result()
        self._write_all()

    # --- one search -----------------------------------------------------------------------------

    def best_at(self, board: Board, nodes: int) -> Report | None:
        """The best move by one call of a kernel, on one thread and without tablebases."""
        settings = self.settings
        if settings.threads > 1 or settings.multipv > 1 or settings.temperature > 0.0:
            return None
        if self.tables.pieces:
            return None
        self._written.result()
        worker = self.workers[0]
        score = worker.search_nodes(board.positions(), nodes)
        self._generation = int(worker.memory.record.generation)
        best = self._searched_move(worker.roots[0], score, board)
        totals = Totals(nodes=worker.nodes, depth=worker.depth)
        return report_of(board, [best], settings, {}, totals, ())

    def prepare(self) -> None:
        """Give the workers the root's moves, the best by tablebases first."""
        self._written.result()
        task, codes = self.task, [*self.task.codes]
        complete = len(codes) == len(task.board.legal_moves)
        rank = {code: row.rank for code, row in task.outcomes.items()}
        codes.sort(key=lambda code: -rank.get(code, 0))
        self._generation, self._untold = (self._generation + 1) % GENERATIONS, False
        for worker in self.workers:
            record = worker.memory.record
            record.tablebase_pieces = 0 if task.outcomes else self.tables.pieces
            record.tablebase_depth = self.settings.syzygy_depth
            worker.set_root(task.board.positions(), codes, self._generation, complete=complete)

    def run(self) -> None:
        """Deepen, unless tablebases have decided already."""
        task, limits = self.task, self.task.limits
        if limits.mate is not None:
            self.look_for_mate(limits.mate)
        elif not task.outcomes or limits.infinite or limits.searchmoves:
            self._deepen(self.task.most_nodes)

    @property
    def proof(self) -> int:
        """What the best score proves."""
        return proof_of(int(scores_of(self.workers[0].roots)[0]))

    def grow(self, nodes: int) -> None:
        """Deepen within so many nodes."""
        if (left := self.nodes_left) > 0:
            self._deepen(min(nodes, max(1, left // 2)))

    def _deepen(self, nodes: int) -> None:
        """Let all workers deepen within so many nodes, and look after them meanwhile."""
        control = self._control = new_control()
        # The first worker begins with a grant: stopped at once, it has yet looked at every move.
        granted = min(GRANT, nodes)
        control.budget, control.stop = nodes - granted, int(self._signals.stop.is_set())
        depths = range(1, min(self.task.limits.depth or DEEPEST, DEEPEST) + 1)
        # Scores for the lines of MultiPV, or for all moves where one is drawn by its score.
        lines = MAX_MOVES if self.settings.temperature > 0.0 else self.settings.multipv
        futures = []
        compile_own()  # on this thread, which else would look at the clock meanwhile
        for number, worker in enumerate(self.workers):
            worker.resume(granted if number == 0 else 0)
            go_on = self._goes_on if number == 0 else _always
            ahead = depths[number % 2 if len(depths) > 1 else 0 :]
            futures.append(self._pool.submit(worker.deepen, control, ahead, lines, go_on))
        futures[0].add_done_callback(lambda _: self._news.set())  # do not sleep past the end
        try:
            while not (futures[0].done() or self.is_over()):
                pass
        finally:
            control.stop = 1
            wait(futures)
        for future in futures:
            future.result()

    def attend(self) -> None:
        """Wait a little; then answer questions and report an iteration that has ended."""
        if self._news.wait(self._pause_ms / 1000.0):
            self._news.clear()
            self._untold = True
        if self.tables.pieces:
            answer_probes([worker.memory for worker in self.workers], self.probe)
        if self.workers[0].depth:
            self._untold = not self.tell(changed=self._untold) and self._untold

    @property
    def _pause_ms(self) -> float:
        """Until the next look at the clock, or the end of the time: each look costs the search."""
        if self.tables.pieces:
            return LEAST_PAUSE  # questions to tables are waiting
        usual = PAUSE_SHARE * self.task.timer.since_go_ms
        return max(0.1, min(max(LEAST_PAUSE, usual), MOST_PAUSE, self._left_ms))

    @property
    def _left_ms(self) -> float:
        return self.task.timer.left_ms(self.settings.abort_share / 100)

    def is_late(self) -> bool:
        """Whether even an iteration that has begun is to be given up."""
        return self._left_ms <= 0.0

    def _goes_on(self, worker: Worker) -> bool:
        """Whether another iteration is worth its time; on the worker's thread."""
        self._news.set()
        best = worker.roots[0]
        proof, limits = proof_of(int(best["previous_score"])), self.task.limits
        if limits.mate is not None and 0 < proof <= 2 * limits.mate - 1:
            return False
        certain = proof not in (UNPROVED, TABLEBASE, -TABLEBASE)
        if certain and not limits.infinite and worker.depth >= 2 * abs(proof) + MATE_MARGIN_PLIES:
            return False
        value = value_of_score(max(-DECISIVE, min(DECISIVE, int(best["previous_score"]))))
        standing = Standing(len(worker.roots), 0, 0, proof, 0, int(best["move"]), value)
        share = self.settings.iteration_share * self.time_for(worker) / 10_000
        return not self.task.timer.is_over(standing, share)

    def time_for(self, worker: Worker) -> float:
        """Percent of its time that a move is worth: less where most nodes went into the best."""
        nodes = max(1, int(worker.roots["nodes"].sum()))
        sure = int(worker.roots[0]["nodes"]) / nodes
        return max(LEAST_DOUBT, self.settings.doubt_time - self.settings.sure_time * sure)

    # --- what it has found ----------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Positions searched."""
        return sum(worker.nodes for worker in self.workers)

    def report(self) -> Report:
        """How the search stands; of workers at work, by what they have finished."""
        task, deepest = self.task, max(self.workers, key=lambda worker: worker.depth)
        roots = deepest.roots if task.finished else deepest.finished
        pairs = zip(roots, scores_of(roots).tolist(), strict=True)
        totals = replace(
            self.totals(),
            depth=deepest.depth,
            seldepth=max(int(worker.memory.record.seldepth) for worker in self.workers),
            hashfull=permille(self.entries, self._generation),
        )
        searched = [self._searched_move(root, score, task.board) for root, score in pairs]
        return report_of(task.board, searched, self.settings, task.outcomes, totals, task.mating)

    def _searched_move(self, root: np.void, score: int, board: Board) -> SearchedMove:
        """What is known of ROOT_MOVE; without a score, what the network says of the position.

        The probability of a draw is what the network sees at the end of the line.
        """
        scored = score > -INFINITE
        length = int(root["pv_length"]) if scored else 0
        self._positions[0] = board.position
        network, scratch = self._evaluator.record, self._scratch.record
        value, draw = value_after(network, scratch, self._positions, root["pv"], length)
        return SearchedMove(
            code=int(root["move"]),
            nodes=int(root["nodes"]),
            value=value_of_score(score) if scored else float(value),
            draw=float(draw),
            proof=proof_of(score),
            line=_moves_of(root, length, board),
            scored=scored,
            distance=TABLE_WIN - abs(score),
        )

    def choose(self, report: Report) -> tuple[Move, ...]:
        """The best line, or with a temperature one drawn by its score."""
        roots = self.workers[0].roots
        if self.settings.temperature == 0.0 or report.root.proof != UNPROVED:
            return report.best.moves
        scores = scores_of(roots)
        scored = np.flatnonzero(scores > -INFINITE)
        if len(scored) == 0:
            return report.best.moves
        merits = scores[scored] / TEMPERATURE_SCALE
        root = roots[scored[drawn(merits, self.settings.temperature, self._generator)]]
        return _moves_of(root, int(root["pv_length"]), self.task.board)


def _moves_of(root: np.void, length: int, board: Board) -> tuple[Move, ...]:
    """So much of the line of ROOT_MOVE; codes are in the view of the side that moves."""
    codes = root["pv"][:length].tolist() or [int(root["move"])]
    views = (0, FLIP_MOVE) if board.turn == "white" else (FLIP_MOVE, 0)
    return tuple(Move(code ^ views[ply % 2]) for ply, code in enumerate(codes))


def _always(_: Worker) -> bool:
    return True

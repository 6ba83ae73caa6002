"""The searches that comments rest on: how much is searched, by which engines, and what is known.

Every search begins with an empty table, so what is seen depends on the position and the limits
alone: not on what was searched before, nor on how many engines share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import chess

from kibitz.comment.analysis import LAST_LOOK, PAIR, Analysis
from kibitz.comment.judge import Evaluation, evaluation_of
from kibitz.comment.three_men import exact
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.report import Score
from kibitz.search.tablebase import tables_of

if TYPE_CHECKING:
    from kibitz.engine import Engine

NODES = 20_000  # of the search of every position
DOUBTED = 3  # times as many where a move seems to be bad, or the only good one
AGAIN = 10  # the same where it still does
DEEP = 20_000  # at least, for each line, before what depends on a search is said
SMALL_TABLE, TABLE = 16, 64  # MiB; a table is emptied before every search
FITS = 500_000  # nodes of a search that a small table serves

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Effort:
    """How much is searched: at first, again where a move is in doubt, and to confirm words."""

    limits: Limits = field(default_factory=lambda: Limits(nodes=NODES))

    @property
    def doubting(self) -> Limits:
        """The limits of a second look at a move that seems to be bad, before a longer one."""
        return self._times(DOUBTED)

    def _times(self, times: int) -> Limits:
        nodes, time = self.limits.nodes, self.limits.movetime
        return Limits(
            nodes=None if nodes is None else times * nodes,
            movetime=None if time is None else times * time,
        )

    def deep(self, times: int = 1, lines: int = 1) -> Limits:
        """The limits of a look that confirms what is about to be said, the larger the surer.

        A second line costs as many nodes as the first. Time is the user's, and is not multiplied
        again.
        """
        return self._of_lines(times, lines, DEEP)

    def marking(self, times: int, lines: int = 1) -> Limits:
        """The same of a look that a mark has to stand: as large, or in a quick analysis smaller."""
        return self._of_lines(times, lines, 1)

    def _of_lines(self, times: int, lines: int, least: int) -> Limits:
        nodes, told = self.limits.nodes, None if lines == PAIR else lines
        if nodes is None:
            return replace(self._times(AGAIN), lines=told)
        return Limits(
            nodes=lines * times * max(AGAIN * nodes // (LAST_LOOK * PAIR), least), lines=told
        )

    @property
    def table(self) -> int:
        """MiB of the table that searches need."""
        nodes = self._times(AGAIN).nodes
        return SMALL_TABLE if nodes is not None and nodes <= FITS else TABLE


class Query(NamedTuple):
    """A position to be searched."""

    board: chess.Board
    limits: Limits

    @property
    def key(self) -> tuple[str, tuple[chess.Move, ...], str]:
        """What makes the answer: the position, what may be repeated, and the limits."""
        fen = self.board.shredder_fen(en_passant="fen")
        return fen, tuple(self.board.move_stack), str(self.limits)


class Searches:
    """Searches positions, as many at a time as there are engines, and the same one once.

    They are engines of the same network and options, which are not used for anything else.
    """

    def __init__(self, *engines: Engine) -> None:
        self._tables, self._probing = tables_of(engines[0].settings), Lock()
        self.has_tables = self._tables.pieces > 0
        self._idle: SimpleQueue[Engine] = SimpleQueue()
        for engine in engines:
            self._idle.put(engine)
        self._count = len(engines)
        self._known: dict[tuple[str, tuple[chess.Move, ...], str], Evaluation] = {}

    def see(self, board: chess.Board, limits: Limits) -> Evaluation:
        """What a search sees of a position."""
        query = Query(board.copy(stack=board.halfmove_clock), limits)
        if (key := query.key) not in self._known:
            self._known[key] = self._search(query)
        return self._known[key]

    def _search(self, query: Query) -> Evaluation:
        position = Board.from_chess(query.board)
        end = position.outcome()
        if end is not None or query.board.is_repetition(3):  # either side may claim that draw
            mated = end is not None and end.winner is not None
            score = Score("mate", 0) if mated else Score("cp", 0)
            return Evaluation(score, -1.0 if mated else 0.0, ())
        engine = self._idle.get()
        try:
            engine.new_game()
            seen = evaluation_of(query.board, engine.play(position, query.limits).report)
        finally:
            self._idle.put(engine)
        only = map(query.board.parse_uci, query.limits.searchmoves or ())
        return exact(seen, query.board, (*only,))

    def serve(self, analysis: Analysis, effort: Effort) -> Analysis:
        """The same analysis; what claims find missing there is searched when they ask."""
        return replace(analysis, source=_Source(self, effort))

    def outcome(self, board: chess.Board) -> int | None:
        """What the endgame tables say of a position, for the side to move."""
        position = Board.from_chess(board).position
        with self._probing:
            return self._tables.wdl(position)

    def all(self, work: Iterable[Callable[[], Answer]]) -> Iterator[Answer]:
        """The answers of pieces of work, in their order; they are done side by side."""
        if self._count == 1:
            yield from (task() for task in work)
            return
        with ThreadPoolExecutor(self._count, "analyse") as pool:
            futures = [pool.submit(task) for task in work]
            try:
                yield from (future.result() for future in futures)
            finally:
                for future in futures:
                    future.cancel()


@dataclass(frozen=True)
class _Source:
    """Makes the searches that an analysis lacks, with some effort."""

    searches: Searches
    effort: Effort

    def look(self, board: chess.Board, times: int, lines: int) -> Evaluation:
        return self.searches.see(board, self.effort.deep(times, lines))

    def outcome(self, board: chess.Board) -> int | None:
        return self.searches.outcome(board)

"""What all kinds of search do alike: one position after another, within limits, with reports.

A kind of search derives from it and adds its own: it prepares a root, searches until `is_over`,
says how it stands, and chooses. Tablebases, the clock, mates at their exact length and games that
are over are looked after here.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from kibitz.position.board import Board
from kibitz.position.notation import Move, legal_codes
from kibitz.search.clock import Timer
from kibitz.search.limits import Limits, Signals
from kibitz.search.mate import Mate, MateSearch
from kibitz.search.options import Settings
from kibitz.search.report import Listener, Report, Result, Totals, end_of, report_of_end
from kibitz.search.tablebase import ProbeBudget, RootMove, allowed_moves, tables_of

# Settings that every search is built with; the others are read when they are needed.
FIXED = ("search", "threads", "hash", "syzygy_path", "syzygy_limit", "syzygy_rule50")
ENDLESS = 1 << 60  # nodes of a search that something else will stop
FALLBACK_MS = 150  # of a search without any limit that is not infinite: ChessCoach's choice
REPORT_MS = 500.0  # between two reports while nothing new is found
EARLY_REPORTS = 4  # times as often as that, at most, is something new reported
FIRST_ROUND = 4_096  # nodes of the first round of `go mate`
MATE_POSITIONS = 20_000  # some milliseconds, to show a mate to its end; no nodes of the search


@dataclass
class Task:
    """One search: what was asked for, and how far it has come."""

    board: Board
    limits: Limits
    on_report: Listener | None
    timer: Timer
    allowed: frozenset[int] | None  # codes of the moves to search, None: all
    outcomes: dict[int, RootMove]  # what tablebases say of the root's moves; {}: nothing
    probes: ProbeBudget
    mating: tuple[Move, ...] = ()  # the mate that was found by trying all moves
    reported_ms: float = 0.0
    finished: bool = False

    @cached_property
    def codes(self) -> list[int]:
        """The moves to search, 16 bits each, in the order of generation."""
        legal: list[int] = legal_codes(self.board.position).tolist()
        return [code for code in legal if self.allowed is None or code in self.allowed]

    @property
    def most_nodes(self) -> int:
        """Nodes that the search may have."""
        return ENDLESS if self.limits.nodes is None else self.limits.nodes

    @cached_property
    def mates(self) -> MateSearch:
        """The search for mates, made when it is first needed."""
        return MateSearch(self.board, self.codes)

    @property
    def report_ms(self) -> float:
        """The longest time between two reports."""
        return REPORT_MS if self.limits.report_ms is None else self.limits.report_ms

    @property
    def pause_ms(self) -> float:
        """The shortest time between two reports: making one keeps the search waiting."""
        told_all = self.limits.every_change or self.limits.depth is not None
        return 0.0 if told_all else self.report_ms / EARLY_REPORTS

    @property
    def tried(self) -> int:
        """Positions tried for mates."""
        return self.mates.nodes if "mates" in vars(self) else 0


def with_whole_mates(board: Board, report: Report) -> Report:
    """The report with lines of mates up to the end, where a few positions show it.

    What a table or a tree holds of a line may be overwritten, or never have been searched.
    """
    lines, left = list(report.lines), MATE_POSITIONS
    for at, line in enumerate(lines):
        if line.lacks == 0:
            continue
        end = end_of(board, line.moves)
        mates = MateSearch(end, legal_codes(end.position).tolist())
        lines[at] = line._replace(moves=line.moves + mates.rest(line.lacks, left))
        left = max(0, left - mates.nodes)
    return replace(report, lines=tuple(lines))


class BaseSearcher(ABC):
    """Searches positions, one at a time; `stop` and `ponderhit` may come from other threads."""

    batched = False  # whether the evaluator gets positions in batches
    fixed: tuple[str, ...] = ()  # settings it is built with, beside FIXED
    task: Task  # the search under way, or the last one

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tables = tables_of(settings)
        self._signals, self._lock = Signals(), threading.Lock()
        self._timer: Timer | None = None  # of the search under way
        self._hits = 0  # of the tablebases, before it

    # --- what every kind of search has of its own -----------------------------------------------

    @abstractmethod
    def prepare(self) -> None:
        """Make the root ready; there is a legal move."""

    @abstractmethod
    def run(self) -> None:
        """Search until a limit is reached or nothing is left to learn."""

    @abstractmethod
    def is_late(self) -> bool:
        """Whether the time is up, as the root stands."""

    @abstractmethod
    def report(self) -> Report:
        """How the search stands, or what it came to."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Nodes of this search, positions tried for mates not counted."""

    @property
    @abstractmethod
    def proof(self) -> int:
        """What is proved of the best move, see proof.py."""

    @abstractmethod
    def forget(self) -> None:
        """Forget what earlier searches found."""

    # --- and what it may have -------------------------------------------------------------------

    def attend(self) -> None:
        """Do what is due while the search goes on."""
        self.tell()

    def choose(self, report: Report) -> tuple[Move, ...]:
        """The line that begins with the move to play."""
        return report.best.moves

    def grow(self, nodes: int) -> None:  # noqa: B027 - optional
        """Search for a while beside `go mate`."""

    def use_mate(self, mate: Mate) -> None:  # noqa: B027 - optional
        """Learn of a mate that was found by trying all moves."""

    def interrupt(self) -> None:  # noqa: B027 - optional
        """Make running kernels return; safe to call from any thread."""

    def ready(self) -> None:  # noqa: B027 - optional
        """Wait until a search can begin at once."""

    def end(self) -> None:  # noqa: B027 - optional
        """End the threads, once and for all."""

    def best_at(self, board: Board, nodes: int) -> Report | None:  # noqa: ARG002 - optional
        """The best move that so many nodes find, alone, with as little beside it as can be.

        It is the move, with the score, of a search with that limit; None if there is no such way.
        """
        return None

    @property
    def visits(self) -> int:
        """Visits of the root, where the clock goes by those."""
        return 0

    # --- its life -------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop, end the threads, and close the tablebases."""
        self.stop()
        with self._lock:
            self.end()
            self.tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def problems(self) -> list[str]:
        """What is wrong with the tablebases that the settings name, one line each."""
        return self.tables.problems

    def update_settings(self, settings: Settings) -> bool:
        """Search with other settings from now on; False if they need a searcher of their own."""
        names = FIXED + self.fixed
        if any(getattr(settings, name) != getattr(self.settings, name) for name in names):
            return False
        self.settings = settings
        return True

    def new_game(self) -> None:
        """Forget what was found; what comes next has nothing to do with it."""
        with self._lock:
            self.forget()

    def stop(self) -> None:
        """End the running search within milliseconds; without one, nothing happens."""
        self._signals.stop.set()
        self.interrupt()

    def ponderhit(self) -> None:
        """Start our own clock: the expected reply was played."""
        self._signals.ponderhit.set()
        timer = self._timer  # the search may end, and take it away, meanwhile
        if timer is not None:
            timer.start_own_clock(self.visits)

    # --- one search -----------------------------------------------------------------------------

    def search(
        self,
        board: Board,
        limits: Limits | None = None,
        on_report: Listener | None = None,
        signals: Signals | None = None,
    ) -> Result:
        """Search a position; reports come on this thread, `signals` may end it even before."""
        limits = limits or Limits(movetime=FALLBACK_MS)
        with self._lock:
            self._search(board, limits, on_report, signals or Signals())
            over = board.outcome() is not None
            report = report_of_end(board) if over else with_whole_mates(board, self.report())
            if on_report is not None:
                on_report(report)
            line = () if over else self.choose(report)
            return Result(line[0] if line else None, line[1] if len(line) > 1 else None, report)

    def _search(
        self, board: Board, limits: Limits, on_report: Listener | None, signals: Signals
    ) -> None:
        """Prepare the root and search it; a game that is over needs no search."""
        self._signals, self._hits = signals, self.tables.hits
        self._timer = timer = Timer(limits, board.turn, int(board.ply), self.settings)
        ranked = self.tables.rank_root(board) if self.tables.pieces else []
        fastest = self.settings.syzygy_fastest
        allowed, ranked = allowed_moves(board, limits, ranked, fastest=fastest)
        outcomes = {row.code: row for row in ranked}
        probes = ProbeBudget(self.settings.syzygy_share)
        self.task = Task(board, limits, on_report, timer, allowed, outcomes, probes)
        try:
            if board.outcome() is None:
                self.prepare()
                timer.visits_before = self.visits
                if signals.ponderhit.is_set():
                    timer.start_own_clock(self.visits)
                self.run()
            self.task.finished = True
        finally:
            self._timer = self.task.on_report = None
            if not self.task.finished:
                self.forget()  # after an error it is in no known state

    def is_over(self) -> bool:
        """Do what is due; whether the time is up or the search was stopped."""
        if self._signals.stop.is_set():
            return True
        self.attend()
        return self.is_late()

    def probe(self, position: np.record) -> int | None:
        """What tablebases prove of a position; None if there is no time to ask them."""
        probes = self.task.probes
        return probes.probe(self.tables, position) if probes.may_probe() else None

    # --- mates ----------------------------------------------------------------------------------

    def look_for_mate(self, moves: int) -> None:
        """Try all mates in so many moves; the search, which may see deep ones, grows beside it."""
        plies, size = 2 * moves - 1, FIRST_ROUND
        while True:
            self.grow(size)
            if 0 < self.proof <= plies or self.try_mates(plies, size):
                return
            if self.nodes_left == 0 or self.is_over():
                return
            size *= 2

    def try_mates(self, plies: int, most: int) -> bool:
        """Look for mates within `plies`, by so many nodes; whether the answer is known."""
        task, mates = self.task, self.task.mates
        answered = mates.deepen(plies, min(most, self.nodes_left), self.is_over)
        if mates.mate is not None:
            task.mating = (mates.first_move(mates.mate),)  # until the whole line is known
            self.use_mate(mates.mate)
            task.mating = mates.line(self.nodes_left, self.is_over)
        return answered

    @property
    def nodes_left(self) -> int:
        """Nodes that the limits still allow; positions tried for mates are nodes, too."""
        return max(0, self.task.most_nodes - self.nodes - self.task.tried)

    # --- reports --------------------------------------------------------------------------------

    def tell(self, *, changed: bool = False) -> bool:
        """Report what is new, and now and then that nothing is; whether there was a report."""
        task, now = self.task, self.task.timer.since_go_ms
        pause = task.pause_ms if changed else task.report_ms
        if task.on_report is None or now - task.reported_ms < pause:
            return False
        task.reported_ms = now
        task.on_report(self.report())
        return True

    def totals(self) -> Totals:
        """What is counted alike in all searches."""
        task, mate = self.task, self.task.limits.mate
        excluded = 0 if mate is None else task.mates.excluded // 2
        return Totals(
            nodes=self.nodes + task.tried,
            milliseconds=round(task.timer.since_go_ms),
            tbhits=self.tables.hits - self._hits,
            no_mate=excluded if mate is not None and excluded >= mate else 0,
        )

"""Games being played, on one thread: one after the other, or many in step.

numbers -> **Alone** (inline evaluators: compiled games) -> finished games
-> **InStep** (batched evaluators: one batch holds a leaf of every game)
"""

from __future__ import annotations

from typing import Protocol

from kibitz.evaluator.batched import BatchedEvaluator
from kibitz.evaluator.inline import InlineEvaluator
from kibitz.kernel.records import as_record
from kibitz.search.mcts.driver import Driver
from kibitz.search.mcts.playout.playout import NO_ROOM
from kibitz.search.mcts.rules.from_settings import to_behaviour
from kibitz.search.mcts.treesearch import Pace
from kibitz.selfplay.config import SelfPlay
from kibitz.selfplay.game import Finished, Seat, terms_of
from kibitz.selfplay.loop import play_on
from kibitz.selfplay.moves import (
    FRESH,
    OVER,
    begin_move,
    finish_move,
    playouts_left,
    prepare,
    stop_if_calm,
)
from kibitz.selfplay.starts import Starts

STRETCH_PLAYOUTS = 50_000  # of one call of the kernel, about: then Ctrl-C is looked at


class Run(Protocol):
    """Where games come from and go to; shared by the threads of a run."""

    def following(self) -> int | None:
        """The number of a game to play; None: no more."""

    def keep(self, game: Finished) -> None:
        """Take a finished game."""

    @property
    def stopped(self) -> bool:
        """Whether to leave games in the middle."""


class Alone:
    """One game after the other, search and all in one kernel."""

    def __init__(self, evaluator: InlineEvaluator, settings: SelfPlay) -> None:
        self._seat, self._terms = Seat(settings), as_record(terms_of(settings))
        self.seats = [self._seat]
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        self._rule = as_record(settings.rule_of_search())
        self._behaviour = as_record(to_behaviour(settings.searching()))
        stretch = max(1, STRETCH_PLAYOUTS // settings.playouts)
        self._stretch = 1 if settings.trees > 1 else stretch

    def play(self, starts: Starts, run: Run) -> None:
        """Play games as long as there are numbers."""
        number = run.following()
        while number is not None:
            starts.deal(self._seat, number)
            while not self._seat.over:
                if run.stopped:
                    return
                self._play_on()
            run.keep(self._seat.finished())
            number = run.following()

    def _play_on(self) -> None:
        """Play a stretch of the game."""
        search = self._seat.search
        outcome = play_on(
            self._terms,
            self._rule,
            self._seat.record,
            search.memory.record,
            search.contexts[0].record,
            self._behaviour,
            self._evaluator.record,
            self._scratch.record,
            search.control,
            self._stretch,
        )
        if outcome == NO_ROOM:
            search.make_room()


class InStep:
    """Many games, of which each has a leaf in every batch; one that ends makes way for the next."""

    def __init__(self, evaluator: BatchedEvaluator, settings: SelfPlay) -> None:
        self._settings, self._terms = settings, as_record(terms_of(settings))
        self.seats = [Seat(settings) for _ in range(settings.rows)]
        rule, behaviour = settings.rule_of_search(), to_behaviour(settings.searching())
        searches = [search for seat in self.seats for search in seat.searches]
        self._driver = Driver(searches, evaluator, rule, behaviour, rows=1, in_flight=1)
        self._rule = as_record(rule)
        self._pace = Pace(lambda: False, False, False, 0, 1)

    def play(self, starts: Starts, run: Run) -> None:
        """Play games as long as there are numbers."""
        playing = [seat for seat in self.seats if self._next_game(seat, starts, run)]
        while playing and not run.stopped:
            ready = [seat for seat in playing if not self._search_on(seat)]
            fresh = [seat for seat in ready if self._begin(seat, starts, run) == FRESH]
            self._driver.open_roots([seat.search for seat in fresh])
            playing = [seat for seat in playing if not seat.over]
            for seat in ready:
                if not seat.over:
                    self._prepare(seat)
            wanting = [seat.search for seat in playing if seat.search.left > 0]
            if wanting:
                self._driver.work.advance(wanting, self._pace)
        self._driver.close()

    def _next_game(self, seat: Seat, starts: Starts, run: Run) -> bool:
        """Deal the next game to a seat; whether there was one."""
        number = run.following()
        if number is not None:
            starts.deal(seat, number)
        return number is not None

    def _search_on(self, seat: Seat) -> bool:
        """Whether the search of a move goes on; else its move is played."""
        record, search = seat.record, seat.search
        if not record["searching"]:
            return False
        if search.left > 0:
            return True
        tree = search.memory.record
        if self._settings.kl_gain:
            stop_if_calm(self._terms, record, tree)
            if self._hand_out(seat):
                return True
        finish_move(self._terms, self._rule, record, tree, search.contexts[0].record)
        return False

    def _begin(self, seat: Seat, starts: Starts, run: Run) -> int:
        """Begin a move of this game, or of the next ones; OVER if there are no more."""
        while True:
            search, record = seat.search, seat.record
            search.set_root(seat.line[: int(record["ply"]) + 1])
            context = search.contexts[0].record
            begun = int(begin_move(self._terms, record, search.memory.record, context))
            if begun != OVER:
                return begun
            run.keep(seat.finished())
            if not self._next_game(seat, starts, run):
                return OVER

    def _prepare(self, seat: Seat) -> None:
        search = seat.search
        tree, context = search.memory.record, search.contexts[0].record
        prepare(self._terms, self._rule, seat.record, tree, context)
        self._hand_out(seat)

    def _hand_out(self, seat: Seat) -> int:
        """Start the next playouts of a search; how many."""
        search, settings = seat.search, self._settings
        left = int(playouts_left(seat.record, search.memory.record))
        size = min(left, settings.kl_interval) if settings.kl_gain else left
        search.begin(size, by_playouts=True)
        search.control["budget"] = left
        return size

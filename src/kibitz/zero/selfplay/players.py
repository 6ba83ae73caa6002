"""Who plays in self-play: networks and programs, and the seats their games sit in."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from kibitz.core.errors import ConfigError
from kibitz.core.workers import cluster, in_processes, in_threads, processors
from kibitz.data.openings import Opening, odds_starts
from kibitz.jit.records import address_of, as_record
from kibitz.nets.discover import at_work, files_of
from kibitz.nets.encodings.leaves import Leaves, new_leaves, part_of
from kibitz.nets.evaluators.batched import BatchedEvaluator, Evaluations, refuse_not_finite
from kibitz.nets.evaluators.cache import PredictionCache
from kibitz.nets.evaluators.cachetable import BUCKET_BYTES
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.load import Evaluator, load_evaluator
from kibitz.position.board import Board
from kibitz.position.fen import START, chess960_fen, read_fen
from kibitz.position.moves import MAX_MOVES
from kibitz.position.state import new_positions
from kibitz.search.alphabeta.table import new_table
from kibitz.search.alphabeta.thread import Context, ThreadMemory, new_control
from kibitz.search.mcts.playout.gather import BatchMemory
from kibitz.search.mcts.playout.playout import NO_ROOM
from kibitz.search.mcts.rules.parameters import to_behaviour
from kibitz.search.mcts.tree.context import LINE, TreeSearch
from kibitz.search.mcts.tree.nodes import BATCHES
from kibitz.search.tablebase import Tablebases
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.game import (
    BY_TABLEBASE,
    SEAT,
    UNBALANCED_START,
    Finished,
    Seat,
    terms_of,
)
from kibitz.zero.selfplay.loop import (
    NO_GAME,
    NOTHING,
    GameSearch,
    Inline,
    LeafBatch,
    Rules,
    Seats,
    alphabeta_terms,
    answer_all,
    gather_all,
    play_by_alphabeta,
    play_on,
)
from kibitz.zero.selfplay.moves import random_plies

STRETCH_PLAYOUTS = 50_000  # of one call of the kernel, about: then Ctrl-C is looked at
MOST_TRIES = 1_000  # random starts of a game, until one is not over

# --- where games begin ----------------------------------------------------------------------------


class Starts:
    """Begins games: the start, the random numbers, whether it is played to its end."""

    def __init__(self, settings: SelfPlay, seed: int, book: Sequence[Board] = ()) -> None:
        self._settings, self._seed = settings, seed
        self._book = _positions([board.fen(shredder=True) for board in book] or [START])
        self._odds = _positions([] if settings.odds == "none" else odds_starts(settings.odds))
        self._chess960 = new_positions(0)
        if settings.chess960:
            self._chess960 = _positions([chess960_fen(number) for number in range(960)])

    def begin_game(self, seat: Seat, number: int, attempt: int = 0) -> None:
        """Begin a game in a seat; each attempt to begin it has a start of its own."""
        settings = self._settings
        generator = random.Random(f"{self._seed} {number}{f' {attempt}' if attempt else ''}")
        starts = self._book
        if len(self._odds):
            starts = self._odds[number % 2 :: 2]  # White and Black by turns
        elif generator.random() < settings.chess960:
            starts = self._chess960
        for _ in range(MOST_TRIES):
            place = generator.randrange(len(starts))
            words = [generator.getrandbits(64) for _ in range(3)]
            played_out = generator.random() < settings.played_out
            seat.begin(number, starts[place : place + 1], words, played_out)
            count = generator.randint(*settings.random_plies)
            if count == 0 or random_plies(seat.record, seat.room, count):
                seat.record.random_share = generator.uniform(*settings.random_share)
                return


def _positions(fens: Sequence[str]) -> np.ndarray:
    """POSITION [n]."""
    positions = new_positions(len(fens))
    for row, fen in enumerate(fens):
        read_fen(fen, positions, row)
    return positions


# --- games ----------------------------------------------------------------------------------------


class Run(Protocol):
    """Where games come from and go to; shared by the threads of a run."""

    def following(self) -> int | None:
        """The number of a game to play; None: no more."""

    def keep(self, game: Finished) -> None:
        """Take a finished game."""

    @property
    def stopped(self) -> bool:
        """Whether to leave games in the middle."""


class InlinePlayer:
    """One game after the other, search and all in one kernel."""

    def __init__(self, evaluator: InlineEvaluator, settings: SelfPlay) -> None:
        self._seat = Seat(settings)
        self.seats = [self._seat]
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        behaviour = as_record(to_behaviour(settings.searching()))
        terms, rule = as_record(terms_of(settings)), as_record(settings.rule_of_search())
        self._rules = Rules(terms, rule, behaviour)
        stretch = max(1, STRETCH_PLAYOUTS // settings.playouts)
        self._stretch = 1 if settings.trees > 1 else stretch

    def play(self, starts: Starts, run: Run) -> None:
        """Play games as long as there are numbers."""
        number = run.following()
        while number is not None:
            starts.begin_game(self._seat, number)
            while not self._seat.over:
                if run.stopped:
                    return
                self._play_on()
            run.keep(self._seat.finished())
            number = run.following()

    def _play_on(self) -> None:
        """Play a stretch of the game."""
        search = self._seat.search
        tree, context = search.memory.record, search.contexts[0].record
        records = GameSearch(self._seat.record, tree, context, search.control)
        inline = Inline(self._evaluator.record, self._scratch.record)
        outcome = play_on(self._rules, records, inline, self._stretch)
        if outcome == NO_ROOM:
            search.make_room()


class ByAlphaBeta:
    """One game after the other by alpha-beta at fixed nodes, in one kernel."""

    def __init__(self, evaluator: InlineEvaluator, settings: SelfPlay) -> None:
        self._seat = Seat(settings)
        self.seats = [self._seat]
        self._evaluator, self._scratch = evaluator, evaluator.new_scratch()
        self._entries = new_table(int(settings.megabytes()))
        self._memory, self._control = ThreadMemory(self._entries), new_control()
        self._tables = Tablebases(settings.syzygy)
        for problem in self._tables.problems:
            raise ConfigError("selfplay: syzygy", value=settings.syzygy, fix=problem)
        self._terms = as_record(alphabeta_terms(settings, self._tables.pieces))
        self._moves = max(1, STRETCH_PLAYOUTS // settings.nodes)

    def play(self, starts: Starts, run: Run) -> None:
        """Play games as long as there are numbers; each begins with nothing in memory."""
        number = run.following()
        while number is not None:
            for attempt in range(MOST_TRIES):
                starts.begin_game(self._seat, number, attempt)
                self._entries.view(np.uint64).fill(0)
                self._memory.forget()
                self._memory.record.generation = 0
                while not self._seat.over:
                    if run.stopped:
                        return
                    self._play_on()
                if self._seat.record.end != UNBALANCED_START:
                    break
            else:
                fix = f"no start in {MOST_TRIES} was level: raise selfplay.first_value"
                raise ConfigError("selfplay: first_value", value=self._terms.first_value, fix=fix)
            run.keep(self._seat.finished())
            number = run.following()

    def _play_on(self) -> None:
        """Play a stretch of the game, and ask the tables where they know the position."""
        records = self._memory.record, self._evaluator.record, self._scratch.record
        asks = play_by_alphabeta(
            self._terms, self._seat.record, Context(self._control, *records), self._moves
        )
        if asks:
            position = self._seat.line[int(self._seat.record.ply)]
            wdl = self._tables.wdl(position)
            if wdl is not None:
                self._seat.record.result = -wdl if position.side else wdl
                self._seat.record.end = BY_TABLEBASE


class BatchedPlayer:
    """Many games, each with a leaf in every batch; one that ends makes way for the next."""

    def __init__(
        self, evaluator: BatchedEvaluator, settings: SelfPlay, cache: PredictionCache
    ) -> None:
        self._evaluator, self._cache = evaluator, cache  # the cache's memory must stay
        behaviour = to_behaviour(settings.searching())
        behaviour = behaviour._replace(shared=BATCHES, expand_at=1)
        terms, rule = as_record(terms_of(settings)), as_record(settings.rule_of_search())
        self._rules = Rules(terms, rule, as_record(behaviour))
        rows = settings.rows
        self.seats = [Seat(settings) for _ in range(rows)]
        searches = [search for seat in self.seats for search in seat.searches]
        lines = new_positions(len(searches) * LINE).reshape(len(searches), LINE)
        self._paths = [BatchMemory(1) for _ in searches]
        self._seats = Seats(np.zeros(len(searches), dtype=SEAT).view(np.recarray), lines)
        for index, search in enumerate(searches):
            search.contexts[0].move_line(lines[index])
            self._connect(index, self.seats[index // settings.trees], search)
        wdl, logits = np.zeros((rows, 3), np.float32), np.zeros(rows * MAX_MOVES, np.float32)
        leaves = new_leaves(rows, evaluator.sees.history)
        keys = np.zeros(rows, np.uint64)
        self._batch = LeafBatch(leaves, keys, wdl, logits, cache.record, evaluator.sees)

    def _connect(self, index: int, seat: Seat, search: TreeSearch) -> None:
        """Tell kernels where a seat's game and one of its trees are."""
        records = {
            "game": seat.record,
            "tree": search.memory.record,
            "context": search.contexts[0].record,
            "control": search.control,
            "paths": self._paths[index].record,
        }
        for name, record in records.items():
            self._seats.records[name][index] = address_of(record.base)
            self._seats.records[f"{name}_size"][index] = 1

    def play(self, starts: Starts, run: Run) -> None:
        """Play games as long as there are numbers."""
        for seat in self.seats:
            self._next_game(seat, starts, run)
        while not run.stopped:
            filled = self._gather(starts, run)
            if filled == 0:
                return
            self._evaluate(filled)

    def _gather(self, starts: Starts, run: Run) -> int:
        """Fill the batch with a leaf of every game; how many of its rows."""
        filled, needy = gather_all(self._rules, self._seats, self._batch, 0)
        while needy and not run.stopped:
            for seat in self.seats:
                self._help(seat, starts, run)
            filled, needy = gather_all(self._rules, self._seats, self._batch, filled)
        return int(filled)

    def _help(self, seat: Seat, starts: Starts, run: Run) -> None:
        """Replace a game that is over by the next one; make room where a tree is full."""
        if seat.record.waits != NOTHING:
            return
        if seat.over:
            run.keep(seat.finished())
            self._next_game(seat, starts, run)
        elif seat.search.control.full:
            seat.search.make_room()

    def _next_game(self, seat: Seat, starts: Starts, run: Run) -> None:
        """Begin the next game in a seat, if there is one."""
        number = run.following()
        if number is None:
            seat.record.waits = NO_GAME
        else:
            starts.begin_game(seat, number)

    def _evaluate(self, filled: int) -> None:
        """Ask the evaluator, and give each game what it waits for."""
        leaves = part_of(self._batch.leaves, 0, filled)
        moves = int(leaves.offsets[-1])
        out = Evaluations(self._batch.wdl[:filled], self._batch.logits[:moves])
        self._evaluator.evaluate(leaves, out)
        refuse_not_finite(self._evaluator.name, *out)
        answer_all(self._rules, self._seats, self._batch, filled)


# --- players --------------------------------------------------------------------------------------
#
# Who plays the games of a run: threads of this process, or the processes of a cluster.


MEBIBYTE = 1 << 20
PIECES = 4  # that each processor of a cluster has still to expect: all end at about the same time
LARGEST_PIECE = 32  # games: no more are played again when a machine is lost


class CountingEvaluator:
    """Counts the batches of an evaluator."""

    def __init__(self, evaluator: BatchedEvaluator) -> None:
        self._evaluator = evaluator
        self.name, self.sees = evaluator.name, evaluator.sees
        self.batches = self.leaves = 0

    def evaluate(self, leaves: Leaves, out: Evaluations) -> None:
        """Evaluate a batch."""
        self.batches, self.leaves = self.batches + 1, self.leaves + len(leaves.known)
        self._evaluator.evaluate(leaves, out)


def new_cache(settings: SelfPlay) -> PredictionCache:
    """The cache of a run; it changes no evaluation. Without one, the least there can be."""
    return PredictionCache(max(settings.cache * MEBIBYTE, BUCKET_BYTES))


class SharedRun(Run, Protocol):
    """A run whose games may be played elsewhere."""

    failed: bool

    def keep_unfinished(self) -> None:
        """Keep the finished games of groups that are not complete."""


class _Piece:
    """Some numbers of a run, and the games that came of them."""

    stopped = False

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers, self.games = iter(numbers), list[Finished]()

    def following(self) -> int | None:
        return next(self._numbers, None)

    def keep(self, game: Finished) -> None:
        self.games.append(game)


class Players:
    """A network, and how it plays; what is loaded stays in the process that has loaded it."""

    def __init__(
        self, where: str, settings: SelfPlay, seed: int, book: Sequence[Opening] = ()
    ) -> None:
        self._where, self._settings, self._seed = where, settings, seed
        self._book = tuple(book)
        self._inline: InlineEvaluator | None = None
        self.counting: CountingEvaluator | None = (
            None  # of networks asked in batches, in this process
        )

    def play(self, run: SharedRun, games: int) -> None:
        """Play all games of a run."""
        shared = cluster()
        if shared is not None:
            self._play_elsewhere(run, games, shared.processors)
            return
        self._load()

        def work() -> None:
            finished = False
            try:
                self._play_on_this_thread(run)
                finished = True
            finally:
                run.failed = run.failed or not finished

        in_threads(work, min(self._settings.workers or processors(), games))

    def _play_elsewhere(self, run: SharedRun, games: int, workers: int) -> None:
        """Hand out numbers in pieces; what came of a piece is on the disk before the next."""
        pieces, needs = _pieces(run, games, workers), files_of(self._where)
        for played in in_processes(self, pieces, workers, needs=needs, stopped=lambda: run.stopped):
            for game in played:
                run.keep(game)
            run.keep_unfinished()

    def __call__(self, numbers: Sequence[int]) -> list[Finished]:
        """Play games with these numbers, in this process."""
        self._load()
        piece = _Piece(numbers)
        self._play_on_this_thread(piece)
        return piece.games

    def _load(self) -> None:
        if self._inline is not None or self.counting is not None:
            return
        evaluator = load_evaluator(at_work(self._where))
        boards = [opening.board() for opening in self._book]
        self._starts = Starts(self._settings, self._seed, boards)
        self._cache = new_cache(self._settings)
        if isinstance(evaluator, InlineEvaluator):
            self._inline = evaluator
        else:
            self.counting = CountingEvaluator(evaluator)

    def _play_on_this_thread(self, run: Run) -> None:
        evaluator = self._inline or self.counting
        assert evaluator is not None, "loaded before"
        player_of(evaluator, self._settings, self._cache).play(self._starts, run)


def player_of(
    evaluator: Evaluator, settings: SelfPlay, cache: PredictionCache
) -> InlinePlayer | ByAlphaBeta | BatchedPlayer:
    """Who plays games with an evaluator on one thread."""
    if settings.kind == "alphabeta":
        if not isinstance(evaluator, InlineEvaluator):
            fix = "take a sparse network, or kind=mcts"
            raise ConfigError(
                "alpha-beta needs a network inside the search", value=evaluator.name, fix=fix
            )
        return ByAlphaBeta(evaluator, settings)
    if isinstance(evaluator, InlineEvaluator):
        return InlinePlayer(evaluator, settings)
    return BatchedPlayer(evaluator, settings, cache)


def _pieces(run: Run, games: int, workers: int) -> Iterator[list[int]]:
    """The numbers of a run, in pieces that get smaller towards its end."""
    numbers, left = iter(run.following, None), games
    while piece := list(islice(numbers, max(1, min(LARGEST_PIECE, left // (PIECES * workers))))):
        left -= len(piece)
        yield piece

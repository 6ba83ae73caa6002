"""Who plays the games of a run: threads of this process, or the processes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from kibitz.core.workers import cluster, in_processes, in_threads, processors
from kibitz.data.openings import Opening
from kibitz.nets.discover import at_work, files_of
from kibitz.nets.encodings.leaves import Leaves
from kibitz.nets.evaluators.batched import BatchedEvaluator, Evaluations
from kibitz.nets.evaluators.cache import PredictionCache
from kibitz.nets.evaluators.cachetable import BUCKET_BYTES
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.load import load_evaluator
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.game import Finished
from kibitz.zero.selfplay.seats import Alone, InStep, Run, Starts

MEBIBYTE = 1 << 20
PIECES = 8  # at least, for each processor of a cluster: then all end at about the same time
LARGEST_PIECE = 32  # games: no more are played again when a machine is lost


class Counting:
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
        self.counting: Counting | None = None  # of networks asked in batches, in this process

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
        size = max(1, min(LARGEST_PIECE, games // (PIECES * workers)))
        pieces, needs = _pieces(run, size), files_of(self._where)
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
            self.counting = Counting(evaluator)

    def _play_on_this_thread(self, run: Run) -> None:
        if self._inline is not None:
            Alone(self._inline, self._settings).play(self._starts, run)
        elif self.counting is not None:
            InStep(self.counting, self._settings, self._cache).play(self._starts, run)


def _pieces(run: Run, size: int) -> Iterator[list[int]]:
    """The numbers of a run, so many at a time."""
    numbers = iter(run.following, None)
    while piece := list(islice(numbers, size)):
        yield piece

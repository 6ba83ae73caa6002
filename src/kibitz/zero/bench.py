"""How fast games against itself are played; for `kibitz bench selfplay`.

Every row plays for some seconds with all threads. Games that are not over then count, too, and a
move in the middle of its search counts as far as that has come. Moves a second of the processor,
summed over its cores, say what the machine could do if nothing else ran on it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from kibitz.arena.bench.search import sparse_of_random_weights
from kibitz.core.workers import in_threads
from kibitz.data.shard import NOT_A_VALUE
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.nets.load import Evaluator
from kibitz.zero.selfplay.config import SelfPlay, preset
from kibitz.zero.selfplay.game import Finished, Seat
from kibitz.zero.selfplay.players import CountingEvaluator, Starts, new_cache, player_of

SMALL, WIDE = "sparse-64x64", "sparse-512x256"
NODES = (300, 1000, 5000)  # of a move, by alpha-beta
INLINE_ROWS = 3 + len(NODES)
REFERENCE = 800  # playouts
MANY = 1 << 24  # games
APART = (0, 60)  # random plies, so that games in step stand at different stages as in a long run


class PlayingSpeed(NamedTuple):
    """One row of the bench."""

    network: str
    preset: str
    playouts: int  # of a move; by alpha-beta nodes, at the least
    threads: int
    moves_per_second: float
    playouts_per_second: int
    moves_per_processor_second: float
    values_per_processor_second: float  # moves whose position teaches a value
    processor_seconds: float
    batch_fill: float | None  # of networks that are asked in batches


class _Timed:
    """Some games, or as many as there is time for."""

    def __init__(self, seconds: float, games: int = MANY) -> None:
        self._end = time.monotonic() + seconds
        self._numbers, self._lock = iter(range(games)), threading.Lock()
        self.moves, self.playouts, self.values = 0.0, 0, 0

    @property
    def stopped(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._end

    def following(self) -> int | None:
        """The number of the next game."""
        return next(self._numbers, None)

    def keep(self, game: Finished) -> None:
        """Count a game."""
        with self._lock:
            self.moves += len(game.plies)
            self.playouts += game.playouts
            self.values += int((game.plies["flags"] & NOT_A_VALUE == 0).sum())

    def keep_part(self, seat: Seat) -> None:
        """Count a game that goes on, and of its next move as much as has been searched."""
        self.keep(seat.finished())
        before, target = int(seat.record.known), int(seat.record.target)
        if seat.searches and seat.record.searching and target > before:
            done = seat.search.visits - before
            with self._lock:
                self.moves += done / (target - before)
                self.playouts += done


def measure(
    batched: Evaluator, threads: int, seconds: float, inline: bool = True
) -> Iterator[list[PlayingSpeed]]:
    """Play with inline networks of two sizes and one that is asked in batches; the rows so far."""
    small, wide = sparse_of_random_weights(SMALL), sparse_of_random_weights(WIDE)
    runs: list[tuple[str, Evaluator, SelfPlay]] = [
        ("kibitz", small, preset("kibitz")),
        ("kibitz", wide, replace(preset("kibitz"), rule="puct", playouts=REFERENCE)),
        ("azero", wide, preset("azero")),
        *(("alphabeta", small, replace(preset("alphabeta"), nodes=nodes)) for nodes in NODES),
        ("dlchess", batched, replace(preset("dlchess"), random_plies=APART)),
    ]
    done = []
    for name, evaluator, settings in runs if inline else runs[INLINE_ROWS:]:
        done.append(_measured(name, evaluator, settings, threads, seconds))
        yield done


def _measured(
    name: str, evaluator: Evaluator, settings: SelfPlay, threads: int, seconds: float
) -> PlayingSpeed:
    """Play for some seconds, the kernels loaded before."""
    counting = None
    if not isinstance(evaluator, InlineEvaluator):
        evaluator = counting = CountingEvaluator(evaluator)
    _play(evaluator, replace(settings, rows=1, playouts=2, most_plies=2), 1, _Timed(math.inf, 1))
    if counting is not None:
        counting.batches = counting.leaves = 0
    run, began, before = _Timed(seconds), time.monotonic(), time.process_time()
    _play(evaluator, settings, threads, run)
    took, worked = time.monotonic() - began, time.process_time() - before
    fill = None
    if counting is not None:
        fill = round(counting.leaves / max(counting.batches * settings.rows, 1), 3)
    return PlayingSpeed(
        network=evaluator.name,
        preset=name,
        playouts=settings.nodes if settings.kind == "alphabeta" else settings.playouts,
        threads=threads,
        moves_per_second=round(run.moves / took, 1),
        playouts_per_second=round(run.playouts / took),
        moves_per_processor_second=round(run.moves / worked, 1),
        values_per_processor_second=round(run.values / worked, 1),
        processor_seconds=round(worked, 1),
        batch_fill=fill,
    )


def _play(evaluator: Evaluator, settings: SelfPlay, threads: int, run: _Timed) -> None:
    starts, cache = Starts(settings, seed=1), new_cache(settings)

    def work() -> None:
        player = player_of(evaluator, settings, cache)
        player.play(starts, run)
        for seat in player.seats:
            if not seat.over:
                run.keep_part(seat)

    in_threads(work, threads)

"""Many games evaluated by engines in several processes, through any interruption.

Finished games are written about every half second as a small shard, and packed into large ones
later. The folder is all a run has to remember: what is there is not made again.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kibitz.core.errors import InputError
from kibitz.core.journal import with_lock
from kibitz.core.log import say
from kibitz.core.places import Place
from kibitz.core.workers import in_processes
from kibitz.data.labels.evaluating import (
    EVALUATED,
    Evaluating,
    PlayJob,
    TeacherJob,
    evaluate_game,
    identities,
    play_game,
)
from kibitz.data.labels.labels import LabelModel
from kibitz.data.openings import Opening
from kibitz.data.shard import SUFFIX, Game, Shard, games_of, provenance, shard_of
from kibitz.data.store import Store, add, concatenate, differing, select
from kibitz.engine.running import Kept
from kibitz.uci.client import ProgramFault

MOST_DROPPED = 20  # games one after the other; then the run ends
_PAUSE = 0.5  # s between two small shards: a file a game takes longer than a game of fast searches

_teacher = Kept(TeacherJob.teacher)  # of this process


class Task(NamedTuple):
    """A game that is missing: its number in the run, and the game itself where there is one."""

    number: int
    game: Game | None = None


class LabelledGame(NamedTuple):
    """What became of a task: a game, or why it was dropped."""

    number: int
    game: Game | None
    fault: str = ""


def _labelled(job: TeacherJob, task: Task) -> LabelledGame:
    """A game, or why it was dropped; the engine is started when there is none."""
    try:
        teacher = _teacher.get(job)
        if task.game is not None:
            return LabelledGame(task.number, evaluate_game(task.game, job, teacher))
        assert isinstance(job, PlayJob)
        return LabelledGame(task.number, play_game(job, task.number, teacher))
    except ProgramFault as error:
        _teacher.end()
        return LabelledGame(task.number, None, f"game {task.number} dropped: {error}")


class KeptGames:
    """The finished games of a run: large shards, and small ones not yet packed into them."""

    def __init__(self, job: TeacherJob, folder: Place, plies: int) -> None:
        self.folder, self._stem, self._plies = folder, job.stem, plies
        self.done: set[Hashable] = set()
        self._loose: dict[Place, Shard] = {}
        self._games: list[LabelledGame] = []  # not yet written
        self._written = -math.inf  # when the last ones were
        paths: list[Place] = []
        if folder.is_dir():
            paths += folder.glob(f"{job.stem}-*{SUFFIX}")
        paths.sort(key=lambda path: (self._is_loose(path), path.name))
        self.store = Store(paths, "not there")
        for path, shard in self.store.named():
            for source in shard.header.sources:
                _compare(job.settings_in(job.source), job.settings_in(source), path)
            games = set(job.keys(shard))
            if self._is_loose(path) and games <= self.done:
                path.unlink()  # a kill left it behind after its game had been packed
                continue
            if self._is_loose(path):
                self._loose[path] = shard
            self.done |= games

    def _is_loose(self, path: Place) -> bool:
        return path.name.startswith(f"{self._stem}-game-")

    def add(self, labelled: LabelledGame) -> None:
        """Keep a game: write it, if the last ones were not written just now."""
        self._games.append(labelled)
        if time.monotonic() - self._written >= _PAUSE:
            self._write()
            if sum(shard.plies for shard in self._loose.values()) >= self._plies:
                self.pack()

    def _write(self) -> None:
        """Put the games that were kept into a small shard."""
        games = [entry.game for entry in self._games if entry.game is not None]
        if games:
            shard = shard_of(games, provenance("data label"))
            stem = f"{self._stem}-game-{self._games[0].number:07d}"
            self._loose[add(self.folder, shard, stem)] = shard
            self._games = []
        self._written = time.monotonic()

    def pack(self) -> None:
        """Write what is left, and put the small shards together."""
        self._write()
        if self._loose:
            loose = sorted(self._loose.items(), key=lambda item: item[0].name)
            first = loose[0][0].name.removeprefix(f"{self._stem}-game-").partition("-")[0]
            whole = concatenate([shard for _, shard in loose])
            add(self.folder, whole, f"{self._stem}-{first}")
            for path, _ in loose:
                path.unlink()
            self._loose = {}


def label(
    job: PlayJob,
    folder: Place,
    games: int,
    workers: int,
    stop: Callable[[], bool],
    plies: int,
    counts: Counter[str],
) -> Iterator[LabelledGame]:
    """Play what is missing of so many games into a folder; yields games and why some are not.

    After `stop` says so, the games in progress are finished. `counts` gets what was `there`.
    """

    def missing(done: Collection[Hashable]) -> Iterator[Task]:
        numbers = [number for number in range(games) if number not in done]
        counts["there"] = games - len(numbers)
        return map(Task, numbers)

    return _run(job, folder, missing, workers, stop, plies)


def relabel(
    job: TeacherJob,
    folder: Place,
    shards: Iterable[Shard],
    workers: int,
    stop: Callable[[], bool],
    plies: int,
    counts: Counter[str],
) -> Iterator[LabelledGame]:
    """Evaluate the positions of games into a folder; yields games and why some are not.

    `counts` gets the games that are there already (`there`), and exact copies, which are left out.
    """
    return _run(job, folder, partial(_missing, shards, counts), workers, stop, plies)


def _missing(
    shards: Iterable[Shard], counts: Counter[str], done: Collection[Hashable]
) -> Iterator[Task]:
    identified: set[Hashable] = set()
    number = 0
    for shard in shards:
        missing = []
        for game, key in enumerate(identities(shard)):
            what = "copies" if key in identified else "there" if key in done else "missing"
            counts[what] += 1
            identified.add(key)
            if what == "missing":
                missing.append(game)
        games = games_of(select(shard, np.array(missing, dtype=np.int64)))
        yield from (Task(number + at, game) for at, game in zip(missing, games, strict=True))
        number += shard.games


def _run(
    job: TeacherJob,
    folder: Place,
    missing: Callable[[Collection[Hashable]], Iterable[Task]],
    workers: int,
    stop: Callable[[], bool],
    plies: int,
) -> Iterator[LabelledGame]:
    """Make the games that `missing` finds beside those that are done, and keep them."""
    with with_lock(folder, "labelling"):
        games, dropped = KeptGames(job, folder, plies), 0
        if games.done:
            say(f"{len(games.done):,} games are in {games.folder} already")
        try:
            tasks = takewhile(lambda _: not stop(), missing(games.done))
            for labelled in in_processes(partial(_labelled, job), tasks, workers):
                dropped = 0 if labelled.game else dropped + 1
                if labelled.game:
                    games.add(labelled)
                elif dropped >= MOST_DROPPED:
                    what = f"the engine failed {dropped} times in a row, at last"
                    raise InputError(what, value=labelled.fault)
                yield labelled
        finally:
            _teacher.end()
            games.pack()


def _compare(settings: dict[str, Any], written: dict[str, Any], path: Place) -> None:
    """Refuse to mix games made with different settings."""
    if both := differing(written, settings):
        other_seed = ", another --seed" if settings.get("kind") == "teacher" else ""
        fix = f"use the same settings{other_seed} or another folder"
        raise InputError(f"{path}: made with other settings ({'; '.join(both)})", fix=fix)


def source_of(
    teacher: str,
    options: Sequence[tuple[str, str]],
    settings: Evaluating,
    model: LabelModel,
    starts: Sequence[Opening],
    seed: int,
) -> dict[str, Any]:
    """What the shards say about where played games come from; all that decides how they go."""
    digest = hashlib.sha256(repr([tuple(start) for start in starts]).encode()).hexdigest()[:12]
    more = {"starts": {"count": len(starts), "sha256": digest}, "seed": seed}
    return {"kind": "teacher", **evaluated_by(teacher, options, settings, model)[EVALUATED], **more}


def evaluated_by(
    teacher: str, options: Sequence[tuple[str, str]], settings: Evaluating, model: LabelModel
) -> dict[str, Any]:
    """What the shards say about who evaluated the positions, and how."""
    labels = model._asdict()
    how = {"teacher": teacher, "options": dict(options), "settings": settings, "labels": labels}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode({EVALUATED: how}))
    return plain  # as a file has it

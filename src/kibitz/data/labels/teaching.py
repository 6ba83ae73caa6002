"""Many games evaluated by engines in several processes, through any interruption.

Finished games are written about every half second as a small shard, and packed into large ones
later, in order. The folder is all a run has to remember: what is there is not made again.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import partial
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
from kibitz.data.store import Store, add, differing, select
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


class There(NamedTuple):
    """A game that is not missing: its number in the run, and its identity."""

    number: int
    key: Hashable


class KeptGames:
    """The finished games of a run: large shards, and small ones not yet packed into them.

    Large shards have the games in the order of the run, and each ends with the game that fills it:
    they are the same whoever made the games, in whatever order, and after any interruption.
    """

    def __init__(self, job: TeacherJob, folder: Place, plies: int) -> None:
        self.folder, self._stem, self._plies = folder, job.stem, plies
        self.done: set[Hashable] = set()
        self._small: list[Place] = []  # shards whose games are still to be packed
        self._earlier: dict[Hashable, Game] = {}  # what was in them at the start
        self._waiting: deque[int] = deque()  # games of the run that are not packed, in order
        self._made: dict[int, Game | None] = {}  # what became of them; None: dropped
        self._next: list[tuple[int, Game]] = []  # of the next large shard, none missing before
        self._unwritten: list[tuple[int, Game]] = []
        self._written = -math.inf  # when the last ones were
        self._whole = False
        paths: list[Place] = []
        if folder.is_dir():
            paths += folder.glob(f"{job.stem}-*{SUFFIX}")
        paths.sort(key=lambda path: (self._is_small(path), path.name))
        self.store = Store(paths, "not there")
        for path, shard in self.store.named():
            for source in shard.header.sources:
                _compare(job.settings_in(job.source), job.settings_in(source), path)
            keys = job.keys(shard)
            if self._is_small(path):
                games = zip(keys, games_of(shard), strict=True)
                # A kill may have left a game here after it had been packed.
                self._earlier |= {key: game for key, game in games if key not in self.done}
                self._small.append(path)
            self.done |= set(keys)
        if self._small and not self._earlier:
            self._tidy()

    def _is_small(self, path: Place) -> bool:
        return path.name.startswith(f"{self._stem}-game-")

    def missing(self, games: Iterable[Task | There], stop: Callable[[], bool]) -> Iterator[Task]:
        """Of all games of the run, in order, those that are to be made, until `stop` says so."""
        for game in games:
            if isinstance(game, There):
                if (earlier := self._earlier.pop(game.key, None)) is not None:
                    self._waiting.append(game.number)
                    self._made[game.number] = earlier
                continue
            if stop():
                return
            self._waiting.append(game.number)
            yield game
        self._whole = True

    def add(self, labelled: LabelledGame) -> None:
        """Keep a game, or that it was dropped; small shards are written now and then."""
        self._made[labelled.number] = labelled.game
        if labelled.game is not None:
            self._unwritten.append((labelled.number, labelled.game))
            if time.monotonic() - self._written >= _PAUSE:
                self._write(self._unwritten)
                self._written = time.monotonic()
        self._advance()

    def _write(self, games: Sequence[tuple[int, Game]]) -> None:
        """Put games into a small shard; then none is unwritten."""
        if games:
            stem = f"{self._stem}-game-{games[0][0]:07d}"
            self._small.append(self._add(games, stem))
        self._unwritten = []

    def _add(self, games: Sequence[tuple[int, Game]], stem: str) -> Place:
        shard = shard_of([game for _, game in games], provenance("data label"))
        return add(self.folder, shard, stem)

    def _advance(self) -> None:
        """Take games into the next large shard, as far as none before them is missing."""
        while self._waiting and self._waiting[0] in self._made:
            number = self._waiting.popleft()
            if (game := self._made.pop(number)) is not None:
                self._next.append((number, game))
            if sum(len(game.plies) for _, game in self._next) >= self._plies:
                self._pack()

    def _pack(self) -> None:
        """Write a large shard, and leave its games out of the small ones."""
        self._add(self._next, f"{self._stem}-{self._next[0][0]:07d}")
        self._next = []
        self._tidy()

    def _tidy(self) -> None:
        """Put all games that are not packed into a single small shard."""
        before, self._small = self._small, []
        made = [(number, game) for number, game in sorted(self._made.items()) if game is not None]
        others = [(0, game) for game in self._earlier.values()]  # of other runs with this folder
        self._write([*self._next, *made, *others])
        for path in before:
            if path not in self._small:
                path.unlink()

    def close(self) -> None:
        """Pack what is left if every game was made; else leave it to the next start."""
        self._advance()
        if self._whole and not self._waiting and self._next:
            self._pack()
        elif self._small or self._unwritten:
            self._tidy()


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

    def wanted(done: Collection[Hashable]) -> Iterator[Task | There]:
        counts["there"] = sum(number in done for number in range(games))
        for number in range(games):
            yield There(number, number) if number in done else Task(number)

    return _run(job, folder, wanted, workers, stop, plies)


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
    return _run(job, folder, partial(_wanted, shards, counts), workers, stop, plies)


def _wanted(
    shards: Iterable[Shard], counts: Counter[str], done: Collection[Hashable]
) -> Iterator[Task | There]:
    identified: set[Hashable] = set()
    number = 0
    for shard in shards:
        listed: dict[int, Task | There] = {}
        missing = []
        for game, key in enumerate(identities(shard)):
            what = "copies" if key in identified else "there" if key in done else "missing"
            counts[what] += 1
            identified.add(key)
            if what == "there":
                listed[game] = There(number + game, key)
            elif what == "missing":
                missing.append(game)
        games = games_of(select(shard, np.array(missing, dtype=np.int64)))
        for at, game_there in zip(missing, games, strict=True):
            listed[at] = Task(number + at, game_there)
        yield from (listed[at] for at in sorted(listed))
        number += shard.games


def _run(
    job: TeacherJob,
    folder: Place,
    wanted: Callable[[Collection[Hashable]], Iterable[Task | There]],
    workers: int,
    stop: Callable[[], bool],
    plies: int,
) -> Iterator[LabelledGame]:
    """Make the games that are wanted and not done, and keep them."""
    with with_lock(folder, "labelling"):
        games, dropped = KeptGames(job, folder, plies), 0
        if games.done:
            say(f"{len(games.done):,} games are in {games.folder} already")
        try:
            tasks = games.missing(wanted(games.done), stop)
            for labelled in in_processes(partial(_labelled, job), tasks, workers):
                dropped = 0 if labelled.game else dropped + 1
                games.add(labelled)
                if dropped >= MOST_DROPPED:
                    what = f"the engine failed {dropped} times in a row, at last"
                    raise InputError(what, value=labelled.fault)
                yield labelled
        finally:
            _teacher.end()
            games.close()


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

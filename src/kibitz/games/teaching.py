"""Many games judged by engines, by several processes, through any interruption; games -> **store**.

Finished games are written at once, each as a small shard, and packed into large ones later. The
folder is all a run has to remember: what is there is not made again.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kibitz.errors import InputError
from kibitz.games.combine import concatenate, select
from kibitz.games.importing import provenance
from kibitz.games.judging import JUDGED, Judges, Judging, identities, judge
from kibitz.games.labelling import SEED_BITS, Job, Start, play
from kibitz.games.labels import LabelModel
from kibitz.games.record import Game, games_of, shard_of
from kibitz.games.shard import SUFFIX, Shard
from kibitz.games.store import Store, add
from kibitz.games.teacher import Teacher, TeacherError
from kibitz.locks import alone
from kibitz.log import say
from kibitz.places import Place
from kibitz.workers import in_processes

MOST_DROPPED = 20  # games one after the other; then the run ends

_teacher: Teacher | None = None  # of this process; kept from game to game


class Task(NamedTuple):
    """A game that is missing: its number in the run, and the game itself where there is one."""

    number: int
    game: Game | None = None


class Made(NamedTuple):
    """What became of a task: a game, or why it was dropped."""

    number: int
    game: Game | None
    fault: str = ""


def end_teacher() -> None:
    """End this process's engine."""
    global _teacher
    if _teacher is not None:
        _teacher.close()
        _teacher = None


def _made(judges: Judges, task: Task) -> Made:
    """A game, or why it was dropped; the engine is started when there is none."""
    global _teacher
    try:
        if _teacher is None:
            _teacher = judges.teacher()
        if task.game is not None:
            return Made(task.number, judge(task.game, judges, _teacher))
        assert isinstance(judges, Job)
        return Made(task.number, play(judges, task.number, _teacher))
    except TeacherError as error:
        end_teacher()
        return Made(task.number, None, f"game {task.number} dropped: {error}")


class Kept:
    """The finished games of a run: large shards, and small ones not yet packed into them.

    `keys` tells the games of a shard from others; `check` refuses those of another run.
    """

    def __init__(
        self,
        folder: Place,
        stem: str,
        keys: Callable[[Shard], Iterable[Hashable]],
        check: Callable[[dict[str, Any], Place], None],
        plies: int,
    ) -> None:
        self.folder, self._stem, self._plies, self._keys = folder, stem, plies, keys
        self.done: set[Hashable] = set()
        self._loose: dict[Place, Shard] = {}
        paths = folder.glob(f"{stem}-*{SUFFIX}") if folder.is_dir() else ()
        self.store = Store(sorted(paths, key=lambda path: path.name), "not there")
        found = dict(self.store.named())
        for path, shard in found.items():
            for source in shard.header.sources:
                check(source, path)
            if not self._is_loose(path):
                self.done |= set(keys(shard))
        for path, shard in found.items():
            if self._is_loose(path):
                self._recover(path, shard)

    def _is_loose(self, path: Place) -> bool:
        return path.name.startswith(f"{self._stem}-game-")

    def _recover(self, path: Place, shard: Shard) -> None:
        """Keep a small shard, unless a kill left it behind after its game had been packed."""
        if set(self._keys(shard)) <= self.done:
            path.unlink()
        else:
            self._loose[path] = shard
            self.done |= set(self._keys(shard))

    def add(self, made: Made) -> None:
        """Write a game; many small shards become a large one."""
        assert made.game is not None
        shard = shard_of([made.game], provenance("data label"))
        path = add(self.folder, shard, f"{self._stem}-game-{made.number:07d}")
        self._loose[path] = shard
        if sum(one.plies for one in self._loose.values()) >= self._plies:
            self.pack()

    def pack(self) -> None:
        """Put the small shards together."""
        if self._loose:
            loose = sorted(self._loose.items(), key=lambda item: item[0].name)
            first = loose[0][0].name.removeprefix(f"{self._stem}-game-").partition("-")[0]
            whole = concatenate([shard for _, shard in loose])
            add(self.folder, whole, f"{self._stem}-{first}")
            for path, _ in loose:
                path.unlink()
            self._loose = {}


def label(
    job: Job,
    folder: Place,
    games: int,
    workers: int,
    stop: Callable[[], bool],
    plies: int,
    counts: Counter[str],
) -> Iterator[Made]:
    """Play what is missing of so many games into a folder; yields games and why some are not.

    After `stop` says so, the games in progress are finished. `counts` gets what was `there`.
    """
    check = functools.partial(_compare, job.source)
    with alone(folder, "labelling"):
        kept = Kept(folder, f"label-{job.seed}", _numbers, check, plies)
        numbers = [number for number in range(games) if number not in kept.done]
        counts["there"] = games - len(numbers)
        yield from _run(job, kept, map(Task, numbers), workers, stop)


def relabel(
    judges: Judges,
    folder: Place,
    shards: Iterable[Shard],
    workers: int,
    stop: Callable[[], bool],
    plies: int,
    counts: Counter[str],
) -> Iterator[Made]:
    """Judge the positions of games into a folder; yields games and why some are not.

    `counts` gets the games that are there already (`there`), and exact copies, which are left out.
    """

    def check(found: dict[str, Any], path: Place) -> None:
        _compare(judges.source[JUDGED], found.get(JUDGED, {}), path)

    with alone(folder, "labelling"):
        kept = Kept(folder, JUDGED, identities, check, plies)
        yield from _run(judges, kept, _missing(shards, kept.done, counts), workers, stop)


def _missing(
    shards: Iterable[Shard], done: Collection[Hashable], counts: Counter[str]
) -> Iterator[Task]:
    seen: set[Hashable] = set()
    number = 0
    for shard in shards:
        wanted = []
        for game, key in enumerate(identities(shard)):
            what = "copies" if key in seen else "there" if key in done else "missing"
            counts[what] += 1
            seen.add(key)
            if what == "missing":
                wanted.append(game)
        games = games_of(select(shard, np.array(wanted, dtype=np.int64)))
        yield from (Task(number + at, game) for at, game in zip(wanted, games, strict=True))
        number += shard.games


def _run(
    judges: Judges, kept: Kept, tasks: Iterable[Task], workers: int, stop: Callable[[], bool]
) -> Iterator[Made]:
    dropped = 0
    if kept.done:
        say(f"{len(kept.done):,} games are in {kept.folder} already")
    try:
        wanted = itertools.takewhile(lambda _: not stop(), tasks)
        for made in in_processes(functools.partial(_made, judges), wanted, workers):
            dropped = 0 if made.game else dropped + 1
            if made.game:
                kept.add(made)
            elif dropped >= MOST_DROPPED:
                what = f"the engine failed {dropped} times in a row, at last"
                raise InputError(what, value=made.fault)
            yield made
    finally:
        end_teacher()
        kept.pack()


def _numbers(shard: Shard) -> list[int]:
    """The numbers of a shard's games in their run."""
    return [int(seed) % (1 << SEED_BITS) for seed in shard.seeds]


def _compare(wanted: dict[str, Any], found: dict[str, Any], path: Place) -> None:
    """Refuse to mix games made with different settings."""
    other = [key for key in sorted({*found, *wanted}) if found.get(key) != wanted.get(key)]
    if other:
        both = [f"{key} {found.get(key)!r} there, {wanted.get(key)!r} now" for key in other]
        other_seed = ", another --seed" if wanted.get("kind") == "teacher" else ""
        fix = f"use the same settings{other_seed} or another folder"
        raise InputError(f"{path}: made with other settings ({'; '.join(both)})", fix=fix)


def source_of(
    teacher: str,
    options: Sequence[tuple[str, str]],
    judging: Judging,
    model: LabelModel,
    starts: Sequence[Start],
    seed: int,
) -> dict[str, Any]:
    """What the shards say about where played games come from; all that decides how they go."""
    digest = hashlib.sha256(repr([tuple(start) for start in starts]).encode()).hexdigest()[:12]
    more = {"starts": {"count": len(starts), "sha256": digest}, "seed": seed}
    return {"kind": "teacher", **judged_by(teacher, options, judging, model)[JUDGED], **more}


def judged_by(
    teacher: str, options: Sequence[tuple[str, str]], judging: Judging, model: LabelModel
) -> dict[str, Any]:
    """What the shards say about who judged the positions, and how."""
    labels = model._asdict()
    how = {"teacher": teacher, "options": dict(options), "settings": judging, "labels": labels}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode({JUDGED: how}))
    return plain  # as a file has it

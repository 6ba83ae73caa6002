"""Many labelled games, by several processes, through any interruption; labelling -> **store**.

Finished games are written at once, each as a small shard, and packed into large ones later. The
folder is all a run has to remember: what is there is not played again.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kibitz.errors import InputError
from kibitz.games.combine import concatenate
from kibitz.games.importing import provenance
from kibitz.games.labelling import SEED_BITS, Job, Labelling, Start, play
from kibitz.games.labels import LabelModel
from kibitz.games.record import Game, shard_of
from kibitz.games.shard import SUFFIX, Shard, read
from kibitz.games.store import add
from kibitz.games.teacher import Teacher, TeacherError
from kibitz.workers import in_processes

MOST_DROPPED = 20  # games one after the other; then the run ends

_teacher: Teacher | None = None  # of this process; kept from game to game


def end_teacher() -> None:
    """End this process's engine."""
    global _teacher
    if _teacher is not None:
        _teacher.close()
        _teacher = None


def _played(job: Job, number: int) -> Game | str:
    """A game, or why it was dropped; the engine is started when there is none."""
    global _teacher
    try:
        if _teacher is None:
            options = {"MultiPV": str(job.labelling.lines)} if job.labelling.lines > 1 else {}
            _teacher = Teacher(job.command, {**options, **dict(job.options)}, job.patience)
        return play(job, number, _teacher)
    except TeacherError as error:
        end_teacher()
        return f"game {number} dropped: {error}"


def label(
    job: Job, folder: Path, games: int, workers: int, stop: Callable[[], bool], plies: int
) -> Iterator[Game | str]:
    """Play what is missing of so many games into a folder; yields games and why some are not.

    After `stop` says so, the games in progress are finished.
    """
    kept = Kept(folder, job, plies)
    missing = (number for number in range(games) if number not in kept.numbers)
    dropped = 0
    try:
        tasks = itertools.takewhile(lambda _: not stop(), missing)
        for game in in_processes(functools.partial(_played, job), tasks, workers):
            dropped = dropped + 1 if isinstance(game, str) else 0
            if isinstance(game, Game):
                kept.add(game)
            elif dropped >= MOST_DROPPED:
                raise InputError(f"the engine failed {dropped} times in a row, at last", value=game)
            yield game
    finally:
        end_teacher()
        kept.pack()


class Kept:
    """The finished games of a run: large shards, and small ones not yet packed into them."""

    def __init__(self, folder: Path, job: Job, plies: int) -> None:
        self._folder, self._stem, self._plies = folder, f"label-{job.seed}", plies
        self.numbers: set[int] = set()
        self._loose: dict[Path, Shard] = {}
        found = {path: read(path) for path in sorted(folder.glob(f"{self._stem}-*{SUFFIX}"))}
        for path, shard in found.items():
            for source in shard.header.sources:
                _compare(source, job.source, path)
            if not self._is_loose(path):
                self._note(shard)
        for path, shard in found.items():
            if self._is_loose(path):
                self._recover(path, shard)

    def _is_loose(self, path: Path) -> bool:
        return path.name.startswith(f"{self._stem}-game-")

    def _note(self, shard: Shard) -> None:
        self.numbers |= {int(seed) % (1 << SEED_BITS) for seed in shard.seeds}

    def _recover(self, path: Path, shard: Shard) -> None:
        """Keep a small shard, unless a kill left it behind after its game had been packed."""
        if _number(shard) in self.numbers:
            path.unlink()
        else:
            self._loose[path] = shard
            self._note(shard)

    def add(self, game: Game) -> None:
        """Write a game; many small shards become a large one."""
        shard = shard_of([game], provenance("data label"))
        path = add(self._folder, shard, f"{self._stem}-game-{_number(shard):07d}")
        self._loose[path] = shard
        self._note(shard)
        if sum(one.plies for one in self._loose.values()) >= self._plies:
            self.pack()

    def pack(self) -> None:
        """Put the small shards together."""
        if self._loose:
            loose = sorted(self._loose.items())
            first = int(loose[0][1].seeds[0]) % (1 << SEED_BITS)
            add(
                self._folder,
                concatenate([shard for _, shard in loose]),
                f"{self._stem}-{first:07d}",
            )
            for path, _ in loose:
                path.unlink()
            self._loose = {}


def _number(shard: Shard) -> int:
    """The number of a shard's first game."""
    return int(shard.seeds[0]) % (1 << SEED_BITS)


def _compare(found: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    """Refuse to mix games made with different settings."""
    other = [key for key in sorted({*found, *wanted}) if found.get(key) != wanted.get(key)]
    if other:
        both = [f"{key} {found.get(key)!r} there, {wanted.get(key)!r} now" for key in other]
        fix = "use the same settings, another --seed or another folder"
        raise InputError(f"{path}: made with other settings ({'; '.join(both)})", fix=fix)


def source_of(
    teacher: str,
    options: Sequence[tuple[str, str]],
    labelling: Labelling,
    model: LabelModel,
    starts: Sequence[Start],
    seed: int,
) -> dict[str, Any]:
    """What the shards say about where the games come from; all that decides how they go."""
    digest = hashlib.sha256(repr([tuple(start) for start in starts]).encode()).hexdigest()[:12]
    source = {
        "kind": "teacher",
        "teacher": teacher,
        "options": dict(options),
        "settings": labelling,
        "labels": model._asdict(),
        "starts": {"count": len(starts), "sha256": digest},
        "seed": seed,
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(source))  # as a file has it
    return plain

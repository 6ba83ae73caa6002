"""Long work as a list of stages, each done once, whenever it is interrupted.

A list of stages is gone through so many times, the iterations. What a stage writes lies in
`FOLDER/0001/NAME/`; beside it `NAME.json` says what it was made from and what came out, each file
with its SHA-256. It is written, atomically, twice: when the stage begins, and with the outputs when
it is done. A restart therefore knows

* a stage that is done, and skips it: same settings, no input and no output has changed;
* a stage that was cut short, and lets it go on in its folder;
* a stage that was made from something else, and makes it again, from an empty folder.

New files that come later, more games for instance, do not undo what is done.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kibitz.core.errors import ConfigError, did_you_mean
from kibitz.core.files import read_bytes, sha256_of, write_bytes
from kibitz.core.journal import read_record, with_lock
from kibitz.core.log import Stop, say
from kibitz.core.places import working_copy

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Cycle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of stages as it was written; each stage a table with its kind."""

    folder: str
    stages: tuple[dict[str, Any], ...]
    iterations: int = 1


class FileState(msgspec.Struct, frozen=True):
    """What a file was; while size and time are the same, its content is taken to be."""

    size: int
    modified: int  # ns
    sha256: str


class Marker(msgspec.Struct, frozen=True):
    """What a stage was made from and, once it is done, what came out; by path."""

    settings: dict[str, Any]
    inputs: dict[str, FileState]
    outputs: dict[str, FileState] | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Context:
    """Where a stage stands."""

    folder: Path  # of the whole cycle
    home: Path  # of this stage in this iteration
    iteration: int  # from 1
    stages: Mapping[str, StageOf]
    stop: Stop

    def outputs(self, name: str, iteration: int) -> list[Path]:
        """Return what a stage has made in an iteration; nothing before the first."""
        if name not in self.stages:
            raise ConfigError("no such stage", value=name, fix=did_you_mean(name, self.stages))
        marker = read_marker(marker_of(self.folder, iteration, name)) if iteration > 0 else None
        return [] if marker is None else [Path(path) for path in marker.outputs or {}]


class Kind(NamedTuple):
    """A kind of stage: its settings, the files it reads, and how it is done.

    `run` works in `context.home`, where it may find what it left when it was cut short, and returns
    the files it made; None says that it was asked to stop before its end.
    """

    settings: type[msgspec.Struct]
    inputs: Callable[[Any, Context], list[Path]]
    run: Callable[[Any, Context], list[Path] | None]


class StageOf(NamedTuple):
    """A stage of a list, checked."""

    name: str
    kind: Kind
    settings: msgspec.Struct
    table: dict[str, Any]  # as written


def read_cycle(path: Path, kinds: Mapping[str, Kind]) -> tuple[Cycle, dict[str, StageOf]]:
    """Read a file of stages; every table is checked before anything begins."""
    try:
        cycle = msgspec.convert(tomllib.loads(read_bytes(path).decode("utf-8-sig")), Cycle)
    except (ValueError, RecursionError) as error:  # what TOML, UTF-8 and msgspec say
        raise ConfigError(f"{path}: not a file of stages", fix=str(error)) from error
    if cycle.iterations < 1 or not cycle.stages:
        raise ConfigError(f"{path}: nothing to do", fix="give iterations and [[stages]]")
    cycle = msgspec.structs.replace(cycle, folder=os.fspath(working_copy(cycle.folder)))
    stages: dict[str, StageOf] = {}
    for table in cycle.stages:
        stage = _checked(path, table, kinds)
        if stage.name in stages:
            fix = "give one of them another name"
            raise ConfigError(f"{path}: two stages of one name", value=stage.name, fix=fix)
        stages[stage.name] = stage
    return cycle, stages


def _checked(path: Path, table: dict[str, Any], kinds: Mapping[str, Kind]) -> StageOf:
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        fix = f"known kinds: {', '.join(sorted(kinds))}"
        raise ConfigError(f"{path}: no such kind of stage", value=kind, fix=fix)
    name = table.get("name", kind)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{path}: name of a stage", value=name, fix="use a-z, 0-9, - and _")
    rest = {key: value for key, value in table.items() if key not in ("kind", "name")}
    try:
        settings = msgspec.convert(rest, kinds[kind].settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: stage {name}", fix=str(error)) from error
    return StageOf(name, kinds[kind], settings, table)


def run_cycle(cycle: Cycle, stages: Mapping[str, StageOf], stop: Stop) -> bool:
    """Go through all stages of all iterations; returns False if asked to stop before the end."""
    folder = Path(cycle.folder)
    with with_lock(folder, "cycle"):
        for iteration in range(1, cycle.iterations + 1):
            for stage in stages.values():
                home = marker_of(folder, iteration, stage.name).with_suffix("")
                context = Context(folder, home, iteration, stages, stop)
                if stop.requested or not _run(stage, context):
                    return False
    return True


def _run(stage: StageOf, context: Context) -> bool:
    """Do a stage unless it is done; returns False if it was stopped before its end."""
    where = f"iteration {context.iteration}, {stage.name}"
    path = marker_of(context.folder, context.iteration, stage.name)
    before = read_marker(path)
    if before is not None and not _made_from_the_same(before, stage.table):
        before = None
    if before is not None and before.outputs is not None:
        damage = _damage(before.outputs)
        if not damage:
            say(f"{where}: done before")
            return True
        for text in damage:
            say(f"{where}: {text}")
    if before is None and context.home.exists():
        say(f"{where}: made from something else, beginning again")
        shutil.rmtree(context.home)
    context.home.mkdir(parents=True, exist_ok=True)
    inputs = states_of(stage.kind.inputs(stage.settings, context))
    begun = Marker(stage.table, inputs)
    _write(path, begun)
    say(f"{where}: {'beginning' if before is None else 'going on'}")
    since = time.monotonic()
    made = stage.kind.run(stage.settings, context)
    if made is None:
        return False
    seconds = round(time.monotonic() - since, 3)
    _write(path, msgspec.structs.replace(begun, outputs=states_of(made), seconds=seconds))
    return True


def _made_from_the_same(marker: Marker, table: dict[str, Any]) -> bool:
    """Whether settings and inputs are those of a marker; inputs that are gone were used in time."""
    there = {path: state for path, state in marker.inputs.items() if Path(path).exists()}
    return marker.settings == table and not _damage(there)


def _damage(states: Mapping[str, FileState]) -> list[str]:
    """Return a line for each file that is no longer what it was."""
    damage = []
    for path, state in states.items():
        if not Path(path).is_file():
            damage.append(f"{path} is gone, making it again")
        elif not _unchanged(Path(path), state):
            damage.append(f"{path} is damaged, its checksum is another; making it again")
    return damage


def _unchanged(path: Path, state: FileState) -> bool:
    status = path.stat()
    if status.st_size != state.size:
        return False
    return status.st_mtime_ns == state.modified or state_of(path).sha256 == state.sha256


def states_of(files: Iterable[Path]) -> dict[str, FileState]:
    """Return what files are now, by path."""
    return {os.fspath(file): state_of(file) for file in files}


def state_of(path: Path) -> FileState:
    """Return what a file is now."""
    status = path.stat()
    return _read_state(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=100_000)
def _read_state(path: Path, size: int, modified: int) -> FileState:
    """Read a file once while it is the same, though every iteration may need its checksum."""
    return FileState(size, modified, sha256_of(path))


def marker_of(folder: Path, iteration: int, name: str) -> Path:
    """Return where the marker of a stage lies."""
    return folder / f"{iteration:04}" / f"{name}.json"


def read_marker(path: Path) -> Marker | None:
    """Return a marker, None where there is none."""
    if not path.exists():
        return None
    fix = "remove it, and the stage is made again"
    return read_record(path, Marker, what="a stage's marker", fix=fix)


def _write(path: Path, marker: Marker) -> None:
    write_bytes(path, msgspec.json.format(msgspec.json.encode(marker), indent=1))

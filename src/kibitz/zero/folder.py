"""What a run keeps on the disk: all state of learning is these files, each written atomically.

    learn.toml                      the settings
    games/0003/*.shard              games that network 3 played, by generations
    groups/0003/00012.json          figures of a finished group of them; numbers go on from
                                    generation to generation
    training/0004/                  settings, metrics and, while it goes on, checkpoints
    networks/0004[-int8].safetensors
    trained/0004.json               figures of a finished training: now generation 4 begins
    matches/0004-*.jsonl            journals of rating matches
    rated/0004.json                 what came of them
    generations.jsonl               a line for each generation: settings and figures
    best.safetensors                the network that plays: `kibitz play --network FOLDER`
    damaged/                        shards that were put aside
    claims/, processes/             locks of groups being played; what processes do right now

A stage is done when its last file is there, so a process may be killed at any moment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, NamedTuple, TypeVar, cast

import msgspec

from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.journal import lock, locked, open_lock, read_record
from kibitz.core.log import Level, Stop, level, set_level
from kibitz.core.settings import FILE, dump
from kibitz.core.workers import processors
from kibitz.data.store import Store
from kibitz.nets.discover import RUN
from kibitz.nets.files import load
from kibitz.nets.models.make import create, float_sparse, quantise_sparse
from kibitz.zero.config import Learn, LearnSettings, from_file

Record = TypeVar("Record", bound=msgspec.Struct)
SETTINGS = RUN
NOW_SECONDS = 2.0  # between two words on what is being done
HEARD_SECONDS = 120.0  # a process that says nothing for so long is not shown
NO_RECORD = "a record of learning"
COPY_BACK = "copy it back; if it is the last of its kind, remove it: it is made again"
CLAIMS = "claims"
LOCK = ".lock"  # beside what a process says: held as long as it lives


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group of games that is finished."""

    games: int
    positions: int
    playouts: int
    white: int
    draws: int
    black: int
    seconds: float
    processor: float  # seconds, of all cores
    playouts_set: int  # for a move
    sc_limit: int


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Games of a generation's network against one opponent."""

    opponent: str  # a name, or the number of a generation
    wins: int
    draws: int
    losses: int
    pairs: tuple[
        int, ...
    ] = ()  # by the network's results, as in arena/match/elo.py; none in old runs
    identity: str = ""  # who the opponent was: settings, network, search, version
    called: str = ""  # by the program itself, where the settings give it no name


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """A finished training, and whether its network plays the games of its generation."""

    generation: int
    size: str
    plays: int  # the generation whose network plays: its own, or an earlier one's by the gate
    window: int  # positions learned from
    steps: int
    rate: float
    losses: dict[str, float]
    validation: dict[str, float]
    processor: float
    seconds: float = 0.0
    gate: float | None = None  # score against the network that had played
    gate_games: Result | None = None


class Rated(msgspec.Struct, frozen=True, kw_only=True):
    """The rating match of a generation."""

    generation: int
    results: tuple[Result, ...]
    processor: float
    seconds: float = 0.0
    identity: str = ""  # who the network's player was


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """What a process does right now."""

    role: str
    stage: str
    generation: int
    done: float
    total: float
    rate: float  # of `done`, a second
    time: float
    process: int
    until: float = 0.0  # when the hours that it was given are over; 0: never


class Folder:
    """A run's folder; its properties are read from the disk, so that several processes agree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[Path, msgspec.Struct] = {}
        self._sound: set[Path] = set()  # shards that were checked

    # --- settings ---------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether a run has begun here."""
        return (self.root / SETTINGS).is_file()

    def begin(self, settings: LearnSettings, *, join: bool = False) -> None:
        """Write the settings, with their explanations; to join is to leave those of another."""
        fix = "name an empty folder or a new one"
        if self.root.exists() and not self.root.is_dir():
            raise InputError("not a folder", value=str(self.root), fix=fix)
        others = [] if self.exists else [path.name for path in sorted(self.root.glob("[!.]*"))]
        if others and others != [FILE]:
            raise InputError(f"other files are here, {others[0]}", value=str(self.root), fix=fix)
        if settings.learn.is_taught and not self.exists:
            float_sparse(Path(settings.learn.start))  # or it is refused, before anything is written
        with locked(self.root / LOCK):  # of processes that start at once only one writes
            if not (join and self.exists):
                write_bytes(self.root / SETTINGS, dump(settings).encode())

    def settings(self, overrides: tuple[str, ...] = ()) -> LearnSettings:
        """The settings as the file has them."""
        if not self.exists:
            raise InputError("no run here", value=str(self.root), fix="begin one: kibitz learn DIR")
        return from_file(self.root / SETTINGS, overrides)

    # --- generations ------------------------------------------------------------------------------

    @property
    def newest(self) -> int:
        """The generation that plays now: that of the last network, 0 before the first."""
        return max(self.trained(), default=0)

    def network(self, generation: int, *, playing: bool = True) -> Path:
        """The network of a generation: the one that plays, or the float one to train on."""
        return self.root / "networks" / f"{generation:04}{'-int8' * playing}.safetensors"

    def player(self, generation: int, settings: LearnSettings) -> str:
        """What plays the games of a generation."""
        if not generation:
            return self.start(settings.learn)
        return str(self.network(self.trained()[generation].plays))

    def start(self, learn: Learn) -> str:
        """What plays generation 0; its network is made, or copied, where it is missing."""
        if learn.start != "random" and not learn.is_taught:
            return learn.start
        playing, first = self.network(0), self.network(0, playing=False)
        if not playing.is_file():
            if learn.is_taught:
                write_bytes(first, read_bytes(learn.start))
            else:
                create(learn.network, first, f"{self.root.resolve().name}-0000", learn.seed)
            quantise_sparse(first, playing, "int8")
        return str(playing)

    def check_networks(self) -> None:
        """Refuse to go on with damaged networks: what plays now and what is trained on."""
        if not self.newest:
            return
        plays = self.trained()[self.newest].plays
        for generation, playing in ((self.newest, False), (plays, True)):
            path = self.network(generation, playing=playing)
            if not generation:
                continue
            try:
                load(path)
            except FileError as error:
                record = self.root / "trained" / f"{generation:04}.json"
                fix = f"copy it back, or remove {record}: the network is trained again"
                what = "a network of the run is damaged or missing"
                raise DamagedFileError(what, value=str(path), fix=fix) from error

    def training(self, generation: int) -> Path:
        """The folder of a generation's training."""
        return self.root / "training" / f"{generation:04}"

    # --- games ------------------------------------------------------------------------------------

    def games(self, generation: int | None = None) -> Path:
        """The folder of a generation's games, or of all."""
        return self.root / "games" / ("" if generation is None else f"{generation:04}")

    def group_file(self, generation: int, group: int) -> Path:
        """The file that says that a group is finished."""
        return self.root / "groups" / f"{generation:04}" / f"{group:05}.json"

    def groups(self, generation: int) -> dict[int, Group]:
        """The finished groups of a generation."""
        return self._records(f"groups/{generation:04}", Group)

    @property
    def all_games(self) -> int:
        """Games of all generations."""
        generations = range(self.newest + 1)
        return sum(group.games for at in generations for group in self.groups(at).values())

    def finished_groups(self) -> set[int]:
        """The numbers of all groups that are finished, of whatever generation."""
        return {int(path.stem) for path in (self.root / "groups").glob("*/*.json")}

    @contextmanager
    def claim(self, generation: int, group: int) -> Iterator[bool]:
        """Hold a group's lock while its games are played; False if it is not to be played.

        That is where another process plays it, or where it was begun in another generation: a
        group's number stands for random numbers that no other games may have.

        The system takes the lock from a process that ends, however it ends, so that another one
        goes on with the group at once.
        """
        with open_lock(self.claim_file(group)) as file:
            yield lock(file, wait=False) and _begun_in(file, generation)

    def claim_file(self, group: int) -> Path:
        """The file whose lock is held while a group is played; it says in which generation."""
        return self.root / CLAIMS / f"{group:05}"

    def put_damaged_aside(self, first: int) -> None:
        """Move shards from a generation on that are damaged out of the way, each with a line."""
        games, folder = self.games(), self.root / "damaged"
        late = [path for path in games.rglob("*.shard") if path.parent.name >= f"{first:04}"]
        store = Store(sorted({*late} - self._sound), f"in {folder}")
        self._sound |= {Path(str(path)) for path, _ in store.headers()}
        for name in store.damaged:
            new = folder / Path(name).relative_to(games)
            new.parent.mkdir(parents=True, exist_ok=True)
            Path(name).replace(new)

    # --- records ----------------------------------------------------------------------------------

    def trained(self) -> dict[int, Trained]:
        """The finished trainings by the generation that begins with them."""
        return self._records("trained", Trained)

    def rated(self) -> dict[int, Rated]:
        """The finished rating matches by generation."""
        return self._records("rated", Rated)

    def met(self) -> dict[int, Rated]:
        """The matches between two arms by generation."""
        return self._records("met", Rated)

    def write(self, file: Path, record: msgspec.Struct) -> None:
        """Write a record; from now on its stage is done."""
        write_bytes(file, msgspec.json.encode(record))

    def _records(self, folder: str, kind: type[Record]) -> dict[int, Record]:
        """The records of a folder by number; each is read once, for none ever changes."""
        paths = sorted((self.root / folder).glob("*.json"))
        for path in paths:
            if path not in self._read:
                self._read[path] = read_record(path, kind, what=NO_RECORD, fix=COPY_BACK)
        return {int(path.stem): cast(Record, self._read[path]) for path in paths}

    # --- what processes do right now --------------------------------------------------------------

    @contextmanager
    def present(self, role: str) -> Iterator[None]:
        """Report what this process does to `heard`, until it ends.

        The system takes the lock from a process that is killed.
        """
        path = self._now(role)
        with open_lock(path.with_suffix(LOCK)) as file:
            lock(file)
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
        path.with_suffix(LOCK).unlink(missing_ok=True)

    def say_now(self, now: Now) -> None:
        """Say what this process does."""
        write_bytes(self._now(now.role), msgspec.json.encode(now))

    def _now(self, role: str) -> Path:
        return self.root / "processes" / f"{role}-{os.getpid()}.json"

    def live_processes(self) -> list[Now]:
        """What running processes have lately reported."""
        return [now for path, now in self._said().items() if not _silent(path, now)]

    def remove_dead_processes(self) -> None:
        """Remove the reports of processes that were killed."""
        for path, now in self._said().items():
            if _silent(path, now):
                path.unlink(missing_ok=True)
                path.with_suffix(LOCK).unlink(missing_ok=True)

    def _said(self) -> dict[Path, Now]:
        records = {}
        for path in sorted((self.root / "processes").glob("*.json")):
            with suppress(FileError):  # it may end between the two lines
                records[path] = read_record(path, Now, what=NO_RECORD, fix=COPY_BACK)
        return records


def _begun_in(file: IO[bytes], generation: int) -> bool:
    """Whether a group, whose lock is held, was begun in this generation; a new one is now."""
    file.seek(0)
    begun = file.read()
    if not begun:
        file.write(str(generation).encode())
        file.flush()
    return begun in (b"", str(generation).encode())


def _silent(path: Path, now: Now) -> bool:
    lock_file = path.with_suffix(LOCK)
    if time.time() - now.time > HEARD_SECONDS:
        return True
    if not lock_file.exists():
        return False
    with open_lock(lock_file) as file:
        return lock(file, wait=False)


# --- what is done ---------------------------------------------------------------------------------
#
# What every stage of learning is given, and how it says what it does.


@dataclass
class Work:
    """What every stage needs; says in the folder what is being done."""

    folder: Folder
    settings: LearnSettings
    stop: Stop
    role: str
    stage: str = ""
    generation: int = 0
    until: float = 0.0  # when the hours are over, seconds since 1970; 0: never
    done: float = 0.0
    total: float = 0.0
    _began: float = 0.0
    _said: float = 0.0
    _first: float = 0.0
    _measured: bool = False  # whether anything was done since this stage began

    @property
    def cores(self) -> int:
        """Processors to be used."""
        return self.settings.learn.cores or processors()

    def begin(self, stage: str, generation: int, total: float = 0.0, done: float = 0.0) -> None:
        """Say that a stage begins, with so much to be done, of which some is done."""
        self.stage, self.generation, self.total, self.done = stage, generation, total, done
        self._began, self._said, self._first = time.monotonic(), 0.0, done
        self._measured = False
        self.advance(0)

    def reach(self, done: float) -> None:
        """Say that so much is done in all; what was done before counts for no speed."""
        if self.done:
            self.advance(done - self.done)
        else:
            self.begin(self.stage, self.generation, self.total, done)

    def advance(self, amount: float = 1.0) -> None:
        """Say that more is done, every few seconds.

        Speed is measured from the first that is done: kernels may be compiled before it.
        """
        moment = time.monotonic()
        if amount and not self._measured:
            self._began, self._first, self._measured = moment, self.done + amount, True
        self.done += amount
        if moment - self._said < NOW_SECONDS:
            return
        self._said = moment
        seconds = moment - self._began
        now = Now(
            role=self.role,
            stage=self.stage,
            generation=self.generation,
            done=self.done,
            total=self.total,
            rate=(self.done - self._first) / seconds if seconds > 0 else 0.0,
            time=time.time(),
            process=os.getpid(),
            until=self.until,
        )
        self.folder.say_now(now)


def processor_seconds() -> float:
    """Return the processor time of this process and of those it has waited for."""
    return sum(os.times()[:4])


@contextmanager
def quietly() -> Iterator[None]:
    """Let what runs inside say nothing, unless more than usual is wanted."""
    before = level()
    set_level(Level.QUIET if before is Level.NORMAL else before)
    try:
        yield
    finally:
        set_level(before)


# --- the window, and what is not needed -----------------------------------------------------------
#
# What a run learns from, and what it needs no more: games that left the window, leavings.


class Outdated(NamedTuple):
    """Files of a generation that nothing reads any more."""

    generation: int
    what: str
    paths: tuple[Path, ...]
    size: int  # bytes

    @property
    def files(self) -> int:
        """How many there are."""
        return len(self.paths)

    def delete(self) -> None:
        """Delete them."""
        for path in self.paths:
            path.unlink()


def positions_by(folder: Folder, generations: int) -> list[int]:
    """Positions in the games of each of so many generations."""
    return [
        sum(group.positions for group in folder.groups(number).values())
        for number in range(generations)
    ]


def window_begins(folder: Folder, generation: int) -> tuple[int, int]:
    """The first generation that the training of a network learns from, and how many positions."""
    positions = positions_by(folder, generation)
    size = folder.settings().learn.window_of(sum(positions))
    back = [*accumulate(reversed(positions))]
    reach = next((n for n, total in enumerate(back, 1) if total >= size), len(back))
    return generation - reach, size


def outdated(folder: Folder) -> list[Outdated]:
    """What can be deleted: networks, records and the games of the window stay.

    The generation before the window stays, too, for groups that come late move its beginning.
    """
    newest = folder.newest
    first, _ = window_begins(folder, newest + 1)
    groups = []
    for generation in range(newest + 1):
        kinds = {
            "claims": map(folder.claim_file, folder.groups(generation)),
            "games": folder.games(generation).glob("*.shard"),
            "damaged games": (folder.root / "damaged" / f"{generation:04}").glob("*.shard"),
            "checkpoints": folder.training(generation).rglob("*.safetensors"),
        }
        needed = {"claims": newest, "games": first - 1, "checkpoints": newest + 1}
        for what, paths in kinds.items():
            files = tuple(sorted(path for path in paths if path.exists()))
            if files and generation < needed.get(what, newest + 1):
                size = sum(path.stat().st_size for path in files)
                groups.append(Outdated(generation, what, files, size))
    return groups

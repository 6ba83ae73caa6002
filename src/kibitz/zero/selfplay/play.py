"""Games of a network against itself, into shards; what was not finished is kept."""

from __future__ import annotations

import struct
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import zstandard

from kibitz.core.errors import InputError
from kibitz.core.files import read_bytes, write_bytes
from kibitz.core.journal import GrowingFile
from kibitz.core.log import Stop, say
from kibitz.core.places import Place, files_below, place
from kibitz.core.unpacking import unzstd
from kibitz.data.openings import digest, read_openings
from kibitz.data.shard import SUFFIX, Header, Shard, counted, offsets_of, provenance
from kibitz.data.store import GENERATION, Store, add, differing
from kibitz.nets.discover import halves, named, resolve, take_part
from kibitz.nets.files import read_card
from kibitz.nets.load import SIMPLE
from kibitz.position.state import POSITION
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.game import ENDS, PLY, VISIT, Finished, packed_starts
from kibitz.zero.selfplay.players import Players

UNFINISHED = ".part"
SAVE_SECONDS = 30.0  # between two times that the games of a group are kept behind a URL
MARK = b"kibitz-part-2"
FRAME = struct.Struct("<II")  # before a piece of such a file: its bytes and their CRC-32
ARRAYS = {"start": POSITION, "plies": PLY, "visits": VISIT}
TYPES = [str(dtype) for dtype in ARRAYS.values()]  # what the bytes of the arrays mean


class Unfinished:
    """The files of a run's groups, each known by the number of its first game.

    A file begins with what its games have in common, and each game is added when it is over.
    """

    def __init__(self, folder: Place, about: dict[str, Any], wanted: range) -> None:
        """`about` is how the games were played, `wanted` the numbers of the run's games."""
        self._folder, self._about, self._wanted = folder, about, wanted
        self._prefix = f"selfplay-{about[GENERATION]:04d}-{about['seed']}-"
        self._saved = defaultdict[int, float](time.monotonic)
        self._growing: dict[int, GrowingFile] = {}

    def add(self, first: int, games: Sequence[Finished]) -> None:
        """Keep the last of a group's games; behind a URL, where no file grows, all now and then."""
        if first in self._growing:
            self._growing[first].add(_framed(_row(games[-1])))
        elif isinstance(self._folder, Path):
            self._growing[first] = GrowingFile(Path(self._save(first, games)))
        elif time.monotonic() - self._saved[first] > SAVE_SECONDS:
            self._save(first, games)

    def close(self, first: int) -> None:
        """Add nothing more to a group's file."""
        if growing := self._growing.pop(first, None):
            growing.close()

    def finish(self, waiting: Mapping[int, Sequence[Finished]]) -> None:
        """Keep the games of groups that are not complete, and remove the files of all others."""
        for first, games in waiting.items():
            if first not in self._growing:
                self._save(first, games)
        for first in [*self._growing]:
            self.close(first)
        for first, path in self._files().items():
            if first not in waiting:
                path.unlink()

    def load(self) -> dict[int, Finished]:
        """All games that are kept, by their numbers."""
        return {game.number: game for path in self._files().values() for game in self._read(path)}

    def _save(self, first: int, games: Iterable[Finished]) -> Place:
        """Write the file of a group anew."""
        pieces = [_framed([self._about, TYPES]), *(_framed(_row(game)) for game in games)]
        path = self._folder / f"{self._prefix}{first:08d}{UNFINISHED}"
        write_bytes(path, MARK + b"".join(pieces))
        self._saved[first] = time.monotonic()
        return path

    def _files(self) -> dict[int, Place]:
        """The run's files by the first number of the group; other processes have their own."""
        files = {}
        for path in files_below(self._folder, f"{self._prefix}*{UNFINISHED}"):
            number = path.name.removeprefix(self._prefix).removesuffix(UNFINISHED)
            if number.isdecimal() and int(number) in self._wanted:
                files[int(number)] = path
        return files

    def _read(self, path: Place) -> list[Finished]:
        """The games of a file; with a line, none of another kind, and none after a damaged one."""
        pieces, sound = _unframed(read_bytes(path))
        if not sound:
            say(f"damaged, its games are played again: {path}")
        rows = [msgspec.msgpack.decode(unzstd(piece, path)) for piece in pieces]
        if rows and rows[0] != [self._about, TYPES]:
            say(f"games of other settings, or of another version, are played again: {path}")
            return []
        return [_game(row) for row in rows[1:]]


def _framed(content: Any) -> bytes:
    """A piece of a file: its size and checksum, then the content, compressed."""
    piece = zstandard.compress(msgspec.msgpack.encode(content))
    return FRAME.pack(len(piece), zlib.crc32(piece)) + piece


def _unframed(content: bytes) -> tuple[list[bytes], bool]:
    """The whole pieces of a file, and whether all are as they were written.

    The last one may be cut short: the process was killed while it wrote.
    """
    pieces, place = list[bytes](), len(MARK)
    if content[:place] != MARK:
        return [], False
    while place + FRAME.size <= len(content):
        size, checksum = FRAME.unpack_from(content, place)
        begin = place + FRAME.size
        place = begin + size
        if place <= len(content):
            if zlib.crc32(content[begin:place]) != checksum:
                return pieces, False
            pieces.append(content[begin:place])
    return pieces, True


def _row(game: Finished) -> list[Any]:
    """A game as it is written."""
    values = (getattr(game, field.name) for field in fields(game))
    return [value.tobytes() if isinstance(value, np.ndarray) else value for value in values]


def _game(row: list[Any]) -> Finished:
    """A game as it was written."""
    values = {field.name: value for field, value in zip(fields(Finished), row, strict=True)}
    for name, dtype in ARRAYS.items():
        values[name] = np.frombuffer(values[name], dtype=dtype).copy()
    return Finished(**values)


# --- playing --------------------------------------------------------------------------------------
#
# Games against itself, many at a time, into shards: what can be stopped and goes on.
#
# Game n follows from the seed, n, the settings and the network alone. A group of games is a shard,
# written when its last game is over; until then the games that are over are kept in a file beside
# it. Games that are in the folder already are not played again.


KIND = "selfplay"
NUMBER_BITS = 24  # a game's seed in a shard is the run's, followed by its number


class GameSummary(NamedTuple):
    """What came of a game."""

    number: int
    plies: int
    result: int  # White's view
    end: str
    playouts: int
    repeated: bool  # another game of this run was the same, move by move
    given_up: int  # the side that first would have resigned, 1 White, 2 Black; 0 none
    wrongly: bool  # it was played out, and that side did not lose
    game: Finished


@dataclass
class SelfPlayReport:
    """What came of a run; the games played now, not those that were in the folder."""

    games: int = 0
    plies: int = 0
    playouts: int = 0
    seconds: float = 0.0
    white: int = 0
    draws: int = 0
    black: int = 0
    repeated: int = 0
    given_up: int = 0  # games in which a side would have resigned, of those played out
    wrongly: int = 0  # and in which it did not lose
    there: int = 0  # games that were in the folder already
    shards: int = 0
    damaged: list[str] = field(default_factory=list)  # shards, played again
    ends: Counter[str] = field(default_factory=Counter)
    lengths: list[int] = field(default_factory=list)
    batches: int = 0  # of networks asked in batches: evaluations, leaves in them, room for leaves
    leaves: int = 0
    room: int = 0
    stopped: bool = False

    def facts(self) -> dict[str, Any]:
        """The report as plain data."""
        seconds, lengths = max(self.seconds, 1e-9), sorted(self.lengths)
        quarters = [lengths[len(lengths) * part // 4] for part in (1, 2, 3)] if lengths else []
        facts: dict[str, Any] = {
            "games": self.games,
            "there": self.there,
            "plies": self.plies,
            "playouts": self.playouts,
            "seconds": round(self.seconds, 2),
            "games_per_second": round(self.games / seconds, 3),
            "moves_per_second": round(self.plies / seconds, 1),
            "playouts_per_second": round(self.playouts / seconds),
            "results": {"white": self.white, "draws": self.draws, "black": self.black},
            "ends": dict(self.ends.most_common()),
            "mean_length": round(self.plies / max(self.games, 1), 1),
            "length_quartiles": quarters,
            "longest": lengths[-1] if lengths else 0,
            "repeated": self.repeated,
            "shards": self.shards,
            "damaged": self.damaged,
            "stopped": self.stopped,
        }
        if self.given_up:
            facts["resignations_played_out"] = self.given_up
            facts["wrong_resignations"] = self.wrongly
        if self.batches:
            facts["batch_fill"] = round(self.leaves / self.room, 4)
            facts["leaves_per_batch"] = round(self.leaves / self.batches, 1)
        return facts


class _Run:
    """Shares out the numbers of games among threads, and writes groups that are complete."""

    def __init__(
        self,
        folder: Place,
        groups: Sequence[range],
        about: dict[str, Any],
        unfinished: Unfinished,
        report: SelfPlayReport,
        stop: Stop,
        on_game: Callable[[GameSummary], None] | None,
    ) -> None:
        self._folder, self._about, self._report = folder, about, report
        self._stop, self._on_game, self._lock = stop, on_game, threading.Lock()
        self._group = {number: group for group in groups for number in group}
        self._waiting: defaultdict[range, list[Finished]] = defaultdict(list)
        self._unfinished, there = unfinished, set()
        earlier = unfinished.load()
        for group in groups:  # one game at least is played: the one that completes the group
            if games := [earlier[number] for number in group[:-1] if number in earlier]:
                self._waiting[group] = games
                there |= {game.number for game in games}
        self._numbers = iter([number for number in self._group if number not in there])
        report.there += len(there)
        self._seen: set[bytes] = set()
        self.failed = False

    @property
    def stopped(self) -> bool:
        """Whether to leave games in the middle."""
        return self._stop.requested or self.failed

    def following(self) -> int | None:
        """The number of a game to play; None: no more."""
        with self._lock:
            return None if self.stopped else next(self._numbers, None)

    def keep(self, game: Finished) -> None:
        """Take a finished game; its group is written if this was the last one missing."""
        with self._lock:
            group = self._group[game.number]
            waiting = self._waiting[group]
            waiting.append(game)
            summary = self._summary(game)
            self._count(summary)
            if self._on_game is not None:
                self._on_game(summary)
            if len(waiting) < len(group):
                self._unfinished.add(group[0], waiting)
                return
            del self._waiting[group]
            self._unfinished.close(group[0])
            self._report.shards += 1
        games = sorted(waiting, key=lambda game: game.number)
        stem = f"{KIND}-{self._about[GENERATION]:04d}-{games[0].number:08d}"
        add(self._folder, as_shard(games, self._about), stem)

    def keep_unfinished(self) -> None:
        """Keep the finished games of groups that are not complete, for the next start."""
        with self._lock:
            self._unfinished.finish({group[0]: games for group, games in self._waiting.items()})

    def _summary(self, game: Finished) -> GameSummary:
        moves = game.start.tobytes() + game.plies["move"].tobytes()
        repeated = moves in self._seen
        self._seen.add(moves)
        lost = {1: -1, 2: 1}.get(game.given_up)
        wrongly = game.played_out and lost is not None and game.result != lost
        numbers = (len(game.plies), game.result, ENDS[game.end], game.playouts)
        return GameSummary(game.number, *numbers, repeated, game.given_up, wrongly, game)

    def _count(self, game: GameSummary) -> None:
        report = self._report
        report.games += 1
        report.plies += game.plies
        report.playouts += game.playouts
        report.white += game.result == 1
        report.draws += game.result == 0
        report.black += game.result == -1
        report.repeated += game.repeated
        report.given_up += bool(game.given_up and game.game.played_out)
        report.wrongly += game.wrongly
        report.ends[game.end] += 1
        report.lengths.append(game.plies)


def play(
    network: str,
    settings: SelfPlay,
    folder: str | Place,
    *,
    games: int,
    seed: int,
    generation: int = 0,
    first: int = 0,
    stop: Stop | None = None,
    on_game: Callable[[GameSummary], None] | None = None,
) -> SelfPlayReport:
    """Play games number `first` to `first + games - 1` that are not in the folder yet.

    `on_game` is called after each game, by one thread at a time.
    """
    if not (0 <= seed < 1 << 64 - NUMBER_BITS and 0 <= first <= first + games <= 1 << NUMBER_BITS):
        limits = f"seeds below 2^{64 - NUMBER_BITS}, numbers below 2^{NUMBER_BITS}"
        raise InputError("selfplay: seed or numbers", value=(seed, first, games), fix=limits)
    settings, where = settings.validated(), resolve(network)
    book = read_openings(settings.openings) if settings.openings else []
    about = about_games(where, settings, seed, generation)
    about["settings"]["openings"] = digest(book) if book else ""
    report, output, began = SelfPlayReport(), place(folder), time.monotonic()
    groups = _missing(output, about, settings.group, range(first, first + games), report)
    if groups:
        _try_to_write(output)
    unfinished = Unfinished(output, about, range(first, first + games))
    run = _Run(output, groups, about, unfinished, report, stop or Stop(), on_game)
    players = Players(where, settings, seed, book)
    if groups:
        try:
            players.play(run, sum(map(len, groups)))
        finally:
            run.keep_unfinished()
    report.seconds = time.monotonic() - began
    report.stopped = run.stopped and report.games + report.there < games
    counting = players.counting
    if counting is not None:
        report.batches, report.leaves = counting.batches, counting.leaves
        report.room = counting.batches * settings.rows
    return report


# --- shards ---------------------------------------------------------------------------------------


def about_games(where: str, settings: SelfPlay, seed: int, generation: int) -> dict[str, Any]:
    """What shards say about how their games were played: games of one kind say the same."""
    take_part(where, later=True)
    about = {
        "network": Path(named(where)).name,
        "sha256": _checksum(where),
        GENERATION: generation,
        "seed": seed,
        "settings": settings.of_games(),
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(about))
    return plain


def _checksum(where: str) -> str:
    """The checksum of a network's weights, empty for the built-in evaluators."""
    pair = halves(where)
    if pair is not None:
        return "+".join(_checksum(str(half)) for half in pair)
    return "" if where in SIMPLE else read_card(where).sha256


def _try_to_write(folder: Place) -> None:
    """Raise an error now, not after a group of games, if the folder cannot be written."""
    trial = folder / f"{KIND}.trial"
    write_bytes(trial, b"")
    trial.unlink()


def _missing(
    folder: Place, about: dict[str, Any], size: int, wanted: range, report: SelfPlayReport
) -> list[range]:
    """The groups of games to play: those that are in no sound shard of the folder yet."""
    there: set[int] = set()
    store = Store(files_below(folder, f"*{SUFFIX}") if folder.is_dir() else [], "played again")
    for path, header in store.headers():
        origin = header.provenance.get(KIND)
        same = ("seed", GENERATION)
        if origin is None or any(origin[name] != about[name] for name in same):
            continue
        if origin != about:
            raise _of_another_kind(path, origin, about)
        begin = header.provenance["first"]
        there |= {*range(begin, begin + header.games)}
    report.damaged = [*store.damaged]
    report.there = len(there & {*wanted})
    return [*_groups([number for number in wanted if number not in there], size)]


def _of_another_kind(path: Place, stored: dict[str, Any], about: dict[str, Any]) -> InputError:
    """What a shard's games were played with that is not what is wanted now."""
    names = [name for name in about if stored.get(name) != about[name]]
    there, now = (facts | facts.get("settings", {}) | {"settings": ""} for facts in (stored, about))
    fix = "take another seed, generation or folder"
    what = f"games of other {', '.join(names)} ({'; '.join(differing(there, now))})"
    return InputError(what, value=str(path), fix=fix)


def _groups(numbers: Sequence[int], size: int) -> Iterator[range]:
    """Ranges of numbers, cut at multiples of the size."""
    start = 0
    for place_of, number in enumerate(numbers):
        following = numbers[place_of + 1] if place_of + 1 < len(numbers) else -1
        if following != number + 1 or following % size == 0:
            yield range(numbers[start], number + 1)
            start = place_of + 1


def as_shard(games: Sequence[Finished], about: dict[str, Any] | None = None) -> Shard:
    """Finished games, in order, as a shard; `about` is what they have in common."""
    about = about or {GENERATION: 0, "seed": 0}
    seeds = [about["seed"] << NUMBER_BITS | game.number for game in games]
    plies = np.concatenate([game.plies for game in games])
    visits = np.concatenate([game.visits for game in games])
    ends = [np.diff(game.plies["visits_end"], prepend=0) for game in games]
    source = {"kind": KIND, **{name: about[name] for name in about if name != "seed"}}
    made = provenance(KIND) | {GENERATION: about[GENERATION], KIND: about, "first": games[0].number}
    return counted(
        Shard(
            header=Header(sources=(source,), ends=ENDS, provenance=made),
            starts=packed_starts([*games]),
            offsets=offsets_of(np.array([len(game.plies) for game in games], dtype=np.int64)),
            results=np.array([game.result for game in games], dtype=np.int8),
            ends=np.array([game.end for game in games], dtype=np.uint8),
            sources=np.zeros(len(games), dtype=np.uint16),
            seeds=np.array(seeds, dtype=np.uint64),
            moves=plies["move"],
            values=plies["value"],
            draws=plies["draw"],
            root_values=plies["root_value"],
            flags=plies["flags"],
            visit_offsets=offsets_of(np.concatenate(ends)),
            visit_moves=visits["move"],
            visit_counts=visits["count"],
        )
    )

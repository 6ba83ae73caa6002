"""Playing what an experiment needs: games of two players, or of a network against itself.

The room match plays the games of a MatchCell into a journal in FOLDER/games, the room selfplay
those of a SelfCell into shards of a folder there; a Laboratory reads both.

The name of a cell's file or folder follows from all that decides its games, so that experiments
with a cell in common share its games, and a plan that is changed begins new ones. Games against
itself are played in compiled code, some ten times as fast as those of two players.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from kibitz.arena.match.game import Rules, Terms
from kibitz.arena.match.journal import Journal, PlayedGame
from kibitz.arena.match.runner import Setup, run
from kibitz.core.files import crc32_of
from kibitz.core.log import Stop
from kibitz.core.places import files_below
from kibitz.data.shard import SUFFIX
from kibitz.engine.options import chosen
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.play import GameSummary, about_games, play
from research.contempt.counts import HasMoves, Moves, mean_plies, of_shards

USUAL_PLIES = 120  # of a game of which nothing is known yet
SAMPLE_MOVES = 8  # of both players of a match, to measure the speed,
SAMPLE_GAMES, SAMPLE_PLIES = 5, 40  # and of games against itself

Played = TypeVar("Played", bound=HasMoves, covariant=True)


class Speed(NamedTuple):
    """What a ply costs."""

    nodes: float
    seconds: float


class Cell(Protocol[Played]):
    """Games that become a row of the table, or some numbers of it."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    @property
    def games(self) -> int:
        """How many there are to be."""

    def there(self, folder: Path) -> Sequence[Played]:
        """The finished games, in order."""

    def play(self, folder: Path, stop: Stop, on_game: Callable[[], None]) -> Sequence[Played]:
        """Play what is missing; all games, or those that there are once a stop is requested."""

    def measure(self) -> Speed:
        """Measure the speed by a few moves."""


@dataclass(frozen=True)
class MatchCell:
    """Games of two players or more; the journal is that of `kibitz match --resume`."""

    name: str
    setup: Setup

    @property
    def games(self) -> int:
        """How many there are to be."""
        return self.setup.games

    def _file(self, folder: Path) -> Path:
        header = msgspec.json.encode(self.setup.header())
        return folder / f"{_slug(self.name, header)}.jsonl"

    def there(self, folder: Path) -> list[PlayedGame]:
        """The finished games, in order."""
        if not self._file(folder).exists():
            return []
        with Journal(self.setup.header(), self._file(folder)) as journal:
            return self._wanted(journal)

    def play(self, folder: Path, stop: Stop, on_game: Callable[[], None]) -> list[PlayedGame]:
        """Play what is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        with Journal(self.setup.header(), self._file(folder)) as journal:
            run(self.setup, journal, stop, lambda _: on_game())
            return self._wanted(journal)

    def _wanted(self, journal: Journal) -> list[PlayedGame]:
        """The games of the plan; a journal may have more, of a plan that wanted more."""
        return [journal.games[number] for number in sorted(journal.games) if number < self.games]

    def measure(self) -> Speed:
        """The first moves of a game or two of every two players."""
        short = replace(self.setup, rounds=1, terms=Terms(Rules(max_moves=SAMPLE_MOVES)))
        journal = Journal(short.header())
        run(short, journal, Stop())
        moves = [move for game in journal.games.values() for move in game.moves]
        nodes = sum(move.nodes or 0 for move in moves)
        seconds = sum(move.milliseconds for move in moves) / 1000 / self.setup.concurrency
        return Speed(nodes / len(moves), seconds / len(moves))


@dataclass(frozen=True)
class SelfCell:
    """Games of a network against itself; the folder is that of `kibitz selfplay`."""

    name: str
    network: str
    settings: SelfPlay
    games: int
    seed: int

    def _folder(self, folder: Path) -> Path:
        settings, network = self.settings.validated(), chosen(self.network)
        about = msgspec.json.encode(about_games(network, settings, self.seed, 0))
        return folder / _slug(self.name, about)

    def there(self, folder: Path) -> list[Moves]:
        """The finished games, in order, as far as their groups are complete."""
        place = self._folder(folder)
        return of_shards(files_below(place, f"*{SUFFIX}") if place.is_dir() else [], self.games)

    def play(self, folder: Path, stop: Stop, on_game: Callable[[], None]) -> list[Moves]:
        """Play what is missing."""
        self._play(self._folder(folder), stop, lambda _: on_game())
        return self.there(folder)

    def _play(self, folder: Path, stop: Stop, on_game: Callable[[GameSummary], None]) -> None:
        play(
            chosen(self.network),
            self.settings,
            str(folder),
            games=self.games,
            seed=self.seed,
            stop=stop,
            on_game=on_game,
        )

    def measure(self) -> Speed:
        """Some beginnings of games; the first one, for which kernels are loaded, does not count."""
        short = replace(self.settings, most_plies=SAMPLE_PLIES)
        cell = replace(self, settings=short, games=1 + SAMPLE_GAMES)
        ended: list[tuple[float, GameSummary]] = []
        with tempfile.TemporaryDirectory() as folder:
            cell._play(Path(folder), Stop(), lambda one: ended.append((time.monotonic(), one)))
        plies = sum(one.plies for _, one in ended[1:])
        nodes = sum(one.playouts for _, one in ended[1:])
        return Speed(nodes / plies, (ended[-1][0] - ended[0][0]) / plies)


def _slug(name: str, about: bytes) -> str:
    return f"{re.sub('[^A-Za-z0-9]+', '-', name)}-{crc32_of(about)}"


Kind = TypeVar("Kind", bound=HasMoves)


class Laboratory:
    """Plays what is missing of each cell; asked to stop, it goes on with what is there."""

    def __init__(
        self, folder: Path, stop: Stop, on_game: Callable[[], None] = lambda: None
    ) -> None:
        self.folder, self._stop, self._on_game = folder / "games", stop, on_game

    def play(self, cell: Cell[Kind]) -> Sequence[Kind]:
        """All games of a cell, or as many as there are once a stop is requested."""
        there = cell.there(self.folder)
        if self._stop.requested or len(there) == cell.games:
            return there
        return cell.play(self.folder, self._stop, self._on_game)


class Estimate(NamedTuple):
    """What is still to be played of a cell."""

    cell: str
    games: int
    nodes: int
    hours: float


def estimates(cells: Iterable[Cell[HasMoves]], laboratory: Laboratory) -> list[Estimate]:
    """Of each cell, by its speed now and the length of its games so far."""
    found = []
    for cell in cells:
        there = cell.there(laboratory.folder)
        missing = cell.games - len(there)
        speed = cell.measure() if missing else Speed(0.0, 0.0)
        plies = missing * (mean_plies(there) if there else USUAL_PLIES)
        found.append(
            Estimate(cell.name, missing, round(plies * speed.nodes), plies * speed.seconds / 3600)
        )
    return found

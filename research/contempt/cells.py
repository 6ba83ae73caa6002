"""Playing what an experiment needs: games of two players, or of a network against itself.

The room match plays the games of a MatchCell into a journal in FOLDER/games, the room selfplay
those of a SelfCell into shards of a folder there; a Session reads both.

The name of a cell's file or folder follows from all that decides its games, so that experiments
with a cell in common share its games, and a plan that is changed begins new ones. Games against
itself are played in compiled code, some ten times as fast as those of two players.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from kibitz.arena.match.journal import Journal, PlayedGame
from kibitz.arena.match.runner import Setup, run, run_together
from kibitz.core.files import crc32_of
from kibitz.core.log import Stop
from kibitz.core.places import files_below
from kibitz.data.shard import SUFFIX
from kibitz.engine.options import chosen
from kibitz.zero.selfplay.config import SelfPlay
from kibitz.zero.selfplay.play import GameSummary, about_games, play
from research.contempt.counts import HasMoves, Moves, mean_plies, of_shards

USUAL_PLIES = 120  # of a game of which nothing is known yet

Played = TypeVar("Played", bound=HasMoves, covariant=True)


class Speed(NamedTuple):
    """What a ply costs, as far as settings and games that are there say it."""

    nodes: float | None
    seconds: float | None


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

    def speed(self, folder: Path) -> Speed:
        """What a ply costs; nothing is played or compiled for it."""


@dataclass(frozen=True)
class MatchCell:
    """Games of two players or more; the journal is that of `kibitz match --resume`."""

    name: str
    setup: Setup

    @property
    def games(self) -> int:
        """How many there are to be."""
        return self.setup.games

    @property
    def slug(self) -> str:
        """Its name, as part of files' names."""
        return _bare(self.name)

    def _file(self, folder: Path) -> Path:
        header = msgspec.json.encode(self.setup.header())
        return folder / f"{_slug(self.name, header)}.jsonl"

    def there(self, folder: Path) -> list[PlayedGame]:
        """The finished games, in order."""
        if not self._file(folder).exists():
            return []
        with self.journal(folder) as journal:
            return self._wanted(journal)

    def play(self, folder: Path, stop: Stop, on_game: Callable[[], None]) -> list[PlayedGame]:
        """Play what is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        with self.journal(folder) as journal:
            run(self.setup, journal, stop, lambda _: on_game())
            return self._wanted(journal)

    def journal(self, folder: Path) -> Journal:
        """Its games, locked for whoever plays on."""
        return Journal(self.setup.header(), self._file(folder))

    def _wanted(self, journal: Journal) -> list[PlayedGame]:
        """The games of the plan; a journal may have more, of a plan that wanted more."""
        return [journal.games[number] for number in sorted(journal.games) if number < self.games]

    def speed(self, folder: Path) -> Speed:
        """By the games that are there, else by the players' limits of nodes."""
        moves = [move for game in self.there(folder) for move in game.moves]
        if moves:
            seconds = sum(move.milliseconds for move in moves) / 1000 / self.setup.concurrency
            return Speed(sum(move.nodes or 0 for move in moves) / len(moves), seconds / len(moves))
        limits = [self.setup.control_of(spec).nodes for spec in self.setup.players]
        numbers = [nodes for nodes in limits if nodes is not None]
        return Speed(sum(numbers) / len(numbers) if len(numbers) == len(limits) else None, None)


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

    def speed(self, folder: Path) -> Speed:  # noqa: ARG002 - shards keep no times
        """By the playouts of the settings."""
        full, fast = self.settings.playouts, self.settings.fast_playouts
        return Speed(full * self.settings.full + fast * (1 - self.settings.full), None)


def _slug(name: str, about: bytes) -> str:
    return f"{_bare(name)}-{crc32_of(about)}"


def _bare(name: str) -> str:
    return re.sub("[^A-Za-z0-9]+", "-", name)


Kind = TypeVar("Kind", bound=HasMoves)


class Session:
    """Plays what is missing of each cell; asked to stop, it goes on with what is there."""

    def __init__(
        self, folder: Path, stop: Stop, on_game: Callable[[], None] = lambda: None
    ) -> None:
        self.folder, self.stop, self._on_game = folder / "games", stop, on_game

    def play(self, cell: Cell[Kind]) -> Sequence[Kind]:
        """All games of a cell, or as many as there are once a stop is requested."""
        there = cell.there(self.folder)
        if self.stop.requested or len(there) == cell.games:
            return there
        return cell.play(self.folder, self.stop, self._on_game)

    def play_together(self, cells: Sequence[MatchCell]) -> None:
        """Play what is missing of matches, on a cluster all of them at once."""
        missing = [cell for cell in cells if len(cell.there(self.folder)) < cell.games]
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opened:
            matches = [
                (cell.setup, opened.enter_context(cell.journal(self.folder))) for cell in missing
            ]
            run_together(matches, self.stop, lambda _: self._on_game())


class Estimate(NamedTuple):
    """What is still to be played of a cell; None where only games can tell it."""

    cell: str
    games: int
    nodes: int | None
    hours: float | None


def estimates(cells: Iterable[Cell[HasMoves]], session: Session) -> list[Estimate]:
    """Of each cell, by its settings and by the games that are there."""
    listed = []
    for cell in cells:
        there, speed = cell.there(session.folder), cell.speed(session.folder)
        missing = cell.games - len(there)
        plies = missing * (mean_plies(there) if there else USUAL_PLIES)
        nodes = None if speed.nodes is None else round(plies * speed.nodes)
        hours = None if speed.seconds is None else plies * speed.seconds / 3600
        listed.append(Estimate(cell.name, missing, nodes, hours if missing else 0.0))
    return listed

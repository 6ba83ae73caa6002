"""`kibitz selfplay` and `kibitz learn`: games against itself, an engine from nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from kibitz.arena.match.spec import parse_players
from kibitz.cli.learn.train import torch_needed
from kibitz.cli.output import EXIT_STOPPED, At, JsonFlag, NetworkFlag, at_least, columns, emit
from kibitz.core.errors import InputError
from kibitz.core.files import open_read, write_bytes
from kibitz.core.log import Bar, Level, console, graceful_stop, level, progress, say
from kibitz.core.places import Place
from kibitz.core.settings import load_table, used
from kibitz.data.openings import read_openings
from kibitz.data.pgn import tree_of
from kibitz.data.shard import games_of
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.nets.discover import named
from kibitz.zero.config import LearnSettings, from_file, refuse_others
from kibitz.zero.folder import Folder
from kibitz.zero.selfplay.config import PRESETS, SelfPlay, preset_changes
from kibitz.zero.selfplay.play import GameSummary, about_games, as_shard, play
from kibitz.zero.status import HEADINGS, Status, cells_of, status_of

if TYPE_CHECKING:
    from rich.console import RenderableType

SEED, GAMES = 1, 100


def selfplay(
    folder: Annotated[At, Parameter(help="Folder for the shards.")],
    *,
    network: NetworkFlag = AUTODISCOVER,
    games: Annotated[int, Parameter(help="Games, those already in the folder included.")] = GAMES,
    preset: Annotated[str, Parameter(help=f"Settings: {', '.join(PRESETS)}.")] = "kibitz",
    setting: Annotated[
        tuple[str, ...], Parameter(name=["--set"], help="As KEY=VALUE; may be repeated.")
    ] = (),
    option: Annotated[
        tuple[str, ...], Parameter(help="Of the search, as NAME=VALUE; may be repeated.")
    ] = (),
    seed: Annotated[int, Parameter(help="The same seed plays the same games.")] = SEED,
    generation: Annotated[int, Parameter(help="Number of the network, for the shards.")] = 0,
    first: Annotated[int, Parameter(help="Number of the first game.")] = 0,
    pgn: Annotated[At | None, Parameter(help="Write games to this PGN, too.")] = None,
    every: Annotated[int, Parameter(help="... one of so many.")] = 100,
    json: JsonFlag = False,
) -> int:
    """Play games of a network against itself, with the searches that teach the next one.

    Goes on where it was stopped: games that are in the folder are not played again. The settings
    are those of the table [selfplay] of the settings file.
    """
    at_least(1, games=games, every=every)
    at_least(0, seed=seed, generation=generation, first=first)
    settings = load_table(SelfPlay, "selfplay", setting, preset_changes(preset))
    settings = replace(settings, options=settings.options + option).validated()
    for line in settings.idle():
        say(line)
    where = chosen(network)
    show = _Show(pgn, every, about_games(where, settings, seed, generation))
    with graceful_stop() as stop, progress("games", total=games) as show.bar:
        report = play(
            where,
            settings,
            folder,
            games=games,
            seed=seed,
            generation=generation,
            first=first,
            stop=stop,
            on_game=show.on_game,
        )
    show.write()
    facts = {"network": named(where), "preset": preset, **report.facts(), "output": str(folder)}
    emit(facts, as_json=json)
    return EXIT_STOPPED if report.stopped else 0


class _Show:
    """What goes on, and the games for a PGN."""

    def __init__(self, pgn: Place | None, every: int, about: dict[str, Any]) -> None:
        self.bar: Bar | None = None
        self._pgn, self._every, self._about = pgn, every, about
        self._texts: dict[int, str] = {}
        self._began = time.monotonic()
        self._games = self._plies = self._draws = self._repeated = self._white = 0

    def on_game(self, game: GameSummary) -> None:
        """Count a game and show it."""
        self._games += 1
        self._plies += game.plies
        self._white += game.result == 1
        self._draws += game.result == 0
        self._repeated += game.repeated
        seconds = max(time.monotonic() - self._began, 1e-9)
        if self.bar is not None:
            losses = self._games - self._white - self._draws
            self.bar.describe(
                f"{self._games / seconds:,.1f} games/s, {self._plies / seconds:,.0f} moves/s, "
                f"length {self._plies / self._games:.0f}, "
                f"+{self._white} ={self._draws} -{losses}, {self._repeated} repeated"
            )
            self.bar.advance()
        if self._pgn is not None and game.number % self._every == 0:
            (record,) = games_of(as_shard([game.game], self._about))
            self._texts[game.number] = f"{tree_of(record, game.number + 1)}\n\n"

    def write(self) -> None:
        """Add the games to the PGN, in order."""
        if self._pgn is None or not self._texts:
            return
        before = b""
        if self._pgn.exists():
            with open_read(self._pgn) as file:
                before = file.read()
        texts = "".join(text for _, text in sorted(self._texts.items()))
        write_bytes(self._pgn, before + texts.encode())


# --- learn ----------------------------------------------------------------------------------------
#
# `kibitz learn`: from nothing to an engine, by games against itself, training and rating.


SHOWN = 15  # generations in a live table, the newest


def learn(
    folder: Annotated[Path, Parameter(help="Where the run lives, with all it makes.")],
    *,
    resume: Annotated[bool, Parameter(help="Go on with the run there.")] = False,
    role: Annotated[
        Literal["all", "play", "train", "rate"],
        Parameter(help="Do a part of a run that several processes share."),
    ] = "all",
    hours: Annotated[float | None, Parameter(help="Stop after so many hours.")] = None,
    games: Annotated[int | None, Parameter(help="Stop after so many games in all.")] = None,
    generations: Annotated[int | None, Parameter(help="Stop after so many networks.")] = None,
    more: Annotated[
        list[str] | None, Parameter(name="--set", help="Any setting, table.key=value.")
    ] = None,
    status: Annotated[bool, Parameter(help="Only say how the run stands.")] = False,
    prune: Annotated[bool, Parameter(help="List what is needed no more.")] = False,
    yes: Annotated[bool, Parameter(help="Delete what --prune lists.")] = False,
    json: JsonFlag = False,
) -> int:
    """Learn chess from nothing; Ctrl-C stops, --resume goes on, after a kill, too."""
    run = Folder(folder)
    if yes and not prune:
        raise InputError("--yes", fix="it belongs to --prune")
    if status:
        _show(run, json)
        return 0
    if prune:
        return _prune(run, yes, json)
    at_least(1, games=games, generations=generations)
    if hours is not None and hours <= 0:
        raise InputError("--hours", value=hours, fix="give more than 0; without it there is no end")
    budget = {"hours": hours, "total_games": games, "generations": generations}
    limits = [f"learn.{key}={value}" for key, value in budget.items() if value is not None]
    settings = _prepare(run, [*(more or []), *limits], resume=resume, exclusive=role == "all")
    with torch_needed():
        from kibitz.train import keep_memory, wait_asleep

        wait_asleep()
        from kibitz.zero.loop import Learning
    keep_memory()
    with graceful_stop() as stop, _dashboard(run):
        finished = Learning(run, role, stop, settings).run()
    _show(run, json)
    if not finished:
        say(f"stopped; go on with: kibitz learn {quote(str(folder))} --resume")
    return 0 if finished else EXIT_STOPPED


def _prepare(run: Folder, overrides: list[str], *, resume: bool, exclusive: bool) -> LearnSettings:
    """Begin a run with its settings file, or join the one that is there.

    Who goes on with a run changes its file, while no other process is in it; who joins one takes
    the file's settings, but for those of its machine and its budget.
    """
    if run.exists and exclusive and not resume:
        fix = "go on with --resume, or name another folder"
        raise InputError("a run is here already", value=str(run.root), fix=fix)
    there = run.exists or resume
    settings = run.settings(tuple(overrides)) if there else from_file(used(), overrides)
    openings = settings.selfplay.validated().openings
    for line in settings.selfplay.idle():
        say(line)
    if openings:
        read_openings(openings)  # refused before the folder is made
    parse_players(list(settings.learn.opponents))
    if resume:
        if run.live_processes():
            refuse_others(run.settings(), settings, "end its other processes first")
        run.begin(settings)
        return settings
    run.begin(settings, join=True)  # another process may have begun it in the meantime
    fix = "leave it out; between two starts --resume --set changes it"
    settings = run.settings(tuple(overrides))
    refuse_others(run.settings(), settings, fix)
    return settings


# --- how it stands --------------------------------------------------------------------------------


def _show(run: Folder, json: bool) -> None:
    """Print how the run stands."""
    status = status_of(run)
    rows = [row._asdict() for row in status.rows]
    ratings = [rating._asdict() for rating in status.ratings.values()]
    doing = [msgspec.to_builtins(now) for now in status.doing]
    facts: dict[str, Any] = {"folder": str(run.root), "generations": rows, "ratings": ratings}
    facts |= {"processes": doing, "best": status.best}
    emit(facts, as_json=json, table=_table(run, status))


def _table(run: Folder, status: Status, newest: int = 0) -> RenderableType:
    """How the run stands, for a terminal; of many generations the newest."""
    from rich.console import Group
    from rich.text import Text

    rows = [cells_of(row) for row in status.rows[-newest:]]
    lines = [Text(line) for line in status.lines]
    return Group(columns(HEADINGS, rows, title=str(run.root)), *lines)


@contextmanager
def _dashboard(run: Folder) -> Iterator[None]:
    """Keep the table on a terminal up to date; elsewhere there are lines."""
    if level() is not Level.NORMAL or not sys.stderr.isatty():
        yield
        return
    from rich.live import Live

    with Live(
        get_renderable=lambda: _table(run, status_of(run), SHOWN),
        console=console(),
        refresh_per_second=1,
        transient=True,
    ):
        yield


# --- prune ----------------------------------------------------------------------------------------


def _prune(run: Folder, yes: bool, json: bool) -> int:
    """List what the run needs no more, by generation, and delete it if that is wanted."""
    with torch_needed():
        from kibitz.zero.folder import outdated
    files = outdated(run)
    rows = [(entry.generation, entry.what, entry.files, entry.size) for entry in files]
    if yes:
        for entry in files:
            entry.delete()
    done = "deleted" if yes else "would be deleted"
    title = f"{sum(entry.size for entry in files):,} bytes {done}"
    listed = [dict(zip(("generation", "what", "files", "bytes"), row, strict=True)) for row in rows]
    table = columns(("generation", "what", "files", "bytes"), rows, title=title)
    emit({"deleted": yes, "found": listed}, as_json=json, table=table)
    if files and not yes:
        say("delete it with --prune --yes")
    return 0

"""`kibitz data label`: games judged by an external engine; games room -> **command line**."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, emit
from kibitz.config import load
from kibitz.errors import InputError
from kibitz.games.importing import PLIES
from kibitz.games.labelling import Job, Labelling, Start
from kibitz.games.labels import LabelModel
from kibitz.games.teacher import PATIENCE, Teacher, TeacherError
from kibitz.games.teaching import label, source_of
from kibitz.log import Bar, graceful_stop, progress, say
from kibitz.match.openings import read_openings
from kibitz.position.fen import START

EXIT_STOPPED = 130
MOST_GAMES = 1 << 24
STANDARD: tuple[Start, ...] = (Start(START),)


def label_games(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Folder for the shards.")],
    engine: Annotated[str, Parameter(help="The teacher: a UCI program and its arguments.")],
    games: Annotated[int, Parameter(help="Number of games, those already there included.")] = 1000,
    seed: Annotated[int, Parameter(help="The same seed gives the same games.")] = 1,
    openings: Annotated[
        Path | None, Parameter(help="EPD, PGN or lines of moves to start from.")
    ] = None,
    option: Annotated[
        tuple[str, ...], Parameter(help="Of the engine, as NAME=VALUE; may be repeated.")
    ] = (),
    setting: Annotated[
        tuple[str, ...],
        Parameter(name=["--set"], help="Of the games, as KEY=VALUE; may be repeated."),
    ] = (),
    patience: Annotated[float, Parameter(help="Seconds until an engine has hung.")] = PATIENCE,
    workers: Annotated[int, Parameter(help="Engines at the same time.")] = 1,
    plies: Annotated[int, Parameter(help="Positions in a shard, about.")] = PLIES,
    json: JsonFlag = False,
) -> int:
    """Make noisy games, every position searched by an engine; goes on where it was stopped.

    Settings of the games: nodes, depth, lines, temperature, chess960, random_plies, random_share,
    win_cp, win_plies, draw_cp, draw_plies, draw_from, most_plies.
    """
    for name, value in (("--workers", workers), ("--plies", plies), ("--games", games)):
        if not 1 <= value <= MOST_GAMES:
            raise InputError(name, value=value, fix=f"give 1 to {MOST_GAMES}")
    if not 0 <= seed < 1 << 40:
        raise InputError("--seed", value=seed, fix=f"give 0 to {(1 << 40) - 1}")
    job = _job(engine, option, load(Labelling, overrides=setting), openings, seed, patience)
    done, dropped, started = 0, 0, time.monotonic()
    positions = 0
    with graceful_stop() as stop, progress("games", total=games) as bar:
        for game in label(job, output, games, workers, lambda: stop.requested, plies):
            if isinstance(game, str):
                dropped += 1
                say(game)
                continue
            done, positions = done + 1, positions + len(game.plies)
            _show(bar, positions, started)
    seconds = time.monotonic() - started
    result = {"games": done, "positions": positions, "dropped": dropped}
    speed = {"seconds": round(seconds, 1), "positions_per_second": round(positions / seconds)}
    emit({**result, **speed, "output": str(output)}, as_json=json)
    return EXIT_STOPPED if stop.requested else 0


def _show(bar: Bar, positions: int, started: float) -> None:
    rate = positions / (time.monotonic() - started)
    bar.describe(f"{positions:,} positions, {rate:,.0f}/s")
    bar.advance()


def _job(
    engine: str,
    written: tuple[str, ...],
    labelling: Labelling,
    openings: Path | None,
    seed: int,
    patience: float,
) -> Job:
    labelling.check()
    command = tuple(shlex.split(engine))
    options = tuple(_option(text) for text in written)
    starts = STANDARD
    if openings is not None:
        starts = tuple(Start(*opening) for opening in read_openings(openings))
    source = source_of(
        _name(command, options, patience), options, labelling, LabelModel(), starts, seed
    )
    return Job(command, options, labelling, LabelModel(), starts, seed, source, patience)


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError("--option", value=text, fix="write NAME=VALUE")
    return name.strip(), value.strip()


def _name(command: tuple[str, ...], options: tuple[tuple[str, str], ...], patience: float) -> str:
    """Start the engine once, to see that it works and what it calls itself."""
    if not command:
        raise InputError("--engine", value="", fix="name a UCI program")
    try:
        teacher = Teacher(command, dict(options), patience)
    except TeacherError as error:
        raise InputError(f"the engine does not start: {error}", value=command[0]) from error
    teacher.close()
    return teacher.name or command[0]

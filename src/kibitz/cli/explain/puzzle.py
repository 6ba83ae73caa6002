"""`kibitz puzzle`: finds puzzles in games, and lets you solve them in the terminal."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import App, Parameter

from kibitz.cli.output import EXIT_STOPPED, At, EngineFlag, JsonFlag, at_least, emit
from kibitz.cli.play.play import typed_lines
from kibitz.coach.human import easiest_first as by_rating
from kibitz.coach.puzzles.find import Collection, Finder, Hunt, check_files
from kibitz.coach.puzzles.formats import Format, Puzzle, format_of, read_puzzles, write_puzzles
from kibitz.coach.puzzles.solve import Session
from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.log import graceful_stop, say
from kibitz.engine.options import AUTODISCOVER
from kibitz.position.board import Board
from kibitz.position.notation import shown

FormatFlag: TypeAlias = Annotated[
    Format | None, Parameter(name="--format", help="By the file's ending, if not given.")
]
puzzle = App(name="puzzle", help="Find puzzles in games; solve them.", result_action="return_value")
HUNT = Hunt()


MOST_NODES = 1_000_000  # of a look: the table for proofs of a hundred times as many


@puzzle.command
def find(
    *games: Annotated[At, Parameter(help="PGN files, packed or not.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="File to write.")],
    form: FormatFlag = None,
    finder: Annotated[
        Finder, Parameter(help="Positions of the games, or traps that search-contempt finds.")
    ] = "plain",
    nodes: Annotated[
        int,
        Parameter(
            help="Nodes of the long look at a position; proving its solution takes a hundred "
            "times as many for each move."
        ),
    ] = HUNT.nodes,
    shallow: Annotated[int, Parameter(help="Nodes of a look that is wrong.")] = HUNT.shallow,
    sc_limit: Annotated[
        int, Parameter(help="Visits at which the opponent's replies freeze.")
    ] = HUNT.sc_limit,
    moves: Annotated[
        int, Parameter(help="Only puzzles in which so many moves, at least, are to be found.")
    ] = 2,
    limit: Annotated[int | None, Parameter(help="Only so many games.")] = None,
    workers: Annotated[int, Parameter(help="Processes.")] = 1,
    network: EngineFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Find positions that a short look gets wrong and a long one right, with one solution.

    The same command goes on with what was found before, also with more files.
    """
    at_least(1, nodes=nodes, shallow=shallow, sc_limit=sc_limit, moves=moves, limit=limit)
    at_least(1, workers=workers)
    form = format_of(output, form)
    if nodes > MOST_NODES:
        raise InputError("--nodes", value=nodes, fix=f"give at most {MOST_NODES:_}")
    if shallow >= nodes:
        raise InputError("--shallow", value=shallow, fix=f"give fewer than --nodes, {nodes}")
    files = check_files(games, output)
    hunt = Hunt(finder, nodes, shallow, sc_limit, network)
    with graceful_stop() as stop, closing(Collection(output, hunt)) as collection:
        try:
            collection.find(files, limit, workers, stop)
        finally:
            read, puzzles = collection.counts()["games"], collection.puzzles(moves)
            if read:  # else there is nothing to write: a file would look like a result
                write_puzzles(output, puzzles, form)
        emit(_report(collection, puzzles), as_json=json)
    if stop.requested:
        say(f"{output}: stopped; the same command goes on")
        return EXIT_STOPPED
    if not read:
        collection.remove()
        names = ", ".join(map(str, files))
        raise InputError("no game could be read", value=names, fix="name PGN files with games")
    return 0


def _report(collection: Collection, written: list[Puzzle]) -> dict[str, Any]:
    """What a search for puzzles has come to, earlier runs included."""
    counts, seconds = collection.counts(), collection.seconds
    puzzles = len(collection.puzzles())
    return {
        "games": counts["games"],
        "bad_games": collection.bad,
        "games_twice": collection.again,
        "positions": counts["positions"],
        "proposed": counts["proposed"],
        "a_look_sees_a_win": counts["winning"],
        "a_short_look_does_not": counts["hard"],
        "one_move_stands_out": counts["clear"],
        "proved": counts["puzzles"],
        "puzzles": puzzles,
        "written": len(written),
        "duplicates": counts["puzzles"] - puzzles,
        "nodes_finding": counts["finding"],
        "nodes_proving": counts["proving"],
        "processor_seconds": round(seconds, 1),
        "puzzles_an_hour_of_one_processor": round(3600 * puzzles / max(seconds, 1e-9)),
    }


@puzzle.command
def solve(
    file: Annotated[At, Parameter(help="CSV with Lichess's columns, EPD or PGN.")],
    *,
    form: FormatFlag = None,
    theme: Annotated[str, Parameter(help="Only puzzles with this theme.")] = "",
    start: Annotated[int, Parameter(help="The first puzzle to ask, from 1.")] = 1,
    easiest_first: Annotated[
        bool, Parameter(help="By rating; a puzzle without one gets it from what people play.")
    ] = False,
) -> int:
    """Solve puzzles; lines on standard input are moves, hint, solution and other words."""
    at_least(1, start=start)
    every = read_puzzles(file, form)
    themes = {name for puzzle in every for name in puzzle.themes}
    if theme and theme not in themes:
        raise InputError("no puzzle has the theme", value=theme, fix=did_you_mean(theme, themes))
    puzzles = [puzzle for puzzle in every if not theme or theme in puzzle.themes]
    puzzles = by_rating(puzzles) if easiest_first else puzzles
    if start > len(puzzles):
        raise InputError("--start", value=start, fix=f"give at most {len(puzzles)}")
    Session((line for line in typed_lines() if line is not None), show_board, tell_line).run(
        puzzles[start - 1 :]
    )
    return 0


def show_board(board: Board) -> None:
    """Draw a position from the side of the solver, who is to move."""
    from rich.console import Console

    console, last = Console(file=sys.stdout), board.moves[-1] if board.moves else None
    console.print(shown(board.position, last, console, turned=board.turn == "black"))


def tell_line(text: str) -> None:
    """Print a line at once: a program may wait for it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()

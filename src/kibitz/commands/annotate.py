"""`kibitz annotate` and `kibitz comment`: what is true of a game's moves, in plain English."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.output import (
    EXIT_STOPPED,
    At,
    EngineFlag,
    JsonFlag,
    at_least,
    emit,
    milliseconds,
)
from kibitz.commentary.annotate import NODES, NOTHING, Moments, Sides, Style, comment_on
from kibitz.commentary.batch import annotate_file, check_output
from kibitz.commentary.choice import Level
from kibitz.commentary.report import Report
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER
from kibitz.log import graceful_stop, say
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.search.limits import Limits

LevelFlag = Annotated[Level, Parameter(help="Whom the words are for.")]


def annotate(
    game: Annotated[At, Parameter(help="PGN file, packed or not.")],
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="PGN to write; else it is printed.")
    ] = None,
    html: Annotated[Path | None, Parameter(help="HTML page to write: board, graph, story.")] = None,
    level: LevelFlag = "club",
    moments: Annotated[Moments, Parameter(help="Speak of all moves or of key moments.")] = "all",
    nodes: Annotated[int | None, Parameter(help=f"Nodes for each position; {NODES:,}.")] = None,
    time: Annotated[float | None, Parameter(help="Seconds for each position.")] = None,
    side: Annotated[Sides, Parameter(help="Whose moves are commented on.")] = "both",
    network: EngineFlag = AUTODISCOVER,
    threads: Annotated[int, Parameter(help="Search threads.")] = 1,
) -> int:
    """Annotate games: marks, values, arrows, lines and comments; an output begun goes on."""
    at_least(1, nodes=nodes, threads=threads)
    style = Style(level, side, moments, limits_of(nodes, time))
    report = None if html is None else Report()
    if html is not None:
        check_output(game, html)
    with (
        Engine(network, search="alphabeta", multipv=2, threads=threads) as engine,
        graceful_stop() as stop,
    ):
        for done in annotate_file(game, output, engine, style, stop):
            if report is not None:
                report.add(done)
            elif output is None:
                sys.stdout.write(f"{done}\n\n")
                sys.stdout.flush()
        for problem in engine.problems:
            say(problem)
    if report is not None and html is not None and report.games:
        report.write(html)
        say(f"{html}: {report.games} games" if report.games > 1 else f"{html}: written")
    return EXIT_STOPPED if stop.requested else 0


def limits_of(nodes: int | None, time: float | None) -> Limits:
    """The limits of a position's search."""
    if nodes is None and time is None:
        nodes = NODES
    return Limits(nodes=nodes, movetime=milliseconds(time))


def comment(
    *,
    move: Annotated[str, Parameter(help="The move, in SAN or UCI.")],
    fen: Annotated[str, Parameter(help="The position before the move.")] = START,
    level: LevelFlag = "club",
    nodes: Annotated[int | None, Parameter(help="Nodes; 0 for no search at all.")] = None,
    time: Annotated[float | None, Parameter(help="Seconds.")] = None,
    network: EngineFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Say what a move does, wins, threatens or overlooks."""
    at_least(0, nodes=nodes)
    board = Board(fen)
    played = board.san(board.parse(move))
    with Engine(network, search="alphabeta", multipv=2) as engine:
        limits = None if nodes == 0 else limits_of(nodes, time)
        text = comment_on(engine, board, move, level, limits)
        facts = {"fen": board.fen(), "move": played, "level": level, "comment": text}
    if json:
        emit(facts, as_json=True)
    else:
        sys.stdout.write(f"{text or NOTHING}\n")
    return 0

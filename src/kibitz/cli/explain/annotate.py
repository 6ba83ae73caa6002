"""`kibitz annotate`: what is true of a game's moves, in plain English."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.cli.explain.comment import TABLES_WORDS, LevelFlag, WordsFlags, engines_for, limits_of
from kibitz.cli.output import EXIT_STOPPED, FLAT, At, EngineFlag, at_least
from kibitz.comment.analyse import NODES
from kibitz.comment.annotate import Moments, Sides, Style
from kibitz.comment.batch import annotate_file, check_output
from kibitz.comment.decoder.comments import Tally
from kibitz.comment.report.page import Report
from kibitz.core.errors import InputError
from kibitz.core.log import graceful_stop, say
from kibitz.core.workers import processors
from kibitz.data.importing import STANDARD_INPUT
from kibitz.engine.options import AUTODISCOVER


def annotate(
    game: Annotated[
        At, Parameter(help="PGN file, packed or not; - for the input.", allow_leading_hyphen=True)
    ],
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
    said_by: Annotated[WordsFlags, FLAT] = TABLES_WORDS,
    network: EngineFlag = AUTODISCOVER,
    threads: Annotated[
        int | None, Parameter(help="Positions searched at the same time; by default one a core.")
    ] = None,
) -> int:
    """Annotate games: marks, values, arrows, lines and comments; an output begun goes on."""
    at_least(1, nodes=nodes, threads=threads)
    if game == STANDARD_INPUT:
        game = Path("/dev/stdin")
    elif str(game).startswith("-"):
        raise InputError("no such option", value=str(game), fix="see --help")
    tally, faults = Tally(), list[str]()

    def tell(fault: str) -> None:
        faults.append(fault)
        say(fault)

    style = Style(level, side, moments, limits_of(nodes, time), said_by.chosen(tally))
    report = None if html is None else Report()
    if html is not None:
        check_output(game, html, "--html")
        if output is not None and html.resolve() == output.resolve():
            raise InputError("the page is the output", value=str(html), fix="give another --html")
    with (
        engines_for(network, style.limits, threads or processors()) as (engine, *more),
        graceful_stop() as stop,
    ):
        for done in annotate_file(game, output, engine, style, stop, tell, more):
            if report is not None:
                report.add(done)
            elif output is None:
                sys.stdout.write(f"{done}\n\n")
                sys.stdout.flush()
        for problem in engine.problems:
            say(problem)
    if tally.sampled:
        say(f"the decoder's texts: {tally.facts()}")
    if report is not None and html is not None and report.games:
        report.write(html)
        say(f"{html}: {report.games} games" if report.games > 1 else f"{html}: written")
    if faults:
        say(f"{len(faults)} left without comments by faults of Kibitz")
    return EXIT_STOPPED if stop.requested else 1 if faults else 0

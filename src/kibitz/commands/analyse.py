"""`kibitz analyse`: the best lines of a position, or of every position of a game, as they grow.

engine -> **live table, or JSON**
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, columns, emit, milliseconds
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER
from kibitz.engine.settings import told
from kibitz.errors import InputError
from kibitz.log import Level, Stop, console, graceful_stop, say
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.search.limits import Limits
from kibitz.search.report import Line, Report, Score

if TYPE_CHECKING:
    from rich.table import Table

LINES = 3  # of the best moves
DEFAULT_SECONDS = 2.0  # for each position
LINE_SHOWN = 12  # plies
EXIT_STOPPED = 130
POSITIONS_AT_MOST = 2_000  # of one file


def analyse(
    what: Annotated[str, Parameter(help="FEN, or a PGN file.")] = START,
    *,
    network: Annotated[str, Parameter(help="Network file, material or uniform.")] = AUTODISCOVER,
    lines: Annotated[int | None, Parameter(help="Of the best moves to show; 3.")] = None,
    nodes: Annotated[int | None, Parameter(help="Nodes for each position.")] = None,
    time: Annotated[float | None, Parameter(help="Seconds for each position.")] = None,
    threads: Annotated[int | None, Parameter(help="Search threads; 1.")] = None,
    json: JsonFlag = False,
) -> int:
    """Analyse a position, or a game move by move; Ctrl-C ends it and prints what was found."""
    seconds = DEFAULT_SECONDS if nodes is None and time is None else time
    limits = Limits(nodes=nodes, movetime=milliseconds(seconds))
    found: list[dict[str, Any]] = []
    skipped: list[str] = []
    positions = _positions(what, skipped)
    given = {"multipv": lines, "threads": threads}
    shown = {"multipv": LINES, **told(network).search}
    shown |= {name: value for name, value in given.items() if value is not None}
    with Engine(network, **shown) as engine, graceful_stop() as stop:
        engine.ready()
        for problem in engine.problems:
            say(problem)
        if not json:
            sys.stdout.write(f"network {engine.source}\n")
        for board, played in positions:
            if stop.requested:
                break
            report = _watched(engine, board, limits, stop, live=not json)
            found.append(_plain(board, played, report))
            if not json:
                emit({}, as_json=False, table=_table(board, played, report))
    if json:
        changed = engine.settings.changed()
        asked = {"network": engine.source, "settings": changed, "limits": limits.told()}
        emit({**asked, "skipped": skipped, "positions": found}, as_json=True)
    if not (found or stop.requested):
        raise InputError("no game to analyse", value=what, fix=f"{len(skipped)} skipped")
    return EXIT_STOPPED if stop.requested else 0


def _positions(what: str, skipped: list[str]) -> Iterator[tuple[Board, str]]:
    """The positions to look at, each with the move that led to it in SAN; games may be skipped."""
    if Path(what).is_file():
        return _played(what, skipped)
    if len(what.split()) == 1:  # no FEN has only one field
        raise InputError("neither a FEN nor a file", value=what, fix="check the path")
    return iter([(Board(what), "")])


def _played(what: str, skipped: list[str]) -> Iterator[tuple[Board, str]]:
    """The positions of a file of games."""
    from kibitz.position.pgn import BadGame, read_games

    def skip(game: BadGame) -> None:
        skipped.append(str(game))
        say(str(game), Level.QUIET)

    count = 0
    for game in read_games(what, skip):
        board = game.start
        yield board, ""
        for move in game.moves:
            count += 1
            if count > POSITIONS_AT_MOST:
                fix = "give a file with fewer games"
                raise InputError("more positions than one analysis takes", value=what, fix=fix)
            played = _numbered(board, board.san(move))
            board.push(move)
            yield board, played


def _numbered(board: Board, san: str) -> str:
    return f"{board.ply // 2 + 1}{'.' if board.turn == 'white' else '...'} {san}"


def _watched(engine: Engine, board: Board, limits: Limits, stop: Stop, live: bool) -> Report:
    """Search, showing how it goes where somebody watches."""
    from rich.live import Live

    watched = live and console().is_terminal
    shown = Live(console=console(), transient=True) if watched else None
    reports = engine.analyse(board, limits)
    with reports, shown or nullcontext():
        for report in reports:
            if shown is not None:
                shown.update(_table(board, "", report))
            if stop.requested:
                reports.stop()
    return reports.result().report


def _table(board: Board, played: str, report: Report) -> Table:
    counts = f"depth {report.depth}/{report.seldepth}, {report.nodes:,} nodes, {report.nps:,} nps"
    if not report.best.moves:
        return columns(("", ""), [("game over", str(report.best.score))], played)
    rows = [
        (line.number, spelled(line.score), " ".join(map(str, line.wdl)), _san_line(board, line))
        for line in report.lines
    ]
    title = f"{played}: {counts}" if played else counts
    return columns(("", "score", "win draw loss", "line"), rows, title)


def spelled(score: Score) -> str:
    """A score for people, for the side to move: +0.25 or #3."""
    return f"#{score.amount}" if score.kind == "mate" else f"{score.amount / 100:+.2f}"


def _san_line(board: Board, line: Line) -> str:
    after, words = board.copy(), []
    for move in line.moves[:LINE_SHOWN]:
        words.append(after.san(move))
        after.push(move)
    return " ".join(words)


def _plain(board: Board, played: str, report: Report) -> dict[str, Any]:
    lines = [
        {
            "score": line.score.amount,
            "kind": line.score.kind,
            "wdl": list(line.wdl),
            "moves": [board.uci(move) for move in line.moves],
        }
        for line in report.lines
    ]
    counts = {"depth": report.depth, "nodes": report.nodes, "milliseconds": report.milliseconds}
    return {"fen": board.fen(), "played": played, **counts, "lines": lines}

"""`kibitz search`: search one position and watch how the tree makes up its mind.

Searcher -> **live table, or JSON**
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, columns, emit, milliseconds
from kibitz.engine.options import AUTODISCOVER
from kibitz.engine.settings import chosen, search_settings
from kibitz.errors import InputError
from kibitz.evaluator.discover import named
from kibitz.evaluator.inline import InlineEvaluator
from kibitz.evaluator.load import Evaluator, load_evaluator
from kibitz.log import console, graceful_stop, say
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.mcts.warm import warm
from kibitz.search.params import Settings
from kibitz.search.presets import RuleName, changes_of, without_effect
from kibitz.search.report import Line, Report, Result

if TYPE_CHECKING:
    from rich.table import Table

DEFAULT_SECONDS = 5.0
ROWS_SHOWN = 12
LINE_SHOWN = 8  # plies of the principal variation


def search(
    fen: Annotated[str, Parameter(help="The position.")] = START,
    *,
    nodes: Annotated[int | None, Parameter(help="Stop after so many nodes.")] = None,
    time: Annotated[float | None, Parameter(help="Stop after so many seconds.")] = None,
    rule: Annotated[
        RuleName | None,
        Parameter(help="Selection rule, with its authors' constants."),
    ] = None,
    preset_name: Annotated[
        str, Parameter(name="--preset", help="Start from a preset.")
    ] = "default",
    option: Annotated[tuple[str, ...], Parameter(help="Name=value, as in UCI; repeatable.")] = (),
    network: Annotated[str, Parameter(help="Evaluator: a name or a network file.")] = AUTODISCOVER,
    moves: Annotated[tuple[str, ...], Parameter(help="Search only these moves.")] = (),
    json: JsonFlag = False,
) -> int:
    """Search a position; Ctrl-C ends it and prints what was found."""
    what = chosen(network)
    settings = search_settings(what, preset_name, rule or "", read_options(option))
    board = Board(fen)
    seconds = DEFAULT_SECONDS if nodes is None and time is None else time
    limits = Limits(nodes=nodes, movetime=milliseconds(seconds), searchmoves=moves)
    evaluator = load_evaluator(what)
    tell_idle_options(evaluator, settings, preset_name, rule)
    result = _searched(board, limits, settings, evaluator, what, live=not json)
    asked = {"fen": board.fen(), "limits": limits.told()}
    facts = {"network": named(what), "settings": settings.changed(), **asked, **_plain(result)}
    emit(facts, as_json=json, table=_table(result.report, board, what))
    if not json:
        say(f"best move {board.san(result.move)}" if result.move else "no legal move")
    return 0


def read_options(options: tuple[str, ...]) -> dict[str, str]:
    """Options of the search by their names, from texts like CPuct=2.5."""
    for text in options:
        if "=" not in text:
            raise InputError("--option", value=text, fix="expected Name=value, as CPuct=2.5")
    return {name: value for name, _, value in (text.partition("=") for text in options)}


def tell_idle_options(
    evaluator: Evaluator, settings: Settings, preset: str, rule: RuleName | None
) -> None:
    """Name the options beyond those of a preset and a rule that have no effect."""
    base = Settings().with_(**changes_of(preset, rule or ""))
    batched = not isinstance(evaluator, InlineEvaluator)
    for line in without_effect(settings, base, batched=batched):
        say(line)


def _searched(
    board: Board,
    limits: Limits,
    settings: Settings,
    evaluator: Evaluator,
    what: str,
    live: bool,
) -> Result:
    """Search with a table that follows, where somebody watches."""
    warm(evaluator, settings)
    with Searcher(evaluator, settings) as searcher, graceful_stop() as stop:
        for problem in searcher.problems:
            say(problem)
        watched = _screen() if live and console().is_terminal else None

        def follow(report: Report) -> None:
            if watched is not None:
                watched.update(_table(report, board, what))
            if stop.requested:
                searcher.stop()

        with watched or nullcontext():
            return searcher.search(board, limits, follow)


def _screen() -> Any:
    from rich.live import Live

    return Live(console=console(), refresh_per_second=8, transient=True)


def _table(report: Report, board: Board, what: str) -> Table:
    rows = [
        (
            board.san(row.move),
            row.visits,
            f"{100 * row.prior:.1f} %",
            f"{row.value:+.3f}",
            f"{100 * row.draw:.0f} %",
            row.proof or "",
        )
        for row in report.moves[:ROWS_SHOWN]
    ]
    best = "\n".join(f"{line.score} {_moves(line, LINE_SHOWN)}" for line in report.lines)
    title = (
        f"network {named(what)}: {report.nodes:,} nodes, {report.nps:,}/s, "
        f"depth {report.depth}/{report.seldepth}, "
        f"tree {report.hashfull / 10:.1f} % full: {best}"
    )
    return columns(("move", "visits", "prior", "value", "draw", "proof"), rows, title=title)


def _moves(line: Line, most: int | None = None) -> str:
    return " ".join(move.uci() for move in line.moves[:most])


def _plain(result: Result) -> dict[str, Any]:
    report = result.report
    return {
        "best_move": result.move.uci() if result.move else None,
        "ponder": result.ponder.uci() if result.ponder else None,
        "score": str(report.best.score),
        "value": report.best.value,
        "wdl": list(report.best.wdl),
        "nodes": report.nodes,
        "seconds": report.milliseconds / 1000,
        "nps": report.nps,
        "depth": report.depth,
        "seldepth": report.seldepth,
        "hashfull": report.hashfull,
        "tbhits": report.tbhits,
        "pv": [move.uci() for move in report.best.moves],
        "lines": [{"score": str(line.score), "pv": _moves(line)} for line in report.lines],
        "moves": [
            {"move": row.move.uci(), "visits": row.visits, "prior": row.prior, "value": row.value}
            for row in report.moves
        ],
    }

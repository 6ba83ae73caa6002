"""`kibitz search --against PLAYER`: two searches of one position, side by side.

The first one is what the other options of `kibitz search` ask for. Both run at the same time, each
with its own tree, and both trees are shown in one table, again and again on a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kibitz.arena.match.spec import parse_player
from kibitz.cli.output import columns
from kibitz.core.errors import InputError
from kibitz.core.log import graceful_stop, say
from kibitz.core.workers import in_threads
from kibitz.nets.discover import named
from kibitz.nets.load import load_evaluator
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.method import open_search, warm
from kibitz.search.options import Settings
from kibitz.search.report import MoveStatistics, Report, Result
from kibitz.search.searcher import BaseSearcher

if TYPE_CHECKING:
    from rich.table import Table

ROWS_SHOWN = 12
LINE_SHOWN = 8  # plies of the principal variation
Show = Callable[[Callable[[], "Table"]], None]


class Side(NamedTuple):
    """One of the two searches, before it begins."""

    name: str
    network: str
    settings: Settings


def side_of(player: str) -> Side:
    """The search of a player of matches; the tree search, if it does not say another."""
    spec = parse_player(player)
    if spec.kind != "engine":
        fix = "give an engine of ours, as kibitz,preset=chesscoach"
        raise InputError("--against: no tree to show of", value=player, fix=fix)
    if spec.control is not None:
        fix = "leave its limit out: both searches have the same"
        raise InputError("--against", value=player, fix=fix)
    settings = spec.engine().settings
    kind = "mcts" if settings.search == "auto" else settings.search
    return Side(spec.name, spec.what, settings.with_(search=kind))


def search_both(board: Board, limits: Limits, sides: Sequence[Side], show: Show) -> list[Result]:
    """Search with both sides at once; `show` is given the table of both trees as they grow."""
    with ExitStack() as stack, graceful_stop() as stop:
        searchers = [stack.enter_context(closing(_searcher_of(side))) for side in sides]
        results: list[Result | None] = [None] * len(sides)
        reports: list[Report | None] = [None] * len(sides)
        numbers = iter(range(len(sides)))

        def work() -> None:
            number = next(numbers)

            def follow(report: Report) -> None:
                if stop.requested:
                    searchers[number].stop()
                reports[number] = report
                ready = [each for each in reports if each is not None]
                if len(ready) == len(sides):
                    show(partial(table, board, sides, ready))

            results[number] = searchers[number].search(board, limits, follow)

        in_threads(work, len(sides))
    return [result for result in results if result is not None]


def _searcher_of(side: Side) -> BaseSearcher:
    evaluator = load_evaluator(side.network)
    warm(evaluator, side.settings)
    searcher = open_search(evaluator, side.settings)
    for problem in searcher.problems:
        say(f"{side.name}: {problem}")
    searcher.ready()
    return searcher


def table(board: Board, sides: Sequence[Side], reports: Sequence[Report]) -> Table:
    """Both trees: a row for each move, the best of the first search first."""
    headings = ["move"]
    for number in range(1, len(sides) + 1):
        headings += [f"visits {number}", f"prior {number}", f"value {number}"]
    rows = []
    for move in _moves_of(reports)[:ROWS_SHOWN]:
        cells = [board.san(move)]
        for report in reports:
            row = next((entry for entry in report.moves if entry.move == move), None)
            cells += _cells(row)
        rows.append(cells)
    titles = [
        f"{number} {side.name}: network {named(side.network)}, {report.nodes:,} nodes, depth "
        f"{report.depth}/{report.seldepth}, {report.best.score} {_line(report)}"
        for number, (side, report) in enumerate(zip(sides, reports, strict=True), start=1)
    ]
    return columns(headings, rows, title="\n".join(titles))


def _moves_of(reports: Sequence[Report]) -> list[Any]:
    """The moves of both trees, the best half of each before all others."""
    half = ROWS_SHOWN // 2
    heads = [row.move for report in reports for row in report.moves[:half]]
    rest = [row.move for report in reports for row in report.moves]
    return list(dict.fromkeys(heads + rest))


def _cells(row: MoveStatistics | None) -> list[str]:
    if row is None:
        return ["", "", ""]
    prior = f"{100 * row.prior:.1f} %" if row.prior > 0.0 else ""
    return [f"{row.visits:,}", prior, f"{row.value:+.3f}" if row.scored else ""]


def _line(report: Report) -> str:
    return " ".join(move.uci() for move in report.best.moves[:LINE_SHOWN])


def differing(first: Settings, second: Settings) -> dict[str, list[Any]]:
    """The settings in which two searches differ, by their names in UCI's table: both values."""
    names = first.changed() | second.changed()
    return {
        name: [getattr(first, name), getattr(second, name)]
        for name in names
        if getattr(first, name) != getattr(second, name)
    }

"""`kibitz coach profile`: what costs you points, with examples."""

from __future__ import annotations

import math
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.cli.explain.coach import DatabaseFlag
from kibitz.cli.explain.coach_tree import coach as coach  # with all its commands
from kibitz.cli.output import JsonFlag, at_least, columns, emit
from kibitz.coach.database import open_games
from kibitz.coach.profile import (
    Conversion,
    Figure,
    Finding,
    conversions,
    figure_name,
    figures,
    findings,
    played_games,
)
from kibitz.comment.words.languages import language_of
from kibitz.core.errors import InputError
from kibitz.engine.people import People

FOUND = ("one good move", "positions", "you", "people", "+-", "missed, for example")
HEADINGS = ("what", "", "games", "moves", "points lost a game", "+-", "for example")


@coach.command
def profile(
    *,
    games: Annotated[int, Parameter(help="Leave out figures of fewer games.")] = 5,
    database: DatabaseFlag = None,
    json: JsonFlag = False,
) -> int:
    """Show what costs you points: phases, motifs, openings, endings, clock, colour, months.

    A win is one point. Every figure is a mean over games with its 95 % interval. Where only one
    move was good, the last table says how often you found it, and how often people of your rating
    do, by the networks of Maia.
    """
    at_least(1, games=games)
    with open_games(database) as kept:
        played = list(played_games(kept))
        names = kept.names()
    if not played:
        raise InputError("no game is analysed", value=", ".join(names), fix="kibitz coach analyse")
    rows = [row for row in figures(played) if row.games >= games or row.group == "all"]
    endings = conversions(played)
    beside = [row for row in findings(played, People()) if row.chances >= games]
    result = {
        "games": len(played),
        "figures": [_facts(row) for row in rows],
        "endings": [ending._asdict() for ending in endings],
        "one_good_move": [_finding(row) for row in beside],
    }
    emit(result, as_json=json, table=_table(rows, endings, beside))
    return 0


def _facts(row: Figure) -> dict[str, Any]:
    error = None if math.isnan(row.error) else round(row.error, 4)
    examples = [example.address for example in row.examples]
    return row._asdict() | {"cost": round(row.cost, 4), "error": error, "examples": examples}


def _finding(row: Finding) -> dict[str, Any]:
    error = None if math.isnan(row.error) else round(row.error, 4)
    shares = {"played": round(row.played, 4), "expected": round(row.expected, 4)}
    examples = [example.address for example in row.examples]
    return row._asdict() | shares | {"error": error, "examples": examples}


def _table(rows: list[Figure], endings: list[Conversion], beside: list[Finding]) -> Any:
    from rich.console import Group

    language = language_of(None)
    shown = [
        (row.group, name, row.games, row.moves, f"{row.cost:.2f}", _error(row), example)
        for row in rows
        for name in [figure_name(row, language)]
        for example in [row.examples[0].address if row.examples else ""]
    ]
    headings = ("ending", "to be won", "won", "to be saved", "saved")
    tables = [columns(HEADINGS, shown), columns(headings, endings)]
    if beside:
        shares = [
            (
                figure_name(row, language),
                row.chances,
                f"{row.played:.0%}",
                f"{row.expected:.0%}",
                _error(row),
                example,
            )
            for row in beside
            for example in [row.examples[0].address if row.examples else ""]
        ]
        tables.append(columns(FOUND, shares))
    return Group(*tables)


def _shares(row: Finding) -> tuple[str, str]:
    return f"{row.played:.0%}", f"{row.expected:.0%}"


def _error(row: Figure | Finding) -> str:
    return "" if math.isnan(row.error) else f"{row.error:.2f}"

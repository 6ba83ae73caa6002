"""`python -m research.contempt`: the tables of the search-contempt paper, with intervals.

Each is an experiment: a plan of games, played as far as they are missing, and counted.
"""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from kibitz.cli.output import EXIT_STOPPED, JsonFlag, at_least, columns, emit
from kibitz.core.errors import InputError
from kibitz.core.log import graceful_stop, progress, say
from kibitz.core.settings import load
from research.command import carry_out, words_of
from research.contempt.balance import (
    DEPTHS,
    Controller,
    Repeats,
    Temperature,
    Wdl,
    counted,
    repeats,
)
from research.contempt.bundle import write_bundle
from research.contempt.cells import Estimate, Session, estimates
from research.contempt.contests import Compare, Match, Odds
from research.contempt.counts import Moves, of_pgn
from research.contempt.plan import Findings, Plan, caption, keep, result, with_forfeits
from research.contempt.study import Study

if TYPE_CHECKING:
    from rich.console import RenderableType

app = App(
    name="contempt",
    help="The experiments of the search-contempt paper.",
    result_action="return_value",
)

PLANS: tuple[type[Plan], ...] = (Wdl, Temperature, Repeats, Match, Odds, Controller, Compare, Study)


def _command_of(kind: type[Plan]) -> Callable[..., int]:
    """The command that runs experiments of one kind."""

    def experiment_command(
        plan: Annotated[Path | None, Parameter(help="TOML file with keys of the plan.")] = None,
        *,
        folder: Annotated[Path, Parameter(help="For games and results.")] = Path("experiments"),
        more: Annotated[
            list[str] | None, Parameter(name="--set", help="A key of the plan, as KEY=VALUE.")
        ] = None,
        dry_run: Annotated[
            bool, Parameter(help="Only say what there is to play; nothing is played.")
        ] = False,
        json: JsonFlag = False,
    ) -> int:
        """The same command goes on with the games that are there."""
        planned = load(kind, plan, overrides=more or ())
        if dry_run:
            return _estimate(planned, folder, json)
        changes = [word for text in more or () for word in ("--set", text)]
        file = [] if plan is None else [str(plan)]
        return _run(
            planned, folder, shlex.join([*words_of("contempt"), kind.name, *file, *changes]), json
        )

    return experiment_command


for _kind in PLANS:
    app.command(_command_of(_kind), name=_kind.name, help=_kind.about)


def _run(plan: Plan, folder: Path, command: str, json: bool) -> int:
    """Play what is missing, then print and keep the results of what is there."""
    total = sum(cell.games for cell in plan.cells())
    with graceful_stop() as stop, progress(plan.name, total=total) as bar:
        session = Session(folder, stop, bar.advance)
        findings = with_forfeits(plan, session, plan.find(session))
    if stop.requested:
        there = sum(len(cell.there(session.folder)) for cell in plan.cells())
        more = {**findings.more, "stopped": f"{there} of {total} games"}
        findings = replace(findings, more=more)
    keep(folder, plan, command, findings)
    if isinstance(plan, Study) and not stop.requested:
        write_bundle(folder, plan, session, findings, command)
    shown = _shown(findings, caption(plan, command, findings))
    emit(result(plan, command, findings), as_json=json, table=shown)
    say(f"games, {plan.name}.json and {plan.name}.svg are in {folder}")
    return EXIT_STOPPED if stop.requested else 0


def _shown(findings: Findings, below: Sequence[str]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    lines = (Text(line) for line in (*findings.lines, *below))
    return Group(columns(findings.headings, findings.rows), *lines)


def _estimate(plan: Plan, folder: Path, json: bool) -> int:
    with graceful_stop() as stop:
        cells = estimates(plan.cells(), Session(folder, stop))
    games = sum(cell.games for cell in cells)
    nodes, hours = _sum([cell.nodes for cell in cells]), _sum([cell.hours for cell in cells])
    all_of_them = Estimate("all", games, None if nodes is None else round(nodes), hours)
    headings = ("to be played", "games", "nodes", "hours")
    table = columns(headings, [_cells(cell) for cell in (*cells, all_of_them)])
    if hours is None:
        say("hours are known once some games of each row are there")
    listed = [cell._asdict() for cell in cells]
    emit(
        {"cells": listed, "games": games, "nodes": nodes, "hours": hours}, as_json=json, table=table
    )
    return 0


def _sum(parts: Sequence[float | None]) -> float | None:
    """The sum, if all its parts are known."""
    numbers = [part for part in parts if part is not None]
    return sum(numbers) if len(numbers) == len(parts) else None


def _cells(estimate: Estimate) -> tuple[object, ...]:
    nodes = "" if estimate.nodes is None else estimate.nodes
    hours = "" if estimate.hours is None else f"{estimate.hours:.2f}"
    return estimate.cell, estimate.games, nodes, hours


@app.command(name="count")
def count_command(
    *files: Annotated[Path, Parameter(help="PGN files of any program.")],
    depth: Annotated[tuple[int, ...], Parameter(help="Moves to compare beginnings at.")] = DEPTHS,
    json: JsonFlag = False,
) -> int:
    """Count the games of PGN files: results, decided games for each draw, repeated beginnings."""
    at_least(1, depth=min(depth, default=1))
    if not files:
        raise InputError("no file", fix="name PGN files with results")
    played: dict[str, list[Moves]] = {}
    stems = Counter(path.stem for path in files)
    for path in files:
        name = path.stem if stems[path.stem] == 1 else str(path)
        if name in played:
            raise InputError("a file that is named twice", value=name, fix="name it once")
        played[name] = of_pgn(path)
        if not played[name]:
            raise InputError("no finished game", value=str(path), fix="name PGN files with results")
    shares, begun = counted(played), repeats(played, depth)
    facts = {"results": shares.facts, "repeats": begun.facts}
    from rich.console import Group

    emit(facts, as_json=json, table=Group(_shown(shares, ()), _shown(begun, ())))
    return 0


if __name__ == "__main__":
    sys.exit(carry_out(app))

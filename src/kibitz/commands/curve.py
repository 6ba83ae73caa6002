"""`kibitz curve`: how trainings went, as tables and as a figure.

training room -> **command line**
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.commands.data import At
from kibitz.commands.output import JsonFlag, columns, emit, spell
from kibitz.errors import InputError
from kibitz.files import write_bytes
from kibitz.log import say
from kibitz.match.elo import elo_text
from kibitz.places import Place
from kibitz.training.curve import Run, figure, read_run, tables

STRENGTH_HEADINGS = ("step", "player", "opponent", "limits", "score", "Elo")
FIGURE = Path("curve.svg")
LINE = 80  # columns of an ordinary terminal


def curve(
    *runs: Annotated[Path, Parameter(help="Folders of trainings or cycles, or metrics files.")],
    output: Annotated[At, Parameter(name=["--output", "-o"], help="The figure, as SVG.")] = FIGURE,
    rows: Annotated[int, Parameter(help="Most rows of each table.")] = 20,
    force: Annotated[
        bool, Parameter(negative="", help="Replace a figure that is there already.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Print losses, accuracy and Elo over the steps of trainings, and draw them."""
    if not runs:
        raise InputError("no training to show", fix="name the folder of one")
    if rows < 1:
        raise InputError("--rows", value=rows, fix="give 1 or more")
    found = [read_run(location) for location in runs]
    wanted = force or _may_be_written(output)
    if wanted:
        write_bytes(output, figure(found).encode())
    if json:
        drawn = str(output) if wanted else None
        emit({"runs": [_plain(run) for run in found], "figure": drawn}, as_json=True)
        return
    for run in found:
        for title, headings, listed in tables(run, rows):
            _show(title, headings, [[_short(cell) for cell in row] for row in listed])
        if run.strength:
            _show(f"{run.name}, strength", [*STRENGTH_HEADINGS], _strength(run))
    say(f"wrote {output}" if wanted else f"{output} is as it was")


def _may_be_written(output: Place) -> bool:
    """Ask before a file is replaced; without a terminal to ask on, refuse."""
    if not output.exists():
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fix = "give --force to replace it, or another --output"
        raise InputError("the figure is there already", value=str(output), fix=fix)
    sys.stderr.write(f"{output} is there already; replace it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _show(title: str, headings: list[str], rows: list[list[Any]]) -> None:
    """Print a table as so many as fit into a line of a terminal, each with the steps."""
    for chosen in _parts(headings, rows):
        picked = [[row[index] for index in chosen] for row in rows]
        table = columns([headings[index] for index in chosen], picked, title=title)
        emit({}, as_json=False, table=table)


def _parts(headings: list[str], rows: list[list[Any]]) -> list[list[int]]:
    """Return the columns of each part, the first column in all of them."""
    texts = [[heading, *(spell(row[at]) for row in rows)] for at, heading in enumerate(headings)]
    widths = [max(map(len, column)) + 2 for column in texts]  # a space on either side
    parts: list[list[int]] = []
    for at in range(1, len(headings)):
        if not parts or sum(widths[index] + 1 for index in [*parts[-1], at]) + 1 > LINE:
            parts.append([0])
        parts[-1].append(at)
    return parts


def _plain(run: Run) -> dict[str, Any]:
    strength = [vars(one) for one in run.strength]
    return {"name": run.name, "steps": run.steps, "figures": run.figures, "strength": strength}


def _short(cell: Any) -> Any:
    return f"{cell:.4g}" if isinstance(cell, float) and abs(cell) < 1000 else _whole(cell)


def _whole(cell: Any) -> Any:
    return round(cell) if isinstance(cell, float) else cell


def _strength(run: Run) -> list[list[Any]]:
    rows = []
    for one in run.strength:
        elo = elo_text(one.elo, one.low, one.high, one.interval, places=0)
        rows.append([one.step, one.player, one.opponent, one.control, f"{one.score:.3f}", elo])
    return rows

"""`kibitz curve`: how trainings went, as tables and as a figure.

training room -> **command line**
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, columns, emit
from kibitz.errors import InputError
from kibitz.files import write_bytes
from kibitz.log import say
from kibitz.match.elo import elo_text
from kibitz.training.curve import Run, figure, read_run, table

STRENGTH_HEADINGS = ("step", "opponent", "score", "Elo")


def curve(
    *runs: Annotated[Path, Parameter(help="Folders of trainings or cycles, or metrics files.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The figure, as SVG.")] = Path(
        "curve.svg"
    ),
    rows: Annotated[int, Parameter(help="Most rows of each table.")] = 20,
    json: JsonFlag = False,
) -> None:
    """Print losses, accuracy and Elo over the steps of trainings, and draw them."""
    if not runs:
        raise InputError("no training to show", fix="name the folder of one")
    if rows < 1:
        raise InputError("--rows", value=rows, fix="give 1 or more")
    found = [read_run(location) for location in runs]
    write_bytes(output, figure(found).encode())
    if json:
        emit({"runs": [_plain(run) for run in found], "figure": str(output)}, as_json=True)
        return
    for run in found:
        headings, listed = table(run, rows)
        shown = [[_short(cell) for cell in row] for row in listed]
        emit({}, as_json=False, table=columns(headings, shown, title=run.name))
        if run.strength:
            emit({}, as_json=False, table=columns(STRENGTH_HEADINGS, _strength(run)))
    say(f"wrote {output}")


def _plain(run: Run) -> dict[str, Any]:
    strength = [vars(one) for one in run.strength]
    return {"name": run.name, "steps": run.steps, "figures": run.figures, "strength": strength}


def _short(cell: Any) -> Any:
    return f"{cell:.4g}" if isinstance(cell, float) and abs(cell) < 1000 else _whole(cell)


def _whole(cell: Any) -> Any:
    return round(cell) if isinstance(cell, float) else cell


def _strength(run: Run) -> list[tuple[int, str, str, str]]:
    rows = []
    for one in run.strength:
        elo = elo_text(one.elo, one.low, one.high, one.interval, places=0)
        rows.append((one.step, one.opponent, f"{one.score:.3f}", elo))
    return rows

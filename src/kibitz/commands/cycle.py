"""`kibitz cycle`: train, average, test and save by a list of stages, each done once.

training room -> **command line**
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, columns, emit
from kibitz.errors import missing_extra
from kibitz.log import graceful_stop

EXIT_STOPPED = 130


def cycle(
    file: Annotated[Path, Parameter(help="TOML file of stages; see docs/recipes.md.")],
    *,
    json: JsonFlag = False,
) -> int:
    """Do what is not done yet of a list of stages; Ctrl-C stops, the same command goes on."""
    try:
        from kibitz.training.cycle import KINDS
        from kibitz.training.memory import keep_memory
        from kibitz.training.stages import marker_of, read_cycle, read_marker, run_cycle
    except ImportError as error:
        if error.name != "torch":
            raise
        raise missing_extra("training", "torch", "train") from error
    keep_memory()
    whole, stages = read_cycle(file, KINDS)
    with graceful_stop() as stop:
        finished = run_cycle(whole, stages, stop)
    rows = []
    for iteration in range(1, whole.iterations + 1):
        for name in stages:
            marker = read_marker(marker_of(Path(whole.folder), iteration, name))
            if marker is not None and marker.outputs is not None:
                made = [Path(path).name for path in marker.outputs]
                rows.append((iteration, name, round(marker.seconds), ", ".join(made)))
    _show(rows, json)
    return 0 if finished else EXIT_STOPPED


def _show(rows: list[tuple[int, str, int, str]], json: bool) -> None:
    headings = ("iteration", "stage", "seconds", "made")
    listed = [dict(zip(headings, row, strict=True)) for row in rows]
    emit({"stages": listed}, as_json=json, table=columns(headings, rows))

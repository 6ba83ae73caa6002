"""How commands print their result: a table for people or, with ``--json``, one object for programs.

Results are the only thing on standard output; all else goes through ``kibitz.log``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from kibitz.log import plain

if TYPE_CHECKING:
    from rich.table import Table

PIPE_WIDTH = 10_000  # wider than any table

# The flag of every command that measures: `def perft(..., json: JsonFlag = False) -> None`.
JsonFlag: TypeAlias = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object and nothing else.")
]


def emit(result: Mapping[str, Any], *, as_json: bool, table: Table | None = None) -> None:
    """Print the result as one JSON object, or as ``table`` (two columns unless given)."""
    if as_json:
        sys.stdout.write(json.dumps(plain(dict(result)), allow_nan=False) + "\n")
        sys.stdout.flush()
        return
    from rich.console import Console

    shown = two_columns(result) if table is None else table
    # A pipe has no width to fit into; without one rich would fold the table at 80 columns.
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(file=sys.stdout, width=width)
    whole = console.measure(shown, options=console.options.update_width(PIPE_WIDTH))
    if whole.maximum > console.width:  # less space between columns before rich folds their cells
        shown.collapse_padding, shown.pad_edge, shown.show_edge = True, False, False
    console.print(shown)


def two_columns(result: Mapping[str, Any]) -> Table:
    """Return a table with a line per entry of a result."""
    return columns((), [(name.replace("_", " "), value) for name, value in result.items()])


def columns(headings: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> Table:
    """Return a table, numbers to the right, texts to the left and taken literally."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=SIMPLE, show_header=bool(headings))
    width = max([len(headings), *map(len, rows)])
    for index in range(width):
        numeric = all(
            isinstance(plain(row[index]), (int, float)) for row in rows if index < len(row)
        )
        heading = headings[index] if index < len(headings) else ""
        # Folded, a cell too long for its column goes on in the next line; else rich would cut it.
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(spell(value)) for value in row))
    return table


def spell(value: Any) -> str:
    """Write a value for people: 1,234,567 and 0.125."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"

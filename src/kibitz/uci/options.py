"""The options of the protocol itself, and the lines that announce all options.

search/params, engine/options, **UciOptions** -> `option name ...`

Nothing heavy is imported here: a program that only asks what there is gets its answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.engine.options import EngineOptions
from kibitz.errors import InputError
from kibitz.search.parameter import (
    EMPTY_TEXT,
    Parameter,
    checked,
    parameters_of,
    switch,
    text,
    uci_option,
)
from kibitz.search.params import Settings
from kibitz.search.where import DRIVERS

TABLE_MARK = "<!-- options -->\n"  # in docs/uci.md; `python -m kibitz.uci.options docs/uci.md`


@dataclass(frozen=True)
class UciOptions:
    """How the engine talks; what it plays is in EngineOptions and Settings."""

    ponder: bool = switch("Ponder", False, "the GUI may let the engine ponder")
    chess960: bool = switch("UCI_Chess960", False, "castling is written as king takes rook")
    show_wdl: bool = switch("UCI_ShowWDL", False, "chances to win, draw, lose in info lines")
    verbose: bool = switch("VerboseMoveStats", False, "lc0's line about each move, at the end")
    live: bool = switch("LogLiveStats", False, "those lines with every info line, too")
    analyse_mode: bool = switch("UCI_AnalyseMode", False, "accepted; the search is the same")
    opponent: str = text("UCI_Opponent", "", "accepted; the search is the same")
    log_file: str = text(
        "LogFile", "", "file to which all lines are added, both directions", names_files=True
    )

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            checked(parameter, getattr(self, parameter.name))


def all_parameters() -> list[Parameter]:
    """Every option there is, those that everybody knows first."""
    rows = [
        parameter
        for table in (Settings, EngineOptions, UciOptions)
        for parameter in parameters_of(table)
    ]
    known = {parameter.uci for parameter in parameters_of(UciOptions)}
    return sorted(rows, key=lambda row: row.visibility != "always" and row.uci not in known)


def option_lines(values: Iterable[Any] = (), *, files: bool = True) -> list[str]:
    """The lines that answer `uci`, with what the tables of `values` say for defaults.

    Without `files`, for callers over TCP, those of options that name files are not told.
    """
    told = {name: value for table in values for name, value in vars(table).items()}
    lines = []
    for row in all_parameters():
        shown = files or not row.names_files
        default = told.get(row.name, row.default) if shown else row.default
        lines.append(uci_option(row._replace(default=default)).line)
    return [*lines, "option name Clear Hash type button"]


def refuse_files(name: str, typed: str) -> None:
    """Raise an InputError if an option would name a file or a URL; for callers over TCP.

    The answer is the same whether there is such a file or not. Networks go by the short names of
    those that are shipped.
    """
    folded = " ".join(name.split()).casefold().replace("evalfile", "weightsfile")
    for parameter in all_parameters():
        if parameter.names_files and folded in (parameter.uci.casefold(), parameter.name):
            networks = _known_networks() if parameter.uci == "WeightsFile" else []
            if typed.strip() not in ("", EMPTY_TEXT, *networks):
                fix = f"known here: {', '.join(networks)}" if networks else "leave it empty"
                raise InputError(f"{parameter.uci} takes no files over TCP", value=typed, fix=fix)


def _known_networks() -> list[str]:
    from kibitz.evaluator.discover import AUTODISCOVER, SHIPPED, shipped_names
    from kibitz.evaluator.load import SIMPLE

    return [AUTODISCOVER, "default", SHIPPED, *SIMPLE, *shipped_names()]


def option_table() -> str:
    """All options as a table in Markdown."""
    head = [
        "| option | type | default | range | what it does | only |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join(head + [_row(parameter) for parameter in all_parameters()]) + "\n"


def _row(parameter: Parameter) -> str:
    option = uci_option(parameter)
    span = ", ".join(option.choices)
    if parameter.low is not None and parameter.high is not None:
        span = f"{parameter.low:.12g} to {parameter.high:.12g}"
    default = option.default.replace("<", "&lt;")
    about = f"{parameter.help} | {_only(parameter)}"
    return f"| `{option.name}` | {option.type} | {default} | {span} | {about} |"


def _only(parameter: Parameter) -> str:
    """Where an option has an effect, if not everywhere."""
    from kibitz.search.presets import asked_for

    rules, drivers, need = parameter.where
    named = ["with ScLimit" if rule == "contempt" else f"`{rule}`" for rule in rules]
    parts = [" or ".join(named), " or ".join(DRIVERS[driver] for driver in drivers)]
    parts.append(f"with {asked_for(need)}" if need.names else "")
    return "; ".join(part for part in parts if part)


def write_table(page: Path) -> None:
    """Put the table into a page of the documentation, after its mark."""
    from kibitz.files import write_bytes

    head, mark, _ = page.read_text(encoding="utf-8").partition(TABLE_MARK)
    write_bytes(page, f"{head}{mark}{option_table()}".encode())


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))

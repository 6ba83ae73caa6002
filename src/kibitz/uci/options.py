"""The options of the protocol itself, and the lines that announce all options.

`UciOptions` are the protocol's own; the engine's and the search's have their rows elsewhere.

Nothing heavy is imported here: a program that only asks what there is gets its answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.core.errors import InputError, did_you_mean
from kibitz.core.options import (
    EMPTY_TEXT,
    Option,
    bound,
    check,
    find,
    markdown_table,
    options_of,
    put_table,
    setting,
    written,
)
from kibitz.engine.options import EngineOptions
from kibitz.search.options import DRIVERS, OPTIONS

TABLE_MARK = "<!-- options -->\n"  # in docs/uci.md; `python -m kibitz.uci.options docs/uci.md`


@dataclass(frozen=True)
class UciOptions:
    """How the engine talks; what it plays is in EngineOptions and Settings."""

    ponder: bool = setting(False, "the GUI may let the engine ponder", uci="Ponder")
    chess960: bool = setting(False, "castling is written as king takes rook", uci="UCI_Chess960")
    show_wdl: bool = setting(False, "chances to win, draw, lose in info lines", uci="UCI_ShowWDL")
    verbose: bool = setting(False, "lc0's line about each move, at the end", uci="VerboseMoveStats")
    live: bool = setting(False, "those lines with every info line, too", uci="LogLiveStats")
    analyse_mode: bool = setting(False, "accepted; the search is the same", uci="UCI_AnalyseMode")
    opponent: str = setting("", "accepted; the search is the same", uci="UCI_Opponent")
    log_file: str = setting(
        "", "file to which all lines are added, both directions", uci="LogFile", names_files=True
    )

    def __post_init__(self) -> None:
        check(self)


def all_options() -> list[Option]:
    """Every option there is, the usual ones first; the last ones are not announced."""
    own = options_of(UciOptions)
    options = (*OPTIONS, *options_of(EngineOptions), *own)
    order = ("always", "expert", "debug")
    return sorted(
        options, key=lambda option: 0 if option in own else order.index(option.visibility)
    )


def announced() -> list[Option]:
    """Those in the answer to `uci`; the numbers of alpha-beta are for matches and tunings."""
    return [option for option in all_options() if option.visibility != "debug"]


def option_lines(values: Iterable[Any] = (), *, files: bool = True) -> list[str]:
    """The lines that answer `uci`, with what the tables of `values` say for defaults.

    Without `files`, for callers over TCP, the values of options that name files are left out.
    """
    set_here = {name: value for table in values for name, value in vars(table).items()}
    lines = []
    for option in announced():
        if option.name in set_here and (files or not option.names_files):
            option = option._replace(default=set_here[option.name])
        lines.append(option.line)
    return [*lines, "option name Clear Hash type button"]


def refuse_unknown(name: str) -> None:
    """Raise an InputError with what is known, if no option has that name."""
    folded = " ".join(name.split()).casefold()
    if find(tuple(all_options()), name) is None and folded not in ("clear hash", "evalfile"):
        names = ["Clear Hash", "EvalFile", *(option.uci for option in all_options())]
        raise InputError("no such option", value=name, fix=did_you_mean(name, names))


def refuse_files(name: str, typed: str) -> None:
    """Raise an InputError if an option would name a file or a URL; for callers over TCP.

    The answer is the same whether there is such a file or not. Networks go by the short names of
    those that are shipped.
    """
    folded = name.casefold().replace("evalfile", "weightsfile")
    option = find(tuple(all_options()), folded)
    if option is None or not option.names_files:
        return
    networks = _known_networks() if option.uci == "WeightsFile" else []
    if typed.strip() not in ("", EMPTY_TEXT, *networks):
        fix = f"known here: {', '.join(networks)}" if networks else "leave it empty"
        raise InputError(f"{option.uci} takes no files over TCP", value=typed, fix=fix)


def _known_networks() -> list[str]:
    from kibitz.nets.discover import AUTODISCOVER, SHIPPED, shipped_names
    from kibitz.nets.load import SIMPLE

    return [AUTODISCOVER, "default", SHIPPED, *SIMPLE, *shipped_names()]


def option_table() -> str:
    """All options as a table in Markdown."""
    headings = ("option", "default", "range", "what it does", "only")
    return markdown_table(headings, [_row(option) for option in announced()])


def _row(option: Option) -> tuple[str, ...]:
    span = ", ".join(option.choices)
    if option.low is not None and option.high is not None:
        span = f"{bound(option.low)} to {bound(option.high)}"
    default = written(option.default).replace("<", "&lt;")
    return f"`{option.uci}`", default, span, option.help, _only(option)


def _only(option: Option) -> str:
    """Where an option has an effect, if not everywhere."""
    from kibitz.search.mcts.rules.parameters import RULE_NAMES
    from kibitz.search.method import asked_for

    rules, drivers, need = option.where
    named = ["with ScLimit" if rule == "contempt" else f"`{rule}`" for rule in rules]
    others = [f"`{rule}`" for rule in RULE_NAMES if rule not in rules]
    if len(others) < len(rules) and "contempt" not in rules:
        named = [f"not {' or '.join(others)}"] if others else []
    parts = [", ".join(named), " or ".join(DRIVERS[driver] for driver in drivers)]
    parts.append(f"with {asked_for(need)}" if need.names else "")
    return "; ".join(part for part in parts if part)


if __name__ == "__main__":
    put_table(Path(sys.argv[1]), TABLE_MARK, option_table())

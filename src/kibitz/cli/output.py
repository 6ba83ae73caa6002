"""What commands have in common: flags that several have, and how they print their result.

A result is a table for people or, with ``--json``, one object for programs. Results are the only
thing on standard output; all else goes through ``kibitz.core.log``.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

from cyclopts import Parameter

from kibitz.core.errors import InputError, KibitzError
from kibitz.core.files import local_path
from kibitz.core.log import plain
from kibitz.core.options import Option
from kibitz.core.places import Place, place, working_copy
from kibitz.core.provenance import described, use_seed
from kibitz.core.settings import as_toml

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument, ArgumentCollection
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

# --- flags ----------------------------------------------------------------------------------------


_WHOLE = re.compile(r"[-+]?[0-9_]{1,4000}")  # Python reads no longer ones
_BROKEN = re.compile(r"[-+]?[0-9_]*\.[0-9_]*(e[-+]?[0-9]+)?", re.IGNORECASE)

FLAT = Parameter(name="*")  # the fields of a table of flags are flags of the command

# The flag of every command that measures: `def perft(..., json: JsonFlag = False) -> None`.
JsonFlag: TypeAlias = Annotated[
    bool, Parameter(name="--json", help="Print one JSON object and nothing else.")
]


ForceFlag: TypeAlias = Annotated[
    bool, Parameter(name="--force", help="Replace a file that is there already.")
]
# Who is measured: `def suite(..., player: PlayerFlag = "kibitz") -> int`.
PlayerFlag: TypeAlias = Annotated[
    str, Parameter(name=["--player", "--network"], help="A network, or as in kibitz match.")
]
# Who evaluates, in commands that search, and who plays.
NetworkFlag: TypeAlias = Annotated[str, Parameter(help="Evaluator: a name or a network file.")]
EngineFlag: TypeAlias = Annotated[str, Parameter(help="Network file, material or uniform.")]


def may_be_written(output: Path | Place, force: bool, what: str) -> bool:
    """Ask before a file is replaced; without a terminal to ask on, refuse."""
    if force or not output.exists():
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fix = "give --force to replace it, or another --output"
        raise InputError(f"{what} is there already", value=str(output), fix=fix)
    sys.stderr.write(f"{output} is there already; replace it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _place(_: Any, tokens: Any) -> Place:
    return place(tokens[0].value)


# An argument that names a file or folder, by a path or a URL.
At: TypeAlias = Annotated[Place, Parameter(converter=_place, n_tokens=1, accepts_keys=False)]


def key_flag(option: Option, key: str, end: str = ".") -> Any:
    """Declare a flag of a `KeyFlags` that sets a key of the settings file, if it is given."""
    help_text = f"{option.help[0].upper()}{option.help[1:]}{end}"
    return field(default=None, metadata={"key": key, "help": help_text})


@dataclass(frozen=True)
class KeyFlags:
    """Settings that have a flag of their own."""

    def overrides(self) -> list[str]:
        """The flags that were given, as `--set` would have them."""
        values = ((flag.metadata["key"], getattr(self, flag.name)) for flag in fields(self))
        return [f"{key}={as_toml(value)}" for key, value in values if value is not None]


def milliseconds(seconds: float | None) -> int | None:
    """A command's --time as searches count it."""
    if seconds is None:
        return None
    if not 0 < seconds < math.inf:  # nan, too
        raise InputError("--time", value=seconds, fix="expected seconds above 0")
    return round(1000 * seconds)


def refuse_twins(what: str, names: list[str], fix: str = "rename one") -> None:
    """Refuse two of one name, as the name is the key of a result."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two {what} of one name", value=name, fix=fix)


def at_least(least: int, **flags: float | None) -> None:
    """Refuse flags, by the names of their arguments, that were given a smaller number."""
    _within(least, math.inf, f"give {least} or more", flags)


def within(least: int, most: int, **flags: float | None) -> None:
    """Refuse flags that were given a number outside of a range."""
    _within(least, most, f"give {least} to {most}", flags)


def _within(least: float, most: float, fix: str, flags: dict[str, float | None]) -> None:
    for name, value in flags.items():
        if value is not None and not least <= value <= most:  # nan, too
            flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            raise InputError(flag, value=value, fix=fix)


@contextmanager
def from_flag(flag: str) -> Iterator[None]:
    """Have what is wrong with the value of a flag say which flag it came from."""
    try:
        yield
    except KibitzError as error:
        if not error.what.startswith("--"):
            error.what = f"{flag}: {error.what}"
        raise


def paths_here(_: App, __: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Put the path of a working copy where a URL was given for a path of this machine."""
    for argument in arguments:
        _refuse_extremes(argument)
        if _is_path(argument.hint) and any(token.value == "" for token in argument.tokens):
            fix = "name a file or a folder; . is this one"
            raise InputError(argument.name, value="", fix=fix)
        if argument.parameter.converter is None and _is_path(argument.hint):
            argument.tokens = [
                token
                if local_path(token.value)
                else token.evolve(value=str(working_copy(token.value)))
                for token in argument.tokens
            ]


def _refuse_extremes(argument: Argument) -> None:
    """Refuse a number that counts nothing, a part of a whole one, a null character in a name."""
    for token in argument.tokens:
        if "\0" in token.value:
            fix = "leave out the null character; no file and no text has one"
            raise InputError(argument.name, value=token.value, fix=fix)
        is_whole = _has_type(argument.hint, int) and not _has_type(argument.hint, float, str)
        if is_whole and _BROKEN.fullmatch(token.value):  # which would be rounded, unsaid
            raise InputError(argument.name, value=token.value, fix="expected a whole number")
        whole = _has_type(argument.hint, int) and _WHOLE.fullmatch(token.value)
        if whole and abs(int(token.value)) > sys.maxsize:
            fix = f"give at most {sys.maxsize}"
            raise InputError(argument.name, value=token.value, fix=fix)


def _has_type(hint: object, *types: object) -> bool:
    return hint in types or any(_has_type(part, *types) for part in get_args(hint))


def _is_path(hint: object) -> bool:
    return _has_type(hint, Path, Place)


MOST_DIGITS = 40  # of a seed, more than any has; Python reads no number of thousands


def note_seed(_: App, __: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Tell results the seed of a command, given or usual, before it runs."""
    for argument in arguments:
        if "--seed" in argument.names:
            seed = argument.tokens[-1].value if argument.tokens else argument.field_info.default
            digits = str(seed)  # of what is no number the command itself will speak
            use_seed(int(digits) if digits.isdecimal() and len(digits) < MOST_DIGITS else seed)


# --- printing -------------------------------------------------------------------------------------


PIPE_WIDTH = 10_000  # wider than any table

EXIT_STOPPED = 130  # the user has stopped a command, which says what it has until then

# What the program says without arguments.
BEGINNING = """\
Kibitz {version} watches, plays and explains. To begin with:

  kibitz game.pgn                 annotate a game in plain English
  kibitz "FEN"                    analyse a position
  kibitz play                     play in the terminal
  kibitz web                      play, analyse and watch in the browser
  kibitz coach add lichess:NAME   learn from your own games

kibitz --help lists all commands; chess programs start kibitz-uci.
"""


def emit(result: Mapping[str, Any], *, as_json: bool, table: RenderableType | None = None) -> None:
    """Print the result as one JSON object, or as ``table`` (two columns unless given).

    JSON of a command that measures says where its numbers come from.
    """
    if as_json:
        sys.stdout.write(json.dumps(plain(described(result)), allow_nan=False) + "\n")
        sys.stdout.flush()
        return
    from rich.console import Console

    shown = two_columns(result) if table is None else table
    if sys.stdout.isatty():
        Console(file=sys.stdout).print(shown)
        return
    # A pipe has no width but one that the user names; rich would fold the table at 80 columns.
    width = os.environ.get("COLUMNS", "")
    fits = int(width) if width.isdecimal() and len(width) < 6 else 0
    console = Console(file=sys.stdout, width=fits or PIPE_WIDTH)
    with console.capture() as captured:
        console.print(shown)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    sys.stdout.flush()


def two_columns(result: Mapping[str, Any]) -> Table:
    """Return a table with a line per entry of a result."""
    return columns((), [(name.replace("_", " "), value) for name, value in result.items()])


def columns(
    headings: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", *, spare: int = 0
) -> Table:
    """Return a table, numbers to the right, texts to the left and taken literally.

    Where it is too wide for the terminal, cells go on in the next line at blanks; where not even
    their words fit, so many of the last columns are `spare`, and left out; and where it is too wide
    without them, each row is a table of its own, with a line per heading.
    """
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    class Fitting(Table):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            count = len(headings)
            widths = _widths(headings, rows, options.max_width - 3 * count - 1, shrink=False)
            self.collapse_padding = widths is None
            self.pad_edge = self.show_edge = widths is not None
            if widths is None:  # less space between columns before their cells are folded
                widths = _widths(headings, rows, options.max_width - 2 * count + 2, shrink=True)
            if widths is not None:
                for column, width in zip(self.columns, widths, strict=False):
                    column.width = width
                yield from super().__rich_console__(console, options)
                return
            if spare:
                shorter = [row[: len(headings) - 1] for row in rows]
                yield columns(headings[:-1], shorter, title, spare=spare - 1)
                return
            if title:
                yield Text(title)
            for row in rows:
                pairs = zip(headings, row, strict=False)
                lines = [(name.replace("\n", " "), cell) for name, cell in pairs if name or cell]
                yield columns((), lines)

    kind = Fitting if headings else Table
    table = kind(title=title or None, box=SIMPLE, show_header=bool(headings))
    for index in range(max([len(headings), *map(len, rows)])):
        cells = [row[index] for row in rows if index < len(row)]
        numeric = all(isinstance(plain(cell), (int, float)) for cell in cells)
        heading = headings[index] if index < len(headings) else ""
        # Folded, a cell too long for its column goes on in the next line; else rich would cut it.
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(spell(value)) for value in row))
    return table


def _widths(
    headings: Sequence[str], rows: Sequence[Sequence[Any]], room: int, *, shrink: bool
) -> list[int] | None:
    """The widths of columns within some room that break no word; None if there are none."""
    texts = [
        [heading, *(spell(row[index]) for row in rows if index < len(row))]
        for index, heading in enumerate(headings)
    ]
    widths = [max(len(line) for text in row for line in text.split("\n")) for row in texts]
    least = [max([len(word) for text in row for word in text.split()], default=0) for row in texts]
    if sum(least if shrink else widths) > room:
        return None
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))
        widths[widest] -= 1
    return widths


def counted(count: int, name: str) -> str:
    """A number of things.

    >>> counted(1, "item"), counted(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def spell(value: Any) -> str:
    """Write a value for people: 1,234,567 and 0.125, and the items of a list below each other."""
    value = plain(value)
    if isinstance(value, (list, tuple)):
        return "\n".join(map(spell, value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"

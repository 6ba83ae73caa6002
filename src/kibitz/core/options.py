"""One option of a program: how it is declared, checked, read from text and shown to UCI.

A table of options is a frozen dataclass; its fields are declared by `setting` or `number`::

    @dataclass(frozen=True)
    class Search:
        threads: int = number("Threads", 1, 1, 512, 0, "search threads")
        prove: bool = setting(True, "mates climb the tree", uci="MateProving")

The same declaration serves the settings file and `--set` (core/settings.py), UCI, the tuner and the
flags of a command that takes such a table. An option's choices are those of its `Literal` type.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from kibitz.core.errors import ConfigError
from kibitz.core.places import working_copy

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value: TypeAlias = bool | int | float | str
Visibility: TypeAlias = Literal["always", "expert", "debug"]
Default = TypeVar("Default")
Number = TypeVar("Number", int, float)
Table = TypeVar("Table", bound="DataclassInstance")

UCI_TYPES = {bool: "check", int: "spin", float: "string", str: "string"}
_WHOLE = re.compile(r"[+-]?\d+")
LONGEST_NUMERAL = 30  # digits that are read: more are beyond every range
EMPTY_TEXT = "<empty>"  # how UCI writes a string without letters
EXPECTED = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a text",
    dict: "a table",
}


class Need(NamedTuple):
    """One of some options, by their names in Python, that must be switched on."""

    names: tuple[str, ...]
    values: tuple[str, ...] = ()  # with one of these values; none given: any but 0 and false


class Where(NamedTuple):
    """The searches in which an option has an effect; what is empty excludes none."""

    rules: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    need: Need = Need(())


EVERYWHERE = Where()


class Option(NamedTuple):
    """An option as declared; name, kind and choices are those of its field."""

    default: Any
    help: str = ""
    low: float | None = None
    high: float | None = None
    step: float = 0.0  # a sensible step for tuning; 0: not to be tuned
    uci: str = ""  # its name in UCI, or empty
    visibility: Visibility = "expert"
    names_files: bool = False  # a text with paths or URLs, which callers over TCP may not give
    where: Where = EVERYWHERE
    name: str = ""  # in Python and in TOML
    kind: Any = str  # type of the value, or of the items of a list
    many: bool = False  # a list
    choices: tuple[Any, ...] = ()

    @property
    def uci_type(self) -> str:
        """Type of the UCI option; numbers with a fraction are strings, as in lc0."""
        return "combo" if self.choices else UCI_TYPES[self.kind]

    @property
    def line(self) -> str:
        """The line with which an engine announces the option."""
        shown = f"option name {self.uci} type {self.uci_type} default {written(self.default)}"
        if self.uci_type == "spin":
            shown += f" min {bound(self.low)} max {bound(self.high)}"
        return shown + "".join(f" var {choice}" for choice in self.choices)


# --- declaring options ----------------------------------------------------------------------------


def setting(
    default: Default,
    about: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    uci: str = "",
    visibility: Visibility = "expert",
    names_files: bool = False,
    where: Where = EVERYWHERE,
) -> Default:
    """Declare an option."""
    declared = Option(default, about, low, high, 0.0, uci, visibility, names_files, where)
    return dataclasses.field(default=default, metadata={"option": declared, "help": about})


def number(
    uci: str,
    default: Number,
    low: float,
    high: float,
    step: float,
    about: str,
    where: Where = EVERYWHERE,
    visibility: Visibility = "expert",
) -> Number:
    """Declare a number that UCI knows, in the order of a table's columns."""
    declared = Option(default, about, low, high, step, uci, visibility, where=where)
    return dataclasses.field(default=default, metadata={"option": declared, "help": about})


def options_of(table: Any) -> tuple[Option, ...]:
    """The options of a table, a class; a table inside it is an option, too."""
    return _options_of(table)


@functools.cache
def _options_of(table: type) -> tuple[Option, ...]:
    hints = get_type_hints(table)
    return tuple(_option(field, hints[field.name]) for field in dataclasses.fields(table))


def _option(field: dataclasses.Field[Any], kind: Any) -> Option:
    declared = field.metadata.get("option", Option(field.default))
    if get_origin(kind) in (Union, UnionType):
        kind = next(argument for argument in get_args(kind) if argument is not NoneType)
    many = get_origin(kind) is tuple
    if many:
        kind = get_args(kind)[0]
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    kind = type(choices[0]) if choices else kind
    option: Option = declared._replace(name=field.name, kind=kind, many=many, choices=choices)
    whole = kind is float and type(option.default) is int
    return option._replace(default=float(option.default)) if whole else option


def find(options: tuple[Option, ...], name: str) -> Option | None:
    """The option of that name: in UCI, in any case, or in Python."""
    folded = " ".join(name.split()).casefold()
    return next(
        (option for option in options if folded in (option.uci.casefold(), option.name)), None
    )


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; bars and ends of lines in a cell do not end it."""
    lines = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    head = f"| {' | '.join(headings)} |\n|{'---|' * len(headings)}\n"
    return head + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def put_table(page: Path, mark: str, table: str) -> None:
    """Replace what follows a mark in a page of the documentation by a table of options."""
    head, mark, _ = page.read_text(encoding="utf-8").partition(mark)
    page.write_text(f"{head}{mark}{table}", encoding="utf-8")


# --- checking values ------------------------------------------------------------------------------


def check(table: DataclassInstance) -> None:
    """Check all values of a table, and store them as the types of its options."""
    for option in options_of(type(table)):
        object.__setattr__(table, option.name, checked(option, getattr(table, option.name)))


def checked(option: Option, value: Any, place: str = "") -> Any:
    """The value as the option's type and within its range, or a ConfigError.

    `place` is where a file has it; without one the option is named as in UCI.
    """
    if not option.many:
        return _checked_one(option, value, place)
    if not isinstance(value, (list, tuple)):
        text = option.kind in (str, Path) and isinstance(value, str)
        fix = f'write ["{value}"]' if text else "write a list like [1, 2]"
        raise ConfigError(f"{place}: expected a list, found", value=value, fix=fix)
    return tuple(_checked_one(option, item, place) for item in value)


def _checked_one(option: Option, value: Any, place: str) -> Any:
    kind, named = option.kind, place or option.uci
    if kind is Path and isinstance(value, str):
        return working_copy(value)
    if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
        value = float(value)
    # isinstance would take true for a whole number, and to Python 1 equals true.
    if type(value) is not kind or (option.choices and value not in option.choices):
        write = repr if place else str  # a file has texts in quotes
        choices = f"one of {', '.join(map(write, option.choices))}"
        expected = choices if option.choices else EXPECTED[kind]
        raise ConfigError(f"{named}: expected {expected}, found", value=value)
    # Written so that nan, which compares false with everything, is refused.
    low, high = option.low, option.high
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        raise ConfigError(f"{named}: must be {_bounds(option, place)}, found", value=value)
    return value


def bound(value: float | None) -> str:
    """A bound as text; whole ones with all their digits, as 2^63 - 1 has no exact float."""
    return str(value) if isinstance(value, int) else f"{value:.12g}"


def _bounds(option: Option, place: str) -> str:
    if not place:
        return f"from {bound(option.low)} to {bound(option.high)}"
    bounds = [("at least", option.low), ("at most", option.high)]
    return " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)


# --- text, as UCI sends it ------------------------------------------------------------------------


def read(option: Option, typed: str) -> Value:
    """The value that a text stands for."""
    typed = typed.strip()
    if option.kind is str and not option.choices:
        return "" if typed == EMPTY_TEXT else typed
    values: dict[str, Any] = {choice.casefold(): choice for choice in option.choices}
    if option.kind is bool:
        values = {"true": True, "false": False}
    value: Value = values.get(typed.casefold(), typed)
    if option.kind in (int, float):
        value = _numeral(option.kind, typed)
    result: Value = checked(option, value)
    return result


def _numeral(kind: type, typed: str) -> int | float | str:
    """The number a text stands for; the text itself if it is none."""
    if kind is int and _WHOLE.fullmatch(typed):
        return int(typed[:LONGEST_NUMERAL])  # exact, where a float would round the largest seeds
    try:
        value = float(typed)
    except ValueError:
        return typed
    if kind is float:
        return value
    # 1e9 is how people write the largest ScLimit
    return int(value) if math.isfinite(value) and value == int(value) else typed


def parsed(table: Table, name: str, typed: str) -> Table | None:
    """A copy of a table with one value read from text; None if it has no option of that name."""
    option = find(options_of(type(table)), name)
    if option is None:
        return None
    changes: dict[str, Any] = {option.name: read(option, typed)}
    return dataclasses.replace(table, **changes)


def written(value: Value) -> str:
    """A value as text that `read` takes back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value) or EMPTY_TEXT

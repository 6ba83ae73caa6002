"""One row of the parameter table: how it is declared, checked, read from text and shown to UCI.

    **rows** -> params.Settings -> rules and behaviour of a search

A row is a dataclass field whose metadata say the rest. Range and help stand under the keys that
config.py knows, so a TOML file can set the parameters, too.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from kibitz.errors import ConfigError
from kibitz.search.where import EVERYWHERE, Where

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value: TypeAlias = bool | int | float | str
Visibility: TypeAlias = Literal["always", "expert", "debug"]
UciType: TypeAlias = Literal["check", "spin", "string", "combo"]
Word = TypeVar("Word", bound=str)
Table = TypeVar("Table", bound="DataclassInstance")

UCI_TYPES: dict[type, UciType] = {bool: "check", int: "spin", float: "string", str: "string"}
EMPTY_TEXT = "<empty>"  # how UCI writes a string without letters


class Parameter(NamedTuple):
    """A row of the table."""

    name: str  # in Python and in TOML
    uci: str
    default: Value
    low: float | None
    high: float | None
    step: float  # a sensible step for tuning; 0: not to be tuned
    choices: tuple[str, ...]
    help: str
    visibility: Visibility
    names_files: bool = False  # a text with paths or URLs, which callers over TCP may not give
    where: Where = EVERYWHERE

    @property
    def kind(self) -> type:
        """Type of the value: bool, int, float or str."""
        return type(self.default)


class UciOption(NamedTuple):
    """What `uci` says about a parameter; numbers with a fraction are strings, as in lc0."""

    name: str
    type: UciType
    default: str
    low: int | None
    high: int | None
    choices: tuple[str, ...]
    visibility: Visibility

    @property
    def line(self) -> str:
        """The line an engine prints."""
        bounds = f" min {self.low} max {self.high}" if self.type == "spin" else ""
        choices = "".join(f" var {choice}" for choice in self.choices)
        return f"option name {self.name} type {self.type} default {self.default}{bounds}{choices}"


# --- declaring rows -------------------------------------------------------------------------------


def _row(uci: str, default: Value, about: str, visibility: Visibility, **rest: Any) -> Any:
    metadata = {"uci": uci, "about": about, "visibility": visibility, **rest}
    return dataclasses.field(default=default, metadata=metadata)


def number(
    uci: str,
    default: float,
    low: float,
    high: float,
    step: float,
    about: str,
    *,
    visibility: Visibility = "expert",
    where: Where = EVERYWHERE,
) -> float:
    """Declare a number with a fraction."""
    field: float = _row(
        uci, float(default), about, visibility, low=low, high=high, step=step, where=where
    )
    return field


def whole(
    uci: str,
    default: int,
    low: int,
    high: int,
    step: int,
    about: str,
    *,
    visibility: Visibility = "expert",
    where: Where = EVERYWHERE,
) -> int:
    """Declare a whole number."""
    field: int = _row(uci, default, about, visibility, low=low, high=high, step=step, where=where)
    return field


def switch(
    uci: str,
    default: bool,
    about: str,
    *,
    visibility: Visibility = "expert",
    where: Where = EVERYWHERE,
) -> bool:
    """Declare something that is on or off."""
    field: bool = _row(uci, default, about, visibility, where=where)
    return field


def choice(
    uci: str,
    choices: tuple[Word, ...],
    about: str,
    *,
    visibility: Visibility = "expert",
    where: Where = EVERYWHERE,
) -> Word:
    """Declare one of several words; the first one is the default."""
    field: Word = _row(uci, choices[0], about, visibility, choices=choices, where=where)
    return field


def text(
    uci: str,
    default: str,
    about: str,
    *,
    visibility: Visibility = "expert",
    names_files: bool = False,
) -> str:
    """Declare a free text."""
    field: str = _row(uci, default, about, visibility, names_files=names_files)
    return field


def parameters_of(table: type) -> tuple[Parameter, ...]:
    """The rows of a table, a dataclass of such fields."""
    return tuple(_parameter(field) for field in dataclasses.fields(table))


def _parameter(field: dataclasses.Field[Any]) -> Parameter:
    data = field.metadata
    default: Any = field.default
    return Parameter(
        name=field.name,
        uci=data["uci"],
        default=default,
        low=data.get("low"),
        high=data.get("high"),
        step=data.get("step", 0.0),
        choices=data.get("choices", ()),
        help=data["about"],
        visibility=data["visibility"],
        names_files=data.get("names_files", False),
        where=data.get("where", EVERYWHERE),
    )


# --- checking and reading values ------------------------------------------------------------------


def checked(parameter: Parameter, value: Any) -> Value:
    """The value as the parameter's type and within its range, or a ConfigError."""
    kind: Any = parameter.kind  # or mypy takes the value for an object
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (parameter.choices and value not in parameter.choices):
        raise ConfigError(f"{parameter.uci}: expected {_expected(parameter)}, found", value=value)
    _check_range(parameter, value)
    result: Value = value
    return result


def _check_range(parameter: Parameter, value: Any) -> None:
    low, high = parameter.low, parameter.high
    # Written so that nan, which compares false with everything, is refused.
    if low is not None and high is not None and not low <= value <= high:
        bounds = f"from {written(low)} to {written(high)}"
        raise ConfigError(f"{parameter.uci}: must be {bounds}, found", value=value)


def _expected(parameter: Parameter) -> str:
    if parameter.choices:
        return f"one of {', '.join(parameter.choices)}"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return words[parameter.kind]


def read(parameter: Parameter, typed: str) -> Value:
    """The value that a text, as UCI sends it, stands for."""
    typed = typed.strip()
    if parameter.kind is bool:
        words: dict[str, Any] = {"true": True, "false": False}
        return checked(parameter, words.get(typed.casefold(), typed))
    if parameter.choices:
        folded = {choice.casefold(): choice for choice in parameter.choices}
        return checked(parameter, folded.get(typed.casefold(), typed))
    if parameter.kind is str:
        return "" if typed == EMPTY_TEXT else typed
    return checked(parameter, _numeral(parameter.kind, typed))


def _numeral(kind: type, typed: str) -> Any:
    """The number a text stands for; the text itself if it is none."""
    if kind is int and typed.lstrip("+-").isdecimal():
        return int(typed[:30])  # exact, where a float would round the largest seeds
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
    folded = name.strip().casefold()
    for parameter in parameters_of(type(table)):
        if folded in (parameter.uci.casefold(), parameter.name):
            changes: dict[str, Any] = {parameter.name: read(parameter, typed)}
            return dataclasses.replace(table, **changes)
    return None


def uci_option(parameter: Parameter) -> UciOption:
    """The option UCI shows for a parameter."""
    kind: UciType = "combo" if parameter.choices else UCI_TYPES[parameter.kind]
    spin = kind == "spin"
    return UciOption(
        name=parameter.uci,
        type=kind,
        default=written(parameter.default),
        low=int(parameter.low) if spin and parameter.low is not None else None,
        high=int(parameter.high) if spin and parameter.high is not None else None,
        choices=parameter.choices,
        visibility=parameter.visibility,
    )


def written(value: Value) -> str:
    """A value as text that `read` takes back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value) or EMPTY_TEXT

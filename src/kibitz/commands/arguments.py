"""The flags that several commands have in common, each declared once."""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter

from kibitz.errors import InputError
from kibitz.places import Place, place

FLAT = Parameter(name="*")  # the fields of a table of flags are flags of the command

# The flag of every command that measures: `def perft(..., json: JsonFlag = False) -> None`.
JsonFlag: TypeAlias = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object and nothing else.")
]


# Who is measured: `def suite(..., player: PlayerFlag = "kibitz") -> int`.
PlayerFlag: TypeAlias = Annotated[
    str, Parameter(name=["--player", "--network"], help="A network, or as in kibitz match.")
]
# Who evaluates, in commands that search, and who plays.
NetworkFlag: TypeAlias = Annotated[str, Parameter(help="Evaluator: a name or a network file.")]
EngineFlag: TypeAlias = Annotated[str, Parameter(help="Network file, material or uniform.")]


def _place(_: Any, tokens: Any) -> Place:
    return place(tokens[0].value)


# An argument that names a file or folder, by a path or a URL.
At: TypeAlias = Annotated[Place, Parameter(converter=_place, n_tokens=1, accepts_keys=False)]


def milliseconds(seconds: float | None) -> int | None:
    """A command's --time as searches count it."""
    if seconds is None:
        return None
    if not 0 < seconds < math.inf:  # nan, too
        raise InputError("--time", value=seconds, fix="expected seconds above 0")
    return round(1000 * seconds)


def at_least(least: int, **flags: int | None) -> None:
    """Refuse flags, by the names of their arguments, that were given a smaller number."""
    for name, value in flags.items():
        if value is not None and value < least:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(flag, value=value, fix=f"give {least} or more")

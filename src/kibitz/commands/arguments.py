"""The flags that several commands have in common, each declared once."""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter

from kibitz.errors import InputError
from kibitz.places import Place, place

# The flag of every command that measures: `def perft(..., json: JsonFlag = False) -> None`.
JsonFlag: TypeAlias = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object and nothing else.")
]


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

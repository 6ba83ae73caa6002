"""`kibitz data split` and `combine`: games room -> **command line**."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from kibitz.commands.data_inspect import Places, some_places
from kibitz.commands.output import JsonFlag, emit
from kibitz.errors import InputError
from kibitz.games.combine import chosen, select
from kibitz.games.importing import PLIES
from kibitz.games.shard import Shard
from kibitz.games.store import read_all, rewrite, shards_in
from kibitz.log import say

Output = Annotated[Path, Parameter(name=["--output", "-o"], help="Folder for the new shards.")]
Size = Annotated[int, Parameter(name="--plies", help="Positions in a shard, about.")]


def split(
    *places: Places,
    output: Output,
    share: Annotated[float, Parameter(help="Of the games, for validation.")] = 0.1,
    plies: Size = PLIES,
    json: JsonFlag = False,
) -> None:
    """Part games into OUTPUT/train and OUTPUT/validation; a game is never cut in two."""
    if not 0 < share < 1:
        raise InputError("--share", value=share, fix="give a number between 0 and 1")
    paths = shards_in(*some_places(places))
    refuse_mixing(paths, output)
    result: dict[str, int] = {}
    for name, wanted in (("train", False), ("validation", True)):
        parts = _parts(paths, share, wanted)
        done = rewrite(parts, output / name, name, _checked(plies))
        if not done.games:
            say(f"no game fell into {name}: there are too few")
        result |= {f"{name}_games": done.games, f"{name}_positions": done.plies}
    emit(result | {"output": str(output)}, as_json=json)


def _parts(paths: list[Path], share: float, wanted: bool) -> Iterator[Shard]:
    for shard in read_all(paths):
        yield select(shard, np.flatnonzero(chosen(shard, share) == wanted))


def combine(
    *places: Places,
    output: Output,
    name: Annotated[str, Parameter(help="What the new files' names begin with.")] = "combined",
    plies: Size = PLIES,
    json: JsonFlag = False,
) -> None:
    """Put shards together, or cut them up, into shards of another size."""
    paths = shards_in(*some_places(places))
    refuse_mixing(paths, output)
    done = rewrite(read_all(paths), output, name, _checked(plies))
    emit({**done._asdict(), "output": str(output)}, as_json=json)


def refuse_mixing(paths: list[Path], output: Path) -> None:
    """Old and new shards in one folder would hold every game twice."""
    inside = [path for path in paths if path.resolve().is_relative_to(output.resolve())]
    if inside:
        raise InputError(
            "the output folder holds what is read", value=str(output), fix="give another folder"
        )


def _checked(plies: int) -> int:
    if plies < 1:
        raise InputError("--plies", value=plies, fix="give 1 or more")
    return plies

"""`kibitz data split` and `combine`: games room -> **command line**."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from kibitz.commands.data import At
from kibitz.commands.data_inspect import Places, some_places
from kibitz.commands.output import JsonFlag, emit
from kibitz.errors import InputError
from kibitz.games.combine import chosen, select
from kibitz.games.importing import PLIES
from kibitz.games.shard import Shard
from kibitz.games.store import Store, rewrite, shards_in
from kibitz.log import say
from kibitz.places import Place, below

Output = Annotated[At, Parameter(name=["--output", "-o"], help="Folder for the new shards.")]
Size = Annotated[int, Parameter(name="--plies", help="Positions in a shard, about.")]


def split(
    *places: Places,
    output: Output,
    share: Annotated[float, Parameter(help="Of the games, for validation.")] = 0.1,
    plies: Size = PLIES,
    json: JsonFlag = False,
) -> int:
    """Part games into OUTPUT/train and OUTPUT/validation; a game is never cut in two."""
    if not 0 < share < 1:
        raise InputError("--share", value=share, fix="give a number between 0 and 1")
    store = Store(shards_in(*some_places(places)))
    refuse_mixing(store.paths, output)
    result: dict[str, int] = {}
    for name, wanted in (("train", False), ("validation", True)):
        parts = _parts(store, share, wanted)
        done = rewrite(parts, output / name, name, _checked(plies))
        if not done.games:
            say(f"no game fell into {name}: there are too few")
        result |= {f"{name}_games": done.games, f"{name}_positions": done.plies}
    emit(result | store.facts | {"output": str(output)}, as_json=json)
    return store.exit_code


def _parts(store: Store, share: float, wanted: bool) -> Iterator[Shard]:
    for shard in store:
        yield select(shard, np.flatnonzero(chosen(shard, share) == wanted))


def combine(
    *places: Places,
    output: Output,
    name: Annotated[str, Parameter(help="What the new files' names begin with.")] = "combined",
    plies: Size = PLIES,
    json: JsonFlag = False,
) -> int:
    """Put shards together, or cut them up, into shards of another size."""
    store = Store(shards_in(*some_places(places)))
    refuse_mixing(store.paths, output)
    done = rewrite(store, output, name, _checked(plies))
    emit({**done._asdict(), **store.facts, "output": str(output)}, as_json=json)
    return store.exit_code


def refuse_mixing(paths: list[Place], output: Place) -> None:
    """Old and new shards in one folder would hold every game twice."""
    if any(below(path, output) for path in paths):
        raise InputError(
            "the output folder holds what is read", value=str(output), fix="give another folder"
        )


def _checked(plies: int) -> int:
    if plies < 1:
        raise InputError("--plies", value=plies, fix="give 1 or more")
    return plies

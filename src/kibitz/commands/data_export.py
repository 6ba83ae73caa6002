"""`kibitz data export`: games and dataset rooms -> **command line**."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from kibitz.commands.data import At
from kibitz.commands.data_inspect import Places, some_places
from kibitz.commands.output import JsonFlag, emit
from kibitz.dataset.experience import write_experience
from kibitz.dataset.table import write_parquet
from kibitz.errors import InputError
from kibitz.games.record import games_of
from kibitz.games.store import Store, shards_in
from kibitz.games.to_pgn import tree_of
from kibitz.log import progress
from kibitz.position.pgn import Game, write_games

Format = Literal["pgn", "parquet", "experience"]


def export(
    *places: Places,
    output: Annotated[
        At, Parameter(name=["--output", "-o"], help="File; a folder for experience.")
    ],
    format: Annotated[  # noqa: A002 - the name of the option
        Format | None, Parameter(help="By the name of the output unless it is given.")
    ] = None,
    label: Annotated[str, Parameter(help="In the names of experience files.")] = "kibitz",
    json: JsonFlag = False,
) -> int:
    """Write games as PGN, positions as Parquet, or both as DLChess's experience."""
    store = Store(shards_in(*some_places(places)))
    kind = format or output.suffix.removeprefix(".").lower()
    with progress("shards", total=len(store.paths)) as bar:
        shards = bar.over(store)
        if kind == "pgn":
            games = (game for shard in shards for game in games_of(shard))
            trees = (Game(n, tree_of(game, n)) for n, game in enumerate(games, start=1))
            result = {"games": write_games(output, trees)}
        elif kind == "parquet":
            result = {"positions": write_parquet(output, shards)}
        elif kind == "experience":
            result = {"positions": write_experience(output, label, shards)}
        else:
            fix = "give --format pgn, parquet or experience"
            raise InputError("cannot tell what to write", value=str(output), fix=fix)
    emit({**result, **store.facts, "output": str(output)}, as_json=json)
    return store.exit_code

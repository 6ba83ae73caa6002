"""`kibitz data reanalyse`: stored games, searched again; selfplay room -> **command line**."""

from __future__ import annotations

import time
from typing import Annotated

from cyclopts import Parameter

from kibitz.commands.data import At
from kibitz.commands.data_inspect import Places, some_places
from kibitz.commands.data_split import refuse_mixing
from kibitz.commands.output import JsonFlag, emit
from kibitz.commands.search import read_options, tell_idle_options
from kibitz.engine.options import AUTODISCOVER
from kibitz.engine.settings import chosen, search_settings
from kibitz.errors import InputError
from kibitz.evaluator.discover import named
from kibitz.evaluator.load import load_evaluator
from kibitz.games.store import Store, shards_in
from kibitz.log import graceful_stop, progress
from kibitz.search.mcts.warm import warm
from kibitz.search.presets import RuleName
from kibitz.selfplay.reanalyse import Reanalysis, reanalyse

EXIT_STOPPED = 130
MOST_NODES = 4096  # as many as the Gumbel rule can plan


def reanalyse_games(
    *places: Places,
    output: Annotated[At, Parameter(name=["--output", "-o"], help="Folder for the new shards.")],
    network: Annotated[str, Parameter(help="Evaluator: a name or a network file.")] = AUTODISCOVER,
    nodes: Annotated[int, Parameter(help="Playouts for every position.")] = 64,
    rule: Annotated[RuleName | None, Parameter(help="puct, azero, sble or gumbel.")] = None,
    preset: Annotated[str, Parameter(help="Settings to start from.")] = "default",
    option: Annotated[
        tuple[str, ...], Parameter(help="Of the search, as NAME=VALUE; may be repeated.")
    ] = (),
    values: Annotated[
        bool, Parameter(negative=(), help="Replace the values of positions, too.")
    ] = False,
    workers: Annotated[int, Parameter(help="Processes at the same time.")] = 1,
    json: JsonFlag = False,
) -> int:
    """Search the positions of stored games again; their policies become what the search found.

    The policy of a position is the visits of its moves or, with `--rule gumbel`, the completed-Q
    policy. Games, moves and results stay. Shards already in the output folder are not made again.
    """
    if not 2 <= nodes <= MOST_NODES:
        raise InputError("--nodes", value=nodes, fix=f"give 2 to {MOST_NODES}")
    if workers < 1:
        raise InputError("--workers", value=workers, fix="give 1 or more")
    store = Store(shards_in(*some_places(places)))
    refuse_mixing(store.paths, output)
    where = chosen(network)
    settings = search_settings(where, preset, rule or "", read_options(option))
    evaluator = load_evaluator(where)
    tell_idle_options(evaluator, settings, preset, rule)
    warm(evaluator, settings)
    total = sum(header.plies for _, header in store.headers())
    started, positions, shards = time.monotonic(), 0, 0
    work = reanalyse(store, output, Reanalysis(where, settings, nodes, values), workers)
    with graceful_stop() as stop, progress("positions", total=total) as bar:
        for _, plies, complete in work:
            positions, shards = positions + plies, shards + complete
            bar.advance(plies)
            if stop.requested:
                work.close()
                break
    seconds = time.monotonic() - started
    result = {
        "network": named(where),
        "shards": shards,
        "positions": positions,
        "seconds": round(seconds, 1),
    }
    speed = {"positions_per_second": round(positions / max(seconds, 1e-9))}
    emit({**result, **speed, **store.facts, "output": str(output)}, as_json=json)
    unfinished = shards + len(store.damaged) < len(store.paths)
    return EXIT_STOPPED if unfinished else store.exit_code

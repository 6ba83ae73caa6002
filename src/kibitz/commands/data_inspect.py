"""`kibitz data inspect`, `verify` and `prune`: games room -> **command line**."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.commands.data import At
from kibitz.commands.output import JsonFlag, columns, emit, spell
from kibitz.errors import DamagedFileError, InputError
from kibitz.games.record import games_of
from kibitz.games.shard import verify
from kibitz.games.store import EXIT_DAMAGED, Store, outdated, shards_in
from kibitz.games.summary import Summary
from kibitz.games.to_pgn import tree_of
from kibitz.log import progress, say
from kibitz.places import Place, size_of

WIDTH = 40  # of the longest bar
SHOWN_PLIES = 16

Places = Annotated[At, Parameter(help="Shards, or folders of them.")]


def inspect(
    *places: Places,
    games: Annotated[int, Parameter(help="How many of the first games are shown.")] = 3,
    json: JsonFlag = False,
) -> int:
    """Say what is in shards: counts, results, ends, sources, lengths, values, the first games."""
    store = Store(shards_in(*some_places(places)))
    summary = Summary()
    first: list[dict[str, Any]] = []
    with progress("shards", total=len(store.paths)) as bar:
        for shard in bar.over(store):
            summary.add(shard)
            for game in islice(games_of(shard), max(games - len(first), 0)):
                first.append(_shown(game, len(first) + 1))
    facts = summary.facts() | store.facts | {"first_games": first}
    emit(facts, as_json=json, table=None if json else _table(facts))
    return store.exit_code


def _shown(game: Any, number: int) -> dict[str, Any]:
    tree = tree_of(game, number)
    board, moves = tree.board(), list(tree.mainline_moves())
    text = board.variation_san(moves[:SHOWN_PLIES]) + (" ..." if len(moves) > SHOWN_PLIES else "")
    facts = {"start": game.start, "result": tree.headers["Result"], "end": game.end}
    return facts | {"plies": len(game.plies), "moves": text, "seed": game.seed}


def _table(facts: dict[str, Any]) -> Any:
    rows: list[tuple[str, str]] = []
    for name, value in facts.items():
        title = name.replace("_", " ")
        if name == "values":
            rows += _bars(value)
        elif name == "damaged_shards":
            rows += [(f"damaged: {one['file']}", f"{one['games']} games") for one in value]
        elif name == "first_games":
            rows += [
                (f"game {number}", f"{one['result']} ({one['end']}) {one['moves']}")
                for number, one in enumerate(value, start=1)
            ]
        elif isinstance(value, dict):
            rows += [(f"{title}: {entry}", spell(count)) for entry, count in value.items()]
        else:
            rows.append((title, spell(value)))
    return columns((), rows)


def _bars(values: dict[str, int]) -> list[tuple[str, str]]:
    most = max([1, *values.values()])
    return [
        (f"values from {low}", f"{'#' * round(WIDTH * count / most):<{WIDTH}} {count:,}")
        for low, count in values.items()
    ]


def check(*places: Places, json: JsonFlag = False) -> int:
    """Check every byte and every reference of shards; exit code 1 if one is damaged."""
    paths = shards_in(*some_places(places))
    damaged: list[str] = []
    sound = plies = 0
    with progress("shards", total=len(paths)) as bar:
        for path in paths:
            try:
                plies += verify(path).plies
                sound += 1
            except DamagedFileError as error:
                damaged.append(str(path))
                say(str(error))
            bar.advance()
    emit({"sound": sound, "positions": plies, "damaged": damaged}, as_json=json)
    return EXIT_DAMAGED if damaged else 0


def prune(
    *places: Places,
    keep: Annotated[int, Parameter(help="So many generations stay.")],
    dry_run: Annotated[bool, Parameter(negative="", help="Only list what would go.")] = False,
    json: JsonFlag = False,
) -> int:
    """Delete shards of old generations; shards that belong to no generation stay."""
    if keep < 1:
        raise InputError("--keep", value=keep, fix="give 1 or more")
    store = Store(shards_in(*some_places(places)))
    old = outdated(store, keep)
    size = sum(size_of(path) for _, path in old)
    for generation, path in old:
        say(f"{'would delete' if dry_run else 'deleted'} generation {generation}: {path}")
        if not dry_run:
            path.unlink()
    facts = {"files": [str(path) for _, path in old], "bytes": size, "deleted": not dry_run}
    facts |= store.facts
    shown = {**facts, "files": len(old)}
    emit(facts if json else shown, as_json=json)
    return store.exit_code


def some_places(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """The places a command was given; refuses none."""
    if not places:
        raise InputError("no shards named", fix="name shards or folders of them")
    return places

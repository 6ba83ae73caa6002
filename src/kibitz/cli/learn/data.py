"""`kibitz data`: games imported, looked at, checked, split, put together, exported and pruned.

Engines as teachers are in data_label.py; what inspecting counts is in data/store.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import App, Parameter

from kibitz.cli.learn.data_import import EXIT_REFUSED, Output
from kibitz.cli.output import (
    At,
    ForceFlag,
    JsonFlag,
    at_least,
    columns,
    counted,
    emit,
    may_be_written,
    spell,
)
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.log import progress, say
from kibitz.core.places import Place, below, files_below, size_of
from kibitz.data.batches.exports import write_experience, write_parquet
from kibitz.data.batches.sample import Variety, check_rules
from kibitz.data.importing import PLIES, files_in
from kibitz.data.pgn import tree_of
from kibitz.data.shard import SUFFIX, Shard, games_of, read
from kibitz.data.store import (
    EXIT_DAMAGED,
    Store,
    Summary,
    chosen,
    outdated,
    rewrite,
    select,
    shards_in,
)
from kibitz.position.pgn import BadGame, Game, read_games, write_games

# --- data -----------------------------------------------------------------------------------------


data = App(
    name="data",
    help="Fetch, import, label, inspect, split, combine, verify and export games.",
    result_action="return_value",
)

_COMMANDS = {
    "fetch": ("data_import:fetch", "Download public games, evaluations, puzzles, tables, books."),
    "import": ("data_import:import_games", "Bring games (PGN) or labelled positions (CSV) in."),
    "label": ("data_label:label_games", "Make games in which an engine evaluates every position."),
    "reanalyse": ("data_label:reanalyse_games", "Search stored games again, for policies."),
    "inspect": ("data:inspect", "Say what is in shards."),
    "stats": ("data:inspect", "The same as inspect."),
    "split": ("data:split", "Part games into training and validation."),
    "combine": ("data:combine", "Put shards or PGN files together or cut them up."),
    "verify": ("data:check", "Check shards; exit code 1 if one is damaged."),
    "export": ("data:export", "Write PGN, Parquet, or DLChess's experience."),
    "prune": ("data:prune", "Delete shards of old generations."),
    "fit-labels": ("data_import:fit_labels", "Fit what centipawns are worth to games' results."),
}

for _name, (_home, _help) in _COMMANDS.items():
    data.command(f"kibitz.cli.learn.{_home}", name=_name, help=_help)


# --- inspect --------------------------------------------------------------------------------------

WIDTH = 40  # of the longest bar
SHOWN_PLIES = 16

Places = Annotated[At, Parameter(help="Shards, or folders of them.")]


def inspect(
    *places: Places,
    games: Annotated[int, Parameter(help="How many of the first games are shown.")] = 3,
    json: JsonFlag = False,
) -> int:
    """Say what is in shards: counts, results, ends, sources, lengths, values, the first games.

    Two shares say how different the games are: of different openings (start and first 8 plies)
    among the games, and of different positions among all.
    """
    store = Store(shards_in(*some_places(places)), check=check_rules)
    summary, variety = Summary(), Variety()
    first: list[dict[str, Any]] = []
    with progress("shards", total=len(store.paths)) as bar:
        for shard in bar.over(store):
            summary.add(shard)
            variety.add(shard)
            for game in islice(games_of(shard), max(games - len(first), 0)):
                first.append(_shown(game, len(first) + 1))
    facts = summary.facts() | variety.facts() | store.facts | {"first_games": first}
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
            for shard in value:
                known = shard["games"] is not None  # else its header cannot be read
                lost = counted(shard["games"], "game") if known else "its games cannot be counted"
                rows.append((f"damaged: {shard['file']}", lost))
        elif name == "first_games":
            rows += [
                (f"game {number}", f"{game['result']} ({game['end']}) {game['moves']}")
                for number, game in enumerate(value, start=1)
            ]
        elif name == "sources":  # long texts, which would push the numbers out of sight
            rows += [
                ("source", f"{counted(count, 'game')}: {entry}") for entry, count in value.items()
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
    """Check every byte, reference and move of shards; exit code 1 if one is damaged."""
    paths = shards_in(*some_places(places))
    damaged: list[str] = []
    sound = plies = 0
    with progress("shards", total=len(paths)) as bar:
        for path in bar.over(paths):
            try:
                shard = read(path)
                check_rules(shard, path)
                plies += shard.plies
                sound += 1
            except DamagedFileError as error:
                damaged.append(str(path))
                say(str(error))
    emit({"sound": sound, "positions": plies, "damaged": damaged}, as_json=json)
    return EXIT_DAMAGED if damaged else 0


def prune(
    *places: Places,
    keep: Annotated[int, Parameter(help="So many generations stay.")],
    dry_run: Annotated[bool, Parameter(help="Only list what would go.")] = False,
    json: JsonFlag = False,
) -> int:
    """Delete shards of old generations; shards that belong to no generation stay."""
    at_least(1, keep=keep)
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


# --- split ----------------------------------------------------------------------------------------

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
    at_least(1, plies=plies)
    store = Store(shards_in(*some_places(places)))
    refuse_mixing(store.paths, output)
    result: dict[str, int] = {}
    for name, wanted in (("train", False), ("validation", True)):
        parts = _parts(store, share, wanted)
        done = rewrite(parts, output / name, name, plies)
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
    games: Annotated[
        int | None, Parameter(help="Of PGN, which stays PGN: games in a file; all in one.")
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Put shards, or PGN files with all that is in them, together or cut them up."""
    at_least(1, plies=plies, games=games)
    pgn = [_is_pgn(place) for place in places]
    if any(pgn):
        if not all(pgn):
            raise InputError("shards and PGN", value=str(output), fix="combine one kind at a time")
        facts = _combine_pgn(files_in(places, (".pgn",)), output, name, games)
        emit({**facts, "output": str(output)}, as_json=json)
        return EXIT_REFUSED if facts["skipped"] else 0
    store = Store(shards_in(*some_places(places)))
    refuse_mixing(store.paths, output)
    done = rewrite(store, output, name, plies)
    emit({**done._asdict(), **store.facts, "output": str(output)}, as_json=json)
    return store.exit_code


def _is_pgn(place: Place) -> bool:
    """Whether a file is PGN, packed or not, or a folder has such files and no shards."""
    files = files_below(place, "*") if place.is_dir() else [place]
    names = [file.name.lower() for file in files]
    pgn = any(map(_is_pgn_name, names))
    return pgn and not any(name.endswith(SUFFIX) for name in names)


def _is_pgn_name(name: str) -> bool:
    """Whether a name is that of a PGN file, packed or not."""
    return re.search(r"\.pgn(\.\w+)?$", name.lower()) is not None


def _combine_pgn(paths: list[Place], output: Place, name: str, most: int | None) -> dict[str, int]:
    """Write the games of PGN files to files of so many games; comments and variations stay."""
    is_file = _is_pgn_name(output.name)
    if is_file and most is not None:
        raise InputError(
            "one file, and games for each of several", value=str(output), fix="name a folder"
        )
    if is_file and output in paths:
        raise InputError("the output is read, too", value=str(output), fix="give another file")
    if not is_file:
        refuse_mixing(paths, output)
    bad: list[str] = []

    def skip(bad_game: BadGame) -> None:
        bad.append(str(bad_game))
        say(str(bad_game))

    readable = (game for path in paths for game in read_games(path, skip))
    games = files = 0
    while part := list(islice(readable, most)):
        files += 1
        place = output if is_file else output / f"{name}-{files:05d}.pgn"
        games += write_games(place, part)
    return {"files_read": len(paths), "files": files, "games": games, "skipped": len(bad)}


def refuse_mixing(paths: list[Place], output: Place) -> None:
    """Refuse an output folder that is read from: it would then hold every game twice."""
    if any(below(path, output) for path in paths):
        raise InputError(
            "the output folder holds what is read", value=str(output), fix="give another folder"
        )


# --- export ---------------------------------------------------------------------------------------

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
    force: ForceFlag = False,
    json: JsonFlag = False,
) -> int:
    """Write games as PGN, positions as Parquet, or both as DLChess's experience."""
    if not (output.is_dir() or may_be_written(output, force, "the file")):
        say(f"{output} is as it was")
        return 0
    store = Store(shards_in(*some_places(places)), check=check_rules)
    kind = format or output.suffix.removeprefix(".").lower()
    with progress("shards", total=len(store.paths)) as bar:
        shards = _some_games(bar.over(store))
        if shards is None:
            say(f"nothing to export: {output} is not written")
            emit(store.facts | {"output": None}, as_json=json)
            return store.exit_code or EXIT_DAMAGED
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


def _some_games(shards: Iterator[Shard]) -> Iterator[Shard] | None:
    """The shards from the first with a game on; None if there is none, before a file is begun."""
    first = next((shard for shard in shards if shard.games), None)
    return None if first is None else chain([first], shards)

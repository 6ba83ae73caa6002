"""`kibitz data import` and `fit-labels`: games and labelled positions become shards and a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from kibitz.cli.output import EXIT_STOPPED, At, JsonFlag, at_least, emit
from kibitz.core.errors import InputError
from kibitz.core.log import graceful_stop, progress, say
from kibitz.core.places import Place
from kibitz.data.importing import (
    KINDS,
    LABELLED,
    PLIES,
    STANDARD_INPUT,
    Imported,
    files_in,
    import_labelled,
    import_pgn,
    kind_of,
    scores_and_results,
)
from kibitz.data.labels.labels import LabelModel, fit
from kibitz.data.openings import Pace, Wanted

Output = Annotated[At, Parameter(name=["--output", "-o"], help="Folder for the new shards.")]
EXIT_REFUSED = 1  # of an import that could not read a file, and named it
DEFAULT = LabelModel()

Workers = Annotated[int, Parameter(help="Processes at the same time.")]


def import_games(
    *files: Annotated[
        At,
        # A lone hyphen is standard input; `known` refuses what else begins with one.
        Parameter(
            help="PGN, CSV or JSONL, packed or not, folders, or -.", allow_leading_hyphen=True
        ),
    ],
    output: Output,
    workers: Workers = 1,
    plies: Annotated[int, Parameter(help="Positions in a shard, about.")] = PLIES,
    rating: Annotated[int, Parameter(help="Of PGN: only if both players have at least this.")] = 0,
    time_control: Annotated[
        tuple[Pace, ...], Parameter(help="Of PGN: only games like these; may be repeated.")
    ] = (),
    evaluated: Annotated[bool, Parameter(help="Of PGN: only games with [%eval] comments.")] = False,
    games: Annotated[int | None, Parameter(help="End once so many are imported, or more.")] = None,
    a: Annotated[float, Parameter(help="Centipawns where a win is as likely as not.")] = DEFAULT.a,
    b: Annotated[float, Parameter(help="Centipawns of the label model's slope.")] = DEFAULT.b,
    json: JsonFlag = False,
) -> int:
    """Bring games or labelled positions into a store."""
    if not files:
        raise InputError("nothing to import", fix="name files")
    at_least(1, workers=workers, plies=plies, games=games)
    at_least(0, rating=rating)
    wanted = Wanted(rating, time_control, evaluated)
    if b < 1:
        raise InputError("-b", value=b, fix="give 1 or more")
    done, skipped, refused = Imported(), 0, 0
    with graceful_stop() as stop, progress("positions", total=None) as bar:
        for piece in _pieces(known(files), output, workers, plies, LabelModel(a, b), wanted):
            done = done.plus(piece._replace(bad=(), refused=()))  # counted: there may be many
            skipped, refused = skipped + len(piece.bad), refused + len(piece.refused)
            bar.advance(piece.plies)
            for text in piece.bad + piece.refused:
                say(text)
            if stop.requested or (games is not None and done.games >= games):
                break
    result = {"games": done.games, "positions": done.plies, "shards": done.shards}
    result |= {"skipped": skipped, "empty": done.empty, "refused": refused}
    result |= {"copies": done.copies}
    result |= {"unwanted": done.unwanted} if wanted != Wanted() else {}
    emit(result | {"output": str(output)}, as_json=json)
    if stop.requested:
        return EXIT_STOPPED
    if not done.games:
        say("nothing was imported")
    return 0 if done.games and not refused else EXIT_REFUSED


def known(places: Sequence[Place], kinds: Sequence[str] = KINDS) -> list[Place]:
    """The files that arguments stand for, by what they are named."""
    for place in places:
        if str(place).startswith("-") and place != STANDARD_INPUT:
            raise InputError("no such option", value=str(place), fix="see --help")
    files = files_in(places, kinds)
    for path in files:
        kind_of(path, kinds)
    return files


def _pieces(
    files: list[Place], output: Place, workers: int, plies: int, model: LabelModel, wanted: Wanted
) -> Iterator[Imported]:
    labelled = [path for path in files if kind_of(path) in LABELLED]
    games = [path for path in files if path not in labelled]
    for path in labelled:
        yield from import_labelled(path, output, model, plies=plies, workers=workers)
    yield from import_pgn(games, output, model, wanted=wanted, plies=plies, workers=workers)


def fit_labels(
    *files: Annotated[At, Parameter(help="CSV files of labelled positions, packed or not.")],
    json: JsonFlag = False,
) -> None:
    """Find the label model under which the games' results are most likely."""
    if not files:
        raise InputError("nothing to fit to", fix="name files")
    with progress("positions", total=None) as bar:
        pairs = []
        for pair in scores_and_results(files):
            pairs.append(pair)
            bar.advance(len(pair[0]))
    scores, results = (np.concatenate(column) for column in zip(*pairs, strict=True))
    found = fit(scores, results)
    facts = {"log_likelihood": found.log_likelihood, "positions": found.positions}
    emit(found.model._asdict() | facts, as_json=json)

"""`kibitz coach`: a player's own games, fetched, analysed and learnt from."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import App, Parameter

from kibitz.cli.explain.comment import LanguageFlag
from kibitz.cli.explain.puzzle import show_board, tell_line
from kibitz.cli.output import EXIT_STOPPED, EngineFlag, JsonFlag, at_least, emit
from kibitz.cli.play.play import typed_lines
from kibitz.coach.analyse import Study, analyse_games
from kibitz.coach.cards import write_deck
from kibitz.coach.database import Database, open_games
from kibitz.coach.deck import DeckName, due_items, stored_items
from kibitz.coach.fetch import account_of, fetch
from kibitz.coach.games import Added, Wanted, add_files
from kibitz.coach.train import Training
from kibitz.comment.words.languages import chosen_language
from kibitz.core.errors import InputError
from kibitz.core.files import atomic_write, refuse_folder
from kibitz.core.journal import with_lock
from kibitz.core.log import graceful_stop, progress, say
from kibitz.core.places import existing, place
from kibitz.core.workers import processors
from kibitz.data.pgn import Pace
from kibitz.engine.options import AUTODISCOVER

coach = App(name="coach", help="Learn from your own games.", result_action="return_value")
DatabaseFlag: TypeAlias = Annotated[
    Path | None, Parameter(help="File of your games; by default in your data folder.")
]
DeckFlag: TypeAlias = Annotated[
    DeckName, Parameter(help="Your mistakes, or those that your opponents got away with.")
]
OF_PLAYER = {"new", "there already", "not wanted", "without moves"}  # what is counted of own games
LOW_PRIORITY = 10  # niceness: everything else on the machine comes first


def _worked_on(database: Database, work: str) -> Any:
    """Keep a second process from the same work; others may read and write meanwhile."""
    return with_lock(database.path.with_name(f"{database.path.name}.{work}"), work)


@coach.command
def add(
    *sources: Annotated[str, Parameter(help="lichess:NAME, chesscom:NAME or PGN files.")],
    player: Annotated[
        tuple[str, ...], Parameter(help="Your name in the files; may be given more than once.")
    ] = (),
    since: Annotated[str | None, Parameter(help="Only games from a day on: 2024-01-31.")] = None,
    speeds: Annotated[
        tuple[Pace, ...], Parameter(help="Only these, by Lichess's names: blitz, rapid ...")
    ] = (),
    rated: Annotated[bool, Parameter(help="Only rated games.")] = False,
    server: Annotated[
        str | None, Parameter(help="Another address with the site's interface.")
    ] = None,
    database: DatabaseFlag = None,
    json: JsonFlag = False,
) -> int:
    """Add your games: from Lichess and chess.com by your name there, or from files.

    What is there already is not fetched again; what was stopped goes on. LICHESS_TOKEN, if it is
    set, makes Lichess faster.
    """
    if not sources:
        raise InputError("no games named", fix="lichess:NAME, chesscom:NAME or PGN files")
    names = [name.strip() for name in player]
    if "" in names:
        raise InputError("--player", value="", fix="give the name that is in the games")
    accounts = [account_of(source, server) for source in sources]
    files = [
        existing(place(source))
        for source, account in zip(sources, accounts, strict=True)
        if account is None
    ]
    wanted, added = Wanted(_moment(since), speeds, rated), Added()
    with (
        graceful_stop() as stop,
        open_games(database, must_exist=False) as games,
        _worked_on(games, "add"),
        progress("games") as bar,
    ):
        for name in names:
            games.add_name(name)
        for account in filter(None, accounts):
            fetch(account, games, wanted, stop, bar, added)
        if files:
            add_files(games, files, wanted, stop, added)
        if files and not added.keys() & OF_PLAYER:
            told = ", ".join(games.names())
            say(f"no game of {told}: give --player as the tags White and Black have it")
        counts = {name.replace(" ", "_"): count for name, count in sorted(added.items()) if count}
        emit(counts | {"games": games.count("games")}, as_json=json)
    if stop.requested:
        say("stopped; the same command goes on")
    return EXIT_STOPPED if stop.requested else 0


def _moment(day: str | None) -> int:
    """The beginning of a day, UTC, in seconds since 1970."""
    if day is None:
        return 0
    try:
        moment = datetime.datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=datetime.UTC)
    except ValueError as error:
        raise InputError("--since", value=day, fix="give a day like 2024-01-31") from error
    return int(moment.timestamp())


@coach.command
def analyse(
    *,
    games: Annotated[int | None, Parameter(help="Only so many, the latest first.")] = None,
    nodes: Annotated[int, Parameter(help="Of the first look at a position.")] = Study.nodes,
    workers: Annotated[int | None, Parameter(help="Processes; all processors by default.")] = None,
    language: LanguageFlag = None,
    network: EngineFlag = AUTODISCOVER,
    database: DatabaseFlag = None,
    json: JsonFlag = False,
) -> int:
    """Analyse your games, the latest first; Ctrl-C ends it after the game, and it goes on later."""
    at_least(1, games=games, nodes=nodes, workers=workers)
    if hasattr(os, "nice"):
        os.nice(LOW_PRIORITY)
    study = Study(nodes, network, chosen_language(language))
    with graceful_stop() as stop, open_games(database) as kept, _worked_on(kept, "analyse"):
        done = analyse_games(kept, study, stop, games, workers or processors())
        total, every = kept.count("analyses"), kept.count("games")
        counts = {"analysed_now": done, "analysed": total, "games": every}
        emit(counts | {"items": kept.count("items")}, as_json=json)
    return EXIT_STOPPED if stop.requested else 0


@coach.command
def train(
    *,
    deck: DeckFlag = "own",
    new: Annotated[int, Parameter(help="Items at most that were never asked.")] = 10,
    database: DatabaseFlag = None,
) -> int:
    """Solve your own mistakes; each comes again when you are about to forget it.

    Lines on standard input are moves, hint, solution and other words.
    """
    at_least(0, new=new)
    with open_games(database) as kept:
        items = due_items(kept, deck, int(time.time()), new)
        if not items:
            counted = kept.value("SELECT count(*) FROM items WHERE deck = ?", (deck,))
            why = f"{counted} items, none is due" if counted else "kibitz coach analyse makes items"
            say(f"nothing to do: {why}")
            return 0
        lines = (line for line in typed_lines() if line is not None)
        Training(kept, lines, show_board, tell_line).run(items)
    return 0


@coach.command
def deck(
    output: Annotated[Path, Parameter(help="A deck for Anki (.apkg), .pgn or .csv.")],
    *,
    deck: DeckFlag = "own",
    database: DatabaseFlag = None,
) -> int:
    """Write your mistakes for Anki, with pictures of the boards, or as PGN or CSV."""
    refuse_folder(output)
    with open_games(database) as kept:
        items = list(stored_items(kept, deck))
        write_deck(output, items)
        say(f"{output}: {len(items)} items")
    return 0


@coach.command
def export(
    output: Annotated[Path, Parameter(help="A .pgn of all games, or a .db with everything.")],
    *,
    database: DatabaseFlag = None,
) -> int:
    """Write your games as PGN, or a whole copy of the database."""
    refuse_folder(output)
    with open_games(database) as kept:
        if output.suffix.lower() == ".db":
            kept.copy_to(output)
        elif output.suffix.lower() == ".pgn":
            with atomic_write(output) as file:
                for _, game in kept.games():
                    file.write(f"{game.pgn}\n".encode())
        else:
            raise InputError(
                "not a kind of file written here", value=str(output), fix=".pgn or .db"
            )
        say(f"{output}: {kept.count('games')} games")
    return 0

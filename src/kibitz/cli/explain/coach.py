"""`kibitz coach`: a player's own games, fetched, analysed and learnt from.

`tree` also serves openings of any games, and `profile` says what costs the player points.
"""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import App, Parameter

from kibitz.cli.explain.comment import LanguageFlag
from kibitz.cli.explain.puzzle import show_board, tell_line
from kibitz.cli.output import (
    EXIT_STOPPED,
    At,
    EngineFlag,
    JsonFlag,
    at_least,
    columns,
    counted,
    emit,
    from_flag,
)
from kibitz.cli.play.play import typed_lines
from kibitz.coach.analyse import Study, analyse_games
from kibitz.coach.database import Database, open_games
from kibitz.coach.deck import DeckName, due_items, stored_items
from kibitz.coach.fetch import Fetching, account_of
from kibitz.coach.games import Added, Wanted, add_files, other_players
from kibitz.coach.profile import (
    Conversion,
    Figure,
    Finding,
    conversions,
    figure_name,
    figures,
    findings,
    played_games,
)
from kibitz.coach.repertoire import practised, read_repertoire
from kibitz.coach.train import Training, write_deck
from kibitz.coach.tree import (
    MATE,
    PLIES,
    Tree,
    TreeMove,
    book_moves,
    merged,
    moves_at,
    read_tree,
    tree_of_files,
    tree_of_games,
    write_book,
    write_tree,
)
from kibitz.comment.words.languages import chosen_language, language_of
from kibitz.core.errors import InputError
from kibitz.core.files import atomic_write, refuse_folder
from kibitz.core.log import graceful_stop, progress, say
from kibitz.core.places import Place, existing, place
from kibitz.core.workers import processors
from kibitz.data.pgn import Pace
from kibitz.engine.levels import People
from kibitz.engine.options import AUTODISCOVER
from kibitz.position.board import Board, Side
from kibitz.position.fen import START
from kibitz.position.notation import moves_in

coach = App(name="coach", help="Learn from your own games.", result_action="return_value")
DatabaseFlag: TypeAlias = Annotated[
    Path | None, Parameter(help="File of your games; by default in your data folder.")
]
DeckFlag: TypeAlias = Annotated[
    DeckName, Parameter(help="Your mistakes, or those that your opponents got away with.")
]
OF_PLAYER = {"new", "there already", "not wanted", "without moves"}  # what is counted of own games
NO_ITEMS = "kibitz coach analyse makes items"
LOW_PRIORITY = 10  # niceness: everything else on the machine comes first


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
        games.working("add"),
        progress("games") as bar,
    ):
        fresh = [name for name in names if name not in games.names()]
        for name in names:
            games.add_name(name)
        for account in filter(None, accounts):
            Fetching(account, games, wanted, stop, bar, added).run()
        if files:
            add_files(games, files, wanted, stop, added)
        if files and not stop.requested:
            _refuse_strangers(games, files, fresh, added)
        counts = {name.replace(" ", "_"): count for name, count in sorted(added.items()) if count}
        emit(counts | {"games": games.count("games")}, as_json=json)
    if stop.requested:
        say("stopped; the same command goes on")
    return EXIT_STOPPED if stop.requested else 0


def _refuse_strangers(
    games: Database, files: Sequence[Place], fresh: Sequence[str], added: Added
) -> None:
    """Refuse names that no player in the files has; the database forgets those given just now."""
    rows = games.rows("SELECT DISTINCT white, black FROM games")
    players = {player.casefold() for row in rows for player in row}
    strangers = [name for name in fresh if name.casefold() not in players]
    if not added.keys() & OF_PLAYER:
        strangers = [*fresh] or games.names()
    elif added["not wanted"] or added["without moves"]:
        return  # of whom, nothing tells any more
    for name in fresh:
        if name in strangers:
            games.forget_name(name)
    if strangers:
        fix = other_players(files, strangers[0])
        raise InputError("no game of this player", value=", ".join(strangers), fix=fix)


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
    with graceful_stop() as stop, open_games(database) as kept, kept.working("analyse"):
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
            say(f"nothing to do: {_why_nothing(kept, deck)}")
            return 0
        lines = (line for line in typed_lines() if line is not None)
        Training(lines, show_board, tell_line, kept).run(items)
    return 0


def _why_nothing(kept: Database, deck: DeckName) -> str:
    """Why a deck has nothing to ask: none is due, or its items are in the other deck."""
    decks = dict(kept.rows("SELECT deck, count(*) FROM items GROUP BY deck"))
    if deck in decks:
        return f"{counted(decks[deck], 'item')}, none is due"
    others = [f"{counted(count, 'item')} in --deck {name}" for name, count in decks.items()]
    return f"no item in this deck, {' and '.join(others)}" if others else NO_ITEMS


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
        say(f"{output}: {counted(len(items), 'item')}")
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
        say(f"{output}: {counted(kept.count('games'), 'game')}")
    return 0


# --- tree -----------------------------------------------------------------------------------------

TREE, BOOK = ".tree", ".bin"
TREE_HEADINGS = ("move", "games", "white", "draw", "black", "performance", "evaluation", "reached")


@coach.command
def tree(
    *files: Annotated[At, Parameter(help="PGN, .tree or one Polyglot .bin; else your games.")],
    moves: Annotated[
        tuple[str, ...],
        Parameter(help="Moves to the position to look at: e4 e5.", consume_multiple=True),
    ] = (),
    fen: Annotated[str, Parameter(help="The position from which these moves begin.")] = START,
    side: Annotated[Side | None, Parameter(help="Only your games with a colour.")] = None,
    repertoire: Annotated[
        At | None, Parameter(help="PGN of what you want to play; --side says with which colour.")
    ] = None,
    plies: Annotated[int, Parameter(help="So many of each game.")] = PLIES,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="Keep the tree (.tree), or a book (.bin)."),
    ] = None,
    fewest: Annotated[int, Parameter(help="Games that a move of a book has.")] = 3,
    workers: Annotated[int | None, Parameter(help="Processes; all processors by default.")] = None,
    database: DatabaseFlag = None,
    json: JsonFlag = False,
) -> int:
    """Show which moves were made in a position and how the games went; transpositions count.

    With --repertoire: where you leave it, and where it leaves you without an answer.
    """
    at_least(1, plies=plies, fewest=fewest, workers=workers)
    book = next((file for file in files if file.suffix.lower() == BOOK), None)
    if book is not None and (files[1:] or output):
        fix = "name it alone, without --output"
        raise InputError("a Polyglot book is only looked into", value=str(book), fix=fix)
    if repertoire is not None and (files or output):
        fix = "leave out FILES and --output"
        raise InputError("--repertoire is compared with your own games alone", fix=fix)
    if files and (side or database):
        fix = "leave out FILES, or --side and --database"
        raise InputError("only your own games have a colour and a database", fix=fix)
    board = Board(fen)
    with from_flag("--moves"):
        for move in moves_in(moves):
            board.push(move)
    if repertoire is not None:
        return _compare(existing(repertoire), side, database, json)
    if isinstance(book, Path):
        existing(book)
        rows = [entry._asdict() for entry in book_moves(book, board)]
        emit({"moves": rows}, as_json=json, table=columns(("move", "weight"), _values(rows)))
        return 0
    if output is not None and output.suffix not in (TREE, BOOK):
        raise InputError(
            "no kind of tree", value=str(output), fix=f"{TREE}, or {BOOK} for Polyglot"
        )
    grown = _grown(files, side, plies, workers or processors(), database)
    if output is not None:
        _keep(output, grown, fewest)
    moves_here = moves_at(grown, board)
    if not moves_here:
        say("no game has a move in this position")
    table = columns(TREE_HEADINGS, [_row(move, board.turn == "white") for move in moves_here])
    emit({"moves": [move.facts() for move in moves_here]}, as_json=json, table=table)
    return 0


def _grown(
    files: Sequence[Place], side: Side | None, plies: int, workers: int, database: Path | None
) -> Tree:
    """The tree of files, or of the player's games."""
    if not files:
        with open_games(database) as kept:
            return tree_of_games(kept, side, plies)
    trees = [read_tree(existing(path)) for path in files if path.suffix == TREE]
    games = [existing(path) for path in files if path.suffix != TREE]
    if games:
        grown, counts = tree_of_files(games, plies, workers)
        trees.append(grown)
        say(", ".join(f"{count:,} {name}" for name, count in counts.items()) or "no game")
    return merged(trees)


def _keep(output: Path, grown: Tree, least: int) -> None:
    if output.suffix == TREE:
        write_tree(output, grown)
        say(f"{output}: {len(grown.keys):,} moves of positions")
    else:
        say(f"{output}: {write_book(output, grown, least):,} entries")


def _values(rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    return [list(row.values()) for row in rows]


def _row(move: TreeMove, white: bool) -> list[Any]:
    shares = (f"{100 * count / move.games:.0f} %" for count in (move.white, move.draws, move.black))
    score = "" if move.score is None else _score_text(move.score)
    name = f"{move.san} ({100 * move.points(white):.0f} %)"
    return [name, move.games, *shares, move.performance or "", score, move.reached]


def _score_text(score: int) -> str:
    if abs(score) >= MATE:
        return "+mate" if score > 0 else "-mate"
    return f"{score / 100:+.2f}"


def _compare(path: Place, side: Side | None, database: Path | None, json: bool) -> int:
    """Print where games leave a repertoire."""
    if side is None:
        raise InputError("--repertoire needs a colour", fix="--side white or --side black")
    prepared = read_repertoire(path)
    with open_games(database) as games:
        practice = practised(games, prepared, side)
    result = practice.facts()
    rows = result.pop("leaves")
    headings = ("after", "played", "by", "repertoire", "games", "score", "points lost")
    shown = [
        (
            row["line"],
            row["move"],
            row["by"],
            row["repertoire"],
            row["games"],
            row["score"],
            row["lost"],
        )
        for row in rows
    ]
    title = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in result.items())
    emit(result | {"leaves": rows}, as_json=json, table=columns(headings, shown, title))
    return 0


# --- profile --------------------------------------------------------------------------------------

FOUND = ("one good move", "positions", "you", "people", "+-", "missed, for example")
PROFILE_HEADINGS = ("what", "", "games", "moves", "points lost a game", "+-", "for example")


@coach.command
def profile(
    *,
    games: Annotated[int, Parameter(help="Leave out figures of fewer games.")] = 5,
    database: DatabaseFlag = None,
    json: JsonFlag = False,
) -> int:
    """Show what costs you points: phases, motifs, openings, endings, clock, colour, months.

    A win is one point. Every figure is a mean over games with its 95 % interval. Where only one
    move was good, the last table says how often you found it, and how often people of your rating
    do, by the networks of Maia.
    """
    at_least(1, games=games)
    with open_games(database) as kept:
        played = list(played_games(kept))
        names = kept.names()
    if not played:
        raise InputError("no game is analysed", value=", ".join(names), fix="kibitz coach analyse")
    rows = [row for row in figures(played) if row.games >= games or row.group == "all"]
    endings = conversions(played)
    beside = [row for row in findings(played, People()) if row.chances >= games]
    result = {
        "games": len(played),
        "figures": [_facts(row) for row in rows],
        "endings": [ending._asdict() for ending in endings],
        "one_good_move": [_finding(row) for row in beside],
    }
    emit(result, as_json=json, table=_table(rows, endings, beside))
    return 0


def _facts(row: Figure) -> dict[str, Any]:
    error = None if math.isnan(row.error) else round(row.error, 4)
    examples = [example.address for example in row.examples]
    return row._asdict() | {"cost": round(row.cost, 4), "error": error, "examples": examples}


def _finding(row: Finding) -> dict[str, Any]:
    error = None if math.isnan(row.error) else round(row.error, 4)
    shares = {"played": round(row.played, 4), "expected": round(row.expected, 4)}
    examples = [example.address for example in row.examples]
    return row._asdict() | shares | {"error": error, "examples": examples}


def _table(rows: list[Figure], endings: list[Conversion], beside: list[Finding]) -> Any:
    from rich.console import Group

    language = language_of(None)
    shown = [
        (row.group, name, row.games, row.moves, f"{row.cost:.2f}", _error(row), example)
        for row in rows
        for name in [figure_name(row, language)]
        for example in [row.examples[0].address if row.examples else ""]
    ]
    headings = ("ending", "to be won", "won", "to be saved", "saved")
    tables = [columns(PROFILE_HEADINGS, shown, spare=1), columns(headings, endings)]
    if beside:
        shares = [
            (
                figure_name(row, language),
                row.chances,
                f"{row.played:.0%}",
                f"{row.expected:.0%}",
                _error(row),
                example,
            )
            for row in beside
            for example in [row.examples[0].address if row.examples else ""]
        ]
        tables.append(columns(FOUND, shares, spare=1))
    return Group(*tables)


def _shares(row: Finding) -> tuple[str, str]:
    return f"{row.played:.0%}", f"{row.expected:.0%}"


def _error(row: Figure | Finding) -> str:
    return "" if math.isnan(row.error) else f"{row.error:.2f}"

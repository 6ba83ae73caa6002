"""`kibitz coach tree`: openings of your own games or of any, and a repertoire against practice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.cli.explain.coach import DatabaseFlag
from kibitz.cli.explain.coach import coach as coach  # with the commands here
from kibitz.cli.output import At, JsonFlag, at_least, columns, emit
from kibitz.coach.database import BLACK, WHITE, open_games
from kibitz.coach.polyglot import book_moves, write_book
from kibitz.coach.repertoire import practised, read_repertoire
from kibitz.coach.tree import (
    MATE,
    PLIES,
    Tree,
    TreeMove,
    merged,
    moves_at,
    read_tree,
    tree_of_files,
    tree_of_games,
    write_tree,
)
from kibitz.core.errors import InputError
from kibitz.core.log import say
from kibitz.core.places import Place, existing
from kibitz.core.workers import processors
from kibitz.position.board import Board, Side
from kibitz.position.fen import START

TREE, BOOK = ".tree", ".bin"
HEADINGS = ("move", "games", "white", "draw", "black", "performance", "evaluation", "reached")


@coach.command
def tree(
    *files: Annotated[At, Parameter(help="PGN, .tree or one Polyglot .bin; else your games.")],
    moves: Annotated[str, Parameter(help="Moves to the position to look at: 'e4 e5'.")] = "",
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
    for move in moves.split():
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
    table = columns(HEADINGS, [_row(move, board.turn == "white") for move in moves_here])
    emit({"moves": [move.facts() for move in moves_here]}, as_json=json, table=table)
    return 0


def _grown(
    files: Sequence[Place], side: Side | None, plies: int, workers: int, database: Path | None
) -> Tree:
    """The tree of files, or of the player's games."""
    if not files:
        with open_games(database) as kept:
            return tree_of_games(kept, None if side is None else _number(side), plies)
    trees = [read_tree(existing(path)) for path in files if path.suffix == TREE]
    games = [existing(path) for path in files if path.suffix != TREE]
    if games:
        grown, counts = tree_of_files(games, plies, workers)
        trees.append(grown)
        say(", ".join(f"{count:,} {name}" for name, count in counts.items()) or "no game")
    return merged(trees)


def _number(side: Side) -> int:
    return WHITE if side == "white" else BLACK


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
        practice = practised(games, prepared, _number(side))
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

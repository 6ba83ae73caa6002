"""`kibitz human`: what people of a rating play, and how hard the best move is to find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.cli.output import EngineFlag, JsonFlag, at_least, columns, emit, from_flag
from kibitz.coach.human import HIGHEST_RATING, LOWEST_RATING, people_facts
from kibitz.core.errors import InputError
from kibitz.core.log import say
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.position.pgn import read_games
from kibitz.search.limits import Limits
from kibitz.search.report import Line

NODES = 100_000
ROWS = 10


def human(
    what: Annotated[str, Parameter(help="FEN, or a PGN file, of which the first game.")] = START,
    *,
    rating: Annotated[int, Parameter(help="Of the people, as on Lichess.")] = 1500,
    moves: Annotated[
        tuple[str, ...],
        Parameter(help="Played from there: people's moves depend on them.", consume_multiple=True),
    ] = (),
    ply: Annotated[
        int | None, Parameter(help="Of a PGN: after so many plies, by default all.")
    ] = None,
    nodes: Annotated[int, Parameter(help="Of the search for the best move; 0: none.")] = NODES,
    network: EngineFlag = AUTODISCOVER,
    json: JsonFlag = False,
) -> int:
    """Say what people of a rating play, and how hard the best move is to find."""
    at_least(0, nodes=nodes)
    if not LOWEST_RATING <= rating <= HIGHEST_RATING:
        fix = f"give {LOWEST_RATING} to {HIGHEST_RATING}"
        raise InputError("--rating", value=rating, fix=fix)
    board = _board(what, ply)
    with from_flag("--moves"):
        for move in moves:
            board.push(move)
    lines = list[Line]()
    if nodes and board.legal_moves:
        with Engine(network, multipv=len(board.legal_moves)) as engine:
            lines += engine.play(board, Limits(nodes=nodes)).report.lines
    facts = people_facts(board, rating, lines)
    rows = facts["moves"]
    emit(facts, as_json=json, table=None if json else _table(rows, rating))
    if not rows:
        say("the game is over")
    elif "best" in facts and not json:
        say(_told(facts["best"], rating))
    return 0


def _board(what: str, ply: int | None) -> Board:
    """The position, with the moves that led to it where they are given."""
    if not Path(what).is_file():
        if ply is not None:
            raise InputError("--ply", value=ply, fix="it is for PGN files; give one")
        return Board(what)
    game = next(iter(read_games(what)), None)
    if game is None:
        raise InputError("no game in this file", value=what, fix="give a PGN file")
    if ply is not None and not 0 <= ply <= len(game.moves):
        raise InputError("--ply", value=ply, fix=f"the game has {len(game.moves)} plies")
    board = game.start
    for move in game.moves[:ply]:
        board.push(move)
    return board


def _table(rows: list[dict[str, Any]], rating: int) -> Any:
    cells = [
        (row["san"], _percent(row["share"]), row.get("score", ""), row.get("mark", ""))
        for row in rows[:ROWS]
    ]
    return columns(("move", f"played at {rating}", "score", ""), cells)


def _told(best: dict[str, Any], rating: int) -> str:
    others = ", ".join(
        f"{_percent(share)} at {other}"
        for other, share in best["by_rating"].items()
        if other != rating
    )
    return f"best move {best['san']}: {_percent(best['share'])} play it at {rating}; {others}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

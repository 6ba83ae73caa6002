"""`kibitz human`: what people of a rating play, and how hard the best move is to find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.cli.explain.search import spelled
from kibitz.cli.output import EngineFlag, JsonFlag, at_least, columns, emit, from_flag
from kibitz.comment.judge import MARKS, graded, value_of
from kibitz.core.errors import InputError
from kibitz.core.log import say
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER
from kibitz.engine.people import People, Shares
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.position.notation import Move
from kibitz.position.pgn import read_games
from kibitz.search.limits import Limits
from kibitz.search.report import Line

NODES = 100_000
LOWEST, HIGHEST = 500, 3000  # ratings that can be asked for; the nearest network answers beyond
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
    if not LOWEST <= rating <= HIGHEST:
        raise InputError("--rating", value=rating, fix=f"give {LOWEST} to {HIGHEST}")
    board = _board(what, ply)
    with from_flag("--moves"):
        for move in moves:
            board.push(move)
    people = People()
    shares = people.shares(board, rating)
    facts: dict[str, Any] = {"fen": board.fen(), "rating": rating, "networks": people.ready(rating)}
    if not shares:
        emit(facts | {"moves": []}, as_json=json, table=columns(("", ""), []))
        say("the game is over")
        return 0
    lines = _searched(board, network, nodes) if nodes else {}
    rows = [_row(board, move, share, lines) for move, share in shares.items()]
    facts |= {"moves": rows}
    if lines:
        facts["best"] = _best(board, people, shares, rating, next(iter(lines)))
    emit(facts, as_json=json, table=None if json else _table(rows, rating))
    if lines and not json:
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


def _searched(board: Board, network: str, nodes: int) -> dict[Move, Line]:
    """What the engine thinks of every move, the best first."""
    with Engine(network, multipv=len(board.legal_moves)) as engine:
        report = engine.play(board, Limits(nodes=nodes)).report
    return {line.moves[0]: line for line in report.lines if line.moves}


def _row(board: Board, move: Move, share: float, lines: dict[Move, Line]) -> dict[str, Any]:
    row: dict[str, Any] = {"move": board.uci(move), "san": board.san(move), "share": share}
    if move in lines:
        best, line = next(iter(lines.values())), lines[move]
        score, highest = line.common or line.score, best.common or best.score
        mark = MARKS[graded(value_of(highest), value_of(score))]
        row |= {"score": spelled(score), "mark": mark}
    return row


def _best(board: Board, people: People, shares: Shares, rating: int, best: Move) -> dict[str, Any]:
    """The best move, and how many find it at this rating and at those of the networks."""
    by_rating = {other: people.shares(board, other)[best] for other in people.ratings}
    by_rating[rating] = shares[best]
    return {
        "move": board.uci(best),
        "san": board.san(best),
        "share": shares[best],
        "by_rating": dict(sorted(by_rating.items())),
    }


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

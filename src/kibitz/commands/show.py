"""`kibitz show`: a position drawn, with its key, legal moves, checks and outcome.

position room -> **command line**
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kibitz.commands.output import JsonFlag, emit, two_columns
from kibitz.files import write_bytes
from kibitz.log import say
from kibitz.position.board import Board
from kibitz.position.display import svg as drawing
from kibitz.position.fen import START
from kibitz.position.notation import legal_sans
from kibitz.position.squares import square_name


def show(
    fen: Annotated[str, Parameter(help="The position; the start of the game by default.")] = START,
    *,
    svg: Annotated[Path | None, Parameter(help="Draw it into this file, too.")] = None,
    json: JsonFlag = False,
) -> None:
    """Draw a position and say what it is."""
    board = Board(fen)
    if svg is not None:
        write_bytes(svg, drawing(board).encode())
        say(f"drawn into {svg}")
    result = _facts(board)
    if json:
        emit(result, as_json=True)
        return
    from rich.console import Group

    shown = {
        **result,
        "moves": ", ".join(result["moves"]),
        "checkers": " ".join(result["checkers"]),
    }
    table = two_columns({name: value for name, value in shown.items() if value not in ("", None)})
    emit(result, as_json=False, table=Group(board, table))


def _facts(board: Board) -> dict[str, Any]:
    """What there is to say about a position."""
    end = board.outcome(claim=True)
    return {
        "fen": board.fen(),
        "key": f"{board.key:016x}",
        "turn": board.turn,
        "checkers": [square_name(square) for square in board.checkers()],
        "moves": sorted(legal_sans(board.position)),
        "outcome": None if end is None else end.termination.name.lower().replace("_", " "),
        "result": None if end is None else end.result,
    }

"""Resources: the games of the user's that `kibitz coach analyse` has analysed, annotated.

A game is annotated when it is read for the first time; what was searched is kept (`comment.cache`).
"""

from __future__ import annotations

import re
import time
from contextlib import closing
from typing import NamedTuple

from kibitz.apps.mcp.arguments import Shelf
from kibitz.apps.mcp.calls import Call
from kibitz.apps.mcp.searches import annotated
from kibitz.comment.annotate import Style
from kibitz.core.errors import InputError

PAGE = 50  # games that are listed at a time
SCHEME = "kibitz://games/"
TEMPLATE = f"{SCHEME}{{number}}"
KIND = "application/vnd.chess-pgn"
_ADDRESS = re.compile(re.escape(SCHEME) + r"(\d{1,18})")
_LISTED = (
    "SELECT id, played, white, black, result, eco, opening FROM games"
    " JOIN analyses ON analyses.game = games.id ORDER BY played DESC, id DESC LIMIT ? OFFSET ?"
)


class Listed(NamedTuple):
    """A game of the list."""

    address: str
    title: str


def listed(shelf: Shelf, start: int) -> list[Listed]:
    """Analysed games from one on, the latest first; none if no games are kept here."""
    if not shelf.database.exists():
        return []
    with closing(shelf.games()) as games:
        return [
            Listed(f"{SCHEME}{row[0]}", _title(*row[1:]))
            for row in games.rows(_LISTED, (PAGE, start))
        ]


def _title(played: int, white: str, black: str, result: str, eco: str, opening: str) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(played)) if played else ""
    return "  ".join(filter(None, (f"{white} - {black} {result}", day, f"{eco} {opening}".strip())))


def annotated_game(call: Call, shelf: Shelf, address: str) -> str:
    """An analysed game with comments, as PGN."""
    number = _ADDRESS.fullmatch(address)
    if number is None:
        raise InputError("no resource of this server", value=address, fix=f"expected {TEMPLATE}")
    with closing(shelf.games()) as games:
        where = "id = ? AND id IN (SELECT game FROM analyses)"
        texts = [game.pgn for _, game in games.games(where, (int(number[1]),))]
    if not texts:
        raise InputError("no such game among those analysed", value=address, fix="list resources")
    return str(annotated(call, texts[0], Style()).game)

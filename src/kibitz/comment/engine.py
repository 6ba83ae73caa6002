"""The engine of the package's public face: it plays, analyses, and says what a move does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kibitz.engine import Engine as SearchingEngine
from kibitz.search.limits import Limits

if TYPE_CHECKING:
    from kibitz.comment.claims.choice import Level
    from kibitz.position.board import Board


class Engine(SearchingEngine):
    """An engine that also says in words what a move does."""

    def comment(
        self, board: Board, move: str, level: Level = "club", limits: Limits | None = None
    ) -> str:
        """What is to be said of a move; empty if there is nothing. Searches 20 000 nodes."""
        from kibitz.comment.annotate import NODES, comment_on

        return comment_on(self, board, move, level, limits or Limits(nodes=NODES))

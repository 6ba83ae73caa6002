"""The package's public face: an engine that comments, games annotated, comments checked."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from kibitz.engine import Engine as SearchingEngine
from kibitz.search.limits import Limits

if TYPE_CHECKING:
    from kibitz.comment.check.games import Checked
    from kibitz.comment.select.rank import Level
    from kibitz.comment.words.languages import Code
    from kibitz.position.board import Board


class Engine(SearchingEngine):
    """An engine that also says in words what a move does."""

    def comment(
        self,
        board: Board,
        move: str,
        level: Level = "club",
        limits: Limits | None = None,
        language: Code = "en",
    ) -> str:
        """What is to be said of a move; empty if there is nothing. Searches 20 000 nodes."""
        from kibitz.comment.annotate import comment_on
        from kibitz.comment.searches import NODES
        from kibitz.comment.words.languages import language_of

        limits = limits or Limits(nodes=NODES)
        return comment_on(self, board, move, level, limits, language_of(language))


def annotate(
    pgn: str,
    *,
    engine: SearchingEngine | None = None,
    level: Level = "club",
    limits: Limits | None = None,
    language: Code = "en",
) -> str:
    """The games of a PGN text with marks, values, better lines and comments in plain words.

    Without an engine the shipped network is used; without limits every position gets 20 000 nodes.

    >>> "2. g4 $4" in " ".join(annotate("1. f3 e5 2. g4 Qh4# 0-1").split())
    True
    """
    import io

    from kibitz.comment.annotate import Style
    from kibitz.comment.annotate import annotate as annotate_game
    from kibitz.comment.searches import NODES, Effort
    from kibitz.comment.select.rank import LEVELS
    from kibitz.comment.words.languages import language_of
    from kibitz.core.errors import InputError, NotationError, did_you_mean
    from kibitz.position.pgn import BadGame, read_games

    if level not in LEVELS:
        raise InputError("no such level of readers", value=level, fix=did_you_mean(level, LEVELS))
    language_of(language)  # refuses what is none
    style = Style(level=level, limits=limits or Limits(nodes=NODES), language=language)

    def refuse(bad: BadGame) -> None:
        raise NotationError(f"PGN: game {bad.number}: {bad.reason}", value=pgn)

    table = Effort(style.limits).table
    own = None if engine else SearchingEngine(search="alphabeta", multipv=2, hash=table)
    with nullcontext(engine) if own is None else own as used:
        assert used is not None
        games = [annotate_game(game, used, style) for game in read_games(io.StringIO(pgn), refuse)]
    if not games:
        raise NotationError("PGN: no game in it", value=pgn)
    return "\n\n".join(str(annotated.game) for annotated in games) + "\n"


def check(
    text: str,
    *,
    fen: str | None = None,
    move: str | None = None,
    engine: SearchingEngine | None = None,
) -> Checked:
    """What is true, false and not checkable of the comments in a PGN, or of a text on a position.

    With `fen`, and `move` if the text is about a move made there, `text` is what is said of it.
    Without an engine the shipped network judges who is better.

    >>> fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
    >>> checked = check("The knight on f3 attacks the pawn on d5.", fen=fen)
    >>> checked.findings[0].verdict, checked.findings[0].reason
    ('false', 'no pawn on d5: d5 is empty')
    """
    import io

    from kibitz.comment.check import games
    from kibitz.core.errors import InputError, NotationError
    from kibitz.position.board import Board
    from kibitz.position.pgn import BadGame, read_games

    if fen is None and move is not None:
        raise InputError("a move of no position", value=move, fix="give the position as fen, too")
    games.refuse_long(text)

    def refuse(bad: BadGame) -> None:
        raise NotationError(f"PGN: game {bad.number}: {bad.reason}", value=text)

    own = None if engine else SearchingEngine(search="alphabeta", multipv=2, hash=16)
    with nullcontext(engine) if own is None else own as used:
        assert used is not None
        search = games.searching(used)
        if fen is not None:
            return games.check_text(text, Board(fen), move, search)
        checked = games.Checked()
        for game in read_games(io.StringIO(text), refuse):
            games.check_game(game, checked, search)
    return checked

"""What the page asks of the coach, and which moves were played in a position."""

from __future__ import annotations

from typing import Any

from kibitz.apps.web.connection import Connection, PageRequest, Spoken
from kibitz.apps.web.jobs import ANNOTATOR
from kibitz.apps.web.positions import PagePosition
from kibitz.coach.deck import DeckName, Stored, said_in
from kibitz.coach.train import board_of
from kibitz.comment.words.languages import language_of
from kibitz.position.board import Side


class Coach(Spoken, kw_only=True):
    """How the player's own games and decks stand; begins or stops their analysis."""

    analyse: bool | None = None

    def answer(self, connection: Connection) -> Any:
        """Counts."""
        games = connection.app.own_games
        if self.analyse is None:
            return games.summary()
        return games.analyse(not self.analyse, self.spoken(connection))


class AddGames(PageRequest):
    """Add the player's games of a PGN text."""

    text: str
    player: str = ""

    def answer(self, connection: Connection) -> Any:
        """How many were new, there already and so on."""
        return connection.app.own_games.add(self.text, self.player)


class Question(PageRequest):
    """The next item of a deck."""

    deck: DeckName

    def answer(self, connection: Connection) -> Any:
        """Its position, without the answer."""
        return connection.app.own_games.question(self.deck)


class ItemHint(Spoken, kw_only=True):
    """A hint of an item, from 0."""

    item: int
    which: int

    def answer(self, connection: Connection) -> Any:
        """A text."""
        language = language_of(self.spoken(connection))
        return connection.app.own_games.hint(self.item, self.which, language)


class Answer(Spoken, kw_only=True):
    """The first answer to an item; no move gives up."""

    item: int
    due: int
    seconds: float
    move: str | None = None
    helped: bool = False

    def answer(self, connection: Connection) -> Any:
        """Whether it was right, and why."""
        app, code = connection.app, self.spoken(connection)

        def said(stored: Stored) -> Stored:
            """The item with its reasons in the language, made anew if they are in another."""
            if stored.item.language == code:
                return stored
            with app.engines.use(ANNOTATOR) as engine:
                board = board_of(stored.item)
                return stored._replace(item=said_in(stored.item, board, engine, code))

        answer = (self.item, self.due, self.move, self.seconds, self.helped)
        return app.own_games.answer(*answer, said, language_of(code))


class OwnGame(PageRequest):
    """A game of the player's."""

    game: int

    def answer(self, connection: Connection) -> Any:
        """Its moves."""
        return connection.app.own_games.game(self.game)


class Profile(Spoken, kw_only=True):
    """What costs the player points; or what is found, beside people of the player's rating."""

    people: bool = False

    def answer(self, connection: Connection) -> Any:
        """Figures with examples."""
        games, language = connection.app.own_games, language_of(self.spoken(connection))
        return games.findings(language) if self.people else games.profile(language)


class Openings(PageRequest):
    """What was played in a position: in a text, a file of the server, or the player's own games."""

    place: PagePosition
    side: Side | None = None  # of own games only
    file: str = ""
    text: str = ""

    def answer(self, connection: Connection) -> Any:
        """Moves with their results."""
        games = connection.app.own_games
        if self.text:
            return games.openings_in(self.text, self.place)
        if self.file:
            file = connection.app.library.text_file(self.file, "games")
            return games.openings_of(file, self.place)
        return games.openings(self.side, self.place)

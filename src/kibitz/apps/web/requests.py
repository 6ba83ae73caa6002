"""What a page may ask for: each request is a class whose fields are checked, and its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from kibitz import __version__
from kibitz.apps.web import library, positions
from kibitz.apps.web.connection import Connection, PageRequest, Spoken
from kibitz.apps.web.engines import CHOICES, EngineChoice
from kibitz.apps.web.jobs import ANNOTATOR
from kibitz.apps.web.positions import Node, PagePosition, described
from kibitz.apps.web.watch import at_a_glance, snapshot
from kibitz.coach.deck import DeckName, Stored, said_in
from kibitz.coach.train import board_of
from kibitz.comment.annotate import comment_on, mistake_on
from kibitz.comment.select.rank import Level
from kibitz.comment.words.languages import LANGUAGES, language_of
from kibitz.core.errors import InputError
from kibitz.position.board import Board, Side
from kibitz.search.limits import Limits
from kibitz.search.report import Result

MOST_NODES = 100_000_000  # of a move
LONGEST_MOVE = 600_000  # milliseconds
HINT_NODES = 5_000
COMMENT_NODES = 20_000


# --- positions ------------------------------------------------------------------------------------


class Hello(PageRequest):
    """What this server is, and what there is to choose from."""

    def answer(self, connection: Connection) -> Any:
        """Version, networks and settings."""
        app = connection.app
        return {
            "version": __version__,
            "networks": [*app.library.networks()],
            "engines": app.engines.most,
            "languages": [[code, language.name] for code, language in LANGUAGES.items()],
            "language": app.language,
            **CHOICES,
        }


class Position(PageRequest):
    """A position with its legal moves."""

    place: PagePosition

    def answer(self, connection: Connection) -> Any:
        """What the board needs."""
        return described(self.place.board())


class Line(PageRequest):
    """The boards of a line, to be shown move by move."""

    place: PagePosition
    moves: tuple[str, ...]

    def answer(self, connection: Connection) -> Any:
        """The first fields of the FENs."""
        return positions.placements(self.place.board(), self.moves)


class Start960(PageRequest):
    """A start position of Chess960."""

    number: int

    def answer(self, connection: Connection) -> Any:
        """Its FEN."""
        if not 0 <= self.number < 960:
            raise InputError("Chess960", value=self.number, fix="expected 0 to 959")
        return Board.start960(self.number).fen()


class Read(PageRequest):
    """A text that was pasted or dropped."""

    text: str
    number: int = 0

    def answer(self, connection: Connection) -> Any:
        """A position, or games and the first of them."""
        if self.number:
            return {"kind": "games", "game": positions.game_in(self.text, self.number)}
        return positions.read_text(self.text)


class Write(PageRequest):
    """A tree of moves as PGN."""

    place: PagePosition
    tags: dict[str, str]
    nodes: tuple[Node, ...]
    comment: str = ""

    def answer(self, connection: Connection) -> Any:
        """The text."""
        return positions.pgn_of(self.place, self.tags, self.nodes, self.comment)


# --- searches -------------------------------------------------------------------------------------


class Watch(PageRequest):
    """Search a position without end, and show how it goes, in one of the page's panels."""

    panel: int
    place: PagePosition
    wanted: EngineChoice

    def answer(self, connection: Connection) -> Any:
        """The topic of what will come."""
        return connection.watch(self.panel, self.place, self.wanted)


class Unwatch(PageRequest):
    """End the search of a panel."""

    panel: int

    def answer(self, connection: Connection) -> Any:
        """Nothing."""
        connection.unwatch(self.panel)


class Below(PageRequest):
    """Show the moves below some moves of the root, as they change; None shows none."""

    panel: int
    path: tuple[str, ...] | None

    def answer(self, connection: Connection) -> Any:
        """Nothing: what is below comes with the next snapshot."""
        connection.open(self.panel, self.path)


class Think(PageRequest):
    """The engine's move in a game."""

    place: PagePosition
    wanted: EngineChoice
    wtime: int | None = None
    btime: int | None = None
    winc: int | None = None
    binc: int | None = None
    movetime: int | None = None
    nodes: int | None = None

    def answer(self, connection: Connection) -> Any:
        """The move and what the engine thinks of it."""
        board = self.place.going()
        if self.movetime is None and self.nodes is None and self.wtime is None:
            raise InputError("no limit for the move", fix="give movetime, nodes or a clock")
        limits = Limits(
            nodes=None if self.nodes is None else min(self.nodes, MOST_NODES),
            movetime=None if self.movetime is None else min(self.movetime, LONGEST_MOVE),
            wtime=self.wtime,
            btime=self.btime,
            winc=self.winc,
            binc=self.binc,
        )
        return _move_and_line(board, connection.think(board, self.wanted, limits))


class Ponder(PageRequest):
    """Think on the player's time: the tree is there when the move is made."""

    place: PagePosition
    wanted: EngineChoice

    def answer(self, connection: Connection) -> Any:
        """Nothing."""
        connection.ponder(self.place.board(), self.wanted)


class Ready(PageRequest):
    """An engine that can move at once: a game's clocks wait for the answer."""

    wanted: EngineChoice

    def answer(self, connection: Connection) -> Any:
        """Nothing."""
        with connection.app.engines.use(self.wanted) as engine:
            engine.ready()


class Hint(PageRequest):
    """A good move for the player."""

    place: PagePosition
    network: str = ""

    def answer(self, connection: Connection) -> Any:
        """The move and the line."""
        board = self.place.going()
        with connection.app.engines.use(EngineChoice(network=self.network)) as engine:
            return _move_and_line(board, engine.play(board, nodes=HINT_NODES))


class Threat(PageRequest):
    """What the other side would do if it were its turn."""

    place: PagePosition

    def answer(self, connection: Connection) -> Any:
        """Its move and the line."""
        passed = self.place.passed()
        with connection.app.engines.use(EngineChoice()) as engine:
            return _move_and_line(passed, engine.play(passed, nodes=HINT_NODES))


def _move_and_line(board: Board, result: Result) -> dict[str, Any]:
    report = result.report
    values = snapshot(board, report, lambda moves: positions.san_line(board, moves))
    move = "" if result.move is None else board.uci(result.move)
    san = "" if result.move is None else board.san(result.move)
    return {"move": move, "san": san, "line": values["lines"][0], "nodes": report.nodes}


class Look(PageRequest):
    """What a network says of a position by itself."""

    place: PagePosition
    network: str = ""

    def answer(self, connection: Connection) -> Any:
        """Value and policy."""
        board = self.place.going()
        with connection.app.engines.use(EngineChoice(network=self.network, raw=True)) as engine:
            engine.new_game()
            return at_a_glance(board, engine.play(board, nodes=1).report)


# --- words ----------------------------------------------------------------------------------------


class Comment(Spoken, kw_only=True):
    """What is to be said of the last move."""

    place: PagePosition
    level: Level = "club"

    def answer(self, connection: Connection) -> Any:
        """A text."""
        text = _of_last_move(self, connection, comment_on)
        return text or language_of(self.spoken(connection)).nothing


class Mistake(Spoken, kw_only=True):
    """Whether the last move is a mistake that may be taken back."""

    place: PagePosition
    level: Level = "beginner"

    def answer(self, connection: Connection) -> Any:
        """Why it is one, without what was better; empty if it is none."""
        return _of_last_move(self, connection, mistake_on)


def _of_last_move(
    request: Comment | Mistake, connection: Connection, say: Callable[..., str]
) -> str:
    """What is said, in the page's language, of the move that led to a position."""
    board = request.place.board()
    if not board.moves:
        raise InputError("no move to comment on", fix="play one first")
    move = board.uci(board.pop())
    with connection.app.engines.use(ANNOTATOR) as engine:
        limits, language = Limits(nodes=COMMENT_NODES), language_of(request.spoken(connection))
        return say(engine, board, move, request.level, limits, language)


class Annotate(Spoken, kw_only=True):
    """Annotate a game."""

    pgn: str
    level: Level = "club"
    nodes: int = 10_000

    def answer(self, connection: Connection) -> Any:
        """How it stands; more comes by itself."""
        language, place = self.spoken(connection), (connection.post, connection.address)
        begin = connection.app.jobs.begin
        return begin(self.pgn, self.level, self.nodes, *place, language).facts()


class Job(PageRequest):
    """How an annotation stands, after the connection was lost; or its end."""

    job: str
    stop: bool = False

    def answer(self, connection: Connection) -> Any:
        """What the job's topic says."""
        job = connection.app.jobs.find(self.job)
        job.posts.add(connection.post)
        if self.stop:
            job.stop.set()
        return job.facts()


# --- files ----------------------------------------------------------------------------------------


class Files(PageRequest):
    """What lies in the folders of the server."""

    def answer(self, connection: Connection) -> Any:
        """Names and kinds."""
        return [[entry.name, entry.kind] for entry in connection.app.library.entries()]


class Open(PageRequest):
    """A file: the games of PGN, a suite, a run, a training; one game or puzzle of it by number."""

    name: str
    kind: str
    number: int = 0

    def answer(self, connection: Connection) -> Any:
        """What is in it."""
        files, number = connection.app.library, self.number
        match self.kind:
            case "list":
                return library.games_in(files.text_file(self.name, "games"))
            case "games":
                return library.game_at(files.text_file(self.name, "games"), number)
            case "suite":
                return library.suite(files.text_file(self.name, "suite"))
            case "puzzles":
                return library.puzzle(files.find(self.name, "puzzles"), number)
            case "shard":
                return library.shard_game(files.find(self.name, "shard"), number)
            case "run":
                return library.learning(files.find(self.name, "run"))
            case "training":
                return library.training(files.find(self.name, "training"))
        raise InputError("no kind of file", value=self.kind)


class Card(PageRequest):
    """What a network is."""

    network: str

    def answer(self, connection: Connection) -> Any:
        """Its card; nothing for what is built in."""
        return msgspec.to_builtins(connection.app.library.card(self.network))


class Solve(PageRequest):
    """A move in a puzzle of a file, after those that were played; None for who gives up."""

    name: str
    number: int
    played: tuple[str, ...]
    move: str | None

    def answer(self, connection: Connection) -> Any:
        """Whether it is right and what is answered; or all that was to be found."""
        file = connection.app.library.find(self.name, "puzzles")
        return library.solved(file, self.number, self.played, self.move)


# --- the coach ------------------------------------------------------------------------------------


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


AnyRequest: TypeAlias = (
    Hello | Position | Line | Start960 | Read | Write | Watch | Unwatch | Below | Think | Ponder
    | Ready | Hint | Threat | Look | Comment | Mistake | Annotate | Job | Files | Open | Card
    | Solve | Coach | AddGames | Question | ItemHint | Answer | OwnGame | Profile | Openings
)  # fmt: skip
DECODER = msgspec.json.Decoder(AnyRequest)

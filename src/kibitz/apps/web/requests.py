"""What a page may ask for: each request is a class whose fields are checked, and its answer."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from kibitz import __version__
from kibitz.apps.web import contents, positions
from kibitz.apps.web.desk import Desk
from kibitz.apps.web.engines import CHOICES, Wanted
from kibitz.apps.web.jobs import ANNOTATOR
from kibitz.apps.web.positions import Node, PagePosition, described
from kibitz.apps.web.watch import at_a_glance, snapshot
from kibitz.comment.annotate import NOTHING, comment_on
from kibitz.comment.select import Level
from kibitz.core.errors import InputError
from kibitz.position.board import Board
from kibitz.search.limits import Limits
from kibitz.search.report import Result

MOST_NODES = 100_000_000  # of a move
LONGEST_MOVE = 600_000  # milliseconds
HINT_NODES = 5_000
COMMENT_NODES = 20_000


class Ask(msgspec.Struct, tag_field="do", tag=str.lower, forbid_unknown_fields=True):
    """A request; its answer goes back with the same number."""

    id: int

    def answer(self, desk: Desk) -> Any:
        """What is asked for, made on a thread of its own."""
        raise NotImplementedError


# --- positions ------------------------------------------------------------------------------------


class Hello(Ask):
    """What this server is, and what there is to choose from."""

    def answer(self, desk: Desk) -> Any:
        """Version, networks and settings."""
        house = desk.house
        names = [*house.library.networks()]
        return {"version": __version__, "networks": names, "engines": house.engines.most, **CHOICES}


class Position(Ask):
    """A position with its legal moves."""

    place: PagePosition

    def answer(self, desk: Desk) -> Any:
        """What the board needs."""
        return described(self.place.board())


class Line(Ask):
    """The boards of a line, to be shown move by move."""

    place: PagePosition
    moves: tuple[str, ...]

    def answer(self, desk: Desk) -> Any:
        """The first fields of the FENs."""
        return positions.placements(self.place.board(), self.moves)


class Start960(Ask):
    """A start position of Chess960."""

    number: int

    def answer(self, desk: Desk) -> Any:
        """Its FEN."""
        if not 0 <= self.number < 960:
            raise InputError("Chess960", value=self.number, fix="expected 0 to 959")
        return Board.start960(self.number).fen()


class Read(Ask):
    """A text that was pasted or dropped."""

    text: str
    number: int = 0

    def answer(self, desk: Desk) -> Any:
        """A position, or games and the first of them."""
        if self.number:
            return {"kind": "games", "game": positions.game_in(self.text, self.number)}
        return positions.read_text(self.text)


class Write(Ask):
    """A tree of moves as PGN."""

    place: PagePosition
    tags: dict[str, str]
    nodes: tuple[Node, ...]
    comment: str = ""

    def answer(self, desk: Desk) -> Any:
        """The text."""
        return positions.pgn_of(self.place, self.tags, self.nodes, self.comment)


# --- searches -------------------------------------------------------------------------------------


class Watch(Ask):
    """Search a position without end, and show how it goes, in one of the page's panels."""

    panel: int
    place: PagePosition
    wanted: Wanted

    def answer(self, desk: Desk) -> Any:
        """The topic of what will come."""
        return desk.watch(self.panel, self.place, self.wanted)


class Unwatch(Ask):
    """End the search of a panel."""

    panel: int

    def answer(self, desk: Desk) -> Any:
        """Nothing."""
        desk.unwatch(self.panel)


class Below(Ask):
    """Show the moves below some moves of the root, as they change; None shows none."""

    panel: int
    path: tuple[str, ...] | None

    def answer(self, desk: Desk) -> Any:
        """Nothing: what is below comes with the next snapshot."""
        desk.open(self.panel, self.path)


class Think(Ask):
    """The engine's move in a game."""

    place: PagePosition
    wanted: Wanted
    wtime: int | None = None
    btime: int | None = None
    winc: int | None = None
    binc: int | None = None
    movetime: int | None = None
    nodes: int | None = None

    def answer(self, desk: Desk) -> Any:
        """The move and what the engine thinks of it."""
        board = _going(self.place)
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
        return _told(board, desk.think(board, self.wanted, limits))


class Ponder(Ask):
    """Think on the player's time: the tree is there when the move is made."""

    place: PagePosition
    wanted: Wanted

    def answer(self, desk: Desk) -> Any:
        """Nothing."""
        desk.ponder(self.place.board(), self.wanted)


class Ready(Ask):
    """An engine that can move at once: a game's clocks wait for the answer."""

    wanted: Wanted

    def answer(self, desk: Desk) -> Any:
        """Nothing."""
        with desk.house.engines.use(self.wanted) as engine:
            engine.ready()


class Hint(Ask):
    """A good move for the player."""

    place: PagePosition
    network: str = ""

    def answer(self, desk: Desk) -> Any:
        """The move and the line."""
        board = _going(self.place)
        with desk.house.engines.use(Wanted(network=self.network)) as engine:
            return _told(board, engine.play(board, nodes=HINT_NODES))


def _going(place: PagePosition) -> Board:
    """The position, if the game is not over in it."""
    board = place.board()
    if board.outcome() is not None:
        raise InputError("the game is over", fix="begin a new one")
    return board


def _told(board: Board, result: Result) -> dict[str, Any]:
    report = result.report
    found = snapshot(board, report, lambda moves: positions.san_line(board, moves))
    move = "" if result.move is None else board.uci(result.move)
    san = "" if result.move is None else board.san(result.move)
    return {"move": move, "san": san, "line": found["lines"][0], "nodes": report.nodes}


class Look(Ask):
    """What a network says of a position by itself."""

    place: PagePosition
    network: str = ""

    def answer(self, desk: Desk) -> Any:
        """Value and policy."""
        board = _going(self.place)
        with desk.house.engines.use(Wanted(network=self.network, raw=True)) as engine:
            engine.new_game()
            return at_a_glance(board, engine.play(board, nodes=1).report)


# --- words ----------------------------------------------------------------------------------------


class Comment(Ask):
    """What is to be said of the last move."""

    place: PagePosition
    level: Level = "club"

    def answer(self, desk: Desk) -> Any:
        """A text."""
        board = self.place.board()
        if not board.moves:
            raise InputError("no move to comment on", fix="play one first")
        move = board.uci(board.pop())
        with desk.house.engines.use(ANNOTATOR) as engine:
            limits = Limits(nodes=COMMENT_NODES)
            return comment_on(engine, board, move, self.level, limits) or NOTHING


class Annotate(Ask):
    """Annotate a game."""

    pgn: str
    level: Level = "club"
    nodes: int = 10_000

    def answer(self, desk: Desk) -> Any:
        """How it stands; more comes by itself."""
        return desk.house.jobs.begin(
            self.pgn, self.level, self.nodes, desk.post, desk.address
        ).facts()


class Job(Ask):
    """How an annotation stands, after the connection was lost; or its end."""

    job: str
    stop: bool = False

    def answer(self, desk: Desk) -> Any:
        """What the job's topic says."""
        found = desk.house.jobs.find(self.job)
        found.posts.add(desk.post)
        if self.stop:
            found.stop.set()
        return found.facts()


# --- files ----------------------------------------------------------------------------------------


class Files(Ask):
    """What lies in the folders of the server."""

    def answer(self, desk: Desk) -> Any:
        """Names and kinds."""
        return [[entry.name, entry.kind] for entry in desk.house.library.entries()]


class Open(Ask):
    """A file: the games of PGN, a suite, a run, a training; one game or puzzle of it by number."""

    name: str
    kind: str
    number: int = 0

    def answer(self, desk: Desk) -> Any:
        """What is in it."""
        library, number = desk.house.library, self.number
        match self.kind:
            case "list":
                return contents.games_in(library.text_file(self.name, "games"))
            case "games":
                return contents.game_at(library.text_file(self.name, "games"), number)
            case "suite":
                return contents.suite(library.text_file(self.name, "suite"))
            case "puzzles":
                return contents.puzzle(library.find(self.name, "puzzles"), number)
            case "shard":
                return contents.shard_game(library.find(self.name, "shard"), number)
            case "run":
                return contents.learning(library.find(self.name, "run"))
            case "training":
                return contents.training(library.find(self.name, "training"))
        raise InputError("no kind of file", value=self.kind)


class Card(Ask):
    """What a network is."""

    network: str

    def answer(self, desk: Desk) -> Any:
        """Its card; nothing for what is built in."""
        return msgspec.to_builtins(desk.house.library.card(self.network))


AnyAsk: TypeAlias = (
    Hello | Position | Line | Start960 | Read | Write | Watch | Unwatch | Below | Think | Ponder
    | Ready | Hint | Look | Comment | Annotate | Job | Files | Open | Card
)  # fmt: skip
DECODER = msgspec.json.Decoder(AnyAsk)

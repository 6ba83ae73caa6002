"""The tools that look things up: openings, a player's practice, pictures, puzzles, games.

The resources are the user's games that `kibitz coach analyse` has analysed. A game is annotated
when it is read for the first time; what was searched is kept (`comment.cache`).

server -> `calls` -> **lookups** -> the library, as the commands call it

A new tool is entered in `TOOLS` of server.py.
"""

from __future__ import annotations

import io
import random
import re
import time
from contextlib import closing
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from kibitz.apps.mcp.calls import Call, Pgn, Picture, PositionTool, Shelf, Tool
from kibitz.apps.mcp.searches import annotated
from kibitz.apps.web.positions import game_to_annotate, san_line
from kibitz.coach.puzzles.find import Hunt, Seeker, task_of
from kibitz.coach.puzzles.formats import Puzzle, read_puzzles
from kibitz.coach.repertoire import practised, read_repertoire
from kibitz.coach.tree import book_moves, moves_at, read_tree, tree_of_files, tree_of_games
from kibitz.comment.annotate import Sides, Style
from kibitz.comment.openings import opening_of
from kibitz.core.errors import InputError, did_you_mean
from kibitz.position.board import Side
from kibitz.position.notation import svg

OWN = "own"
TREE, BOOK, GAMES, PUZZLES = ".tree", ".bin", ".pgn", (".csv", ".epd", ".pgn")
ENDINGS = (TREE, BOOK, *PUZZLES)  # of all files that a tool reads


class NameOpening(PositionTool, kw_only=True):
    """Name the opening of a position: ECO code and name, from Lichess's list.

    With moves, also the last position on the way that has a name, and after how many moves it was.
    """

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """The names."""
        board = self.board()
        opening, last = opening_of(board.to_chess()), None
        facts = {"fen": board.fen(), "opening": None if opening is None else opening._asdict()}
        for count in range(len(board.moves), 0, -1):
            last = opening_of(board.to_chess())
            if last is not None:
                facts["last_named"] = {**last._asdict(), "after_moves": count}
                break
            board.pop()
        return facts


class OpeningTree(PositionTool, kw_only=True):
    """Show what was played in a position, how often and with what results; transpositions count.

    In the user's own games (source own), in files of games that the server was started with, or in
    a Polyglot book. Of each move: games, wins of White, draws, wins of Black, performance rating of
    those who played it, evaluation in centipawns for White if known, and games that reached it.
    """

    source: Annotated[
        str, Meta(max_length=200, description="own, or a file's name ending .tree, .pgn or .bin.")
    ] = OWN
    side: Annotated[Sides, Meta(description="Of own games: only those with this colour.")] = "both"

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:
        """The moves, the most frequent first."""
        board = self.board()
        facts: dict[str, Any] = {"fen": board.fen(), "source": self.source}
        if self.source.endswith(BOOK):
            rows = [entry._asdict() for entry in book_moves(shelf.file(self.source, BOOK), board)]
            return facts | {"moves": rows}
        if self.source == OWN:
            with closing(shelf.games()) as games:
                tree = tree_of_games(games, None if self.side == "both" else self.side)
        else:
            path = shelf.file(self.source, TREE, GAMES)
            is_tree = self.source.endswith(TREE)
            tree = read_tree(path) if is_tree else tree_of_files([path])[0]
        call.check()
        return facts | {"moves": [move.facts() for move in moves_at(tree, board)]}


class Repertoire(PositionTool, kw_only=True):
    """Look a position up in an opening repertoire, and compare the user's own games with it.

    prepared: what the repertoire plays in the position. practice (if the user's games are kept
    here): where they or their opponents leave the repertoire, what costs most points first.
    """

    side: Annotated[Side, Meta(description="The colour that the repertoire is for.")]
    source: Annotated[
        str, Meta(max_length=200, description="Name of a PGN file of the server; else give pgn.")
    ] = ""
    pgn: Annotated[
        str, Meta(max_length=200_000, description="The repertoire: games with variations in PGN.")
    ] = ""

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:
        """What is prepared, and what has become of it."""
        if bool(self.source) == bool(self.pgn):
            raise InputError("one of source and pgn", value=self.source, fix="give one of them")
        text = io.StringIO(self.pgn)
        prepared = read_repertoire(shelf.file(self.source, GAMES) if self.source else text)
        board = self.board()
        entry = prepared.get(board.key)
        facts: dict[str, Any] = {"fen": board.fen(), "positions": len(prepared)}
        facts["prepared"] = [] if entry is None else [*entry.moves.values()]
        call.check()
        if shelf.database.exists():
            with closing(shelf.games()) as games:
                practice = practised(games, prepared, self.side).facts()
            facts["practice"] = practice | {"leaves": practice["leaves"][:MOST_LEAVES]}
        return facts


MOST_LEAVES = 30


class DrawPosition(PositionTool, kw_only=True):
    """Draw a position as an SVG picture, the last move and a check marked."""

    def answer(self, call: Call, shelf: Shelf) -> Picture:  # noqa: ARG002
        """The picture."""
        return Picture("image/svg+xml", svg(self.board().to_chess()))


# --- puzzles --------------------------------------------------------------------------------------


class GetPuzzle(Tool, kw_only=True):
    """Take a chess puzzle from a file that the server was started with.

    The one to solve it is to move in fen; solution has their moves and the replies, in SAN. Do not
    show the solution before the user has tried.
    """

    source: Annotated[
        str, Meta(max_length=200, description="A file's name: .csv as Lichess's, .epd or .pgn.")
    ]
    theme: Annotated[
        str, Meta(max_length=40, description="Only puzzles with this theme: fork, pin, mateIn2.")
    ] = ""
    min_rating: Annotated[int, Meta(ge=0, le=4000)] = 0
    max_rating: Annotated[int, Meta(ge=0, le=4000)] = 4000
    number: Annotated[
        int, Meta(ge=0, description="Which of those that fit, from 1; 0: any of them.")
    ] = 0

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:
        """One puzzle."""
        every = read_puzzles(shelf.file(self.source, *PUZZLES))
        call.check()
        themes = {name for puzzle in every for name in puzzle.themes}
        if self.theme and self.theme not in themes:
            fix = did_you_mean(self.theme, themes)
            raise InputError("no puzzle has the theme", value=self.theme, fix=fix)
        fitting = [puzzle for puzzle in every if self._fits(puzzle)]
        if not fitting:
            ratings = [puzzle.rating for puzzle in every]
            fix = f"they have {min(ratings)} to {max(ratings)}"
            value = f"{self.min_rating} to {self.max_rating}"
            raise InputError("no puzzle of these ratings", value=value, fix=fix)
        if self.number > len(fitting):
            raise InputError("number", value=self.number, fix=f"{len(fitting)} puzzles fit")
        chosen = fitting[self.number - 1] if self.number else random.choice(fitting)
        return {"fitting": len(fitting), **puzzle_facts(chosen)}

    def _fits(self, puzzle: Puzzle) -> bool:
        theme = not self.theme or self.theme in puzzle.themes
        return theme and self.min_rating <= puzzle.rating <= self.max_rating


class FindPuzzles(Tool, kw_only=True):
    """Find puzzles in a game: positions whose one winning move a search of few nodes does not see.

    Each is proved by a hundred times as many nodes, so it may take a minute. Do not show a solution
    before the user has tried.
    """

    pgn: Pgn
    nodes: Annotated[
        int, Meta(ge=200, le=10_000, description="Positions searched for a look at a move.")
    ] = 3_000

    def answer(self, call: Call, shelf: Shelf) -> dict[str, Any]:  # noqa: ARG002
        """The puzzles of the game."""
        task = task_of(game_to_annotate(self.pgn, self.nodes), "game")
        hunt = Hunt(nodes=self.nodes, network=call.engines.network)
        total = len(task.moves)
        with call.engine(), closing(Seeker(hunt, call.another)) as seeker:
            done = seeker.look_through(task, lambda: call.step(total, "positions"))
        return {
            "positions": done.positions,
            "puzzles": [puzzle_facts(puzzle) for puzzle in done.puzzles],
        }


def puzzle_facts(puzzle: Puzzle) -> dict[str, Any]:
    """A puzzle for a language model."""
    board = puzzle.board()
    return {
        "fen": board.fen(),
        "to_move": board.turn,
        "solution": san_line(board, puzzle.moves),
        "score": puzzle.score,
        "rating": puzzle.rating,
        "themes": [*puzzle.themes],
        "game": puzzle.game,
        "opening": puzzle.opening,
    }


# --- resources ------------------------------------------------------------------------------------

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

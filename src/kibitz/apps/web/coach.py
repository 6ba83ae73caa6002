"""The coach of the page: a player's own games, their deck, what costs points, and openings.

coach's database -> **coach** -> requests; the answer of an item leaves only after the try
"""

from __future__ import annotations

import datetime
import io
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, TypeVar

from kibitz.apps.web.library import names_only
from kibitz.apps.web.positions import PagePosition, tree_of
from kibitz.coach.database import Database, StoredGame, View, open_games, usual_path
from kibitz.coach.deck import DeckName, Stored, due_items, hints_of, stored_items
from kibitz.coach.games import Added, Wanted, add_games, games_in
from kibitz.coach.profile import (
    Example,
    Figure,
    Played,
    conversions,
    figure_name,
    figures,
    findings,
    played_games,
)
from kibitz.coach.train import answered, board_of, need_scheduler, when
from kibitz.coach.tree import Tree, moves_at, tree_of_files, tree_of_games
from kibitz.comment.words.language import Language
from kibitz.comment.words.languages import ENGLISH, Code
from kibitz.core.errors import InputError, MissingExtraError
from kibitz.core.settings import used
from kibitz.engine.levels import People
from kibitz.position.board import Board, Side
from kibitz.position.pgn import parse_game

NEW_A_DAY = 10  # items at most that were never asked
FEWEST_GAMES = 5  # of a figure of the profile, as the command has it
KEPT = 8  # trees and profiles, the last that were asked for
PATIENCE = 2.0  # seconds for the game that is worked on when the server ends
STOPPED = 130, -15  # how an analysis ends that was stopped
DECKS: tuple[DeckName, ...] = ("own", "opponent")
Made = TypeVar("Made")


class OwnGames:
    """The database of the server; methods may be called from any thread."""

    def __init__(self, database: Path | None = None) -> None:
        self.path = database or usual_path()
        self._lock, self._kept = threading.Lock(), dict[Hashable, Any]()
        self._answering = threading.Lock()  # an item is judged once, whoever sends it twice
        self._analysis: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def _open(self) -> AbstractContextManager[Database]:
        return open_games(self.path)

    def _once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made for a key, or is made now."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                for old in [*self._kept][:-KEPT]:
                    del self._kept[old]
            made: Made = self._kept[key]
            return made

    # --- how it stands --------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Games, and what is due of each deck; all zero where there is no database yet."""
        if not self.path.exists():
            return {"games": 0, "analysed": 0, "names": [], "decks": {}, **self._now()}
        with self._open() as database:
            return {
                "games": database.count("games"),
                "analysed": database.count("analyses"),
                "names": database.names(),
                "decks": {deck: _standing(database, deck) for deck in DECKS},
                **self._now(),
            }

    def add(self, text: str, player: str) -> dict[str, Any]:
        """Add the player's games of a PGN text; how many were new, of others and so on."""
        added = Added()
        with open_games(self.path, must_exist=False) as database, database.working("add"):
            name = player.strip()
            names = [*database.names(), *([name] if name else [])]
            if not names:
                raise InputError(
                    "whose games are these?", fix="give your name as the games have it"
                )
            games = [*games_in(io.StringIO(text), names, added)]
            with database.transaction():
                if name and games:  # a name of none of them may be misspelt
                    database.add_name(name)
                add_games(database, games, Wanted(), added)
        return {name: count for name, count in sorted(added.items()) if count}

    # --- analysing ------------------------------------------------------------------------------

    def analyse(self, stop: bool, language: Code) -> dict[str, Any]:
        """Begin or stop `kibitz coach analyse`, a process of its own; how all stands."""
        with self._lock:
            process = self._analysis
            running = process is not None and process.poll() is None
            if process is not None and running and stop:
                process.terminate()  # after the game it works on
            elif not running and not stop:
                self._begin(language)
        return self.summary()

    def _begin(self, language: Code) -> None:
        command = [sys.executable, "-m", "kibitz", "coach", "analyse", "--workers", "1"]
        command += ["--language", language]
        if (settings := used()) is not None:
            command += ["--config", os.fspath(settings)]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - until the next analysis
        self._analysis = subprocess.Popen(
            [*command, "--database", os.fspath(self.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
        )

    def _now(self) -> dict[str, Any]:
        """Whether an analysis runs, why it failed if it did, and what solving needs and lacks."""
        process, said = self._analysis, self._said
        code = 0 if process is None else process.poll()
        error = ""
        if code and said is not None and code not in STOPPED:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            error = names_only(lines[-1].removeprefix("kibitz: error: ")) if lines else "it ended"
        missing = ""
        try:
            need_scheduler()
        except MissingExtraError as lacking:
            missing = str(lacking)
        return {"analysing": code is None, "error": error, "missing": missing}

    def close(self) -> None:
        """End an analysis; what it has finished is kept."""
        if self._analysis is not None and self._analysis.poll() is None:
            self._analysis.terminate()
            try:
                self._analysis.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._analysis.kill()
                self._analysis.wait()

    # --- the deck -------------------------------------------------------------------------------

    def question(self, deck: DeckName) -> dict[str, Any] | None:
        """The next item that is due, without a word of its answer; None if there is none."""
        with self._open() as database:
            items = _due(database, deck)
        if not items:
            return None
        item = items[0].item
        place = {"fen": item.fen, "moves": []}
        if item.before and item.last:
            place = {"fen": item.before, "moves": [item.last]}
        chess960 = board_of(item).chess960
        return {
            "item": items[0].number,
            "due": items[0].due,
            "place": {**place, "chess960": chess960},
            "hints": len(hints_of(item, ENGLISH)),
            "waiting": len(items),
        }

    def hint(self, number: int, which: int, language: Language) -> str:
        """A hint of an item, from 0; the later ones say more, none says the move."""
        with self._open() as database:
            hints = hints_of(_stored(database, number).item, language)
        if not 0 <= which < len(hints):
            raise InputError("no such hint", value=which)
        return hints[which]

    def answer(
        self,
        number: int,
        due: int,
        move: str | None,
        seconds: float,
        helped: bool,
        said: Callable[[Stored], Stored],
        language: Language,
    ) -> dict[str, Any]:
        """Judge the first answer to an item, and say what was right; `due` is that of the question.

        `said` gives the item its words in the language. An answer that comes again, or from a
        second tab, is not counted again.
        """
        if not (math.isfinite(seconds) and seconds >= 0):
            raise InputError("seconds", value=seconds, fix="expected 0 or more")
        with self._answering, self._open() as database:
            stored = _stored(database, number)
            board = board_of(stored.item)
            played = None if move is None else board.parse(move)
            if stored.due != due:
                raise InputError("this was answered already", fix="go on with the next")
            now, stored = int(time.time()), said(stored)
            verdict = answered(database, stored, played, seconds, helped, now, language)
            ((game,),) = database.rows("SELECT game FROM items WHERE id = ?", (number,))
        return {
            "right": verdict.right,
            "reasons": verdict.reasons,
            "again": when(verdict.due - time.time()),
            "line": [*stored.item.line],
            "game": game,
            "ply": stored.item.ply,
        }

    def game(self, number: int) -> dict[str, Any]:
        """A game as the page shows it, with what the analysis has seen of its positions."""
        with self._open() as database:
            for _, stored in database.games("id = ?", (number,)):
                return _with_views(stored, database.views(number))
        raise InputError("no such game", value=number)

    # --- what costs points, and openings --------------------------------------------------------

    def profile(self, language: Language) -> dict[str, Any]:
        """Figures of the games that are analysed, each with its dearest moves."""
        with self._open() as database:
            played = self._played(database)
        rows = [row for row in figures(played) if row.games >= FEWEST_GAMES or row.group == "all"]
        endings = [ending._asdict() for ending in conversions(played)]
        shown = [_figure(row, language) for row in rows]
        return {"games": len(played), "figures": shown, "endings": endings}

    def findings(self, language: Language) -> list[dict[str, Any]]:
        """How often the one good move was played, and how often people of the rating play it."""
        with self._open() as database:
            played = self._played(database)
        rows = self._once(("people", len(played)), lambda: findings(played, People()))
        return [
            {
                "name": figure_name(row, language),
                "chances": row.chances,
                "played": round(row.played, 4),
                "expected": round(row.expected, 4),
                "error": None if math.isnan(row.error) else round(row.error, 4),
                "examples": _listed(row.examples),
            }
            for row in rows
            if row.chances >= FEWEST_GAMES
        ]

    def _played(self, database: Database) -> list[Played]:
        key = ("profile", database.count("analyses"))
        return self._once(key, lambda: [*played_games(database)])

    def openings(self, side: Side | None, place: PagePosition) -> dict[str, Any]:
        """What was played in a position in the player's own games, of all or of one colour."""
        with self._open() as database:
            key = ("own", side, database.count("games"), database.count("analyses"))
            return explored(self._once(key, lambda: tree_of_games(database, side)), place)

    def openings_of(self, file: Path, place: PagePosition) -> dict[str, Any]:
        """The same in the games of a file."""
        key = (file, file.stat().st_mtime_ns)
        return explored(self._once(key, lambda: tree_of_files([file])[0]), place)

    def openings_in(self, text: str, place: PagePosition) -> dict[str, Any]:
        """The same in the games of a text."""

        def tree() -> Tree:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "games.pgn"
                file.write_text(text, encoding="utf-8")
                return tree_of_files([file])[0]

        return explored(self._once(text, tree), place)


def explored(tree: Tree, place: PagePosition) -> dict[str, Any]:
    """The moves of a position in a tree."""
    board = place.board()
    moves = [
        {**move._asdict(), "move": board.uci(move.move), "games": move.games}
        for move in moves_at(tree, board)
    ]
    return {"moves": moves}


def _standing(database: Database, deck: DeckName) -> dict[str, Any]:
    """How many items a deck has, how many are due, and when the next is."""
    query = "SELECT count(*), min(CASE WHEN card != '' THEN due END) FROM items WHERE deck = ?"
    ((items, first),) = database.rows(query, (deck,))
    due = len(_due(database, deck))
    soon = "" if due or first is None else when(first - time.time())
    return {"items": items, "due": due, "next": soon}


def _due(database: Database, deck: DeckName) -> list[Stored]:
    """What is to be asked today: what is due, then new items as far as the day has any left."""
    midnight = datetime.datetime.now().astimezone().replace(hour=0, minute=0, second=0)
    query = (
        "SELECT count(*) FROM (SELECT min(reviewed) AS first FROM reviews"
        " JOIN items ON items.id = reviews.item WHERE deck = ? GROUP BY item) WHERE first >= ?"
    )
    ((begun,),) = database.rows(query, (deck, int(midnight.timestamp())))
    return due_items(database, deck, int(time.time()), max(0, NEW_A_DAY - begun))


def _stored(database: Database, number: int) -> Stored:
    """An item by its number, of either deck."""
    for deck in DECKS:
        for stored in stored_items(database, deck, "items.id = ?", (number,)):
            return stored
    raise InputError("no such item", value=number)


def _with_views(game: StoredGame, views: list[View]) -> dict[str, Any]:
    tree = tree_of(parse_game(game.pgn))
    main = 0
    while main < len(tree["nodes"]) and tree["nodes"][main]["parent"] == main - 1:
        main += 1
    first = Board(tree["fen"]).turn == "white"
    for ply, view in enumerate(views[: main + 1]):
        sign = 1 if first == (ply % 2 == 0) else -1
        place = tree if ply == 0 else tree["nodes"][ply - 1]
        place["eval"] = place["eval"] or [view.kind, sign * view.amount]
    return tree


def _figure(row: Figure, language: Language) -> dict[str, Any]:
    error = None if math.isnan(row.error) else round(row.error, 4)
    shown = {"cost": round(row.cost, 4), "error": error, "examples": _listed(row.examples)}
    return row._asdict() | shown | {"name": figure_name(row, language)}


def _listed(examples: list[Example]) -> list[list[Any]]:
    return [[example.game, example.ply, example.address] for example in examples]

"""Analyses a player's games one by one: what searches see of each position, and items of the deck.

This is lighter than the searching of commentary, as there are thousands of games: a first look at
every position, a longer one around each move that seems to be a mistake, and what the game has led
to. What becomes an item is proved by searches of its own (`deck`). Every game is kept when it is
finished, with its items, so the work goes on where it was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import chess
import msgspec

from kibitz.coach.database import WHITE, Database, StoredGame, View
from kibitz.coach.deck import LINES, Engines, Item, items_of
from kibitz.comment.analyse import REMEMBERED
from kibitz.comment.judge import Evaluation, in_hindsight, label
from kibitz.comment.searches import AGAIN, SMALL_TABLE, Searches
from kibitz.comment.words.languages import Code
from kibitz.core.log import Stop, progress
from kibitz.core.workers import in_processes
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER, chosen
from kibitz.engine.running import Kept
from kibitz.nets.discover import at_work, files_of, named
from kibitz.position.pgn import parse_game
from kibitz.search.limits import Limits

KEPT = 5  # plies of a line, by which the profile sees motifs


@dataclass(frozen=True)
class Study:
    """How games are analysed."""

    nodes: int = 3_000  # of the first look at each position
    network: str = AUTODISCOVER
    language: Code = "en"

    @property
    def signature(self) -> str:
        """What is kept with an analysis."""
        return f"{named(chosen(self.network))}, nodes {self.nodes}"


class Task(NamedTuple):
    """A game to be analysed."""

    number: int
    white: bool  # whether the player has White
    pgn: str


class Analysed(NamedTuple):
    """A game that is."""

    number: int
    views: list[View]
    items: list[Item]


class Analyst:
    """Analyses games one after the other, each as if it were the first."""

    def __init__(self, study: Study) -> None:
        self.study = study
        network, table = at_work(study.network), SMALL_TABLE
        self._pairs = Engine(network, search="alphabeta", multipv=2, hash=table)
        self._wide = Engine(network, search="alphabeta", multipv=LINES, hash=table)

    def close(self) -> None:
        """End the engines."""
        self._pairs.close()
        self._wide.close()

    def analysed(self, task: Task) -> Analysed:
        """The views and the items of a game."""
        tree = parse_game(task.pgn).tree
        moves = [node.move for node in tree.mainline()]
        boards = _boards(tree.board(), moves)
        seen = evaluations_along(boards, moves, Searches(self._pairs), self.study.nodes)
        engines, language = Engines(self._pairs, self._wide), self.study.language
        items = list(items_of(boards, moves, seen, task.white, engines, language))
        return Analysed(task.number, list(map(_view, seen)), items)


def _boards(start: chess.Board, moves: list[chess.Move]) -> list[chess.Board]:
    """The positions of a game, each with those before it that may be repeated."""
    board = start.copy(stack=False)
    boards = [board.copy()]
    for move in moves:
        board.push(move)
        boards.append(board.copy(stack=min(max(1, board.halfmove_clock), REMEMBERED)))
    return boards


def evaluations_along(
    boards: list[chess.Board], moves: list[chess.Move], searches: Searches, nodes: int
) -> list[Evaluation]:
    """What is seen of each position; again with AGAIN times the nodes around what seems bad."""
    views = [searches.see(board, Limits(nodes=nodes)) for board in boards]
    bad = {ply for ply in range(len(moves)) if label(views[ply], views[ply + 1])}
    for ply in {*bad, *(ply + 1 for ply in bad)}:
        views[ply] = searches.see(boards[ply], Limits(nodes=AGAIN * nodes))
    for ply in reversed(range(len(moves))):
        views[ply] = in_hindsight(views[ply], views[ply + 1], moves[ply])
    return views


def _view(seen: Evaluation) -> View:
    best, *then = [move.uci() for move in seen.line[:KEPT]] or [""]
    second = None if seen.second is None else round(seen.second, 3)
    return View(seen.score.kind, seen.score.amount, best, second, tuple(then))


def analyse_games(
    database: Database, study: Study, stop: Stop, most: int | None = None, workers: int = 1
) -> int:
    """Analyse games that are not yet, the latest first; how many were."""
    study = replace(study, network=chosen(study.network))  # the same in every process
    query = "id NOT IN (SELECT game FROM analyses)"
    waiting = list(database.games(query))[::-1][:most]
    tasks = (_task(database, number, game) for number, game in waiting)
    done, needs = 0, files_of(study.network)
    try:
        with progress("games", total=len(waiting)) as bar:
            work = partial(analysed, study)
            for game in in_processes(work, _until(tasks, stop), workers, needs=needs):
                keep(database, game, study.signature)
                done += 1
                bar.advance()
    finally:
        _analyst.end()
    return done


def _task(database: Database, number: int, game: StoredGame) -> Task:
    database.tree(number, game)  # damage is named before anything is searched
    return Task(number, game.side == WHITE, game.pgn)


def _until(tasks: Iterator[Task], stop: Stop) -> Iterator[Task]:
    """Tasks until a stop is requested; those that were begun are finished."""
    for task in tasks:
        if stop.requested:
            return
        yield task


def keep(database: Database, game: Analysed, signature: str) -> None:
    """Write an analysis and its items, both or neither."""
    views = msgspec.json.encode(game.views).decode()
    with database.transaction():
        database.write(
            "INSERT OR IGNORE INTO analyses VALUES (?, ?, ?)", (game.number, signature, views)
        )
        for item in game.items:
            content = msgspec.json.encode(item).decode()
            database.write(
                "INSERT OR IGNORE INTO items (game, ply, deck, position, content)"
                " VALUES (?, ?, ?, ?, ?)",
                (game.number, item.ply, item.deck, item.position, content),
            )


# --- in processes of a pool -----------------------------------------------------------------------

_analyst = Kept(Analyst)  # of this process


def analysed(study: Study, task: Task) -> Analysed:
    """A game, analysed by this process's engines."""
    return _analyst.get(study).analysed(task)

"""Looks for puzzles in many games, in several processes, through any interruption.

A journal beside the output, its name and `.journal`, keeps what was found game by game; the output
is written anew from it. The same command goes on where it was, also with more files of games.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from kibitz.coach.puzzles.find import SEEKER, GamePuzzles, GameTask, Hunt, look_through
from kibitz.coach.puzzles.formats import Puzzle, key_of
from kibitz.comment.openings import opening_in
from kibitz.core.errors import InputError
from kibitz.core.files import refuse_folder
from kibitz.core.journal import JournalFile
from kibitz.core.log import Stop, progress, say
from kibitz.core.places import Place
from kibitz.core.workers import in_processes
from kibitz.engine.options import chosen
from kibitz.nets.discover import files_of, named
from kibitz.position.pgn import BadGame, Game, read_games

ANOTHER = "give another --output"


class HuntHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What must be the same for puzzles to be of one search."""

    finder: str
    nodes: int
    shallow: int
    sc_limit: int
    network: str
    format: str = "kibitz puzzles 3"


class Collection:
    """What a run has found: its games from a journal and from now on."""

    def __init__(self, output: Path, hunt: Hunt) -> None:
        hunt = replace(hunt, network=chosen(hunt.network))  # the same in every process
        header = HuntHeader(**{**vars(hunt), "network": named(hunt.network)})
        work = "search for puzzles"
        self._path = journal_of(output)
        self._journal = JournalFile(self._path, header, GamePuzzles, work=work, piece="game")
        self.hunt, self.bad, self.again = hunt, 0, 0

    def close(self) -> None:
        """Close the journal and the engines."""
        self._journal.close()
        SEEKER.end()

    def remove(self) -> None:
        """Remove the journal, once closed, of a search that has read no game."""
        self._path.unlink(missing_ok=True)

    def find(self, files: list[Place], limit: int | None, workers: int, stop: Stop) -> None:
        """Look through games that no earlier run has looked through."""
        work = partial(look_through, self.hunt)
        puzzles = sum(len(entry.puzzles) for entry in self._journal.entries)
        with progress("games", total=limit) as bar:
            tasks, needs = self._tasks(files, limit), files_of(self.hunt.network)
            for entry in in_processes(work, tasks, workers, in_order=True, needs=needs):
                self._journal.add(entry)
                puzzles += len(entry.puzzles)
                bar.describe(f"games; {puzzles} puzzles")
                bar.advance()
                if stop.requested:
                    return

    def _tasks(self, files: list[Place], limit: int | None) -> Iterator[GameTask]:
        finished = {entry.key for entry in self._journal.entries}
        listed: set[str] = set()
        for task in islice(self._games(files), limit):
            if task.key in listed:
                self.again += 1
            elif task.key not in finished:
                yield task
            listed.add(task.key)

    def _games(self, files: list[Place]) -> Iterator[GameTask]:
        def skip(bad_game: BadGame) -> None:
            say(str(bad_game))
            self.bad += 1

        for path in files:
            for game in read_games(path, skip):
                moves = [node.move for node in game.tree.mainline()]
                if moves and all(moves):
                    yield task_of(game, path.name)
                else:  # bytes of anything may hold a comment, which is all of a game
                    why = "it passes a move" if moves else "it has no moves"
                    skip(BadGame(str(path), game.number, game.line, why))

    def puzzles(self, moves: int = 1) -> list[Puzzle]:
        """Puzzles of so many moves at least, the easiest first; no two share a position."""
        puzzles: list[Puzzle] = []
        positions: set[str] = set()
        for entry in self._journal.entries:
            for puzzle in entry.puzzles:
                keys = {key_of(board) for board in puzzle.positions()}
                if not keys & positions:
                    puzzles.append(puzzle)
                positions |= keys
        long = [puzzle for puzzle in puzzles if puzzle.solver_moves >= moves]
        return sorted(long, key=lambda puzzle: puzzle.rating)

    def counts(self) -> Counter[str]:
        """What all games have added up to."""
        total = Counter(games=len(self._journal.entries))
        for entry in self._journal.entries:
            for name in ("positions", "proposed", "winning", "hard", "clear", "finding", "proving"):
                total[name] += getattr(entry, name)
            total["puzzles"] += len(entry.puzzles)
        return total

    @property
    def seconds(self) -> float:
        """Processor time of all games."""
        return sum(entry.seconds for entry in self._journal.entries)


def task_of(game: Game, source: str) -> GameTask:
    """A game as a task."""
    tree = game.tree
    board = tree.board()
    fen = board.shredder_fen() if board.chess960 else board.fen()
    moves = tuple(node.move.uci() for node in tree.mainline())
    digest = hashlib.sha256(" ".join((fen, *moves)).encode()).hexdigest()[:16]
    site = tree.headers.get("Site", "")
    name = site if site.startswith("https://") else f"{source}:{game.number}"
    opening = opening_in(tree)[1]
    return GameTask(digest, name, fen, moves, board.chess960, opening.name if opening else "")


def check_files(files: Iterable[Place], output: Path) -> list[Place]:
    """The files of games, all there; an output that would cost a file of the user is refused."""
    listed = list(files)
    if not listed:
        raise InputError("no file of games", fix="name PGN files")
    for path in listed:
        if not path.exists():
            raise InputError("no such file of games", value=str(path), fix="check the path")
        if isinstance(path, Path) and output.exists() and output.samefile(path):
            raise InputError("the output is a file of games", value=str(output), fix=ANOTHER)
    refuse_folder(output)
    if output.exists() and not journal_of(output).exists():
        fix = f"{ANOTHER}, or remove it"
        raise InputError("a file that no search here has written", value=str(output), fix=fix)
    return listed


def journal_of(output: Path) -> Path:
    """Where a search for puzzles keeps what it has found."""
    return output.with_name(output.name + ".journal")

"""The files that the page may open, below folders of the command line, and what they hold."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kibitz.apps.web.positions import readable_games, title_of, tree_of
from kibitz.coach.puzzles.formats import refuse_without
from kibitz.coach.puzzles.solve import is_right
from kibitz.core.errors import InputError
from kibitz.core.log import say
from kibitz.core.unpacking import COMPRESSED
from kibitz.data import shard as shards
from kibitz.data.batches.sample import check_rules
from kibitz.data.shard import RESULT_TEXTS, Game, Ply, games_of
from kibitz.data.shard import SUFFIX as SHARD
from kibitz.nets.card import NetworkCard, is_leela
from kibitz.nets.discover import RUN, SUFFIXES, discovered, named, shipped
from kibitz.nets.files import read_card
from kibitz.nets.load import SIMPLE
from kibitz.position.board import Board
from kibitz.position.epd import read_epd
from kibitz.position.notation import absolute
from kibitz.position.pgn import BadGame, read_lines
from kibitz.train.metrics import METRICS, read_run
from kibitz.zero.folder import Folder
from kibitz.zero.status import status_of

# --- the folders ----------------------------------------------------------------------------------
#
# The files that the page may open: those below folders named on the command line, no others.


MOST_FILES = 20_000  # that are looked at in all folders
MOST_BYTES = 64 << 20  # of a file of games or positions that is read
MISTAKE = "a mistake of the server; its terminal shows more"
KINDS = {".pgn": "games", ".epd": "suite", ".csv": "puzzles", SHARD: "shard"}
KINDS |= dict.fromkeys(SUFFIXES, "network")
_FOLDERS = re.compile(r"(?<![\w./:\\])(?:[A-Za-z]:)?(?:[\\/]+[^'\"\n;:\\/]+)*[\\/]+(?=[^\\/\s])")
NAMES = {RUN: "run", METRICS: "training"}  # of files that make their folder one


class Entry(NamedTuple):
    """A file or folder that can be opened, by its name on the page."""

    name: str
    kind: str
    path: Path


def names_only(text: object) -> str:
    """An error as a page may see it: files by their names, without the server's folders.

    >>> names_only("no such file: '/home/me/nets/best.safetensors'; see https://x.org/a/b")
    "no such file: 'best.safetensors'; see https://x.org/a/b"
    """
    return _FOLDERS.sub("", str(text))


def kind_of(file: Path) -> str:
    """What a file is by its name; empty if the page has no use for it."""
    if file.name in NAMES:
        return NAMES[file.name]
    if is_leela(file):
        return "network"
    bare = file.with_suffix("") if file.suffix in COMPRESSED else file
    return KINDS.get(bare.suffix.lower(), "")


class Library:
    """What lies in the folders."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise InputError("no such folder", value=str(folder), fix="name a folder of files")
        self._folders = tuple(folder.resolve() for folder in folders)

    def entries(self) -> list[Entry]:
        """All that can be opened; hidden files and links out of the folders are left out."""
        entries = []
        for number, folder in enumerate(self._folders):
            for file in islice(_files_below(folder), MOST_FILES):
                kind = kind_of(file)
                place = file.parent if file.name in NAMES else file
                inside = place.resolve().is_relative_to(folder)
                if kind and inside:
                    name = f"{number}/{place.relative_to(folder).as_posix()}"
                    entries.append(Entry(name, kind, place))
        return entries

    def find(self, name: str, *kinds: str) -> Path:
        """The file of a name; refuses what does not lie in the folders or is of another kind."""
        number, _, rest = name.partition("/")
        with suppress(IndexError, ValueError, OSError):  # not the name of a file
            folder = self._folders[int(number)]
            path = (folder / rest).resolve()
            marks = [path / mark for mark, kind in NAMES.items() if kind in kinds]
            fits = kind_of(path) in kinds or any(mark.is_file() for mark in marks)
            if number.isdecimal() and path.is_relative_to(folder) and fits and path.exists():
                return path
        raise InputError("no such file in the folders of this server", value=name)

    def text_file(self, name: str, *kinds: str) -> Path:
        """A file of a size that can be read at once."""
        path = self.find(name, *kinds)
        if path.stat().st_size > MOST_BYTES:
            fix = f"cut it into files of at most {MOST_BYTES >> 20} MiB"
            raise InputError("the file is too large for the browser", value=path.name, fix=fix)
        return path

    # --- networks -------------------------------------------------------------------------------

    def networks(self) -> dict[str, str]:
        """The networks to choose from: what an engine is given, by the name on the page."""
        files = {named(network.file): str(network.file) for network in shipped()}
        for own in discovered():
            files.setdefault(own.file.name, str(own.file))
        for entry in self.entries():
            if entry.kind == "network":
                files.setdefault(entry.name.partition("/")[2], str(entry.path))
        return files | {name: name for name in SIMPLE}

    def network(self, name: str) -> str:
        """What an engine is given for a name of the list; nothing for the default."""
        if not name:
            return "default"
        files = self.networks()
        if name not in files:
            raise InputError("no such network here", value=name, fix="choose one of the list")
        return files[name]

    def card(self, name: str) -> NetworkCard | None:
        """The card of a network; None for what is built in."""
        file = self.network(name)
        return None if file in SIMPLE else read_card(file)


def _files_below(folder: Path) -> Iterator[Path]:
    """Files in a folder and its folders, in order, hidden ones left out; links are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in sorted(names) if not name.startswith("."))


# --- what lies in the files -----------------------------------------------------------------------
#
# What lies in the files of the library, as the page sees it: shards, runs, puzzles, suites.


MOST_POINTS = 400  # of a curve
MOST_LISTED = 2_000  # games of a file
MOST_PUZZLES = 20_000  # of a file
POLICY = 16  # moves of a target that are sent, the largest


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


# --- shards ---------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _games(path: Path, _changed: float) -> list[Game]:
    shard = shards.read(path)
    check_rules(shard, path)
    return list(games_of(shard))


def shard_game(path: Path, number: int) -> dict[str, Any]:
    """A game of a shard, from 0, with what each position teaches; values for the side to move."""
    games = _games(path, path.stat().st_mtime)
    if not 0 <= number < len(games):
        raise InputError("no such game in the shard", value=number + 1, fix=f"it has {len(games)}")
    game = games[number]
    board = Board(game.start)
    plies = []
    for ply in game.plies:
        plies.append(_ply(board, ply))
        if ply.move:
            board.push(absolute(board.position, ply.move))
    return {
        "games": len(games),
        "number": number,
        "fen": Board(game.start).fen(),
        "chess960": board.chess960,
        "result": RESULT_TEXTS[game.result],
        "end": game.end,
        "source": {
            name: str(value)
            for name, value in game.source.items()
            if isinstance(value, str | int | float)
        },
        "plies": plies,
    }


def _ply(board: Board, ply: Ply) -> dict[str, Any]:
    position = board.position
    total = sum(count for _, count in ply.visits) or 1
    ordered = sorted(ply.visits, key=lambda visits: -visits[1])[:POLICY]
    target = []
    for code, count in ordered:
        move = absolute(position, code)
        target.append([board.uci(move), board.san(move), round(count / total, 4)])
    played = absolute(position, ply.move) if ply.move else None
    return {
        "fen": board.fen(),
        "uci": "" if played is None else board.uci(played),
        "san": "" if played is None else board.san(played),
        "value": _number(ply.value),
        "draw": _number(ply.draw),
        "rootValue": _number(ply.root_value),
        "flags": ply.flags,
        "visits": sum(count for _, count in ply.visits),
        "target": target,
    }


# --- runs -----------------------------------------------------------------------------------------


def learning(path: Path) -> dict[str, Any]:
    """How a run of `kibitz learn` stands: a row for each generation, ratings, what goes on."""
    status = status_of(Folder(path))
    return {
        "rows": [row._asdict() for row in status.rows],
        "lines": status.lines,
        "doing": [msgspec.to_builtins(work) for work in status.doing],
        "best": status.best,
    }


def training(path: Path) -> dict[str, Any]:
    """The curves of a training, thinned out for the page."""
    run = read_run(path)
    figures = {}
    for name, points in run.figures.items():
        step = max(1, len(points) // MOST_POINTS)
        figures[name] = [(x, y) for x, y in points[::step] if math.isfinite(y)]
    return {"name": run.name, "steps": run.steps, "figures": figures}


# --- games, suites and puzzles --------------------------------------------------------------------


def games_in(path: Path) -> list[str]:
    """A line for each game of a PGN file."""
    games = islice(readable_games(path, []), MOST_LISTED)
    return [title_of(game) for game in games]


def game_at(path: Path, number: int) -> dict[str, Any]:
    """One of the games of a PGN file, from 0."""
    bad: list[BadGame] = []
    wanted = islice(readable_games(path, bad), number, None) if number >= 0 else iter(())
    game = next(wanted, None)
    if game is None:
        reason = f"; game {bad[0].number} cannot be read: {bad[0].reason}" if bad else ""
        raise InputError(f"no such game in the file{reason}", value=number + 1)
    return tree_of(game)


def suite(path: Path) -> list[dict[str, Any]]:
    """The positions of a test suite, with the moves that solve them."""
    positions = []
    for epd in read_epd(path):
        board = epd.board()
        positions.append(
            {
                "fen": epd.fen,
                "name": epd.name,
                "best": [board.uci(move) for move in epd.best],
                "avoid": [board.uci(move) for move in epd.avoid],
                "words": [board.san(move) for move in epd.best or epd.avoid],
                "comments": [*epd.comments.values()],
            }
        )
    return positions


@lru_cache(maxsize=4)
def _puzzles(path: Path, _changed: float) -> list[dict[str, str]]:
    lines = islice(read_lines(path), MOST_PUZZLES + 1)
    rows = csv.DictReader(io.StringIO("".join(lines)))
    puzzles: list[dict[str, str]] = []
    wrong: list[str] = []
    try:
        for row in rows if {"FEN", "Moves"} <= {*(rows.fieldnames or ())} else ():
            try:
                refuse_without(row, "FEN", "Moves")
            except InputError as error:
                wrong.append(f"{path.name}, line {rows.line_num}: {error}")
            else:
                puzzles.append(row)
    except csv.Error as error:  # a field longer than any puzzle's, for one
        raise InputError(f"this file has no puzzles ({error})", value=path.name) from error
    if wrong:
        say(f"{wrong[0]}; puzzles left out: {len(wrong)}")
    return puzzles


def _puzzle_rows(path: Path, number: int) -> list[dict[str, str]]:
    """The puzzles of a file with Lichess's columns, which has that number."""
    rows = _puzzles(path, path.stat().st_mtime)
    if not rows:
        fix = "expected the columns of Lichess: PuzzleId, FEN, Moves, Rating, Themes, ..."
        raise InputError("this file has no puzzles", value=path.name, fix=fix)
    if not 0 <= number < len(rows):
        raise InputError("no such puzzle in the file", value=number + 1, fix=f"it has {len(rows)}")
    return rows


@lru_cache(maxsize=4)
def _by_difficulty(path: Path, changed: float) -> list[int]:
    """The numbers of the puzzles of a file, the easiest first."""
    rows = _puzzles(path, changed)
    ratings = [int(text) if (text := row.get("Rating") or "").isdecimal() else 0 for row in rows]
    return sorted(range(len(rows)), key=ratings.__getitem__)


def puzzle(path: Path, number: int) -> dict[str, Any]:
    """A puzzle, from 0, with its first move only, and how many there are."""
    rows = _puzzle_rows(path, number)
    row, order = rows[number], _by_difficulty(path, path.stat().st_mtime)
    above = order.index(number) + 1
    Board(row["FEN"], row["Moves"].split())  # refuses a puzzle that cannot be played
    return {
        "count": len(rows),
        "number": number,
        "name": row.get("PuzzleId") or "",
        "fen": row["FEN"],
        "first": row["Moves"].split()[0],
        "rating": row.get("Rating") or "",
        "themes": (row.get("Themes") or "").split(),
        "easier": order[above - 2] if above > 1 else None,
        "harder": order[above] if above < len(order) else None,
    }


def solved(path: Path, number: int, played: tuple[str, ...], move: str | None) -> dict[str, Any]:
    """Whether a move in a puzzle is right and what comes next; without one, all that was right."""
    row = _puzzle_rows(path, number)[number]
    moves = row["Moves"].split()
    if not 1 <= len(played) < len(moves) or [*played] != moves[: len(played)]:
        raise InputError("not a position of this puzzle", fix="begin it again")
    board, left = Board(row["FEN"], played), moves[len(played) :]
    if move is None:
        return {"right": False, "left": left, "over": True}
    right = is_right(board, board.parse(move), (board.uci(left[0]),))
    board.push(move)
    over = right and (len(left) == 1 or board.outcome() is not None)
    return {"right": right, "left": left[1:2] if right and not over else [], "over": over}

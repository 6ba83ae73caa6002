"""What lies in the files of the library, as the page sees it: shards, runs, puzzles, suites."""

from __future__ import annotations

import csv
import io
import math
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from kibitz.apps.web.positions import readable_games, title_of, tree_of
from kibitz.core.errors import InputError
from kibitz.data import shard as shards
from kibitz.data.batches.sample import check_rules
from kibitz.data.shard import RESULT_TEXTS, Game, Ply, games_of
from kibitz.position.board import Board
from kibitz.position.epd import read_epd
from kibitz.position.notation import absolute
from kibitz.position.pgn import BadGame, read_lines
from kibitz.train.metrics import read_run
from kibitz.zero.folder import Folder
from kibitz.zero.status import status_of

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
    try:
        return list(csv.DictReader(io.StringIO("".join(lines))))
    except csv.Error as error:  # a field longer than any puzzle's, for one
        raise InputError(f"this file has no puzzles ({error})", value=path.name) from error


def puzzle(path: Path, number: int) -> dict[str, Any]:
    """A puzzle of a file with Lichess's columns, from 0, and how many there are."""
    rows = _puzzles(path, path.stat().st_mtime)
    if not rows or not {"FEN", "Moves"} <= rows[0].keys():
        fix = "expected the columns of Lichess: PuzzleId, FEN, Moves, Rating, Themes, ..."
        raise InputError("this file has no puzzles", value=path.name, fix=fix)
    if not 0 <= number < len(rows):
        raise InputError("no such puzzle in the file", value=number + 1, fix=f"it has {len(rows)}")
    row = rows[number]
    moves = row["Moves"].split()
    Board(row["FEN"], moves)  # refuses a puzzle that cannot be played
    return {
        "count": len(rows),
        "number": number,
        "name": row.get("PuzzleId") or "",
        "fen": row["FEN"],
        "moves": moves,
        "rating": row.get("Rating") or "",
        "themes": (row.get("Themes") or "").split(),
    }

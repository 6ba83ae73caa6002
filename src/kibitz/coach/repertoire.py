"""A repertoire against practice: where a player leaves it, or is left without an answer.

Positions count by their keys: who comes back to the repertoire by other moves has not left it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import chess.pgn
import numpy as np

from kibitz.coach.database import WHITE, Database, StoredGame
from kibitz.core.errors import InputError
from kibitz.core.places import Place
from kibitz.position.board import SIDES, Board, Side
from kibitz.position.notation import absolute, relative
from kibitz.position.pgn import read_games

SHOWN_GAMES = 5


class Prepared(NamedTuple):
    """A position of a repertoire."""

    line: tuple[str, ...]  # moves to it, SAN, in the order of the file
    moves: dict[int, str]  # its moves, as kernels see them, and in SAN


class _Waiting(NamedTuple):
    """A node of a repertoire whose moves are still to be read."""

    node: chess.pgn.GameNode
    board: Board
    line: tuple[str, ...]


@dataclass
class Leave:
    """Games that leave the repertoire at a position by a move."""

    line: tuple[str, ...]
    move: str  # SAN
    by: str  # you or opponent
    prepared: tuple[str, ...]  # what the repertoire has
    points: list[float] = field(default_factory=list)  # the player's
    games: list[str] = field(default_factory=list)  # some of them

    def lost(self, usual: float) -> float:
        """Points that these games have brought less than as many usual ones."""
        return sum(usual - points for points in self.points)

    def facts(self, usual: float) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "line": " ".join(self.line),
            "move": self.move,
            "by": self.by,
            "repertoire": ", ".join(self.prepared),
            "games": len(self.points),
            "score": round(sum(self.points) / len(self.points), 3),
            "lost": round(self.lost(usual), 2),
            "examples": self.games,
        }


@dataclass
class Practice:
    """What has become of a repertoire in the player's games."""

    games: int = 0  # with the colour, and a result
    entered: int = 0  # that came to a position of the repertoire at all
    points: float = 0.0
    held: int = 0  # that were in it up to its end, or theirs
    leaves: list[Leave] = field(default_factory=list)  # what costs most comes first

    @property
    def usual(self) -> float:
        """Points a game, in or out of the repertoire."""
        return self.points / max(1, self.games)

    def facts(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "games": self.games,
            "entered": self.entered,
            "to_the_end": self.held,
            "points_a_game": round(self.usual, 3),
            "leaves": [leave.facts(self.usual) for leave in self.leaves],
        }


def read_repertoire(path: Place | io.StringIO) -> dict[int, Prepared]:
    """The positions of games and variations in PGN, a file or a text, by their keys."""
    prepared: dict[int, Prepared] = {}
    where = "the text" if isinstance(path, io.StringIO) else str(path)
    for game in read_games(path):
        if game.start.key != Board().key:
            fix = "leave out its tag FEN"
            raise InputError(f"game {game.number} has another start", value=where, fix=fix)
        waiting: list[_Waiting] = [_Waiting(game.tree, game.start, ())]
        while waiting:
            node, board, line = waiting.pop()
            for child in node.variations:
                move = board.parse(child.move.uci())
                san, after = board.san(move), board.copy(history=False)
                after.push(move)
                entry = prepared.setdefault(board.key, Prepared(line, {}))
                entry.moves[int(relative(board.position, move))] = san
                waiting.append(_Waiting(child, after, (*line, san)))
    if not prepared:
        raise InputError("no move in this repertoire", value=where, fix="give PGN with moves")
    return prepared


def practised(database: Database, prepared: dict[int, Prepared], side: Side) -> Practice:
    """How the player's games with a colour compare with a repertoire."""
    practice = Practice()
    leaves: dict[tuple[int, int], Leave] = {}
    for _, game in database.games("side = ?", (SIDES.index(side),)):
        points = game.points
        if points is None:
            continue
        practice.games += 1
        practice.points += points
        keys = np.frombuffer(game.keys, dtype=np.uint64).tolist()
        inside = [ply for ply, key in enumerate(keys[:-1]) if key in prepared]
        if not inside:
            continue
        practice.entered += 1
        _follow(game, keys, inside[-1], prepared, leaves, practice, points)
    usual = practice.usual
    practice.leaves = sorted(leaves.values(), key=lambda leave: -leave.lost(usual))
    return practice


def _follow(
    game: StoredGame,
    keys: list[int],
    ply: int,
    prepared: dict[int, Prepared],
    leaves: dict[tuple[int, int], Leave],
    practice: Practice,
    points: float,
) -> None:
    """Note how a game leaves the repertoire in its last position there, if it does."""
    entry = prepared[keys[ply]]
    code = int(np.frombuffer(game.moves, dtype=np.uint16)[ply])
    if code in entry.moves:
        practice.held += 1
        return
    own = (ply % 2 == 0) == (game.side == WHITE)
    place = (keys[ply], code)
    if place not in leaves:
        board = Board()
        for san in entry.line:
            board.push(san)
        move = board.san(absolute(board.position, code))
        by = "you" if own else "opponent"
        leaves[place] = Leave(entry.line, move, by, tuple(entry.moves.values()))
    leave = leaves[place]
    leave.points.append(points)
    if len(leave.games) < SHOWN_GAMES:
        leave.games.append(f"{game.site}:{game.site_id}")

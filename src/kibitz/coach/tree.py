"""A tree of openings: which moves were made in a position, how often, and how the games went.

    games of a player or of PGN files -> **tree** -> a table, `repertoire`, a book

A position is its key, so games that reach it by other moves are counted together. A tree is a few
sorted arrays with a row for each move of each position; to look a position up is a search in them.

A book has Polyglot's format, 16 bytes an entry, big end first: the position's key in Polyglot's own
hash, the move, its weight and a number for learning (http://hgm.nubati.net/book_format.html).
"""

from __future__ import annotations

import io
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import chess.polyglot
import numpy as np
import safetensors
import safetensors.numpy

from kibitz.coach.database import Database
from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import ChecksumError, read_bytes, with_ending, without_ending, write_bytes
from kibitz.core.places import Place
from kibitz.core.workers import in_processes
from kibitz.data.importing import Piece, pieces_of
from kibitz.data.pgn import main_lines
from kibitz.position.board import SIDES, Board, Side
from kibitz.position.notation import Move, absolute
from kibitz.position.pgn import BadGame, Progress
from kibitz.position.regular import MainLine

PLIES = 40
OUTCOMES = {"1-0": 0, "1/2-1/2": 1, "0-1": 2}  # columns of `counts`
MARK = b"kibitz tree 1"
MATE = 10_000  # centipawns that stand for one
MERGED = 16  # pieces that are put together at a time
FURTHEST = 800  # that a performance lies from the opponents' ratings, as it is usual
_EVAL = re.compile(r"\[%eval (?:#(-?)\d{1,4}|([+-]?\d{1,4}(?:\.\d{1,2})?))")
_START = Board().key


class Tree(NamedTuple):
    """Moves by the keys of their positions and themselves; evaluations by keys. All are sorted."""

    keys: np.ndarray  # uint64 [n]
    moves: np.ndarray  # uint16 [n], as kernels see them
    counts: np.ndarray  # uint32 [n, 3]: White's wins, draws, losses
    ratings: (
        np.ndarray
    )  # uint32 [n, 2]: sum of the opponents' ratings of who moves, and of how many
    evaluated: np.ndarray  # uint64 [m]
    scores: np.ndarray  # int16 [m], centipawns for White


class TreeMove(NamedTuple):
    """A move of a position, and how the games went in which it was made."""

    move: Move
    san: str
    white: int  # games that White won
    draws: int
    black: int
    reached: int  # games with the position after it, by whatever moves
    performance: int | None  # of those who made it, where the opponents' ratings are known
    score: int | None  # of the position after it, in centipawns for White

    @property
    def games(self) -> int:
        """Games with a result in which the move was made."""
        return self.white + self.draws + self.black

    def points(self, white: bool) -> float:
        """The share that a side has taken."""
        won = self.white if white else self.black
        return (won + self.draws / 2) / self.games

    def facts(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {**self._asdict(), "move": self.move.uci(), "games": self.games}


EMPTY = Tree(
    np.empty(0, np.uint64), np.empty(0, np.uint16), np.empty((0, 3), np.uint32),
    np.empty((0, 2), np.uint32), np.empty(0, np.uint64), np.empty(0, np.int16),
)  # fmt: skip


# --- making ---------------------------------------------------------------------------------------


class _Game(NamedTuple):
    """What is counted of a game."""

    keys: np.ndarray  # uint64 [plies]
    moves: np.ndarray  # uint16 [plies]
    black: np.ndarray  # whether Black is to move, [plies]
    outcome: int
    ratings: tuple[int, int]  # 0 if not known


def _counted(games: Sequence[_Game]) -> Tree:
    """The tree of some games; a game in which a position is repeated counts once."""
    if not games:
        return EMPTY
    lengths = [len(game.keys) for game in games]
    keys, moves = (np.concatenate([game[i] for game in games]) for i in (0, 1))
    number = np.repeat(np.arange(len(games)), lengths)
    order = np.lexsort((number, moves, keys))
    keys, moves, number = keys[order], moves[order], number[order]
    new = np.ones(len(keys), dtype=bool)
    same = (keys[1:] == keys[:-1]) & (moves[1:] == moves[:-1]) & (number[1:] == number[:-1])
    new[1:] = ~same
    counts = np.zeros((len(keys), 3), np.uint32)
    counts[np.arange(len(keys)), np.array([game.outcome for game in games])[number]] = 1
    black = np.concatenate([game.black for game in games])[order]
    # The opponent of who moves: White's rating where Black does.
    against = np.array([game.ratings[::-1] for game in games])[number, black.astype(int)]
    ratings = np.stack([against, against > 0], axis=1).astype(np.uint32)
    return _summed(keys[new], moves[new], counts[new], ratings[new])


def _summed(keys: np.ndarray, moves: np.ndarray, counts: np.ndarray, ratings: np.ndarray) -> Tree:
    """A tree of sorted rows, those of the same move put together."""
    first = np.ones(len(keys), dtype=bool)
    first[1:] = (keys[1:] != keys[:-1]) | (moves[1:] != moves[:-1])
    at = np.flatnonzero(first)
    if not len(at):
        return EMPTY
    counts, ratings = (np.add.reduceat(rows, at, dtype=np.uint32) for rows in (counts, ratings))
    return EMPTY._replace(keys=keys[at], moves=moves[at], counts=counts, ratings=ratings)


def merged(trees: Sequence[Tree]) -> Tree:
    """One tree of several."""
    keys, moves, counts, ratings, evaluated, scores = (
        np.concatenate(columns) for columns in zip(*trees, strict=True)
    )
    order = np.lexsort((moves, keys))
    tree = _summed(keys[order], moves[order], counts[order], ratings[order])
    evaluated, at = np.unique(evaluated, return_index=True)  # the first that is known
    return tree._replace(evaluated=evaluated, scores=scores[at])


def tree_of_files(
    paths: Sequence[Place], plies: int = PLIES, workers: int = 1
) -> tuple[Tree, Counter[str]]:
    """The tree of PGN files, and how many games were counted and were not."""
    work, counts = partial(_piece_tree, plies=plies), Counter[str]()
    trees = [EMPTY]
    for tree, piece_counts in in_processes(work, pieces_of(paths), workers):
        counts += piece_counts
        trees.append(tree)
        if len(trees) > MERGED:
            trees = [merged(trees)]
    return merged(trees), counts


def _piece_tree(piece: Piece, plies: int) -> tuple[Tree, Counter[str]]:
    counts, games, evaluated = Counter[str](), list[_Game](), dict[int, int]()

    def skip(_: BadGame) -> None:
        counts["not readable"] += 1

    progress = Progress(piece.line - 1, counted=False)
    for line in main_lines(io.StringIO(piece.text), piece.path.name, skip, progress):
        outcome = OUTCOMES.get(line.tags.get("Result", "*"))
        if outcome is None:
            counts["without result"] += 1
            continue
        counts["games"] += 1
        count = min(plies, len(line.moves))
        evaluated |= _evaluations(line, count) if "%eval" in piece.text else {}
        if count:
            positions = line.positions[:count]
            black = positions["side"].astype(bool)
            ratings = (_rating(line, "WhiteElo"), _rating(line, "BlackElo"))
            games.append(_Game(positions["key"], line.moves[:count], black, outcome, ratings))
    return _with_scores(_counted(games), evaluated), counts


def _rating(line: MainLine, name: str) -> int:
    text = line.tags.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) == 4 else 0


def _evaluations(line: MainLine, count: int) -> dict[int, int]:
    """Centipawns for White by the keys of positions, from [%eval]."""
    scores: dict[int, int] = {}
    for key, comment in zip(
        line.positions["key"][: count + 1].tolist(), line.comments, strict=False
    ):
        said = _EVAL.search(comment)
        if said and said[2] is None:
            scores[key] = -MATE if said[1] else MATE
        elif said:
            scores[key] = max(-MATE, min(MATE, round(100 * float(said[2]))))
    return scores


def _with_scores(tree: Tree, scores: dict[int, int]) -> Tree:
    keys = np.array(sorted(scores), dtype=np.uint64)
    values = np.array([scores[key] for key in keys.tolist()], dtype=np.int16)
    return tree._replace(evaluated=keys, scores=values)


def tree_of_games(database: Database, side: Side | None = None, plies: int = PLIES) -> Tree:
    """The tree of the player's own games, of all or of one colour; from the usual start only."""
    games: list[_Game] = []
    scores: dict[int, int] = {}
    turns = np.arange(plies) % 2 == 1
    for number, game in database.games():
        keys = np.frombuffer(game.keys, dtype=np.uint64)
        outcome, count = OUTCOMES.get(game.result), min(plies, len(keys) - 1)
        wanted = side in (None, SIDES[game.side]) and count and int(keys[0]) == _START
        if outcome is None or not wanted:
            continue
        moves = np.frombuffer(game.moves, dtype=np.uint16)[:count]
        ratings = (game.white_rating or 0, game.black_rating or 0)
        games.append(_Game(keys[:count], moves, turns[:count], outcome, ratings))
        for ply, view in zip(range(count + 1), database.views(number), strict=False):
            amount = view.amount if view.kind == "cp" else MATE * (1 if view.amount > 0 else -1)
            bounded = max(-MATE, min(MATE, amount))
            scores[int(keys[ply])] = -bounded if ply % 2 else bounded
    return _with_scores(_counted(games), scores)


# --- looking --------------------------------------------------------------------------------------


def moves_at(tree: Tree, board: Board) -> list[TreeMove]:
    """The moves that were made in a position, the most frequent first."""
    rows = _rows(tree, board.key)
    moves = [_tree_move(tree, board, row) for row in rows]
    return sorted(moves, key=lambda move: -move.games)


def _rows(tree: Tree, key: int) -> range:
    wanted = np.uint64(key)
    first, last = (int(np.searchsorted(tree.keys, wanted, side)) for side in ("left", "right"))
    return range(first, last)


def _tree_move(tree: Tree, board: Board, row: int) -> TreeMove:
    move = absolute(board.position, tree.moves[row])
    if move not in board.legal_moves:
        fix = "make the tree again"
        raise DamagedFileError("a move that is not legal in the tree", value=str(move), fix=fix)
    after = board.copy(history=False)
    san = board.san(move)
    after.push(move)
    white, draws, black = map(int, tree.counts[row])
    later = _rows(tree, after.key)
    reached = int(tree.counts[later.start : later.stop].sum())
    # Games that end with the move, or beyond the plies of the tree, have no row after it.
    reached = max(reached, white + draws + black)
    points = (white if board.turn == "white" else black) + draws / 2
    total, rated = map(int, tree.ratings[row])
    performance = _performance(points / (white + draws + black), total / rated) if rated else None
    return TreeMove(move, san, white, draws, black, reached, performance, _score(tree, after.key))


def _score(tree: Tree, key: int) -> int | None:
    wanted = np.uint64(key)
    at = int(np.searchsorted(tree.evaluated, wanted))
    evaluated = at < len(tree.evaluated) and tree.evaluated[at] == wanted
    return int(tree.scores[at]) if evaluated else None


def _performance(share: float, opponents: float) -> int:
    """The rating with which a share of the points against some opponents is to be expected."""
    if share in (0, 1):
        return round(opponents + FURTHEST * (2 * share - 1))
    ahead = -400 * math.log10(1 / share - 1)
    return round(opponents + max(-FURTHEST, min(FURTHEST, ahead)))


# --- files ----------------------------------------------------------------------------------------


def write_tree(path: Place, tree: Tree) -> None:
    """Write a tree with a checksum."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tree._asdict().items()}
    write_bytes(path, with_ending(safetensors.numpy.save(arrays), MARK))


def read_tree(path: Place) -> Tree:
    """Read a tree; a file that is none, was changed, or contradicts itself is refused."""
    fix = "make it again: kibitz coach tree GAMES.pgn -o FILE.tree"
    try:
        arrays = safetensors.numpy.load(without_ending(read_bytes(path), MARK))
    except ChecksumError as error:
        why = error.why("tree of openings")
        raise DamagedFileError(why, value=str(path), fix=fix) from error
    except safetensors.SafetensorError as error:
        raise DamagedFileError(f"no tree ({error})", value=str(path), fix=fix) from error
    fault = _fault(arrays)
    if fault:
        raise DamagedFileError(f"no tree of openings: {fault}", value=str(path), fix=fix)
    return Tree(**arrays)


def _fault(arrays: dict[str, np.ndarray]) -> str:
    """What is wrong with the arrays of a file; empty if nothing is."""
    if arrays.keys() != {*Tree._fields}:
        return f"it has the arrays {', '.join(sorted(arrays))}"
    rows, evaluated = len(arrays["keys"]), len(arrays["evaluated"])
    for name, empty in EMPTY._asdict().items():
        array = arrays[name]
        wanted = (evaluated if name in ("evaluated", "scores") else rows, *empty.shape[1:])
        if array.dtype != empty.dtype or array.shape != wanted:
            return f"{name} is {array.dtype} {array.shape}, not {empty.dtype} {wanted}"
    for name in ("keys", "evaluated"):
        if (arrays[name][1:] < arrays[name][:-1]).any():
            return f"{name} are not in order"
    return "" if arrays["counts"].any(axis=1).all() else "moves that nobody has made"


def below(tree: Tree, least: int) -> Iterator[tuple[Board, list[TreeMove]]]:
    """The positions from the start on that so many games have reached, each once, with moves."""
    waiting, seen = [Board()], {_START}
    while waiting:
        board = waiting.pop()
        moves = [move for move in moves_at(tree, board) if move.games >= least]
        if moves:
            yield board, moves
        for move in moves:
            after = board.copy(history=False)
            after.push(move.move)
            if after.key not in seen:
                seen.add(after.key)
                waiting.append(after)


# --- books in Polyglot's format -------------------------------------------------------------------

_ENTRY = struct.Struct(">QHHI")
MOST_WEIGHT = 0xFFFF


class BookMove(NamedTuple):
    """A move of a book."""

    san: str
    weight: int


def write_book(path: Place, tree: Tree, least: int) -> int:
    """Write the moves that at least so many games have; returns how many there are.

    The weight is what the move has won, two for a win and one for a draw, as Polyglot makes books;
    a move that has never won a point is left out.
    """
    entries: list[tuple[int, int, int]] = []
    for board, moves in below(tree, least):
        key = chess.polyglot.zobrist_hash(board.to_chess())
        weights = [round(2 * move.points(board.turn == "white") * move.games) for move in moves]
        scale = min(1.0, MOST_WEIGHT / max(weights)) if max(weights) else 0.0
        entries += [
            (key, -max(1, int(weight * scale)), _code(move.move))
            for move, weight in zip(moves, weights, strict=True)
            if weight
        ]
    if not entries:
        fix = "give more games, or a smaller --fewest"
        raise InputError("no move was made so often", value=least, fix=fix)
    entries.sort()
    content = b"".join(_ENTRY.pack(key, code, -weight, 0) for key, weight, code in entries)
    write_bytes(path, content)
    return len(entries)


def _code(move: Move) -> int:
    """The move in 15 bits; castling is the king's move to the rook, as it is here."""
    return move.destination | move.origin << 6 | (move.promotion or 0) << 12


def book_moves(path: Path, board: Board) -> list[BookMove]:
    """The moves of a book in a position, the heaviest first."""
    size = path.stat().st_size
    if size % _ENTRY.size or not size:
        what = f"no Polyglot book: {size:,} bytes are no whole number of entries"
        raise DamagedFileError(what, value=str(path), fix="is it another kind of file?")
    position = board.to_chess()
    with chess.polyglot.open_reader(path) as book:
        entries = list(book.find_all(position))
    return [BookMove(position.san(entry.move), entry.weight) for entry in entries]

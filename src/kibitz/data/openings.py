"""Openings: where games start, so that two players do not play the same game again and again.

They are read, drawn at random, chosen in an order. A text file may hold FENs or EPDs, and lines of
moves in SAN or UCI from the start position. What makes a random opening fair (level in material,
no check) is said here.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from threading import Lock
from typing import NamedTuple, TypeVar, overload

from kibitz.core.errors import InputError
from kibitz.core.files import Location, sha256_of
from kibitz.core.unpacking import unpacked_name
from kibitz.position.board import SIDES, Board, Side
from kibitz.position.epd import lines_of, named_place, parse_epd
from kibitz.position.fen import START, castles960, fen_of
from kibitz.position.notation import moves_in
from kibitz.position.pgn import Game, parse_game, read_main_lines

Thing = TypeVar("Thing")
RANDOM_PLIES = 8
PATIENCE = 50  # times as many random games as there are openings yet, before one comes again


class Opening(NamedTuple):
    """A position and moves from there."""

    fen: str = START
    moves: tuple[str, ...] = ()  # UCI
    chess960: bool = False

    def board(self) -> Board:
        """The position where the players begin."""
        return Board(self.fen, self.moves, chess960=self.chess960)


def read_openings(location: Location, plies: int | None = None) -> list[Opening]:
    """All openings of a file, at most `plies` moves each; games that have ended are left out."""
    return _some(location, _boards(location), None, plies)


def _some(
    location: Location, boards: Iterable[Board], count: int | None, plies: int | None
) -> list[Opening]:
    going_on = (board for board in boards if board.outcome(claim=True) is None)
    openings = [_opening(board) for board in islice(going_on, count)]
    if not openings:
        fix = "PGN, EPD or lines of moves"
        raise InputError("no opening in this file", value=str(location), fix=fix)
    return [opening._replace(moves=opening.moves[:plies]) for opening in openings]


def _opening(board: Board) -> Opening:
    """The opening that was played on a board."""
    start = board.positions()[0]
    chess960 = board.chess960 or castles960(start)
    return Opening(fen_of(start), tuple(move.uci(chess960) for move in board.moves), chess960)


def _boards(location: Location, seed: int | None = None) -> Iterator[Board]:
    """The boards of a file, in its order or in one that a seed decides, made as they are needed."""
    if unpacked_name(location).lower().endswith(".pgn"):
        games = read_main_lines(location)
        for game in games if seed is None else shuffled([*games], seed):
            yield (game if isinstance(game, Game) else parse_game(game.text)).board()
        return
    lines = lines_of(location)
    for number, text in lines if seed is None else shuffled(lines, seed):
        with named_place(f"{location}, line {number}"):
            yield _board(text)


def _board(text: str) -> Board:
    if "/" in text.split()[0]:
        return parse_epd(text).board()
    board = Board()
    for move in moves_in([text]):
        board.push(move)
    return board


# --- random ---------------------------------------------------------------------------------------


class RandomOpenings(Sequence[Opening]):
    """So many openings by random moves, made when they are asked for: a test may need few of them.

    After the moves the material is level and neither king is in check. The first openings of a
    longer list are those of a shorter one.
    """

    def __init__(self, count: int, plies: int = RANDOM_PLIES, seed: int = 0) -> None:
        self._count, self._lock = count, Lock()  # of games that are played side by side
        self._made, self._more = list[Opening](), _fair_openings(plies, seed)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Opening: ...
    @overload
    def __getitem__(self, index: slice) -> list[Opening]: ...
    def __getitem__(self, index: int | slice) -> Opening | list[Opening]:
        wanted = range(self._count)[index]
        last = max(wanted, default=-1) if isinstance(wanted, range) else wanted
        with self._lock:
            self._made.extend(islice(self._more, max(0, last + 1 - len(self._made))))
            if isinstance(wanted, range):
                return [self._made[number] for number in wanted]
            return self._made[wanted]


def _fair_openings(plies: int, seed: int) -> Iterator[Opening]:
    keys: set[int] = set()
    number = 0
    while True:
        board = play_at_random(Board(), plies, random.Random(f"{seed} {number}"))
        number += 1
        # Few plies have few different positions: then they have to serve more than once.
        new = board.key not in keys or number > PATIENCE * (len(keys) + PATIENCE)
        fair = not board.is_check() and board.material == 0
        if new and fair and board.outcome() is None:
            keys.add(board.key)
            yield Opening(START, tuple(move.uci() for move in board.moves))


def random_openings(count: int, plies: int = RANDOM_PLIES, seed: int = 0) -> list[Opening]:
    """The same, all at once."""
    return [*RandomOpenings(count, plies, seed)]


def play_at_random(board: Board, plies: int, generator: random.Random) -> Board:
    """Make random moves on a board, fewer where the game ends."""
    for _ in range(plies):
        moves = board.legal_moves
        if not moves:
            break
        board.push(generator.choice(moves))
    return board


# --- odds -----------------------------------------------------------------------------------------


# The files of the pieces that may be missing, the usual one first.
ODDS_FILES = {"pawn": "fabcdegh", "knight": "bg", "bishop": "cf", "rook": "ah", "queen": "d"}
_MISSING = {
    "": "none",
    "P": "pawn",
    "PP": "two pawns",
    "N": "knight",
    "B": "bishop",
    "R": "rook",
    "Q": "queen",
}


def odds_start(piece: str, side: Side, file: str = "") -> str:
    """FEN of the start position where a side lacks a piece."""
    import chess

    board = chess.Board()
    rank = (1 if piece == "pawn" else 0) if side == "white" else (6 if piece == "pawn" else 7)
    file = file or ODDS_FILES[piece][0]
    board.remove_piece_at(
        chess.square(chess.FILE_NAMES.index(file), rank)
    )  # a rook's castling, too
    return board.fen()


def odds_starts(piece: str) -> list[str]:
    """FENs of all odds of a piece, White's and Black's by turns."""
    return [odds_start(piece, side, file) for file in sorted(ODDS_FILES[piece]) for side in SIDES]


def odds_in(fen: str, side: Side) -> str:
    """What a side lacks at the start: a piece, `two pawns`, `none`; empty: no such position.

    >>> odds_in("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1", "white")
    'queen'
    """
    full, board = (Board(position) for position in (START, fen))
    missing = []
    for square in range(64):
        usual, piece = full.piece_at(square), board.piece_at(square)
        if usual != piece:
            if piece is not None or usual is None or usual.isupper() != (side == "white"):
                return ""
            missing.append(usual.upper())
    odds = _MISSING.get("".join(missing), "")
    return odds if board.turn == "white" and board.ply == 0 else ""


# --- order ----------------------------------------------------------------------------------------


def chosen_openings(
    location: Location | None, plies: int | None, count: int, seed: int
) -> Sequence[Opening]:
    """So many openings of a file in an order that the seed decides, or so many random ones.

    Of a long file only those are made: all of a large book take more than a minute.
    """
    if not location:
        return RandomOpenings(count, plies or RANDOM_PLIES, seed)
    return _some(location, _boards(location, seed), max(1, count), plies)


def shuffled(things: Sequence[Thing], seed: int) -> list[Thing]:
    """The openings, or lines with openings, in an order that the seed decides."""
    order = list(things)
    random.Random(seed).shuffle(order)
    return order


def source_of(location: Location | None, plies: int | None) -> str:
    """The identity of these openings, however many of them are chosen."""
    if not location:
        return f"random {plies or RANDOM_PLIES}"
    whole = sha256_of(location)[:12]
    return whole if plies is None else f"{whole}, {plies} plies"


def digest(openings: Sequence[Opening]) -> str:
    """Twelve hex digits that stand for a list of openings in its order."""
    text = "\n".join(f"{opening.fen} {' '.join(opening.moves)}" for opening in openings)
    return hashlib.sha256(text.encode()).hexdigest()[:12]

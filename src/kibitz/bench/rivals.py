"""Perft by other move generators on this machine, for comparison; each found only if installed.

    FEN, depth -> **other programs** -> leaves

Every walk counts the last ply in bulk where the other library can, and none knows transpositions.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kibitz.errors import KibitzError

STOCKFISH_PLACES = ("stockfish", "/usr/games/stockfish", "/usr/local/bin/stockfish")
Counter = Callable[[str, int], int]  # leaves of a FEN at a depth


class Rival(NamedTuple):
    """Another generator: its name, how many plies less it is given, and how to open it."""

    name: str
    fewer_plies: int
    opened: Callable[[], Any]  # a context that yields a Counter


class Timed(NamedTuple):
    """What a count found and how long it took."""

    leaves: int
    seconds: float


def timed(count: Counter, fen: str, depth: int) -> Timed:
    """Run one count against the clock."""
    started = time.perf_counter()
    leaves = count(fen, depth)
    return Timed(leaves, time.perf_counter() - started)


def installed() -> list[Rival]:
    """The rivals that this machine has."""
    rivals = []
    if stockfish_path() is not None:
        rivals.append(Rival("Stockfish, go perft", 0, stockfish))
    for module, name, fewer_plies, opened in (
        ("rust_chess", "rust-chess", 1, rust_chess),
        ("chess", "python-chess", 2, python_chess),
        ("pyffish", "pyffish", 4, pyffish),
    ):
        if importlib.util.find_spec(module) is not None:
            rivals.append(Rival(name, fewer_plies, opened))
    return rivals


def stockfish_path() -> str | None:
    """Where a Stockfish is, if anywhere."""
    return next(filter(None, map(shutil.which, STOCKFISH_PLACES)), None)


@contextmanager
def stockfish() -> Iterator[Counter]:
    """Stockfish as a running process, so that its start is not in the time."""
    path = stockfish_path()
    if path is None:
        raise KibitzError("no stockfish found", fix="install it, or put it on PATH")
    pipe = subprocess.PIPE
    with subprocess.Popen([path], stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:

        def ask(command: str, answer: str) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(command + "\n")
            for line in process.stdout:
                if line.startswith(answer):
                    return line
            raise KibitzError("Stockfish ended without an answer", value=command)

        def count(fen: str, depth: int) -> int:
            ask(f"position fen {fen}\nisready", "readyok")
            return int(ask(f"go perft {depth}", "Nodes searched").split(":")[1])

        ask("isready", "readyok")
        try:
            yield count
        finally:
            process.kill()


@contextmanager
def python_chess() -> Iterator[Counter]:
    """python-chess; `Board.legal_moves.count()` is its bulk count."""
    import chess

    def walk(board: chess.Board, depth: int) -> int:
        if depth == 1:
            return board.legal_moves.count()
        leaves = 0
        for move in board.legal_moves:
            board.push(move)
            leaves += walk(board, depth - 1)
            board.pop()
        return leaves

    yield lambda fen, depth: walk(chess.Board(fen), depth)


@contextmanager
def rust_chess() -> Iterator[Counter]:
    """rust-chess, the `chess` crate behind Python objects; its generator knows how many remain."""
    library = importlib.import_module("rust_chess")

    def walk(board: Any, depth: int) -> int:
        board.reset_move_generator()
        if depth == 1:
            return int(board.get_generator_num_remaining())
        return sum(
            walk(board.make_move_new(move, check_legality=False), depth - 1)
            for move in list(board.generate_legal_moves())
        )

    yield lambda fen, depth: walk(library.Board(fen), depth)


@contextmanager
def pyffish() -> Iterator[Counter]:
    """pyffish, Fairy-Stockfish behind functions from text to text."""
    library = importlib.import_module("pyffish")

    def walk(fen: str, depth: int) -> int:
        moves = library.legal_moves("chess", fen, [])
        if depth == 1:
            return len(moves)
        return sum(walk(library.get_fen("chess", fen, [move]), depth - 1) for move in moves)

    yield walk

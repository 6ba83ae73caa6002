"""Perft against other move generators on this machine; each is found only if installed.

Every count is bulk-counted at the last ply where the other library can, and none knows
transpositions.
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from kibitz.arena.match.rating import find_program
from kibitz.core.errors import KibitzError
from kibitz.position.count import leaves
from kibitz.position.fen import parse_fen
from kibitz.uci.client import UciClient

OURSELVES = "kibitz"

# The six usual positions (chessprogramming.org, "Perft Results"), and how deep.
CLASSIC = (
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 6),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 5),
    ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 7),
    ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 5),
    ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 5),
    ("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 5),
)

Counter = Callable[[str, int], int]  # leaves of a FEN at a depth


class Rival(NamedTuple):
    """Another generator: its name, how many plies less it is given, and how to open it."""

    name: str
    fewer_plies: int
    open_counter: Callable[[], Any]  # a context that yields a Counter


class Timed(NamedTuple):
    """What a count found and how long it took."""

    leaves: int
    seconds: float

    @property
    def speed(self) -> float:
        """Leaves a second."""
        return self.leaves / self.seconds


Times: TypeAlias = dict[str, list[list[Timed]]]  # by generator and classic position


def measure(rivals: Sequence[Rival], rounds: int, plies: int) -> Iterator[Times]:
    """Count the classic positions, all generators in turns; the times so far after each count."""
    with ExitStack() as stack:
        counters: dict[str, tuple[Counter, int]] = {OURSELVES: (_count, 0)}
        for rival in rivals:
            counters[rival.name] = (stack.enter_context(rival.open_counter()), rival.fewer_plies)
        _count(CLASSIC[0][0], 4)  # kernels are loaded, or compiled, before the clock starts
        times: Times = {name: [[] for _ in CLASSIC] for name in counters}
        for _, index, name in product(range(rounds), range(len(CLASSIC)), counters):
            count, fewer = counters[name]
            fen, depth = CLASSIC[index]
            times[name][index].append(timed(count, fen, max(depth + plies - fewer, 1)))
            yield times


def _count(fen: str, depth: int) -> int:
    return leaves(parse_fen(fen), depth)


def compare(
    times: Times, rivals: Sequence[Rival], plies: int
) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """What the fastest rounds come to, as a result and as rows of a table."""
    best = {
        name: [min(rounds, key=lambda timing: timing.seconds) for rounds in counts]
        for name, counts in times.items()
    }
    totals = {
        name: Timed(
            sum(timing.leaves for timing in counts), sum(timing.seconds for timing in counts)
        )
        for name, counts in best.items()
    }
    ours = totals[OURSELVES]
    result = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "nodes": ours.leaves,
        "seconds": ours.seconds,
        "nps": round(ours.speed),
        "generators": {name: round(total.speed) for name, total in totals.items()},
        "ratios": {name: ours.speed / total.speed for name, total in totals.items()},
        "disagreements": [rival.name for rival in rivals if _disagrees(rival, best, plies)],
    }
    rows = []
    for name, total in sorted(totals.items(), key=lambda item: -item[1].speed):
        each = (timing.speed / 1e6 for timing in best[name])
        rows.append((name, total.speed / 1e6, ours.speed / total.speed, *each))
    return result, rows


def _disagrees(rival: Rival, best: dict[str, list[Timed]], plies: int) -> bool:
    """Whether a generator counted something else than we do at the same depth."""
    expected = [timing.leaves for timing in best[OURSELVES]]
    if rival.fewer_plies:
        depths = [max(depth + plies - rival.fewer_plies, 1) for _, depth in CLASSIC]
        expected = [_count(fen, depth) for (fen, _), depth in zip(CLASSIC, depths, strict=True)]
    return [timing.leaves for timing in best[rival.name]] != expected


# --- other generators -----------------------------------------------------------------------------


def timed(count: Counter, fen: str, depth: int) -> Timed:
    """Run one count against the clock."""
    started = time.perf_counter()
    count_of_leaves = count(fen, depth)
    return Timed(count_of_leaves, time.perf_counter() - started)


def installed() -> list[Rival]:
    """The rivals that this machine has."""
    rivals = []
    if find_program("stockfish") is not None:
        rivals.append(Rival("Stockfish, go perft", 0, stockfish))
    for module, name, fewer_plies, open_counter in (
        ("rust_chess", "rust-chess", 1, rust_chess),
        ("chess", "python-chess", 2, python_chess),
        ("pyffish", "pyffish", 4, pyffish),
    ):
        if importlib.util.find_spec(module) is not None:
            rivals.append(Rival(name, fewer_plies, open_counter))
    return rivals


@contextmanager
def stockfish() -> Iterator[Counter]:
    """Stockfish as a running process, so that its start is not in the time."""
    path = find_program("stockfish")
    if path is None:
        raise KibitzError("no stockfish found", fix="install it, or put it on PATH")
    with closing(UciClient([path], {})) as client:
        yield lambda fen, depth: client.perft(f"fen {fen}", depth)


@contextmanager
def python_chess() -> Iterator[Counter]:
    """python-chess; `Board.legal_moves.count()` is its bulk count."""
    import chess

    def walk(board: chess.Board, depth: int) -> int:
        if depth == 1:
            return board.legal_moves.count()
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += walk(board, depth - 1)
            board.pop()
        return total

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

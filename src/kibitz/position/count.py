"""Perft of one position from Python: divided by root move, over threads, and able to stop.

Kernels release Python's lock, so plain threads share the work: one task per position one or two
plies below the root, each with its own stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Queue
from typing import NamedTuple

import numpy as np

from kibitz.core.errors import InputError
from kibitz.core.files import Location, read_bytes
from kibitz.position.notation import Move, absolute, legal_codes
from kibitz.position.play import MAX_DEPTH, new_stack, perft, play
from kibitz.position.state import new_positions

POLL_SECONDS = 0.1
SPLIT_DEPTH = 5  # shallower counts take less time than handing them out
SPLIT_TWICE_DEPTH = 7  # from here on the second ply is handed out, too: better balanced


class Stopped(Exception):  # noqa: N818 - the user stops, nothing is wrong
    """The count was stopped before it was complete."""


def divide(
    position: np.record,
    depth: int,
    *,
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
    advance: Callable[[float], None] = lambda _: None,
) -> dict[Move, int]:
    """Leaves below each legal move, `depth` plies below `position`.

    `stop` is called every tenth of a second and, if true, raises Stopped; `advance` gets each share
    of the work (1.0 in all) as it is done.
    """
    if not 1 <= depth <= MAX_DEPTH:
        raise InputError("depth", value=depth, fix=f"expected 1 to {MAX_DEPTH}")
    children = _children(position)
    counts = {move: 0 for move, _ in children}
    if depth < SPLIT_DEPTH:
        flag = np.zeros(1, dtype=np.uint8)
        return {move: _leaves(child, depth - 1, flag) for move, child in children}
    tasks, rest = children, depth - 1
    if depth >= SPLIT_TWICE_DEPTH:
        tasks = [(move, below) for move, child in children for _, below in _children(child)]
        rest = depth - 2
    for move, count in _shared_out(tasks, rest, threads, stop):
        counts[move] += count
        advance(1 / len(tasks))
    return counts


def nodes(
    position: np.record,
    depth: int,
    *,
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """All leaves `depth` plies below `position`; raises Stopped like `divide`."""
    if depth < SPLIT_DEPTH:
        return leaves(position, depth)
    return sum(divide(position, depth, threads=threads, stop=stop).values())


def leaves(position: np.record, depth: int) -> int:
    """All leaves on this thread in one call of the kernel: what benchmarks time."""
    return _leaves(position, depth, np.zeros(1, dtype=np.uint8))


def _children(position: np.record) -> list[tuple[Move, np.record]]:
    """Every legal move with the position after it."""
    codes = legal_codes(position)
    after = new_positions(len(codes))
    for code, child in zip(codes, after, strict=True):
        play(position, child, code)
    return [(absolute(position, code), child) for code, child in zip(codes, after, strict=True)]


def _leaves(position: np.record, depth: int, flag: np.ndarray) -> int:
    positions, moves = new_stack()
    positions[0] = position
    return int(perft(positions, moves, depth, flag))


def _shared_out(
    tasks: list[tuple[Move, np.record]], depth: int, threads: int, stop: Callable[[], bool]
) -> Iterator[tuple[Move, int]]:
    """Count every task on a pool of threads; yields results as they come."""
    flag = np.zeros(1, dtype=np.uint8)
    finished: Queue[Future[int]] = Queue()
    with ThreadPoolExecutor(threads) as pool:
        moves = {pool.submit(_leaves, below, depth, flag): move for move, below in tasks}
        try:
            for future in moves:
                future.add_done_callback(finished.put)
            for _ in tasks:
                future = _next(finished, stop)
                yield moves[future], future.result()
        except BaseException:
            flag[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _next(finished: Queue[Future[int]], stop: Callable[[], bool]) -> Future[int]:
    """Wait for the next finished task, calling `stop` now and then."""
    while not stop():
        with suppress(Empty):
            return finished.get(timeout=POLL_SECONDS)
    raise Stopped


_COUNT = re.compile(r"D(\d+)\s+(\d+)")


class Entry(NamedTuple):
    """A position of a suite: its name, FEN and the leaves at each depth; `line` is where it is."""

    name: str
    fen: str
    counts: dict[int, int]
    line: int


def read_suite(location: Location) -> list[Entry]:
    """All entries of a suite file; an InputError names the line that is neither format."""
    try:
        text = read_bytes(location).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{location}: not text", fix="expected a perft suite") from error
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    blocks = any(line.startswith("epd ") for _, line in lines)
    entries = list(_blocks(location, lines) if blocks else _epd_lines(location, lines))
    if not entries:
        raise InputError(f"{location}: no entries", fix="expected a perft suite")
    return entries


def _epd_lines(location: Location, lines: list[tuple[int, str]]) -> Iterator[Entry]:
    for number, line in lines:
        fen, *operations = (part.strip() for part in line.split(";"))
        counts = [_COUNT.fullmatch(operation) for operation in operations if operation]
        if not counts or None in counts:
            fix = "expected FEN ;D1 20 ;D2 400 ..."
            raise InputError(f"{location}, line {number}", value=line, fix=fix)
        expected = {int(match[1]): int(match[2]) for match in counts if match is not None}
        yield Entry(f"line {number}", fen, expected, number)


def _blocks(location: Location, lines: list[tuple[int, str]]) -> Iterator[Entry]:
    name, entry = "", None
    for number, line in lines:
        keyword, _, rest = line.partition(" ")
        if keyword == "id":
            name = rest
        elif keyword == "epd":
            if entry is not None:
                yield entry
            entry = Entry(name or f"line {number}", rest, {}, number)
        elif keyword == "perft" and entry is not None and re.fullmatch(r"\d+\s+\d+", rest):
            depth, count = map(int, rest.split())
            entry.counts[depth] = count
        else:
            fix = "expected id, epd or perft DEPTH COUNT"
            raise InputError(f"{location}, line {number}", value=line, fix=fix)
    if entry is not None:
        yield entry

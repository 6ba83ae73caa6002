"""Test suites in EPD: does a player find the moves, how many nodes does it need, what is it worth.

    EPD lines, player -> **Outcome** of every position -> points, rating

Points: what c8 gives for the move's place in c7 (STS), or c0 as `f5=10, Be5+=2`; without either 1
for a `bm` that is played or an `am` that is not. Nodes required: how many were searched when the
final move last became the best, counted where it has full points; all other nodes are failure
nodes. The rating is Ferdinand Mosca's line through engines of known strength, for 1500 positions
of 10 points.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kibitz.errors import InputError
from kibitz.log import Stop
from kibitz.match.control import UNTIMED_MS, Control, GameClock
from kibitz.match.player import Answer, Player, PlayerError
from kibitz.match.spec import Spec
from kibitz.position.board import Board
from kibitz.position.epd import Epd, read_epd
from kibitz.position.notation import Move
from kibitz.search.limits import Limits
from kibitz.workers import in_threads

SLOPE, INTERCEPT, STS_POSITIONS, STS_POINTS = 445.23, -242.85, 1500, 10
PATIENCE_MS = 10_000.0
FIRST_NODES, GROWTH, STANDS, LARGEST = 32, 1.25, 2.0, 1 << 40  # of a search that may end early
_POINTS = re.compile(r"\s*([^=\s]+)=(\d+)\s*")


class Outcome(NamedTuple):
    """What a player made of a position."""

    name: str
    move: str  # SAN, empty after a fault
    points: int
    best: int  # most that there was
    nodes: int  # searched in all
    required: int | None  # nodes required, None where it failed
    milliseconds: float
    fault: str = ""

    @property
    def solved(self) -> bool:
        """Whether the move has full points."""
        return bool(self.best) and self.points == self.best


class Summary(NamedTuple):
    """A whole suite."""

    positions: int
    solved: int
    points: int
    most: int
    required: int  # nodes, where solved, and failure_nodes where not
    failed: int  # nodes, where not
    faults: int
    milliseconds: float

    @property
    def rating(self) -> float | None:
        """Elo by the STS line; None for suites without graded moves."""
        if self.most <= self.positions:
            return None
        return sts_rating(self.points * STS_POSITIONS * STS_POINTS / self.most)


def sts_rating(score: float) -> float:
    """Elo for a score out of 15 000.

    >>> round(sts_rating(11_994))
    3317
    """
    return SLOPE * score / STS_POSITIONS + INTERCEPT


def positions_of(path: Path, limit: int | None = None) -> list[Epd]:
    """The positions of a suite, or the first of them; a suite without any is refused."""
    found = list(read_epd(path))[:limit]
    if not found:
        raise InputError("no position in this suite", value=str(path), fix="a line is an EPD")
    return found


def graded(epd: Epd) -> dict[Move, int]:
    """Points by move; empty if the line says nothing but `am`."""
    board = epd.board()
    moves, points = epd.comments.get("c7", "").split(), epd.comments.get("c8", "").split()
    if moves and points:
        if len(moves) != len(points) or not all(text.isdecimal() for text in points):
            raise InputError(f"{epd.name or epd.fen}: c7 and c8 do not go together", value=points)
        return {board.parse(move): int(text) for move, text in zip(moves, points, strict=True)}
    listed = [_POINTS.fullmatch(part) for part in epd.comments.get("c0", "").split(",")]
    if all(listed):
        return {board.parse(one[1]): int(one[2]) for one in listed if one}
    return dict.fromkeys(epd.best, 1)


def points_for(epd: Epd, move: Move) -> tuple[int, int]:
    """Points of a move and the most that can be made."""
    table = graded(epd)
    if table:
        return table.get(move, 0), max(table.values())
    return int(bool(epd.avoid) and move not in epd.avoid), 1 if epd.avoid else 0


def solve(
    epd: Epd, player: Player, control: Control, seed: int = 0, *, early: bool = False
) -> Outcome:
    """Let a player look at one position, with nothing remembered from the last one.

    `early`, which only our own engine can, ends the search once the solution stands.
    """
    board, clock = epd.board(), GameClock(control, control)
    name, most = epd.name or epd.fen, max([*graded(epd).values(), 1])
    try:
        player.new_game(seed)
        patience = clock.allowed(board.turn) + PATIENCE_MS
        if early:
            return _solve_early(epd, board, player, control, name)
        limits = replace(clock.limits(board.turn), every_change=not control.timed)
        answer = player.think(board, limits, patience)
    except PlayerError as error:
        return Outcome(name, "", 0, most, 0, None, 0.0, str(error))
    points, most = points_for(epd, answer.move)
    nodes = answer.nodes or 0
    required = _required(board, answer, epd) if most and points == most else None
    return Outcome(name, board.san(answer.move), points, most, nodes, required, answer.milliseconds)


def _solve_early(epd: Epd, board: Board, player: Player, control: Control, name: str) -> Outcome:
    """Search on and on from the same tree, by a quarter more each time, until it is clear.

    The solution stands when it was the move from some number of nodes on up to twice as many.
    """
    wanted, nodes, spent, since = FIRST_NODES, 0, 0.0, 0
    while True:
        left = None if control.movetime is None else max(1, round(control.movetime - spent))
        limits = Limits(nodes=min(wanted, control.nodes or wanted), movetime=left)
        answer = player.think(board, limits, PATIENCE_MS + (left or UNTIMED_MS))
        nodes, spent = nodes + (answer.nodes or 0), spent + answer.milliseconds
        points, most = points_for(epd, answer.move)
        solved = bool(most) and points == most
        since = (since or wanted) if solved else 0
        proved = answer.score is not None and answer.score.kind == "mate"
        over = proved or nodes < (limits.nodes or 0) - 1  # by itself, or by the time
        if over or (control.nodes or LARGEST) <= wanted or (since and wanted >= STANDS * since):
            required = min(since, nodes) if solved else None
            move = board.san(answer.move)
            return Outcome(name, move, points, most, nodes, required, spent)
        wanted = math.ceil(GROWTH * wanted)


def _required(board: Board, answer: Answer, epd: Epd) -> int:
    """Nodes when the move last became the best one; 1 for what only had to be avoided."""
    if not graded(epd):
        return 1
    last = answer.heads[-1] if answer.heads else None
    if last is not None and board.parse(last.move) == answer.move:
        return last.nodes
    return answer.nodes or 0


def run_suite(
    epds: Sequence[Epd],
    spec: Spec,
    control: Control,
    *,
    concurrency: int = 1,
    early: bool = False,
    stop: Stop | None = None,
    advance: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Solve all positions, several at a time; in their order, fewer if stopped."""
    if early and spec.kind != "engine":
        fix = "leave out --early"
        raise InputError("only our own engine ends a search early", value=spec.name, fix=fix)
    found: dict[int, Outcome] = {}
    waiting, lock = list(reversed(range(len(epds)))), threading.Lock()

    def work() -> None:
        player = spec.open()
        try:
            while not (stop is not None and stop.requested):
                with lock:
                    if not waiting:
                        return
                    number = waiting.pop()
                outcome = solve(epds[number], player, control, early=early)
                with lock:
                    found[number] = outcome
                    advance(outcome)
        except BaseException:
            with lock:
                waiting.clear()  # the others end, too
            raise
        finally:
            player.close()

    in_threads(work, min(concurrency, len(epds)))
    return [found[number] for number in sorted(found)]


def summary(outcomes: Sequence[Outcome], failure_nodes: int = 0) -> Summary:
    """Add up; every position without full points adds `failure_nodes` to the nodes required."""
    return Summary(
        positions=len(outcomes),
        solved=sum(one.solved for one in outcomes),
        points=sum(one.points for one in outcomes),
        most=sum(one.best for one in outcomes),
        required=sum((one.required or 0) if one.solved else failure_nodes for one in outcomes),
        failed=sum(one.nodes for one in outcomes if not one.solved),
        faults=sum(bool(one.fault) for one in outcomes),
        milliseconds=sum(one.milliseconds for one in outcomes),
    )

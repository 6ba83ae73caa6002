"""Test suites in EPD, and endings that are won: what a player finds, and whether it wins them.

Points: what c8 gives for the move's place in c7 (STS), or c0 as `f5=10, Be5+=2`; without either 1
for a `bm` that is played or an `am` that is not. Nodes required: how many were searched when the
final move last became the best, counted where it has full points; all other nodes are failure
nodes. The rating is Ferdinand Mosca's line through engines of known strength, for 1500 positions
of 10 points.

In an ending the side with the pieces is White and moves first. The defender is a player like any
other; it needs no tablebase to run away from the edge for long.
"""

from __future__ import annotations

import math
import random
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import chess

from kibitz.arena.match.elo import wilson
from kibitz.arena.match.game import UNTIMED_MS, Control, GameClock, Seat, Terms, play_game
from kibitz.arena.match.journal import PlayedGame
from kibitz.arena.match.player import Answer, Player, PlayerError
from kibitz.arena.match.spec import Spec
from kibitz.core.errors import InputError, PositionError, did_you_mean
from kibitz.core.log import Stop
from kibitz.core.workers import cluster, in_processes, in_threads
from kibitz.data.openings import Opening
from kibitz.position.board import Board
from kibitz.position.epd import Epd, read_epd
from kibitz.position.notation import Move
from kibitz.search.limits import Limits
from kibitz.search.method import resolved

SLOPE, INTERCEPT, STS_POSITIONS, STS_POINTS = 445.23, -242.85, 1500, 10
PATIENCE_MS = 10_000.0
REPORTS = 8  # of a search by time while nothing new is found; a new best move is reported sooner
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


class Suite(NamedTuple):
    """A file of positions with something to solve."""

    positions: list[Epd]
    skipped: int  # lines of the file that say of no move that it is good or bad


def suite_of(path: Path, limit: int | None = None) -> Suite:
    """The positions of a suite, or the first of them; a suite without any is refused."""
    lines = list(read_epd(path))
    if not lines:
        raise InputError("no position in this suite", value=str(path), fix="a line is an EPD")
    try:
        usable = [epd for epd in lines if most_points(epd)]
    except InputError as error:  # of moves in c0 and c7
        error.what = f"{path}: {error.what}"
        raise
    if not usable:
        fix = "name an EPD file with solutions"
        raise InputError("no position of this suite has bm, am or points", value=str(path), fix=fix)
    return Suite(usable[:limit], len(lines) - len(usable))


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
        return {board.parse(match[1]): int(match[2]) for match in listed if match}
    return dict.fromkeys(epd.best, 1)


def points_for(epd: Epd, move: Move) -> tuple[int, int]:
    """Points of a move and the most that can be made."""
    table, most = graded(epd), most_points(epd)
    return (table.get(move, 0) if table else int(bool(most) and move not in epd.avoid)), most


def most_points(epd: Epd) -> int:
    """The most that can be made; 0 if there is nothing to solve."""
    return max(graded(epd).values(), default=int(bool(epd.avoid)))


def solution(epd: Epd) -> dict[str, Any]:
    """What counts as solved, as JSON: points by move or, without any, moves to avoid."""
    points = {move.uci(True): number for move, number in graded(epd).items()}
    return {
        "points": points,
        "avoid": [] if points else sorted(move.uci(True) for move in epd.avoid),
    }


def solve(epd: Epd, player: Player, control: Control, *, early: bool = False) -> Outcome:
    """Let a player look at one position, with nothing remembered from the last one.

    `early`, which only our tree search can, ends the search once the solution stands.
    """
    board, clock = epd.board(), GameClock(control, control)
    name, most = epd.name or epd.fen, max([*graded(epd).values(), 1])
    try:
        player.new_game(0)
        patience = clock.allowed(board.turn) + PATIENCE_MS
        if early:
            return _solve_early(epd, board, player, control, name)
        # The nodes required are read from reports, and these take some of the time.
        often = None if control.movetime is None else max(1, round(control.movetime / REPORTS))
        limits = clock.limits(board.turn)
        limits = replace(limits, every_change=not control.timed, report_ms=often)
        answer = player.think(board, limits, patience)
    except PlayerError as error:
        return Outcome(name, "", 0, most, 0, None, 0.0, str(error))
    points, most = points_for(epd, answer.move)
    nodes = answer.nodes or 0
    required = _required(board, answer, epd) if most and points == most else None
    return Outcome(name, board.san(answer.move), points, most, nodes, required, answer.milliseconds)


def _can_go_on(spec: Spec) -> bool:
    """Whether a player searches on from what it has found, as the tree search does."""
    if spec.kind != "engine":
        return False
    return resolved(spec.engine().settings, batched=False).search == "mcts"


def _solve_early(epd: Epd, board: Board, player: Player, control: Control, name: str) -> Outcome:
    """Search on and on from the same tree, by a quarter more each time, until it is clear.

    The solution stands when it was the move from some number of nodes on up to twice as many.
    """
    node_limit, nodes, spent, since = FIRST_NODES, 0, 0.0, 0
    while True:
        left = None if control.movetime is None else max(1, round(control.movetime - spent))
        limits = Limits(nodes=min(node_limit, control.nodes or node_limit), movetime=left)
        answer = player.think(board, limits, PATIENCE_MS + (left or UNTIMED_MS))
        nodes, spent = nodes + (answer.nodes or 0), spent + answer.milliseconds
        points, most = points_for(epd, answer.move)
        solved = bool(most) and points == most
        since = (since or node_limit) if solved else 0
        proved = answer.score is not None and answer.score.kind == "mate"
        over = proved or nodes < (limits.nodes or 0) - 1  # by itself, or by the time
        if (
            over
            or (control.nodes or LARGEST) <= node_limit
            or (since and node_limit >= STANDS * since)
        ):
            required = min(since, nodes) if solved else None
            move = board.san(answer.move)
            return Outcome(name, move, points, most, nodes, required, spent)
        node_limit = math.ceil(GROWTH * node_limit)


def _required(board: Board, answer: Answer, epd: Epd) -> int:
    """Nodes when the move last became the best one; 1 for what only had to be avoided."""
    if not graded(epd):
        return 1
    last = answer.heads[-1] if answer.heads else None
    if last is not None and board.parse(last.move) == answer.move:
        return last.nodes
    return answer.nodes or 0


class Solver:
    """A player that solves positions on a machine of a cluster, and stays from one to the next."""

    def __init__(self, spec: Spec, control: Control, early: bool) -> None:
        self._spec, self._control, self._early = spec, control, early
        self._player: Player | None = None

    def __call__(self, epd: Epd) -> Outcome:
        """What it makes of one position."""
        if self._player is None:
            self._player = self._spec.open()
        return solve(epd, self._player, self._control, early=self._early)


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
    if early and not _can_go_on(spec):
        fix = "give a player with Search=mcts, or leave out --early"
        raise InputError("only our tree search ends a search early", value=spec.name, fix=fix)
    by_number: dict[int, Outcome] = {}
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
                    by_number[number] = outcome
                    advance(outcome)
        except BaseException:
            with lock:
                waiting.clear()  # the others end, too
            raise
        finally:
            player.close()

    if cluster() is not None:
        solver, stopped = Solver(spec, control, early), stop or Stop()
        for outcome in in_processes(
            solver, epds, 0, in_order=True, needs=spec.files, stopped=lambda: stopped.requested
        ):
            by_number[len(by_number)] = outcome
            advance(outcome)
    else:
        in_threads(work, min(concurrency, len(epds)))
    return [by_number[number] for number in sorted(by_number)]


def summary(outcomes: Sequence[Outcome], failure_nodes: int = 0) -> Summary:
    """Add up; every position without full points adds `failure_nodes` to the nodes required."""
    return Summary(
        positions=len(outcomes),
        solved=sum(outcome.solved for outcome in outcomes),
        points=sum(outcome.points for outcome in outcomes),
        most=sum(outcome.best for outcome in outcomes),
        required=sum(
            (outcome.required or 0) if outcome.solved else failure_nodes for outcome in outcomes
        ),
        failed=sum(outcome.nodes for outcome in outcomes if not outcome.solved),
        faults=sum(bool(outcome.fault) for outcome in outcomes),
        milliseconds=sum(outcome.milliseconds for outcome in outcomes),
    )


# --- endings that are won -------------------------------------------------------------------------


ENDINGS = {"KQK": "Q", "KRK": "R", "KBNK": "BN"}


class EndgameResult(NamedTuple):
    """How an ending went."""

    ending: str
    tries: int
    wins: int
    plies: float | None  # to mate on average; None without a win
    longest: int
    forfeits: int  # of the player who has the pieces
    their_forfeits: int  # of the defender, who then was not mated

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share of wins (Wilson)."""
        return wilson(self.wins, self.tries)


def random_position(ending: str, generator: random.Random) -> Board:
    """A position that White wins: nothing of White's stands beside the black king."""
    if ending not in ENDINGS:
        raise InputError("no such ending", value=ending, fix=did_you_mean(ending, ENDINGS))
    while True:
        pieces = ["k", "K", *ENDINGS[ending]]
        squares = dict(zip(generator.sample(range(64), len(pieces)), pieces, strict=True))
        king = next(square for square, piece in squares.items() if piece == "k")
        if any(chess.square_distance(king, square) == 1 for square in squares):
            continue
        placed = chess.BaseBoard.empty()
        for square, piece in squares.items():
            placed.set_piece_at(square, chess.Piece.from_symbol(piece))
        try:
            board = Board(f"{placed.board_fen()} w - - 0 1")
        except PositionError:  # Black is in check though White is to move
            continue
        if board.outcome() is None:
            return board


def run_technique(
    ending: str,
    attacker: Spec,
    defender: Spec,
    control: Control,
    *,
    tries: int,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
    on_game: Callable[[PlayedGame], None] = lambda _: None,
) -> EndgameResult:
    """Play the ending from so many positions; the same seed gives the same positions."""
    generator = random.Random(f"{ending} {seed}")
    players = attacker.open(), defender.open()
    games: list[PlayedGame] = []
    try:
        for number in range(tries):
            start = Opening(random_position(ending, generator).fen())
            white = Seat(0, players[0], attacker.control or control, seed + number)
            black = Seat(1, players[1], defender.control or control, seed + number)
            games.append(play_game(number, white, black, start, Terms(), stop))
            on_game(games[-1])
    finally:
        for player in players:
            player.close()
    return _counted(ending, games)


def _counted(ending: str, games: list[PlayedGame]) -> EndgameResult:
    mates = [len(game.moves) for game in games if game.termination == "checkmate"]
    return EndgameResult(
        ending=ending,
        tries=len(games),
        wins=len(mates),
        plies=sum(mates) / len(mates) if mates else None,
        longest=max(mates, default=0),
        forfeits=sum(game.loser == 0 for game in games),
        their_forfeits=sum(game.loser == 1 for game in games),
    )

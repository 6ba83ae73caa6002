"""Mates solved, and how many nodes it takes, with switches of the search on and off.

A position is solved at the first rung of a ladder of nodes from which on the move chosen mates in
the number of moves the suite promises; that is verified by brute force, so other solutions count.
It is announced if the last search says `mate n` with exactly that n.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kibitz.arena.match.elo import wilson
from kibitz.core.errors import InputError
from kibitz.core.files import Location, read_bytes
from kibitz.nets.evaluators.inline import InlineEvaluator
from kibitz.position.board import Board
from kibitz.position.moves import MAX_MOVES, generate
from kibitz.position.notation import Move, relative
from kibitz.position.play import play
from kibitz.position.state import checkers, new_positions
from kibitz.search.limits import Limits
from kibitz.search.mcts.searcher import Searcher
from kibitz.search.method import preset
from kibitz.search.options import Settings
from kibitz.search.report import Score

_MATE = re.compile(r"(?:bm\s+#|dm\s+)(\d+)")
LONGEST_MATE = 3  # longer ones take brute force too long to verify
RESAMPLES = 2_000
SMALL = "small sble"
FEWER_NODES = 40  # than ChessCoach's linear term was made for: some millions a move
LADDER = tuple(100 * 2**rung for rung in range(9))  # 100 to 25 600 nodes


class Problem(NamedTuple):
    """A position and in how many moves the side to move mates."""

    fen: str
    moves: int


@dataclass(frozen=True)
class Row:
    """One variant over all problems."""

    variant: str
    solved: int
    announced: int
    problems: int
    share: tuple[float, float]  # 95 % interval of the share solved at the last rung
    nodes: tuple[float, float, float]  # geometric mean and interval, of the solved ones
    differs: int | None = None  # problems whose root's visits are others than without the switch


def variants() -> dict[str, Settings]:
    """The searches compared: one switch differs from the line above or from small SBLE.

    Small SBLE is ChessCoach's with the linear term's constants divided by FEWER_NODES: with the
    original ones the term never changes a choice on this ladder, and so neither do elimination nor
    selective backup, which are about the choices it makes.
    """
    plain = Settings(prove=False, variance_scaling=0.0)  # lc0's form
    sble = preset("chesscoach")
    small = sble.with_(
        linear_rate=sble.linear_rate / FEWER_NODES, linear_delay=sble.linear_delay / FEWER_NODES
    )
    return {
        "default": Settings(),
        "puct": plain,
        "puct + proving": plain.with_(prove=True),
        "puct + proving in proofs": plain.with_(prove=True, search_proven=True),
        "puct + proving + faster mate": plain.with_(
            prove=True, search_proven=True, faster_mate=1.0
        ),
        "azero + proving": sble.with_(search_rule="azero"),
        "sble": sble,
        SMALL: small,
        f"{SMALL} - proving": small.with_(prove=False),
        f"{SMALL} - linear": small.with_(linear=False),
        f"{SMALL} - elimination": small.with_(elimination=False),
        f"{SMALL} - selective backup": small.with_(selective_backup=False),
        f"{SMALL} - moving average": small.with_(value_average="mean"),
        f"{SMALL} - faster mate": small.with_(faster_mate=0.0),
        f"{SMALL} - loss clearing": small.with_(clear_losses=False),
        f"{SMALL} - draw sibling": small.with_(draw_sibling=False),
    }


def read_problems(location: Location, limit: int | None = None) -> list[Problem]:
    """Mates of an EPD file (`bm #2` or `dm 2`) that can be verified; every n-th, up to `limit`."""
    problems = []
    for line in read_bytes(location).decode("utf-8", "replace").splitlines():
        mate = _MATE.search(line)
        if mate and 1 < int(mate[1]) <= LONGEST_MATE:
            fields = line.split()[:4]
            problems.append(Problem(" ".join([*fields, "0", "1"]), int(mate[1])))
    if not problems:
        fix = f"expected lines with `bm #n` or `dm n`, n from 2 to {LONGEST_MATE}"
        raise InputError("no mates in", value=str(location), fix=fix)
    if limit is None or limit >= len(problems):
        return problems
    return problems[:: len(problems) // limit][:limit]


def mates(position: np.record, moves: int) -> bool:
    """Whether the side to move can force mate in `moves` moves, by trying everything."""
    codes, after = np.zeros(MAX_MOVES, np.uint16), new_positions(1)[0]
    for code in codes[: generate(position, codes)].tolist():
        play(position, after, code)
        if is_lost(after, moves - 1):
            return True
    return False


def is_lost(position: np.record, moves: int) -> bool:
    """Whether the side to move is mated now, or whatever it does within `moves` more moves."""
    codes, after = np.zeros(MAX_MOVES, np.uint16), new_positions(1)[0]
    count = generate(position, codes)
    if count == 0:
        return bool(checkers(position))
    if moves == 0:
        return False
    for code in codes[:count].tolist():
        play(position, after, code)
        if not mates(after.copy(), moves):
            return False
    return True


def is_solution(board: Board, move: Move, moves: int) -> bool:
    """Whether a move keeps the mate in `moves` moves."""
    after = new_positions(1)[0]
    play(board.position, after, relative(board.position, move))
    return is_lost(after, moves - 1)


def base_of(name: str, table: Iterable[str]) -> str | None:
    """The variant that a switch is compared with: small SBLE, or the line above."""
    if name.startswith(f"{SMALL} - "):
        return SMALL
    names = list(table)
    place = names.index(name)
    return names[place - 1] if place else None


class Attempt(NamedTuple):
    """What came of a problem."""

    solved_at: int | None  # the first rung from which on the chosen move mates as promised
    announced: bool
    visits: tuple[int, ...] = ()  # of the root's moves, by their codes, in the last search


def nodes_to_solve(
    searcher: Searcher, problem: Problem, ladder: Iterable[int], ask: bool = False
) -> Attempt:
    """Climb the ladder; `solved_at` is None if the move chosen never mates as promised.

    `ask` for a mate in that many moves instead of only giving nodes.
    """
    board, solved_at, announced = Board(problem.fen), None, False
    visits: tuple[int, ...] = ()
    verified: dict[int, bool] = {}
    searcher.new_game()
    for nodes in ladder:
        limits = Limits(nodes=nodes, mate=problem.moves if ask else None)
        move, _, report = searcher.search(board, limits)
        if move is None:
            return Attempt(None, False)
        visits = tuple(row.visits for row in sorted(report.moves, key=lambda row: row.code))
        announced = report.best.score == Score("mate", problem.moves)
        if move.code not in verified:
            verified[move.code] = is_solution(board, move, problem.moves)
        if not verified[move.code]:
            solved_at = None
        elif solved_at is None:
            solved_at = nodes
    return Attempt(solved_at, announced, visits)


def ablate(
    problems: list[Problem],
    evaluator: InlineEvaluator,
    names: Iterable[str] | None = None,
    ladder: tuple[int, ...] = LADDER,
    megabytes: int = 64,
    ask: bool = False,
) -> Iterator[Row]:
    """One row after another, each for all problems."""
    table = variants()
    done: dict[str, list[Attempt]] = {}
    for name in names or table:
        settings = table[name].with_(hash=megabytes, temperature=0.0, diversity_temperature=0.0)
        with Searcher(evaluator, settings) as searcher:
            attempts = [nodes_to_solve(searcher, problem, ladder, ask) for problem in problems]
        done[name] = attempts
        solved = [float(each.solved_at) for each in attempts if each.solved_at is not None]
        base = done.get(base_of(name, table) or "")
        yield Row(
            name,
            len(solved),
            sum(attempt.announced for attempt in attempts),
            len(problems),
            wilson(len(solved), len(problems)),
            geometric_mean(solved),
            None if base is None else _differing(attempts, base),
        )


def _differing(attempts: list[Attempt], base: list[Attempt]) -> int:
    pairs = zip(attempts, base, strict=True)
    return sum(attempt.visits != other.visits for attempt, other in pairs)


def geometric_mean(values: Sequence[float]) -> tuple[float, float, float]:
    """Geometric mean with its 95 % bootstrap interval; NaN without values."""
    if not values:
        return math.nan, math.nan, math.nan
    logs = np.log(np.asarray(values, dtype=float))
    picks = np.random.default_rng(0).integers(0, len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.quantile(logs[picks].mean(axis=1), [0.025, 0.975])
    return math.exp(logs.mean()), math.exp(low), math.exp(high)

"""A noisy game in which a teacher judges every position; start, dice -> **labelling** -> Game.

A game depends on the settings, the seed and its number, nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kibitz.config import setting
from kibitz.errors import InputError
from kibitz.games.labels import LabelModel, score_of, wdl
from kibitz.games.record import RESULTS, Game, Ply
from kibitz.games.shard import RANDOM_MOVE
from kibitz.games.teacher import PATIENCE, Judgement, Teacher, TeacherError
from kibitz.position.board import Board
from kibitz.position.notation import Move, parse_uci, relative

SEED_BITS = 24  # of a record's seed: the game's number; the run's seed is above them
POLICY_COUNTS = 1000  # visits that several lines share


class Start(NamedTuple):
    """Where games may begin: a FEN and moves from there in UCI."""

    fen: str
    moves: tuple[str, ...] = ()
    chess960: bool = False


@dataclass(frozen=True)
class Labelling:
    """How games are played and judged. Scores are the teacher's, in centipawns."""

    nodes: int = setting(2000, low=0, about="nodes of a search, 0: no limit")
    depth: int = setting(0, low=0, about="depth of a search, 0: no limit")
    lines: int = setting(1, low=1, high=256, about="moves that are judged (MultiPV)")
    temperature: float = setting(0.1, low=1e-3, about="of the policy of several lines, in value")
    chess960: float = setting(0.0, low=0, high=1, about="share of Chess960 starts")
    random_plies: tuple[int, ...] = setting((0, 3), low=0, about="at the start: least, most")
    random_share: tuple[float, ...] = setting(
        (0.0, 0.04), low=0, high=1, about="of random moves later on: least, most; drawn per game"
    )
    win_cp: int = setting(1500, low=1, about="a game is won once both sides say so ...")
    win_plies: int = setting(8, low=0, about="... for so many plies, 0: never")
    draw_cp: int = setting(8, low=0, about="it is drawn once all scores are within ...")
    draw_plies: int = setting(16, low=0, about="... for so many plies, 0: never")
    draw_from: int = setting(80, low=0, about="... but not before this ply")
    most_plies: int = setting(400, low=1, about="then it is drawn")

    @property
    def limit(self) -> str:
        """The words after `go`."""
        parts = [f"{name} {getattr(self, name)}" for name in ("nodes", "depth")]
        return " ".join(part for part in parts if not part.endswith(" 0"))

    def check(self) -> None:
        """Refuse what the ranges of the single settings let through."""
        if not self.limit:
            raise InputError("nothing ends a search", fix="set nodes or depth")
        for name in ("random_plies", "random_share"):
            pair = getattr(self, name)
            if len(pair) != 2 or pair[0] > pair[1]:
                raise InputError(name, value=list(pair), fix="give the least and the most")


@dataclass(frozen=True)
class Job:
    """What a worker needs to make any game of a run."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    labelling: Labelling
    model: LabelModel
    starts: tuple[Start, ...]
    seed: int
    source: dict[str, Any]
    patience: float = PATIENCE


# --- one game -------------------------------------------------------------------------------------


def play(job: Job, number: int, teacher: Teacher) -> Game:
    """Play the game with this number; raises TeacherError where the teacher does not."""
    settings, dice = job.labelling, random.Random(f"{job.seed} {number}")
    board = _start(job, dice)
    start, chess960 = board.fen(), board.chess960
    share = dice.uniform(*settings.random_share)
    teacher.new_game(chess960)
    plies: list[Ply] = []
    scores: list[float] = []  # White's view
    moves = ""
    result, end = _ending(board, scores, settings)
    while not end:
        judged = teacher.judge(f"fen {start}{moves and ' moves'}{moves}", settings.limit)
        best = _legal(board, judged.best)
        ply = _ply(board, best, judged, job)
        if dice.random() < share:
            chosen = dice.choice(board.legal_moves)
            ply = replace(ply, move=int(relative(board.position, chosen)), flags=RANDOM_MOVE)
        else:
            chosen = best
        plies.append(ply)
        view = 1 if board.turn == "white" else -1
        scores.append(view * score_of(judged.lines[0].cp, judged.lines[0].mate))
        board.push(chosen)
        moves += f" {chosen.uci(chess960)}"
        result, end = _ending(board, scores, settings)
    return Game(
        plies=tuple(plies),
        start=start,
        result=result,
        end=end,
        source=job.source,
        seed=seed_of(job.seed, number),
    )


def seed_of(seed: int, number: int) -> int:
    """What a record's seed says: of which run it is, and its number there."""
    return (seed << SEED_BITS) + number


def _start(job: Job, dice: random.Random) -> Board:
    """A position, after random moves, in which the game goes on."""
    least, most = job.labelling.random_plies
    while True:
        if dice.random() < job.labelling.chess960:
            board = Board.start960(dice.randrange(960))
        else:
            chosen = dice.choice(job.starts)
            board = Board(chosen.fen, chosen.moves, chess960=chosen.chess960)
        for _ in range(dice.randint(least, most)):
            legal = board.legal_moves
            if not legal:
                break
            board.push(dice.choice(legal))
        if board.outcome(claim=True) is None:
            return board.copy(history=False)


def _legal(board: Board, text: str) -> Move:
    try:
        return parse_uci(board.position, text)
    except InputError as error:
        raise TeacherError(f"answered {text!r} in {board.fen()}") from error


def _ply(board: Board, best: Move, judged: Judgement, job: Job) -> Ply:
    """The record of a search, as if the best move were played."""
    scores = [score_of(line.cp, line.mate) for line in judged.lines]
    values, draws = wdl(np.array(scores), job.model)
    best_code = int(relative(board.position, best))
    visits: tuple[tuple[int, int], ...] = ((best_code, 1),)
    if len(scores) > 1:
        codes = [int(relative(board.position, _legal(board, line.move))) for line in judged.lines]
        weights = np.exp((values - values.max()) / job.labelling.temperature)
        counts = np.rint(POLICY_COUNTS * weights / weights.sum()).astype(int).tolist()
        visits = tuple((code, n) for code, n in zip(codes, counts, strict=True) if n)
    return Ply(best_code, float(values[0]), float(draws[0]), visits=visits)


def _ending(board: Board, scores: Sequence[float], settings: Labelling) -> tuple[int, str]:
    """The result and how the game ended; an empty text while it goes on."""
    over = board.outcome(claim=True)
    if over is not None:
        return RESULTS[over.result], over.termination.name.lower().replace("_", " ")
    won, level = scores[-settings.win_plies :], scores[-settings.draw_plies :]
    if settings.win_plies and len(won) == settings.win_plies:
        for side in (1, -1):
            if all(side * score >= settings.win_cp for score in won):
                return side, "adjudicated: decided"
    late = settings.draw_plies and board.ply >= settings.draw_from
    if late and len(level) == settings.draw_plies and max(map(abs, level)) <= settings.draw_cp:
        return 0, "adjudicated: level"
    return (0, "adjudicated: length") if len(scores) >= settings.most_plies else (0, "")

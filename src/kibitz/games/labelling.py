"""A noisy game in which a teacher judges every position; start, dice -> **labelling** -> Game.

A game depends on the settings, the seed and its number, nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kibitz.errors import InputError
from kibitz.games.judging import Judges, Judging, legal, ply_of
from kibitz.games.labels import score_of
from kibitz.games.record import RESULTS, Game, Ply
from kibitz.games.shard import RANDOM_MOVE
from kibitz.games.teacher import Teacher
from kibitz.options import setting
from kibitz.position.board import Board
from kibitz.position.fen import START
from kibitz.position.notation import relative

SEED_BITS = 24  # of a record's seed: the game's number; the run's seed is above them


class Start(NamedTuple):
    """Where games may begin: a FEN and moves from there in UCI."""

    fen: str
    moves: tuple[str, ...] = ()
    chess960: bool = False


@dataclass(frozen=True)
class Labelling(Judging):
    """How games are played and judged. Scores are the teacher's, in centipawns."""

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

    def check(self) -> None:
        """Refuse what the ranges of the single settings let through."""
        super().check()
        for name in ("random_plies", "random_share"):
            pair = getattr(self, name)
            if len(pair) != 2 or pair[0] > pair[1]:
                raise InputError(name, value=list(pair), fix="give the least and the most")


@dataclass(frozen=True)
class Job(Judges):
    """What a worker needs to make any game of a run."""

    judging: Labelling
    starts: tuple[Start, ...] = (Start(START),)
    seed: int = 1


# --- one game -------------------------------------------------------------------------------------


def play(job: Job, number: int, teacher: Teacher) -> Game:
    """Play the game with this number; raises TeacherError where the teacher does not."""
    settings, dice = job.judging, random.Random(f"{job.seed} {number}")
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
        best = legal(board, judged.best)
        ply = ply_of(board, judged, job)
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
    least, most = job.judging.random_plies
    while True:
        if dice.random() < job.judging.chess960:
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

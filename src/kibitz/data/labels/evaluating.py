"""Games whose positions a UCI engine evaluates: games that exist, and noisy ones that it plays.

A game that is played depends on the settings, the seed and its number, nothing else.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kibitz.core.errors import InputError
from kibitz.core.options import setting
from kibitz.data.labels.labels import LabelModel, score_of, wdl, wdl_of_score
from kibitz.data.openings import Opening, play_at_random
from kibitz.data.shard import NOT_A_POLICY, RANDOM_MOVE, RESULTS, Game, Ply, Shard
from kibitz.position.board import Board
from kibitz.position.fen import castles960
from kibitz.position.moves import NO_MOVE
from kibitz.position.notation import Move, absolute, parse_uci, relative
from kibitz.uci.client import PATIENCE, ProgramFault, UciClient, parse_info

POLICY_COUNTS = 1000  # visits that several lines share
SEED_BITS = 24  # of a record's seed: the game's number; the run's seed is above them
EVALUATED = "judged"  # in the source of a game: by whom, and how


# --- settings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluating:
    """How positions are evaluated."""

    nodes: int = setting(2000, "nodes of a search, 0: no limit", low=0)
    depth: int = setting(0, "depth of a search, 0: no limit", low=0)
    lines: int = setting(1, "moves that are evaluated (MultiPV)", low=1, high=256)
    temperature: float = setting(0.1, "of the policy of several lines, in value", low=1e-3)

    @property
    def limit(self) -> str:
        """The words after `go`."""
        parts = [f"{name} {getattr(self, name)}" for name in ("nodes", "depth")]
        return " ".join(part for part in parts if not part.endswith(" 0"))

    def check(self) -> None:
        """Refuse what the ranges of the single settings let through."""
        if not self.limit:
            raise InputError("nothing ends a search", fix="set nodes or depth")


@dataclass(frozen=True)
class Labelling(Evaluating):
    """How games are played and evaluated. Scores are the teacher's, in centipawns."""

    chess960: float = setting(0.0, "share of Chess960 starts", low=0, high=1)
    random_plies: tuple[int, ...] = setting((0, 3), "at the start: least, most", low=0)
    random_share: tuple[float, ...] = setting(
        (0.0, 0.04), "of random moves later on: least, most; drawn per game", low=0, high=1
    )
    win_cp: int = setting(1500, "a game is won once both sides say so ...", low=1)
    win_plies: int = setting(8, "... for so many plies, 0: never", low=0)
    draw_cp: int = setting(8, "it is drawn once all scores are within ...", low=0)
    draw_plies: int = setting(16, "... for so many plies, 0: never", low=0)
    draw_from: int = setting(80, "... but not before this ply", low=0)
    most_plies: int = setting(400, "then it is drawn", low=1)

    def check(self) -> None:
        """Refuse what the ranges of the single settings let through."""
        super().check()
        for name in ("random_plies", "random_share"):
            pair = getattr(self, name)
            if len(pair) != 2 or pair[0] > pair[1]:
                raise InputError(name, value=list(pair), fix="give the least and the most")


@dataclass(frozen=True)
class TeacherJob:
    """What a worker needs to evaluate positions: an engine, and what its scores are worth."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    settings: Evaluating
    model: LabelModel
    source: dict[str, Any]  # what the shards say about how it was done
    patience: float = PATIENCE

    def teacher(self) -> Teacher:
        """Start the engine."""
        lines = self.settings.lines
        several = {"MultiPV": str(lines)} if lines > 1 else {}
        return Teacher(self.command, {**several, **dict(self.options)}, self.patience)

    @property
    def stem(self) -> str:
        """How the names of its shards begin."""
        return EVALUATED

    def keys(self, shard: Shard) -> Sequence[Hashable]:
        """The identity of a shard's games within the run."""
        return identities(shard)

    def settings_in(self, source: dict[str, Any]) -> dict[str, Any]:
        """What the source of a game says about how it was made; the same in all games of a run."""
        settings: dict[str, Any] = source.get(EVALUATED, {})
        return settings


@dataclass(frozen=True)
class PlayJob(TeacherJob):
    """What a worker needs to play any game of a run."""

    settings: Labelling
    starts: tuple[Opening, ...] = (Opening(),)
    seed: int = 1

    @property
    def stem(self) -> str:
        """How the names of its shards begin."""
        return f"label-{self.seed}"

    def keys(self, shard: Shard) -> Sequence[Hashable]:
        """The numbers of a shard's games in the run."""
        return [seed % (1 << SEED_BITS) for seed in shard.seeds.tolist()]

    def settings_in(self, source: dict[str, Any]) -> dict[str, Any]:
        """All that the source of a game says decides how it goes."""
        return source


# --- one search -----------------------------------------------------------------------------------


class Line(NamedTuple):
    """A move and what it is worth for the side to move, one of cp and mate."""

    move: str
    cp: int | None
    mate: int | None

    @property
    def score(self) -> float:
        """One number for both, see `labels.score_of`."""
        return score_of(self.cp, self.mate)


class Evaluation(NamedTuple):
    """The move the engine would play, and its lines, best first; at least one."""

    best: str
    lines: tuple[Line, ...]


class Teacher(UciClient):
    """A running engine that evaluates positions; start it again by making a new one."""

    def evaluate(self, position: str, limit: str) -> Evaluation:
        """Search `fen ... moves ...` within `nodes 2000` or `depth 8`."""
        result = self.search(position, limit)
        return evaluation_of(result.move, result.lines)


def evaluation_of(best: str, output: Sequence[str]) -> Evaluation:
    """What the last lines of a search say; scores that are bounds only if there are no others."""
    lines: dict[int, Line] = {}
    for bound in (False, True):
        for text in reversed(output):
            if " score " not in text:
                continue
            try:
                info = parse_info(text)
            except (ValueError, IndexError) as error:
                raise ProgramFault("lie", f"cannot read {text!r}") from error
            if info.bound != bound:
                continue
            if info.rank in lines or (bound and lines):
                break  # all ranks have been seen: what follows is of earlier iterations
            lines[info.rank] = Line(info.move or best, info.cp, info.mate)
        if lines:
            break
    if not lines:
        raise ProgramFault("lie", f"no score before bestmove {best}")
    return Evaluation(best, tuple(lines[rank] for rank in sorted(lines)))


def ply_of(board: Board, move: Move, evaluation: Evaluation, job: TeacherJob) -> Ply:
    """The record of a search, as if the best move, `move`, were played.

    Several lines become a policy: visits in the ratio exp(value / temperature).
    """
    value, draw = wdl_of_score(evaluation.lines[0].score, job.model)
    best = int(relative(board.position, move))
    visits: tuple[tuple[int, int], ...] = ((best, 1),)
    if len(evaluation.lines) > 1:
        values, _ = wdl(np.array([line.score for line in evaluation.lines]), job.model)
        codes = [
            int(relative(board.position, legal(board, line.move))) for line in evaluation.lines
        ]
        weights = np.exp((values - values.max()) / job.settings.temperature)
        counts = np.rint(POLICY_COUNTS * weights / weights.sum()).astype(int).tolist()
        visits = tuple((code, n) for code, n in zip(codes, counts, strict=True) if n)
    return Ply(best, value, draw, visits=visits)


def legal(board: Board, text: str) -> Move:
    """The move of an answer."""
    try:
        return parse_uci(board.position, text)
    except InputError as error:
        raise ProgramFault("lie", f"answered {text!r} in {board.fen()}") from error


class _Game:
    """A game in progress: the board, and the position as it is sent to the engine."""

    def __init__(self, board: Board, job: TeacherJob, teacher: Teacher) -> None:
        self.board, self._job, self._teacher = board, job, teacher
        self.start, self._moves = board.fen(), ""
        teacher.new_game(board.chess960)

    def evaluate(self) -> tuple[Ply, Move, float]:
        """Search the position on the board: its record, the best move and its score."""
        position = f"fen {self.start}{self._moves and ' moves'}{self._moves}"
        evaluation = self._teacher.evaluate(position, self._job.settings.limit)
        move = legal(self.board, evaluation.best)
        return ply_of(self.board, move, evaluation, self._job), move, evaluation.lines[0].score

    def push(self, move: Move) -> None:
        """Make a move."""
        self.board.push(move)
        self._moves += f" {move.uci(self.board.chess960)}"


# --- games that exist -----------------------------------------------------------------------------


def evaluate_game(game: Game, job: TeacherJob, teacher: Teacher) -> Game:
    """Evaluate all positions of a game in which there is a move; raises ProgramFault.

    The last position gets a ply without a move. Moves, result and random moves stay what they are.
    """
    board = Board(game.start)
    board.chess960 = castles960(board.position)
    progress = _Game(board, job, teacher)
    plies: list[Ply] = []
    rest = game.plies if game.plies and game.plies[-1].move == NO_MOVE else (*game.plies, Ply(0))
    for ply in rest:
        if not board.legal_moves:
            break
        evaluated, _, _ = progress.evaluate()
        flags = ply.flags & ~NOT_A_POLICY
        plies.append(replace(evaluated, move=ply.move, flags=flags, root_value=ply.root_value))
        if ply.move != NO_MOVE:
            progress.push(absolute(board.position, ply.move))
    labels = {"labels": job.model._asdict()}
    return replace(game, plies=tuple(plies), source=game.source | labels | job.source)


def identities(shard: Shard) -> list[bytes]:
    """The identity of games, evaluated or not: their start, moves, source, result and seed."""
    sources = [_identity_of_source(source) for source in shard.header.sources]
    digests = []
    for game in range(shard.games):
        moves = shard.moves[shard.offsets[game] : shard.offsets[game + 1]]
        digest = hashlib.blake2b(sources[shard.sources[game]], digest_size=16)
        digest.update(shard.starts[game].tobytes())
        digest.update(moves[moves != NO_MOVE].tobytes())
        digest.update(shard.results[game].tobytes() + shard.seeds[game].tobytes())
        digests.append(digest.digest())
    return digests


def _identity_of_source(source: dict[str, Any]) -> bytes:
    identity = {name: value for name, value in source.items() if name not in (EVALUATED, "labels")}
    return msgspec.json.encode(identity, order="deterministic")


# --- games that are played ------------------------------------------------------------------------


def play_game(job: PlayJob, number: int, teacher: Teacher) -> Game:
    """Play the game with this number; raises ProgramFault where the engine does not."""
    settings, chance = job.settings, random.Random(f"{job.seed} {number}")
    board = _start(job, chance)
    share = chance.uniform(*settings.random_share)
    progress = _Game(board, job, teacher)
    plies: list[Ply] = []
    scores: list[float] = []  # White's view
    result, end = _ending(board, scores, settings)
    while not end:
        ply, chosen, score = progress.evaluate()
        if chance.random() < share:
            chosen = chance.choice(board.legal_moves)
            ply = replace(ply, move=int(relative(board.position, chosen)), flags=RANDOM_MOVE)
        plies.append(ply)
        scores.append(score * (1 if board.turn == "white" else -1))
        progress.push(chosen)
        result, end = _ending(board, scores, settings)
    return Game(
        plies=tuple(plies),
        start=progress.start,
        result=result,
        end=end,
        source=job.source,
        seed=(job.seed << SEED_BITS) + number,
    )


def _start(job: PlayJob, chance: random.Random) -> Board:
    """A position, after random moves, in which the game goes on."""
    least, most = job.settings.random_plies
    while True:
        if chance.random() < job.settings.chess960:
            board = Board.start960(chance.randrange(960))
        else:
            chosen = chance.choice(job.starts)
            board = Board(chosen.fen, chosen.moves, chess960=chosen.chess960)
        play_at_random(board, chance.randint(least, most), chance)
        if board.outcome(claim=True) is None:
            return board.copy(history=False)


def _ending(board: Board, scores: Sequence[float], settings: Labelling) -> tuple[int, str]:
    """The result and how the game ended; an empty text while it goes on."""
    over = board.outcome(claim=True)
    if over is not None:
        return RESULTS[over.result], over.termination.text
    won, level = scores[-settings.win_plies :], scores[-settings.draw_plies :]
    if settings.win_plies and len(won) == settings.win_plies:
        for side in (1, -1):
            if all(side * score >= settings.win_cp for score in won):
                return side, "adjudicated: decided"
    late = settings.draw_plies and board.ply >= settings.draw_from
    if late and len(level) == settings.draw_plies and max(map(abs, level)) <= settings.draw_cp:
        return 0, "adjudicated: level"
    return (0, "adjudicated: length") if len(scores) >= settings.most_plies else (0, "")

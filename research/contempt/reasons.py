"""Why a giver of odds scored what it did: its games, judged position by position by alpha-beta.

The judge's expected score for the giver begins somewhere, rises and falls with every move, and ends
as the points of the game. So what either side's moves change, or what the moves of a phase change,
adds up to the score less the start, and the differences of two givers to their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

import msgspec

from kibitz.arena.match.elo import DEVIATIONS_95
from kibitz.arena.match.journal import PlayedGame
from kibitz.arena.match.spec import Spec, parse_player
from kibitz.core.files import crc32_of
from kibitz.core.journal import JournalFile
from kibitz.core.log import Stop
from kibitz.core.workers import in_processes
from kibitz.engine import Engine
from kibitz.engine.running import Kept
from kibitz.position.board import Board
from research.contempt.cells import MatchCell
from research.contempt.contests import chance

JUDGE = "Search=alphabeta,Threads=1,ScoreType=centipawn_2019"  # scores that are chances, and exact
PHASES = (10, 20, 40)  # moves at which they end; the last one is the rest of the game
RISK = 0.02  # what a move of the giver costs, at least, that counts as one


class Judged(msgspec.Struct, frozen=True):
    """The score that the judge expects for the giver before each ply; at last, what it made."""

    number: int
    chances: tuple[float, ...]


class JudgedHeader(msgspec.Struct, frozen=True):
    """Whose games were judged, and by whom."""

    games: str  # checksum of the match's header
    judge: str
    nodes: int
    format: str = "kibitz judged games 1"


class Reasons(NamedTuple):
    """Means of a game, in points: the giver's moves cost it, the opponent's give it something."""

    games: int
    start: float  # what is expected at first
    left: float  # on the table: what best play would have kept
    given: float  # by the opponent's errors
    phases: tuple[float, ...]  # by what the expected score rose in each
    risks: float  # moves that cost RISK or more
    worked: float  # of them, those whose reply gave more than they had cost


def judge_of(network: str) -> Spec:
    """Who judges: alpha-beta with a network."""
    return parse_player(f"{network},{JUDGE}")


@dataclass(frozen=True)
class JudgeJob:
    """Judges a game, in any process; the engine stays for the next one."""

    judge: Spec
    nodes: int  # of each position

    def __call__(self, task: tuple[int, PlayedGame]) -> tuple[int, Judged]:
        """What the judge says of a game; both come with the place of its cell."""
        place, game = task
        return place, _judged(game, _engine.get(self.judge), self.nodes)


_engine = Kept(Spec.engine)  # of this process


def judged(
    cells: Sequence[tuple[MatchCell, Sequence[PlayedGame]]],
    folder: Path,
    job: JudgeJob,
    workers: int,
    stop: Stop,
) -> list[list[Judged]]:
    """What the judge says of games of each cell; what was judged before is in journals."""
    with ExitStack() as opened:
        works = [
            opened.enter_context(closing(_journal(cell, folder, job))) if games else None
            for cell, games in cells
        ]
        known = [{} if work is None else {e.number: e for e in work.entries} for work in works]
        missing = (
            (place, game)
            for place, (_, games) in enumerate(cells)
            for game in games
            if game.number not in known[place]
        )
        tasks = takewhile(lambda _: not stop.requested, missing)
        needs, stopped = job.judge.files, lambda: stop.requested
        try:
            for place, entry in in_processes(job, tasks, workers, needs=needs, stopped=stopped):
                work = works[place]
                assert work is not None, "it had a game to judge"
                work.add(entry)
                known[place][entry.number] = entry
        finally:
            _engine.end()
    return [
        [entries[game.number] for game in games if game.number in entries]
        for (_, games), entries in zip(cells, known, strict=True)
    ]


def _journal(cell: MatchCell, folder: Path, job: JudgeJob) -> JournalFile[JudgedHeader, Judged]:
    header = msgspec.json.encode(cell.setup.header())
    path = folder / f"{cell.slug}-{crc32_of(header)}-{job.nodes}.jsonl"
    about = JudgedHeader(crc32_of(header), job.judge.identity, job.nodes)
    return JournalFile(path, about, Judged, work="judgement", piece="game")


def _judged(game: PlayedGame, engine: Engine, nodes: int) -> Judged:
    """Search every position of a game, with an empty table at its beginning."""
    engine.new_game()
    board, chances = Board(game.fen, game.book, chess960=game.chess960), []
    for move in game.moves:
        report = engine.best_at(board, nodes)
        assert report is not None, "alpha-beta on one thread has such a search"
        score = chance(report.best.score)
        chances.append(round(score if board.turn == "white" else 1.0 - score, 4))
        board.push(board.parse(move.uci))
    return Judged(game.number, (*chances, game.points))


# --- what the judgements add up to ----------------------------------------------------------------


def steps(game: Judged) -> list[float]:
    """By what each ply raised the giver's expected score; the giver's own are the even ones."""
    before, after = game.chances[:-1], game.chances[1:]
    return [later - earlier for earlier, later in zip(before, after, strict=True)]


def phases(game: Judged) -> tuple[float, ...]:
    """By what the expected score rose in each phase; they add up to the points less the start."""
    risen, ends = steps(game), [0, *(2 * moves for moves in PHASES), len(game.chances)]
    return tuple(sum(risen[first:last]) for first, last in pairwise(ends))


def risks(game: Judged) -> tuple[int, int]:
    """How many of the giver's moves were risks, and of those how many worked."""
    risen = steps(game)
    taken = [ply for ply in range(0, len(risen) - 1, 2) if risen[ply] <= -RISK]
    return len(taken), sum(risen[ply + 1] > -risen[ply] for ply in taken)


def reasons(games: Sequence[Judged]) -> Reasons:
    """Means over some games."""
    taken = [risks(game) for game in games]
    return Reasons(
        games=len(games),
        start=fmean(game.chances[0] for game in games),
        left=-fmean(sum(steps(game)[::2]) for game in games),
        given=fmean(sum(steps(game)[1::2]) for game in games),
        phases=tuple(map(fmean, zip(*map(phases, games), strict=True))),
        risks=fmean(count for count, _ in taken),
        worked=fmean(count for _, count in taken),
    )


class Gain(NamedTuple):
    """Where the difference of a giver and its control comes from, over the games both have."""

    giver: str
    control: str
    games: int
    difference: float  # of the points of these games
    own: float  # what its own moves kept, more than the control's
    own_error: float  # half the 95 % interval
    opponents: float  # what opponents gave, more than the control was given
    opponents_error: float
    phases: tuple[float, ...]


def gain(names: tuple[str, str], ours: Sequence[Judged], theirs: Sequence[Judged]) -> Gain | None:
    """The parts of a difference; None for fewer than two games of the same openings."""
    others = {game.number: game for game in theirs}
    pairs = [(game, others[game.number]) for game in ours if game.number in others]
    if len(pairs) < 2:
        return None
    own = [sum(steps(one)[::2]) - sum(steps(other)[::2]) for one, other in pairs]
    opponents = [sum(steps(one)[1::2]) - sum(steps(other)[1::2]) for one, other in pairs]
    by_phase = [
        [after - before for before, after in zip(phases(other), phases(one), strict=True)]
        for one, other in pairs
    ]
    return Gain(
        *names,
        games=len(pairs),
        difference=fmean(one.chances[-1] - other.chances[-1] for one, other in pairs),
        own=fmean(own),
        own_error=_error(own),
        opponents=fmean(opponents),
        opponents_error=_error(opponents),
        phases=tuple(map(fmean, zip(*by_phase, strict=True))),
    )


def _error(values: Sequence[float]) -> float:
    return float(DEVIATIONS_95 * stdev(values) / len(values) ** 0.5)

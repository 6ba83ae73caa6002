"""Labels, accuracy and turning points, from the expected results before and after each move.

A value is the expected result in [-1, 1], as White sees it or as the mover does; Lichess calls it
winning chances, and its limits for inaccuracies, mistakes and blunders are the ones used here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import pairwise
from statistics import fmean, harmonic_mean, pstdev

import chess

from kibitz.position.notation import Move
from kibitz.search.report import Report, Score


class Label(IntEnum):
    """How much a move costs; the value is its mark (NAG) in PGN."""

    NONE = 0
    MISTAKE = 2
    BLUNDER = 4
    INACCURACY = 6


# The symbols that stand behind moves, by their numbers (NAGs) in PGN. Which moves get one: Label
# and claims/grades.py.
SYMBOLS = {1: "!", 2: "?", 3: "!!", 4: "??", 5: "!?", 6: "?!"}
LIMITS = ((0.3, Label.BLUNDER), (0.2, Label.MISTAKE), (0.1, Label.INACCURACY))
LEAST_OF = {mark: least for least, mark in LIMITS}
BAD = (Label.MISTAKE, Label.BLUNDER)
MARKS = {each: SYMBOLS.get(each, "") for each in Label}
SURPRISE = 0.1  # change of value from which the move made counts more than the search before it
DECIDED = 0.85  # value from which a game is as good as won
WON, BETTER = 0.6, 0.25  # values from which one speaks of a won or a better position
CENTIPAWN_SLOPE = 0.00368208  # Lichess's
TRUSTED = 300  # centipawns by which the material at the end of a line may be above the score


@dataclass(frozen=True)
class Evaluation:
    """What a search has seen in a position, all for the side to move."""

    score: Score
    value: float  # in [-1, 1]
    line: tuple[chess.Move, ...]
    second: float | None = None  # value of the second best move
    priors: dict[chess.Move, float] = field(default_factory=dict)
    other: Evaluation | None = None  # the second best line
    then: Evaluation | None = None  # what a search of its own sees after the best move

    @property
    def mate(self) -> int | None:
        """Moves to a mate, negative for the side that is mated; None if none was found."""
        return self.score.amount if self.score.kind == "mate" else None

    def ahead_at_most(self, own: bool) -> float:
        """Pawns' worth that the side to move, or the other one, may be ahead at the line's end.

        Where it is more the line stops too early, or there is something else to pay for it; who is
        winning anyway may be ahead by anything.
        """
        amount = (1 if own else -1) * self.score.amount
        if self.mate is not None:
            return math.inf if (self.mate > 0) == own else -math.inf
        return math.inf if amount >= TRUSTED else (amount + TRUSTED) / 100


def evaluation_of(board: chess.Board, report: Report) -> Evaluation:
    """A search's report in python-chess's moves."""
    lines = [
        Evaluation(
            score, value_of(score), as_queens(board, [_made(board, move) for move in line.moves])
        )
        for line in report.lines[:2]
        for score in [line.common or line.score]
    ]
    # Alpha-beta has no priors.
    priors = {_made(board, entry.move): entry.prior for entry in report.moves if entry.prior}
    other = lines[1] if len(lines) > 1 else None
    second = other.value if other else None
    return replace(lines[0], second=second, priors=priors, other=other)


def as_queens(board: chess.Board, moves: Sequence[chess.Move]) -> tuple[chess.Move, ...]:
    """A line in which what a pawn becomes is a queen where it is taken at once.

    The position after that is the same, and a rook would make a reader look for a reason.
    """
    if not any(move.promotion for move in moves):
        return tuple(moves)
    line, at = [*moves], board.copy(stack=False)
    for ply, move in enumerate(moves):
        captured = ply + 1 < len(moves) and moves[ply + 1].to_square == move.to_square
        if move.promotion and captured:
            queen, after = replace(move, promotion=chess.QUEEN), at.copy(stack=False)
            after.push(queen)
            line[ply] = queen if moves[ply + 1] in after.legal_moves else move
        at.push(line[ply])
    return tuple(line)


def _made(board: chess.Board, move: Move) -> chess.Move:
    return chess.Move.from_uci(move.uci(board.chess960))


def in_hindsight(had: Evaluation, has: Evaluation, move: chess.Move) -> Evaluation:
    """A position's evaluation, corrected by what the move made there has led to.

    The search after a move looks further than the one before it. A move that turns out much better
    than expected was there to be found; if the expected move turns out much worse, it is no better
    than that, or than the second best.
    """
    reached = -has.value
    expected = had.line[:1] == (move,)
    if abs(reached - had.value) < SURPRISE or (reached < had.value and not expected):
        return had
    if had.other and expected and had.other.value > reached:
        return replace(had.other, second=reached, priors=had.priors)
    return as_made(replace(had, second=had.second if expected else had.value), has, move)


def as_made(had: Evaluation, has: Evaluation, move: chess.Move) -> Evaluation:
    """A view in which a move is the best, and worth what a search after it has seen."""
    line = (move, *has.line)
    return Evaluation(score_before(has), -has.value, line, had.second, had.priors)


def score_before(has: Evaluation) -> Score:
    """The score for a side whose move has led to a position."""
    if has.mate is None:
        return Score("cp", -has.score.amount)
    # A mate is a move nearer than after it.
    return Score("mate", 1 - has.mate if has.mate <= 0 else -has.mate)


def tried(had: Evaluation, then: Evaluation) -> Evaluation:
    """A view whose best move was tried: it is worth no more than what a search saw after it."""
    line = (*had.line[:1], *then.line)
    if -then.value < had.value:
        had = replace(had, score=score_before(then), value=-then.value)
    return replace(had, line=line, then=then)


def with_second(had: Evaluation, earlier: Evaluation) -> Evaluation:
    """A view of one line, with the second best one of an earlier view that has the same best."""
    if had.other is not None or had.line[:1] != earlier.line[:1]:
        return had
    return replace(had, second=earlier.second, other=earlier.other)


def halfway(had: Evaluation, lower: Evaluation) -> Evaluation:
    """The mean of a view before and after its best move was tried; a mate is no centipawns."""
    if lower.value == had.value or "mate" in (had.score.kind, lower.score.kind):
        return lower
    score = score_of((had.value + lower.value) / 2)
    return replace(lower, score=score, value=value_of(score))


def value_of(score: Score) -> float:
    """Winning chances of a score on the common scale, as Lichess counts them.

    >>> round(value_of(Score("cp", 100)), 2), value_of(Score("mate", -3))
    (0.18, -1.0)
    """
    if score.kind == "mate":
        return 1.0 if score.amount > 0 else -1.0
    return 2.0 / (1.0 + math.exp(-CENTIPAWN_SLOPE * max(-1000, min(1000, score.amount)))) - 1.0


def score_of(value: float) -> Score:
    """The centipawns of winning chances in ]-1, 1[.

    >>> score_of(value_of(Score("cp", -250)))
    Score(kind='cp', amount=-250)
    """
    return Score("cp", round(2.0 * math.atanh(value) / CENTIPAWN_SLOPE))


TEN_PAWNS = value_of(Score("cp", 1000))


def label(before: Evaluation, after: Evaluation) -> Label:
    """How bad a move is, by what was there before it and what is there for the opponent after it.

    Between two ways to win, or to lose, a game that is decided no move is worse than another; but
    whoever could have mated at once and did not has been inexact.
    """
    return _marked(before.value, -after.value, before.mate == 1 and after.mate != 0)


def labels_of(
    values: Sequence[float], first_white: bool, mates: Collection[int] = ()
) -> tuple[Label, ...]:
    """The labels of a game's moves, from White's values before the first and after every move.

    `mates` are the plies at which a mate in one was there and not played.
    """
    signs = [1 if first_white == (ply % 2 == 0) else -1 for ply in range(len(values) - 1)]
    return tuple(
        _marked(sign * values[ply], sign * values[ply + 1], ply in mates)
        for ply, sign in enumerate(signs)
    )


def _marked(had: float, has: float, missed_mate: bool) -> Label:
    mark = graded(had, has)
    return Label.INACCURACY if missed_mate and mark is Label.NONE else mark


def graded(had: float, has: float) -> Label:
    """How bad it is to have less than one had, by winning chances in [-1, 1]."""
    if min(had, has) >= DECIDED or max(had, has) <= -DECIDED:
        return Label.NONE
    return next((label for limit, label in LIMITS if had - has >= limit), Label.NONE)


def standing(value: float) -> int:
    """2 won, 1 better, 0 level, -1 worse, -2 lost."""
    size = 2 if abs(value) >= WON else 1 if abs(value) >= BETTER else 0
    return size if value > 0 else -size


def stands_clear(value: float) -> bool:
    """Whether a value lies well inside its standing, so that another engine would say the same."""
    size = abs(value)
    return size <= 0.06 or 0.32 <= size <= 0.42 or size >= 0.68


def percent(value: float) -> float:
    """Winning chances in per cent, 50 for a level game."""
    return 50.0 + 50.0 * value


def move_accuracy(before: float, after: float) -> float:
    """Accuracy of one move in per cent, of the mover's chances in per cent (Lichess's formula).

    Lichess adds a point to every move that loses something, as no analysis is exact.
    """
    if after >= before:
        return 100.0
    raw = 103.1668100711649 * math.exp(-0.04354415386753951 * (before - after)) - 3.166924740191411
    return max(0.0, min(100.0, raw + 1.0))


def accuracy(values: Sequence[float], first_white: bool) -> tuple[float | None, float | None]:
    """Accuracies of White and Black; `values` are White's, from the start to the end of the game.

    The mean of the mean weighted by how wild the game was before each move, and the harmonic mean:
    lila's AccuracyPercent.scala. A mate counts as ten pawns there.
    """
    chances = [percent(max(-TEN_PAWNS, min(TEN_PAWNS, value))) for value in values]
    moves = len(chances) - 1
    window = max(2, min(8, moves // 10))
    by_side: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for ply in range(moves):
        start = max(0, ply + 2 - window)  # the last of the window is the position after the move
        weight = max(0.5, min(12.0, pstdev(chances[start : start + window])))
        white = (ply % 2 == 0) == first_white
        by_side[white].append((move_accuracy(*_for(white, *chances[ply : ply + 2])), weight))
    return _averaged(by_side[True]), _averaged(by_side[False])


def _averaged(moves: Sequence[tuple[float, float]]) -> float | None:
    """Of the accuracies and weights of a side's moves, None without one."""
    if not moves:
        return None
    weighted = sum(made * weight for made, weight in moves) / sum(weight for _, weight in moves)
    return fmean([weighted, harmonic_mean([max(made, 1.0) for made, _ in moves])])


def _for(white: bool, before: float, after: float) -> tuple[float, float]:
    return (before, after) if white else (100.0 - before, 100.0 - after)


def turning_points(values: Sequence[float], most: int = 4) -> list[int]:
    """Plies (from 0) whose moves changed what the result should be, the largest swings only."""
    swings = [
        (abs(values[ply + 1] - values[ply]), ply)
        for ply in range(len(values) - 1)
        if standing(values[ply]) != standing(values[ply + 1])
        and abs(values[ply + 1] - values[ply]) >= 0.3
    ]
    return sorted(ply for _, ply in sorted(swings, reverse=True)[:most])


def key_moments(values: Sequence[float], labels: Sequence[Label], most: int = 8) -> list[int]:
    """Plies (from 0) at which a reader should stop: turning points and what cost the most."""
    turns = turning_points(values)
    swings = [abs(after - before) for before, after in pairwise(values)]
    bad = [ply for ply, label in enumerate(labels) if label in BAD]
    if len({*turns, *bad}) < 3:
        bad = [ply for ply, label in enumerate(labels) if label is not Label.NONE]
    costly = sorted({*bad} - {*turns}, key=lambda ply: -swings[ply])
    return sorted([*turns, *costly[: max(0, most - len(turns))]])


def is_hard_to_find(before: Evaluation, move: chess.Move) -> bool:
    """Whether a move alone keeps the value and does not look like the best one at first sight.

    A move that mates is found by looking at checks, whatever its prior.
    """
    mates = before.mate == 1
    return not mates and is_only_move(before, move) and before.priors.get(move, 1.0) < 0.1


def is_only_move(before: Evaluation, move: chess.Move) -> bool:
    """Whether a move is the best one and all others are mistakes; not where another wins, too."""
    if not before.line or before.line[0] != move or before.second is None:
        return False
    decided = before.second >= WON or before.value <= -DECIDED
    return not decided and before.value - before.second >= 0.25


def is_doubtful(had: Evaluation, has: Evaluation, move: chess.Move) -> bool:
    """Whether a move seems to be bad, the only good one, or much better than was expected."""
    surprises = in_hindsight(had, has, move) is not had
    return bool(label(had, has)) or is_only_move(had, move) or surprises

"""What is seen before and after the moves of a game, and which of them are bad.

    game -> **analyse** -> analysis -> facts -> claims -> select -> words

The positions of a game are searched first, longer where a move seems to be bad; what claims about
its moves lack then is searched when they ask for it (searches.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import chess

from kibitz.comment.analysis import (
    AMISS,
    LAST_LOOK,
    LONGEST_LOOK,
    PAIR,
    Analysis,
    name_of,
)
from kibitz.comment.judge import (
    BAD,
    Evaluation,
    Label,
    graded,
    halfway,
    in_hindsight,
    is_doubtful,
    label,
    tried,
    with_second,
)
from kibitz.comment.searches import Effort, Searches
from kibitz.search.limits import Limits

MANY = 6  # good moves of a position, after which no more are looked for
REMEMBERED = 150  # plies: after so many without a capture or a pawn's move a game is drawn
CLEAR = 0.5  # of chances, lost by a move: its mark stands without the longest looks

OnPly: TypeAlias = Callable[[], None]


def analyse(
    start: chess.Board,
    moves: Sequence[chess.Move],
    first: int,
    searches: Searches,
    effort: Effort,
    on_ply: OnPly = lambda: None,
) -> Analysis:
    """What is seen before and after the moves of a game from one on, counted from 0.

    What is missing there is searched when a claim asks for it, as long as the engines are there.
    """
    board, boards = start.copy(stack=False), []
    for ply, move in enumerate([*moves, None]):
        if ply >= first:
            boards.append(board.copy(stack=min(board.halfmove_clock, REMEMBERED)))
        if move is not None:
            board.push(move)
    views = evaluations_along(boards, moves[first:], searches, effort, on_ply)
    begins = start.shredder_fen(en_passant="fen")
    made = Analysis(begins, start.chess960, tuple(moves), tuple(views))
    return searches.serve(replace(made, has_tables=searches.has_tables), effort)


def good_moves(
    analysis: Analysis, board: chess.Board, ply: int, searches: Searches, effort: Effort
) -> list[chess.Move]:
    """The moves that are no mistake in a position where the one made is, not all if many are.

    After the two best ones all others are searched by themselves, until they are mistakes.
    """
    had, judged, good = analysis.views[ply], {analysis.moves[ply]}, list[chess.Move]()
    lines = [had, had.other]
    while True:
        new = [
            line for line in lines if line is not None and line.line and line.line[0] not in judged
        ]
        for line in new:
            if graded(had.value, line.value):
                return good
            judged.add(line.line[0])
            good.append(line.line[0])
        others = tuple(board.uci(move) for move in board.legal_moves if move not in judged)
        if not (new and others) or len(good) >= MANY:
            return good
        name = f"{name_of(board, 1)} of {' '.join(others)}"
        if name not in analysis.looks:
            limits = replace(effort.limits, searchmoves=others)
            analysis.looks[name] = searches.see(board, limits)
        lines = [analysis.looks[name], analysis.looks[name].other]


# --- the positions of a game ----------------------------------------------------------------------


def evaluations_along(
    boards: Sequence[chess.Board],
    moves: Sequence[chess.Move],
    searches: Searches,
    effort: Effort,
    on_ply: OnPly = lambda: None,
) -> list[Evaluation]:
    """What searches see in every position of a game, from before its first move to after its last.

    Positions are searched again around what seems bad, deeper if it still does, and a view is
    corrected by what the moves made have led to.
    """
    views: list[Evaluation] = []
    for view in searches.all(partial(searches.see, board, effort.limits) for board in boards):
        views.append(view)
        on_ply()
    doubtful = {
        ply for ply, move in enumerate(moves) if is_doubtful(views[ply], views[ply + 1], move)
    }
    _look(views, boards, dict.fromkeys(_with_next(doubtful), effort.doubting), searches)
    _look_back(views, moves)
    review = _Review(boards, moves, searches, effort, views)
    while new := review.labelled() - review.tested:  # one correction may bring about another
        review.test(new)
        if review.labelled() - review.tested:
            continue
        review.revise()
        if review.labelled() - review.tested:
            continue
        review.make_sure()
    return views


@dataclass
class _Review:
    """The second and third looks at the moves that seem to be bad; `views` is corrected."""

    boards: Sequence[chess.Board]
    moves: Sequence[chess.Move]
    searches: Searches
    effort: Effort
    views: list[Evaluation]
    tested: set[int] = field(default_factory=set)
    looked: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)  # by long looks, whatever the game has led to
    wrong: set[int] = field(default_factory=set)  # of these, what the next move has shown as wrong
    sure: set[int] = field(default_factory=set)  # marks that the longest looks were made for

    def labelled(self) -> set[int]:
        """The plies whose moves seem to be bad."""
        return {*self._labels()}

    def _labels(self) -> dict[int, Label]:
        views = self.views
        labels = {ply: label(views[ply], views[ply + 1]) for ply in range(len(self.moves))}
        return {ply: mark for ply, mark in labels.items() if mark}

    def _doubted(self, plies: Collection[int]) -> list[int]:
        """Those of some plies at which another move is seen as the best one."""
        return [
            ply for ply in sorted(plies) if self.views[ply].line[:1] not in ((), (self.moves[ply],))
        ]

    def test(self, new: set[int]) -> None:
        """Look longer before and after what seems bad, and at what is said to be better."""
        views, boards, moves = self.views, self.boards, self.moves
        plies = {*_with_next(new)} - self.looked - self.settled
        deeper = dict.fromkeys(sorted(plies), self.effort.marking(LAST_LOOK, PAIR))
        _look(views, boards, deeper, self.searches)
        self.looked |= {*deeper}
        _look_back(views, moves, self.settled)
        doubted = self._doubted(new & self.labelled())
        tests = [partial(self._tested, views[ply], ply) for ply in doubted]
        for ply, (view, own) in zip(doubted, self.searches.all(tests), strict=True):
            views[ply] = view
            if not label(view, own) and ply + 1 not in self.wrong:
                views[ply + 1] = own
                self.settled.add(ply + 1)
        _look_back(views, moves, self.settled)
        self.tested |= new

    def revise(self) -> None:
        """Take back what a long look saw where the next move has shown it to be wrong."""
        if not (amiss := self._amiss()):
            return
        self.wrong |= amiss
        self.settled -= amiss
        self.tested -= {ply - 1 for ply in amiss}  # there may have been nothing better
        for ply in amiss - {0}:
            self._look_for_another(ply)
        _look_back(self.views, self.moves, self.settled)

    def make_sure(self) -> None:
        """Look longest at mistakes and blunders, before and after them and the better move.

        What the longest looks see takes the place of the others where they give another mark. They
        uphold nearly all marks of moves that have lost much, so those are left alone.
        """
        views = self.views
        marked = {ply for ply, mark in self._labels().items() if mark in BAD} - self.sure
        narrow = {ply for ply in marked if views[ply].value + views[ply + 1].value < CLEAR}
        doubted = self._doubted(narrow)
        limits = self.effort.marking(LONGEST_LOOK)
        ends = [partial(self.searches.see, self.boards[ply + 1], limits) for ply in doubted]
        looks = [partial(self._longest, views[ply], ply) for ply in doubted]
        work: list[Callable[[], object]] = [*looks, *ends]
        list(self.searches.all(work))  # what takes longest first, so that no engine is idle
        for ply, look, end in zip(doubted, looks, ends, strict=True):  # all is known now
            own = end()
            view = _weighed([look()], own)
            if label(view, own) is label(*self.views[ply : ply + 2]):
                continue
            self.views[ply] = with_second(view, self.views[ply])
            if ply + 1 not in self.wrong:
                self.views[ply + 1] = own
                self.settled.add(ply + 1)
        self.sure |= narrow
        _look_back(self.views, self.moves, self.settled)

    def _amiss(self) -> set[int]:
        """The plies at which the move made has turned out far better than a long look had it.

        If it is not the move that this look expected, the longest look after it has to say so.
        """
        views, amiss = self.views, set[int]()
        for ply in sorted(ply for ply in self.settled if ply < len(self.moves)):
            least = views[ply].value + AMISS
            if -views[ply + 1].value < least:
                continue
            expected = views[ply].line[:1] == (self.moves[ply],)
            after = self.boards[ply + 1]
            limits = self.effort.marking(LONGEST_LOOK)
            if expected or -self.searches.see(after, limits).value >= least:
                amiss.add(ply)
        return amiss

    def _look_for_another(self, ply: int) -> None:
        """Where a move has turned out far worse by its answer, see what else was there before."""
        views, moves = self.views, self.moves
        views[ply] = in_hindsight(views[ply], views[ply + 1], moves[ply])
        had, made = views[ply - 1], moves[ply - 1]
        if had.line[:1] == (made,):
            board = self.boards[ply - 1]
            other = _among_others(had, board, made, self.searches, self.effort)
            if other.line and other.value > -views[ply].value:
                views[ply - 1] = other

    def _tested(self, had: Evaluation, ply: int) -> tuple[Evaluation, Evaluation]:
        """What is seen before a bad move once the best ones were tried, and after it.

        Where a long look after the move finds nothing wrong with it, the move is not to blame for
        what became of it later: what is seen after it is to be kept, unless the reply shows it
        wrong.
        """
        before, searches, effort = self.boards[ply], self.searches, self.effort
        own = searches.see(self.boards[ply + 1], effort.marking(LAST_LOOK, PAIR))
        other = _among_others(had, before, self.moves[ply], searches, effort)
        looks = [had] if other.line[:1] in ((), had.line[:1]) else [had, other]
        pairs = [(look, with_best_tried(look, before, searches, effort)) for look in looks]
        return _weighed(pairs, own), own

    def _longest(self, had: Evaluation, ply: int) -> tuple[Evaluation, Evaluation]:
        """What the longest looks see before a bad move, and once the best one was tried."""
        before, move = self.boards[ply], self.moves[ply]
        look = _among_others(had, before, move, self.searches, self.effort, LONGEST_LOOK, 1)
        return look, with_best_tried(look, before, self.searches, self.effort, LONGEST_LOOK)


def _with_next(plies: set[int]) -> list[int]:
    """Plies, and those after them."""
    return sorted({*plies, *(ply + 1 for ply in plies)})


def _look(
    views: list[Evaluation],
    boards: Sequence[chess.Board],
    limits: dict[int, Limits],
    searches: Searches,
) -> None:
    """Replace the views of some plies by those of other searches."""
    work = (partial(searches.see, boards[ply], limit) for ply, limit in limits.items())
    for ply, view in zip(limits, searches.all(work), strict=True):
        views[ply] = view


def _weighed(looks: Sequence[tuple[Evaluation, Evaluation]], own: Evaluation) -> Evaluation:
    """What is seen before a move, of looks at the best ones before and after they were tried.

    It is the lower of both. That errs to the mild side, so where their mean makes a mistake or a
    blunder of the move, it is the mean.
    """
    mean = max((halfway(*each) for each in looks), key=lambda view: view.value)
    low = max((lower for _, lower in looks), key=lambda view: view.value)
    return mean if label(mean, own) in BAD else low


def with_best_tried(
    had: Evaluation,
    board: chess.Board,
    searches: Searches,
    effort: Effort,
    times: int = LAST_LOOK,
) -> Evaluation:
    """What is seen before a move once the best one was tried by a search of its own."""
    after = board.copy()
    after.push(had.line[0])
    return tried(had, searches.see(after, effort.marking(times)))


def _among_others(
    had: Evaluation,
    board: chess.Board,
    move: chess.Move,
    searches: Searches,
    effort: Effort,
    times: int = LAST_LOOK,
    lines: int = PAIR,
) -> Evaluation:
    """What a long look at all moves but the one made sees.

    What is known of that move from the game says nothing of the others, and the second best of a
    search that expected it may be far from the best of them. A look at all moves that expects
    another one need not be repeated without it: it was made already, and has the same best move.
    """
    look = searches.see(board, effort.marking(times, lines))
    if look.line[:1] == (move,):
        others = tuple(board.uci(other) for other in board.legal_moves if other != move)
        look = searches.see(board, replace(effort.marking(times), searchmoves=others))
    return replace(look, priors=had.priors)


def _look_back(
    views: list[Evaluation], moves: Sequence[chess.Move], settled: Collection[int] = ()
) -> None:
    """Correct what was seen by what the moves made have led to, from the end to the start.

    What is settled stays, but where it would make a mistake of the very move that it expects.
    """
    for ply in reversed(range(len(moves))):
        expected = views[ply].line[:1] == (moves[ply],)
        if ply in settled and not (expected and label(*views[ply : ply + 2])):
            continue
        views[ply] = in_hindsight(views[ply], views[ply + 1], moves[ply])
        if views[ply].line[:1] == (moves[ply],):
            longer = max(views[ply].line, (moves[ply], *views[ply + 1].line), key=len)
            views[ply] = replace(views[ply], line=longer)

"""The record of an analysis: everything that searches said of the moves of a game, as plain data.

    game -> analyse -> **analysis** -> facts -> claims -> select -> words

A claim may need a search that the analysis does not have yet. Its `source` makes that search, and
the answer is kept. Without a source, as where an analysis was read from a file, it is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import chess
import msgspec

from kibitz.comment.judge import Evaluation
from kibitz.search.report import Score

LAST_LOOK = 5  # times as large as the least deeper look
LONGEST_LOOK = 15  # the same of marks of mistakes and blunders, and of pawn endings
PAIR = 2  # lines, where it matters what else may be played; nodes are for each of them
ENOUGH, LOOKS = 6, 3  # plies of an expected line that tell what is won, and searches for them
MOST_PIECES = 7  # in endgame tables
AMISS = 0.3  # value by which a look has to differ from a long one to show it wrong
AS_GOOD = 0.06  # value, at most, by which the best line is ahead of another that may be played
PLAYABLE = 0.15  # the same of a pawn that is won, and of what a line leaves


class UnsearchedError(LookupError):
    """An analysis without a source was asked for a search that it does not have; its name."""


class Source(Protocol):
    """Makes the searches that an analysis lacks."""

    def look(self, board: chess.Board, times: int, lines: int) -> Evaluation:
        """What a search of so many times the least nodes sees, for one line or the two best."""

    def outcome(self, board: chess.Board) -> int | None:
        """What the endgame tables say, see `Analysis.outcome`."""


def name_of(board: chess.Board, times: int, lines: int = 1) -> str:
    """The name of a search: the position, what may be repeated, and how large it is."""
    last = board.move_stack[-board.halfmove_clock :] if board.halfmove_clock else []
    size = f"{times}x{lines}" if lines > 1 else str(times)
    return " ".join([board.shredder_fen(en_passant="fen"), size, *map(str, last)])


@dataclass(frozen=True)
class Analysis:
    """The searches of the last moves of a game; to `looks` entries are only added."""

    start: str = chess.STARTING_FEN
    chess960: bool = False
    moves: tuple[chess.Move, ...] = ()
    views: tuple[
        Evaluation, ...
    ] = ()  # before the first move that was searched, and after every one
    looks: dict[str, Evaluation] = field(default_factory=dict)  # deeper ones, by `name_of`
    verdicts: dict[str, int | None] = field(default_factory=dict)  # of endgame tables
    has_tables: bool = False
    source: Source | None = field(default=None, repr=False, compare=False)

    @property
    def first(self) -> int:
        """The ply, from 0, of the first move that was searched."""
        return len(self.moves) - len(self.views) + 1

    @property
    def size(self) -> int:
        """How many deeper searches and verdicts it has."""
        return len(self.looks) + len(self.verdicts)

    def board(self) -> chess.Board:
        """The position that the game begins with."""
        return chess.Board(self.start, chess960=self.chess960)

    def deeper(self, board: chess.Board, times: int = 1, lines: int = 1) -> Evaluation | None:
        """What a deeper search, of so many times the least nodes, sees; None without searches."""
        if not self.views:
            return None
        name = name_of(board, times, lines)
        if name not in self.looks:
            self.looks[name] = self._source_of(name).look(board, times, lines)
        return self.looks[name]

    def outcome(self, board: chess.Board) -> int | None:
        """1, 0 or -1 for the side to move by the endgame tables; None if it is not in them."""
        if board.castling_rights or board.occupied.bit_count() > MOST_PIECES:
            return None
        if not self.has_tables:
            return None
        name = name_of(board, 0)
        if name not in self.verdicts:
            self.verdicts[name] = self._source_of(name).outcome(board)
        return self.verdicts[name]

    def _source_of(self, name: str) -> Source:
        """Who makes the search of a name."""
        if self.source is None:
            raise UnsearchedError(name)
        return self.source

    def lines(
        self, board: chess.Board, times: int = 1, apart: float = AS_GOOD
    ) -> list[list[chess.Move]]:
        """What deeper searches expect, and their second line where that is nearly as good.

        Nothing says which of the two will be played.
        """
        evaluation, best = self.deeper(board, times, PAIR), self.expected(board, times, PAIR)
        if evaluation is None or best is None:
            return []
        other = evaluation.other
        if other is None or not other.line or evaluation.value - other.value > apart:
            return [best]
        second = [*other.line]
        if len(second) < ENOUGH:
            at = board.copy(stack=False)
            for move in second:
                at.push(move)
            second += self.expected(at) or []
        return [best, second]

    def expected(
        self, board: chess.Board, times: int = 1, lines: int = 1
    ) -> list[chess.Move] | None:
        """The moves that deeper searches expect, some plies at least; None if there are none.

        Where the line of one ends early, the least look goes on from there.
        """
        line: list[chess.Move] = []
        at = board.copy(stack=False)
        for _ in range(LOOKS):
            evaluation = self.deeper(at) if line else self.deeper(at, times, lines)
            if evaluation is None:
                return None
            for move in evaluation.line:
                at.push(move)
            line += evaluation.line
            if len(line) >= ENOUGH or not evaluation.line:
                break
        return line


# --- as JSON --------------------------------------------------------------------------------------


class _View(msgspec.Struct, omit_defaults=True):
    """A `Evaluation` with its moves as UCI writes them."""

    kind: Literal["cp", "mate"]
    amount: int
    value: float
    line: str = ""
    second: float | None = None
    priors: dict[str, float] = {}
    other: _View | None = None
    then: _View | None = None


class _Record(msgspec.Struct):
    """An `Analysis` as it is written."""

    start: str
    chess960: bool
    moves: str
    views: list[_View]
    looks: dict[str, _View]
    verdicts: dict[str, int | None]
    has_tables: bool


def written(analysis: Analysis) -> bytes:
    """An analysis as JSON."""
    return msgspec.json.encode(
        _Record(
            *(analysis.start, analysis.chess960, _uci(analysis.moves)),
            [_view(evaluation) for evaluation in analysis.views],
            {name: _view(evaluation) for name, evaluation in analysis.looks.items()},
            *(analysis.verdicts, analysis.has_tables),
        )
    )


def read(content: bytes) -> Analysis:
    """An analysis that was written; msgspec.MsgspecError of anything else."""
    record = msgspec.json.decode(content, type=_Record)
    try:
        return Analysis(
            *(record.start, record.chess960, _moves(record.moves)),
            tuple(_evaluation(view) for view in record.views),
            {name: _evaluation(view) for name, view in record.looks.items()},
            *(record.verdicts, record.has_tables),
        )
    except chess.InvalidMoveError as error:
        raise msgspec.ValidationError(str(error)) from error


def _view(evaluation: Evaluation) -> _View:
    return _View(
        *(
            evaluation.score.kind,
            evaluation.score.amount,
            evaluation.value,
            _uci(evaluation.line),
            evaluation.second,
        ),
        {move.uci(): prior for move, prior in evaluation.priors.items()},
        None if evaluation.other is None else _view(evaluation.other),
        None if evaluation.then is None else _view(evaluation.then),
    )


def _evaluation(view: _View) -> Evaluation:
    return Evaluation(
        *(Score(view.kind, view.amount), view.value, _moves(view.line), view.second),
        {chess.Move.from_uci(move): prior for move, prior in view.priors.items()},
        None if view.other is None else _evaluation(view.other),
        None if view.then is None else _evaluation(view.then),
    )


def _uci(moves: Sequence[chess.Move]) -> str:
    return " ".join(move.uci() for move in moves)


def _moves(text: str) -> tuple[chess.Move, ...]:
    return tuple(map(chess.Move.from_uci, text.split()))

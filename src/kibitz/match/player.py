"""Who can play: what a player answers and how it fails; the players inside this process.

    board, limits -> **Player** -> Answer, or a PlayerError that costs the game

Four kinds: a random mover, a greedy one that looks one ply ahead at the material, our own engine
with any network, and UCI programs (external.py).
"""

from __future__ import annotations

import random
import threading
import time
from typing import Literal, NamedTuple, Protocol, TypeAlias

from kibitz.engine import Engine
from kibitz.errors import KibitzError
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.limits import Limits
from kibitz.search.params import Settings
from kibitz.search.report import Report, Score

START_MS = 60_000.0  # that a program has to start: some compile first, or read large files

FaultKind: TypeAlias = Literal["crash", "hang", "illegal move", "lie"]


class PlayerError(KibitzError):
    """What a player did that no player may do: it forfeits the game, the match goes on.

    crash: it ended or closed its pipes; hang: no answer, long after its time was up;
    illegal move: a move that is not legal here; lie: an answer that is no move at all.
    """

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: FaultKind = kind
        self.detail = detail


class Head(NamedTuple):
    """From how many nodes on a move led the principal variation."""

    nodes: int
    move: str  # UCI, as the player wrote it


class Answer(NamedTuple):
    """A move, what it cost, and what the player thinks of it."""

    move: Move
    milliseconds: float  # from the question to the answer, measured on the player's side
    score: Score | None = None  # for the side to move
    depth: int | None = None
    nodes: int | None = None
    heads: tuple[Head, ...] = ()  # best moves in the order they were found


class Player(Protocol):
    """Plays one game after another, one at a time."""

    def new_game(self, seed: int) -> None:
        """Be ready for a game, in working order whatever happened before; `seed` for dice."""

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        """Answer with a legal move or raise a PlayerError, after `patience` ms at the latest."""

    def close(self) -> None:
        """End processes and threads."""


class RandomPlayer:
    """Plays any legal move, all with the same probability."""

    def __init__(self) -> None:
        self._dice = random.Random(0)

    def new_game(self, seed: int) -> None:
        """Start the dice anew."""
        self._dice = random.Random(seed)

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:  # noqa: ARG002
        """Roll the dice."""
        started = time.perf_counter()
        move = self._dice.choice(board.legal_moves)
        return Answer(move, _since(started), nodes=1)

    def close(self) -> None:
        """Nothing to end."""


PIECE_VALUES = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9}
MATE_VALUE = 1000


class GreedyPlayer:
    """Mates if it can, else takes the most valuable piece; among equals the dice decide."""

    def __init__(self) -> None:
        self._dice = random.Random(0)

    def new_game(self, seed: int) -> None:
        """Start the dice anew."""
        self._dice = random.Random(seed)

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:  # noqa: ARG002
        """Play every move and count what is left."""
        started = time.perf_counter()
        scratch = board.copy(history=False)
        worth = {move: _worth(scratch, move) for move in board.legal_moves}
        best = max(worth.values())
        move = self._dice.choice([move for move, value in worth.items() if value == best])
        score = Score("mate", 1) if best == MATE_VALUE else Score("cp", 100 * best)
        return Answer(move, _since(started), score, depth=1, nodes=len(worth))

    def close(self) -> None:
        """Nothing to end."""


def _worth(board: Board, move: Move) -> int:
    """Material balance after a move, for the side that makes it; a stalemate is level."""
    sign = 1 if board.turn == "white" else -1
    board.push(move)
    end, placement = board.outcome(), board.fen().split()[0]
    board.pop()
    if end is not None:
        return MATE_VALUE if end.winner else 0
    balance = sum(
        PIECE_VALUES[letter.lower()] * (1 if letter.isupper() else -1)
        for letter in placement
        if letter.lower() in PIECE_VALUES
    )
    return sign * balance


class EnginePlayer:
    """Our own engine; every game has its seed and an empty tree, so that it can be repeated."""

    def __init__(self, engine: Engine, base: Settings | None = None) -> None:
        self._engine, self._base = engine, base or Settings()

    @property
    def problems(self) -> list[str]:
        """What was set beyond the preset `base` and has no effect, one line each."""
        return self._engine.problems_beyond(self._base)

    def new_game(self, seed: int) -> None:
        """Forget the last game; loading, and compiling the first time, is not thinking time."""
        self._engine.configure(seed=seed)
        self._engine.ready()
        self._engine.new_game()

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        """Search; whoever forgets the clock is stopped when patience ends."""
        heads: list[Head] = []
        search = self._engine.begin(board, limits)
        alarm = threading.Timer(patience / 1000, search.stop)
        alarm.daemon = True
        alarm.start()
        started = time.perf_counter()
        try:
            found = search.run(lambda report: _note(heads, report))
            spent = _since(started)
        finally:
            alarm.cancel()
        if found.move is None:
            raise PlayerError("lie", f"no move in {board.fen()}")
        report = found.report
        return Answer(
            found.move, spent, report.best.score, report.depth, report.nodes, tuple(heads)
        )

    def close(self) -> None:
        """End the engine's threads."""
        self._engine.close()


def _note(heads: list[Head], report: Report) -> None:
    """Remember the best move if it is a new one."""
    if report.best.moves:
        move = report.best.moves[0].uci()
        if not heads or heads[-1].move != move:
            heads.append(Head(report.nodes, move))


def _since(started: float) -> float:
    return 1000.0 * (time.perf_counter() - started)

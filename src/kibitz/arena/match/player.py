"""Who can play: what a player answers and how it fails; and the players, named in spec.py.

Kinds: a random mover, a greedy one that looks one ply ahead at the material, our own engine
with any network, and programs that speak UCI or xboard, each a process of its own.
"""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from kibitz.core.errors import InputError, KibitzError, MoveError, NotationError
from kibitz.engine import Engine
from kibitz.position.board import Board
from kibitz.position.fen import START, castles960, fen_of
from kibitz.position.notation import Move
from kibitz.search.limits import Limits
from kibitz.search.options import Settings
from kibitz.search.report import Report, Score
from kibitz.uci.client import Info, Program, ProgramFault, SearchAnswer, UciClient, parse_info
from kibitz.uci.xboard import MATE_CP, RESIGNS, Clocks, XboardClient, parse_thinking

START_MS = 60_000.0  # that a program has to start: some compile first, or read large files

FaultKind: TypeAlias = Literal["crash", "hang", "illegal move", "lie", "time forfeit"]


class PlayerError(KibitzError):
    """What a player did that no player may do: it forfeits the game, the match goes on.

    crash: it ended or closed its pipes; hang: no answer, long after its time was up;
    illegal move: a move that is not legal here; lie: an answer that is no move at all;
    time forfeit: an answer that came late.
    """

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: FaultKind = kind
        self.detail = detail


class Resignation(KibitzError):  # noqa: N818 - no error
    """The player gave the game up."""


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
        """Be ready for a game, in working order again; the same `seed`, the same moves."""

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        """Answer with a legal move or raise a PlayerError, after `patience` ms at the latest."""

    def close(self) -> None:
        """End processes and threads."""


class RandomPlayer:
    """Plays any legal move, all with the same probability."""

    def __init__(self) -> None:
        self._random = random.Random(0)

    def new_game(self, seed: int) -> None:
        """Start the random generator anew."""
        self._random = random.Random(seed)

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:  # noqa: ARG002
        """Choose by the random generator."""
        started = time.perf_counter()
        return Answer(self._random.choice(board.legal_moves), _since(started), nodes=1)

    def close(self) -> None:
        """Nothing to end."""


MATE_VALUE = 1000


class GreedyPlayer(RandomPlayer):
    """Mates if it can, else takes the most valuable piece; chooses at random among equals."""

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:  # noqa: ARG002
        """Play every move and count what is left."""
        started = time.perf_counter()
        scratch = board.copy(history=False)
        values = {move: _exchange_value(scratch, move) for move in board.legal_moves}
        best = max(values.values())
        move = self._random.choice([move for move, value in values.items() if value == best])
        score = Score("mate", 1) if best == MATE_VALUE else Score("cp", 100 * best)
        return Answer(move, _since(started), score, depth=1, nodes=len(values))


def _exchange_value(board: Board, move: Move) -> int:
    """Material balance after a move, for the side that makes it; a stalemate is level."""
    sign = 1 if board.turn == "white" else -1
    board.push(move)
    end, balance = board.outcome(), board.material
    board.pop()
    if end is not None:
        return MATE_VALUE if end.winner else 0
    return sign * balance


class EnginePlayer:
    """Our own engine; every game has its seed and an empty tree, so that it can be repeated."""

    def __init__(self, engine: Engine, base: Settings | None = None) -> None:
        self._engine, self._base = engine, base or Settings()

    @property
    def resources(self) -> tuple[str, str]:
        """Threads and megabytes of hash as fastchess shows them."""
        settings = self._engine.settings
        return f"{settings.threads}t", f"{settings.hash}MB"

    @property
    def problems(self) -> list[str]:
        """What was set beyond the preset `base` and has no effect, one line each."""
        return self._engine.problems_beyond(self._base)

    def new_game(self, seed: int) -> None:
        """Forget the last game; loading, and compiling the first time, is not thinking time."""
        if seed == self._engine.settings.seed:  # unchanged, it would go on where the last game was
            self._engine.configure(seed=seed ^ 1)
            self._engine.ready()
        self._engine.configure(seed=seed)
        self._engine.ready()
        self._engine.new_game()

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        """Search; a search that goes on when patience ends is stopped."""
        if limits.nodes is not None and limits == Limits(nodes=limits.nodes):
            started = time.perf_counter()
            report = self._engine.best_at(board, limits.nodes)
            if report is not None:
                spent, best = _since(started), report.best
                return Answer(best.moves[0], spent, best.score, report.depth, report.nodes)
        heads: list[Head] = []

        def listen(report: Report) -> None:
            if report.best.moves:
                _add_head(heads, report.nodes, report.best.moves[0].uci())

        search = self._engine.begin(board, limits)
        alarm = threading.Timer(patience / 1000, search.stop)
        alarm.daemon = True
        alarm.start()
        started = time.perf_counter()
        try:
            result = search.run(listen)
            spent = _since(started)
        finally:
            alarm.cancel()
        if result.move is None:
            raise PlayerError("lie", f"no move in {board.fen()}")
        report = result.report
        return Answer(
            result.move, spent, report.best.score, report.depth, report.nodes, tuple(heads)
        )

    def close(self) -> None:
        """End the engine's threads."""
        self._engine.close()


# --- programs -----------------------------------------------------------------------------------

MANAGED = ("uci_chess960", "uci_variant", "multipv", "ponder")  # options that a match sets itself
SWITCHED_OFF = ("Ponder", "UCI_AnalyseMode")  # unless the user wants the second one
Client = TypeVar("Client", bound=Program)
GO_WORDS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "movetime")


class ProgramPlayer(ABC, Generic[Client]):
    """A program; started when a game needs it, ended by whatever goes wrong.

    Time runs from writing `go` to reading the move; waiting until it is ready is not charged.
    """

    def __init__(
        self, command: Sequence[str], options: Mapping[str, str], start_ms: float = START_MS
    ) -> None:
        self._command, self._options, self._start_ms = list(command), dict(options), start_ms
        self._new = True  # the next position is of a new game
        self.client: Client | None = None

    def new_game(self, seed: int) -> None:  # noqa: ARG002 - programs have their own random numbers
        """Start the program if it does not run; the next position is of a new game."""
        if self.client is None or not self.client.running:
            self._drop()
            self.client = self._started()
        self._new = True

    def _started(self) -> Client:
        seconds = self._start_ms / 1000
        try:
            return self._open(seconds)
        except ProgramFault as error:
            hung = f"not ready {seconds:g} s after the start"
            detail = hung if error.kind == "hang" else f"ended at the start ({error})"
            raise PlayerError(error.kind, detail) from error
        except InputError as error:
            error.what = f"{self._command[0]}: {error.what}"
            raise

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        """Ask for a move; see PlayerError for what else can come."""
        if self.client is None:
            raise PlayerError("crash", "the program does not run")
        try:
            return self._search(self.client, board, limits, patience / 1000)
        except ProgramFault as error:
            self._drop()
            detail = f"no answer for {patience:.0f} ms" if error.kind == "hang" else str(error)
            raise PlayerError(error.kind, detail) from error
        except PlayerError:
            self._drop()
            raise

    @abstractmethod
    def _open(self, seconds: float) -> Client:
        """Start the program; it has so many seconds to be ready."""

    @abstractmethod
    def _search(self, client: Client, board: Board, limits: Limits, patience: float) -> Answer:
        """Let the program search a position, and return what it answers."""

    def _drop(self) -> None:
        """End the process, whatever state it is in."""
        client, self.client = self.client, None
        if client is not None:
            client.kill()

    def close(self) -> None:
        """Ask the program to quit, end it if it does not."""
        client, self.client = self.client, None
        if client is not None:
            client.close()


class UciPlayer(ProgramPlayer[UciClient]):
    """A UCI program; `environment` are variables that it gets beside ours."""

    environment: Mapping[str, str] | None = None

    @property
    def resources(self) -> tuple[str, str]:
        """Threads and megabytes of hash as fastchess shows them, NULL where there is no option."""
        return self._resource("Threads", "t"), self._resource("Hash", "MB")

    def _resource(self, name: str, unit: str) -> str:
        option = None if self.client is None else self.client.options.get(name.casefold())
        return "NULL" if option is None else f"{self._options.get(name, option.default)}{unit}"

    def _open(self, seconds: float) -> UciClient:
        options = {name.casefold() for name in self._options}
        for name in self._options:
            if name.casefold() in MANAGED:
                raise InputError("a match sets this option", value=name)
        client = UciClient(self._command, self._options, seconds, self.environment)
        for name in SWITCHED_OFF:
            option = client.options.get(name.casefold())
            if option is not None and option.default == "true" and name.casefold() not in options:
                client.set_option(name, "false")
        return client

    def _search(self, client: UciClient, board: Board, limits: Limits, patience: float) -> Answer:
        start = board.positions()[0]
        chess960 = board.chess960 or castles960(start)
        if chess960 and "uci_chess960" not in client.options:
            raise PlayerError("lie", "engine does not support UCI_Chess960")
        if self._new:
            client.new_game(chess960, patience)
            self._new = False
        else:
            client.ready(patience)
        fen = fen_of(start, shredder=chess960)
        moves = "".join(f" {move.uci(chess960)}" for move in board.moves)
        position = f"{'startpos' if fen == START else f'fen {fen}'}{moves and ' moves'}{moves}"
        return _answer(board, client.search(position, _go_words(limits), patience))


class XboardPlayer(ProgramPlayer[XboardClient]):
    """A program that speaks the xboard protocol; it plays ordinary chess."""

    resources = ("NULL", "NULL")

    def _open(self, seconds: float) -> XboardClient:
        return XboardClient(self._command, self._options, seconds)

    def _search(
        self, client: XboardClient, board: Board, limits: Limits, patience: float
    ) -> Answer:
        start, clocks = board.positions()[0], _clocks(board, limits)
        if board.chess960 or castles960(start):
            raise PlayerError("lie", "xboard programs play no Chess960 here")
        if self._new:
            client.new_game(fen_of(start), START, clocks)
            self._new = False
        reply = client.search([move.uci() for move in board.moves], clocks, patience)
        if reply.move == RESIGNS:
            raise Resignation("resignation")
        move = _legal(board, reply.move)
        for line in reversed(reply.lines):
            if (thinking := parse_thinking(line)) is not None:
                depth, cp, nodes = thinking
                return Answer(move, reply.milliseconds, _xboard_score(cp), depth, nodes)
        return Answer(move, reply.milliseconds)


def _clocks(board: Board, limits: Limits) -> Clocks:
    if limits.nodes is not None:
        fix = "give it a clock, whole seconds a move or a depth"
        raise InputError("xboard programs have no limit of nodes", value=limits.nodes, fix=fix)
    own, other = ("w", "b") if board.turn == "white" else ("b", "w")
    return Clocks(
        left=getattr(limits, f"{own}time"),
        others=getattr(limits, f"{other}time"),
        increment=getattr(limits, f"{own}inc") or 0,
        moves=limits.movestogo,
        movetime=limits.movetime,
        depth=limits.depth,
    )


def _xboard_score(cp: int) -> Score:
    if abs(cp) > MATE_CP:
        return Score("mate", cp - MATE_CP if cp > 0 else cp + MATE_CP)
    return Score("cp", cp)


def _go_words(limits: Limits) -> str:
    """The words after `go`."""
    pairs = ((name, getattr(limits, name)) for name in GO_WORDS)
    values = {name: value for name, value in pairs if value is not None}
    # Some programs take 0 for no limit.
    return " ".join(f"{n} {v if n.endswith('inc') else max(1, v)}" for n, v in values.items())


def _answer(board: Board, answer: SearchAnswer) -> Answer:
    """What a UCI program said, if it is a legal move."""
    move = _legal(board, answer.move)
    score = depth = nodes = None
    heads: list[Head] = []
    for info in _readable(answer.lines):
        if info.cp is not None:
            score = Score("cp", info.cp)
        elif info.mate is not None:
            score = Score("mate", info.mate)
        depth, nodes = info.depth or depth, info.nodes or nodes
        if info.move and info.nodes is not None:
            _add_head(heads, info.nodes, info.move)
    return Answer(move, answer.milliseconds, score, depth, nodes, tuple(heads))


def _legal(board: Board, text: str) -> Move:
    """The move that a program wrote."""
    if text in ("", "(none)", "0000"):
        raise PlayerError("lie", f"no move in {board.fen()}")
    try:
        return board.parse(text)
    except MoveError as error:
        raise PlayerError("illegal move", str(error)) from error
    except NotationError as error:
        raise PlayerError("lie", str(error)) from error


def _readable(lines: Iterable[str]) -> Iterator[Info]:
    """What the lines say of the best move; those that make no sense are passed over."""
    for line in lines:
        with suppress(ValueError):
            info = parse_info(line)
            if info.rank == 1:
                yield info


def _add_head(heads: list[Head], nodes: int, move: str) -> None:
    """Remember the best move if it is a new one."""
    if not heads or heads[-1].move != move:
        heads.append(Head(nodes, move))


def _since(started: float) -> float:
    return 1000.0 * (time.perf_counter() - started)

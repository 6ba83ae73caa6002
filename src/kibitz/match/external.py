"""UCI programs as players: a process that may crash, hang, close its pipes or answer nonsense.

    board, limits -> go ... bestmove over pipes -> **Answer or PlayerError**

The protocol is python-chess's. Time runs from the moment `go` is written to the moment the line
with `bestmove` is read; waiting for `readyok` before is not charged. Whatever goes wrong ends the
process, and the next game starts a new one.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import chess
import chess.engine

from kibitz.errors import InputError
from kibitz.log import Level, say
from kibitz.match.player import START_MS, Answer, Head, PlayerError
from kibitz.position.board import Board
from kibitz.position.notation import Move
from kibitz.search.limits import Limits
from kibitz.search.report import Score
from kibitz.workers import kill_group

QUIT_SECONDS = 2.0  # until a process that was asked to quit is killed
ALL_PIPES = 3
STANDARD_ERROR = 2
Found = TypeVar("Found")

_HEAD = re.compile(r"\bnodes (\d+)\b.*\bpv (\S+)|\bpv (\S+).*\bnodes (\d+)\b")
_OTHER_LINE = re.compile(r"\bmultipv (?!1\b)\d+")

# Every fault is told once, by us; python-chess would log lines of its own.
logging.getLogger("chess.engine").setLevel(logging.CRITICAL)


class _Peer(chess.engine.UciProtocol):
    """python-chess's side of the pipe, which also notes when things were said."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = self.answered = 0.0  # seconds of perf_counter
        self.heads: list[Head] = []

    def send_line(self, line: str) -> None:
        if line.startswith("go"):
            self.heads.clear()
            self.asked, self.answered = time.perf_counter(), 0.0
        super().send_line(line)

    def line_received(self, line: str) -> None:
        if line.startswith("bestmove"):
            self.answered = time.perf_counter()
        elif line.startswith("info") and not _OTHER_LINE.search(line):
            self._note(line)

    def _note(self, line: str) -> None:
        found = _HEAD.search(line)
        if found:
            nodes, move = (found[1], found[2]) if found[1] else (found[4], found[3])
            if not self.heads or self.heads[-1].move != move:
                self.heads.append(Head(int(nodes), move))

    def error_line_received(self, line: str) -> None:
        say(f"{self.id.get('name', 'engine')} says: {line}", Level.VERBOSE)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        # A program that closed one pipe may live on without ever answering.
        if fd != STANDARD_ERROR:
            _kill(self.transport)


class UciPlayer:
    """A UCI program; started when a game needs it, ended by whatever goes wrong."""

    def __init__(
        self, command: Sequence[str], options: Mapping[str, str], start_ms: float = START_MS
    ) -> None:
        self._command, self._options, self._start_ms = list(command), dict(options), start_ms
        self._loop = asyncio.new_event_loop()
        self._peer: _Peer | None = None
        self._game = object()
        self._board = chess.Board()
        self._told: tuple[Move, ...] = ()

    @property
    def title(self) -> str:
        """The name the program gave itself."""
        return "" if self._peer is None else self._peer.id.get("name", "")

    @property
    def resources(self) -> tuple[str, str]:
        """Threads and megabytes of hash as fastchess shows them, NULL where there is no option."""
        found = []
        for name, unit in (("Threads", "t"), ("Hash", "MB")):
            option = None if self._peer is None else self._peer.options.get(name)
            value = None if option is None else self._options.get(name, option.default)
            found.append("NULL" if value is None else f"{value}{unit}")
        return found[0], found[1]

    def new_game(self, seed: int) -> None:  # noqa: ARG002 - programs have their own dice
        """Start the program if it does not run; the next position is of a new game."""
        if self._peer is None or self._peer.returncode.done():
            self._drop()
            self._start()
        self._game, self._told = object(), (Move(-1),)

    def _start(self) -> None:
        try:
            self._peer = self._wait(self._open(), self._start_ms / 1000)
        except TimeoutError as error:
            self._drop()
            told = f"no uciok and readyok for {self._start_ms / 1000:g} s after the start"
            raise PlayerError("hang", told) from error
        except chess.engine.EngineTerminatedError as error:
            self._drop()
            raise PlayerError("crash", f"ended at the start ({error})") from error
        except chess.engine.EngineError as error:
            self._drop()
            raise InputError(f"{self._command[0]}: {error}", fix="mend the options") from error
        except OSError as error:
            raise InputError(f"cannot start ({error.strerror})", value=self._command[0]) from error

    async def _open(self) -> _Peer:
        # A group of its own: Ctrl-C stops Kibitz, which then ends the program.
        _, peer = await _Peer.popen(self._command, start_new_session=True)
        self._peer = peer  # so that a start that fails can be cleaned up
        await peer.initialize()
        await peer.configure(self._options)
        await peer.ping()
        return peer

    def think(self, board: Board, limits: Limits, patience: float) -> Answer:
        """Ask for a move; see PlayerError for what else can come."""
        if self._peer is None:
            raise PlayerError("crash", "the program does not run")
        asked = self._follow(board)
        wanted = chess.engine.INFO_BASIC | chess.engine.INFO_SCORE
        question = self._peer.play(asked, _limit(limits), game=self._game, info=wanted)
        try:
            found = self._wait(question, patience / 1000)
        except TimeoutError as error:
            self._drop()
            raise PlayerError("hang", f"no answer for {patience:.0f} ms") from error
        except chess.engine.EngineTerminatedError as error:
            self._drop()
            raise PlayerError("crash", str(error)) from error
        except chess.engine.EngineError as error:
            self._drop()
            raise _nonsense(error) from error
        if not found.move:
            raise PlayerError("lie", f"no move in {board.fen()}")
        return self._answer(board.parse(found.move.uci()), found.info)

    def _answer(self, move: Move, info: chess.engine.InfoDict) -> Answer:
        assert self._peer is not None
        spent = 1000.0 * (self._peer.answered - self._peer.asked)
        score = None
        if "score" in info:
            relative = info["score"].relative
            mate = relative.mate()
            score = Score("cp", relative.score() or 0) if mate is None else Score("mate", mate)
        heads = tuple(self._peer.heads)
        return Answer(move, spent, score, info.get("depth"), info.get("nodes"), heads)

    def _follow(self, board: Board) -> chess.Board:
        """The position for python-chess; most often it is one or two moves further."""
        moves, known = board.moves, len(self._told)
        if moves[:known] != self._told:
            self._board = board.to_chess()
        else:
            for move in moves[known:]:
                self._board.push(chess.Move.from_uci(move.uci(self._board.chess960)))
        self._told = moves
        return self._board

    def _wait(self, work: Coroutine[Any, Any, Found], seconds: float) -> Found:
        """Run the loop of this player, on the caller's thread, until the work is done."""
        return self._loop.run_until_complete(asyncio.wait_for(work, seconds))

    def _drop(self) -> None:
        """End the process, whatever state it is in."""
        peer, self._peer = self._peer, None
        if peer is None or peer.transport is None:
            return
        _kill(peer.transport)
        with suppress(TimeoutError):  # a process no signal reaches is left to the system
            self._wait(_ended(peer), QUIT_SECONDS)
        peer.transport.close()

    def close(self) -> None:
        """Ask the program to quit, end it if it does not."""
        if self._loop.is_closed():
            return
        if self._peer is not None and not self._peer.returncode.done():
            with suppress(TimeoutError, chess.engine.EngineError):
                self._wait(self._peer.quit(), QUIT_SECONDS)
        self._drop()
        self._loop.close()


async def _ended(peer: _Peer) -> int:
    return await asyncio.shield(peer.returncode)


def _kill(transport: asyncio.SubprocessTransport | None) -> None:
    """Kill the process and what it started, which may live on without it."""
    if transport is not None:
        kill_group(transport.get_pid())


def _nonsense(error: chess.engine.EngineError) -> PlayerError:
    """What python-chess could not read: a move that is illegal, or no move."""
    cause = error.args[0] if error.args else error
    illegal = isinstance(cause, chess.IllegalMoveError)
    return PlayerError("illegal move" if illegal else "lie", str(cause))


def _limit(limits: Limits) -> chess.engine.Limit:
    """The limits for python-chess, in seconds."""

    def seconds(milliseconds: int | None) -> float | None:
        return None if milliseconds is None else milliseconds / 1000

    return chess.engine.Limit(
        time=seconds(limits.movetime),
        depth=limits.depth,
        nodes=limits.nodes,
        white_clock=seconds(limits.wtime),
        black_clock=seconds(limits.btime),
        white_inc=seconds(limits.winc),
        black_inc=seconds(limits.binc),
        remaining_moves=limits.movestogo,
    )

"""An outside program that speaks the xboard protocol, version 2 or, as the oldest do, version 1.

The program is kept in force mode between searches, is given each new move, its clock and `go`.
One that announces no feature for two seconds speaks version 1, as the protocol has it, and is taken
for a program without features; what it announces later still counts.
"""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from kibitz.core.errors import InputError
from kibitz.uci.client import PATIENCE, Program, ProgramFault, SearchAnswer

FEATURE_SECONDS = 2.0  # by the protocol: when a program must have announced something
RESIGNS = "resign"  # in place of a move
_FEATURE = re.compile(r"""(\w+)=("[^"]*"|\S+)""")
_THINKING = re.compile(r"(\d{1,18})[.&+ ]\s*(-?\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\b")
_MOVE = re.compile(r"(?:\d+\. \.\.\. |my move is:? |move )(\S+)", re.IGNORECASE)
_RESULTS = ("1-0", "0-1", "1/2-1/2")
_REFUSALS = ("Illegal move", "Error (unknown command): usermove")
_HOMES = {"K": "Ke1 Rh1", "Q": "Ke1 Ra1", "k": "ke8 rh8", "q": "ke8 ra8"}
MATE_CP = 100_000  # a score beyond says in how many moves


class Clocks(NamedTuple):
    """What ends a move; milliseconds, None for what does not count."""

    left: int | None = None
    others: int | None = None
    increment: int = 0
    moves: int | None = None  # to the next control, at the start of a game
    movetime: int | None = None
    depth: int | None = None


class XboardClient(Program):
    """A running xboard program."""

    def __init__(
        self, command: Sequence[str], options: Mapping[str, str], patience: float = PATIENCE
    ) -> None:
        """Start a program; it has `patience` seconds to be ready, and for any later answer."""
        super().__init__(command, patience)
        self._features: dict[str, str] = {}
        self._options: set[str] = set()
        self._played: list[str] = []
        self._pings = 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        output = os.fdopen(os.dup(self._output.fileno()), "rb")
        threading.Thread(target=self._hear, args=(output,), daemon=True).start()
        try:
            self._introduce(options)
        except BaseException:
            self.kill()
            raise

    def _introduce(self, options: Mapping[str, str]) -> None:
        self._send("xboard\nprotover 2")
        until = time.monotonic() + FEATURE_SECONDS
        with suppress(queue.Empty):
            while self._features.get("done") != "1":
                patient = self._features or options  # version 2 for sure: version 1 has no options
                self._line(None if patient else max(0.0, until - time.monotonic()))
        if self._features.get("san", "0") == "1":
            self._send("rejected san")
        for name, value in options.items():
            self._send(self._setting(name, value))
        self._send("easy\npost")
        self._wait_until_ready()

    def _hear(self, output: IO[bytes]) -> None:
        """Read what the program says; an empty line is the end of it."""
        with output:
            for line in output:
                self._lines.put(line)
        self._lines.put(b"")

    def _line(self, patience: float | None = None) -> str:
        """Return its next line, and note features in it; queue.Empty if there is none in time."""
        line = self._lines.get(timeout=patience)
        if not line:
            self._lines.put(line)
            raise self._fault()
        text = line.decode(errors="replace").strip()
        if text.startswith("feature"):
            for name, quoted in _FEATURE.findall(text):
                self._announced(name, quoted.strip('"'))
        return text

    def _announced(self, name: str, value: str) -> None:
        if name == "option":
            self._options.add(re.split(r" -(?=check|spin|combo|string|file|path|slider)", value)[0])
            return
        self._features[name] = value
        self.name = self._features.get("myname", "")

    def _setting(self, name: str, value: str) -> str:
        """The line that sets an option; Hash and Threads have commands of their own."""
        word = {"hash": "memory", "threads": "cores"}.get(name.casefold())
        if word and self._features.get("memory" if word == "memory" else "smp") == "1":
            return f"{word} {value}"
        if name not in self._options:
            names = ", ".join(sorted(self._options)) or "it has none"
            raise InputError("the program has no such option", value=name, fix=f"known: {names}")
        return f"option {name}={value}"

    def _wait_until_ready(self, patience: float | None = None) -> None:
        """Wait for a pong, which also passes over what it said unasked."""
        if self._features.get("ping", "0") == "1":
            self._pings += 1
            self._send(f"ping {self._pings}", patience)
            while self._line() != f"pong {self._pings}":
                pass
        self._at_rest()

    def new_game(self, fen: str, start: str, clocks: Clocks) -> None:
        """Begin a game from `fen`; `start` is the FEN that needs no setting up."""
        while not self._lines.empty():
            self._line()  # features that came late
        self._send("new\nforce")
        if fen != start:
            self._set_up(fen)
        self._played = []
        if clocks.movetime is not None:
            if clocks.movetime % 1000:
                fix = "give whole seconds, or a clock with tc="
                raise InputError("xboard movetime (ms)", value=clocks.movetime, fix=fix)
            self._send(f"st {clocks.movetime // 1000}")
        elif clocks.left is not None:
            minutes, seconds = divmod(round(clocks.left / 1000), 60)
            gain = f"{clocks.increment / 1000:g}"
            self._send(f"level {clocks.moves or 0} {minutes}:{seconds:02} {gain}")
        if clocks.depth is not None:
            self._send(f"sd {clocks.depth}")
        self._wait_until_ready()

    def _set_up(self, fen: str) -> None:
        if self._features.get("setboard", "0") == "1":
            self._send(f"setboard {fen}")
            return
        self._send("\n".join(_edit_lines(fen)))

    def search(
        self, moves: Sequence[str], clocks: Clocks, patience: float | None = None
    ) -> SearchAnswer:
        """Search after these moves of the game; the move may be `resign`, or empty for none."""
        usermove = "usermove " if self._features.get("usermove", "0") == "1" else ""
        lines = ["force", *(usermove + move for move in moves[len(self._played) :])]
        self._played = list(moves)
        self._send("\n".join(lines), patience)
        self._wait_until_ready(patience)
        times = (("time", clocks.left), ("otim", clocks.others))
        clock = "".join(f"{n} {max(1, left // 10)}\n" for n, left in times if left is not None)
        started = time.perf_counter()
        self._send(f"{clock}go", patience)
        thinking: list[str] = []
        while (move := _answer(line := self._line())) is None:
            if _THINKING.match(line):
                thinking.append(line)
        milliseconds = 1000.0 * (time.perf_counter() - started)
        self._at_rest()
        if move not in ("", RESIGNS):
            self._played.append(move)
        return SearchAnswer(move, thinking, milliseconds)


def _answer(line: str) -> str | None:
    """The move in a line, `resign`, empty for a claimed end of the game; None: no answer yet."""
    match = _MOVE.fullmatch(line)
    if match is not None:
        return match[1]
    if line.startswith(_REFUSALS):
        raise ProgramFault("lie", line)
    if line == RESIGNS or line.startswith("tellics resign"):
        return RESIGNS
    return "" if line.split(" ")[0] in _RESULTS else None


def parse_thinking(line: str) -> tuple[int, int, int] | None:
    """Depth, centipawns for the side to move, and nodes of a line like `9 31 120 54021 e2e4 e7e5`.

    >>> parse_thinking("9 31 120 54021 e2e4 e7e5")
    (9, 31, 54021)
    """
    match = _THINKING.match(line)
    return None if match is None else (int(match[1]), int(match[2]), int(match[4]))


def _edit_lines(fen: str) -> list[str]:
    """The commands by which the oldest programs are given a position.

    They take it that kings and rooks on their first squares may castle, and know no en passant.
    """
    placed, turn, rights, passant = fen.split()[:4]
    pieces = [
        (piece, f"{piece.upper()}{'abcdefgh'[file]}{8 - row}")
        for row, rank in enumerate(placed.split("/"))
        for file, piece in enumerate(re.sub(r"\d", lambda digit: "." * int(digit[0]), rank))
        if piece != "."
    ]
    standing = {piece + name[1:] for piece, name in pieces}
    castling = "".join(right for right, homes in _HOMES.items() if set(homes.split()) <= standing)
    if passant != "-" or castling != rights.replace("-", ""):
        raise ProgramFault("lie", f"this program cannot be given {fen} (no feature setboard)")
    white = [name for piece, name in pieces if piece.isupper()]
    black = [name for piece, name in pieces if piece.islower()]
    first = ["a2a3"] if turn == "b" else []  # a move that hands the turn to Black
    return [*first, "edit", "#", *white, "c", *black, "."]

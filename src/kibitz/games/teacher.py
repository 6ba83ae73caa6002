"""An external UCI engine that judges positions; positions -> **teacher** -> labelling.py.

A raw pipe and a parser of the few words that matter cost 0.1 ms a position, ten times less than a
general client, which counts where a search takes one or two. A thread ends an engine that is
silent for too long, and all it has started, so that reading from it never hangs.
"""

from __future__ import annotations

import math
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from kibitz.errors import InputError
from kibitz.workers import kill_group

PATIENCE = 60.0  # s for any one answer
_WATCH_SECONDS = 0.2
_EXIT_SECONDS = 0.5  # from the end of its output to that of the process
_QUIT_SECONDS = 2.0


class TeacherError(Exception):
    """The engine ended, hung or answered what cannot be understood."""


class Line(NamedTuple):
    """A move and what it is worth for the side to move, one of cp and mate."""

    move: str
    cp: int | None
    mate: int | None


class Judgement(NamedTuple):
    """The move the engine would play, and its lines, best first; at least one."""

    best: str
    lines: tuple[Line, ...]


class Teacher:
    """A running engine; start it again by making a new one."""

    def __init__(
        self, command: Sequence[str], options: Mapping[str, str], patience: float = PATIENCE
    ) -> None:
        self._patience, self._deadline = patience, time.monotonic() + patience
        self._hung, self._closed = False, threading.Event()
        try:
            # A group of its own: Ctrl-C stops Kibitz, which then ends the engine.
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"cannot start ({error.strerror})", value=command[0]) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        threading.Thread(target=self._watch, daemon=True).start()
        self.name, self._chess960 = "", False
        self.options: set[str] = set()
        try:
            self._introduce(options)
        except BaseException:
            self.close()
            raise

    def _introduce(self, options: Mapping[str, str]) -> None:
        self._send("uci")
        for line in iter(self._line, "uciok"):
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ")
            elif line.startswith("option name "):
                self.options.add(line.removeprefix("option name ").partition(" type ")[0])
        for name, value in options.items():
            if name not in self.options:
                known = ", ".join(sorted(self.options)) or "it has none"
                raise InputError("the engine has no such option", value=name, fix=f"known: {known}")
            self._send(f"setoption name {name} value {value}")
        self._ready()

    def new_game(self, chess960: bool) -> None:
        """Forget what was learnt in the last game, so that games do not depend on their order."""
        if chess960 != self._chess960:
            if "UCI_Chess960" not in self.options:
                raise InputError("the engine does not play Chess960", value=self.name)
            self._send(f"setoption name UCI_Chess960 value {str(chess960).lower()}")
            self._chess960 = chess960
        self._send("ucinewgame")
        self._ready()

    def judge(self, position: str, limit: str) -> Judgement:
        """Search `fen ... moves ...` within `nodes 2000` or `depth 8`."""
        self._send(f"position {position}\ngo {limit}")
        told: list[str] = []
        while True:
            line = self._line()
            if line.startswith("info "):
                told.append(line)
            elif line.startswith("bestmove "):
                self._deadline = math.inf
                return _judgement(line, told)

    def _ready(self) -> None:
        self._send("isready")
        while self._line() != "readyok":
            pass
        self._deadline = math.inf  # until it is asked again

    # --- the pipe -------------------------------------------------------------------------------

    def _send(self, text: str) -> None:
        self._deadline = time.monotonic() + self._patience
        try:
            self._input.write(text.encode() + b"\n")
            self._input.flush()
        except OSError as error:
            raise TeacherError(self._fate()) from error

    def _line(self) -> str:
        line = self._output.readline()
        if not line:
            raise TeacherError(self._fate())
        return line.decode(errors="replace").strip()

    def _fate(self) -> str:
        if self._hung:
            return f"no answer for {self._patience:g} s"
        try:
            return f"it ended with code {self._process.wait(_EXIT_SECONDS)}"
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            return "it closed its input or output"

    def _watch(self) -> None:
        """End the program, with all it has started, once it is silent for too long.

        Not only until its process ends: that may be a shell whose child still has the pipes.
        """
        while not self._closed.wait(_WATCH_SECONDS):
            if time.monotonic() > self._deadline:
                self._hung = True
                kill_group(self._process.pid)
                return

    def close(self) -> None:
        """Ask the engine to quit, end it if it does not."""
        self._deadline = time.monotonic() + self._patience
        with suppress(OSError):
            self._input.write(b"quit\n")
            self._input.flush()
        with suppress(OSError):
            self._input.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_QUIT_SECONDS)
        self._closed.set()
        kill_group(self._process.pid)
        self._process.wait()
        self._output.close()


def _judgement(answer: str, told: Sequence[str]) -> Judgement:
    """What the last lines of a search say; of scores that are bounds only if there is no other."""
    best = answer.split()[1]
    lines: dict[int, Line] = {}
    for exact in (True, False):
        for text in reversed(told):
            if " score " not in text or exact == (" lowerbound" in text or " upperbound" in text):
                continue
            rank, line = _parsed(text, best)
            if rank in lines or (not exact and lines):
                break  # all ranks have been seen: what follows is of earlier iterations
            lines[rank] = line
    if not lines:
        raise TeacherError(f"no score before {answer!r}")
    return Judgement(best, tuple(lines[rank] for rank in sorted(lines)))


def _parsed(text: str, best: str) -> tuple[int, Line]:
    words = text.split()
    try:
        at = words.index("score")
        kind, amount = words[at + 1], int(words[at + 2])
        rank = int(words[words.index("multipv") + 1]) if "multipv" in words else 1
        move = words[words.index("pv") + 1] if "pv" in words else best
    except (ValueError, IndexError) as error:
        raise TeacherError(f"cannot read {text!r}") from error
    if kind not in ("cp", "mate"):
        raise TeacherError(f"cannot read {text!r}")
    cp, mate = (amount, None) if kind == "cp" else (None, amount)
    return rank, Line(move, cp, mate)

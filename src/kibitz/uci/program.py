"""An outside program: a process that may crash, hang, close its pipes or answer nonsense.

UCI and xboard programs stand on it. A thread ends a program that is silent for too long, and all
it has started, so that reading from it never hangs.
"""

from __future__ import annotations

import math
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Literal, NamedTuple, TypeAlias

from kibitz.core.errors import InputError
from kibitz.core.log import Level, say
from kibitz.core.workers import kill_group

PATIENCE = 60.0  # s for any one answer
_WATCH_SECONDS = 0.1
_EXIT_SECONDS = 0.5  # from the end of its output to that of the process
_QUIT_SECONDS = 2.0
_KILLED = -9  # the code of a process that was ended from outside

FaultKind: TypeAlias = Literal["crash", "hang", "lie"]


class ProgramFault(Exception):  # noqa: N818 - of the program, not of the user
    """The program ended (crash), gave no answer in time (hang) or a senseless one (lie)."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(detail)
        self.kind: FaultKind = kind


class SearchAnswer(NamedTuple):
    """The answer to a search."""

    move: str  # as written, empty if there is none
    lines: list[str]  # those that told about the search
    milliseconds: float  # from the question to the answer


class Program:
    """A running program; whatever goes wrong ends it, and a new one has to be made."""

    def __init__(self, command: Sequence[str], patience: float = PATIENCE) -> None:
        """Start it; it has `patience` seconds for any answer."""
        self.name = ""
        self._patience, self._wait = patience, patience
        self._deadline = time.monotonic() + patience
        self._killed_for, self._closed = "", threading.Event()
        try:
            # A group of its own: Ctrl-C stops Kibitz, which then ends the program.
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"cannot start ({error.strerror})", value=command[0]) from error
        self._input, self._output, errors = _pipes(self._process)
        threading.Thread(target=self._watch, daemon=True).start()
        threading.Thread(target=self._hear_errors, args=(errors,), daemon=True).start()

    def _at_rest(self) -> None:
        """Set no time limit until it is sent something again."""
        self._deadline = math.inf

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def _send(self, text: str, patience: float | None = None) -> None:
        self._wait = self._patience if patience is None else patience
        self._deadline = time.monotonic() + self._wait
        try:
            self._input.write(text.encode() + b"\n")
            self._input.flush()
        except (OSError, ValueError) as error:  # ValueError: it was ended before
            raise self._fault() from error

    def _line(self) -> str:
        line = self._output.readline()
        if not line:
            raise self._fault()
        return line.decode(errors="replace").strip()

    def _fault(self) -> ProgramFault:
        """Why there is no answer."""
        if self._killed_for == "hang":
            return ProgramFault("hang", f"no answer for {self._wait:g} s")
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
        else:
            if not (self._killed_for and code == _KILLED):
                return ProgramFault("crash", f"it ended with code {code}")
        return ProgramFault("crash", "it closed its input or output")

    def _watch(self) -> None:
        """End the program, with all it has started, once it is silent for too long or deaf.

        Not only until its process ends: that may be a shell whose child still has the pipes.
        """
        poller = select.poll() if hasattr(select, "poll") else None
        if poller is not None:
            poller.register(self._input, 0)  # tells only that the other end was closed
        while not self._closed.wait(_WATCH_SECONDS):
            if time.monotonic() > self._deadline:
                self._killed_for = "hang"
            elif poller is not None and poller.poll(0):
                self._killed_for = "crash"
            if self._killed_for:
                kill_group(self._process.pid)
                return

    def _hear_errors(self, errors: IO[bytes]) -> None:
        with errors:
            for line in errors:
                text = line.decode(errors="replace").strip()
                say(f"{self.name or 'engine'} says: {text}", Level.VERBOSE)

    def close(self) -> None:
        """Ask the program to quit, end it if it does not."""
        with suppress(ProgramFault):
            self._send("quit")
        self._closed.set()
        with suppress(OSError):
            self._input.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_QUIT_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process, whatever state it is in, and what it has started."""
        self._closed.set()
        kill_group(self._process.pid)
        with suppress(subprocess.TimeoutExpired):  # one no signal reaches is left to the system
            self._process.wait(_QUIT_SECONDS)
        for pipe in (self._input, self._output):
            with suppress(OSError):
                pipe.close()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr

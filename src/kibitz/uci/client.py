"""An outside UCI program.

Matches, teachers and checks use it; it stands just above position. A plain pipe and a parser of
the few words that matter cost 0.1 ms a search, ten times less than a general client, which counts
where a search takes one or two.
"""

from __future__ import annotations

import math
import os
import re
import select
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Literal, NamedTuple, TypeAlias

from kibitz.core.errors import InputError
from kibitz.core.log import Level, say
from kibitz.core.workers import kill_group

# --- an outside program ---------------------------------------------------------------------------
#
# An outside program: a process that may crash, hang, close its pipes or answer nonsense.
#
# UCI and xboard programs stand on it. A thread ends a program that is silent for too long, and all
# it has started, so that reading from it never hangs.


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

    def __init__(
        self,
        command: Sequence[str],
        patience: float = PATIENCE,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it, with these variables beside ours; it has `patience` seconds for any answer."""
        self.name = ""
        self._patience, self._wait = patience, patience
        self._deadline = time.monotonic() + patience
        self._killed_for, self._quitting, self._closed = "", False, threading.Event()
        try:
            # A group of its own: Ctrl-C stops Kibitz, which then ends the program.
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=None if environment is None else {**os.environ, **environment},
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
            elif poller is not None and poller.poll(0) and not self._quitting:
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
        self._quitting = True
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


# --- UCI ------------------------------------------------------------------------------------------


_WHOLE = re.compile(r"-?\d{1,18}")
_OPTION_WORDS = re.compile(r"\s*\b(default|min|max|var)\b\s*")


class ProgramOption(NamedTuple):
    """An option that a program announces."""

    name: str
    kind: str  # check, spin, combo, string, button
    default: str = ""
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def command(self, value: str) -> str:
        """The line that sets it; an InputError names a value that the program does not take."""
        if self.kind == "button":
            return f"setoption name {self.name}"
        if self.kind == "check":
            value = value.casefold()
        if not self._fits(value):
            raise InputError(f"option {self.name}", value=value, fix=f"expected {self._expected()}")
        return f"setoption name {self.name} value {value}"

    def _fits(self, value: str) -> bool:
        if self.kind == "spin":
            return _WHOLE.fullmatch(value) is not None and self.low <= int(value) <= self.high
        choices = {"check": ("true", "false"), "combo": self.choices}.get(self.kind)
        return choices is None or value in choices

    def _expected(self) -> str:
        if self.kind == "spin":
            return f"a whole number from {self.low:.12g} to {self.high:.12g}"
        return ", ".join(self.choices) or "true or false"


class Info(NamedTuple):
    """What a line about the search says; scores are for the side to move."""

    depth: int | None
    nodes: int | None
    rank: int  # of the line among those of MultiPV, from 1
    cp: int | None
    mate: int | None
    bound: bool  # the score is a bound only
    move: str  # first of the principal variation, empty without one


class UciClient(Program):
    """A running UCI program."""

    def __init__(
        self,
        command: Sequence[str],
        options: Mapping[str, str],
        patience: float = PATIENCE,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a program; it has `patience` seconds to be ready, and for any later answer."""
        super().__init__(command, patience, environment)
        self.options: dict[str, ProgramOption] = {}  # by names in lower case
        self._chess960 = False
        try:
            self._introduce(options)
        except BaseException:
            self.kill()
            raise

    def _introduce(self, options: Mapping[str, str]) -> None:
        self._send("uci")
        for line in iter(self._line, "uciok"):
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ")
            elif line.startswith("option name "):
                option = parse_option(line)
                self.options[option.name.casefold()] = option
        for name, value in options.items():
            self.set_option(name, value)
        self.ready()

    def set_option(self, name: str, value: str) -> None:
        """Set an option; an InputError names one that the program does not have."""
        option = self.options.get(name.casefold())
        if option is None:
            names = sorted(announced.name for announced in self.options.values())
            fix = f"known: {', '.join(names) or 'it has none'}"
            raise InputError("the engine has no such option", value=name, fix=fix)
        self._send(option.command(value))

    def new_game(self, chess960: bool, patience: float | None = None) -> None:
        """Forget what was learnt in the last game, so that games do not depend on their order."""
        if chess960 != self._chess960:
            if "uci_chess960" not in self.options:
                raise InputError("the engine does not play Chess960", value=self.name)
            self.set_option("UCI_Chess960", str(chess960).lower())
            self._chess960 = chess960
        self._send("ucinewgame")
        self.ready(patience)

    def ready(self, patience: float | None = None) -> None:
        """Wait until it has done all that was sent; earlier answers left unread are dropped."""
        self._send("isready", patience)
        while self._line() != "readyok":
            pass
        self._at_rest()

    def search(self, position: str, limit: str, patience: float | None = None) -> SearchAnswer:
        """Search `startpos moves ...` or `fen ... moves ...` within `nodes 2000` or `depth 8`."""
        started = time.perf_counter()
        self._send(f"position {position}\ngo {limit}", patience)
        lines: list[str] = []
        while not (line := self._line()).startswith("bestmove"):
            if line.startswith("info ") and not line.startswith("info string"):
                lines.append(line)
        milliseconds = 1000.0 * (time.perf_counter() - started)
        self._at_rest()
        return SearchAnswer("".join(line.split()[1:2]), lines, milliseconds)

    def perft(self, position: str, depth: int) -> int:
        """Leaves so many plies below a position, as long as it takes; of Stockfish's commands."""
        self._send(f"position {position}\ngo perft {depth}", math.inf)
        while not (line := self._line()).startswith("Nodes searched"):
            pass
        self._at_rest()
        return int(line.split(":")[1])


def parse_option(line: str) -> ProgramOption:
    """Read a line in which a program announces an option.

    >>> parse_option("option name Threads type spin default 1 min 1 max 8")
    ProgramOption(name='Threads', kind='spin', default='1', low=1.0, high=8.0, choices=())
    """
    name, _, rest = line.removeprefix("option name ").partition(" type ")
    kind, *parts = _OPTION_WORDS.split(rest)
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    facts = dict(pairs)
    low, high = (_WHOLE.fullmatch(facts.get(key, "")) for key in ("min", "max"))
    return ProgramOption(
        name=name.strip(),
        kind=kind.strip(),
        default=facts.get("default", ""),
        low=float(low[0]) if low else -math.inf,
        high=float(high[0]) if high else math.inf,
        choices=tuple(text for key, text in pairs if key == "var"),
    )


def parse_info(line: str) -> Info:
    """Read an info line; a ValueError says that it cannot be read.

    >>> parse_info("info depth 9 score cp 31 lowerbound nodes 20 multipv 2 pv e2e4 e7e5")
    Info(depth=9, nodes=20, rank=2, cp=31, mate=None, bound=True, move='e2e4')
    """
    tokens = [*line.split(), ""]  # so that every word has a next one

    def after(key: str) -> str | None:
        return tokens[tokens.index(key) + 1] if key in tokens else None

    def number(key: str) -> int | None:
        text = after(key)
        return None if text is None else int(text)

    kind = after("score")
    if kind not in (None, "cp", "mate"):
        raise ValueError(f"a score in {kind!r}")
    amount = None if kind is None else int(tokens[tokens.index("score") + 2])
    return Info(
        depth=number("depth"),
        nodes=number("nodes"),
        rank=number("multipv") or 1,
        cp=amount if kind == "cp" else None,
        mate=amount if kind == "mate" else None,
        bound="lowerbound" in tokens or "upperbound" in tokens,
        move=after("pv") or "",
    )

"""An outside UCI program.

Matches, teachers and checks use it; it stands just above position. A plain pipe and a parser of
the few words that matter cost 0.1 ms a search, ten times less than a general client, which counts
where a search takes one or two.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kibitz.core.errors import InputError
from kibitz.uci.program import PATIENCE, Program, SearchAnswer

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
        """The line that sets it; an InputError names a value that the program does not know."""
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
        self, command: Sequence[str], options: Mapping[str, str], patience: float = PATIENCE
    ) -> None:
        """Start a program; it has `patience` seconds to be ready, and for any later answer."""
        super().__init__(command, patience)
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

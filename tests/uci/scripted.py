"""A GUI without a process: lines go to a session on a thread, answers come back with patience."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Iterator
from types import TracebackType

import pytest

from kibitz.engine import Engine
from kibitz.uci.loop import run
from kibitz.uci.session import Session

PATIENCE = 180.0  # seconds; kernels may have to be compiled beside other work


class Gui:
    """Says lines and expects others."""

    def __init__(self, engine: Engine | None = None, *, remote: bool = False) -> None:
        self.said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.heard: queue.Queue[str] = queue.Queue()
        self.all: list[str] = []
        self.session = Session(self.heard.put, engine or Engine("material"), remote=remote)
        self.thread = threading.Thread(target=run, args=(self.session, self._lines()))

    def _lines(self) -> Iterator[str]:
        while (line := self.said.get()) is not None:
            yield line

    def say(self, *lines: str) -> None:
        for line in lines:
            self.said.put(line + "\n")

    def expect(self, pattern: str) -> list[str]:
        """Wait for a line that a pattern matches from its start; all lines up to it."""
        lines = []
        while True:
            try:
                lines.append(self.heard.get(timeout=PATIENCE))
            except queue.Empty:
                pytest.fail(f"waited for {pattern!r}, heard {lines}")
            self.all.append(lines[-1])
            if re.match(pattern, lines[-1]):
                return lines

    def ask(self, line: str, pattern: str) -> list[str]:
        self.say(line)
        return self.expect(pattern)

    def silent(self) -> bool:
        """Whether nothing more was said than what was expected."""
        return self.heard.empty()

    def leave(self) -> None:
        """The end of the input."""
        self.said.put(None)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()

    def __enter__(self) -> Gui:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.session.stop()
        self.leave()

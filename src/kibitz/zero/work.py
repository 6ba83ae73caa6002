"""What every stage of learning is given, and how it says what it does."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kibitz.core.log import Level, Stop, level, set_level
from kibitz.core.workers import processors
from kibitz.zero.config import LearnSettings
from kibitz.zero.folder import Folder, Now

NOW_SECONDS = 2.0  # between two words on what is being done


@dataclass
class Work:
    """What every stage needs; says in the folder what is being done."""

    folder: Folder
    settings: LearnSettings
    stop: Stop
    role: str
    stage: str = ""
    generation: int = 0
    until: float = 0.0  # when the hours are over, seconds since 1970; 0: never
    done: float = 0.0
    total: float = 0.0
    _began: float = 0.0
    _said: float = 0.0
    _first: float = 0.0
    _measured: bool = False  # whether anything was done since this stage began

    @property
    def cores(self) -> int:
        """Processors to be used."""
        return self.settings.learn.cores or processors()

    def begin(self, stage: str, generation: int, total: float = 0.0, done: float = 0.0) -> None:
        """Say that a stage begins, with so much to be done, of which some is done."""
        self.stage, self.generation, self.total, self.done = stage, generation, total, done
        self._began, self._said, self._first = time.monotonic(), 0.0, done
        self._measured = False
        self.advance(0)

    def reach(self, done: float) -> None:
        """Say that so much is done in all; what was done before counts for no speed."""
        if self.done:
            self.advance(done - self.done)
        else:
            self.begin(self.stage, self.generation, self.total, done)

    def advance(self, amount: float = 1.0) -> None:
        """Say that more is done, every few seconds.

        Speed is measured from the first that is done: kernels may be compiled before it.
        """
        moment = time.monotonic()
        if amount and not self._measured:
            self._began, self._first, self._measured = moment, self.done + amount, True
        self.done += amount
        if moment - self._said < NOW_SECONDS:
            return
        self._said = moment
        seconds = moment - self._began
        now = Now(
            role=self.role,
            stage=self.stage,
            generation=self.generation,
            done=self.done,
            total=self.total,
            rate=(self.done - self._first) / seconds if seconds > 0 else 0.0,
            time=time.time(),
            process=os.getpid(),
            until=self.until,
        )
        self.folder.say_now(now)


def processor_seconds() -> float:
    """Return the processor time of this process and of those it has waited for."""
    return sum(os.times()[:4])


@contextmanager
def quietly() -> Iterator[None]:
    """Let what runs inside say nothing, unless more than usual is wanted."""
    before = level()
    set_level(Level.QUIET if before is Level.NORMAL else before)
    try:
        yield
    finally:
        set_level(before)

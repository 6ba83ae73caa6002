"""The engines of the server: a bounded number, each kept with its tree until it is replaced."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kibitz.core.errors import InputError
from kibitz.engine import Engine
from kibitz.engine.levels import STRONGEST, WEAKEST, against_people
from kibitz.search.mcts.rules.parameters import OFF, RULE_NAMES
from kibitz.search.method import PRESETS, changes_of
from kibitz.search.options import SearchName


class EngineChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an engine is to be; the fields that a page may choose, and no others."""

    network: str = ""  # a name of the list of networks; empty: the default
    search: SearchName = "mcts"
    preset: str = "default"
    rule: str = ""
    contempt: int | None = None  # visits at which replies freeze
    lines: int = 3
    elo: int | None = None
    raw: bool = False  # priors as the network gives them
    mistakes: int | None = None  # of people of this rating: it plays for them

    def options(self) -> dict[str, Any]:
        """The engine's options by their names in Python."""
        if not 1 <= self.lines <= 10:
            raise InputError("lines", value=self.lines, fix="expected 1 to 10")
        changes = changes_of(self.preset, self.rule)
        changes |= {"multipv": self.lines, "search": self.search}
        if self.contempt is not None:
            changes["sc_limit"] = max(1, min(OFF, self.contempt))
        if self.mistakes is not None and self.elo is not None:
            fix = "leave out the one or the other"
            raise InputError("mistakes are played for at full strength", value=self.elo, fix=fix)
        if self.elo is not None:
            elo = max(WEAKEST, min(STRONGEST, self.elo))
            seed = random.randrange(1 << 31)  # or every game of a level would begin alike
            changes |= {"limit_strength": True, "elo": elo, "seed": seed}
        if self.raw:
            changes |= {"policy_temperature": 1.0}
        return changes


CHOICES = {"presets": [*PRESETS], "rules": [*RULE_NAMES], "elo": [WEAKEST, STRONGEST]}


@dataclass(eq=False)
class Session:
    """An engine and what it was made for."""

    wanted: EngineChoice
    engine: Engine
    busy: bool = True
    used: float = field(default_factory=time.monotonic)


class Engines:
    """Hands engines out; methods may be called from any thread."""

    def __init__(
        self, most: int, threads: int, memory: int, network: Callable[[str], str] = str
    ) -> None:
        self.most, self._threads, self._memory = most, threads, memory
        self._network = network  # file or built-in evaluator of a name; refuses others
        self._sessions: list[Session] = []
        self._lock = threading.Lock()

    @contextmanager
    def use(self, wanted: EngineChoice) -> Iterator[Engine]:
        """An engine for the time of the block."""
        session, failed = self.take(wanted), True
        try:
            yield session.engine
            failed = False
        finally:
            self.give_back(session, failed=failed)

    def take(self, wanted: EngineChoice, liked: Session | None = None) -> Session:
        """An engine that is not in use, `liked` if that is one; it keeps what it has searched."""
        options, network = wanted.options(), self._network(wanted.network)
        if wanted.mistakes is not None:
            options |= against_people(network, wanted.mistakes)
            network = options.pop("weights")
        with self._lock:
            idle = [session for session in self._sessions if not session.busy]
            fitting = [session for session in idle if session.wanted == wanted]
            if fitting:
                chosen = (
                    liked if liked in fitting else max(fitting, key=lambda session: session.used)
                )
                chosen.busy = True
                return chosen
            old = None
            if len(self._sessions) >= self.most:
                old = min(idle, key=lambda session: session.used, default=None)
                if old is None:
                    fix = "stop a search in another tab, or start the server with more --engines"
                    raise InputError(f"all {self.most} engines are in use", fix=fix)
                self._sessions.remove(old)
            engine = Engine(network, threads=self._threads, hash=self._memory, **options)
            chosen = Session(wanted, engine)
            self._sessions.append(chosen)
        if old is not None:
            old.engine.close()
        return chosen

    def give_back(self, session: Session, *, failed: bool = False) -> None:
        """Make an engine free for others; close one that failed, which may have another network."""
        with self._lock:
            session.busy, session.used = False, time.monotonic()
            failed = failed and session in self._sessions
            if failed:
                self._sessions.remove(session)
        if failed:
            session.engine.close()

    def keeps(self, session: Session) -> bool:
        """Whether an engine is still there."""
        return session in self._sessions

    def close(self) -> None:
        """End all engines."""
        with self._lock:
            sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.engine.close()

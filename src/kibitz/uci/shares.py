"""What the callers of `proxy.Server` may take of its machine together: memory and threads.

Each caller has a `Share`, which its engine asks before an option changes. What it was given counts
until something smaller is loaded, not only wanted.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

from kibitz.core.errors import InputError
from kibitz.core.workers import memory, processors
from kibitz.engine.backend import parse_backend_options
from kibitz.engine.options import EngineOptions
from kibitz.search.params import Settings

MIB = 1 << 20
OF_MEMORY = 3 / 4  # of the machine's, for all callers
UNKNOWN_MIB = 4_096  # where the system does not say how much it has
CALLER_MIB = 128  # of a caller beside what options set: networks, the tables of `bench`
CACHED_BYTES = 136  # of a position in the cache
BATCHED_MIB = 0.25  # of a position in a batch: planes, and what the layers make of them
LARGEST_BATCH = 256  # unless BackendOptions say otherwise


class Need(NamedTuple):
    """What an engine may come to take."""

    memory: int  # MiB
    threads: int  # that compute at the same time
    largest: tuple[str, object]  # the option that asks for most memory, and its value
    busiest: tuple[str, object]  # that asks for most threads


def need_of(settings: Settings, options: EngineOptions) -> Need:
    """What an engine with these options may come to take, whatever network it has.

    >>> need_of(Settings(hash=1024, threads=2), EngineOptions(backend_options="threads=3"))[:2]
    (1186, 4)
    """
    backend = parse_backend_options(options.backend_options)
    sessions = len(backend.get("device", ("cpu",)))
    batch = backend.get("batch", LARGEST_BATCH)
    if not backend.get("padded"):
        batch = min(batch, settings.minibatch_size)
    parts: dict[tuple[str, object], float] = {
        ("Hash", settings.hash): settings.hash,
        ("NNCacheSize", options.cache_size): options.cache_size * CACHED_BYTES / MIB,
        ("BackendOptions", options.backend_options): batch * sessions * BATCHED_MIB,
    }
    together = backend.get("threads", 1) * sessions
    busiest: tuple[str, object] = ("Threads", settings.threads)
    if together > settings.threads:
        busiest = ("BackendOptions", options.backend_options)
    mib = CALLER_MIB + math.ceil(sum(parts.values()))
    largest = max(parts, key=lambda part: parts[part])
    return Need(mib, settings.threads + together - 1, largest, busiest)


class Share:
    """What a caller has; the allowance of its engine."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._loaded: Need | None = None  # of what is loaded

    def ask(self, settings: Settings, options: EngineOptions) -> None:
        """Count what options need from now on, or raise an InputError."""
        self._shares.give(self, need_of(settings, options), self._loaded)

    def hold(self, settings: Settings, options: EngineOptions) -> None:
        """Count what is loaded, and nothing else any more."""
        self._loaded = need_of(settings, options)
        self._shares.give(self, self._loaded, None)

    def end(self) -> None:
        """Leave all to others."""
        self._shares.take_back(self)


class Shares:
    """The limits, and what each caller has of them."""

    def __init__(self, mib: int | None = None, threads: int | None = None) -> None:
        total = memory()
        own = UNKNOWN_MIB if total is None else int(total * OF_MEMORY) // MIB
        self.mib = own if mib is None else mib
        self.threads = processors() if threads is None else threads
        self._lock = threading.Lock()
        self._given: dict[Share, tuple[int, int]] = {}  # MiB and threads

    def give(self, share: Share, need: Need, loaded: Need | None) -> None:
        """Count a need as long as there is room; never less than what is held still."""
        mib = max(need.memory, 0 if loaded is None else loaded.memory)
        threads = max(need.threads, 0 if loaded is None else loaded.threads)
        with self._lock:
            others = [given for other, given in self._given.items() if other is not share]
            has_mib, has_threads = self._given.get(share, (0, 1))  # a thread is everybody's
            left = self.mib - sum(given[0] for given in others)
            if mib > max(left, has_mib):
                raise _refusal(need.largest, f"{self.mib} MiB", left, "--most-memory")
            left = self.threads - sum(given[1] for given in others)
            if threads > max(left, has_threads):
                raise _refusal(need.busiest, f"{self.threads} threads", left, "--most-threads")
            self._given[share] = mib, threads

    def take_back(self, share: Share) -> None:
        """Count a caller no more."""
        with self._lock:
            self._given.pop(share, None)


def _refusal(option: tuple[str, object], limit: str, left: int, flag: str) -> InputError:
    name, value = option
    what = f"{name} takes more than the {max(0, left)} left of {limit} for all callers"
    return InputError(what, value=value, fix=f"give less, or start the server with a larger {flag}")

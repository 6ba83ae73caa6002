"""Who compiles while others wait, and who helps; processes -> **locks, promises** -> the cache.

Processes that find the cache cold compile one after the other, so that the second finds the work of
the first. The one that compiles may have a helper: a process of its own that compiles one kernel
meanwhile, so that a second processor is used.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kibitz.locks import lock, opened
from kibitz.workers import processors

HELPER_SECONDS = 120.0  # a helper that takes longer is given up


class CompileLock:
    """A lock between processes, taken at the first kernel that is missing in the cache.

    `scope` wraps every compilation, nested ones included; leaving the outermost releases. Threads
    of one process are serialised by numba's own lock.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._file: Any = None
        self.ignored = False  # by helpers, whose master has it

    @property
    def held(self) -> bool:
        """Whether this process is one that compiles."""
        return self.ignored or self._file is not None

    def acquire(self, folder: Path) -> None:
        """Wait until no other process compiles into `folder`."""
        self._file = opened(folder / "compiling.lock")
        lock(self._file)

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Release the lock when the outermost compilation ends."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._file is not None:
                self._file.close()  # closing releases the lock
                self._file = None


class Promises:
    """Kernels that helpers are compiling, by name."""

    def __init__(self) -> None:
        self._helpers: dict[str, tuple[subprocess.Popen[bytes], Any]] = {}

    def ask(self, name: str, module: str, arguments: Sequence[str], folder: Path) -> None:
        """Start `python -m module`, which puts kernel `name` into the cache in `folder`.

        Not if there is nobody to run it on, or a helper of another process is at work.
        """
        frozen = getattr(sys, "frozen", False)  # then the executable is a program, not Python
        if name in self._helpers or processors() < 2 or not sys.executable or frozen:
            return
        try:
            turn = opened(folder / "helping.lock")
        except OSError:  # a cache that cannot be written: nothing a helper makes would be found
            return
        if not lock(turn, wait=False):
            turn.close()
            return
        command = [sys.executable, "-P", "-m", module, *arguments]
        nothing = subprocess.DEVNULL
        try:
            helper = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
        except OSError:  # then this process does it all
            turn.close()
            return
        self._helpers[name] = helper, turn

    def kept(self, name: str) -> bool:
        """Wait for the helper that compiles `name`; whether there was one that ended well."""
        if name not in self._helpers:
            return False
        helper, turn = self._helpers.pop(name)
        try:
            return helper.wait(HELPER_SECONDS) == 0
        except subprocess.TimeoutExpired:
            helper.kill()
            helper.wait()
            return False
        finally:
            turn.close()


compile_lock = CompileLock()
promises = Promises()

"""Locks between processes, and files that one process at a time makes longer.

The system gives a lock back when its process ends, however it ends. Behind a URL there is none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kibitz.core.errors import InputError
from kibitz.core.files import Location, local_path, named_failures
from kibitz.core.log import say

WINDOWS_POLL_SECONDS = 0.05
LOCK_FILE = ".lock"
_LOCKED_BYTE = 1 << 20  # on Windows a locked byte cannot be read; the name of the work can


@contextmanager
def alone(folder: Location, work: str) -> Iterator[None]:
    """Refuse to begin where another process works already; `work` says what is done, in a word."""
    local = local_path(folder)
    if local is None:
        say(f"{os.fspath(folder)}: there are no locks behind a URL, see that no other {work} runs")
        yield
        return
    path = local / LOCK_FILE
    with named_failures(path, "cannot write"):
        file = opened(path)
    with file:
        if not lock(file, wait=False):
            other, _, process = _content(file).partition(" ")
            what = f"another {other or work} is running here (process {process or 'unknown'})"
            raise InputError(what, value=str(local), fix="wait for it, or name another folder")
        with named_failures(path, "cannot write"):
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"{work} {os.getpid()}".encode())  # closing writes nothing more
        yield


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, waiting for it if need be; without one where nothing can be written."""
    try:
        file = opened(path)
    except OSError:
        yield
        return
    with file:
        lock(file)
        yield


def opened(path: Path) -> IO[bytes]:
    """Open a lock file, made if it is missing; closing it releases the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+b")


def lock(file: IO[bytes], wait: bool = True) -> bool:
    """Lock a file until it is closed; False if another process has it and `wait` is off."""
    if os.name == "nt":
        while not _locked_on_windows(file):
            if not wait:
                return False
            time.sleep(WINDOWS_POLL_SECONDS)
        return True
    import fcntl

    with suppress(BlockingIOError):
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return True
    return False


def _locked_on_windows(file: IO[bytes]) -> bool:
    """Try once: Windows itself gives up waiting after ten seconds, and compiling takes longer."""
    import msvcrt

    file.seek(_LOCKED_BYTE)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except PermissionError:
        return False
    return True


class GrowingFile:
    """A file to which whole pieces are added: a piece that does not fit leaves nothing behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with named_failures(path, "cannot write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a buffer: what was refused must not come back when the file is closed.
            self._file = path.open("a+b", buffering=0)
        # Devices and pipes have no content to read, to cut or to bring to the disk.
        self._regular = path.is_file()

    def read(self) -> bytes:
        """All that is in it."""
        self._file.seek(0)
        return self._file.readall() if self._regular else b""

    def cut(self, size: int) -> None:
        """Keep only the first bytes."""
        self._file.truncate(size)

    def add(self, content: bytes) -> None:
        """Add a piece, handed to the operating system when this returns."""
        size, left = os.fstat(self._file.fileno()).st_size, memoryview(content)
        with named_failures(self.path, "cannot write"):
            try:
                while left:
                    left = left[self._file.write(left) :]
            except OSError:
                if self._regular:
                    self.cut(size)
                raise

    def lock(self) -> bool:
        """Lock it until it is closed; False if another process has it."""
        return lock(self._file, wait=False)

    def close(self) -> None:
        """Close it; what was added is on the disk."""
        with self._file, named_failures(self.path, "cannot write"):
            if self._regular:
                os.fsync(self._file.fileno())

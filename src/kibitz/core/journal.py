"""Locks between processes, files that grow, and the journal of long work."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Generic, TypeVar

import msgspec

from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.core.files import Location, crc32_of, local_path, named_failures, read_bytes
from kibitz.core.log import say

WINDOWS_POLL_SECONDS = 0.05
LOCK_FILE = ".lock"
_LOCKED_BYTE = 1 << 20  # on Windows a locked byte cannot be read; the name of the work can


@contextmanager
def with_lock(folder: Location, work: str) -> Iterator[None]:
    """Refuse to begin where another process works already; `work` says what is done, in a word."""
    local = local_path(folder)
    if local is None:
        say(f"{os.fspath(folder)}: there are no locks behind a URL, see that no other {work} runs")
        yield
        return
    path = local / LOCK_FILE
    with named_failures(path, "cannot write"):
        file = open_lock(path)
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
        file = open_lock(path)
    except OSError:
        yield
        return
    with file:
        lock(file)
        yield


def open_lock(path: Path) -> IO[bytes]:
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


# --- journals -------------------------------------------------------------------------------------
#
# A file that keeps finished pieces of long work through any interruption, one line each.
#
# The first line says what work it is, every further one is a finished piece, handed to the
# operating system at once. Each is a JSON object that ends with a checksum of itself. A line that a
# crash left unfinished is cut off when the work goes on; a file that is no journal is left as it
# is.


Header = TypeVar("Header", bound=msgspec.Struct)
Entry = TypeVar("Entry", bound=msgspec.Struct)
Kind = TypeVar("Kind")

_CHECKED = re.compile(rb'(\{.*),"crc":"([0-9a-f]{8})"\}')
_ANOTHER = "name another file"


class JournalFile(Generic[Header, Entry]):
    """The finished pieces of some work; `work` and `piece` name them in messages."""

    def __init__(
        self, path: Path, header: Header, kind: type[Entry], *, work: str, piece: str
    ) -> None:
        self.path, self._work, self._piece = path, work, piece
        self.entries: list[Entry] = []
        self._file = GrowingFile(path)
        try:
            if not self._file.lock():
                what = f"another process works on this {work}"
                raise InputError(what, value=str(path), fix="wait for it, or name another file")
            self._read(header, kind)
        except BaseException:
            self._file.close()
            raise

    def _read(self, header: Header, kind: type[Entry]) -> None:
        content, first = self._file.read(), _line(header)
        *lines, torn = content.split(b"\n")
        if lines:
            self._compare(self._read_line(1, lines[0], type(header)), header)
        elif not first.startswith(torn):
            raise DamagedFileError(
                f"no journal of a {self._work}", value=str(self.path), fix=_ANOTHER
            )
        for number, line in enumerate(lines[1:], start=2):
            self.entries.append(self._read_line(number, line, kind))
        if torn:
            self._file.cut(len(content) - len(torn))
            say(f"{self.path}: cut off a {self._piece} that was not written to its end")
        if not lines:
            self._file.add(first)

    def _read_line(self, number: int, line: bytes, kind: type[Kind]) -> Kind:
        """What a line says, if it is as it was written."""
        match = _CHECKED.fullmatch(line)
        if match is not None and crc32_of(match[1]) == match[2].decode():
            with suppress(msgspec.ValidationError):  # a sound line in a wrong place
                return msgspec.json.decode(line, type=kind)
        what = f"line {number} is not of a {self._work}, or was changed"
        fix = f"remove this line, and its {self._piece} is made again"
        raise DamagedFileError(what, value=str(self.path), fix=_ANOTHER if number == 1 else fix)

    def _compare(self, stored: Header, wanted: Header) -> None:
        """Refuse to mix two works; what differs is named."""
        for name in stored.__struct_fields__:
            old, new = getattr(stored, name), getattr(wanted, name)
            if old != new:
                what = f"{self.path} is of another {self._work}: {name} was {old!r}"
                raise InputError(what, value=new, fix="repeat the settings, or name another file")

    def add(self, entry: Entry) -> None:
        """Keep a piece; one that cannot be written ends the work, which can go on from there."""
        try:
            self._file.add(_line(entry))
        except FileError as error:
            count = len(self.entries)
            error.fix = f"it has {count} {self._piece}s; make room and repeat the command"
            raise
        self.entries.append(entry)

    def close(self) -> None:
        """Close the file; what was added is on the disk."""
        self._file.close()


def read_record(path: Path, kind: type[Kind], *, what: str, fix: str) -> Kind:
    """A record that has a file of its own; of a damaged one, what it is not, and what helps."""
    try:
        return msgspec.json.decode(read_bytes(path), type=kind)
    except msgspec.MsgspecError as error:
        raise DamagedFileError(f"not {what} ({error})", value=str(path), fix=fix) from error


def _line(content: msgspec.Struct) -> bytes:
    """A JSON object whose last field is the checksum of what precedes it."""
    body = msgspec.json.encode(content)[:-1]
    return b'%b,"crc":"%b"}\n' % (body, crc32_of(body).encode())

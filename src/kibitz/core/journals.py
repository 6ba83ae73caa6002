"""A file that keeps finished pieces of long work through any interruption, one line each.

The first line says what work it is, every further one is a finished piece, handed to the operating
system at once. Each is a JSON object that ends with a checksum of itself. A line that a crash left
unfinished is cut off when the work goes on; a file that is no journal is left as it is.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from kibitz.core.checksums import crc32_of
from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.core.files import read_bytes
from kibitz.core.locks import GrowingFile
from kibitz.core.log import say

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
        found = _CHECKED.fullmatch(line)
        if found is not None and crc32_of(found[1]) == found[2].decode():
            with suppress(msgspec.ValidationError):  # a sound line in a wrong place
                return msgspec.json.decode(line, type=kind)
        what = f"line {number} is not of a {self._work}, or was changed"
        fix = f"remove this line, and its {self._piece} is made again"
        raise DamagedFileError(what, value=str(self.path), fix=_ANOTHER if number == 1 else fix)

    def _compare(self, found: Header, wanted: Header) -> None:
        """Refuse to mix two works; what differs is named."""
        for name in found.__struct_fields__:
            old, new = getattr(found, name), getattr(wanted, name)
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

"""Packed files, unpacked on the way, and arrays in files: content up to stated caps.

A stranger's file may unpack to thousands of times its size. Everything is unpacked in pieces, so
that memory stays small and signals are heard, and no further than two caps, which can be raised:

* KIBITZ_MOST_RATIO (200): how many times its packed size a file may unpack to; the first 64 MiB are
  free, since short texts of little variety pack well.
* KIBITZ_MOST_MIB (4096): how much of a file is held in memory at once. What is read game by game or
  line by line may be larger.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from kibitz.core.errors import DamagedFileError, InputError, KibitzError
from kibitz.core.files import Location, most_bytes, number_of, open_read, read_all

RATIO = "KIBITZ_MOST_RATIO"
USUAL_RATIO = 200
FREE = 64 << 20  # bytes of content that no ratio is asked of

_BLOCK = 1 << 18
_ZSTD = (".zst", ".zstd")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", *_ZSTD)


def unpacked_name(location: Location) -> str:
    """How the content of a file would be called if it were not packed."""
    text = os.fspath(location)
    return text[: -len(_suffix(location))] if _suffix(location) in COMPRESSED else text


def _suffix(location: Location) -> str:
    return os.path.splitext(os.fspath(location))[1].lower()  # noqa: PTH122 - it may be a URL


def read_unpacked(location: Location) -> bytes:
    """Return the content of a path or URL, unpacked."""
    with open_unpacked(location) as file:
        return read_all(file, location)


@contextmanager
def open_unpacked(location: Location) -> Iterator[BinaryIO]:
    """Open a path or URL for reading; .gz, .bz2, .xz, .zst and .zip are unpacked on the way."""
    suffix = _suffix(location)
    with open_read(location) as packed:
        if suffix not in COMPRESSED:
            yield packed
            return
        with _named(suffix, location):
            content = _unpacked(packed, suffix, location)
        yield content


@contextmanager
def _named(suffix: str, location: Location) -> Iterator[None]:
    """Turn what damaged content raises into an error that names the file."""
    try:
        yield
    except KibitzError:
        raise
    except _errors(suffix) as error:
        reason = str(error) or "it ends too early"
        raise DamagedFileError(
            f"cannot decompress ({reason})", value=os.fspath(location), fix="fetch it again"
        ) from error


def unzstd(content: bytes, location: Location) -> bytes:
    """Return what a content in zstd unpacks to; the size in its header is checked, not believed."""
    import zstandard

    with _named(".zst", location):
        size = zstandard.frame_content_size(content)
        if size >= 0:
            _refuse_size(size, location)
            refuse_ratio(size, len(content), location)
            return zstandard.decompress(content)
        return read_all(_unpacked(io.BytesIO(content), ".zst", location), location)


def arrays_of(content: bytes, location: Location, kind: str) -> dict[str, Any]:
    """Return the arrays of a safetensors file, writable; damage names the kind of file."""
    import safetensors
    import safetensors.numpy

    try:
        arrays = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise DamagedFileError(
            f"damaged {kind}: its arrays cannot be read ({error})",
            value=os.fspath(location),
            fix="fetch or make it again",
        ) from error
    return {name: array.copy() for name, array in arrays.items()}


def parts_of(content: bytes, location: Location, kind: str) -> dict[str, bytes]:
    """Return what is in a zip archive, by name; `kind` is what the file should be."""
    import zipfile

    with _named(".zip", location), zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        _refuse_size(size, location)
        refuse_ratio(size, len(content), location)
        try:
            return {name: archive.read(name) for name in archive.namelist()}
        except RuntimeError as error:  # a password is wanted
            raise DamagedFileError(f"no {kind} ({error})", value=os.fspath(location)) from error


# --- caps -----------------------------------------------------------------------------------------


def _refuse_size(size: int, location: Location) -> None:
    if size > most_bytes():
        what = f"says that it unpacks to {size:,} bytes, more than may be held in memory"
        fix = "if you trust it, raise KIBITZ_MOST_MIB"
        raise DamagedFileError(what, value=os.fspath(location), fix=fix)


def refuse_ratio(size: int, packed: int, location: Location) -> None:
    """Refuse what unpacks to more times its size than is allowed."""
    most = number_of(RATIO, USUAL_RATIO)
    if most and size > max(FREE, most * packed):
        what = f"unpacks to more than {most} times its size ({packed:,} to {size:,} bytes)"
        fix = f"if you trust it, raise {RATIO}; 0 is no limit"
        raise DamagedFileError(what, value=os.fspath(location), fix=fix)


class _Counting:
    """A packed file, and how many bytes of it were read."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        block = self._packed.read(size)
        self.count += len(block)
        return block


class _Measured(io.RawIOBase):
    """The content of a packed file, up to the cap of its ratio."""

    def __init__(self, content: Any, packed: _Counting, suffix: str, location: Location) -> None:
        self._content, self._packed = content, packed
        self._suffix, self._location = suffix, location
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _named(self._suffix, self._location):
            # One block at a time: all before damage is still given.
            block = self._content.read1(min(len(buffer), _BLOCK))
        self._size += len(block)
        refuse_ratio(self._size, self._packed.count, self._location)
        buffer[: len(block)] = block
        return len(block)


# --- kinds ----------------------------------------------------------------------------------------


def _unpacked(packed: BinaryIO, suffix: str, location: Location) -> BinaryIO:
    counting = _Counting(packed)
    content: Any
    if suffix == ".gz":
        import gzip

        content = gzip.GzipFile(fileobj=cast(Any, counting))
    elif suffix == ".bz2":
        import bz2

        content = bz2.BZ2File(cast(Any, counting))
    elif suffix == ".xz":
        import lzma

        content = lzma.LZMAFile(cast(Any, counting))  # noqa: SIM115 - closed with its source
    elif suffix == ".zip":
        content = _only_file(packed, location)
        counting.count = packed.seek(0, os.SEEK_END)  # it goes to and fro: all of it counts
    else:
        content = _ZstdFile(counting)
    return io.BufferedReader(_Measured(content, counting, suffix, location), _BLOCK)


def _only_file(packed: BinaryIO, location: Location) -> BinaryIO:
    """The one file of an archive, as books of openings are published."""
    import zipfile

    archive = zipfile.ZipFile(packed)
    files = [member for member in archive.infolist() if not member.is_dir()]
    if len(files) != 1:
        fix = f"unpack it and name one of its {len(files)} files"
        raise InputError("not one file in this archive", value=os.fspath(location), fix=fix)
    if files[0].flag_bits & 1:
        fix = "unpack it with its password"
        raise InputError("this archive is encrypted", value=os.fspath(location), fix=fix)
    return cast(BinaryIO, archive.open(files[0]))


def _errors(suffix: str) -> tuple[type[Exception], ...]:
    """What damaged content of a kind of file raises; the modules are loaded when it does."""
    if suffix == ".gz":
        import gzip
        import zlib

        return EOFError, zlib.error, gzip.BadGzipFile
    if suffix == ".bz2":
        return EOFError, OSError
    if suffix == ".xz":
        import lzma

        return EOFError, lzma.LZMAError
    if suffix in _ZSTD:
        import zstandard

        return EOFError, zstandard.ZstdError
    import lzma
    import zipfile
    import zlib

    # A method or a version that is not known here is a NotImplementedError.
    unknown = NotImplementedError, UnicodeDecodeError, ValueError, OverflowError
    return EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError, *unknown


class _Followed:
    """A packed file with something more behind its end."""

    def __init__(self, packed: _Counting, end: bytes) -> None:
        self._packed, self._end = packed, end

    def read(self, size: int) -> bytes:
        block = self._packed.read(size)
        if not block:
            block, self._end = self._end, b""
        return block


class _ZstdFile:
    """Reads frames of zstd to the end; zstandard's own reader takes a cut file for a whole one.

    One more frame, of bytes that nobody can guess, is put behind the last. Where they do not come
    out at the end, the frame before has swallowed them, and so is cut.
    """

    def __init__(self, packed: _Counting) -> None:
        import zstandard

        self._mark, self._tail = secrets.token_bytes(16), b""
        source = cast(Any, _Followed(packed, zstandard.compress(self._mark)))
        decoder = zstandard.ZstdDecompressor()
        self._content = decoder.stream_reader(source, read_across_frames=True)

    def read1(self, size: int) -> bytes:
        while block := self._content.read(size):
            content, place = self._tail + block, max(len(self._tail) + len(block) - 16, 0)
            ready, self._tail = content[:place], content[place:]
            if ready:
                return ready
        if self._tail != self._mark:
            raise EOFError
        return b""

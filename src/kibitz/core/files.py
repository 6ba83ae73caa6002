"""Files on this machine or behind a URL: whole or not at all, with checksums."""

from __future__ import annotations

import datetime
import hashlib
import io
import os
import re
import secrets
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias, TypeVar, cast

from kibitz.core.errors import (
    FileError,
    InputError,
    KibitzError,
    MissingExtraError,
    missing_extra,
    shorten,
)

TRIES = 3  # beside those of the file system itself
WAIT_SECONDS = 0.5  # before the second try, and twice as long before each further one

# What another try does not change; file systems raise ValueError for addresses that they cannot
# have, and NotImplementedError where they can only be read.
_LASTING = (
    *(PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError),
    *(ValueError, NotImplementedError),
)

# What broken connections raise that is no error of the operating system, by the module that
# defines it: only a module that is loaded can have raised one.
_FOREIGN = {
    "botocore.exceptions": "BotoCoreError",  # s3fs
    "aiohttp": "ClientError",  # s3fs, gcsfs, http
    "gcsfs.retry": "HttpError",
    "google.auth.exceptions": "TransportError",  # gcsfs
    "azure.core.exceptions": "AzureError",  # adlfs
    "paramiko": "SSHException",  # sftp
}

Answer = TypeVar("Answer")


def filesystem(url: str) -> Any:
    """Return the fsspec file system that serves a URL."""
    try:
        import fsspec
    except ImportError as error:
        raise missing_extra(f"the URL {url}", "fsspec", "cloud") from error
    try:
        return fsspec.core.url_to_fs(url)[0]
    except ImportError as error:  # fsspec is here but the package for this scheme is not
        raise MissingExtraError(f"the URL {url} needs one more package", fix=str(error)) from error
    except ValueError as error:
        raise InputError("no file system serves this URL", value=url, fix=str(error)) from error


def ask(url: str, work: Callable[[Any, str], Answer]) -> Answer:
    """What a file system answers; `work` gets it, its listings fresh, and the path in it."""
    for number in range(TRIES):
        try:
            system = filesystem(url)
            system.invalidate_cache()
            return work(system, system._strip_protocol(url))
        except (FileNotFoundError, KibitzError):
            raise
        except _LASTING as error:
            raise FileError(f"it cannot be used ({_reason(error)})", value=url) from error
        except _broken() as error:
            if number == TRIES - 1:
                raise no_answer(url, error) from error
            time.sleep(WAIT_SECONDS * 2**number)
    raise AssertionError


def fetch(url: str) -> bytes:
    """The whole content."""
    content: bytes = ask(url, lambda system, path: system.cat_file(path))
    return content


def send(source: Path, url: str) -> None:
    """Replace the content by that of a file: a reader sees the old one or the new one.

    An object store shows an object when all of it has arrived. Elsewhere it gets another name
    first.
    """
    from fsspec.asyn import AsyncFileSystem

    if isinstance(filesystem(url), AsyncFileSystem):
        ask(url, lambda system, path: system.put_file(str(source), path))
        return
    folder, _, name = url.rpartition("/")
    partial = f"{folder}/.{name}.{secrets.token_hex(6)}.partial"
    ask(folder, lambda system, path: system.makedirs(path, exist_ok=True))
    ask(partial, lambda system, path: system.put_file(str(source), path))
    ask(url, lambda system, path: system.mv(system._strip_protocol(partial), path))


def state_of(url: str) -> str:
    """A text that changes with the content."""
    return str(ask(url, lambda system, path: system.ukey(path)))


def _broken() -> tuple[type[Exception], ...]:
    return (OSError, EOFError, *foreign_errors())


def foreign_errors() -> tuple[type[Exception], ...]:
    """What broken connections may raise beside errors of the operating system."""
    loaded = [(sys.modules[name], kind) for name, kind in _FOREIGN.items() if name in sys.modules]
    return tuple(getattr(module, kind) for module, kind in loaded)


def no_answer(url: str, error: Exception) -> FileError:
    """The error of a connection that stays broken."""
    fix = "see that the store can be reached, then repeat the command"
    return FileError(f"no answer ({_reason(error)})", value=url, fix=fix)


def _reason(error: Exception) -> str:
    return shorten(" ".join(str(error).split()), 200) or type(error).__name__


# --- reading and writing --------------------------------------------------------------------------
#
# Reading and writing files so that no file is ever half written.
#
# A location is a path or a URL. URLs go through fsspec (``s3://``, ``gs://``, ``memory://`` ...).
# Writes are atomic: readers see the old content or the new, never a mixture, whatever happens.


Location: TypeAlias = str | os.PathLike[str]

# At least two letters, so that the drive in C:\ is not taken for a scheme.
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+)://", re.IGNORECASE)

# A partial file not written to for this long belongs to a process that died. Younger ones
# may be another machine's work in progress on a shared folder, where process numbers mean nothing.
ABANDONED_SECONDS = 3600.0

MOST = "KIBITZ_MOST_MIB"  # of a file that is held in memory at once; 0 is no limit
USUAL_MOST = 4096
_BLOCK = 1 << 20


def local_path(location: Location) -> Path | None:
    """Return the path of a location on this machine, or None when it lies behind a URL."""
    text = os.fspath(location)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Path(text)
    if scheme[1].lower() == "file":
        from urllib.parse import urlsplit
        from urllib.request import url2pathname  # slow to import, rarely needed

        return Path(url2pathname(urlsplit(text).path))
    return None


@contextmanager
def open_read(location: Location) -> Iterator[BinaryIO]:
    """Open a path or URL for reading bytes."""
    with named_failures(location, "cannot read"):
        path = local_path(location)
        url = os.fspath(location)
        try:
            with path.open("rb") if path is not None else ask(url, _open) as file:
                yield cast(BinaryIO, file)
        except foreign_errors() as error:
            raise no_answer(url, error) from error


def _open(system: Any, path: str) -> Any:
    return system.open(path)


def read_bytes(location: Location) -> bytes:
    """Return the whole content of a path or URL."""
    if local_path(location) is None:
        with named_failures(location, "cannot read"):
            return fetch(os.fspath(location))
    with open_read(location) as file:
        path = local_path(location)
        if path is not None and path.is_file() and path.stat().st_size <= most_bytes():
            return file.read()
        return read_all(file, location)


def read_all(file: BinaryIO, location: Location) -> bytes:
    """Return the rest of an open file, if it may be held in memory; a device has no end."""
    content, most = bytearray(), most_bytes()
    while block := file.read(_BLOCK):
        content += block
        if len(content) > most:
            what = f"more than {most >> 20} MiB, which may not be held in memory at once"
            fix = f"cut it into parts, or raise {MOST}"
            raise FileError(what, value=os.fspath(location), fix=fix)
    return bytes(content)


def most_bytes() -> int:
    """Return how much of a file may be held in memory at once (``KIBITZ_MOST_MIB``)."""
    return number_of(MOST, USUAL_MOST) << 20 or sys.maxsize


def number_of(variable: str, usual: int) -> int:
    """Return the whole number that an environment variable has, or the usual one."""
    text = os.environ.get(variable, str(usual))
    if not (text.isdecimal() and text.isascii() and len(text) < 10):
        raise InputError(variable, value=text, fix="give a whole number; 0 is no limit")
    return int(text)


def write_bytes(location: Location, content: bytes) -> None:
    """Replace the content of a path or URL, atomically."""
    with atomic_write(location) as file:
        file.write(content)


def refuse_folder(output: Path) -> None:
    """Refuse a folder as a file to be written, before the work whose result it is to hold."""
    if output.is_dir():
        raise InputError("the output is a folder", value=str(output), fix="name a file in it")


@contextmanager
def atomic_write(location: Location) -> Iterator[IO[bytes]]:
    """Open a location for writing; the content appears there only when the block ends well."""
    with named_failures(location, "cannot write"):
        path = local_path(location)
        with _upload(os.fspath(location)) if path is None else _written(path) as file:
            yield file


def _written(path: Path) -> AbstractContextManager[IO[bytes]]:
    """Open a file to be replaced, or what is no file: a device or a pipe, which must stay there."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return path.open("wb")
    return _replace(path)


@contextmanager
def _replace(path: Path) -> Iterator[IO[bytes]]:
    """Write a partial file beside ``path``, then move it over ``path``."""
    target = path.resolve()  # a link stays a link; what it points at is replaced
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


@contextmanager
def _upload(url: str) -> Iterator[IO[bytes]]:
    """Collect the content locally and send it only when complete."""
    with tempfile.TemporaryDirectory(prefix="kibitz-") as folder:
        path = Path(folder) / "content"
        with path.open("xb") as local:
            yield local
        send(path, url)


def _remove_abandoned(target: Path) -> None:
    """Remove what killed writers of ``target`` left behind."""
    pattern = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{12}\.partial")
    for entry in target.parent.iterdir():
        if pattern.fullmatch(entry.name):
            try:
                if time.time() - entry.stat().st_mtime > ABANDONED_SECONDS:
                    entry.unlink()
            except FileNotFoundError:
                continue  # its writer has just finished, or another process removed it


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut (Windows offers no such call and needs none)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cut_torn_line(path: Path) -> None:
    """Remove a last line that a crash left unfinished; a file that is missing stays so."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)


@contextmanager
def named_failures(location: Location, action: str) -> Iterator[None]:
    """Turn errors of the operating system into errors that name the file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileError) or not _concerns(error, location):
            raise
        name = os.fspath(location)
        if isinstance(error, FileNotFoundError):
            what = "no such file" if action == "cannot read" else f"{action}: no such folder"
            raise FileError(what, value=name, fix="check the path") from error
        if isinstance(error, FileExistsError | NotADirectoryError):
            what = f"{action}: {os.fspath(error.filename or name)!r} is no folder"
            raise FileError(what, value=name, fix="name another folder") from error
        raise FileError(f"{action} ({error.strerror or error})", value=name) from error


def _concerns(error: OSError, location: Location) -> bool:
    """Whether an error is of this file, not of another one that the caller's block opened."""
    if error.filename is None:  # a failed read or write, as opposed to a failed open
        return True
    failed, path = Path(os.fsdecode(error.filename)), local_path(location)
    if path is None:
        return False
    ours = {path, *path.parents, path.resolve(), *path.resolve().parents}
    return failed in ours or failed.suffix == ".partial"


def data_folder() -> Path:
    """Return where downloaded networks and games live (``KIBITZ_DATA`` overrides)."""
    return _folder("KIBITZ_DATA", "user_data_path")


def cache_folder() -> Path:
    """Return where things that can be made again live (``KIBITZ_CACHE`` overrides)."""
    return _folder("KIBITZ_CACHE", "user_cache_path")


def _folder(variable: str, lookup: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(getattr(platformdirs, lookup)("kibitz", appauthor=False))


# --- dates ----------------------------------------------------------------------------------------

EPOCH_VARIABLE = "SOURCE_DATE_EPOCH"  # reproducible-builds.org: seconds since 1970 instead of now
LAST_EPOCH = 253_402_300_799  # of the year 9999
_dates_left_out = False


def leave_out_dates(wanted: bool) -> None:
    """Choose whether files of this process have dates and measured times from now on."""
    global _dates_left_out
    _dates_left_out = wanted


def check_epoch() -> None:
    """Refuse a SOURCE_DATE_EPOCH that is no date, before a library fails on it."""
    epoch = os.environ.get(EPOCH_VARIABLE)
    if epoch is not None and not (epoch.isdecimal() and int(epoch) <= LAST_EPOCH):
        raise InputError(EPOCH_VARIABLE, value=epoch, fix="give seconds since 1970")


def has_dates() -> bool:
    """Whether files have dates and measured times; without them a seed fixes every byte."""
    return not _dates_left_out and EPOCH_VARIABLE not in os.environ


def measured(value: float) -> float:
    """A measured time or speed as files have it: 0 where they have none."""
    return value if has_dates() else 0.0


def dated(moment: datetime.datetime) -> str:
    """A date as files have it, ISO 8601: SOURCE_DATE_EPOCH's where it is set, empty if left out."""
    if _dates_left_out:
        return ""
    epoch = os.environ.get(EPOCH_VARIABLE)
    if epoch is not None:
        check_epoch()
        moment = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    return moment.isoformat(timespec="seconds")


# --- checksums ------------------------------------------------------------------------------------
#
# Checksums: of whole files, and inside files that are checked whenever they are read.
#
# Two places inside a file are in use. A checksum at the end follows a mark and covers all before
# the mark. One in a header stands in the metadata of a safetensors file as `"seal":"..."` and
# covers the whole file with the checksum's own digits replaced by zeros.


HEADER_KEY = "seal"
ZEROS = "0" * 64  # what the header holds before `fill_header`

_DIGEST_BYTES = 32
_IN_HEADER = re.compile(rb'"seal":"([0-9a-f]{64})"')


class ChecksumError(ValueError):
    """A content without a checksum (`expected` is empty), or with the checksum of another."""

    def __init__(self, expected: str = "", actual: str = "") -> None:
        super().__init__(f"expected checksum {expected[:16]}, found {actual[:16]}")
        self.expected, self.actual = expected, actual

    def why(self, kind: str) -> str:
        """What is wrong with a file that should be of a kind."""
        if self.expected:
            return "the content does not match its checksum"
        return f"no checksum: the file is cut, or no {kind}"


def crc32_of(content: bytes) -> str:
    """Return the CRC-32 as 8 hex digits, for short texts that a crash may have cut."""
    return f"{zlib.crc32(content):08x}"


def newer_format(what: str, version: int, newest: int, value: object) -> InputError:
    """Build the error for a file of a format that is not known yet."""
    text = f"{what} format {version}, this Kibitz reads up to {newest}"
    return InputError(text, value=value, fix="update Kibitz")


# --- whole files ----------------------------------------------------------------------------------


def sha256_of(location: Location) -> str:
    """Return the SHA-256 of a file as 64 hex digits, without holding the file in memory."""
    with open_read(location) as file:
        if isinstance(file, io.BufferedReader):
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()


# --- at the end -----------------------------------------------------------------------------------


def with_ending(content: bytes, mark: bytes = b"", *, as_hex: bool = False) -> bytes:
    """Return the content, the mark and the content's SHA-256 as 32 bytes or 64 hex digits."""
    digest = hashlib.sha256(content)
    return content + mark + (digest.hexdigest().encode() if as_hex else digest.digest())


def without_ending(content: bytes, mark: bytes = b"", *, as_hex: bool = False) -> bytes:
    """Return what precedes the mark and the checksum, or raise ChecksumError."""
    size = len(mark) + _DIGEST_BYTES * (1 + as_hex)
    body, ending = content[:-size], content[-size:]
    if len(ending) < size or not ending.startswith(mark):
        raise ChecksumError
    digest = ending[len(mark) :]
    _compare(body, digest.decode("latin1") if as_hex else digest.hex())
    return body


# --- in the header of a safetensors file ----------------------------------------------------------


def fill_header(content: bytes) -> bytes:
    """Put the checksum into a file that was written with `"seal": ZEROS` in its metadata."""
    return content.replace(_entry(ZEROS), _entry(hashlib.sha256(content).hexdigest()), 1)


def check_header(content: bytes) -> None:
    """Raise ChecksumError unless every byte is as `fill_header` left it."""
    entry = _IN_HEADER.search(content)
    if entry is None:
        raise ChecksumError
    _compare(content.replace(entry[0], _entry(ZEROS), 1), entry[1].decode())


def _entry(digits: str) -> bytes:
    return f'"{HEADER_KEY}":"{digits}"'.encode()


def _compare(content: bytes, expected: str) -> None:
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise ChecksumError(expected, actual)

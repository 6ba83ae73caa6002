"""Files and folders on this machine or behind a URL, with the same methods.

A `Url` has the methods of a `Path`, through the file system of fsspec that serves it.
`core/files.py` reads and writes both.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import msgspec

from kibitz.core.errors import FileError, InputError, KibitzError
from kibitz.core.files import (
    Location,
    ask,
    cache_folder,
    fetch,
    local_path,
    read_bytes,
    send,
    state_of,
    write_bytes,
)
from kibitz.core.journal import locked
from kibitz.core.log import say


@dataclass(frozen=True, order=True)
class Url(os.PathLike[str]):
    """A file or folder behind a URL."""

    text: str

    def __fspath__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> Url:
        return Url(f"{self.text.rstrip('/')}/{name}")

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts between the slashes."""
        return tuple(self.text.rstrip("/").split("/"))

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]

    @property
    def stem(self) -> str:
        """The last part without its kind."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """The kind of file, with its dot."""
        return PurePosixPath(self.name).suffix

    def with_suffix(self, suffix: str) -> Url:
        """Another kind of the same name."""
        return Url(self.text.rstrip("/").removesuffix(self.suffix) + suffix)

    def resolve(self) -> Url:
        """The same: links behind a URL are not followed."""
        return self

    def exists(self) -> bool:
        """Whether there is a file or folder."""
        return bool(ask(self.text, lambda system, path: system.exists(path)))

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(ask(self.text, lambda system, path: system.isdir(path)))

    def is_file(self) -> bool:
        """Whether it is a file."""
        return bool(ask(self.text, lambda system, path: system.isfile(path)))

    def rglob(self, pattern: str) -> Iterator[Url]:
        """The files in the folder and its folders whose names are like the pattern."""
        texts: list[str] = ask(self.text, _find)
        return (Url(text) for text in texts if fnmatch(text.rsplit("/", 1)[-1], pattern))

    def glob(self, pattern: str) -> Iterator[Url]:
        """The files in the folder itself whose names are like the pattern."""
        depth = len(self.parts) + 1
        return (path for path in self.rglob(pattern) if len(path.parts) == depth)

    def unlink(self) -> None:
        """Remove the file."""
        ask(self.text, lambda system, path: system.rm_file(path))


def _find(system: Any, folder: str) -> list[str]:
    return [system.unstrip_protocol(path) for path in system.find(folder)]


Place: TypeAlias = Path | Url


def place(location: Location) -> Place:
    """The path or URL that a text means; a `file:` URL is the path it names."""
    if isinstance(location, Url):
        return location
    local = local_path(location)
    if local is not None:
        return local
    return Url(ask(os.fspath(location), lambda system, path: system.unstrip_protocol(path)))


def size_of(location: Place) -> int:
    """The bytes of a file."""
    if isinstance(location, Path):
        return location.stat().st_size
    return int(ask(location.text, lambda system, path: system.size(path)))


def below(location: Place, folder: Place) -> tuple[str, ...]:
    """The parts of a place after those of a folder it lies in; none if it does not."""
    parts, head = location.resolve().parts, folder.resolve().parts
    return parts[len(head) :] if parts[: len(head)] == head else ()


def files_below(folder: Place, pattern: str) -> list[Place]:
    """The files in a folder and its folders, by name."""
    files: list[Place] = [file for file in folder.rglob(pattern) if file.is_file()]
    return sorted(files, key=lambda file: file.parts)


def existing(location: Place) -> Place:
    """The place, if there is something."""
    if not location.exists():
        raise FileError("no such file or folder", value=str(location), fix="check the path")
    return location


# --- copies ---------------------------------------------------------------------------------------
#
# Copies on this machine of what lies behind URLs: shards that were read, files that are worked on.
#
# Shards are kept as long as there is room. A **working copy** is a file or folder behind a URL that
# a command changes: it is fetched at the beginning, and what has changed is sent every few seconds
# and at the end, so that rooms see paths of this machine only. It stays when a command is killed,
# and the next one goes on with it.


ROOM = "KIBITZ_CACHE_MIB"  # for shards that were read behind URLs
USUAL_ROOM = 10_000
SEND_SECONDS = 15.0
STATE = "state.json"
NOT_SENT = ("claims", "processes")  # locks, and what processes do right now

# --- shards ---------------------------------------------------------------------------------------


def read_kept(location: Location) -> bytes:
    """The content of a file; one behind a URL is kept on this machine."""
    if local_path(location) is not None:
        return read_bytes(location)
    url = os.fspath(location)
    name = sha256(f"{url} {state_of(url)}".encode()).hexdigest()
    folder, room = cache_folder() / "objects", _room()
    path = folder / name
    if path.is_file():
        os.utime(path)  # the youngest stay
        return path.read_bytes()
    content = fetch(url)
    if len(content) <= room:
        write_bytes(path, content)
        make_room(folder, room)
    return content


def _room() -> int:
    text = os.environ.get(ROOM, str(USUAL_ROOM))
    if not text.isdecimal():
        raise InputError(ROOM, value=text, fix="give a whole number of MiB, 0 for none")
    return int(text) << 20


def make_room(folder: Path, room: int) -> None:
    """Remove what was not read for longest."""
    files = []
    for path in folder.iterdir():
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue  # another process has removed it
        files.append((stat.st_mtime, stat.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= room:
            return
        path.unlink(missing_ok=True)
        total -= size


# --- working copies -------------------------------------------------------------------------------


class FileState(msgspec.Struct, frozen=True):
    """A file as it was when both sides were the same."""

    size: int
    modified: int
    behind: str  # the state behind the URL


class WorkingCopy:
    """A file or folder behind a URL and its copy here; `path` is where."""

    def __init__(self, url: Url) -> None:
        self.url = url
        self._home = cache_folder() / "copies" / sha256(url.text.encode()).hexdigest()[:24]
        self.path = self._home / url.name
        with locked(self._home / "lock"):
            self._fetch()

    def _fetch(self) -> None:
        """Bring here what has changed behind the URL; what was not sent yet stays."""
        synced = self._read_synced()
        behind = {str(Path(*parts)): url for parts, url in self._behind()}
        for name, url in behind.items():
            path, state, before = self._home / name, state_of(url.text), synced.get(name)
            if before is not None and before.behind == state and path.is_file():
                continue
            if path.is_file() and before is not None and not _same(path, before):
                say(f"{url}: changed by others, and here; theirs is taken")
            write_bytes(path, fetch(url.text))
            synced[name] = _state_now(path, state)
        for name in [*synced]:
            if name not in behind and _same(self._home / name, synced.pop(name)):
                (self._home / name).unlink(missing_ok=True)
        self._keep(synced)

    def send(self) -> None:
        """Send what has changed here, oldest first: what says that work is done comes last."""
        with locked(self._home / "lock"):
            synced, now = self._read_synced(), time.time_ns()
            files = {str(path.relative_to(self._home)): path for path in self._files()}
            try:
                for name, path in sorted(files.items(), key=lambda item: _modified_at(item[1])):
                    if name in synced and _same(path, synced[name]):
                        continue
                    if _modified_at(path) > now:
                        break  # others may be missing that were written before it
                    state, url = _state_now(path, ""), self._url(name)
                    send(path, url)
                    synced[name] = msgspec.structs.replace(state, behind=state_of(url))
                for name in [*synced]:
                    if name not in files:
                        Url(self._url(name)).unlink()
                        del synced[name]
            except FileNotFoundError:
                pass  # removed or replaced meanwhile: the next time sees how it is then
            finally:
                self._keep(synced)

    def _url(self, name: str) -> str:
        below = Path(name).parts[1:]
        return "/".join([self.url.text.rstrip("/"), *below])

    def _files(self) -> Iterator[Path]:
        if self.path.is_file():
            yield self.path
        for folder, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if name not in NOT_SENT and name[0] != "."]
            yield from (Path(folder, name) for name in names if name[0] != ".")

    def _behind(self) -> Iterator[tuple[tuple[str, ...], Url]]:
        """Files behind the URL, by their parts from its name on."""
        start = len(self.url.parts) - 1
        files = self.url.rglob("*") if self.url.is_dir() else [self.url]
        yield from ((file.parts[start:], file) for file in files if file.is_file())

    def _read_synced(self) -> dict[str, FileState]:
        """Read how each file was when both sides were the same, by its path here."""
        path = self._home / STATE
        if not path.is_file():
            return {}
        return msgspec.json.decode(read_bytes(path), type=dict[str, FileState])

    def _keep(self, synced: dict[str, FileState]) -> None:
        write_bytes(self._home / STATE, msgspec.json.encode(synced))


def _modified_at(path: Path) -> int:
    """When a file was last written, in nanoseconds."""
    return path.stat().st_mtime_ns


def _state_now(path: Path, behind: str) -> FileState:
    stat = path.stat()
    return FileState(stat.st_size, stat.st_mtime_ns, behind)


def _same(path: Path, before: FileState) -> bool:
    """Whether a file here is as it was when both sides were the same."""
    if not path.is_file():
        return False
    stat = path.stat()
    return (stat.st_size, stat.st_mtime_ns) == (before.size, before.modified)


_copies: dict[str, WorkingCopy] = {}  # of this process
_ended = threading.Event()


def working_copy(location: Location) -> Path:
    """The path of a location; behind a URL, of a working copy that is sent until `send_all`."""
    folder: Place = place(location)
    if isinstance(folder, Path):
        return folder
    if folder.text not in _copies:
        if not _copies:
            _ended.clear()
            threading.Thread(target=_send_now_and_then, args=(_ended,), daemon=True).start()
        _copies[folder.text] = WorkingCopy(folder)
    return _copies[folder.text].path


def _send_now_and_then(ended: threading.Event) -> None:
    while not ended.wait(SEND_SECONDS):
        for copy in [*_copies.values()]:
            try:
                copy.send()
            except (KibitzError, OSError) as error:
                say(f"not sent yet: {error}")


def send_all() -> None:
    """Send what is left; from now on there are no working copies."""
    _ended.set()
    copies = [*_copies.values()]
    _copies.clear()
    for copy in copies:
        copy.send()


def as_given(text: str) -> str:
    """A text with URLs in place of the paths of their copies."""
    for copy in _copies.values():
        text = text.replace(str(copy.path), copy.url.text)
    return text

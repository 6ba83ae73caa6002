"""Files and folders on this machine or behind a URL, with the same methods.

A `Url` has the methods of a `Path`, through the file system of fsspec that serves it.
`core/files.py` reads and writes both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from kibitz.core.errors import FileError
from kibitz.core.files import Location, local_path
from kibitz.core.stores import ask


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
        found: list[str] = ask(self.text, _find)
        return (Url(one) for one in found if fnmatch(one.rsplit("/", 1)[-1], pattern))

    def glob(self, pattern: str) -> Iterator[Url]:
        """The files in the folder itself whose names are like the pattern."""
        depth = len(self.parts) + 1
        return (found for found in self.rglob(pattern) if len(found.parts) == depth)

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
    found: list[Place] = [one for one in folder.rglob(pattern) if one.is_file()]
    return sorted(found, key=lambda one: one.parts)


def existing(location: Place) -> Place:
    """The place, if there is something."""
    if not location.exists():
        raise FileError("no such file or folder", value=str(location), fix="check the path")
    return location

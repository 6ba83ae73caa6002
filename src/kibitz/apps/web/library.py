"""The files that the page may open: those below folders named on the command line, no others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kibitz.core.errors import InputError
from kibitz.core.unpacking import COMPRESSED
from kibitz.data.shard import SUFFIX as SHARD
from kibitz.nets.card import read_card
from kibitz.nets.discover import RUN, SUFFIXES, discovered, named, shipped
from kibitz.nets.kinds import NetworkCard, is_leela
from kibitz.nets.load import SIMPLE
from kibitz.train.metrics import METRICS

MOST_FILES = 20_000  # that are looked at in all folders
MOST_BYTES = 64 << 20  # of a file of games or positions that is read
MISTAKE = "a mistake of the server; its terminal shows more"
KINDS = {".pgn": "games", ".epd": "suite", ".csv": "puzzles", SHARD: "shard"}
KINDS |= dict.fromkeys(SUFFIXES, "network")
_FOLDERS = re.compile(r"(?<![\w./:\\])(?:[A-Za-z]:)?(?:[\\/]+[^'\"\n;:\\/]+)*[\\/]+(?=[^\\/\s])")
NAMES = {RUN: "run", METRICS: "training"}  # of files that make their folder one


class Entry(NamedTuple):
    """A file or folder that can be opened, by the name the page knows it by."""

    name: str
    kind: str
    path: Path


def names_only(text: object) -> str:
    """An error as a page may see it: files by their names, without the server's folders.

    >>> names_only("no such file: '/home/me/nets/best.safetensors'; see https://x.org/a/b")
    "no such file: 'best.safetensors'; see https://x.org/a/b"
    """
    return _FOLDERS.sub("", str(text))


def kind_of(file: Path) -> str:
    """What a file is by its name; empty if the page has no use for it."""
    if file.name in NAMES:
        return NAMES[file.name]
    if is_leela(file):
        return "network"
    bare = file.with_suffix("") if file.suffix in COMPRESSED else file
    return KINDS.get(bare.suffix.lower(), "")


class Library:
    """What lies in the folders."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise InputError("no such folder", value=str(folder), fix="name a folder of files")
        self._folders = tuple(folder.resolve() for folder in folders)

    def entries(self) -> list[Entry]:
        """All that can be opened; hidden files and links out of the folders are left out."""
        entries = []
        for number, folder in enumerate(self._folders):
            for file in islice(_files_below(folder), MOST_FILES):
                kind = kind_of(file)
                place = file.parent if file.name in NAMES else file
                inside = place.resolve().is_relative_to(folder)
                if kind and inside:
                    name = f"{number}/{place.relative_to(folder).as_posix()}"
                    entries.append(Entry(name, kind, place))
        return entries

    def find(self, name: str, *kinds: str) -> Path:
        """The file of a name; refuses what does not lie in the folders or is of another kind."""
        number, _, rest = name.partition("/")
        with suppress(IndexError, ValueError, OSError):  # not the name of a file
            folder = self._folders[int(number)]
            path = (folder / rest).resolve()
            marks = [path / mark for mark, kind in NAMES.items() if kind in kinds]
            fits = kind_of(path) in kinds or any(mark.is_file() for mark in marks)
            if number.isdecimal() and path.is_relative_to(folder) and fits and path.exists():
                return path
        raise InputError("no such file in the folders of this server", value=name)

    def text_file(self, name: str, *kinds: str) -> Path:
        """A file of a size that can be read at once."""
        path = self.find(name, *kinds)
        if path.stat().st_size > MOST_BYTES:
            fix = f"cut it into files of at most {MOST_BYTES >> 20} MiB"
            raise InputError("the file is too large for the browser", value=path.name, fix=fix)
        return path

    # --- networks -------------------------------------------------------------------------------

    def networks(self) -> dict[str, str]:
        """The networks to choose from: what an engine is given, by the name on the page."""
        files = {named(network.file): str(network.file) for network in shipped()}
        for own in discovered():
            files.setdefault(own.file.name, str(own.file))
        for entry in self.entries():
            if entry.kind == "network":
                files.setdefault(entry.name.partition("/")[2], str(entry.path))
        return files | {name: name for name in SIMPLE}

    def network(self, name: str) -> str:
        """What an engine is given for a name of the list; nothing for the default."""
        if not name:
            return "default"
        files = self.networks()
        if name not in files:
            raise InputError("no such network here", value=name, fix="choose one of the list")
        return files[name]

    def card(self, name: str) -> NetworkCard | None:
        """The card of a network; None for what is built in."""
        file = self.network(name)
        return None if file in SIMPLE else read_card(file)


def _files_below(folder: Path) -> Iterator[Path]:
    """Files in a folder and its folders, in order, hidden ones left out; links are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in sorted(names) if not name.startswith("."))

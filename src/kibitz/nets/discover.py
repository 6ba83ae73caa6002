"""Finds a network file by a name, or by none at all.

Without a name, or by the name `default`, the newest of the user's own networks is meant, those in
the user's data folder, else the one that is shipped with the package, else the evaluator that
counts material. Nothing is taken from the current folder unless it is named: what lies there may be
a stranger's. `shipped` means the one of the package whatever else is there. Shipped networks also
go by their short names, which are their files' names without the suffix. So do the user's in
Leela's format; they play only where they are named: those that predict people are not made to win.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import kibitz
from kibitz.core.errors import DamagedFileError, InputError, KibitzError
from kibitz.core.files import Location, data_folder, local_path
from kibitz.core.log import Level, say
from kibitz.core.provenance import took_part
from kibitz.core.workers import local_copy
from kibitz.nets.card import (
    LEELA_SUFFIXES,
    ForeignFileError,
    NetworkCard,
    is_leela,
    stem_of,
)
from kibitz.nets.files import read_card
from kibitz.nets.models.sizes import inline_maker

AUTODISCOVER = "<autodiscover>"
PAIR = "+"  # between a network of values and one of moves
NAMELESS = ("", AUTODISCOVER, "default")
SHIPPED = "shipped"
FALLBACK = "material"  # the built-in evaluator that is better than none
SUFFIXES = (".safetensors", ".onnx", *LEELA_SUFFIXES)
SHIPPED_FOLDER = Path(kibitz.__file__).parent / "nets" / "shipped"
BEST = "best.safetensors"  # in the folder of a run of `kibitz learn`: its best network
RUN = "learn.toml"  # in that folder: the settings of the run
DEFAULT_FILE = "default.txt"  # in that folder: the short name of the default, on one line


_announced: set[Path] = set()  # files that were said to be taken, or damaged


class NetworkFile(NamedTuple):
    """A network file that can be used."""

    file: Path
    card: NetworkCard
    shipped: bool


def resolve(what: Location) -> str:
    """The file or built-in evaluator that a name means; a file goes before a shipped network.

    The folder of a run of `kibitz learn` means its best network, FOLDER@8 that of generation 8.
    """
    name = os.fspath(what)
    if name in NAMELESS:
        return _announce(discover())
    if name == SHIPPED:
        return str(shipped_default() or FALLBACK)
    path = local_path(name)
    if path is None or path.is_file():
        return name
    if (path / BEST).is_file():
        return str(path / BEST)
    if (path / RUN).is_file():
        fix = "after its first training this makes one: kibitz learn FOLDER --resume"
        raise InputError("this run of kibitz learn has no network yet", value=name, fix=fix)
    if (generation := _generation(name)) is not None:
        return generation
    if halves(name) is not None:
        return PAIR.join(resolve(half) for half in name.split(PAIR, 1))
    file = shipped_file(name) or fetched_file(name)
    return name if file is None else str(file)


def _generation(name: str) -> str | None:
    """The network of a generation, as FOLDER@8 names it; None if that is not what is meant."""
    folder, at, number = name.rpartition("@")
    root = local_path(folder) if at and number.isdecimal() else None
    if root is None or not (root / RUN).is_file():
        return None
    file = root / "networks" / f"{int(number):04}-int8.safetensors"
    if not file.is_file():
        there = sorted(int(path.name[:4]) for path in file.parent.glob("[0-9]*-int8.safetensors"))
        fix = f"give one from {there[0]} to {there[-1]}" if there else "it has none yet"
        raise InputError("the run has no network of this generation", value=name, fix=fix)
    return str(file)


def _announce(taken: str) -> str:
    """Say once which of the user's networks was taken without being named."""
    file = Path(taken)
    shipped_one = taken == FALLBACK or file.parent == SHIPPED_FOLDER
    if not shipped_one and file.resolve() not in _announced:
        _announced.add(file.resolve())
        say(f"network: {file}, the newest found; name another one, or 'shipped' for Kibitz's own")
    return taken


def named(what: Location) -> str:
    """How results name a network: a short name if it is shipped or built in, else its file."""
    pair = halves(what)
    if pair is not None:
        return PAIR.join(named(half) for half in pair)
    name = os.fspath(what)
    return stem_of(name) if Path(name).parent == SHIPPED_FOLDER else name


def take_part(what: Location, *, later: bool = False) -> None:
    """Have results name a network, by its file, with its checksum: now, or when they are told."""
    for half in halves(what) or (what,):
        where = os.fspath(half)
        path = local_path(where)
        if path is None or path.is_file():  # the evaluators that are built in have none
            took_part(Path(named(where)).name, where, partial(_checksum, where), later=later)


def _checksum(where: str) -> str:
    return read_card(where).sha256


def short_name(what: Location) -> str:
    """The name of a network in the settings file: its file's, without folder and suffix."""
    pair = halves(what) or (os.fspath(what),)
    stems = [stem_of(half) if half.endswith(SUFFIXES) else half for half in pair]
    return PAIR.join(stems)


def halves(what: Location) -> tuple[str, str] | None:
    """The two networks of a pair VALUE+POLICY, or None if that is not what is meant.

    Both have to be there, for a path may well have a plus in it.
    """
    name = os.fspath(what)
    whole = local_path(name)
    value, plus, policy = name.partition(PAIR)
    if not (value and plus and policy) or whole is None or whole.is_file():
        return None
    return (value, policy) if _is_known(value) and _is_known(policy) else None


def files_of(where: str) -> list[str]:
    """The files on this machine that an evaluator is loaded from."""
    parts = halves(where) or (where,)
    paths = [path for part in parts if (path := local_path(part)) is not None and path.is_file()]
    exports = [path.with_suffix(".onnx") for path in paths]
    return [str(path) for path in dict.fromkeys([*paths, *exports]) if path.is_file()]


def at_work(where: str) -> str:
    """The same evaluator where files were brought to the machine that works with it."""
    whole = local_copy(where)
    return whole if whole != where else PAIR.join(map(local_copy, where.split(PAIR)))


def _is_known(name: str) -> bool:
    if name in (*NAMELESS[1:], SHIPPED):
        return True
    path = local_path(name)
    is_file = path is not None and path.is_file()
    return is_file or (shipped_file(name) or fetched_file(name)) is not None


def discover() -> str:
    """Path of the newest of the user's networks, else of the shipped one, else a built-in name."""
    for network in _networks_in(usual_folders()):
        if not is_leela(network.file):
            return str(network.file)
    shipped = shipped_default()
    return FALLBACK if shipped is None else str(shipped)


def usual_folders() -> list[Path]:
    """Where a user's networks lie: in the data folder and in its networks."""
    data = data_folder()
    return [data, data / "networks"]


def discovered() -> list[NetworkFile]:
    """The user's own networks, newest first."""
    return list(_networks_in(usual_folders()))


def fetched_file(name: str) -> Path | None:
    """The user's network in Leela's format of that short name."""
    files = (folder / f"{name}{suffix}" for folder in usual_folders() for suffix in LEELA_SUFFIXES)
    plain = Path(name).name == name
    return next((file for file in files if plain and file.is_file()), None)


def leela_networks(start: str) -> dict[str, Path]:
    """Networks in Leela's format by their short names, which begin alike: shipped and fetched."""
    files = [file for file in _files_in([*usual_folders(), SHIPPED_FOLDER]) if is_leela(file)]
    return {stem_of(file): file for file in files if stem_of(file).startswith(start)}


# --- shipped with the package ---------------------------------------------------------------------


def shipped() -> list[NetworkFile]:
    """The networks of the package, by their short names."""
    files = sorted(_files_in([SHIPPED_FOLDER]), key=stem_of)
    return [NetworkFile(file, card, True) for file in files if (card := _card_of(file)) is not None]


def shipped_names() -> list[str]:
    """The short names of the networks of the package."""
    return sorted({stem_of(file) for file in _files_in([SHIPPED_FOLDER])})


def shipped_file(name: str) -> Path | None:
    """The shipped network of that short name."""
    for suffix in SUFFIXES:
        file = SHIPPED_FOLDER / f"{name}{suffix}"
        if name in shipped_names() and file.is_file():
            return file
    return None


def shipped_default() -> Path | None:
    """The network that a user without one of his own gets; None if none is shipped."""
    note = SHIPPED_FOLDER / DEFAULT_FILE
    if not note.is_file():
        return None
    name = note.read_text(encoding="utf-8").strip()
    file = shipped_file(name)
    if file is None:
        fix = "install Kibitz again"
        raise DamagedFileError(f"no network {name!r} beside this file", value=str(note), fix=fix)
    return file


# --- files ----------------------------------------------------------------------------------------


def _networks_in(folders: Iterable[Path]) -> Iterable[NetworkFile]:
    """The networks of some folders, newest first; each is read only when it is needed."""
    for file in sorted(_files_in(folders), key=_age):
        card = _card_of(file)
        if card is not None:
            yield NetworkFile(file, card, False)


def _files_in(folders: Iterable[Path]) -> Iterable[Path]:
    """Files that may be networks, each once, whatever its folder is called."""
    files = {
        file.resolve(): file
        for folder in folders
        if folder.is_dir()
        for file in sorted(folder.iterdir())
        if file.name.endswith(SUFFIXES) and file.is_file()
    }
    return files.values()


def _age(file: Path) -> tuple[float, bool]:
    """Newest first; a network goes before the export that was made from it in the same moment."""
    return -file.stat().st_mtime, file.suffix != SUFFIXES[0]


def _card_of(file: Path) -> NetworkCard | None:
    """The card of a file that can be used; a damaged one is named once."""
    try:
        card = read_card(file)
    except KibitzError as error:
        quiet = isinstance(error, ForeignFileError) or file.resolve() in _announced
        _announced.add(file.resolve())
        say(f"not taken for a network: {error}", Level.VERBOSE if quiet else Level.NORMAL)
        return None
    served = file.suffix != SUFFIXES[0] or inline_maker(card.family) != ""
    return card if served or file.with_suffix(".onnx").is_file() else None

"""The disk cache of compiled kernels: what a cached kernel depends on, and how it heals.

Each kernel module and state of its sources has a folder, with the files that numba's own cache
writes. A file that fails its checksum is deleted and its kernel compiled again. Processes that find
the cache cold compile one after the other, so that the second finds the work of the first.

Inner parts of numba, and why: `numba.core.caching` has its cache, `CompileResultCacheImpl` and
`FunctionCache`; the attributes `_impl_class` and `_locator_classes`
say in which folder that works, and the attribute `_cache` of a compiled function holds it. The
public NUMBA_CACHE_LOCATOR_CLASSES concerns every user of numba in a process, and 0.61 does not have
it. `numba.core.event` tells when a compilation begins, ends or fails.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numba
from numba.core import caching, event

from kibitz.files import cache_folder
from kibitz.locks import lock, locked, opened
from kibitz.log import say

PACKAGE = Path(__file__).parents[1]
KEEP_SECONDS = 14 * 24 * 3600  # folders of other source states are dropped after this long unused
CHECKSUMS = "checksums"  # in each folder, as `sha256sum` writes them

BOUNDSCHECK = os.environ.get("KIBITZ_BOUNDSCHECK", "") not in ("", "0")
_config: Any = numba.config
FLAGS = f"bounds={BOUNDSCHECK},opt={_config.OPT}"

# Called with the name of each kernel that has to be compiled because the cache lacks it.
on_compile: list[Callable[[str], None]] = []

# --- what a kernel depends on ---------------------------------------------------------------------

_IMPORT = re.compile(
    r"^\s*(?:from\s+(kibitz(?:\.\w+)*)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+(kibitz(?:\.\w+)*))",
    re.M,
)


@functools.cache
def imported_files(file: Path) -> frozenset[Path]:
    """Files of this package that `file` imports directly, from its text (nothing is executed)."""
    found: set[Path] = set()
    for module, names, plain in _IMPORT.findall(file.read_text(encoding="utf-8")):
        candidates = [module or plain]
        candidates += [f"{module}.{name}" for name in re.findall(r"\w+", names)]
        found.update(path for path in map(_module_file, candidates) if path is not None)
    return frozenset(found)


def _module_file(module: str) -> Path | None:
    parts = module.split(".")[1:]
    if not parts:  # the package itself names every room, but nothing a kernel depends on
        return None
    file = PACKAGE.joinpath(*parts).with_suffix(".py")
    return file if file.is_file() else None


@functools.cache
def source_stamp(file: Path) -> str:
    """Hash of `file` and of every file of the package it reaches through imports."""
    reached, waiting = {file}, [file]
    while waiting:
        new = imported_files(waiting.pop()) - reached
        reached |= new
        waiting.extend(new)
    digest = hashlib.sha256()
    for path in sorted(reached, key=str):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def kernel_folder(file: Path) -> Path:
    """Where the compiled kernels of one module live, for one state of its sources."""
    try:
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    except ValueError:  # a kernel outside the package: a test's or a user's own
        name = f"user-{file.stem}-{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    python = ".".join(map(str, sys.version_info[:2]))
    toolchain = f"numba{numba.__version__}-py{python}-{platform.machine()}"
    stamp = hashlib.sha256(f"{source_stamp(file)}|{FLAGS}".encode()).hexdigest()[:16]
    return cache_folder() / "kernels" / toolchain / f"{name}-{stamp}"


# --- damage ---------------------------------------------------------------------------------------


def _sums_of(folder: Path) -> dict[str, str]:
    files = [path for path in folder.iterdir() if path.suffix in (".nbi", ".nbc")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _write_checksums(folder: Path) -> None:
    lines = [f"{checksum}  {name}\n" for name, checksum in sorted(_sums_of(folder).items())]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


@functools.cache
def _drop_damaged(folder: Path) -> None:
    """Delete files that are not what was once written; looked at once in a process."""
    if not folder.is_dir():
        return
    with locked(folder / "saving.lock"):
        expected = folder / CHECKSUMS
        text = expected.read_text(encoding="utf-8", errors="replace") if expected.is_file() else ""
        known = {tuple(line.split("  ", 1)) for line in text.splitlines()}
        for name, checksum in _sums_of(folder).items():
            if (checksum, name) not in known:
                (folder / name).unlink(missing_ok=True)


# --- one compiling process at a time --------------------------------------------------------------


class _Turn(event.Listener):
    """A lock between processes, from the first kernel that is missing until it is saved.

    Kernels that are compiled on its behalf come under the same turn. Threads of one process are
    serialised by numba's own lock.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._file: IO[bytes] | None = None

    def wait(self, folder: Path) -> bool:
        """Wait until no other process compiles into `folder`; False if it is our turn already."""
        if self._file is not None:
            return False
        try:
            self._file = opened(folder / "compiling.lock")
        except OSError:  # a cache that cannot be written; nothing is shared
            return False
        lock(self._file)
        return True

    def end(self) -> None:
        """Let others compile, unless a kernel of ours is being compiled."""
        if self._depth == 0 and self._file is not None:
            self._file.close()
            self._file = None

    def on_start(self, _event: Any) -> None:
        """Numba begins to compile a function."""
        self._depth += 1

    def on_end(self, _event: Any) -> None:
        """Numba has compiled a function, and will save it, or has failed to."""
        self._depth -= 1
        if sys.exc_info()[0] is not None:  # the event's own `is_failed` says the opposite
            self.end()


_turn = _Turn()
event.register("numba:compile", _turn)


# --- numba's cache in our folders -----------------------------------------------------------------


class _Locator:
    """Tells numba's cache where to keep the kernels of one module."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        """Called by numba's cache, which tries the classes that it is given."""
        return cls(function, file)

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file  # numba's warnings name it
        self._folder = kernel_folder(Path(file))
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return what changes with the sources; the folder's name does."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Tell apart two functions of one name."""
        return str(self._line)


class _Files(caching.CompileResultCacheImpl):
    _locator_classes: Any = (_Locator,)


class KernelCache(caching.FunctionCache):
    """Numba's cache of one function in our folder, with checksums and a turn to compile."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for a signature, or None and the turn to compile it."""
        folder = Path(self.cache_path)
        _drop_damaged(folder)
        found = super().load_overload(sig, target_context)
        if found is None and _turn.wait(folder.parent):
            found = super().load_overload(sig, target_context)
            if found is not None:
                _turn.end()
        if found is None:
            for listener in on_compile or [announce]:
                listener(self._name)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled form; two processes that save into one folder take turns."""
        folder = Path(self.cache_path)
        with locked(folder / "saving.lock"):
            super().save_overload(sig, data)
            _write_checksums(folder)
        _turn.end()


def attach(dispatcher: Any) -> None:
    """Give a function compiled by numba our cache."""
    dispatcher._cache = KernelCache(dispatcher.py_func)


def announce(_kernel: str) -> None:
    """Say that kernels are being compiled; the listener when no other is set."""
    _announce_once()


@functools.cache
def _announce_once() -> None:
    say("compiling kernels for this processor; once after an installation or a change (20-60 s)")
    prune()


def prune(now: float | None = None) -> list[Path]:
    """Delete folders of other source states that were not used for two weeks."""
    root = cache_folder() / "kernels"
    limit = (time.time() if now is None else now) - KEEP_SECONDS
    old = [
        folder
        for folder in (root.glob("*/*") if root.is_dir() else ())
        if folder.is_dir() and _last_used(folder) < limit
    ]
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    return old


def _last_used(folder: Path) -> float:
    """When a file in it was last read or written; looking into a folder counts as reading it."""
    times = [max(entry.stat().st_atime, entry.stat().st_mtime) for entry in folder.iterdir()]
    return max(times, default=folder.stat().st_mtime)

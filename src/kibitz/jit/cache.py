"""The disk cache of compiled kernels: what a cached kernel depends on, and how it heals.

Each kernel module and state of its sources has a folder, with the files that numba's own cache
writes. A file that fails its checksum is deleted and its kernel compiled again. A process that
finds a kernel missing which another one is compiling waits for it. A second process may compile a
kernel beside this one (helper.py).

Inner parts of numba, and why: `numba.core.caching` has its cache, `CompileResultCacheImpl` and
`FunctionCache`; the attributes `_impl_class` and `_locator_classes`
say in which folder that works, and the attribute `_cache` of a compiled function holds it. The
public NUMBA_CACHE_LOCATOR_CLASSES concerns every user of numba in a process, and 0.61 does not have
it. `numba.core.event` tells when a compilation begins, ends or fails.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numba
from numba.core import caching, event

from kibitz.core.files import cache_folder
from kibitz.core.journal import lock, locked, open_lock
from kibitz.core.log import say
from kibitz.jit.target import PACKAGE, SHIPPED, TOOLCHAIN, for_wheels

KEEP_SECONDS = 14 * 24 * 3600  # folders of other source states are dropped after this long unused
CHECKSUMS = "checksums"  # in each folder, as `sha256sum` writes them

BOUNDSCHECK = os.environ.get("KIBITZ_BOUNDSCHECK", "") not in ("", "0")
_config: Any = numba.config
FLAGS = f"bounds={BOUNDSCHECK},opt={_config.OPT}"

# Called with the name of each kernel that has to be compiled because the cache lacks it.
on_compile: list[Callable[[str], None]] = []
# Called before this process waits for one that compiles a kernel: another's, or its own second.
on_wait: list[Callable[[], None]] = []
# As on_compile, where compiled kernels can be saved; for the second process (helper.py).
on_save: list[Callable[[str], None]] = []

# --- what a kernel depends on ---------------------------------------------------------------------

_IMPORT = re.compile(
    r"^\s*(?:from\s+(kibitz(?:\.\w+)*)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+(kibitz(?:\.\w+)*))",
    re.M,
)


@functools.cache
def imported_files(file: Path) -> frozenset[Path]:
    """Files of this package that `file` imports directly, from its text (nothing is executed)."""
    files: set[Path] = set()
    for module, names, plain in _IMPORT.findall(file.read_text(encoding="utf-8")):
        candidates = [module or plain]
        candidates += [f"{module}.{name}" for name in re.findall(r"\w+", names)]
        files.update(path for path in map(_module_file, candidates) if path is not None)
    return frozenset(files)


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
    return cache_folder() / "kernels" / TOOLCHAIN / _folder_name(file)


def _folder_name(file: Path) -> str:
    try:
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    except ValueError:  # a kernel outside the package: a test's or a user's own
        name = f"user-{file.stem}-{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    stamp = hashlib.sha256(f"{source_stamp(file)}|{FLAGS}".encode()).hexdigest()[:16]
    return f"{name}-{stamp}"


# --- damage ---------------------------------------------------------------------------------------


def _sums_of(folder: Path, pattern: str = "*") -> dict[str, str]:
    files = [path for path in folder.glob(pattern) if path.suffix in (".nbi", ".nbc")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _known_sums(folder: Path) -> dict[str, str]:
    file = folder / CHECKSUMS
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    lines = (line.partition("  ") for line in text.splitlines())
    return {name: checksum for checksum, _, name in lines}


def _write_checksums(folder: Path, kernel: str) -> None:
    """Write down the checksums of one kernel's files; named as in files."""
    sums = _known_sums(folder) | _sums_of(folder, f"*.{kernel}-*")
    lines = [f"{checksum}  {name}\n" for name, checksum in sorted(sums.items())]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


@functools.cache
def _drop_damaged(folder: Path) -> None:
    """Delete files that are not what was once written; looked at once in a process."""
    if not folder.is_dir():
        return
    with locked(folder / "saving.lock"):
        sums = _known_sums(folder)
        for name, checksum in _sums_of(folder).items():
            if sums.get(name) != checksum:
                (folder / name).unlink(missing_ok=True)


# --- no kernel is compiled twice ------------------------------------------------------------------


class _Locks(event.Listener):
    """Locks between processes on the kernels being compiled here, those of callers first.

    No kernel calls another that calls it, so two processes never wait for each other. Threads of
    one process are serialised by numba's own lock.
    """

    def __init__(self) -> None:
        self._depth = 0  # of functions that numba is compiling, one for another
        self._stack: list[tuple[int, IO[bytes]]] = []

    def take(self, path: Path) -> bool:
        """Wait until no other process compiles a kernel; False where nothing can be written."""
        try:
            file = open_lock(path)
        except OSError:
            return False
        if not lock(file, wait=False):
            for listener in on_wait or [_announce_waiting]:
                listener()
            lock(file)
        self._stack.append((self._depth, file))
        return True

    def release(self) -> None:
        """Release the lock of the kernel that has just been compiled, or has failed to be."""
        if self._stack and self._stack[-1][0] == self._depth:
            self._stack.pop()[1].close()

    def on_start(self, _event: Any) -> None:
        """Numba begins to compile a function."""
        self._depth += 1

    def on_end(self, _event: Any) -> None:
        """Numba has compiled a function, and will save it, or has failed to."""
        self._depth -= 1
        if sys.exc_info()[0] is not None:  # the event's own `is_failed` says the opposite
            self.release()


_locks = _Locks()
event.register("numba:compile", _locks)


# --- what compiled code calls ---------------------------------------------------------------------

Form = tuple[str, str, Any]  # of a kernel: its module, its name, types of its arguments


class _Needs(event.Listener):
    """Which called kernels are called by each compiled function and by what it took in."""

    def __init__(self) -> None:
        self._open: list[set[Form]] = [set()]  # of functions that are compiled, one for another
        self._ended: set[Form] = set()
        self._forms: dict[str, set[Form]] = {}

    def on_start(self, _event: Any) -> None:
        """Numba begins to compile a function."""
        self._open.append(set())

    def on_end(self, _event: Any) -> None:
        """Numba has compiled a function, or has failed to."""
        self._ended = self._open.pop()

    def note(self, forms: set[Form]) -> None:
        """Add what is called by the function that is being compiled."""
        self._open[-1] |= forms

    def keep(self, compiled: Any, forms: set[Form] | None = None) -> set[Form]:
        """Record what a kernel calls that was read, or has just been compiled."""
        return self._forms.setdefault(
            compiled.fndesc.llvm_func_name, self._ended if forms is None else forms
        )

    def of(self, compiled: Any) -> set[Form]:
        """Return what compiled code calls."""
        return self._forms.get(compiled.fndesc.llvm_func_name, set())


needs = _Needs()
event.register("numba:compile", needs)


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

    def reduce(self, data: Any) -> Any:
        """Return what is written of compiled code: what it calls comes first."""
        return [*needs.of(data)], super().reduce(data)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return compiled code that was read, after what it calls."""
        forms, code = payload
        for module, name, kinds in forms:
            getattr(importlib.import_module(module), name).bind(kinds)
        compiled = super().rebuild(target_context, code)
        needs.keep(compiled, set(forms))
        return compiled


class _ShippedLocator(_Locator):
    """Tells numba's cache where a wheel has the kernels of one module, which are only read."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)
        self._folder = SHIPPED / self._folder.name

    def ensure_cache_path(self) -> None:
        """Make nothing."""


class _ShippedFiles(_Files):
    _locator_classes: Any = (_ShippedLocator,)


class _ShippedCache(caching.FunctionCache):
    """Numba's cache of one function in the folder of a wheel."""

    _impl_class = _ShippedFiles


class KernelCache(caching.FunctionCache):
    """Numba's cache of one function in our folder, with checksums and a lock.

    What is not there may be in the wheel.
    """

    _impl_class = _Files

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        shipped = for_wheels() and (SHIPPED / Path(self.cache_path).name).is_dir()
        self._shipped = _ShippedCache(function) if shipped else None
        self._kernel = re.sub("[<>]", "", function.__qualname__)  # as numba names files
        self._lock_file = Path(self.cache_path) / f"{self._kernel}.lock"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for a signature, or None and the lock to compile it."""
        folder = Path(self.cache_path)
        _drop_damaged(folder)
        compiled = self._read(sig, target_context)
        if compiled is not None:
            return compiled
        if _locks.take(self._lock_file):
            compiled = self._read(sig, target_context)
            if compiled is not None:
                _locks.release()
                return compiled
            for listener in on_save:
                listener(self._kernel)
        for listener in on_compile or [announce]:
            listener(self._name)
        return None

    def is_locked(self) -> bool:
        """Whether another process is compiling the kernel."""
        try:
            with open_lock(self._lock_file) as file:
                return not lock(file, wait=False)
        except OSError:
            return False

    def _read(self, sig: Any, target_context: Any) -> Any:
        # Past `load_overload`, which readies numba for compiling: a fifth of a start that has all.
        try:
            compiled = self._load_overload(sig, target_context)
            if compiled is None and self._shipped is not None:
                compiled = self._shipped._load_overload(sig, target_context)
        except OSError:  # what cannot be read is compiled
            return None
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled form; two processes that save into one folder take turns."""
        folder = Path(self.cache_path)
        needs.keep(data)
        try:
            with locked(folder / "saving.lock"):
                super().save_overload(sig, data)
                _write_checksums(folder, self._kernel)
        except OSError as error:  # compiled it is, for this process
            _say_unsaved(error.strerror or str(error))
        finally:
            _locks.release()


def attach(dispatcher: Any) -> None:
    """Give a function compiled by numba our cache."""
    dispatcher._cache = KernelCache(dispatcher.py_func)


def is_locked(dispatcher: Any) -> bool:
    """Whether another process is compiling a function."""
    return bool(dispatcher._cache.is_locked())


# What compiling is about, and how long it takes on two processors that are free.
FOR_ONCE = "rules, search and network for this processor, once, for 10 to 30 s"


def announce(_kernel: str) -> None:
    """Say that kernels are being compiled; the listener when no other is set."""
    _announce_once()


@contextmanager
def announced_by(tell: Callable[[str], None]) -> Iterator[None]:
    """Say by `tell` once that kernels are being compiled, and once that they are waited for."""

    def compiling(_kernel: str) -> None:
        on_compile.remove(compiling)
        announced.append("compiling")
        tell(f"compiling {FOR_ONCE}")

    def waiting() -> None:
        if not announced:  # else it is known what takes so long
            announced.append("waiting")
            tell(f"another process is compiling {FOR_ONCE}; waiting for it")

    announced: list[str] = []
    on_compile.append(compiling)
    on_wait.append(waiting)
    try:
        yield
    finally:
        on_wait.remove(waiting)
        if compiling in on_compile:
            on_compile.remove(compiling)


@functools.cache
def _say_unsaved(why: str) -> None:
    where = f"{cache_folder()}: {why}; KIBITZ_CACHE names the folder"
    say(f"compiled kernels cannot be kept for later in {where}")


@functools.cache
def _announce_waiting() -> None:
    if not _announce_once.cache_info().currsize:  # else it is known what takes so long
        say(f"another process is compiling {FOR_ONCE}; waiting for it")


@functools.cache
def _announce_once() -> None:
    say(f"compiling {FOR_ONCE}; later starts take a second or two")
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

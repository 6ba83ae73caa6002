"""The disk cache of compiled kernels: what a cached kernel depends on, and how it heals.

    source of the kernels -> **cache** -> machine code, ready in milliseconds

One folder per kernel module and state of its sources. A file that fails its checksum is deleted
and its kernel compiled again; processes that find the cache cold compile one after the other,
so that the second finds the work of the first.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import pickle
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import caching, sigutils
from numba.core.compiler_lock import global_compiler_lock

from kibitz.checksums import ChecksumError, with_ending, without_ending
from kibitz.files import cache_folder
from kibitz.kernel.lock import compile_lock, promises
from kibitz.kernel.passes import InnerFiles, bind_environments, register_inner
from kibitz.locks import locked
from kibitz.log import say

PACKAGE = Path(__file__).parents[1]
KEEP_SECONDS = 14 * 24 * 3600  # folders of other source states are dropped after this long unused

# Called with the name of each kernel that has to be compiled because the cache lacks it.
on_compile: list[Callable[[str], None]] = []

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
def toolchain() -> str:
    """What else machine code depends on: versions and the processor's name."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"numba{numba.__version__}-py{python}-{platform.machine()}"


def kernel_folder(file: Path, flags: str) -> Path:
    """Where the compiled kernels of one module live, for one state of its sources."""
    try:
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    except ValueError:  # a kernel outside the package: a test's or a user's own
        name = f"user-{file.stem}-{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    stamp = hashlib.sha256(f"{source_stamp(file)}|{flags}".encode()).hexdigest()[:16]
    return cache_folder() / "kernels" / toolchain() / f"{name}-{stamp}"


class _Locator(caching._CacheLocator):
    """Tells numba's cache where to put the kernels of one module."""

    def __init__(self, folder: Path, function: Any) -> None:
        self.folder, self._py_file, self._line = (
            folder,
            function.__code__.co_filename,
            function.__code__.co_firstlineno,
        )

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return self.folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)


class _CheckedFile(caching.IndexDataCacheFile):
    """Index and data files that end in a SHA-256 of what precedes; damaged ones are deleted."""

    def _write(self, path: str, data: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(with_ending(data))

    def _read(self, path: str) -> bytes | None:
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        try:
            return without_ending(data)
        except ChecksumError:
            Path(path).unlink(missing_ok=True)
            return None

    def save(self, key: Any, data: Any) -> None:
        """Add a kernel; two processes that add one to the same index do it one after the other."""
        with locked(Path(self._index_path).parents[1] / "saving.lock"):
            super().save(key, data)

    def _load_index(self) -> dict[Any, str]:
        data = self._read(self._index_path)
        return {} if data is None else pickle.loads(data)

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, self._dump(overloads))

    def _load_data(self, name: str) -> Any:
        data = self._read(self._data_path(name))
        return None if data is None else pickle.loads(data)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))


class _KernelCache(caching.FunctionCache):
    """Numba's function cache with our folder, our checks and one compiling process at a time."""

    def __init__(self, function: Any, folder: Path, files: Any) -> None:
        locator = _Locator(folder, function)
        self._impl_class: Any = type(
            "_Impl",
            (files,),
            {"_locator_classes": [type("_Here", (), {"from_function": lambda *_: locator})]},
        )
        super().__init__(function)
        self._cache_file = _CheckedFile(
            cache_path=str(folder),
            filename_base=self._impl.filename_base,
            source_stamp=folder.name,
        )

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        found = super().load_overload(signature, target_context)
        if found is None and promises.kept(self._name):
            found = super().load_overload(signature, target_context)
        if found is None and not compile_lock.held:
            compile_lock.acquire(Path(self.cache_path).parent)
            found = super().load_overload(signature, target_context)
        if found is None:
            for listener in on_compile or [announce]:
                listener(self._name)
        return found


@functools.cache
def announce_once() -> None:
    """Say why nothing seems to happen, and drop what nobody has used for long."""
    say("compiling kernels for this processor; once after an installation or a change (15-45 s)")
    prune()


def announce(_kernel: str) -> None:
    """What is told of compilations if nobody else listens."""
    announce_once()


@contextlib.contextmanager
def _garbage_kept() -> Iterator[None]:
    """Do not look for garbage: compilers make millions of objects and hardly a cycle."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def attach(dispatcher: Any, function: Any, flags: str) -> None:
    """Put our cache and the lock between processes into a numba dispatcher."""
    _Attached(dispatcher, function, flags)


def compile_for(kernel: Any, arguments: tuple[Any, ...]) -> None:
    """Compile a kernel, or load it, for arguments like these without calling it."""
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        kernel.compile(tuple(map(numba.typeof, arguments)))


def compile_aside(kernel: Any, module: str, arguments: Sequence[str]) -> None:
    """Let a second process, `python -m module`, compile a kernel that Python calls.

    It is waited for where the kernel is needed. Not if any form of it is in the cache: one more is
    made soon enough.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    folder = Path(kernel._cache.cache_path)
    if not any(folder.glob(f"*{kernel.__name__}*.nbi")):
        promises.ask(repr(kernel.py_func), module, arguments, folder.parent)


class _Attached:
    """What a dispatcher does instead of what numba's own would.

    A kernel that only kernels call needs neither machine code nor a way in from Python, and these
    take most of the time. So a kernel is compiled in its inner form for others, and once more in
    its outer form if Python calls it; each form has its folder in the cache.
    """

    def __init__(self, dispatcher: Any, function: Any, flags: str) -> None:
        file = Path(function.__code__.co_filename)
        self._dispatcher = dispatcher
        outer, inner = (kernel_folder(file, form) for form in (flags, f"{flags},inner"))
        self._outer = _KernelCache(function, outer, caching.CompileResultCacheImpl)
        self._inner = _KernelCache(function, inner, InnerFiles)
        self._called_by_kernel = False
        self._inner_forms: set[Any] = set()  # argument types
        self._compile, self._add = dispatcher.compile, dispatcher.add_overload
        self._find_template = dispatcher.get_call_template
        dispatcher._cache = self._outer
        dispatcher.compile = self.compile
        dispatcher.add_overload = self.add_overload
        dispatcher.get_call_template = self.template_for_types

    def compile(self, signature: Any) -> Any:
        """Return the machine code for a signature, made or loaded, in the form that is needed."""
        inner, self._called_by_kernel = self._called_by_kernel, False
        dispatcher = self._dispatcher
        with global_compiler_lock, _garbage_kept(), compile_lock.scope():
            arguments, _ = sigutils.normalize_signature(signature)
            if not inner and arguments in self._inner_forms:
                del dispatcher.overloads[arguments]
                self._inner_forms.remove(arguments)
            dispatcher._cache = self._inner if inner else self._outer
            dispatcher.targetoptions["no_cpython_wrapper"] = inner
            return self._compile(signature)

    def add_overload(self, result: Any) -> None:
        """Keep machine code; an inner form is hidden from calls out of Python."""
        if self._dispatcher._cache is not self._inner:
            bind_environments(result)
            self._add(result)
            return
        arguments = tuple(result.signature.args)
        self._dispatcher.overloads[arguments] = register_inner(result)
        self._inner_forms.add(arguments)

    def template_for_types(self, arguments: Any, keywords: Any) -> Any:
        """Serve a call from another kernel.

        Constants at a call would each compile a copy of the callee; LLVM inlines them anyway.
        """
        self._called_by_kernel = True
        try:
            return self._find_template([_plain_type(kind) for kind in arguments], keywords)
        finally:
            self._called_by_kernel = False


def _plain_type(kind: Any) -> Any:
    literal = isinstance(kind, types.IntegerLiteral | types.BooleanLiteral)
    return types.unliteral(kind) if literal else kind


def prune(now: float | None = None) -> list[Path]:
    """Delete folders of other source states that nobody has used for two weeks."""
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

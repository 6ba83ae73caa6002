"""A second process that compiles some of the large kernels while this one compiles others.

`compile_beside` gives it, one after the other, kernels that the cache lacks.

The second process runs nothing, so it compiles what is called by name after what calls it. The
locks of the cache see to it that neither process compiles what the other one has begun. Without a
second processor, or a cache that can be written, nothing is started. The process ends when it has
done its work or when this one ends, however that comes.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numba

from kibitz.jit import cache, process
from kibitz.jit.compile import CalledKernel, Kernel

_Call = tuple[Any, tuple[Any, ...]]  # a kernel, and arguments that it is compiled for
_Wanted = tuple[Kernel, Any]  # with the types of its arguments
_Forms = tuple[list[cache.Form], list[cache.Form]]  # what to compile, and what to compile last

_beside: list[_Wanted] = []  # of the second process, in this order
_later: list[_Wanted] = []  # and these, which are needed last
_own: list[_Wanted] = []  # of this process, before it waits for the other one


def compile_beside(beside: Iterable[_Call], own: Iterable[_Call] = ()) -> None:
    """Have kernels compiled beside this process, once it must compile another one.

    That is worth a process only where nothing of the last one's module has been compiled yet.
    What falls to this process is compiled in `compile_own`.
    """
    calls = [call for call in beside if isinstance(call[0], Kernel)]
    if calls and not _begun(calls[-1][0].py_func):
        _beside[:], _own[:] = _with_types(calls), _with_types(own)
        if process.is_waiting():
            _start("")


def compile_later(kernel: Any, *arguments: Any) -> None:
    """Have the second process compile a kernel, too, after all else."""
    _later[:] = _with_types([(kernel, arguments)])


def compile_own() -> None:
    """Compile what falls to this process."""
    while _own:
        _compile(*_own.pop(0))


def _compile(kernel: Kernel, kinds: Any) -> None:
    form = kernel.for_kernels if isinstance(kernel, CalledKernel) else kernel.for_python
    form.compile(kinds)


def _with_types(calls: Iterable[_Call]) -> list[_Wanted]:
    """Find the types of the arguments; nothing where the compiler is off."""
    return [
        (kernel, tuple(map(numba.typeof, arguments)))
        for kernel, arguments in calls
        if isinstance(kernel, Kernel)
    ]


def _begun(function: Any) -> bool:
    """Whether the cache has compiled kernels of a function's module."""
    return any(cache.kernel_folder(Path(inspect.getfile(function))).glob("*.nbc"))


def _start(missing: str) -> None:
    """Start the second process, as a kernel is missing and others are likely to be."""
    forms, later = _forms(_beside), _forms(_later)
    _beside.clear()
    if forms and missing not in [name for _, name, _ in forms + later]:
        process.hand_over(pickle.dumps((forms, later)))


def _forms(wanted: list[_Wanted]) -> list[cache.Form]:
    functions = [(kernel.py_func, kinds) for kernel, kinds in wanted]
    return [(function.__module__, function.__qualname__, kinds) for function, kinds in functions]


cache.on_save.append(_start)


# --- in the second process ------------------------------------------------------------------------


def _read(parent: IO[bytes], forms: queue.SimpleQueue[_Forms]) -> None:
    """Read the forms to compile; then nothing comes but the end."""
    try:
        forms.put(pickle.load(parent))
        os.read(parent.fileno(), 1)  # no lock of Python's is held when this process ends first
    finally:
        os._exit(1)


def _main(modules: list[str]) -> None:
    """Compile what the parent wants; `modules` are imported before it is known."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends, and this process with it
    cache.on_compile.append(lambda _kernel: None)
    CalledKernel.postponed = []
    forms: queue.SimpleQueue[_Forms] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, forms), daemon=True).start()
    for module in modules:
        importlib.import_module(module)
    first, last = forms.get()
    for module, name, kinds in first + last:
        _compile(getattr(importlib.import_module(module), name), kinds)
        while CalledKernel.postponed:
            _compile(*CalledKernel.postponed.pop(_next(CalledKernel.postponed)))


def _next(postponed: list[tuple[CalledKernel, Any]]) -> int:
    """The first of some kernels that the other process is not compiling just now, if any."""
    busy = [cache.is_locked(kernel.for_kernels) for kernel, _ in postponed]
    return busy.index(False) if False in busy else 0


if __name__ == "__main__":
    _main(sys.argv[1:])

"""A second process that compiles one large kernel while this one compiles others.

    compile_beside -> the next kernel that the cache lacks -> **a process** -> the cache

Both compile what their kernels call, and the locks of the cache see to it that neither compiles
what the other one has begun. Without a second processor, or a cache that can be written, nothing
is started. The process ends when it has done its work or when this one ends, however that comes.
"""

from __future__ import annotations

import atexit
import importlib
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

from kibitz.kernel import cache
from kibitz.kernel.compile import CalledKernel, Kernel
from kibitz.workers import processors

_Wanted = tuple[Kernel, Any]  # with the types of its arguments

_wanted: list[_Wanted] = []  # at most one, of the second process
_parts: list[_Wanted] = []  # of this one
_running: list[subprocess.Popen[bytes]] = []


def compile_beside(
    kernel: Any, *arguments: Any, parts: Iterable[tuple[Any, tuple[Any, ...]]] = ()
) -> None:
    """Have a kernel compiled for such arguments once this process must compile another one.

    That is worth a process only where nothing of the kernel's module has been compiled yet.
    `parts` are kernels with arguments that this process compiles in `compile_parts`.
    """
    if isinstance(kernel, Kernel) and not _begun(kernel.py_func):  # the compiler is on
        _wanted[:] = [(kernel, _types(arguments))]
        _parts[:] = [(part, _types(given)) for part, given in parts]


def compile_parts() -> None:
    """Compile the parts of the large kernel that fall to this process, before it waits for it."""
    while _parts:
        kernel, kinds = _parts.pop(0)
        form = kernel.for_kernels if isinstance(kernel, CalledKernel) else kernel.for_python
        form.compile(kinds)


def _begun(function: Any) -> bool:
    """Whether the cache has compiled kernels of a function's module."""
    return any(cache.kernel_folder(Path(inspect.getfile(function))).glob("*.nbc"))


def _types(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(numba.typeof, arguments))


def _start(missing: str) -> None:
    """A kernel is missing; the others are likely to be."""
    forms = [(kernel.py_func, kinds) for kernel, kinds in _wanted]
    _wanted.clear()
    for process in [one for one in _running if one.poll() is not None]:
        _end(process)
    if not forms or _running or processors() == 1:
        return
    function, kinds = forms[0]
    if function.__qualname__ != missing:
        with suppress(OSError):  # no process, or one that has ended: all is compiled here
            _open((function.__module__, function.__qualname__, kinds))


def _open(form: cache.Form) -> None:
    path = os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],  # -P: no modules of the folder it is started in
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # what fails there fails here too, and is reported here
    )
    _running.append(process)
    atexit.register(_end, process)
    assert process.stdin is not None
    pickle.dump(form, process.stdin)
    process.stdin.flush()  # and it stays open as long as this process runs


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a second process, at whatever it is."""
    atexit.unregister(_end)
    _running.remove(process)
    with suppress(OSError), process:  # closes the pipe, and waits
        pass


cache.on_save.append(_start)


def _follow(parent: int) -> None:
    os.read(parent, 1)  # nothing comes but the end
    os._exit(1)


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends, and this process with it
    cache.on_compile.append(lambda _kernel: None)
    parent = sys.stdin.buffer
    module, name, kinds = pickle.load(parent)
    threading.Thread(target=_follow, args=(parent.fileno(),), daemon=True).start()
    getattr(importlib.import_module(module), name).for_python.compile(kinds)


if __name__ == "__main__":
    _main()

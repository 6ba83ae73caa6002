"""The second process that compiles (helper.py): how it is started, gets its work, and ends.

Importing this module is cheap. Where nothing has ever been compiled the process may be started
before this one has loaded the compiler, and loads it meanwhile.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from kibitz.core.files import cache_folder
from kibitz.core.workers import processors

_waiting: list[subprocess.Popen[bytes]] = []  # at most one, which has no work yet
_running: list[subprocess.Popen[bytes]] = []  # at most one, which has


def start_early(*modules: str) -> None:
    """Start the process, if all is to be compiled; it imports the modules of its kernels."""
    if not is_waiting() and processors() > 1 and not (cache_folder() / "kernels").exists():
        with suppress(OSError):  # no process: all is compiled here
            _waiting.append(_open_process(*modules))


def is_waiting() -> bool:
    """Whether a process waits for its work."""
    return bool(_waiting)


def hand_over(work: bytes) -> None:
    """Give work to the process that waits, or to a new one unless one is at work."""
    for process in [running for running in _running if running.poll() is not None]:
        _end(process, _running)
    if _running or processors() == 1:
        return
    with suppress(OSError):  # no process, or one that has ended: all is compiled here
        process = _waiting.pop() if _waiting else _open_process()
        _running.append(process)
        assert process.stdin is not None
        process.stdin.write(work)
        process.stdin.flush()  # and it stays open as long as this process runs


def _open_process(*modules: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)
    return subprocess.Popen(
        # -P: no modules of the folder it is started in
        [sys.executable, "-P", "-m", "kibitz.jit.helper", *modules],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # what fails there fails here too, and is reported here
    )


def _end(process: subprocess.Popen[bytes], processes: list[subprocess.Popen[bytes]]) -> None:
    """End a second process, whatever it is doing."""
    processes.remove(process)
    with suppress(OSError), process:  # closes the pipe, and waits
        pass


@atexit.register
def _end_all() -> None:
    for process in _waiting:
        process.kill()  # it may still be loading the compiler, and would be waited for
    for processes in (_waiting, _running):
        for process in [*processes]:
            _end(process, processes)

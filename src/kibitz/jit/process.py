"""The second process that compiles (helper.py): how it is started, gets its work, and ends.

And the one that compiles for this processor what a wheel has for many.

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
from typing import Any

from kibitz.core.files import cache_folder
from kibitz.core.workers import processors

VARIABLE = "KIBITZ_KERNELS"  # "own" compiles for this processor, "wheel" for those of wheels

_waiting: list[subprocess.Popen[bytes]] = []  # at most one, which has no work yet
_running: list[subprocess.Popen[bytes]] = []  # at most one, which has
_left: list[subprocess.Popen[bytes]] = []  # at most one, which outlives this process


def start_early(*modules: str) -> None:
    """Start the process, if all is to be compiled; it imports the modules of its kernels."""
    compiled = cache_folder() / "kernels", Path(__file__).parents[1] / "kernels"  # of a wheel
    if not is_waiting() and processors() > 1 and not any(folder.exists() for folder in compiled):
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
    # What fails there fails here too, and is reported here.
    return _python("kibitz.jit.helper", *modules, stdin=subprocess.PIPE)


def _python(*arguments: str, kernels: str = "", **options: Any) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(folder or str(Path.cwd()) for folder in sys.path)
    return subprocess.Popen(
        # -P: no modules of the folder it is started in
        [sys.executable, "-P", "-m", *arguments],
        env={**os.environ, "PYTHONPATH": path, **({VARIABLE: kernels} if kernels else {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )


def compile_for_next_start() -> None:
    """At the end of a program that used a wheel's kernels, have those for this processor made.

    They are compiled by a process that gives way to all others and goes on when this one has ended.
    """
    target = sys.modules.get("kibitz.jit.target")  # else no kernel was used
    if target is not None and target.for_wheels() and not os.environ.get(VARIABLE):
        quiet: Any = {"stdin": subprocess.DEVNULL, "start_new_session": True}
        with suppress(OSError):  # no process: the wheel's kernels go on serving
            # Told what to compile, it leaves no process of this kind itself.
            _left.append(_python("kibitz", "compile", "--idle", kernels="own", **quiet))


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

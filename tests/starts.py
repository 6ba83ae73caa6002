"""Runs commands of `kibitz` for tests, each in a fork of a process that has all modules.

A start takes one to three seconds of the processor for imports and kernels, and pages of docs have
hundreds of them. What is run, its folder, environment and streams are as in a start of its own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

MOST = 1 << 20  # bytes of a request
endings: list[int] = []  # the exit code of the command, in its fork

# The program that takes the place of `kibitz`: it hands its arguments and streams on, and ends
# with the exit code that comes back. Without -S and -I its own start would be most of its time.
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    words = [{module!r}, *sys.argv[1:]]
    request = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(asked, [len(request).to_bytes(4, "big")], [0, 1, 2])
    asked.sendall(request)
    answer = asked.recv(1)
sys.exit(answer[0] if answer else "the process that runs commands has ended")
"""


def write_client(path: Path, address: str, module: str) -> None:
    """Write a program that has a module run, as `python -m MODULE` would."""
    path.write_text(CLIENT.format(python=sys.executable, address=address, module=module))
    path.chmod(0o755)


@contextmanager
def serving(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A process that runs commands while the block lasts; its address."""
    address = folder / "starts"
    command = [sys.executable, "-m", "tests.starts", str(address)]
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        command, cwd=root, env={**environment}, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while not address.exists():
            assert process.poll() is None, "the process that runs commands did not start"
            time.sleep(0.05)
        yield str(address)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _serve(address: Path) -> int:
    """Answer requests until killed; in a fork: run a command and return its exit code."""
    atexit.register(_leave)  # before all others, and so called after them
    _import_all()
    gc.collect()
    gc.freeze()  # or each fork looks at all of it, and so copies it
    with socket.socket(socket.AF_UNIX) as listening:
        begun = address.with_name("begun")
        listening.bind(str(begun))
        listening.listen(64)
        begun.rename(address)  # who sees it may ask
        while True:
            asked, _ = listening.accept()
            if os.fork() == 0:
                break
            asked.close()
            _bury()
    # A process of its own waits, so that the command ends as any program does.
    command = os.fork()
    if command:
        code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        asked.sendall(bytes([code % 256 if code >= 0 else 128 - code]))
        os._exit(0)
    return _run(asked)


def _bury() -> None:
    """Let forks that have ended go."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _run(asked: socket.socket) -> int:
    head, streams, _, _ = socket.recv_fds(asked, 4, 3)
    request = b""
    while len(request) < int.from_bytes(head, "big"):
        request += asked.recv(MOST)
    words, folder, environment = json.loads(request)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    asked.close()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # Python flushes them when the command ends.
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv[1:] = words[1:]
    endings.append(_ended(words[0]))
    return endings[0]


def _leave() -> None:
    """End a fork before half a second goes into taking a thousand modules apart.

    Not one that an exception ends, which Python shows.
    """
    if not endings:
        return
    for text in (sys.stdout, sys.stderr):
        text.flush()
    os._exit(endings[0])


def _ended(module: str) -> int:
    """Run a module as a program: its exit code."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")
        return 1
    return 0


def _import_all() -> None:
    """Modules, torch where it is, and the kernels of both searches."""
    from kibitz.cli import COMMANDS
    from kibitz.engine import Engine
    from kibitz.position.board import Board

    for command in COMMANDS.values():
        importlib.import_module(command.home.partition(":")[0])
    importlib.import_module("kibitz.uci.__main__")
    with suppress(ImportError):  # six seconds of each training and export
        importlib.import_module("torch._dynamo")
        importlib.import_module("onnxscript")
    for search in ("alphabeta", "mcts"):
        with Engine(hash=1, search=search) as engine:
            engine.play(Board(), nodes=100)
    assert threading.active_count() == 1, "forks of a process with threads may wait forever"


if __name__ == "__main__":
    sys.exit(_serve(Path(sys.argv[1])))

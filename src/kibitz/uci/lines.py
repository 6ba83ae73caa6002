"""Lines of standard input, read on a thread so that `quit` is heard at any time, and of the output.

Kernels are compiled on the main thread, which obeys no line meanwhile. `quit`, the end of the input
or Ctrl-C that come then end the program at once; there is nothing to be lost but some compiling.
Those that came before the compiling began end a script, whose lines are all obeyed first.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from io import TextIOWrapper


class StandardInput:
    """The lines of standard input, or of another source, up to `quit`."""

    def __init__(self, source: Iterable[str] | None = None) -> None:
        self._source = _open_input() if source is None else source
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended = self._compiling = False
        self._handler = signal.getsignal(signal.SIGINT)
        threading.Thread(target=self._read, name="uci input", daemon=True).start()

    def __iter__(self) -> Iterator[str]:
        while (line := self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        for line in self._source:
            self._lines.put(line)
            if line.split()[:1] == ["quit"]:
                break
        self._lines.put(None)
        with self._lock:
            self._ended = True
            if self._compiling:
                os._exit(0)

    def set_compiling(self, compiling: bool) -> None:
        """Kernels are compiled from now on, or are so no longer."""
        with self._lock:
            self._compiling = compiling and not self._ended
        if threading.current_thread() is not threading.main_thread():
            return  # a search's own thread compiles; Python sets signals on the main one only
        # A handler in Python would wait for LLVM.
        signal.signal(signal.SIGINT, signal.SIG_DFL if compiling else self._handler)


def write_line(line: str) -> None:
    """Write a line to standard output and flush it: GUIs wait for it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _open_input() -> Iterable[str]:
    """Open standard input anew: Python cannot exit while a thread reads `sys.stdin`.

    Where the caller has closed it (`<&-`) it has ended.
    """
    if sys.stdin is None:
        return ()
    if not isinstance(sys.stdin, TextIOWrapper):
        return sys.stdin
    return open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False)

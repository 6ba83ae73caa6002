"""Lines to a GUI, and a file that holds the lines of both directions.

Session -> **Channel** -> standard output, a connection; LogFile
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from kibitz.errors import InputError
from kibitz.log import say

Write = Callable[[str], None]


class Channel:
    """Sends lines, from any thread, and logs the lines of both directions."""

    def __init__(self, write: Write) -> None:
        self.gone = False  # whether the other side has closed its end
        self._out, self._writing = write, threading.Lock()
        self._log: IO[str] | None = None

    def write(self, line: str) -> None:
        """Send a line."""
        with self._writing:
            self._add_to_log("<<", line)
            try:
                self._out(line)
            except OSError:  # the other side has closed its end
                self.gone = True

    def heard(self, line: str) -> None:
        """Note a line of the other side."""
        with self._writing:
            self._add_to_log(">>", line.rstrip("\r\n"))

    def _add_to_log(self, direction: str, line: str) -> None:
        if self._log is None:
            return
        try:
            self._log.write(f"{direction} {line}\n")
        except OSError as error:
            self._log = None
            say(f"LogFile: {error}; nothing more is written to it")

    def log_into(self, name: str) -> None:
        """Add all lines to a file from now on; to none if the name is empty."""
        try:
            path = Path(name).expanduser()
            log = path.open("a", encoding="utf-8", buffering=1) if name else None
        except (OSError, ValueError) as error:
            raise InputError(f"LogFile: {error}", value=name) from error
        self.close()
        self._log = log

    def close(self) -> None:
        """Close the file."""
        if self._log is not None:
            self._log.close()
            self._log = None

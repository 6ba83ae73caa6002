"""`python -m kibitz.uci`, the program kibitz-uci: UCI on standard input and output.

What takes time to import is imported by the session when it is needed.
"""

from __future__ import annotations

import os
import sys

from kibitz.core.errors import KibitzError
from kibitz.core.log import open_closed_streams
from kibitz.core.workers import collect_seldom
from kibitz.engine import Engine
from kibitz.engine.options import AUTODISCOVER
from kibitz.jit.process import compile_for_next_start
from kibitz.uci.loop import run
from kibitz.uci.protocol import StandardInput, write_line
from kibitz.uci.session import Session


def main() -> int:
    """The program kibitz-uci: `talk`, with the usual settings file."""
    from kibitz.core.settings import use_file

    collect_seldom()
    open_closed_streams()
    if sys.argv[1:]:
        given = " ".join(sys.argv[1:])
        write_line(f"info string kibitz-uci takes no arguments: {given!r}; use kibitz uci {given}")
    try:
        use_file(None)
    except KibitzError as error:
        write_line(f"info string {error}")
        sys.stderr.write(f"kibitz: error: {error}\n")
        return 2
    try:
        return talk()
    except KeyboardInterrupt:
        return 130  # as all commands do
    finally:
        compile_for_next_start()


def talk(network: str = AUTODISCOVER) -> int:
    """Speak UCI on standard input and output until `quit` or the end of the input."""
    session, lines = Session(write_line, Engine(network)), StandardInput()
    session.on_compiling = lines.set_compiling
    run(session, lines)
    if session.channel.gone:
        # Nothing more can be said, not even what Python still holds and would flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How `python -m research.NAME` runs: with the flags and the messages that `kibitz` has."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App

from kibitz import cli


def words_of(name: str) -> list[str]:
    """How the program of a name is called."""
    return ["python", "-m", f"research.{name}"]


def carry_out(program: App, arguments: Sequence[str] | None = None) -> int:
    """Run a program as if it were one of kibitz's commands, and return its exit code."""
    (name,) = program.name
    tokens = sys.argv[1:] if arguments is None else arguments
    called = " ".join(words_of(name))
    words = "COMMAND" if program.default_command is None else "[OPTIONS]"
    program.usage = f"Usage: {called} {words}\n"
    for command in (token for token in program if not token.startswith("-")):
        program[command].usage = f"Usage: {called} {command} [OPTIONS] [ARGS]\n"
    cli.app.command(program)
    try:
        return cli.main([name, *tokens], words_of(name))
    finally:
        del cli.app[name]

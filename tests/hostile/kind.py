"""What a kind of input is made of, and what must hold of every answer."""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kibitz.cli import main
from tests.hostile.mutate import mutated

ANSWERS = (0, 1, 2)  # exit codes: done, done in part, refused
MIB = 1 << 20


class Answer(NamedTuple):
    """What came of an input."""

    code: int
    told: str  # on standard error, or by the other end of a protocol


class Attack(NamedTuple):
    """A hostile input: a command line, with the files that it reads already made."""

    name: str
    words: tuple[str, ...]
    told: str  # a part of the answer
    code: int = 2
    most_mib: int = 1200  # resident memory of the whole process, libraries included


class Target(NamedTuple):
    """A sound input to be mutated, and a way to give it: a file to a command, a line to a server.

    `seal` mends what would refuse a mutated content at once, a checksum for one. Where much content
    is rightly much work, it is cut to the `most` bytes.
    """

    name: str
    content: bytes
    give: Callable[[bytes, Path], Answer]
    seal: Callable[[bytes], bytes] = bytes
    most: int = 1 << 21
    mutate: Callable[[bytes, random.Random], bytes] = mutated


class Kind(NamedTuple):
    """Inputs of one kind; both functions get an empty folder of their own."""

    name: str
    attacks: Callable[[Path], Sequence[Attack]]
    targets: Callable[[Path], Sequence[Target]]


def fault_of(answer: Answer) -> str:
    """What is wrong with an answer, or nothing."""
    if "Traceback (most recent call last)" in answer.told:
        return "a traceback"
    if answer.code not in ANSWERS:
        return f"exit code {answer.code}"
    if answer.code == 2 and not answer.told.strip():
        return "refused without a word"
    return ""


def run_command(words: Sequence[str], typed: str = "") -> Answer:
    """Run a command line in this process; what it leaves to Python is told as a traceback."""
    out, error, before = io.StringIO(), io.StringIO(), sys.stdin
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        sys.stdin = io.TextIOWrapper(io.BytesIO(typed.encode()))
        try:
            code = main(list(words))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            if isinstance(sys.exc_info()[1], TimeoutError):
                raise
            return Answer(1, error.getvalue() + traceback.format_exc())
        finally:
            sys.stdin = before
    return Answer(code, error.getvalue())


def file_target(
    name: str,
    content: bytes,
    command: str,
    seal: Callable[[bytes], bytes] = bytes,
    typed: str = "",
    most: int = 1 << 21,
) -> Target:
    """A file that a command reads.

    FILE in its words is the file, DIR its folder, OUT a place for its output, _ a blank.
    """

    def give(mutated: bytes, folder: Path) -> Answer:
        (folder / name).write_bytes(mutated)
        places = {"FILE": str(folder / name), "DIR": str(folder), "OUT": str(folder / "out")}
        words = [replaced(word.replace("_", " "), places) for word in command.split()]
        return run_command(words, typed)

    return Target(f"{command} ({name})", content, give, seal, most)


def replaced(word: str, places: dict[str, str]) -> str:
    """A word of a command with names of places filled in."""
    for name, place in places.items():
        word = word.replace(name, place)
    return word


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Work in a folder: its data and nothing of the user's."""
    before, cwd = os.environ.get("KIBITZ_DATA"), Path.cwd()
    os.environ["KIBITZ_DATA"] = str(folder / "data")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(cwd)
        if before is None:
            del os.environ["KIBITZ_DATA"]
        else:
            os.environ["KIBITZ_DATA"] = before

"""Perft suites: files of positions with the counts a correct generator finds.

    file -> **entries** -> perft command, tests

Two formats: EPD lines `FEN ;D1 20 ;D2 400`, and blocks of `id`, `epd` and `perft 1 20` lines as
scalachess and shakmaty keep them. Both know # comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kibitz.errors import InputError
from kibitz.files import Location, read_bytes

_COUNT = re.compile(r"D(\d+)\s+(\d+)")


class Entry(NamedTuple):
    """A position of a suite: its name, FEN and the leaves at each depth; `line` is where it is."""

    name: str
    fen: str
    counts: dict[int, int]
    line: int


def read_suite(location: Location) -> list[Entry]:
    """All entries of a suite file; an InputError names the line that is neither format."""
    try:
        text = read_bytes(location).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{location}: not text", fix="expected a perft suite") from error
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    blocks = any(line.startswith("epd ") for _, line in lines)
    entries = list(_blocks(location, lines) if blocks else _epd_lines(location, lines))
    if not entries:
        raise InputError(f"{location}: no entries", fix="expected a perft suite")
    return entries


def _epd_lines(location: Location, lines: list[tuple[int, str]]) -> Iterator[Entry]:
    for number, line in lines:
        fen, *operations = (part.strip() for part in line.split(";"))
        counts = [_COUNT.fullmatch(operation) for operation in operations if operation]
        if not counts or None in counts:
            fix = "expected FEN ;D1 20 ;D2 400 ..."
            raise InputError(f"{location}, line {number}", value=line, fix=fix)
        expected = {int(found[1]): int(found[2]) for found in counts if found is not None}
        yield Entry(f"line {number}", fen, expected, number)


def _blocks(location: Location, lines: list[tuple[int, str]]) -> Iterator[Entry]:
    name, entry = "", None
    for number, line in lines:
        keyword, _, rest = line.partition(" ")
        if keyword == "id":
            name = rest
        elif keyword == "epd":
            if entry is not None:
                yield entry
            entry = Entry(name or f"line {number}", rest, {}, number)
        elif keyword == "perft" and entry is not None and re.fullmatch(r"\d+\s+\d+", rest):
            depth, count = map(int, rest.split())
            entry.counts[depth] = count
        else:
            fix = "expected id, epd or perft DEPTH COUNT"
            raise InputError(f"{location}, line {number}", value=line, fix=fix)
    if entry is not None:
        yield entry

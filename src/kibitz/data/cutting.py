"""PGN as text: cut between games, and games left out by their tags before any move is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, get_args

Pace = Literal["ultrabullet", "bullet", "blitz", "rapid", "classical", "correspondence"]
PACES: tuple[Pace, ...] = get_args(Pace)
# Lichess's bounds in seconds, of a game that lasts 40 moves; above the last it is classical.
BOUNDS = (30, 180, 480, 1500)
MOVES = 40
LONGEST = 1 << 22  # characters of a piece that has no place to be cut at: it is no PGN
_TAG = re.compile(r'^\[(\w+)\s+"([^"]*)"', re.MULTILINE)
_CONTROL = re.compile(r"(?:\d+/)?(\d+)(?:\+(\d+(?:\.\d+)?))?")


class Wanted(NamedTuple):
    """Which games are read; all by default."""

    rating: int = 0  # that both players have at least
    paces: tuple[Pace, ...] = ()  # any of them; all if empty
    evaluated: bool = False  # only with [%eval]

    def takes(self, text: str) -> bool:
        """Whether a game is wanted, by its tags and the text of its moves."""
        if self.evaluated and "[%eval" not in text:
            return False
        if not self.rating and not self.paces:
            return True
        tags = dict(_TAG.findall(text))
        ratings = [tags.get(name, "") for name in ("WhiteElo", "BlackElo")]
        if self.rating and not all(one.isdecimal() and int(one) >= self.rating for one in ratings):
            return False
        return not self.paces or pace_of(tags.get("TimeControl", "")) in self.paces


def pace_of(control: str) -> Pace | None:
    """What a tag TimeControl like 300+3 is called on Lichess; None if it is not known."""
    if control == "-":
        return "correspondence"
    found = _CONTROL.fullmatch(control)
    if found is None:
        return None
    seconds = int(found[1]) + MOVES * float(found[2] or 0)
    return PACES[sum(seconds >= bound for bound in BOUNDS)]


def whole_games(lines: Iterable[str], characters: int) -> Iterator[tuple[int, list[str]]]:
    """Lines of whole games, at least so many characters, with the number of the first; from 1.

    A cut is made before a tag that follows moves and an empty line, and is in no comment. What has
    no such place for too long is cut anywhere, so that memory has an end. There is always a last
    piece, which may be empty.
    """
    held: list[str] = []
    size, first = 0, 1
    inside = moves = blank = False
    for number, line in enumerate(lines, start=1):
        tag = line.startswith("[") and not inside
        if (tag and blank and moves and size >= characters) or size >= max(LONGEST, characters):
            yield first, held
            held, size, first = [], 0, number
        held.append(line)
        size += len(line)
        blank = not line.strip()
        moves = not tag and (moves or not blank)  # tags may have empty lines between them
        inside = inside if tag else in_comment(line, inside)
    yield first, held


def in_comment(line: str, inside: bool) -> bool:
    """Whether a comment in braces is open at the end of a line of moves."""
    if not inside and line.startswith("%"):
        return False
    if ";" not in line:  # the last brace says it
        opened, closed = line.rfind("{"), line.rfind("}")
        return inside if opened == closed else opened > closed
    while True:
        if inside:
            end = line.find("}")
            if end < 0:
                return True
            line, inside = line[end + 1 :], False
        start, rest_of_line = line.find("{"), line.find(";")
        if start < 0 or 0 <= rest_of_line < start:
            return False
        line, inside = line[start + 1 :], True


class Chosen(NamedTuple):
    """A text in which unwanted games are empty lines, so that lines keep their numbers."""

    text: str
    kept: tuple[int, ...]  # the numbers of the games that are left, from 1
    games: int  # all there were


def choose(text: str, wanted: Wanted) -> Chosen:
    """Leave out the games that are not wanted."""
    kept, parts, games = [], [], 0
    for _, lines in whole_games(text.splitlines(keepends=True), 0):
        game = "".join(lines)
        if not game.strip():
            parts.append(game)
            continue
        games += 1
        if wanted.takes(game):
            kept.append(games)
            parts.append(game)
        else:
            parts.append("\n" * len(lines))
    return Chosen("".join(parts), tuple(kept), games)

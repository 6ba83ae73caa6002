"""EPD: lines of a position and operations about it, such as the best move and a name.

The four fields of the position may be followed by the two clocks of a FEN, as many files have
them. Operations end in semicolons; perft counts (`;D1 20 ;D2 400`) are operations, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kibitz.core.errors import InputError, KibitzError, NotationError
from kibitz.core.files import Location
from kibitz.core.unpacking import read_unpacked
from kibitz.position.board import Board
from kibitz.position.fen import fen_of, parse_fen
from kibitz.position.notation import (
    Move,
    looks_like_uci,
    parse_san,
    parse_uci,
    relative,
    san_of,
    unnumbered,
)
from kibitz.position.play import play
from kibitz.position.state import new_positions

_HEAD = re.compile(r"\s*(\S+\s+\S+\s+\S+\s+[^\s;]+)(?:\s+(\d+)(?:\s+(\d+))?)?(?=[\s;]|$)[\s;]*")
_OPERATION = re.compile(r'((?:[^";]|"(?:[^"\\]|\\.)*")+)(?:[;\s]+|$)')
_OPCODE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PERFT = re.compile(r"D\d+")
_COMMENT = re.compile(r"c[0-9]")
_NUMBERS = {"acd": "depth", "acn": "nodes", "acs": "seconds", "ce": "centipawns", "dm": "mate_in"}
_MOVES = {"bm": "best", "am": "avoid"}


@dataclass(frozen=True)
class Epd:
    """One line: a position and what is said about it."""

    fen: str  # X-FEN with clocks
    best: tuple[Move, ...] = ()  # bm
    avoid: tuple[Move, ...] = ()  # am
    name: str = ""  # id
    comments: dict[str, str] = field(default_factory=dict)  # c0 ... c9
    line: tuple[Move, ...] = ()  # pv
    depth: int | None = None  # acd: depth in plies of the analysis
    nodes: int | None = None  # acn
    seconds: int | None = None  # acs
    centipawns: int | None = None  # ce, for the side to move
    mate_in: int | None = None  # dm, in full moves
    perft: dict[int, int] = field(default_factory=dict)  # D1, D2 ...: leaves by depth
    other: dict[str, str] = field(default_factory=dict)  # operations not known here, as text

    def board(self) -> Board:
        """The position as a board."""
        return Board(self.fen)

    def __str__(self) -> str:
        return write_epd(self)


def read_epd(location: Location) -> Iterator[Epd]:
    """Every line of a file but empty ones and # comments; errors name the file and the line."""
    for number, line in lines_of(location):
        with named_place(f"{location}, line {number}"):
            yield parse_epd(line)


def lines_of(location: Location) -> list[tuple[int, str]]:
    """The lines that hold something, without comments, and their numbers."""
    lines = read_unpacked(location).decode("utf-8-sig", errors="replace").splitlines()
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    return [(number, text) for number, text in stripped if text and not text.startswith("#")]


@contextmanager
def named_place(where: str) -> Iterator[None]:
    """Say in errors of the block where they are."""
    try:
        yield
    except KibitzError as error:
        error.what = f"{where}: {error.what}"
        raise


def parse_epd(text: str) -> Epd:
    """Read one line; the error names the operation at fault."""
    head = _HEAD.match(text)
    if head is None:
        fix = "expected board, side, castling and en passant, then operations"
        raise NotationError("EPD: no position", value=text, fix=fix)
    position = parse_fen(head[1])
    fields: dict[str, Any] = {"comments": {}, "perft": {}, "other": {}}
    clocks = {"hmvc": head[2] or "0", "fmvn": head[3] or "1"}
    for opcode, operand in _operations(text, head.end()):
        if opcode in clocks:
            clocks[opcode] = operand
            continue
        try:
            _understand(position, opcode, operand, fields)
        except InputError as error:
            error.what = f"EPD {opcode}: {error.what}"
            raise
    # Read once more with the clocks, which may stand in operations after the moves.
    fen = fen_of(parse_fen(f"{head[1]} {clocks['hmvc']} {clocks['fmvn']}"))
    return Epd(fen=fen, **fields)


def _operations(text: str, at: int) -> Iterator[tuple[str, str]]:
    """Opcodes with the text of their operands; semicolons inside quotes are text."""
    while at < len(text.rstrip()):
        operation = _OPERATION.match(text, at)
        opcode = None if operation is None else _OPCODE.match(operation[1])
        if operation is None or opcode is None:
            fix = "expected an opcode, operands and a semicolon; are the quotes closed?"
            raise NotationError("EPD: not an operation", value=text[at:], fix=fix)
        yield opcode[0], operation[1][opcode.end() :].strip()
        at = operation.end()


def _understand(position: np.record, opcode: str, operand: str, fields: dict[str, Any]) -> None:
    """Put what one operation says where it belongs."""
    if opcode in _MOVES:
        moves = tuple(_move(position, word) for word in re.split(r"[\s,]+", operand) if word)
        if not moves:
            raise NotationError("no move", value=operand, fix="expected moves in SAN")
        fields[_MOVES[opcode]] = moves
    elif opcode in _NUMBERS:
        fields[_NUMBERS[opcode]] = _integer(operand)
    elif opcode == "id":
        fields["name"] = _unquoted(operand)
    elif opcode == "pv":
        fields["line"] = _line(position, operand)
    elif _COMMENT.fullmatch(opcode):
        fields["comments"][opcode] = _unquoted(operand)
    elif _PERFT.fullmatch(opcode):
        fields["perft"][int(opcode[1:])] = _integer(operand)
    else:
        fields["other"][opcode] = operand


def _move(position: np.record, word: str) -> Move:
    return (parse_uci if looks_like_uci(word) else parse_san)(position, word)


def _line(position: np.record, operand: str) -> tuple[Move, ...]:
    """Moves one after the other; move numbers are skipped."""
    moves, before = [], position
    for word in operand.split():
        bare = unnumbered(word)
        if bare:
            moves.append(_move(before, bare))
            after = new_positions(1)[0]
            play(before, after, relative(before, moves[-1]))
            before = after
    return tuple(moves)


def _integer(operand: str) -> int:
    text = _unquoted(operand)
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise NotationError("not a number", value=operand, fix="expected a whole number")
    return int(text)


def _unquoted(operand: str) -> str:
    if len(operand) > 1 and operand[0] == operand[-1] == '"':
        return re.sub(r"\\(.)", r"\1", operand[1:-1])
    return operand


# --- writing ------------------------------------------------------------------------------------


def write_epd(epd: Epd) -> str:
    """One line that `parse_epd` reads back as the same."""
    position = parse_fen(epd.fen)
    *fields, clock, number = epd.fen.split()
    parts = [f"{opcode} {operand}".rstrip() for opcode, operand in epd.other.items()]
    for opcode, name in _MOVES.items():
        moves = [san_of(position, move) for move in getattr(epd, name)]
        parts += [f"{opcode} {' '.join(moves)}"] if moves else []
    for opcode, name in _NUMBERS.items():
        value = getattr(epd, name)
        parts += [] if value is None else [f"{opcode} {value}"]
    parts += [f"pv {' '.join(move.uci(True) for move in epd.line)}"] if epd.line else []
    parts += [f"id {_quoted(epd.name)}"] if epd.name else []
    parts += [f"{opcode} {_quoted(text)}" for opcode, text in epd.comments.items()]
    parts += [f"D{depth} {count}" for depth, count in epd.perft.items()]
    if (clock, number) != ("0", "1"):
        parts += [f"hmvc {clock}", f"fmvn {number}"]
    return " ".join(fields) + "".join(f" {part};" for part in parts)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

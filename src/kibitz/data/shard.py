"""Records of games: a game with its searches as objects, and the shard that holds many."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
import safetensors.numpy
import zstandard

import kibitz
from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.core.files import (
    ChecksumError,
    Location,
    newer_format,
    with_ending,
    without_ending,
    write_bytes,
)
from kibitz.core.places import read_kept
from kibitz.core.unpacking import arrays_of, unzstd
from kibitz.position.fen import START, fen_of, read_fen
from kibitz.position.packed import PACKED, first_wrong, new_packed, pack_positions, unpack_positions
from kibitz.position.state import new_positions

FORMAT_VERSION = 1
SUFFIX = ".shard"
LONGEST_HEADER = 100_000_000  # bytes, as in the safetensors library
LEVEL = 9  # of zstd: half the size of level 3 in moves and offsets costs little time here

UNKNOWN_RESULT = 2
# Flags of a ply: what was not played, or is not learnt, by its search.
RANDOM_MOVE, NOT_A_POLICY, NOT_A_VALUE = 1, 2, 4
UNKNOWN_END = "unknown"

# A skippable frame of zstd: magic number, length of what follows, then what follows.
_TAG = b"kibitz shard"
MARK = b"\x50\x2a\x4d\x18" + (len(_TAG) + 32).to_bytes(4, "little") + _TAG

DTYPES: dict[str, Any] = {
    "starts": np.uint64,
    "offsets": np.int64,
    "results": np.int8,
    "ends": np.uint8,
    "sources": np.uint16,
    "seeds": np.uint64,
    "moves": np.uint16,
    "values": np.float32,
    "draws": np.float32,
    "root_values": np.float32,
    "flags": np.uint8,
    "visit_offsets": np.int64,
    "visit_moves": np.uint16,
    "visit_counts": np.uint32,
}
PER_GAME = ("starts", "results", "ends", "sources", "seeds")
PER_PLY = ("moves", "values", "draws", "root_values", "flags")
PER_VISIT = ("visit_moves", "visit_counts")


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What the arrays refer to by number, and where the games come from."""

    sources: tuple[dict[str, Any], ...] = ()  # {"kind": "selfplay" | "pgn" | "labels" ..., ...}
    ends: tuple[str, ...] = (UNKNOWN_END,)  # how games ended
    provenance: dict[str, Any] = {}  # of the file: program, version, command
    games: int = 0
    plies: int = 0
    visits: int = 0
    format_version: int = FORMAT_VERSION


def provenance(command: str) -> dict[str, Any]:
    """What the header of a new shard says about who wrote it."""
    return {"program": "kibitz", "version": kibitz.__version__, "command": command}


class Shard(NamedTuple):
    """G games of N plies in all with V visited moves; moves are in the view of who makes them."""

    header: Header
    starts: np.ndarray  # uint64 [G, 4]: PACKED positions
    offsets: np.ndarray  # int64 [G + 1]: first ply of each game
    results: np.ndarray  # int8 [G]: White's view, 1, 0, -1; 2 unknown
    ends: np.ndarray  # uint8 [G]: index into header.ends
    sources: np.ndarray  # uint16 [G]: index into header.sources
    seeds: np.ndarray  # uint64 [G]
    moves: np.ndarray  # uint16 [N]: the move played, 0 if none was (last ply of a game only)
    values: np.ndarray  # float32 [N]: searched, side to move's view, in [-1, 1]; NaN unknown
    draws: np.ndarray  # float32 [N]: probability of a draw by the search; NaN unknown
    root_values: np.ndarray  # float32 [N]: the network's value before the search; NaN unknown
    flags: np.ndarray  # uint8 [N]: RANDOM_MOVE + NOT_A_POLICY + NOT_A_VALUE
    visit_offsets: np.ndarray  # int64 [N + 1]: first visited move of each ply
    visit_moves: np.ndarray  # uint16 [V]
    visit_counts: np.ndarray  # uint32 [V]

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.results)

    @property
    def plies(self) -> int:
        """Number of plies of all games."""
        return len(self.moves)


def empty() -> Shard:
    """A shard without games."""
    arrays = {name: np.zeros(0, dtype=dtype) for name, dtype in DTYPES.items()}
    arrays["starts"] = arrays["starts"].reshape(0, 4)
    for name in ("offsets", "visit_offsets"):
        arrays[name] = np.zeros(1, dtype=np.int64)
    return Shard(Header(), **arrays)


def packed_starts(shard: Shard) -> np.ndarray:
    """The start positions, PACKED [G], usable by kernels."""
    starts = new_packed(shard.games)
    starts[:] = np.ascontiguousarray(shard.starts).view(PACKED).reshape(-1)
    return starts


def counted(shard: Shard) -> Shard:
    """The shard with the counts in its header brought up to date."""
    header = msgspec.structs.replace(
        shard.header, games=shard.games, plies=shard.plies, visits=len(shard.visit_moves)
    )
    return shard._replace(header=header)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Where each of so many pieces of these lengths starts, and where the last ends; int64."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def numbered(entries: Sequence[Any]) -> tuple[tuple[Any, ...], list[int]]:
    """The different entries in order of appearance, and each entry's number."""
    names = [msgspec.json.encode(entry, order="deterministic") for entry in entries]
    different = dict(zip(reversed(names), reversed(entries), strict=True))
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple(different[name] for name in order), [order[name] for name in names]


# --- writing ------------------------------------------------------------------------------------


def write(location: Location, shard: Shard) -> None:
    """Write a shard, atomically."""
    write_bytes(location, encode(shard))


def encode(shard: Shard) -> bytes:
    """The bytes of a shard file; the same games give the same bytes."""
    shard = counted(shard)
    fault = find_fault(shard)
    assert not fault, fault
    arrays = {name: np.ascontiguousarray(getattr(shard, name)) for name in DTYPES}
    metadata = {"header": msgspec.json.encode(shard.header, order="deterministic").decode()}
    return with_ending(zstandard.compress(safetensors.numpy.save(arrays, metadata), LEVEL), MARK)


# --- reading ------------------------------------------------------------------------------------


def read(location: Location) -> Shard:
    """Read a shard and check all of it, or raise DamagedFileError; the arrays are writable."""
    return decode(read_kept(location), location)


def read_header(location: Location) -> Header:
    """The header of a shard whose bytes are all as they were written; the arrays stay packed."""
    return _header(_first_bytes(_checked(read_kept(location), location), location), location)


def claimed_games(location: Location) -> int | None:
    """How many games a damaged shard says it has, where that much can still be read."""
    try:
        return _header(_first_bytes(read_kept(location), location), location).games
    except (FileError, InputError):
        return None


def _first_bytes(content: bytes, location: Location) -> bytes:
    """The length and the JSON that a safetensors file begins with, unpacked."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(content) as stream:
            length = stream.read(8)
            size = min(int.from_bytes(length, "little"), LONGEST_HEADER)  # it may be damaged
            return length + stream.read(size)
    except (zstandard.ZstdError, MemoryError) as error:
        raise _damaged(location, f"the header cannot be unpacked ({error})") from error


def decode(content: bytes, location: Location = "shard") -> Shard:
    """The shard in the bytes of a file; `location` is named where they are damaged."""
    tensors = unzstd(_checked(content, location), location)
    header = _header(tensors, location)
    arrays = arrays_of(tensors, location, "shard")
    missing = DTYPES.keys() - arrays.keys()
    if missing:
        raise _damaged(location, f"arrays are missing: {', '.join(sorted(missing))}")
    shard = Shard(header, **{name: arrays[name] for name in DTYPES})
    fault = find_fault(shard)
    if fault:
        raise _damaged(location, fault)
    return shard


def _checked(content: bytes, location: Location) -> bytes:
    """The zstd frame, if it is what the checksum behind it was made for."""
    try:
        return without_ending(content, MARK)
    except ChecksumError as error:
        raise _damaged(location, error.why("shard")) from error


def _header(tensors: bytes, location: Location) -> Header:
    length = int.from_bytes(tensors[:8], "little")
    try:
        text = msgspec.json.decode(tensors[8 : 8 + length])["__metadata__"]["header"]
        version = msgspec.json.decode(text).get("format_version", 0)
        if version > FORMAT_VERSION:
            raise newer_format("shard", version, FORMAT_VERSION, os.fspath(location))
        return msgspec.json.decode(text, type=Header)
    except (msgspec.DecodeError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise _damaged(location, f"the header cannot be read ({error})") from error


def _damaged(location: Location, why: str) -> DamagedFileError:
    return DamagedFileError(
        f"shard refused, {why}", value=os.fspath(location), fix="make or fetch the file again"
    )


# --- what must hold -----------------------------------------------------------------------------


def find_fault(shard: Shard) -> str:
    """Say what in the arrays contradicts the rest, or nothing."""
    header, games, plies, visits = shard.header, shard.games, shard.plies, len(shard.visit_moves)
    if (header.games, header.plies, header.visits) != (games, plies, visits):
        return "the arrays are not as long as the header says"
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(PER_GAME, (games,)),
        **dict.fromkeys(PER_PLY, (plies,)),
        **dict.fromkeys(PER_VISIT, (visits,)),
        "starts": (games, 4),
        "offsets": (games + 1,),
        "visit_offsets": (plies + 1,),
    }
    for name, dtype in DTYPES.items():
        array = getattr(shard, name)
        if array.dtype != dtype:
            return f"{name}: expected {np.dtype(dtype)}, found {array.dtype}"
        if array.shape != shapes[name]:
            return f"{name}: expected shape {shapes[name]}, found {array.shape}"
    for name, total in (("offsets", plies), ("visit_offsets", visits)):
        offsets = getattr(shard, name)
        if offsets[0] != 0 or offsets[-1] != total or (np.diff(offsets) < 0).any():
            return f"{name}: do not run from 0 to {total}"
    return _fault_of_values(shard)


def _fault_of_values(shard: Shard) -> str:
    wrong = first_wrong(packed_starts(shard), new_positions(1)[0])
    if wrong >= 0:
        return f"starts: game {wrong} begins where no game can"
    if shard.games and shard.sources.max() >= len(shard.header.sources):
        return "a game's source is not in the header"
    if shard.games and shard.ends.max() >= len(shard.header.ends):
        return "a game's end is not in the header"
    if not np.isin(shard.results, (-1, 0, 1, UNKNOWN_RESULT)).all():
        return "results: expected -1, 0, 1 or 2"
    for name, low in (("values", -1.0), ("draws", 0.0), ("root_values", -1.0)):
        numbers = getattr(shard, name)
        if not (np.isnan(numbers) | (numbers >= low) & (numbers <= 1.0)).all():
            return f"{name}: expected {low:g} to 1, or NaN"
    last = np.zeros(shard.plies, dtype=bool)
    last[(shard.offsets[1:] - 1)[np.diff(shard.offsets) > 0]] = True
    if not ((shard.moves != 0) | last).all():
        return "moves: none inside a game"
    return ""


# --- a game as objects ----------------------------------------------------------------------------
#
# A game with its searches as Python objects.
#
# `shard_of` and `games_of` convert in bulk. Producers of millions of plies fill the arrays of a
# Shard directly instead.


RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0, "*": UNKNOWN_RESULT}
RESULT_TEXTS = {number: text for text, number in RESULTS.items()}


@dataclass(frozen=True, slots=True)
class Ply:
    """A position that was searched, and the move made there (0: none), in the mover's view."""

    move: int
    value: float = math.nan  # for the side to move, in [-1, 1]
    draw: float = math.nan
    root_value: float = math.nan
    flags: int = 0
    visits: tuple[tuple[int, int], ...] = ()  # moves and their counts


@dataclass(frozen=True)
class Game:
    """A game from any start position. Unknown numbers are NaN, an unknown result is 2."""

    plies: tuple[Ply, ...] = ()
    start: str = START  # a FEN
    result: int = UNKNOWN_RESULT  # White's view
    end: str = UNKNOWN_END
    source: dict[str, Any] = field(default_factory=dict)
    seed: int = 0


def shard_of(games: Sequence[Game], provenance: dict[str, Any] | None = None) -> Shard:
    """The games as one shard."""
    plies = [ply for game in games for ply in game.plies]
    visits = [visit for ply in plies for visit in ply.visits]
    sources, source_numbers = numbered([game.source for game in games])
    ends, end_numbers = numbered([game.end for game in games])
    shard = Shard(
        header=Header(sources=sources, ends=ends, provenance=provenance or {}),
        starts=_starts([game.start for game in games]),
        offsets=offsets_of(np.array([len(game.plies) for game in games], dtype=np.int64)),
        results=np.array([game.result for game in games], dtype=np.int8),
        ends=np.array(end_numbers, dtype=np.uint8),
        sources=np.array(source_numbers, dtype=np.uint16),
        seeds=np.array([game.seed for game in games], dtype=np.uint64),
        moves=np.array([ply.move for ply in plies], dtype=np.uint16),
        values=np.array([ply.value for ply in plies], dtype=np.float32),
        draws=np.array([ply.draw for ply in plies], dtype=np.float32),
        root_values=np.array([ply.root_value for ply in plies], dtype=np.float32),
        flags=np.array([ply.flags for ply in plies], dtype=np.uint8),
        visit_offsets=offsets_of(np.array([len(ply.visits) for ply in plies], dtype=np.int64)),
        visit_moves=np.array([move for move, _ in visits], dtype=np.uint16),
        visit_counts=np.array([count for _, count in visits], dtype=np.uint32),
    )
    return counted(shard)


def _starts(fens: Sequence[str]) -> np.ndarray:
    positions = new_positions(len(fens))
    for index, fen in enumerate(fens):
        read_fen(fen, positions, index)
    return pack_starts(positions)


def pack_starts(positions: np.ndarray) -> np.ndarray:
    """Start positions, POSITION [G], as a shard has them: uint64 [G, 4]."""
    packed = new_packed(len(positions))
    pack_positions(positions, np.zeros(len(positions), dtype=np.uint8), packed)
    return packed.view(np.uint64).reshape(-1, 4).view(np.ndarray)


def start_positions(shard: Shard) -> np.ndarray:
    """The start positions of a shard's games, POSITION [G]."""
    positions = new_positions(shard.games)
    unpack_positions(packed_starts(shard), positions, np.zeros(shard.games, dtype=np.uint8))
    return positions


def games_of(shard: Shard) -> Iterator[Game]:
    """The games of a shard, one by one."""
    visits = list(zip(shard.visit_moves.tolist(), shard.visit_counts.tolist(), strict=True))
    policies = [tuple(visits[first:last]) for first, last in pairwise(shard.visit_offsets.tolist())]
    columns = (shard.moves, shard.values, shard.draws, shard.root_values, shard.flags)
    plies = list(map(Ply, *(column.tolist() for column in columns), policies))
    header, starts = shard.header, start_positions(shard)
    for game in range(shard.games):
        yield Game(
            plies=tuple(plies[shard.offsets[game] : shard.offsets[game + 1]]),
            start=fen_of(starts[game], shredder=True),
            result=int(shard.results[game]),
            end=header.ends[shard.ends[game]],
            source=header.sources[shard.sources[game]],
            seed=int(shard.seeds[game]),
        )

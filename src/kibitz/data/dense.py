"""Dense shards: millions of searched positions, 32 bytes each before they are packed.

A dense shard is a file as a shard of games is (shard.py): safetensors in zstd with a header, a mark
and a checksum. Its array `records`, uint8 [32, N], has byte k of every record in row k, which packs
to two thirds of the records one after the other. What is known of whole games stands beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np

from kibitz.core.files import Location, write_bytes
from kibitz.core.places import read_kept
from kibitz.data.dense_records import BLACK, DENSE, DRAWN, first_unsound
from kibitz.data.dense_records import RECORDS as DENSE_RECORDS
from kibitz.data.shard import damaged, mark_of, sealed, unsealed, unsealed_header
from kibitz.position.moves import MAX_MOVES
from kibitz.position.state import new_positions

FORMAT_VERSION = 1
SUFFIX = ".dense"
MARK = mark_of(b"kibitz dense")
BYTES = DENSE.itemsize

DTYPES: dict[str, Any] = {
    "records": np.uint8,
    "offsets": np.int64,
    "results": np.int8,
    "ends": np.uint8,
    "plies": np.uint16,
    "openings": np.uint64,
}
PER_GAME = ("results", "ends", "plies", "openings")


class DenseHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Where the positions come from."""

    source: dict[str, Any] = {}  # {"kind": "alphabeta", settings, first game ...}
    ends: tuple[str, ...] = ()  # how games ended
    provenance: dict[str, Any] = {}  # of the file: program, version, command
    positions: int = 0
    games: int = 0
    format_version: int = FORMAT_VERSION


class DenseGames(NamedTuple):
    """What is known of the G games that the records are of; none where only records are known."""

    offsets: np.ndarray  # int64 [G + 1]: first record of each game
    results: np.ndarray  # int8 [G]: White's view, 1, 0, -1
    ends: np.ndarray  # uint8 [G]: index into header.ends
    plies: np.ndarray  # uint16 [G]: moves played
    openings: np.ndarray  # uint64 [G]: key of the first position that was searched


class DenseShard(NamedTuple):
    """A dense shard in memory."""

    header: DenseHeader
    records: np.ndarray  # DENSE [N]
    games: DenseGames


def new_records(count: int) -> np.ndarray:
    """Zeroed records, DENSE [count], usable alike by kernels and by plain Python."""
    return np.zeros(count, dtype=DENSE_RECORDS)


def no_games() -> DenseGames:
    """Of records alone."""
    empty = {name: np.zeros(0, dtype=DTYPES[name]) for name in PER_GAME}
    return DenseGames(offsets=np.zeros(1, dtype=np.int64), **empty)


def write_dense(
    location: Location,
    records: np.ndarray,
    games: DenseGames | None = None,
    header: DenseHeader | None = None,
) -> None:
    """Write DENSE [N] as a dense shard, atomically."""
    write_bytes(location, encode_dense(records, games, header))


def encode_dense(
    records: np.ndarray, games: DenseGames | None = None, header: DenseHeader | None = None
) -> bytes:
    """The bytes of a dense shard; the same records give the same bytes."""
    games, header = games or no_games(), header or DenseHeader()
    counts = {"positions": len(records), "games": len(games.results)}
    shard = DenseShard(msgspec.structs.replace(header, **counts), records, games)
    fault = fault_of(shard)
    assert not fault, fault
    rows = np.ascontiguousarray(records).view(np.uint8).reshape(-1, BYTES)
    arrays = {"records": np.ascontiguousarray(rows.T).view(np.ndarray)} | games._asdict()
    return sealed(arrays, shard.header, MARK)


def read_dense(location: Location) -> np.ndarray:
    """The records of a dense shard, DENSE [N], each proved sound, or DamagedFileError."""
    return read_dense_shard(location).records


def read_dense_shard(location: Location) -> DenseShard:
    """Read a dense shard and check all of it, or raise DamagedFileError."""
    return decode_dense(read_kept(location), location)


def read_dense_header(location: Location) -> DenseHeader:
    """The header of a dense shard whose bytes are all as they were written."""
    return unsealed_header(read_kept(location), location, MARK, DenseHeader)


def decode_dense(content: bytes, location: Location = "dense shard") -> DenseShard:
    """The dense shard in the bytes of a file; `location` is named where they are damaged."""
    header, arrays = unsealed(content, location, MARK, DenseHeader, DTYPES)
    columns = arrays.pop("records")
    if columns.dtype != np.uint8 or columns.ndim != 2 or columns.shape[0] != BYTES:
        raise damaged(location, f"records: expected {BYTES} rows of bytes")
    records = new_records(columns.shape[1])
    records.view(np.uint8).reshape(-1, BYTES)[:] = columns.T
    shard = DenseShard(header, records, DenseGames(**arrays))
    fault = fault_of(shard)
    if fault:
        raise damaged(location, fault)
    return shard


def fault_of(shard: DenseShard) -> str:
    """Say what contradicts the rest, or what no search can have written, or nothing."""
    header, records, games = shard
    if (header.positions, header.games) != (len(records), len(games.results)):
        return "the arrays are not as long as the header says"
    for name, array in games._asdict().items():
        length = header.games + (name == "offsets")
        if array.dtype != DTYPES[name] or array.shape != (length,):
            return f"{name}: expected {length} of {np.dtype(DTYPES[name])}"
    offsets = games.offsets
    end = len(records) if header.games else 0
    if offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        return f"offsets: do not run from 0 to {end}"
    if header.games and games.ends.max() >= len(header.ends):
        return "a game's end is not in the header"
    if not np.isin(games.results, (-1, 0, 1)).all():
        return "results: expected -1, 0 or 1"
    if header.games:
        white = np.repeat(games.results, np.diff(offsets))
        mover = np.where(records["state"] & BLACK, -white, white)
        if (records["result"] != mover + DRAWN).any():
            return "results: a record's is not its game's"
    wrong = first_unsound(records, new_positions(1)[0], np.zeros(MAX_MOVES, dtype=np.uint16))
    return f"record {wrong} is no position with a legal move" if wrong >= 0 else ""

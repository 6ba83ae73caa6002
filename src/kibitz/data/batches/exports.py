"""Positions written for other programs: a Parquet table, or the experience that DLChess reads.

Experience is three raw files of little-endian float32 and a JSON beside each with its data file,
dtype, shape and strides (counted in numbers): `states` [N, 22, 8, 8] (encoding version 2, our
oriented22), `visit_counts` [N, 73, 8, 8] and `rewards` [N], the game's result for the side to move.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from itertools import pairwise
from typing import IO, Any

import numpy as np

from kibitz.core.errors import InputError, missing_extra
from kibitz.core.files import Location, atomic_write, write_bytes
from kibitz.core.places import Place
from kibitz.data.batches.sample import Samples, replay
from kibitz.data.shard import UNKNOWN_RESULT, Shard
from kibitz.nets.encodings.leaves import Leaves
from kibitz.nets.encodings.planes import encode, layout_of, policy_indices
from kibitz.position.fen import fen_of
from kibitz.position.notation import absolute
from kibitz.position.packed import unpack_positions
from kibitz.position.state import new_positions

ENCODING, ORDER = "oriented22", "dlchess"
POLICY_PLANES = 73
ROWS = 4096  # encoded at a time
NAMES = ("states", "visit_counts", "rewards")
COLUMNS = {
    "game": "int64",
    "fen": "string",
    "move": "string",
    "value": "float32",
    "draw": "float32",
    "result": "int8",
    "best": "string",
}


# --- Parquet -------------------------------------------------------------------------------------


def write_parquet(path: Location, shards: Iterable[Shard]) -> int:
    """Write all positions of the shards; returns how many.

    Columns: `game` (number in the file), `fen`, `move` and `best` (UCI, castling in Chess960 as
    king takes rook; null for none), `value`, `draw` (of the search) and `result` (1, 0, -1), all
    for the side to move and null where unknown.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("writing Parquet", "pyarrow", "parquet") from error
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()])
    rows = games = 0
    with (
        atomic_write(path) as file,
        pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for shard in shards:
            columns = _columns(replay(shard), games)
            writer.write_table(pyarrow.table(columns, schema))
            rows, games = rows + len(columns["fen"]), games + shard.games
    return rows


def _columns(samples: Samples, games: int) -> dict[str, list[Any]]:
    """The columns of one shard, whose first game has this number."""
    count = len(samples.values)
    positions = new_positions(count)
    unpack_positions(samples.positions, positions, np.zeros(count, dtype=np.uint8))
    best = _best(samples)
    return {
        "game": (samples.game.astype(np.int64) + games).tolist(),
        "fen": [fen_of(position) for position in positions],
        "move": _texts(positions, samples.played),
        "value": _none_for_nan(samples.values),
        "draw": _none_for_nan(samples.draws),
        "result": [
            None if result == UNKNOWN_RESULT else result for result in samples.results.tolist()
        ],
        "best": _texts(positions, best),
    }


def _best(samples: Samples) -> np.ndarray:
    """The move with most weight in each row, 0 without a policy; uint16 [S]."""
    best = np.zeros(len(samples.values), dtype=np.uint16)
    offsets = samples.target_offsets.tolist()
    for row, (start, end) in enumerate(pairwise(offsets)):
        if end > start:
            best[row] = samples.target_moves[start + samples.target_weights[start:end].argmax()]
    return best


def _texts(positions: np.ndarray, moves: np.ndarray) -> list[str | None]:
    pairs = zip(positions, moves.tolist(), strict=True)
    return [absolute(position, move).uci() if move else None for position, move in pairs]


def _none_for_nan(numbers: np.ndarray) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers.tolist()]


# --- experience ----------------------------------------------------------------------------------


def write_experience(folder: Place, label: str, shards: Iterable[Shard]) -> int:
    """Write all positions that have a policy and a result, as NAME_LABEL.dat; returns how many.

    Counts are shares of the visits, which the trainer divides by their sum anyway.
    """
    count = 0
    paths = [folder / f"{name}_{label}.dat" for name in NAMES]
    with (
        atomic_write(paths[0]) as states,
        atomic_write(paths[1]) as visits,
        atomic_write(paths[2]) as rewards,
    ):
        for shard in shards:
            count += _write(replay(shard), states, visits, rewards)
        if not count:
            raise InputError("no position with a policy and a result", fix="export other games")
    shapes = ((count, layout_of(ENCODING).planes, 8, 8), (count, POLICY_PLANES, 8, 8), (count,))
    for path, shape in zip(paths, shapes, strict=True):
        write_bytes(path.with_suffix(".json"), _description(path, shape))
    return count


def _description(path: Place, shape: tuple[int, ...]) -> bytes:
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    facts = {"data": path.name, "dtype": "float32", "shape": shape, "strides": strides}
    return json.dumps(facts, indent=2).encode()


def _write(samples: Samples, states: IO[bytes], visits: IO[bytes], rewards: IO[bytes]) -> int:
    usable = (np.diff(samples.target_offsets) > 0) & (samples.results != UNKNOWN_RESULT)
    rows = np.flatnonzero(usable)
    for first in range(0, len(rows), ROWS):
        part = rows[first : first + ROWS]
        leaves, entries = _leaves(samples, part)
        planes = np.zeros((len(part), layout_of(ENCODING).planes, 8, 8), dtype=np.float32)
        encode(ENCODING, leaves, planes)
        states.write(planes.astype("<f4", copy=False).tobytes())
        counts = np.zeros((len(part), POLICY_PLANES * 64), dtype="<f4")
        indices = np.zeros(len(leaves.moves), dtype=np.int32)
        policy_indices(ORDER, ENCODING, leaves, indices)
        owners = np.repeat(np.arange(len(part)), np.diff(leaves.offsets))
        counts[owners, indices] = samples.target_weights[entries]
        visits.write(counts.tobytes())
        rewards.write(samples.results[part].astype("<f4").tobytes())
    return len(rows)


def _leaves(samples: Samples, rows: np.ndarray) -> tuple[Leaves, np.ndarray]:
    """The rows as a batch whose moves are the visited ones, and their entries among the targets."""
    positions = new_positions(len(rows))
    repetitions = np.zeros(len(rows), dtype=np.uint8)
    unpack_positions(samples.positions[rows], positions, repetitions)
    starts, ends = samples.target_offsets[rows], samples.target_offsets[rows + 1]
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(ends - starts)))
    entries = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts)
    leaves = Leaves(
        positions=positions.reshape(-1, 1),
        known=np.ones(len(rows), dtype=np.int64),
        repetitions=repetitions.reshape(-1, 1),
        moves=samples.target_moves[entries],
        offsets=offsets,
    )
    return leaves, entries

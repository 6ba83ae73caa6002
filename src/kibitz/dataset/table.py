"""Positions as a Parquet file, one row each, for other programs; shards -> **table** -> Parquet."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from kibitz.dataset.sample import Samples, replay
from kibitz.errors import missing_extra
from kibitz.files import Location, atomic_write
from kibitz.games.shard import UNKNOWN_RESULT, Shard
from kibitz.position.compact import unpack_compact_batch
from kibitz.position.fen import fen_of
from kibitz.position.notation import absolute
from kibitz.position.state import new_positions


def write_parquet(path: Location, shards: Iterable[Shard]) -> int:
    """Write all positions of the shards; returns how many.

    Columns: `game` (number in the file), `fen`, `move` and `best` (UCI, castling in Chess960 as
    king takes rook; null for none), `value`, `draw` (of the search) and `result` (1, 0, -1), all
    for the side to move and null where unknown.
    """
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise missing_extra("writing Parquet", "pyarrow", "parquet") from error
    schema = pyarrow.schema(
        [
            ("game", pyarrow.int64()),
            ("fen", pyarrow.string()),
            ("move", pyarrow.string()),
            ("value", pyarrow.float32()),
            ("draw", pyarrow.float32()),
            ("result", pyarrow.int8()),
            ("best", pyarrow.string()),
        ]
    )
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
    unpack_compact_batch(samples.positions, positions, np.zeros(count, dtype=np.uint8))
    best = _best(samples)
    return {
        "game": (samples.game.astype(np.int64) + games).tolist(),
        "fen": [fen_of(position) for position in positions],
        "move": _texts(positions, samples.played),
        "value": _known(samples.values),
        "draw": _known(samples.draws),
        "result": [None if one == UNKNOWN_RESULT else one for one in samples.results.tolist()],
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


def _known(numbers: np.ndarray) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers.tolist()]

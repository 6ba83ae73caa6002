"""`kibitz bench encoding`: positions encoded a second, for every layout.

bench/encoding.py -> **table or JSON**
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from kibitz.bench.encoding import encoding_speed
from kibitz.commands.arguments import JsonFlag
from kibitz.commands.output import columns, emit
from kibitz.errors import InputError


def encoding(
    *,
    batch: Annotated[int, Parameter(help="Positions encoded at once.")] = 512,
    rounds: Annotated[int, Parameter(help="Measure so often; the fastest round counts.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Encode positions in every layout, policy order and packed form on one core."""
    if batch < 1 or rounds < 1:
        raise InputError("--batch and --rounds at least 1", value=(batch, rounds))
    speeds = encoding_speed(batch, rounds)
    rows = [
        {
            "layout": speed.layout,
            "positions_per_second": round(speed.positions_per_second),
            "bytes_per_position": round(speed.bytes_per_position, 1),
        }
        for speed in speeds
    ]
    headings = ("layout", "positions/s", "bytes/position")
    table = columns(headings, [tuple(row.values()) for row in rows], title="encoding, one core")
    emit({"batch": batch, "threads": 1, "rows": rows}, as_json=json, table=table)

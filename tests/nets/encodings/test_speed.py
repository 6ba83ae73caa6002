"""The bench of encodings measures every layout; how fast they are is not asserted."""

from __future__ import annotations

import json

import pytest

from kibitz.cli.measure.position import encoding
from kibitz.core.errors import InputError
from kibitz.nets.encodings.planes import LAYOUTS, ORDERS


def test_every_layout_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    encoding(batch=8, rounds=1, json=True)
    rows = json.loads(capsys.readouterr().out)["rows"]
    names = {row["layout"] for row in rows}
    assert names > {*LAYOUTS, *(f"policy {order}" for order in ORDERS), "threat3072"}
    assert all(row["positions_per_second"] > 0 for row in rows)
    assert {row["layout"]: row["bytes_per_position"] for row in rows}["history109"] == 109 * 64 * 4


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InputError, match="--batch: 0; give 1 or more"):
        encoding(batch=0)

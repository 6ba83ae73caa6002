"""docs/training.md: its settings exist, its bytes are where it says."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from pathlib import Path

import numpy as np

from kibitz.train.checkpoint import checkpoints_in
from kibitz.train.config import TrainingSettings
from tests.train.running import last_checkpoint, make_games, run, settings_of

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
FIELDS = dataclasses.fields(TrainingSettings)


def test_every_setting_is_on_the_page() -> None:
    for table in dataclasses.fields(TrainingSettings):
        settings = getattr(TrainingSettings(), table.name)
        for key in dataclasses.fields(settings):
            name = f"{table.name}.{key.name}"
            together = f"`{table.name}.*`" in PAGE and f"`{key.name}`" in PAGE
            assert f"`{name}`" in PAGE or together, name


def test_the_page_knows_no_settings_that_do_not_exist() -> None:
    tables = {table.name: getattr(TrainingSettings(), table.name) for table in FIELDS}
    for table, key in re.findall(r"`(run|data|average|distill)\.([a-z_]+)`", PAGE):
        known = hasattr(tables[table], key) or (table, key) == ("average", "updates")
        assert known, f"{table}.{key}"


def test_a_checkpoint_is_what_the_page_says(tmp_path: Path) -> None:
    """Read with nothing but json and numpy."""
    games = make_games(tmp_path / "games")
    run(settings_of(games, tmp_path / "a", "average.kind=ema"))
    (path,) = checkpoints_in(tmp_path / "a" / "checkpoints")
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert metadata.keys() == {"state", "seal"}
    without = content.replace(metadata["seal"].encode(), b"0" * 64, 1)
    assert hashlib.sha256(without).hexdigest() == metadata["seal"]
    state = json.loads(metadata["state"])
    for key in state:
        assert f"`{key}`" in PAGE
    assert state["step"] == 6
    expected = last_checkpoint(tmp_path / "a").tensors
    assert header.keys() == expected.keys()
    kinds = {"F32": "<f4", "I64": "<i8", "U8": "u1"}
    for name, entry in header.items():
        assert f"`{name.split('.')[0]}." in PAGE
        first, last = (8 + length + at for at in entry["data_offsets"])
        array = np.frombuffer(content[first:last], kinds[entry["dtype"]]).reshape(entry["shape"])
        assert np.array_equal(array, expected[name].numpy())

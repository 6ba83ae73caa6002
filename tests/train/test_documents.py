"""docs/training.md: its lines run, its settings exist, its bytes are where it says."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from kibitz.cli import main
from kibitz.train.checkpoint import checkpoints_in
from kibitz.train.config import TrainingSettings
from tests.train.running import last_checkpoint, make_games, run, settings_of

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
FIELDS = dataclasses.fields(TrainingSettings)
COMMANDS = re.findall(r"^    (kibitz train .*)$", PAGE.replace("\\\n", " "), re.MULTILINE)


def test_the_page_has_examples() -> None:
    assert len(COMMANDS) == 5


@pytest.mark.parametrize("line", COMMANDS)
def test_the_examples_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On little data, small networks and for one epoch of small batches."""
    for name in ("games", "balanced", "noisy"):
        make_games(tmp_path / name, shards=1, games=8)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    if "--network" in words:
        words[words.index("--network") + 1] = "sparse-8"
    if "--batch" in words:
        words[words.index("--batch") + 1] = "32"
    else:
        words += ["--batch", "32"]
    words += ["--threads", "1", "--set", "run.tensorboard=false"]
    assert main(words) == 0
    name = words[words.index("--output") + 1]
    assert (tmp_path / name / f"{name}-int8.safetensors").exists()
    assert (tmp_path / name / f"{name}-average.safetensors").exists() == ("--average" in words)


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

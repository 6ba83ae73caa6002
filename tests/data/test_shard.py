"""Shards come back as they were written, and not at all once a byte has changed."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import safetensors.numpy
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as some

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import with_ending
from kibitz.data import shard as shards
from kibitz.data.shard import (
    DTYPES,
    MARK,
    Game,
    Ply,
    Shard,
    decode,
    encode,
    find_fault,
    games_of,
    read,
    shard_of,
    write,
)
from tests.data.conftest import random_game


def same(one: Any, other: Any) -> bool:
    """Equality for which NaN is NaN."""
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Ply):
        return all(same(getattr(one, name), getattr(other, name)) for name in Ply.__slots__)
    if isinstance(one, Game):
        return all(same(value, getattr(other, name)) for name, value in vars(one).items())
    return bool(one == other)


@settings(max_examples=40)
@given(seed=some.integers(0, 2**32), count=some.integers(0, 8))
def test_games_come_back(seed: int, count: int) -> None:
    generator = random.Random(seed)
    games = [random_game(generator) for _ in range(count)]
    assert same(list(games_of(decode(encode(shard_of(games))))), games)


def test_a_file_comes_back(tmp_path: Path, games: list[Game]) -> None:
    written = shard_of(games, {"program": "test"})
    write(tmp_path / "a.shard", written)
    back = read(tmp_path / "a.shard")
    assert back.header == written.header == shards.read_header(tmp_path / "a.shard")
    assert back.header == shards.read_header(tmp_path / "a.shard")
    assert back.header.games == len(games)
    for name, dtype in DTYPES.items():
        assert getattr(back, name).dtype == dtype
        assert getattr(back, name).tobytes() == getattr(written, name).tobytes()
        assert getattr(back, name).flags.writeable


def test_the_same_games_give_the_same_bytes(games: list[Game]) -> None:
    assert encode(shard_of(games)) == encode(shard_of(games))


def test_other_programs_can_read_it(tmp_path: Path, games: list[Game]) -> None:
    """The whole file, checksum included, is zstd; what comes out is a safetensors file."""
    write(tmp_path / "a.shard", shard_of(games))
    with (tmp_path / "a.shard").open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        arrays = safetensors.numpy.load(reader.read())
    assert arrays.keys() == DTYPES.keys()
    assert arrays["moves"].tolist() == [ply.move for game in games for ply in game.plies]


def test_every_changed_byte_is_noticed() -> None:
    content = encode(shard_of([Game((Ply(796, 0.5, visits=((796, 3),)),), result=1)]))
    assert decode(content).games == 1
    for place in range(len(content)):
        for change in (1, 0x80, 0xFF):
            broken = bytearray(content)
            broken[place] ^= change
            with pytest.raises(DamagedFileError, match=r"some\.shard"):
                decode(bytes(broken), "some.shard")


def test_every_cut_and_everything_appended_is_noticed(tmp_path: Path) -> None:
    content = encode(shard_of([Game((Ply(796),))]))
    path = tmp_path / "cut.shard"
    for length in [*range(len(content)), len(content) + 1]:
        path.write_bytes((content + b"\0")[:length])
        for reader in (read, shards.read_header):
            with pytest.raises(DamagedFileError, match=r"cut\.shard"):
                reader(path)


def checked_with(header: dict[str, Any], shard: Shard) -> bytes:
    """A file with a sound checksum around another header."""
    arrays = {name: getattr(shard, name) for name in DTYPES}
    text = msgspec.json.encode(header).decode()
    body = zstandard.compress(safetensors.numpy.save(arrays, {"header": text}))
    return with_ending(body, MARK)


def test_a_newer_format_is_told_from_damage(games: list[Game]) -> None:
    with pytest.raises(InputError, match="update Kibitz"):
        decode(checked_with({"format_version": 2}, shard_of(games)))
    with pytest.raises(DamagedFileError, match="as long as the header says"):
        decode(checked_with({"format_version": 1}, shard_of(games)))


def test_a_claim_of_gigabytes_is_not_believed() -> None:
    """The header of a zstd frame says how much it unpacks to, and so does that of its arrays."""
    frame = bytearray(zstandard.compress(bytes(1 << 20)))
    assert frame[4] >> 6 == 2  # a size in four bytes
    frame[4], frame[5:9] = frame[4] | 0xC0, (20 << 30).to_bytes(8, "little")
    with pytest.raises(DamagedFileError, match=r"21,474,836,480 bytes.*big\.shard"):
        decode(with_ending(bytes(frame), MARK), "big.shard")
    claim = {"moves": {"dtype": "U16", "shape": [1 << 40], "data_offsets": [0, 1 << 41]}}
    text = msgspec.json.encode({"__metadata__": {"header": "{}"}, **claim})
    body = zstandard.compress(len(text).to_bytes(8, "little") + text)
    with pytest.raises(DamagedFileError, match=r"arrays cannot be read.*big\.shard"):
        decode(with_ending(body, MARK), "big.shard")


WRONG: dict[str, Any] = {
    "offsets": lambda a: a[::-1].copy(),
    "results": lambda a: a * 0 + 3,
    "ends": lambda a: a + 7,
    "sources": lambda a: a + 7,
    "seeds": lambda a: a[1:],
    "starts": lambda a: np.full_like(a, 2**64 - 1),
    "moves": lambda a: a * 0,
    "values": lambda a: a * 0 + 2,
    "draws": lambda a: np.full_like(a, -0.5),
    "root_values": lambda a: np.full_like(a, np.inf),
    "flags": lambda a: a[:-1],
    "visit_offsets": lambda a: a + 1,
    "visit_moves": lambda a: a[:-1],
    "visit_counts": lambda a: a.astype(np.int32),
}


def test_all_arrays_can_be_wrong() -> None:
    assert WRONG.keys() == DTYPES.keys()


@pytest.mark.parametrize("name", WRONG)
def test_contradictions_are_found(name: str) -> None:
    shard = shard_of([Game((Ply(796, 0.5, 0.5, 0.5, visits=((796, 3),)), Ply(731)), result=1)] * 2)
    assert find_fault(shard) == ""
    assert find_fault(shard._replace(**{name: WRONG[name](getattr(shard, name))})) != ""

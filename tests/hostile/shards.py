"""Shards of strangers: claims of gigabytes, arrays that contradict each other, no chess."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import safetensors.numpy
import zstandard

from kibitz.core.files import with_ending
from kibitz.data.shard import DTYPES, MARK, Shard, counted, write
from tests.data.batches.makers import random_shard
from tests.hostile.kind import Attack, Kind, Target, file_target

GIBIBYTES = 20 << 30


def sound_shard() -> Shard:
    """A few games, as self-play would leave them."""
    shard = random_shard(6, 20, seed=3)
    draws = np.minimum(shard.draws, 1 - np.abs(shard.values)).astype(np.float32)
    return shard._replace(draws=draws)


def _sealed(body: bytes) -> bytes:
    return with_ending(body, MARK)


def _packed(tensors: bytes) -> bytes:
    return _sealed(zstandard.compress(tensors))


def _saved(**changes: Any) -> bytes:
    """A shard with other arrays, whose header counts them and whose checksum is right."""
    shard = counted(sound_shard()._replace(**changes))
    arrays = {name: np.ascontiguousarray(getattr(shard, name)) for name in DTYPES}
    text = msgspec.json.encode(shard.header).decode()
    return _packed(safetensors.numpy.save(arrays, {"header": text}))


def _headed(header: object) -> bytes:
    text = json.dumps(header).encode()
    return _packed(struct.pack("<Q", len(text)) + text)


def _claiming() -> bytes:
    """A frame of zstd that says it unpacks to 20 GiB."""
    frame = bytearray(zstandard.compress(bytes(1 << 20)))
    frame[4], frame[5:9] = frame[4] | 0xC0, GIBIBYTES.to_bytes(8, "little")
    return _sealed(bytes(frame))


def _starts(position: int) -> np.ndarray:
    starts = sound_shard().starts.copy()
    starts[:, position] = 2**64 - 1
    return starts


MADE: dict[str, Callable[[], bytes]] = {
    "claim of 20 GiB": _claiming,
    "bomb of 3 GiB": lambda: _sealed(zstandard.compress(bytes(3 << 30))),
    "array of a tebibyte": lambda: _headed(
        {
            "__metadata__": {"header": "{}"},
            "moves": {"dtype": "U16", "shape": [1 << 40], "data_offsets": [0, 1 << 41]},
        }
    ),
    "header that is nested": lambda: _packed(struct.pack("<Q", 100_000) + b'{"a":' + b"[" * 99_995),
    "pieces everywhere": lambda: _saved(starts=_starts(0)),
    "state of no side": lambda: _saved(starts=_starts(3)),
    "moves of no board": lambda: _saved(moves=np.full_like(sound_shard().moves, 0xFFFF)),
    "visits of no board": lambda: _saved(
        visit_moves=np.full_like(sound_shard().visit_moves, 0xFFFF)
    ),
    "offsets out of range": lambda: _saved(visit_offsets=sound_shard().visit_offsets + (1 << 40)),
    "no zstd": lambda: _sealed(b"no zstd"),
}


TOLD = {
    "claim of 20 GiB": "more than may be held in memory",
    "bomb of 3 GiB": "unpacks to more than 200 times its size",
    "array of a tebibyte": "its arrays cannot be read",
    "header that is nested": "the header cannot be read",
    "pieces everywhere": "starts: game 0 begins where no game can",
    "state of no side": "starts: game 0 begins where no game can",
    "moves of no board": "an illegal move",
    "visits of no board": "visits of an illegal move",
    "offsets out of range": "visit_offsets: do not run from 0",
    "no zstd": "cannot decompress",
}


def attacks(folder: Path) -> list[Attack]:
    """Each is verified, and shown with its games."""
    found = []
    for name, make in MADE.items():
        path = folder / f"{name.replace(' ', '-')}.shard"
        path.write_bytes(make())
        for command in ("verify", "inspect"):
            words = ("data", command, str(path))
            found.append(Attack(f"shard: {name}, {command}", words, TOLD[name], code=1))
    return found


def _unpacked(folder: Path) -> bytes:
    write(folder / "sound.shard", sound_shard())
    return zstandard.decompress((folder / "sound.shard").read_bytes())


def targets(folder: Path) -> Sequence[Target]:
    """The tensors of a shard, packed and sealed again; and its bytes as they are."""
    inner = _unpacked(folder)
    whole = (folder / "sound.shard").read_bytes()
    commands = (
        "data inspect FILE",
        "data verify FILE",
        "data export FILE -o OUT.pgn",
        "data export FILE -o OUT --format experience",
        "data split FILE -o OUT",
        "data combine FILE -o OUT",
        "data prune FILE --keep 1 --dry-run",
    )
    found = [file_target("some.shard", inner, command, _packed) for command in commands]
    found += [
        file_target("some.shard", whole, command, seal)
        for command in commands[:2]
        for seal in (bytes, _sealed)
    ]
    return found


SHARDS = Kind("shards", attacks, targets)

"""What docs/data.md says of bytes and defaults is so."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import zstandard

from kibitz.data.labels.evaluating import Labelling
from kibitz.data.labels.labels import LabelModel
from kibitz.data.shard import DTYPES, Game, encode, shard_of

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_the_bytes_are_those_described(games: list[Game]) -> None:
    content = encode(shard_of(games))
    end = len(content) - 52
    assert content[:4] == bytes.fromhex("28 B5 2F FD")
    assert content[end : end + 4] == bytes.fromhex("50 2A 4D 18")
    assert content[end + 4 : end + 8] == bytes.fromhex("2C 00 00 00")
    assert content[end + 8 : end + 20] == b"kibitz shard"
    assert content[end + 20 :] == hashlib.sha256(content[:end]).digest()
    tensors = zstandard.decompress(content[:end])
    length = int.from_bytes(tensors[:8], "little")
    described = json.loads(tensors[8 : 8 + length])
    header = json.loads(described.pop("__metadata__")["header"])
    page = PAGE.read_text(encoding="utf-8")
    for key in header:
        assert f"`{key}`" in page
    assert described.keys() == DTYPES.keys()
    for name, entry in described.items():
        assert f"| `{name}` | {entry['dtype']} |" in page
    place = 8 + length + described["starts"]["data_offsets"][0]
    first = tensors[place : place + 32]
    assert first[:8] == bytes([255, 255, 0, 0, 0, 0, 255, 255])  # the ranks of a start position
    assert first[28:] == bytes([64, 0, 0, 0])  # nothing en passant, White to move


def test_defaults_are_those_described() -> None:
    page, model, settings = PAGE.read_text(encoding="utf-8"), LabelModel(), Labelling()
    assert f"**a = {model.a}, b = {model.b}**" in page
    assert f"| `nodes`, `depth` | {settings.nodes}, {settings.depth} |" in page
    for name in ("lines", "temperature", "chess960", "most_plies"):
        assert f"| `{name}` | {getattr(settings, name)} |" in page
    for name in ("random_plies", "random_share"):
        assert f"| `{name}` | {list(getattr(settings, name))} |" in page
    assert f"| {settings.win_cp}, {settings.win_plies} |" in page
    assert f"| {settings.draw_cp}, {settings.draw_plies}, {settings.draw_from} |" in page

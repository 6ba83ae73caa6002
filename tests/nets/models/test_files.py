"""Network files: what is saved comes back, and nothing damaged is ever accepted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kibitz.cli import main
from kibitz.core.errors import DamagedFileError, FileError, InputError
from kibitz.nets.card import Heads, NetworkCard, Provenance
from kibitz.nets.files import load, load_weights, read_card, save, save_onnx
from kibitz.nets.models.build import build, load_network, save_network
from kibitz.nets.models.make import from_arrays, quantise
from kibitz.nets.models.sizes import new_card

PROVENANCE = Provenance(
    "games-7", ("kibitz train --size plain-1x8",), 1200, 9_000_000, "2026-11-20"
)


def small_card(**changes: Any) -> NetworkCard:
    return msgspec.structs.replace(
        new_card("plain-1x8", name='tiny Ünïcode "seal":"x'), provenance=PROVENANCE, **changes
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


@pytest.fixture(scope="module")
def whole(folder: Path) -> bytes:
    weights = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2], np.int16)}
    save(folder / "whole.safetensors", weights, small_card())
    return (folder / "whole.safetensors").read_bytes()


@pytest.fixture(scope="module")
def whole_onnx(folder: Path) -> bytes:
    # Two fields of a model: ir_version 10 and an empty graph.
    save_onnx(folder / "whole.onnx", b"\x08\x0a\x3a\x00", small_card())
    return (folder / "whole.onnx").read_bytes()


@pytest.mark.parametrize(
    "size", ["tower-2x16-se", "plain-2x16", "residual-2x16", "se-2x16", "dilated-eval",
             "dilated-move", "sparse-32-both"],
)  # fmt: skip
def test_a_network_of_each_family_comes_back(size: str, tmp_path: Path) -> None:
    network = build(size)
    written = save_network(tmp_path / "n.safetensors", network, new_card(size))
    again, card = load_network(tmp_path / "n.safetensors")
    assert card == written == read_card(tmp_path / "n.safetensors")
    assert card.parameters > 0
    state = network.state_dict()
    assert state.keys() == again.state_dict().keys()
    assert all(torch.equal(state[name], tensor) for name, tensor in again.state_dict().items())


def test_the_card_comes_back_whole(whole: bytes, folder: Path) -> None:
    card, weights = load(folder / "whole.safetensors")
    assert msgspec.structs.replace(card, sha256="") == small_card()
    assert len(card.sha256) == 64
    assert weights["a"].dtype == np.float32
    assert weights["b"].tolist() == [1, 2]
    assert safetensors.numpy.load(whole).keys() == weights.keys()


def test_the_weights_keep_their_identity_when_the_card_changes(folder: Path) -> None:
    weights = {"a": np.ones(3, np.float32)}
    one = save(folder / "one.safetensors", weights, small_card())
    two = save(folder / "two.safetensors", weights, small_card(licence="CC0-1.0"))
    assert one.sha256 == two.sha256
    assert save(folder / "3.safetensors", {"b": weights["a"]}, small_card()).sha256 != one.sha256


def refused(path: Path, content: bytes) -> DamagedFileError:
    path.write_bytes(content)
    with pytest.raises(DamagedFileError) as refusal:
        read_card(path)
    assert path.name in str(refusal.value)
    return refusal.value


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_flipped_byte_is_accepted(
    data: st.DataObject, whole: bytes, whole_onnx: bytes, folder: Path
) -> None:
    name, content = data.draw(st.sampled_from([("f.safetensors", whole), ("f.onnx", whole_onnx)]))
    place = data.draw(st.integers(0, len(content) - 1))
    flip = data.draw(st.integers(1, 255))
    refused(folder / name, content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])


def test_no_cut_and_no_addition_is_accepted(whole: bytes, whole_onnx: bytes, folder: Path) -> None:
    for name, content in (("c.safetensors", whole), ("c.onnx", whole_onnx)):
        for length in range(len(content)):
            refused(folder / name, content[:length])
        refused(folder / name, content + b"\0")


def test_the_reason_is_told(whole: bytes, whole_onnx: bytes, folder: Path) -> None:
    shorter = refused(folder / "r.safetensors", whole[:-1])
    assert f"expected {len(whole)} bytes, found {len(whole) - 1}" in str(shorter)
    flipped = refused(folder / "r.safetensors", whole[:-1] + b"\xff")
    assert "expected checksum" in str(flipped)
    assert "no Kibitz network" in str(refused(folder / "r.onnx", whole_onnx[:50]))
    foreign = safetensors.numpy.save({"a": np.ones(3)})
    assert "without card or checksum" in str(refused(folder / "r.safetensors", foreign))
    with pytest.raises(FileError, match="no such file"):
        read_card(folder / "absent.safetensors")


def test_a_newer_format_is_refused_as_such(folder: Path) -> None:
    save(folder / "newer.safetensors", {}, small_card(format_version=2))
    with pytest.raises(InputError, match="format 2"):
        read_card(folder / "newer.safetensors")


def test_weights_of_another_network_are_refused(folder: Path) -> None:
    weights = {n: t.numpy() for n, t in build("plain-2x8").state_dict().items()}
    save(folder / "wrong.safetensors", weights, new_card("plain-1x8"))
    with pytest.raises(InputError, match="do not fit"):
        load_network(folder / "wrong.safetensors")


def test_a_quantised_network_is_stored_like_any_other(folder: Path) -> None:
    state = {n: t.numpy() for n, t in build("sparse-32").state_dict().items()}
    network = quantise(state).network
    card = msgspec.structs.replace(new_card("sparse-32"), precision="int8")
    save(folder / "int8.safetensors", network._asdict(), card)
    again = from_arrays(load_weights(folder / "int8.safetensors"))
    for name, array in network._asdict().items():
        assert np.array_equal(array, getattr(again, name))
        assert array.dtype == getattr(again, name).dtype
    with pytest.raises(InputError, match="quantised"):
        load_network(folder / "int8.safetensors")
    with pytest.raises(InputError, match="missing"):
        from_arrays(state)


def test_cards_and_integer_networks_need_no_torch() -> None:
    names = ("card", "models.sizes", "models.make")
    modules = ", ".join(f"kibitz.nets.{name}" for name in names)
    code = f"import sys, {modules}; assert not {{'torch', 'onnx'}} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_heads_are_plain_data() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Heads()), type=Heads) == Heads()


def test_the_same_network_is_written_with_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "n.safetensors"
    words, written = ["net", "new", "sparse-8x8", "--output", str(path), "--seed"], set()
    for _ in range(20):  # each order of two entries of metadata would come by chance
        assert main([*words, "3", "--force"]) == 0
        written.add(path.read_bytes())
    assert len(written) == 1
    assert main([*words, "4"]) == 2  # it may be a network that was trained
    assert path.read_bytes() in written
    assert main([*words, "4", "--force"]) == 0
    assert path.read_bytes() not in written

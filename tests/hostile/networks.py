"""Networks of strangers: forged shapes under valid checksums, headers that lie."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import safetensors.numpy

from kibitz.core.files import HEADER_KEY, ZEROS, fill_header
from kibitz.nets.card import NetworkCard
from kibitz.nets.files import save, save_onnx, weights_sha256
from kibitz.nets.models.make import create, quantise, random_weights
from kibitz.nets.models.sizes import new_card
from kibitz.nets.onnx_model import message
from tests.hostile.kind import Attack, Kind, Target, file_target
from tests.nets.leela import Writer

SIZE = "sparse-8x8-tactics"
FORGED: dict[str, Any] = {
    "rows": ("value_features", np.zeros((0, 200_000), np.int16)),
    "columns": ("policy_features", np.zeros((3072, 9), np.int16)),
    "moves": ("move_weight", np.zeros((3, 8), np.int8)),
    "bias": ("move_bias", np.zeros(1, np.float32)),
    "type": ("value_features", np.zeros((3072, 8), np.float64)),
    "tail": ("tail1_weight", np.zeros((1 << 16, 8), np.int16)),
}


def _card() -> NetworkCard:
    return msgspec.structs.replace(new_card(SIZE), precision="int8")


def _arrays() -> dict[str, Any]:
    return quantise(random_weights(new_card(SIZE))).network._asdict()


def _headed(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return fill_header(struct.pack("<Q", len(text)) + text + data)


def attacks(folder: Path) -> list[Attack]:
    """Each is loaded by the search, which hands the arrays to kernels."""
    found = []

    def add(name: str, told: str) -> None:
        words = ("search", "--network", str(folder / name), "--nodes", "20")
        found.append(Attack(f"network: {name}", words, told))

    for name, (field, array) in FORGED.items():
        save(folder / f"{name}.safetensors", {**_arrays(), field: array}, _card())
        add(f"{name}.safetensors", "weights do not fit")
    card = msgspec.json.encode(_card()).decode()
    metadata = {"__metadata__": {"card": card, HEADER_KEY: ZEROS}}
    lying = {"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}
    for name, content in (
        ("lying", _headed(metadata | lying)),
        ("deep", struct.pack("<Q", 200_001) + b'{"a":' + b"[" * 199_996),
        ("endless", struct.pack("<Q", 1 << 63) + b"{}"),
        (
            "negative",
            _headed(metadata | {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [8, 0]}}),
        ),
        ("empty", b""),
    ):
        (folder / f"{name}.safetensors").write_bytes(content)
        add(f"{name}.safetensors", "kibitz: error")
    save_onnx(folder / "junk.onnx", b"\x08\x0a\x3a\x00", new_card("plain-1x8"))
    add("junk.onnx", "kibitz: error")
    (folder / "claim.onnx").write_bytes(b"\x3a" + b"\xff" * 9 + b"\x01")
    add("claim.onnx", "kibitz: error")
    for name, content, told in _leela():
        (folder / name).write_bytes(content)
        add(name, told)
    return found


def _leela() -> Iterator[tuple[str, bytes, str]]:
    """Files in Leela's format that claim more than they have, or unpack to too much."""
    magic = b"\x0d\xc0\x01\x00\x00"
    whole = Writer().content()
    yield "cut.pb", whole[: len(whole) // 2], "bytes where"
    yield "claim.pb", magic + b"\x52" + b"\xff" * 9 + b"\x01", "bytes where"
    yield "endless.pb", magic + b"\xff" * 100, "does not end"
    yield "crowd.pb", magic + b"\x08\x00" * (1 << 20), "fields in a message"
    yield "attention.pb", Writer(network=6).content(), "attention body"
    crowd = Writer()
    crowd.changed[7] = message((3, bytes(1 << 20)))
    yield "wide.pb.gz", gzip.compress(crowd.content()), "value2.weight has"
    yield "cut.pb.gz", gzip.compress(whole)[:-9], "cannot decompress"
    yield "bomb.pb.gz", gzip.compress(magic + bytes(100 << 20), 1), "times its size"
    many = gzip.compress(message((2, b"")) * (30 << 20), 1)
    yield "crowd.pb.gz", many, "kibitz: error"


CARDS_CHECKSUM = b'\\"sha256\\":\\"'


def resealed(content: bytes) -> bytes:
    """A mutated file whose checksums are right again, where there are still any to be found."""
    at = content.find(b'"seal":"')
    if at < 0 or len(content) < at + 72:
        return content
    content = _with_weights_checksum(content)
    return fill_header(content[: at + 8] + ZEROS.encode() + content[at + 72 :])


def _with_weights_checksum(content: bytes) -> bytes:
    """The card's checksum of the weights made anew, of a file that safetensors can still read."""
    at = content.find(CARDS_CHECKSUM) + len(CARDS_CHECKSUM)
    if at < len(CARDS_CHECKSUM) or len(content) < at + 64:
        return content
    try:
        weights = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError):
        return content  # as it is: refused before the weights are looked at
    return content[:at] + weights_sha256(weights).encode() + content[at + 64 :]


def targets(folder: Path) -> Sequence[Target]:
    """A float and an integer network, given to whatever reads one."""
    create(SIZE, folder / "float.safetensors")
    save(folder / "int8.safetensors", _arrays(), _card())
    whole, integers = ((folder / f"{n}.safetensors").read_bytes() for n in ("float", "int8"))
    found = []
    for content, command in (
        (integers, "search --network FILE --nodes 5"),
        (whole, "search --network FILE --nodes 5"),
        (whole, "net show FILE"),
        (whole, "net quantise FILE -o OUT.safetensors --positions 5"),
        (integers, "net compare FILE material --positions 5"),
        (whole, "net join FILE -o OUT.safetensors"),
    ):
        seals = resealed, bytes
        found += [file_target("net.safetensors", content, command, seal) for seal in seals]
    save_onnx(folder / "plain.onnx", b"\x08\x0a\x3a\x00", new_card("plain-1x8"))
    leela = Writer(network=4, policy=2, value=2).content()
    for command in ("net show FILE", "search --network FILE --nodes 5"):
        found.append(file_target("net.pb", leela, command))
    found.append(file_target("net.pb.gz", gzip.compress(leela), "net show FILE"))
    export = (folder / "plain.onnx").read_bytes()
    found.append(file_target("net.onnx", export, "net show FILE"))
    return found


NETWORKS = Kind("networks", attacks, targets)

"""Network files, written and read with the card (card.py) that says what the network is.

Needs neither torch nor onnx. Two kinds of file carry the same card; one is made of what a file in
Leela's format says (lc0.py):

* safetensors: the header's `__metadata__` holds `card` (JSON) and `seal`, the SHA-256 of the whole
  file with these 64 digits replaced by zeros. Any safetensors reader can open the file.
* `.onnx`: the model, then two more `metadata_props` appended to it, `card` and, last, `seal`, the
  SHA-256 of everything before its own 74 bytes. A protobuf message may be continued by
  appending, so ONNX readers accept the file and show both.

This checksum covers every byte. Besides, `card.sha256` identifies the weights alone (names, types,
shapes, values), so that a network keeps its identity when its card is edited; it is what game
records name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import safetensors.numpy

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import (
    HEADER_KEY,
    ZEROS,
    ChecksumError,
    Location,
    check_header,
    fill_header,
    newer_format,
    read_bytes,
    with_ending,
    without_ending,
    write_bytes,
)
from kibitz.core.unpacking import arrays_of
from kibitz.nets.card import (
    FORMAT_VERSION,
    ForeignFileError,
    NetworkCard,
    Weights,
    is_leela,
)
from kibitz.nets.lc0 import LeelaFile
from kibitz.nets.onnx_model import WireError, fields, message, whole

# Field 14 (metadata_props), 72 bytes long: key "seal", value of 64 bytes.
_MARK = b"\x72\x48\x0a\x04seal\x12\x40"
_METADATA_FIELD = 14
# What JSON of another shape, or nested a thousand times, raises.
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError),
    *(OverflowError, RecursionError),
)


def save(location: Location, weights: Mapping[str, Any], card: NetworkCard) -> NetworkCard:
    """Write a checked safetensors file atomically; returns the card with the weights' checksum."""
    arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    card = msgspec.structs.replace(card, sha256=weights_sha256(arrays))
    text = msgspec.json.encode(card).decode()
    content = _in_order(safetensors.numpy.save(arrays, metadata={"card": text, HEADER_KEY: ZEROS}))
    write_bytes(location, fill_header(content))
    return card


def _in_order(content: bytes) -> bytes:
    """A safetensors file with its metadata in order: the library has another one in every run."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at multiples of eight
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def save_onnx(location: Location, model: bytes, card: NetworkCard) -> None:
    """Write a serialised ONNX model with the card and a checksum appended, atomically."""
    content = model + _metadata_property(b"card", msgspec.json.encode(card))
    write_bytes(location, with_ending(content, _MARK, as_hex=True))


def read_card(location: Location) -> NetworkCard:
    """Return the card of a network file of any kind after checking the whole file."""
    if is_leela(location):
        return LeelaFile(location).card
    return _open(location)[0]


def load_weights(location: Location) -> Weights:
    """Return the arrays of a safetensors network file after checking them against its card."""
    return load(location)[1]


def load(location: Location) -> tuple[NetworkCard, Weights]:
    """Return card and weights of a safetensors network file, checked. The arrays are writable."""
    if is_leela(location):
        fix = f"run: kibitz net export {os.fspath(location)}"
        raise InputError("only the ONNX form of this can be used", value=str(location), fix=fix)
    card, content = _open(location)
    if _is_onnx(location):
        raise InputError(
            "an ONNX file gives no weights", value=os.fspath(location), fix="use the .safetensors"
        )
    arrays = arrays_of(content, location, "network file")
    digest = weights_sha256(arrays)
    if digest != card.sha256:
        raise _damaged(
            location, f"weights are not the card's: expected {card.sha256}, found {digest}"
        )
    for name, array in arrays.items():
        _check_finite(location, name, array)
    return card, arrays


def check_onnx_weights(location: Location, content: bytes) -> None:
    """Raise a DamagedFileError naming a weight of an ONNX file that is not a finite number."""
    with _wired(location):
        for name, array in _onnx_floats(content):
            _check_finite(location, name, array)


def _check_finite(location: Location, name: str, array: np.ndarray[Any, np.dtype[Any]]) -> None:
    if array.dtype.kind != "f":
        return
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = tuple(int(index) for index in wrong[0])
        where = f"{name}{list(place)} is {array[place]}"
        raise DamagedFileError(
            f"a network with weights that are not finite numbers, {where}",
            value=os.fspath(location),
            fix="train or export it again",
        )


def weights_sha256(weights: Mapping[str, Any]) -> str:
    """Return the SHA-256 over names, types, shapes and little-endian bytes, names in order."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        array = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _is_onnx(location: Location) -> bool:
    return os.fspath(location).lower().endswith(".onnx")


def _open(location: Location) -> tuple[NetworkCard, bytes]:
    """Return the decoded card and the whole file, every byte of it checked."""
    content = read_bytes(location)
    text = _onnx_card(location, content) if _is_onnx(location) else _header_card(location, content)
    return _decode(location, text), content


def _decode(location: Location, text: bytes) -> NetworkCard:
    try:
        version = int(json.loads(text).get("format_version", 0))
        if version <= FORMAT_VERSION:
            return msgspec.json.decode(text, type=NetworkCard)
    except (msgspec.DecodeError, *_UNREADABLE) as error:
        raise _damaged(location, f"the card cannot be read ({error})") from error
    raise newer_format("network file", version, FORMAT_VERSION, os.fspath(location))


def _header_card(location: Location, content: bytes) -> bytes:
    """Return the card's JSON from a safetensors file."""
    header = _header(location, content)
    reason = "expected a Kibitz network, found a file without card or checksum"
    with _checksum(location, reason):
        check_header(content)
    metadata = header.get("__metadata__", {})
    if "card" not in metadata:
        raise _damaged(location, reason, ForeignFileError)
    return str(metadata["card"]).encode()


def _header(location: Location, content: bytes) -> dict[str, Any]:
    """Return the JSON header, having checked that the file is as long as the header says."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or content[8:9] != b"{":
        reason = "expected a safetensors file, found something else"
        raise _damaged(location, reason, ForeignFileError)
    try:
        header: dict[str, Any] = json.loads(content[8 : 8 + length])
        entries = {name: e for name, e in header.items() if name != "__metadata__"}
        data = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        expected = 8 + length + int(data)
    except _UNREADABLE as error:
        raise _damaged(location, f"the header is cut or damaged ({error})") from error
    if len(content) != expected:
        raise _damaged(location, f"expected {expected} bytes, found {len(content)}")
    return header


def _onnx_card(location: Location, content: bytes) -> bytes:
    """Return the card's JSON from an ONNX file."""
    with _checksum(location, "expected a checksum, found none: no Kibitz network, or cut"):
        body = without_ending(content, _MARK, as_hex=True)
    with _wired(location):
        cards = [value for key, value in _metadata_properties(body) if key == b"card"]
    if not cards:
        raise _damaged(location, "expected a card in the ONNX metadata, found none")
    return cards[-1]


@contextmanager
def _wired(location: Location) -> Iterator[None]:
    """Turn what is no protobuf into an error that names the file."""
    try:
        yield
    except WireError as error:
        raise _damaged(location, str(error)) from error


@contextmanager
def _checksum(location: Location, missing: str) -> Iterator[None]:
    """Turn a wrong checksum into an error that names the file.

    `missing` is the message where the file has no checksum.
    """
    try:
        yield
    except ChecksumError as error:
        if error.expected:
            raise _damaged(location, str(error)) from error
        raise _damaged(location, missing, ForeignFileError) from error


def _damaged(
    location: Location, reason: str, kind: type[DamagedFileError] = DamagedFileError
) -> DamagedFileError:
    return kind(
        f"damaged network file: {reason}", value=os.fspath(location), fix="fetch or write it again"
    )


# --- the few parts of protobuf that are needed ----------------------------------------------------

# Field numbers of ModelProto, GraphProto and TensorProto, and types of its numbers.
_GRAPH, _INITIALIZER = 7, 5
_DATA_TYPE, _FLOATS, _NAME, _RAW, _DOUBLES = 2, 4, 8, 9, 10
_BFLOAT16 = 16
_FLOAT_TYPES = {1: "<f4", 10: "<f2", 11: "<f8", _BFLOAT16: "<u2"}


def _metadata_property(key: bytes, value: bytes) -> bytes:
    """Return a metadata_props entry: field 14 holding a message of key (1) and value (2)."""
    return message((_METADATA_FIELD, message((1, key), (2, value))))


def _onnx_floats(content: bytes) -> Iterator[tuple[str, np.ndarray[Any, np.dtype[Any]]]]:
    """Names and numbers, flat, of the initialisers of an ONNX model whose type has fractions."""
    views: Any = memoryview(content)
    graphs = (graph for number, graph in fields(views) if number == _GRAPH)
    for number, tensor in (field for graph in graphs for field in fields(graph)):
        parts = dict(fields(tensor)) if number == _INITIALIZER else {}
        kind = _FLOAT_TYPES.get(whole(parts.get(_DATA_TYPE, b"")))
        if kind is None:
            continue
        name = bytes(parts.get(_NAME, b"")).decode("utf-8", "replace")
        for place, written in ((_RAW, kind), (_FLOATS, "<f4"), (_DOUBLES, "<f8")):
            array = np.frombuffer(parts.get(place, b""), written)
            bits16 = array.dtype.kind == "u"
            yield name, (array.astype("<u4") << 16).view("<f4") if bits16 else array


def _metadata_properties(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    for number, entry in fields(memoryview(content)):
        if number == _METADATA_FIELD:
            parts = dict(fields(entry))
            yield bytes(parts.get(1, b"")), bytes(parts.get(2, b""))

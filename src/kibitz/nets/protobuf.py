"""The wire format of protobuf, read and written as far as network files need it.

ONNX and Leela's format are made of it. What is read may be a stranger's: lengths are compared with
what is there, and a message may have only so many fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Content: TypeAlias = "bytes | memoryview[int]"

MOST_FIELDS = 100_000  # of one message; the models of ONNX and of Leela have some hundreds
LONGEST_VARINT = 10  # bytes
_FIXED_BYTES = {1: 8, 5: 4}  # by wire type
_VARINT, _SIZED = 0, 2


class WireError(ValueError):
    """A content that is no message."""


def fields(content: Content) -> Iterator[tuple[int, Content]]:
    """Yield the numbers and values of a message; a varint as 10 little-endian bytes."""
    at = 0
    for _ in range(MOST_FIELDS):
        if at >= len(content):
            return
        tag, at = _read_varint(content, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _read_varint(content, at)
            yield number, value.to_bytes(LONGEST_VARINT, "little")
            continue
        size = _FIXED_BYTES.get(wire, 0)
        if wire == _SIZED:
            size, at = _read_varint(content, at)
        elif not size:
            raise WireError(f"a field of wire type {wire}")
        if size > len(content) - at:
            raise WireError(f"a field of {size} bytes where {len(content) - at} are left")
        yield number, content[at : at + size]
        at += size
    raise WireError(f"more than {MOST_FIELDS:,} fields in a message")


def whole(value: Content) -> int:
    """The number of a varint or of a fixed field."""
    return int.from_bytes(value, "little")


def _read_varint(content: Content, at: int) -> tuple[int, int]:
    number = 0
    for place in range(LONGEST_VARINT):
        if at + place >= len(content):
            break
        byte = content[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise WireError("a number that does not end")


# --- written --------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    """A number from 0 on."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    """A message of numbers, texts and messages, by the numbers of their fields."""
    written = []
    for number, value in parts:
        if isinstance(value, int):
            written.append(varint(number << 3 | _VARINT) + varint(value))
            continue
        content = value.encode() if isinstance(value, str) else value
        written += [varint(number << 3 | _SIZED) + varint(len(content)), content]
    return b"".join(written)

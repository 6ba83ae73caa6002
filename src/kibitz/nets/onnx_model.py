"""Files of ONNX and of Leela: protobuf's wire format, and models written in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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


# --- onnx models ----------------------------------------------------------------------------------
#
# Writes ONNX models without the onnx package: layers are added one by one, each named by number.
#
# Needed for networks of other programs, which are turned into ONNX where they are used.


Floats = NDArray[np.float32]

IR_VERSION, OPERATORS = 8, 13  # versions of ONNX that all supported releases of its runtime read
FLOAT, INT64 = 1, 7  # of tensors
INT, INTS = 2, 7  # of attributes


class Model:
    """A graph with one input; the names of what flows through it are returned."""

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self._input = _end(name, shape)
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._outputs: list[bytes] = []

    def add(self, kind: str, *inputs: str, attributes: bytes = b"", name: str = "") -> str:
        """Add an operator; returns the name of what comes out."""
        name = name or f"flow{len(self._nodes)}"
        ends = [*((1, text) for text in inputs), (2, name), (3, f"{kind}{len(self._nodes)}")]
        self._nodes.append(message(*ends, (4, kind)) + attributes)
        return name

    def constant(self, array: NDArray[np.float32] | NDArray[np.int64]) -> str:
        """Add numbers that do not change."""
        kind, written = (INT64, "<i8") if array.dtype.kind == "i" else (FLOAT, "<f4")
        name = f"constant{len(self._constants)}"
        dims = [(1, size) for size in array.shape]
        content = np.ascontiguousarray(array, written).tobytes()
        self._constants.append(message(*dims, (2, kind), (8, name), (9, content)))
        return name

    def convolution(self, flow: str, weight: Floats, bias: Floats) -> str:
        """Weights float32 [outputs, inputs, height, width], the board's edges padded."""
        edges = [size // 2 for size in weight.shape[2:]] * 2
        attributes = _attribute("pads", edges) + _attribute("kernel_shape", weight.shape[2:])
        names = self.constant(weight), self.constant(bias)
        return self.add("Conv", flow, *names, attributes=attributes)

    def dense(self, flow: str, weight: Floats, bias: Floats) -> str:
        """Weights float32 [outputs, inputs]."""
        names = self.constant(weight), self.constant(bias)
        return self.add("Gemm", flow, *names, attributes=_attribute("transB", 1))

    def reshape(self, flow: str, shape: tuple[int, ...]) -> str:
        """The same numbers in another shape, -1 for the batch."""
        return self.add("Reshape", flow, self.constant(np.array(shape, np.int64)))

    def gather(self, flow: str, places: NDArray[np.int64]) -> str:
        """Those columns of a flow [batch, columns]."""
        return self.add("Gather", flow, self.constant(places), attributes=_attribute("axis", 1))

    def output(self, flow: str, name: str, shape: tuple[int, ...]) -> None:
        """Let a flow out under a name; the shape is without the batch."""
        self.add("Identity", flow, name=name)
        self._outputs.append(_end(name, shape))

    def serialised(self) -> bytes:
        """The bytes of the file."""
        graph = message(
            *((1, node) for node in self._nodes),
            (2, "network"),
            *((5, constant) for constant in self._constants),
            (11, self._input),
            *((12, output) for output in self._outputs),
        )
        return message((1, IR_VERSION), (2, "kibitz"), (7, graph), (8, message((2, OPERATORS))))


def _attribute(name: str, value: int | Sequence[int]) -> bytes:
    """The field of a node that holds an attribute."""
    if isinstance(value, int):
        return message((5, message((1, name), (3, value), (20, INT))))
    return message((5, message((1, name), *((8, number) for number in value), (20, INTS))))


def _end(name: str, shape: tuple[int, ...]) -> bytes:
    """An input or output of float32 [batch, *shape]."""
    dims = [(1, message((2, "batch"))), *((1, message((1, size))) for size in shape)]
    tensor = message((1, FLOAT), (2, message(*dims)))
    return message((1, name), (2, message((1, tensor))))

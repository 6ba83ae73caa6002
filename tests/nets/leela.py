"""Small networks in Leela's format, written field by field, for tests."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from kibitz.nets.onnx_model import message, varint

Part = tuple[int, "int | str | bytes"]

FORMATS = {"input": 1, "output": 2, "network": 3, "policy": 4, "value": 5, "activation": 7}
FILTERS, BLOCKS, HIDDEN, SQUEEZED = 4, 2, 8, 2


def fixed(number: int, value: bytes) -> bytes:
    """A field of four bytes."""
    return varint(number << 3 | 5) + value


def layer(shape: Sequence[int], random: np.random.Generator, low: float, high: float) -> bytes:
    """Random numbers between two."""
    numbers = random.integers(0, 65_536, size=int(np.prod(shape)), dtype=np.uint16)
    ends = fixed(1, struct.pack("<f", low)) + fixed(2, struct.pack("<f", high))
    return ends + message((3, numbers.astype("<u2").tobytes()))


class Writer:
    """Writes a network whose formats are given by their names in FORMATS."""

    def __init__(self, seed: int = 1, gamma: bool = True, **formats: int) -> None:
        defaults = {"input": 1, "output": 1, "network": 3, "policy": 1, "value": 1}
        self.formats = defaults | formats
        self.gamma, self._random = gamma, np.random.default_rng(seed)
        self.encoding, self.changed = 1, dict[int, bytes]()  # by the field of the weights

    def _layer(self, *shape: int, low: float = -0.3, high: float = 0.4) -> bytes:
        return layer(shape, self._random, low, high)

    def _convolution(
        self, inputs: int, outputs: int, kernel: int, normalised: bool = True
    ) -> bytes:
        parts: list[Part] = [(1, self._layer(outputs, inputs, kernel, kernel))]
        if not normalised or not self.gamma:
            parts += [(2, self._layer(outputs))]
        if normalised:
            parts += [(3, self._layer(outputs)), (4, self._layer(outputs, low=0.2, high=2))]
        if normalised and self.gamma:
            parts += [(5, self._layer(outputs, low=0.5, high=1.5)), (6, self._layer(outputs))]
        return message(*parts)

    def _block(self) -> bytes:
        parts: list[Part] = [(at, self._convolution(FILTERS, FILTERS, 3)) for at in (1, 2)]
        if self.formats["network"] in (2, 4):
            shapes = ((SQUEEZED, FILTERS), (SQUEEZED,), (2 * FILTERS, SQUEEZED), (2 * FILTERS,))
            squeeze: list[Part] = [(at, self._layer(*shape)) for at, shape in enumerate(shapes, 1)]
            parts.append((3, message(*squeeze)))
        return message(*parts)

    def weights(self) -> bytes:
        """All layers."""
        parts: dict[int, bytes] = {1: self._convolution(112, FILTERS, 3)}
        blocks = [self._block() for _ in range(BLOCKS)]
        if self.formats["policy"] == 2:
            parts[11] = self._convolution(FILTERS, FILTERS, 3)
            parts[3] = self._convolution(FILTERS, 80, 3, normalised=False)
        else:
            parts[3] = self._convolution(FILTERS, 2, 1)
            parts[4], parts[5] = self._layer(1858, 128), self._layer(1858)
        parts[6] = self._convolution(FILTERS, 3, 1)
        parts[7], parts[8] = self._layer(HIDDEN, 192), self._layer(HIDDEN)
        outputs = 3 if self.formats["value"] == 2 else 1
        parts[9], parts[10] = self._layer(outputs, HIDDEN), self._layer(outputs)
        parts |= self.changed
        return message(*parts.items(), *((2, block) for block in blocks))

    def content(self) -> bytes:
        """The file, not packed."""
        network = message(*((FORMATS[name], value) for name, value in self.formats.items()))
        form = message((1, self.encoding), (2, network))
        rest = message((2, "a licence"), (4, form), (10, self.weights()))
        return fixed(1, struct.pack("<I", 0x1C0)) + rest

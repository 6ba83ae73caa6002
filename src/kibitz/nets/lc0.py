"""Networks in Leela's format (`.pb.gz`): read, checked, and turned into ONNX.

Supported are towers of residual blocks, with squeeze-excitation or without, on the 112 classical
planes; classical and convolutional policies; values as a number or as win, draw, loss. What is
something else is refused by its name. A file is a stranger's: it may unpack to so much, every layer
must have the numbers that its place in the network asks for, and all of them must be finite.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import DamagedFileError, InputError
from kibitz.core.files import Location
from kibitz.core.unpacking import open_unpacked
from kibitz.nets.card import (
    LEELA,
    LEELA_PLANES,
    LEELA_POLICY,
    ForeignFileError,
    Heads,
    NetworkCard,
    stem_of,
)
from kibitz.nets.encodings.policy import TABLE_POLICY, leela_planes
from kibitz.nets.onnx_model import Content, Model, WireError, fields, whole

MAGIC = 0x1C0
LARGEST = 512 << 20  # bytes unpacked; 30 blocks of 384 filters are 160 million
MOST_BLOCKS, MOST_FILTERS = 256, 2048
INPUT_PLANES = 112
POLICY_PLANES = 80  # of a convolutional policy; the last seven are not used
EPSILON = 1e-5  # of batch normalisation
STEPS = 65_535  # of a number of 16 bits

# Numbers of fields, from lc0's net.proto.
_MAGIC, _LICENCE, _FORMAT, _WEIGHTS = 1, 2, 4, 10
_ENCODING, _NETWORK_FORMAT = 1, 2
_INPUT, _OUTPUT, _NETWORK, _POLICY, _VALUE, _ACTIVATION = 1, 2, 3, 4, 5, 7
_TOWER_INPUT, _TOWER_BLOCK, _POLICY_LAST, _POLICY_FIRST, _VALUE_LAYER = 1, 2, 3, 11, 6
_POLICY_DENSE, _VALUE_DENSE, _VALUE_OUT = (4, 5), (7, 8), (9, 10)  # weights, biases

# What a field of the format may say, supported or not.
_CANONICAL, _ATTENTION = "canonical planes", "attention body"
_RESIDUAL, _SQUEEZED, _WDL = "residual", "squeeze-excitation", "win, draw, loss"
_FORMATS: dict[int, tuple[str, dict[int, str]]] = {
    _INPUT: (
        "input",
        {1: "classical", 2: "112 planes with castling rooks"}
        | dict.fromkeys((3, 4, 5, 132, 133), _CANONICAL),
    ),
    _OUTPUT: ("output", {0: "unknown", 1: "classical", 2: _WDL}),
    _NETWORK: (
        "network",
        {0: "unknown", 1: _RESIDUAL, 2: _SQUEEZED, 3: _RESIDUAL, 4: _SQUEEZED, 5: "ONNX"}
        | dict.fromkeys((6, 7, 134), _ATTENTION),
    ),
    _POLICY: ("policy", {0: "unknown", 1: "classical", 2: "convolution", 3: "attention"}),
    _VALUE: ("value", {0: "unknown", 1: "classical", 2: _WDL}),
    _ACTIVATION: ("activation", {0: "ReLU", 1: "Mish"}),
}
# A file that says nothing of its output, policy or value has the classical one.
_SUPPORTED = {
    _INPUT: (1,),
    _OUTPUT: (0, 1, 2),
    _NETWORK: (0, 1, 2, 3, 4),
    _POLICY: (0, 1, 2),
    _VALUE: (0, 1, 2),
    _ACTIVATION: (0,),
}
CONVOLUTION, WDL = 2, 2  # of the policy's and of the value's format

Floats = NDArray[np.float32]
_Parts = dict[int, list[Content]]


class LeelaFile:
    """A file, its architecture known and every layer found to be of its size."""

    def __init__(self, location: Location) -> None:
        self.location = location
        content = _content(location)
        with self._reading():
            parts = _parts(content)
            if whole(_only(parts, _MAGIC)) != MAGIC:
                what = "no network in Leela's format"
                raise ForeignFileError(what, value=os.fspath(location), fix="check the file")
            self._weights = _parts(_only(parts, _WEIGHTS))
            form = _parts(_only(parts, _FORMAT))
            self._format = {
                number: whole(_only(_parts(_only(form, _NETWORK_FORMAT)), number))
                for number in _FORMATS
            }
            self._check_format(whole(_only(form, _ENCODING)))
            self.card = self._card(bytes(_only(parts, _LICENCE)), content)

    # --- what it is -----------------------------------------------------------------------------

    def _check_format(self, encoding: int) -> None:
        for number, (name, words) in _FORMATS.items():
            value = self._format[number]
            if value not in _SUPPORTED[number]:
                told = f"{name} of the kind {words.get(value, value)}"
                self._refuse(f"a network in Leela's format that is not supported: {told}")
        if encoding != 1:
            self._refuse("a network in Leela's format whose numbers are not LINEAR16")

    def _refuse(self, what: str) -> NoReturn:
        fix = "take a residual tower on classical planes, with classical or convolutional heads"
        raise InputError(what, value=os.fspath(self.location), fix=fix)

    def _card(self, licence: bytes, content: bytes) -> NetworkCard:
        blocks, count = len(self._weights.get(_TOWER_BLOCK, [])), 0
        for layer in self.layers():
            count += layer.size
        squeezed = "-se" if any(3 in _parts(block) for block in self._blocks) else ""
        return NetworkCard(
            name=stem_of(self.location),
            family=LEELA,
            size=f"{LEELA}-{blocks}x{self._filters}{squeezed}",
            encoding=LEELA_PLANES,
            policy_order=LEELA_POLICY,
            heads=Heads(value="wdl" if self._wdl else "tanh"),
            parameters=count,
            licence=licence.decode("utf-8", "replace")[:200],
            sha256=hashlib.sha256(content).hexdigest(),
        )

    @property
    def _blocks(self) -> list[Content]:
        return self._weights.get(_TOWER_BLOCK, [])

    @property
    def _wdl(self) -> bool:
        return self._format[_VALUE] == WDL or self._format[_OUTPUT] == WDL

    @cached_property
    def _filters(self) -> int:
        """Of the tower, by the size of its first layer."""
        filters = self._count(_parts(_only(self._weights, _TOWER_INPUT)), 1) // (INPUT_PLANES * 9)
        if not (0 < filters <= MOST_FILTERS and len(self._blocks) <= MOST_BLOCKS):
            size = f"{len(self._blocks)} blocks of {filters} filters"
            self._damaged(f"{size}, more or fewer than a network has")
        return filters

    # --- its layers -----------------------------------------------------------------------------

    def layers(self) -> Iterator[_Layer]:
        """Every layer, with the shape that its place asks for; another size is refused."""
        filters, weights = self._filters, self._weights
        yield from self._convolution("input", weights, _TOWER_INPUT, INPUT_PLANES, filters, 3)
        for number, block in enumerate(map(_parts, self._blocks)):
            for at in (1, 2):
                name = f"block{number}.{at}"
                yield from self._convolution(name, block, at, filters, filters, 3)
            if 3 in block:
                yield from self._squeeze(f"block{number}.se", _parts(_only(block, 3)))
        yield from self._policy()
        yield from self._value()

    def _squeeze(self, name: str, parts: _Parts) -> Iterator[_Layer]:
        inner, filters = self._count(parts, 2), self._filters
        shapes = ((inner, filters), (inner,), (2 * filters, inner), (2 * filters,))
        for at, shape in enumerate(shapes, start=1):
            yield self._layer(f"{name}{at}", parts, at, shape)

    def _policy(self) -> Iterator[_Layer]:
        filters, weights = self._filters, self._weights
        if self._format[_POLICY] == CONVOLUTION:
            yield from self._convolution("policy1", weights, _POLICY_FIRST, filters, filters, 3)
            last = _parts(_only(weights, _POLICY_LAST))
            kernel = 3 if self._count(last, 1) == POLICY_PLANES * filters * 9 else 1
            yield from self._convolution(
                "policy", weights, _POLICY_LAST, filters, POLICY_PLANES, kernel, normalised=False
            )
            return
        planes = self._planes(_POLICY_LAST)
        yield from self._convolution("policy", weights, _POLICY_LAST, filters, planes, 1)
        yield from self._dense("policy2", _POLICY_DENSE, planes * 64, TABLE_POLICY)

    def _value(self) -> Iterator[_Layer]:
        planes, hidden = self._planes(_VALUE_LAYER), self._count(self._weights, _VALUE_DENSE[1])
        yield from self._convolution("value", self._weights, _VALUE_LAYER, self._filters, planes, 1)
        yield from self._dense("value2", _VALUE_DENSE, planes * 64, hidden)
        yield from self._dense("value3", _VALUE_OUT, hidden, 3 if self._wdl else 1)

    def _planes(self, head: int) -> int:
        """How many planes the first convolution of a head has."""
        planes = self._count(_parts(_only(self._weights, head)), 1) // self._filters
        if not 0 < planes <= MOST_FILTERS:
            self._damaged(f"{planes} planes of a head")
        return planes

    def _convolution(
        self,
        name: str,
        parent: _Parts,
        number: int,
        inputs: int,
        outputs: int,
        kernel: int,
        normalised: bool = True,
    ) -> Iterator[_Layer]:
        """Weights, then biases and the numbers of batch normalisation as far as they are there."""
        parts = _parts(_only(parent, number))
        yield self._layer(f"{name}.weight", parts, 1, (outputs, inputs, kernel, kernel))
        for at, what in enumerate(("bias", "mean", "variance", "gamma", "beta"), start=2):
            if at in parts and (normalised or at == 2):
                yield self._layer(f"{name}.{what}", parts, at, (outputs,))

    def _dense(
        self, name: str, numbers: tuple[int, int], inputs: int, outputs: int
    ) -> Iterator[_Layer]:
        yield self._layer(f"{name}.weight", self._weights, numbers[0], (outputs, inputs))
        yield self._layer(f"{name}.bias", self._weights, numbers[1], (outputs,))

    def _layer(self, name: str, parent: _Parts, number: int, shape: tuple[int, ...]) -> _Layer:
        layer = _Layer(_parts(_only(parent, number)), name, shape)
        if layer.count != layer.size or 0 in shape:
            what = f"{name} has {layer.count:,} numbers, not {layer.size:,} as {list(shape)}"
            self._damaged(what)
        if not layer.is_finite:
            self._damaged(f"{name} is not made of finite numbers")
        return layer

    def _count(self, parent: _Parts, number: int) -> int:
        return _Layer(_parts(_only(parent, number)), "", ()).count

    def _damaged(self, what: str) -> NoReturn:
        raise DamagedFileError(
            f"damaged network in Leela's format: {what}",
            value=os.fspath(self.location),
            fix="fetch it again",
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except WireError as error:
            self._damaged(str(error))

    # --- as ONNX --------------------------------------------------------------------------------

    def onnx(self) -> bytes:
        """The model without its card, batch normalisation folded into the convolutions."""
        with self._reading():
            layers = {layer.name: layer.numbers() for layer in self.layers()}
        model = Model("planes", (INPUT_PLANES, 8, 8))
        flow = self._tower(model, layers)
        self._policy_output(model, layers, flow)
        self._value_output(model, layers, flow)
        return model.serialised()

    def _tower(self, model: Model, layers: dict[str, Floats]) -> str:
        flow = model.add("Relu", model.convolution("planes", *folded(layers, "input")))
        for number in range(len(self._blocks)):
            name = f"block{number}"
            inner = model.add("Relu", model.convolution(flow, *folded(layers, f"{name}.1")))
            inner = model.convolution(inner, *folded(layers, f"{name}.2"))
            if f"{name}.se1" in layers:
                inner = self._squeezed(
                    model, inner, [layers[f"{name}.se{at}"] for at in range(1, 5)]
                )
            flow = model.add("Relu", model.add("Add", inner, flow))
        return flow

    def _squeezed(self, model: Model, flow: str, weights: Sequence[Floats]) -> str:
        """Scale every channel, and move it, by what all of them are on average."""
        inner_weight, inner_bias, weight, bias = weights
        filters = self._filters
        average = model.reshape(model.add("GlobalAveragePool", flow), (-1, filters))
        inner = model.add("Relu", model.dense(average, inner_weight, inner_bias))
        shape = (-1, filters, 1, 1)
        scale = model.add("Sigmoid", model.dense(inner, weight[:filters], bias[:filters]))
        shift = model.dense(inner, weight[filters:], bias[filters:])
        scaled = model.add("Mul", flow, model.reshape(scale, shape))
        return model.add("Add", scaled, model.reshape(shift, shape))

    def _policy_output(self, model: Model, layers: dict[str, Floats], flow: str) -> None:
        if self._format[_POLICY] == CONVOLUTION:
            flow = model.add("Relu", model.convolution(flow, *folded(layers, "policy1")))
            flow = model.convolution(flow, *folded(layers, "policy"))
            flow = model.reshape(flow, (-1, POLICY_PLANES * 64))
            model.output(model.gather(flow, leela_planes()), "policy", (TABLE_POLICY,))
            return
        flow = model.add("Relu", model.convolution(flow, *folded(layers, "policy")))
        weight = layers["policy2.weight"]
        flow = model.reshape(flow, (-1, weight.shape[1]))
        flow = model.dense(flow, weight, layers["policy2.bias"])
        model.output(flow, "policy", (TABLE_POLICY,))

    def _value_output(self, model: Model, layers: dict[str, Floats], flow: str) -> None:
        flow = model.add("Relu", model.convolution(flow, *folded(layers, "value")))
        weight = layers["value2.weight"]
        flow = model.reshape(flow, (-1, weight.shape[1]))
        flow = model.add("Relu", model.dense(flow, weight, layers["value2.bias"]))
        flow = model.dense(flow, layers["value3.weight"], layers["value3.bias"])
        if self._wdl:
            model.output(flow, "value", (3,))
        else:
            model.output(model.reshape(model.add("Tanh", flow), (-1,)), "value", ())


def folded(layers: dict[str, Floats], name: str) -> tuple[Floats, Floats]:
    """Weights and biases of a convolution that does what it did with its batch normalisation.

    (x - mean) / sqrt(variance + epsilon) * gamma + beta, of x = weight * input + bias.
    """
    weight = layers[f"{name}.weight"]
    zeros = np.zeros(len(weight), np.float32)
    bias = layers.get(f"{name}.bias", zeros)
    if f"{name}.mean" not in layers:
        return weight, bias
    variance = np.maximum(layers.get(f"{name}.variance", zeros + 1), 0)
    scale = layers.get(f"{name}.gamma", zeros + 1) / np.sqrt(variance + np.float32(EPSILON))
    shift = (bias - layers[f"{name}.mean"]) * scale + layers.get(f"{name}.beta", zeros)
    return (weight * scale[:, None, None, None]).astype(np.float32), shift.astype(np.float32)


# --- the parts of a file --------------------------------------------------------------------------

_LOW, _HIGH, _NUMBERS = 1, 2, 3


class _Layer:
    """Numbers of 16 bits between the lowest and the highest."""

    def __init__(self, parts: _Parts, name: str, shape: tuple[int, ...]) -> None:
        self.name, self.shape = name, shape
        self._numbers = _only(parts, _NUMBERS)
        self._low, self._high = (_float(_only(parts, number)) for number in (_LOW, _HIGH))
        self.count, self.size = len(self._numbers) // 2, int(np.prod(shape, dtype=object))

    @property
    def is_finite(self) -> bool:
        """Whether all numbers can be."""
        return bool(np.isfinite([self._low, self._high]).all()) and len(self._numbers) % 2 == 0

    def numbers(self) -> Floats:
        """The numbers, float32, in the layer's shape."""
        share = np.frombuffer(self._numbers, "<u2").astype(np.float32) / np.float32(STEPS)
        low, high = np.float32(self._low), np.float32(self._high)
        numbers: Floats = (share * high + (1 - share) * low).reshape(self.shape)
        return numbers


def _float(value: Content) -> float:
    return float(np.frombuffer(value, "<f4")[0]) if len(value) == 4 else 0.0


def _parts(content: Content) -> _Parts:
    parts: _Parts = {}
    for number, value in fields(content):
        parts.setdefault(number, []).append(value)
    return parts


def _only(parts: _Parts, number: int) -> Content:
    """The last value of a field, which is the one that counts; empty without one."""
    return parts.get(number, [b""])[-1]


def _content(location: Location) -> Any:
    """The unpacked content, as a view: parts of it are not copied."""
    content = bytearray()
    with open_unpacked(location) as file:
        while block := file.read(1 << 20):
            content += block
            if len(content) > LARGEST:
                what = f"a network that unpacks to more than {LARGEST >> 20} MiB"
                raise DamagedFileError(what, value=os.fspath(location), fix="take a smaller one")
    return memoryview(bytes(content))
